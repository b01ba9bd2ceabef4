package permit

import (
	"os"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

func (l *shellLine) redirect(r *syntax.Redirect) {
	if r.N != nil && r.N.Value != "0" && r.N.Value != "1" && r.N.Value != "2" {
		l.refuse("it opens more than input, output and errors")
	}
	if r.Word == nil {
		return
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		l.guess("it holds a document")
		// Which characters the word at the end has is where shells differ.
		if text, ok := plainDelimiter(r.Word); !ok || text == "" {
			l.refuse("the end of its document cannot be told")
		}
		return
	case syntax.WordHdoc:
		return
	}
	to, err := expand.Literal(new(expand.Config), r.Word)
	known := err == nil && !expands(r.Word)
	switch r.Op {
	case syntax.RdrIn:
		l.calls = append(l.calls, shellCall{
			words:   []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{Value: "cat"}}}, r.Word},
			expands: !known,
		})
	case syntax.DplIn:
		if !known || to != "-" {
			l.refuse("it opens more than input, output and errors")
		}
	case syntax.DplOut:
		if known && (to == "1" || to == "2" || to == "-") {
			return
		}
		l.writes = true // >&name is a file
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		l.writes = l.writes || !known || to != os.DevNull
	default:
		l.writes = true
	}
}

// plainDelimiter is the word that ends a document, if it is letters, quoted as a
// whole or not at all.
func plainDelimiter(w *syntax.Word) (text string, ok bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		text = p.Value
	case *syntax.SglQuoted:
		if !p.Dollar {
			text = p.Value
		}
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 && !p.Dollar {
			if lit, isLit := p.Parts[0].(*syntax.Lit); isLit {
				text = lit.Value
			}
		}
	}
	return text, text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
