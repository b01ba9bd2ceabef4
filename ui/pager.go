package ui

import (
	"belay/ui/keys"
	"belay/ui/theme"
)

// pager shows a text of any length over the whole screen.
type pager struct {
	title string
	// draw lays the text out, for a change in one of its two layouts.
	draw       func(th *theme.Theme, width int, sideBySide bool) []string
	change     bool // it has two layouts
	sideBySide bool
	atEnd      func() // called when the last line is on the screen; may be nil

	offset int
	shown  int // lines that there was room for
	width  int // that lines were laid out for
	lines  []string
}

// minSideBySide is from how many columns on a change is shown side by side at first.
const minSideBySide = 140

func (p *pager) key(name, _ string) action {
	page := max(p.shown-1, 1)
	switch keys.PagerKeys.Action(name) {
	case keys.Up:
		p.scroll(-1)
	case keys.Down:
		p.scroll(1)
	case keys.PageUp:
		p.scroll(-page)
	case keys.PageDown:
		p.scroll(page)
	case keys.Top:
		p.offset = 0
	case keys.Bottom:
		p.offset = len(p.lines)
	case keys.Layout:
		if p.change {
			p.sideBySide, p.width = !p.sideBySide, 0
		}
	case keys.Close:
		return closeDialog{}
	default:
		return unhandled{}
	}
	return nil
}

func (p *pager) scroll(lines int) { p.offset = max(p.offset+lines, 0) }

func (p *pager) setTheme(*theme.Theme) { p.width = 0 }

func (p *pager) view(f frame) box {
	if p.width == 0 && p.lines == nil {
		p.sideBySide = p.change && f.width >= minSideBySide
	}
	if p.width != f.width {
		p.width, p.lines = f.width, p.draw(f.theme, f.width-4, p.sideBySide)
	}
	p.shown = max(f.height-3, 1)
	p.offset = max(0, min(p.offset, len(p.lines)-p.shown))
	shown := p.lines[p.offset:min(p.offset+p.shown, len(p.lines))]
	if p.atEnd != nil && p.offset+p.shown >= len(p.lines) {
		p.atEnd()
	}
	rows := make([]string, p.shown)
	copy(rows, shown)
	return box{lines: f.theme.Box(p.head(f), rows, f.width, f.theme.Faint), top: 1}
}

// head says where in the text one is, and what the keys do.
func (p *pager) head(f frame) string {
	hint := keys.PagerKeys.Hint
	hints := [][2]string{hint("scroll", keys.Up, keys.Down), hint("close", keys.Close)}
	if p.change {
		hints = append(hints, hint("layout", keys.Layout))
	}
	place := ""
	if len(p.lines) > p.shown {
		place = "  " + theme.Count(int64(min(p.offset+p.shown, len(p.lines)))) + " of " + theme.Plural(len(p.lines), "line")
	}
	return f.theme.Strong.Paint(p.title) + f.theme.Dim.Paint(place) + "   " + f.theme.Keys(hints...)
}
