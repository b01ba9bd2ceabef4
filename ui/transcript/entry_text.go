package transcript

import (
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/keys"
	"belay/ui/theme"
)

const quoteSign = "│ "

// side is one of the two columns of a change, or all of a row.
type side int

const (
	wholeRow side = iota
	oldSide
	newSide
)

// copiedOf is the text behind the rows of an entry.
func (p *painter) copiedOf(e *entry, of side) *copied {
	lines := p.layout(e)
	rows := make([]rowText, len(lines))
	for i, line := range lines {
		rows[i] = p.rowOf(e, i, strings.TrimRight(ansi.Strip(line), " "), of)
	}
	return align(rows, p.source(e))
}

// rowOf takes what belongs to the layout off a row.
func (p *painter) rowOf(e *entry, i int, row string, of side) rowText {
	lead := p.leadOf(e, i)
	row, taken := takeCells(row, lead)
	if e.kind == prose {
		row, taken = e.withoutGround(row, taken, i)
	}
	switch {
	case e.kind == prose && i == 0 && e.head && row == "" && e.label != "", isFolded(row), e.kind == call && row == "",
		e.kind == prompt && !e.open && i == maxPromptLines:
		return rowText{lead: taken, line: noText}
	case (e.kind == call || e.kind == local) && i == 0: // the tool is at the left of it, what came of it at the right
		title, _, _ := strings.Cut(row, "   ")
		return rowText{lead: taken, text: title}
	case e.kind == prose && strings.HasPrefix(row, quoteSign):
		return rowText{lead: taken + theme.Width(quoteSign), text: row[len(quoteSign):]}
	case e.diff != "" && i >= max(e.headRows, 1), e.kind == sheet && e.page.change != "":
		return p.changeRow(e, row, taken, of)
	}
	return rowText{lead: taken, text: row}
}

// withoutGround takes the bar and the language off a row of code.
func (e *entry) withoutGround(row string, taken, i int) (string, int) {
	lang, _, code := e.fence()
	if !code {
		if _, code = e.code(); !code {
			return row, taken
		}
		lang = e.language()
	}
	if rest, ok := strings.CutPrefix(row, "│"); ok {
		row, taken = rest, taken+1
	}
	if words, ok := strings.CutSuffix(row, "  "+lang); ok && lang != "" && i <= 1 {
		row = strings.TrimRight(words, " ")
	}
	return row, taken
}

// leadOf is how many cells the layout takes at the beginning of a row.
func (p *painter) leadOf(e *entry, i int) int {
	const inside = len(margin) + 2 // behind a bar or a symbol
	switch e.kind {
	case prose, cutOff:
		if i == 0 && e.label != "" && (e.head || e.kind == cutOff) {
			return len(margin) + theme.Width(e.label) + 2
		}
	case sheet:
		return 0
	case call:
		if i < max(e.headRows, 1) {
			return inside + toolWidth(e) + 1
		}
		return inside
	case local, statusLine, notice:
		return inside
	case reasoning, todoList:
		if i > 0 {
			return inside
		}
	}
	return len(margin)
}

// takeCells takes cells off the beginning of a row.
func takeCells(row string, cells int) (rest string, taken int) {
	if width := theme.Width(row); width <= cells {
		return "", width
	}
	return ansi.TruncateLeft(row, cells, ""), cells
}

// isFolded reports a row that stands for lines which are left out.
func isFolded(row string) bool {
	return strings.HasSuffix(row, keys.Label(keys.OpenCall)) && strings.HasPrefix(row, "+")
}

// numberedRow is the number and the sign of a line of a change.
var numberedRow = regexp.MustCompile(`^ *\d+ [ +−] ?`)

// changeRow takes the other side, the number and the sign off a row of a change.
func (p *painter) changeRow(e *entry, row string, lead int, of side) rowText {
	if half := p.halfOf(e); half > 0 {
		switch {
		case of == newSide:
			rest, taken := takeCells(row, half+3)
			row, lead = rest, lead+taken
		case of == oldSide:
			row = strings.TrimRight(ansi.Truncate(row, half, ""), " ")
		}
	}
	if number := numberedRow.FindString(row); number != "" {
		return rowText{lead: lead + theme.Width(number), text: row[len(number):]}
	}
	if strings.TrimSpace(row) == "" {
		return rowText{lead: lead, line: noText}
	}
	return rowText{lead: lead, text: row}
}

// halfOf is the width of one column of a change that has two; 0: it has one.
func (p *painter) halfOf(e *entry) int {
	switch {
	case e.kind == sheet && e.page.change != "" && e.page.sideBySide:
		return columnWidth(p.width)
	case e.kind != sheet && e.diff != "" && p.sideBySide():
		return columnWidth(p.changeWidth())
	}
	return 0
}

// sideAt is the side of a change that a column belongs to.
func (p *painter) sideAt(e *entry, column int) side {
	half := p.halfOf(e)
	switch {
	case half == 0:
		return wholeRow
	case column < p.leadOf(e, 1)+half+2:
		return oldSide
	}
	return newSide
}

// source is the text of an entry in lines that nothing has broken.
func (p *painter) source(e *entry) []string {
	switch e.kind {
	case prompt, cutOff:
		return textLines(strings.TrimSpace(e.text))
	case prose:
		return p.proseSource(e)
	case reasoning:
		return textLines(strings.ReplaceAll(strings.TrimSpace(e.text), "**", ""))
	case call, local:
		return callSource(e)
	case sheet:
		return e.page.source(p.theme)
	case todoList:
		lines := make([]string, len(e.todos))
		for i, t := range e.todos {
			lines[i] = theme.Line(t.text)
		}
		return lines
	}
	return slices.Concat(textLines(e.text), textLines(e.detail))
}

func textLines(text string) []string {
	return strings.Split(strings.TrimRight(theme.Sanitize(text), "\n"), "\n")
}

// proseSource is Markdown as it is shown, code as it was written.
func (p *painter) proseSource(e *entry) []string {
	if _, text, ok := e.fence(); ok {
		return textLines(text)
	}
	if code, ok := e.code(); ok {
		return textLines(code)
	}
	source := e.text
	if e.linkDefs != "" {
		source += "\n\n" + e.linkDefs
	}
	const widest = 1 << 13 // cells: the renderer fills lines up
	var unbroken markdown
	lines := unbroken.render(p.theme, min(len(source)+64, widest), source)
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimRight(ansi.Strip(line), " "), quoteSign)
	}
	return lines
}

// code is the text of an entry that is one fence of code.
func (e *entry) code() (string, bool) {
	if e.kind != prose || !onlyFence(e.text) {
		return "", false
	}
	_, rest, _ := strings.Cut(strings.TrimRight(e.text, "\n"), "\n")
	return rest[:max(strings.LastIndexByte(rest, '\n'), 0)], true
}

// callSource is what is shown below the line of a call.
func callSource(e *entry) []string {
	lines := strings.Split(strings.TrimRight(theme.Visible(argsText(e.args)), "\n"), "\n")
	if e.diff == "" {
		return append(lines, textLines(e.output)...)
	}
	return append(lines, changeSource(e.diff)...)
}

// changeSource is the lines of a change without their signs.
func changeSource(diff string) []string {
	var lines []string
	for _, line := range strings.Split(strings.TrimRight(diff, "\n"), "\n") {
		if line != "" && strings.ContainsRune(" +-", rune(line[0])) && !IsDiff(line) && !strings.HasPrefix(line, "+++") {
			lines = append(lines, theme.Sanitize(line[1:]))
		}
	}
	return lines
}
