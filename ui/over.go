package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"belay/session"
	"belay/ui/theme"
)

// over puts what is open over the screen.
func (m *Model) over(lines []string) ([]string, *tea.Cursor) {
	w, h := m.width, m.height
	var box []string
	x, y := -1, 0
	left, row := 0, 1
	switch m.layer {
	case commands, prompts:
		width := min(w-4, 84)
		if w < 92 {
			width = w // slivers of text beside a box only distract
		}
		left, row = (w-width)/2, 2
		box, x, y = m.palette.View(width, min(h-5, 20))
	case help:
		box = m.help.View(m.theme, w, h-2)
	case picking:
		box, x, y = m.picker.View(w, h-2)
	case gauging:
		if m.side() == 0 {
			row = 2
			box = m.gauge.pane.View(m.theme, w, h-5, m.o.Now())
		}
	case weighing:
		if m.side() == 0 {
			row = 2
			box = m.scales.pane.View(m.theme, w, h-5)
		}
	case stepping:
		if m.side() == 0 {
			row = 2
			box = m.stepsView(w, h-5)
		}
	case rewinding:
		box = m.back.pane.View(w, h-2)
	case setup:
		return m.page(m.first.view(m.theme, w)), nil
	case broken:
		return m.page(m.brokenWords()), nil
	case leaving, owned:
		width := min(w-4, 76)
		left, row = (w-width)/2, max(h/4, 2)
		box = m.theme.Box(m.theme.Warn.Paint(m.dialogTitle()), m.dialog(width-4), width, m.theme.Warn)
	}
	for i, l := range box {
		if row+i >= h {
			break
		}
		under := lines[row+i]
		before := theme.Fit(ansi.Truncate(under, left, ""), left)
		after := ansi.TruncateLeft(under, left+theme.Width(l), "")
		lines[row+i] = before + "\x1b[m" + l + after
	}
	if x < 0 {
		return lines, nil
	}
	c := tea.NewCursor(left+x, row+y)
	c.Shape, c.Blink, c.Color = tea.CursorBar, true, m.theme.AccentColor
	return lines, c
}

// page is a screen of its own, with the words in its middle.
func (m *Model) page(words []string) []string {
	lines := make([]string, m.height)
	widest := 0
	for _, l := range words {
		widest = max(widest, theme.Width(l))
	}
	left := strings.Repeat(" ", max((m.width-widest)/2, 2))
	start := max((m.height-len(words))/3, 2)
	lines[0] = " " + m.theme.Accent.Paint("belay") + m.theme.Dim.Paint(" "+m.o.Version)
	for i, l := range words {
		if start+i < m.height {
			lines[start+i] = left + l
		}
	}
	return lines
}

func (m *Model) brokenWords() []string {
	room := min(m.width-8, 76)
	lines := []string{m.theme.Bad.Paint("belay cannot go on"), ""}
	if m.fault != nil {
		lines = append(lines, theme.Wrap(theme.Plain(m.fault.Error()), room)...)
		if h := session.ErrorHint(m.fault); h != "" {
			lines = append(lines, "")
			for _, l := range theme.Wrap(theme.Plain(h), room) {
				lines = append(lines, m.theme.Dim.Paint(l))
			}
		}
	}
	return append(lines, "", m.theme.Keys("q", "leave"))
}

func (m *Model) dialogTitle() string {
	if m.layer == owned {
		return "this session is open elsewhere"
	}
	return "these sessions are at work"
}

func (m *Model) dialog(width int) []string {
	th := m.theme
	if m.layer == owned {
		o := m.taken
		what := "a belay (" + theme.Line(o.Program) + ", process " + theme.Count(int64(o.PID)) + " on " + theme.Line(o.Host) + ") has written to it since " + theme.At(o.Since) + "."
		lines := theme.Wrap(what, width)
		lines = append(lines, theme.Wrap("If you take it over, that one stops writing; nothing that is saved gets lost.", width)...)
		return append(lines, "", th.Keys("t", "take over", "esc", "leave it"))
	}
	var lines []string
	for _, id := range m.order {
		s := &m.rooms[id].s
		if s.Live() && s.PartOf == "" {
			symbol, words, st := th.Status(s)
			lines = append(lines, st.Paint(symbol+" "+theme.Fit(words, 10))+" "+theme.Cut(theme.Line(s.Title), width-14))
		}
	}
	return append(lines, "", th.Keys("p", "park all and leave", "s", "stop all and leave", "esc", "stay"))
}
