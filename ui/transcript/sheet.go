package transcript

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

// page is a text that draws itself.
type page struct {
	draw       func(th *theme.Theme, width int, sideBySide bool) []string
	change     string // the patch that it shows, whose lines get numbers; may be empty
	sideBySide bool
}

// NewSheet makes a transcript of one text, from its beginning on. A text that shows a
// patch has numbers before its lines, and two layouts.
func NewSheet(
	th *theme.Theme, change string, draw func(th *theme.Theme, width int, sideBySide bool) []string,
) *Pane {
	p := New(th, time.Now)
	p.push(&entry{kind: sheet, page: &page{draw: draw, change: change}})
	p.follow = false
	return p
}

// SetSideBySide chooses the layout of a change.
func (p *Pane) SetSideBySide(on bool) {
	e := p.entries[0]
	e.page.sideBySide = on
	e.invalidate()
}

// Place gives which line of a sheet is the last in view, and how many there are.
func (p *Pane) Place() (last, of int) {
	of = p.heightOf(0)
	if p.follow {
		return of, of
	}
	return min(p.offset+p.height, of), of
}

// source is the text of a sheet in lines that only a very long one breaks.
func (s *page) source(th *theme.Theme) []string {
	const wide = 1 << 10
	if s.change != "" {
		return changeSource(s.change)
	}
	lines := s.draw(th, wide, false)
	for i, line := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(line), " ")
	}
	return lines
}
