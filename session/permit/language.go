package permit

import (
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// The bounds of a line that is read as shell. The parser calls itself for what lies
// inside something else, and Go ends a program whose stack grows too large.
const (
	maxLine    = 64 << 10
	maxNesting = 24
)

// shellCall is a simple command.
type shellCall struct {
	words   []*syntax.Word
	expands bool // variables or other commands say what its words are
}

// shellLine is a shell line, taken apart.
type shellLine struct {
	calls       []shellCall
	unjudgeable string // why nothing but a person can judge it; empty: something can
	guessed     string // why only the interpreter knows its words for sure; empty: bash has the same
	writes      bool   // output goes to a file
	single      bool   // it is one simple command and nothing else

	file  *syntax.File
	sizes sizes
}

// Parse reads a line that the interpreter shall run without a question, and says why
// that cannot be. What its commands do is another question, for Refuse, once their
// words are known.
func Parse(command string) (*syntax.File, string) {
	line := parse(command)
	switch {
	case line.unjudgeable != "":
		return nil, line.unjudgeable
	case line.writes:
		return nil, reasonWrites
	}
	return line.file, ""
}

// parse takes a shell line apart. What the interpreter does not do as bash does it,
// or could not be stopped at, is not judgeable: commands in the background,
// functions, arrays, endless loops.
func parse(command string) shellLine {
	switch {
	case len(command) > maxLine:
		return longLine(command)
	case !utf8.ValidString(command), strings.ContainsFunc(command, strange):
		return shellLine{unjudgeable: "it holds control characters"} // shells do not agree on them
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).
		Parse(strings.NewReader(command), "")
	if err != nil {
		return shellLine{unjudgeable: "it cannot be read as a shell command"}
	}
	line := shellLine{file: file, sizes: sizes{from: map[string][]source{}, most: map[string]int{}}}
	if strings.Contains(command, "\\\n") {
		line.guess("it goes on over the end of a line")
	}
	depth := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		if depth++; depth > 4*maxNesting {
			line.refuse("it is nested too deeply")
		}
		line.node(n)
		return true
	})
	if len(file.Stmts) == 1 {
		stmt := file.Stmts[0]
		call, ok := stmt.Cmd.(*syntax.CallExpr)
		line.single = ok && !stmt.Negated && !stmt.Background && len(stmt.Redirs) == 0 && len(call.Assigns) == 0
	}
	if line.unjudgeable == "" {
		line.refuse(line.sizes.tooMuch(file))
	}
	return line
}

// longLine looks at a line that is too long to be read as one for what nobody should
// run.
func longLine(command string) shellLine {
	line := shellLine{unjudgeable: "it is too long to judge"}
	for part := range strings.SplitSeq(command, "\n") {
		if len(part) <= maxLine {
			line.calls = append(line.calls, parse(part).calls...)
		}
	}
	return line
}

