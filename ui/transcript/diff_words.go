package transcript

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"belay/ui/theme"
)

// The bounds of what is worth colours: laying a change out may not make a frame late.
const (
	maxComparedBytes = 64 << 10 // of a change, whose lines are compared
	maxColouredBytes = 8 << 10  // of a change in the colours of its language
	maxWords         = 120      // of a line that is compared word by word
	minAlike         = 0.4      // of two lines, else all of them is new
)

// run is a piece of a line in one style.
type run struct {
	text    string
	style   theme.Style
	changed bool // against the line that it stands for
}

// colourRows gives the lines of a change the colours of their language, and makes the
// words stand out that differ.
func colourRows(th *theme.Theme, rows []diffRow, name string) {
	size := 0
	for _, row := range rows {
		size += len(row.text)
	}
	if size > maxComparedBytes {
		return
	}
	runs := make([][]run, len(rows))
	for i, row := range rows {
		runs[i] = []run{{text: row.text}}
	}
	if lexer := lexerOf(name); lexer != nil && th.Rich && size <= maxColouredBytes {
		colourSide(th, lexer, rows, runs, '-')
		colourSide(th, lexer, rows, runs, '+')
	}
	for i := 0; i < len(rows); i++ {
		if rows[i].op != '-' {
			continue
		}
		from := i
		for i < len(rows) && rows[i].op == '-' {
			i++
		}
		for k := 0; from+k < i && i+k < len(rows) && rows[i+k].op == '+'; k++ {
			old, now := changedParts(rows[from+k].text, rows[i+k].text)
			runs[from+k], runs[i+k] = marked(runs[from+k], old), marked(runs[i+k], now)
		}
		i--
	}
	for i := range rows {
		rows[i].styled = painted(th, rows[i].op, runs[i])
	}
}

// colourSide colours what one side of a change has: its own lines and those of both.
func colourSide(th *theme.Theme, lexer chroma.Lexer, rows []diffRow, runs [][]run, op byte) {
	var text strings.Builder
	var lines []int
	for i, row := range rows {
		if row.op == op || row.op == ' ' {
			text.WriteString(row.text + "\n")
			lines = append(lines, i)
		}
	}
	tokens, err := lexer.Tokenise(nil, text.String())
	if err != nil {
		return
	}
	coloured := make([][]run, 1, len(lines)+1)
	for token := tokens(); token != chroma.EOF; token = tokens() {
		for k, part := range strings.Split(token.Value, "\n") {
			if k > 0 {
				coloured = append(coloured, nil)
			}
			if part != "" {
				last := len(coloured) - 1
				coloured[last] = append(coloured[last], run{text: part, style: syntaxStyle(th, token.Type)})
			}
		}
	}
	for k, i := range lines {
		if k < len(coloured) && textOf(coloured[k]) == rows[i].text {
			runs[i] = coloured[k]
		}
	}
}

func textOf(runs []run) string {
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(r.text)
	}
	return b.String()
}

func syntaxStyle(th *theme.Theme, t chroma.TokenType) theme.Style {
	switch {
	case t.InCategory(chroma.Comment):
		return th.Syntax.Comment
	case t.InCategory(chroma.Keyword):
		return th.Syntax.Keyword
	case t.InSubCategory(chroma.LiteralString):
		return th.Syntax.String
	case t.InSubCategory(chroma.LiteralNumber):
		return th.Syntax.Number
	case t == chroma.NameFunction, t == chroma.NameClass, t == chroma.NameBuiltin, t == chroma.NameTag:
		return th.Syntax.Name
	}
	return theme.Style{}
}

// lexersByEnding remembers what was looked for: the search tries some hundred patterns.
var lexersByEnding sync.Map

func lexerOf(name string) chroma.Lexer {
	base := name[strings.LastIndexByte(name, '/')+1:]
	ending := base[max(strings.LastIndexByte(base, '.'), 0):]
	if known, ok := lexersByEnding.Load(ending); ok {
		lexer, _ := known.(chroma.Lexer)
		return lexer
	}
	lexer := lexers.Match(base)
	if lexer != nil {
		lexer = chroma.Coalesce(lexer)
	}
	lexersByEnding.Store(ending, lexer)
	return lexer
}

// marked splits runs where changed parts begin and end; parts are from and to in bytes.
func marked(runs []run, parts [][2]int) []run {
	if len(parts) == 0 {
		return runs
	}
	var out []run
	at := 0
	for _, r := range runs {
		for r.text != "" {
			for len(parts) > 0 && parts[0][1] <= at {
				parts = parts[1:]
			}
			end := len(r.text)
			changed := false
			if len(parts) > 0 {
				changed = parts[0][0] <= at
				if changed {
					end = min(end, parts[0][1]-at)
				} else {
					end = min(end, parts[0][0]-at)
				}
			}
			out = append(out, run{r.text[:end], r.style, changed})
			at, r.text = at+end, r.text[end:]
		}
	}
	return out
}

func painted(th *theme.Theme, op byte, runs []run) string {
	var b strings.Builder
	for _, r := range runs {
		text := r.style.Paint(r.text)
		switch {
		case r.changed && op == '-':
			text = th.RemovedWord.Over(text)
		case r.changed:
			text = th.AddedWord.Over(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// changedParts compares two lines word by word. Lines that have little in common are
// told by their signs alone.
func changedParts(old, now string) (inOld, inNow [][2]int) {
	a, b := words(old), words(now)
	if len(a) == 0 || len(b) == 0 || len(a) > maxWords || len(b) > maxWords {
		return nil, nil
	}
	inA, inB := alike(a, b)
	same := 0
	for i, w := range a {
		if inA[i] {
			same += len(strings.TrimSpace(w))
		}
	}
	if float64(same) < minAlike*float64(min(len(strings.TrimSpace(old)), len(strings.TrimSpace(now)))) {
		return nil, nil
	}
	return parts(a, inA), parts(b, inB)
}

// alike marks a longest common subsequence of the words of two lines.
func alike(a, b []string) (inA, inB []bool) {
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return inA, inB
}

// parts are where the words stand that are not alike, neighbours joined.
func parts(words []string, same []bool) [][2]int {
	var out [][2]int
	at := 0
	for i, w := range words {
		end := at + len(w)
		if !same[i] {
			if n := len(out); n > 0 && out[n-1][1] == at {
				out[n-1][1] = end
			} else {
				out = append(out, [2]int{at, end})
			}
		}
		at = end
	}
	return out
}

// words cuts a line into words, spaces and single signs.
func words(line string) []string {
	var out []string
	kind := func(r rune) int {
		switch {
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	before := 0
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		k := kind(r)
		if k != 0 && k == before {
			out[len(out)-1] += line[i : i+n]
		} else {
			out = append(out, line[i:i+n])
		}
		before, i = k, i+n
	}
	return out
}
