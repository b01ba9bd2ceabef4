package ui

import (
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
	"belay/ui/transcript"
)

// pager shows a text of any length over the whole screen.
type pager struct {
	title string
	// draw lays the text out, for a change in one of its two layouts.
	draw       func(th *theme.Theme, width int, sideBySide bool) []string
	change     string // the patch that it shows, in two layouts; may be empty
	sideBySide bool
	atEnd      func() // called when the last line is on the screen; may be nil

	text  *transcript.Pane // nil: not drawn yet
	shown int              // lines that there was room for
}

// minSideBySide is from how many columns on a change is shown side by side at first.
const minSideBySide = 140

// Where the text of a pager stands on the screen.
const (
	pagerTop  = 2
	pagerLeft = 2
)

func (p *pager) key(name, _ string) action {
	a := keys.PagerKeys.Action(name)
	switch {
	case a == keys.Close:
		return closeDialog{}
	case a == "":
		return unhandled{}
	case p.text == nil:
		return nil
	}
	switch a {
	case keys.Up:
		p.text.Scroll(-1)
	case keys.Down:
		p.text.Scroll(1)
	case keys.PageUp:
		p.text.Page(-1)
	case keys.PageDown:
		p.text.Page(1)
	case keys.Top:
		p.text.Top()
	case keys.Bottom:
		p.text.Bottom()
	case keys.Layout:
		if p.change != "" {
			p.sideBySide = !p.sideBySide
			p.text.SetSideBySide(p.sideBySide)
		}
	}
	return nil
}

func (p *pager) scroll(lines int) {
	if p.text != nil {
		p.text.Scroll(lines)
	}
}

func (p *pager) setTheme(th *theme.Theme) {
	if p.text != nil {
		p.text.SetTheme(th)
	}
}

// marks is the text, of which a part can be marked, and where it stands.
func (p *pager) marks() (*transcript.Pane, place) {
	return p.text, place{rowSpan{pagerTop, pagerTop + p.shown}, pagerLeft}
}

func (p *pager) view(f frame) box {
	if p.text == nil {
		p.sideBySide = p.change != "" && f.width >= minSideBySide
		p.text = transcript.NewSheet(f.theme, p.change, p.draw)
		p.text.SetSideBySide(p.sideBySide)
	}
	p.shown = max(f.height-3, 1)
	p.text.SetSize(f.width-4, p.shown)
	rows := p.text.View()
	last, of := p.text.Place()
	if p.atEnd != nil && last >= of {
		p.atEnd()
	}
	return box{lines: f.theme.Box(p.head(f, last, of), rows, f.width, f.theme.Faint), top: pagerTop - 1}
}

// head says where in the text one is, and what the keys do.
func (p *pager) head(f frame, last, of int) string {
	hint := keys.PagerKeys.Hint
	hints := [][2]string{hint("scroll", keys.Up, keys.Down), hint("close", keys.Close)}
	if p.change != "" {
		hints = append(hints, hint("layout", keys.Layout))
	}
	place := ""
	if of > p.shown {
		place = "  " + locale.N(of, "%[2]d of %[1]d line", "%[2]d of %[1]d lines", last)
	}
	room := f.width - 6 - theme.Width(place) - 3
	title := theme.Cut(p.title, max(room-theme.Width(f.theme.Keys(hints[:2]...)), 8))
	ways := f.theme.KeyLines(room-theme.Width(title), 1, hints...)
	return f.theme.Strong.Paint(title) + f.theme.Dim.Paint(place) + "   " + ways[0]
}