func strange(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// refuse notes why a line cannot be judged, the first reason first.
func (l *shellLine) refuse(reason string) {
	if l.unjudgeable == "" {
		l.unjudgeable = reason
	}
}

// guess notes why bash could take a line for another than it was judged as.
func (l *shellLine) guess(reason string) {
	if l.guessed == "" {
		l.guessed = reason
	}
}

// node notes what a part of a line means for the whole.
func (l *shellLine) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Stmt:
		if n.Background || n.Coprocess || n.Disown {
			l.refuse("it leaves something running")
		}
	case *syntax.CallExpr:
		l.call(n)
	case *syntax.Word:
		l.word(n)
	case *syntax.Lit:
		if strings.Contains(n.Value, `\`) {
			l.guess("it escapes characters")
		}
	case *syntax.SglQuoted:
		if n.Dollar {
			l.guess("it escapes characters")
		}
	case *syntax.DblQuoted:
		if n.Dollar {
			l.refuse("it translates text")
		}
	case *syntax.Redirect:
		l.redirect(n)
	case *syntax.Assign:
		l.assign(n)
	case *syntax.ParamExp:
		l.guess("it uses variables")
		l.refuse(unknownExpansion(n))
	case *syntax.CmdSubst:
		l.guess("it runs a command inside another")
		if n.TempFile || n.ReplyVar {
			l.refuse("it does more than call programs")
		}
		catFile(n)
	case *syntax.WhileClause:
		l.guess("it repeats commands")
		if !readsLines(n) {
			l.refuse("it may never end")
		}
	case *syntax.ForClause:
		l.guess("it repeats commands")
		if each, ok := n.Loop.(*syntax.WordIter); !ok || n.Select || n.Braces {
			l.refuse("it does more than call programs")
		} else if steersPrograms(each.Name.Value) {
			l.refuse("it sets variables")
		}
	case *syntax.TestClause, *syntax.CaseClause, *syntax.ArithmExp:
		l.guess("it compares or computes")
	case *syntax.BinaryTest, *syntax.UnaryTest, *syntax.CaseItem:
		l.refuse(unknownComparison(n))
	case *syntax.Comment:
		l.guess("it has a comment")
		if strings.Contains(n.Text, `\`) {
			l.refuse("the end of its comment cannot be told") // shells do not agree
		}
	case *syntax.File, *syntax.BinaryCmd, *syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.WordIter,
		*syntax.ParenTest, *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm:
	case *syntax.ProcSubst:
		l.refuse("it runs a command inside another")
	case *syntax.DeclClause:
		l.refuse("it sets variables")
	default:
		l.refuse("it does more than call programs")
	}
}

func (l *shellLine) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	for _, a := range n.Assigns {
		if a.Name.Value != "IFS" && !harmless(a) {
			l.refuse("it sets variables")
		}
	}
	l.calls = append(l.calls, shellCall{words: n.Args, expands: slices.ContainsFunc(n.Args, expands)})
	words, ok := literalWords(n.Args)
	for ok {
		if inner, found := InnerShell(words); found {
			l.inner(inner)
		}
		var wrapped Wrapped
		wrapped, ok = Unwrap(words)
		words = wrapped.Words
	}
}

// inner takes apart what another shell is given to run.
func (l *shellLine) inner(shell Shell) {
	inner := parse(shell.Line)
	l.calls = append(l.calls, inner.calls...)
	l.writes = l.writes || inner.writes
	l.refuse(inner.unjudgeable)
	l.guess("it runs another shell")
}

// catFile writes $(<file) as $(cat <file): what it prints is bounded as what every
// command prints.
func catFile(n *syntax.CmdSubst) {
	if len(n.Stmts) == 1 && n.Stmts[0].Cmd == nil && len(n.Stmts[0].Redirs) == 1 {
		cat := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: "cat"}}}
		n.Stmts[0].Cmd = &syntax.CallExpr{Args: []*syntax.Word{cat}}
	}
}

// literalWords are words whose text is known before they are expanded.
func literalWords(words []*syntax.Word) (list []string, ok bool) {
	for _, w := range words {
		if expands(w) {
			return nil, false
		}
		text, err := expand.Literal(new(expand.Config), w) // without one of its own it shares one with others
		if err != nil {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// standIn is a word with something in the place of what is not known before it runs.
func standIn(w *syntax.Word, text string) *syntax.Word {
	var known func(parts []syntax.WordPart) []syntax.WordPart
	known = func(parts []syntax.WordPart) []syntax.WordPart {
		var list []syntax.WordPart
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.Lit, *syntax.SglQuoted:
				list = append(list, p)
			case *syntax.DblQuoted:
				list = append(list, &syntax.DblQuoted{Parts: known(p.Parts)})
			default:
				list = append(list, &syntax.Lit{Value: text})
			}
		}
		return list
	}
	return &syntax.Word{Parts: known(w.Parts)}
}

// expands reports whether a word holds more than text, patterns and braces.
func expands(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
			found = true
		}
		return !found
	})
	return found
}

// word notes what turns one word into others.
func (l *shellLine) word(w *syntax.Word) {
	braces := *w // SplitBraces changes what it is given
	braces.Parts = slices.Clone(w.Parts)
	if syntax.SplitBraces(&braces) {
		l.guess("it uses braces")
		if countBraces(&braces) > maxWords {
			l.refuse("it becomes too many words")
		}
	}
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		if strings.HasPrefix(lit.Value, "~") {
			l.guess("it uses a home folder")
		}
		if strings.Contains(lit.Value, "=~") || strings.Contains(lit.Value, ":~") {
			l.refuse("it uses a home folder") // bash expands it here, the interpreter does not
		}
		if strings.ContainsAny(lit.Value, "[") {
			l.guess("it uses a pattern")
		}
	}
}

// countBraces is how many words a word with braces becomes, or more than any bound.
func countBraces(w *syntax.Word) int {
	product := 1
	for _, p := range w.Parts {
		braces, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		n := 0
		if braces.Sequence {
			n = sequenceLength(braces)
		} else {
			for _, elem := range braces.Elems {
				n += countBraces(elem)
			}
		}
		if product = product * max(n, 1); product > maxWords || n > maxWords {
			return maxWords + 1
		}
	}
	return product
}

func (l *shellLine) assign(a *syntax.Assign) {
	l.guess("it sets variables")
	if a.Append || a.Index != nil || a.Array != nil || a.Naked || a.Name == nil ||
		steersPrograms(a.Name.Value) && !harmless(a) {
		l.refuse("it sets variables")
		return
	}
	l.sizes.assign(a.Name.Value, a.Value)
}

// harmless reports a variable with a value that may be set for a program.
func harmless(a *syntax.Assign) bool {
	if a.Value == nil {
		return PassedOn(a.Name.Value, "")
	}
	value, ok := literalWords([]*syntax.Word{a.Value})
	return ok && PassedOn(a.Name.Value, value[0])
}

// steersPrograms reports a variable that programs, or the shell, are told something by.
func steersPrograms(name string) bool {
	_, exported := os.LookupEnv(name)
	return exported && !passedOn(name) || slices.Contains(strings.Fields("PATH HOME PWD OLDPWD CDPATH ENV BASH_ENV"), name)
}

// readsLines reports a loop that ends with its input: while read.
func readsLines(n *syntax.WhileClause) bool {
	if n.Until || len(n.Cond) != 1 || n.Cond[0].Negated {
		return false
	}
	call, ok := n.Cond[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && call.Args[0].Lit() == "read"
}
