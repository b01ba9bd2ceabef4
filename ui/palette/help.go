package palette

import (
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Help is the keys table as a page that scrolls.
type Help struct{ offset int }

// Key scrolls the page; it reports whether the key closes it.
func (h *Help) Key(name string) (closes bool) {
	switch keys.HelpPage.Action(name) {
	case keys.Down:
		h.Scroll(1)
	case keys.Up:
		h.Scroll(-1)
	case keys.PageDown:
		h.Scroll(10)
	case keys.PageUp:
		h.Scroll(-10)
	case keys.Top:
		h.offset = 0
	case keys.Bottom:
		h.offset = 1 << 20
	default:
		return true
	}
	return false
}

// Scroll moves the page by lines; the view keeps it in range.
func (h *Help) Scroll(by int) { h.offset += by }

// View gives a box of width cells and at most height rows. Wide screens get
// two columns.
func (h *Help) View(th *theme.Theme, width, height int) []string {
	inner := width - 4
	var rows []string
	columns := 1
	if inner >= 120 {
		columns = 2
	}
	cell := (inner - 3*(columns-1)) / columns
	var cells []string
	place := keys.Where("")
	for _, binding := range keys.Table {
		if binding.Shown() == "" {
			continue
		}
		if binding.Where != place && heading(binding.Where) != "" && columns == 1 {
			cells = append(cells, "", th.Dim.Paint(heading(binding.Where)))
		}
		place = binding.Where
		name := max(18, theme.Width(binding.Shown()))
		cells = append(cells, th.Key.Paint(theme.Fit(binding.Shown(), name))+" "+theme.Cut(binding.Meaning(), cell-name-2))
	}
	per := (len(cells) + columns - 1) / columns
	for i := range per {
		l := theme.Fit(cells[i], cell)
		if k := i + per; columns == 2 && k < len(cells) {
			l += "   " + theme.Fit(cells[k], cell)
		}
		rows = append(rows, l)
	}
	room := max(height-2, 1)
	h.offset = max(0, min(h.offset, len(rows)-room))
	more := len(rows) > room
	if more {
		rows = rows[h.offset : h.offset+room]
	}
	hint := keys.HelpPage.Hint
	hints := [][2]string{hint("close", keys.Close)}
	if more {
		hints = append([][2]string{hint("scroll", keys.Up, keys.Down)}, hints...)
	}
	ways := ""
	for _, h := range hints {
		ways += "   " + h[0] + " " + h[1]
	}
	return th.Box(th.Strong.Paint(locale.T("keys"))+th.Dim.Paint(ways[1:]), rows, width, th.Faint)
}

func heading(w keys.Where) string {
	switch w {
	case keys.Asked:
		return locale.T("when a call asks")
	case keys.Waiting:
		return locale.T("while waiting for a model")
	case keys.Typed:
		return locale.T("to type")
	}
	return ""
}
