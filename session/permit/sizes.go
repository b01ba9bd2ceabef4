package permit

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// The interpreter works in this program's memory, so that what a line makes of text
// is bounded before it runs: a variable made of itself twice, forty times, would
// fill any.

// The bounds of text, in bytes.
const (
	maxText     = 4 << 20
	maxSplit    = 512 << 10 // of a word that becomes several
	maxCompared = 512 << 10 // of what a pattern is held against
	maxPattern  = 64

	// MaxSubstituted is the most that a command inside another may print, and the
	// longest line that is read.
	MaxSubstituted = 256 << 10

	unknownText = 4 << 10 // of a variable that the line does not set
	numberText  = 20
)

// sizes knows what each variable of a line is made of, and how long it becomes.
type sizes struct {
	from map[string][]source
	most map[string]int
}

// source is what a variable gets in one place: a word, or something of a known size.
type source struct {
	word  *syntax.Word
	bytes int
}

func (s sizes) assign(name string, value *syntax.Word) {
	s.from[name] = append(s.from[name], source{word: value})
}

// tooMuch says what of a line could grow too large; empty: nothing.
func (s sizes) tooMuch(file *syntax.File) string {
	syntax.Walk(file, func(n syntax.Node) bool {
		s.filled(n)
		return true
	})
	reason := ""
	syntax.Walk(file, func(n syntax.Node) bool {
		if !s.fits(n) {
			reason = "it builds up long text"
		}
		return reason == ""
	})
	return reason
}

// filled notes what loops and read put into variables.
func (s sizes) filled(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.WordIter:
		for _, item := range n.Items {
			s.assign(n.Name.Value, item)
		}
	case *syntax.CallExpr:
		if len(n.Args) == 0 || n.Args[0].Lit() != "read" {
			return
		}
		for _, name := range n.Args[1:] {
			s.from[name.Lit()] = append(s.from[name.Lit()], source{bytes: MaxSubstituted})
		}
	}
}

// fits reports whether the words of a part of a line stay within their bounds.
func (s sizes) fits(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Word:
		return s.within(maxText, n)
	case *syntax.CallExpr:
		return s.within(maxSplit, slices.DeleteFunc(slices.Clone(n.Args), func(w *syntax.Word) bool { return !splits(w) })...)
	case *syntax.WordIter:
		return s.within(maxSplit, n.Items...)
	case *syntax.Redirect:
		return s.within(maxSplit, n.Hdoc, n.Word)
	case *syntax.CaseClause:
		return s.within(maxCompared, n.Word)
	case *syntax.BinaryTest:
		return s.within(maxCompared, testWord(n.X), testWord(n.Y))
	case *syntax.ParamExp:
		return n.Exp == nil && n.Repl == nil || s.variable(n.Param.Value) <= maxCompared
	}
	return true
}

// testWord is the word of a test that is one, or nil.
func testWord(side syntax.TestExpr) *syntax.Word {
	w, _ := side.(*syntax.Word)
	return w
}

func (s sizes) within(limit int, words ...*syntax.Word) bool {
	return !slices.ContainsFunc(words, func(w *syntax.Word) bool { return w != nil && s.word(w) > limit })
}

// splits reports a word that may become several: it expands outside of quotes.
func splits(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		switch p.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			return true
		}
		return false
	})
}

// word is the most bytes that a word can become. What is made of itself is endless.
func (s sizes) word(w *syntax.Word) int {
	total := 0
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			total += len(n.Value)
		case *syntax.SglQuoted:
			total += len(n.Value)
		case *syntax.CmdSubst:
			total += MaxSubstituted
			return false
		case *syntax.ArithmExp:
			total += numberText
			return false
		case *syntax.ParamExp:
			total += s.expansion(n)
			return false
		}
		return total <= maxText
	})
	return total
}

func (s sizes) expansion(n *syntax.ParamExp) int {
	if n.Length || n.Param == nil {
		return numberText
	}
	size := s.variable(n.Param.Value)
	if n.Repl != nil && n.Repl.With != nil {
		size *= 1 + s.word(n.Repl.With)
	}
	if n.Exp != nil && n.Exp.Word != nil {
		size += s.word(n.Exp.Word)
	}
	return min(size, 2*maxText)
}

func (s sizes) variable(name string) int {
	sources, ok := s.from[name]
	if !ok {
		return unknownText
	}
	if most, ok := s.most[name]; ok {
		return most
	}
	s.most[name] = 2 * maxText // what is made of itself comes here again
	largest := 0
	for _, from := range sources {
		size := from.bytes
		if from.word != nil {
			size = s.word(from.word)
		}
		largest = max(largest, size)
	}
	s.most[name] = largest
	return largest
}

// sequenceLength is how many words a {x..y} becomes, or more than any bound.
func sequenceLength(b *syntax.BraceExp) int {
	ends := make([]int, 2)
	for i := range ends {
		text := b.Elems[i].Lit()
		n, err := strconv.Atoi(text)
		if err != nil {
			if utf8.RuneCountInString(text) != 1 {
				return maxWords + 1
			}
			r, _ := utf8.DecodeRuneInString(text)
			n = int(r)
		}
		if len(text) > 10 {
			return maxWords + 1
		}
		ends[i] = n
	}
	return max(ends[0]-ends[1], ends[1]-ends[0]) + 1
}

// unknownExpansion says why a variable is not expanded; empty: it is.
func unknownExpansion(n *syntax.ParamExp) string {
	const reason = "it does more with a variable than is judged"
	switch {
	case n.Param == nil, n.Excl, n.Width, n.IsSet, n.Flags != nil, n.NestedParam != nil, n.Index != nil, n.Names != 0,
		len(n.Modifiers) > 0:
		return reason
	case n.Repl != nil && (!shortPattern(n.Repl.Orig) || n.Repl.With != nil && !shortPattern(n.Repl.With)):
		return reason
	case n.Exp == nil:
		return ""
	}
	switch n.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		return ""
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		if n.Exp.Word == nil || shortPattern(n.Exp.Word) {
			return ""
		}
	}
	return reason
}

// unknownComparison says why a test or a case is not judged; empty: it is.
func unknownComparison(n syntax.Node) string {
	const reason = "it compares in a way that is not judged"
	switch n := n.(type) {
	case *syntax.CaseItem:
		for _, w := range n.Patterns {
			if !shortPattern(w) {
				return reason
			}
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			return reason // its operand is evaluated
		}
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch, syntax.TsReMatch:
			if w, ok := n.Y.(*syntax.Word); !ok || !quotedText(w) && !shortPattern(w) {
				return reason
			}
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{n.X, n.Y} {
				if w, ok := side.(*syntax.Word); ok && !expands(w) && !isNumber(w.Lit()) {
					return reason // bash computes it, the interpreter does not
				}
			}
		}
	}
	return ""
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// quotedText reports a word in double quotes: whatever it holds is no pattern.
func quotedText(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	_, ok := w.Parts[0].(*syntax.DblQuoted)
	return ok
}

// shortPattern reports a word without expansions that is matched in a moment.
func shortPattern(w *syntax.Word) bool {
	size := 0
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			size += len(n.Value)
		case *syntax.SglQuoted:
			size += len(n.Value)
		case *syntax.ExtGlob:
			size += maxPattern
		}
		return true
	})
	return size < maxPattern && !expands(w)
}
