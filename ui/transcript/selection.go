package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

// selection is a part of the text that a person has marked. It holds on to the text
// and not to rows of the screen, so it stays on what it is on while more arrives.
type selection struct {
	anchor  span // where it began
	head    span // where it ends
	grain   int  // what a press takes: a character, a word, a line
	side    side
	texts   map[*entry]*copied
	keys    map[*entry]cacheKey // for which the texts hold
	follows bool                // the end was in view before
	moved   bool
}

// place is a place between two characters of an entry's text.
type place struct {
	entry    *entry
	line, at int
}

type span struct{ from, to place }

// point is a place as rows: entry, row, byte of the row's text.
type point struct{ entry, row, at int }

func (a point) before(b point) bool {
	switch {
	case a.entry != b.entry:
		return a.entry < b.entry
	case a.row != b.row:
		return a.row < b.row
	}
	return a.at < b.at
}

// The grains: what the presses of a button take.
const (
	byCharacter = iota + 1
	byWord
	byLine
)

// Press begins to mark text in a row of the view: at a character, with a second
// press at a word, with a third one at a line as it was written.
func (p *Pane) Press(column, row, presses int) {
	follows := p.follow
	p.stopFollowing()
	s := &selection{
		grain: (presses-1)%byLine + 1, texts: map[*entry]*copied{}, keys: map[*entry]cacheKey{}, follows: follows,
	}
	p.marked = s
	if i, _, ok := p.rowAt(row); ok {
		s.side = p.sideAt(p.entries[i], column)
	}
	at, ok := p.spanAt(column, row)
	if !ok {
		p.marked = nil
		if follows {
			p.follow = true
		}
		return
	}
	s.anchor, s.head = at, at
	s.moved = presses > 1
}

// Drag takes the end of what is marked to a place in the view.
func (p *Pane) Drag(column, row int) {
	if s := p.marked; s != nil {
		if at, ok := p.spanAt(column, row); ok {
			s.moved = s.moved || at != s.head
			s.head = at
		}
	}
}

// DragBeyond scrolls while text is marked beyond the view, and takes the end along.
func (p *Pane) DragBeyond(column, lines int) {
	if p.marked == nil {
		return
	}
	p.Scroll(lines)
	p.follow = false
	p.View()
	row := 0
	if lines > 0 {
		row = p.height - 1
	}
	p.Drag(column, row)
}

// Drop ends the dragging. It gives the text that was marked, if there is any; a press
// without a move marks none.
func (p *Pane) Drop() string {
	s := p.marked
	if s == nil {
		return ""
	}
	if s.follows {
		p.follow = true
	}
	if !s.moved {
		p.marked = nil
		return ""
	}
	text := p.Selected()
	if text == "" {
		p.marked = nil
	}
	return text
}

// Deselect gives up what is marked.
func (p *Pane) Deselect() { p.marked = nil }

// rowAt gives the entry in a row of the view, and which of its rows that is; less
// than 0: a blank row before it.
func (p *Pane) rowAt(row int) (entry, line int, ok bool) {
	if row < 0 || row >= len(p.lineEntries) || p.lineEntries[row] >= len(p.entries) {
		return 0, 0, false
	}
	return p.lineEntries[row], p.lineRows[row], true
}

// textOf is the text behind an entry's rows.
func (p *Pane) textOf(e *entry) *copied {
	s := p.marked
	key := cacheKey{p.width, p.theme.Version(), e.version}
	if c := s.texts[e]; c != nil && s.keys[e] == key {
		return c
	}
	c := p.copiedOf(e, s.side)
	s.texts[e], s.keys[e] = c, key
	return c
}

// spanAt is the character, word or line in a place of the view.
func (p *Pane) spanAt(column, row int) (span, bool) {
	if len(p.lineEntries) == 0 {
		return span{}, false
	}
	beyond := row >= len(p.lineEntries)
	i, line, ok := p.rowAt(max(min(row, len(p.lineEntries)-1), 0))
	if !ok {
		return span{}, false
	}
	e := p.entries[i]
	c := p.textOf(e)
	if beyond {
		line, column = len(c.rows)-1, p.width
	}
	if line < 0 {
		line, column = 0, 0
	}
	line, column = c.nearest(line, column)
	if line < 0 {
		return span{}, false
	}
	r := c.rows[line]
	from, to := r.cellAt(column)
	from, to = r.at+from, r.at+to
	switch p.marked.grain {
	case byWord:
		from, to = wordAt(c.lines[r.line], from)
	case byLine:
		from, to = 0, len(c.lines[r.line])
	}
	return span{place{e, r.line, from}, place{e, r.line, to}}, true
}

