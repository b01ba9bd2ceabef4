package tools

import (
	"bytes"
	"context"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// maxLiterals bounds how many literals are looked for before an expression is.
const maxLiterals = 8

// finder finds lines that match an expression. Where each match holds one of a few
// literals, only lines with one are held against it.
type finder struct {
	re       *regexp.Regexp
	literals [][]byte
	fold     bool // they are in small letters, and so is what they are looked for in
	exact    bool // a line with the literal matches
}

func newFinder(re *regexp.Regexp) finder {
	f := finder{re: re}
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return f
	}
	parsed = parsed.Simplify()
	need := required(parsed)
	if len(need.texts) == 0 || len(need.texts) > maxLiterals {
		return f
	}
	for _, text := range need.texts {
		f.literals = append(f.literals, []byte(text))
	}
	f.fold = need.fold
	f.exact = parsed.Op == syntax.OpLiteral && !need.fold && !strings.ContainsAny(need.texts[0], "\r\n")
	return f
}

// match holds a line against the expression.
func (f finder) match(ctx context.Context, line []byte) bool {
	return f.exact || matches(ctx, f.re, line)
}

// candidates gives a function that finds where, from a place on, a line may match;
// below 0: nowhere. The places must go up.
func (f finder) candidates(content []byte) func(from int) int {
	if len(f.literals) == 0 {
		return func(from int) int { return from }
	}
	if f.fold {
		content = lowerASCII(content)
	}
	places := make([]int, len(f.literals)) // of each literal, the next; below 0: none
	for i, literal := range f.literals {
		places[i] = bytes.Index(content, literal)
	}
	return func(from int) int {
		first := -1
		for i, at := range places {
			if at >= 0 && at < from {
				if at = bytes.Index(content[from:], f.literals[i]); at >= 0 {
					at += from
				}
				places[i] = at
			}
			if at >= 0 && (first < 0 || at < first) {
				first = at
			}
		}
		return first
	}
}

// literalSet is a few texts of which each match holds one; none: nothing is known.
type literalSet struct {
	texts []string
	fold  bool // in small letters
}

// shortest is the length of the shortest text: the longer, the rarer.
func (l literalSet) shortest() int {
	if len(l.texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(l.texts, func(a, b string) int { return len(a) - len(b) }))
}

// required finds what each match of an expression holds.
func required(re *syntax.Regexp) literalSet {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return literalSet{texts: []string{string(re.Rune)}}
		}
		return foldedLiteral(re.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best literalSet
		for _, sub := range re.Sub {
			if l := required(sub); len(l.texts) > 0 && len(l.texts) <= maxLiterals && l.shortest() > best.shortest() {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		return requiredOfAny(re.Sub)
	}
	return literalSet{}
}

// requiredOfAny joins what the branches of an expression hold.
func requiredOfAny(branches []*syntax.Regexp) literalSet {
	var all literalSet
	for i, branch := range branches {
		l := required(branch)
		if len(l.texts) == 0 || i > 0 && l.fold != all.fold {
			return literalSet{}
		}
		all.fold = l.fold
		all.texts = append(all.texts, l.texts...)
	}
	return all
}

// foldedLiteral is the longest part of a text whose letters have two forms and no
// more: k and s have a third outside of ASCII.
func foldedLiteral(text []rune) literalSet {
	longest := ""
	for part := range strings.FieldsFuncSeq(string(text), func(r rune) bool {
		return r > 127 || strings.ContainsRune("kKsS", r)
	}) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if longest == "" {
		return literalSet{}
	}
	return literalSet{texts: []string{strings.ToLower(longest)}, fold: true}
}

// lowerASCII makes letters small and leaves the length of a text as it is.
func lowerASCII(b []byte) []byte {
	low := bytes.Clone(b)
	for i, c := range low {
		if c >= 'A' && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	return low
}