// nearest is the row with text at a row or before it, else behind it.
func (c *copied) nearest(row, column int) (int, int) {
	for i := min(row, len(c.rows)-1); i >= 0; i-- {
		if c.rows[i].line != noText {
			if i < row {
				column = 1 << 20
			}
			return i, column
		}
	}
	for i := range c.rows {
		if c.rows[i].line != noText {
			return i, 0
		}
	}
	return -1, 0
}

// wordAt is the word around a byte of a line: letters of one kind of script, and what
// joins them in names and paths.
func wordAt(line string, at int) (from, to int) {
	if at >= len(line) {
		return len(line), len(line)
	}
	r, n := utf8.DecodeRuneInString(line[at:])
	class := classOf(r)
	from, to = at, at+n
	for from > 0 {
		r, n := utf8.DecodeLastRuneInString(line[:from])
		if classOf(r) != class {
			break
		}
		from -= n
	}
	for to < len(line) {
		r, n := utf8.DecodeRuneInString(line[to:])
		if classOf(r) != class {
			break
		}
		to += n
	}
	if class == wordClass { // a full stop ends a sentence
		if word := strings.TrimRight(line[from:to], ".-"); word != "" && at < from+len(word) {
			to = from + len(word)
		}
	}
	return from, to
}

const (
	spaceClass = iota
	wordClass
	ideographClass
	otherClass
)

func classOf(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return spaceClass
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return ideographClass
	case unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number) || strings.ContainsRune("_-./~", r):
		return wordClass
	}
	return otherClass
}

// pointOf is where a place stands now. What is not there any more has none.
func (p *Pane) pointOf(at place) (point, bool) {
	for i := len(p.entries) - 1; i >= 0; i-- {
		if p.entries[i] != at.entry {
			continue
		}
		c := p.textOf(at.entry)
		row := c.rowOf(at.line, at.at)
		if row < 0 { // it is folded
			row, _ = c.nearest(len(c.rows)-1, 0)
			return point{i, max(row, 0), 1 << 20}, row >= 0
		}
		return point{i, row, at.at - c.rows[row].at}, true
	}
	return point{}, false
}

// ends are the first and the last point of what is marked.
func (p *Pane) ends() (from, to point, ok bool) {
	if p.marked == nil {
		return from, to, false
	}
	s := p.marked
	for i, at := range []place{s.anchor.from, s.anchor.to, s.head.from, s.head.to} {
		found, ok := p.pointOf(at)
		if !ok {
			p.marked = nil
			return from, to, false
		}
		if i == 0 || found.before(from) {
			from = found
		}
		if i == 0 || to.before(found) {
			to = found
		}
	}
	return from, to, true
}

// Selected is the text that is marked, as it was written.
func (p *Pane) Selected() string {
	from, to, ok := p.ends()
	if !ok {
		return ""
	}
	var b strings.Builder
	for i := from.entry; i <= to.entry; i++ {
		c := p.textOf(p.entries[i])
		first, firstByte, last, lastByte := 0, 0, len(c.rows)-1, 1<<20
		if i == from.entry {
			first, firstByte = from.row, from.at
		}
		if i == to.entry {
			last, lastByte = to.row, to.at
		}
		if i > from.entry {
			b.WriteString(strings.Repeat("\n", 1+p.gapBefore(i)))
		}
		b.WriteString(c.between(first, firstByte, last, lastByte))
	}
	return strings.Trim(b.String(), "\n")
}

// mark paints what is marked of a row of an entry.
func (p *Pane) mark(i, line int, s string, from, to point) string {
	if i < from.entry || i > to.entry {
		return s
	}
	c := p.textOf(p.entries[i])
	if line >= len(c.rows) || c.rows[line].line == noText {
		return s
	}
	r := c.rows[line]
	begin, end := 0, len(r.text)
	at := point{i, line, 0}
	switch {
	case at.row < from.row && i == from.entry, at.row > to.row && i == to.entry:
		return s
	}
	if i == from.entry && line == from.row {
		begin = from.at
	}
	if i == to.entry && line == to.row {
		end = min(end, to.at)
	}
	left, right := r.column(begin), min(r.column(end), p.width)
	if right <= left {
		return s
	}
	return paintCells(s, left, right, p.theme.Marked)
}

// paintCells paints some cells of a row that has styles of its own.
func paintCells(s string, left, right int, style theme.Style) string {
	s = theme.Fit(s, max(theme.Width(s), right))
	middle := ansi.Strip(ansi.Cut(s, left, right))
	return ansi.Truncate(s, left, "") + "\x1b[m" + style.Paint(middle) + ansi.TruncateLeft(s, right, "")
}
