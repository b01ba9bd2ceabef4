package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"belay/ui/keys"
	"belay/ui/theme"
)

// The smallest screen.
const (
	minWidth  = 60
	minHeight = 16
)

// minAiryHeight is from how many rows on there is room for blank lines.
const minAiryHeight = 24

// View draws the screen. It is called after every message, so it gives the last
// frame again while nothing has changed.
func (m *Model) View() tea.View {
	if !m.dirty {
		return m.cached
	}
	m.dirty = false
	v := tea.View{
		AltScreen: true, ReportFocus: true, MouseMode: tea.MouseModeCellMotion,
		WindowTitle: m.views.windowTitle(m.options.Project), ProgramStatus: m.views.programStatus(),
	}
	if m.ended {
		v.ProgramStatus.State = tea.ProgramStateIdle
	}
	if m.width < minWidth || m.height < minHeight {
		v.SetContent(tooSmall(m.width, m.height))
	} else {
		lines, cursor := m.screen()
		v.SetContent(strings.Join(lines, "\n"))
		v.Cursor = cursor
	}
	m.cached = v
	return v
}

func tooSmall(width, height int) string {
	return theme.Cut("too small: belay needs 60×16", width) + strings.Repeat("\n", max(height-1, 0))
}

// frame is the whole screen for a part to draw on.
func (m *Model) frame() frame {
	return frame{theme: m.look.theme, width: m.width, height: m.height, now: m.options.Now(), focused: m.covered()}
}

// screen lays the parts out: the bar, the transcript with what lies under it, the
// composer, the status line; and over them the dialog.
func (m *Model) screen() ([]string, *tea.Cursor) {
	f := m.frame()
	hint := m.views.composerHint()
	if _, ok := m.focus.mode.(approvalMode); ok {
		hint = keys.Approval.Label(keys.Blur) + " to write a message instead"
	}
	m.composer.SetHint(hint)
	if rows := max(min(f.height/3, 12), 1); m.composer.Resized(f.width, rows) {
		m.composer.SetSize(f.width, rows)
	}
	write, cursor := m.writing(f)
	below := m.belowTranscript(f, f.height-5-len(write))
	room := max(f.height-4-len(write)-len(below), 1)

	banner := f.theme.Warn.Paint(theme.Line(m.options.Banner))
	lines := make([]string, 0, f.height)
	lines = append(lines,
		m.views.topBar(m.options.Project, m.branch, f.now).View(f.theme, f.width), f.theme.Rule(f.width, banner))
	lines = append(lines, m.body(f, room)...)
	lines = append(lines, below...)
	lines = append(lines, f.theme.Rule(f.width, m.ruleText(f)))
	if cursor != nil {
		cursor.Y += len(lines)
	}
	lines = append(lines, write...)
	lines = append(lines, m.bottom(f))
	lines = lines[:min(len(lines), f.height)]
	if m.dialog != nil {
		lines, cursor = m.overlay(f, lines, cursor)
	}
	for i, l := range lines {
		if theme.Width(l) > f.width {
			lines[i] = ansi.Truncate(l, f.width, "")
		}
	}
	return lines, cursor
}

// overlay puts the dialog over the screen, unless it stands beside the transcript.
func (m *Model) overlay(f frame, lines []string, write *tea.Cursor) ([]string, *tea.Cursor) {
	if m.side() > 0 {
		if m.covered() {
			write = nil
		}
		return lines, write
	}
	b := m.dialog.view(f)
	if b.page {
		return b.centred(f, m.options.Version), nil
	}
	b.over(lines, f.width)
	if b.cursor == nil {
		return lines, nil
	}
	return lines, barCursor(b.left+b.cursor.X, b.top+b.cursor.Y, f)
}

func barCursor(x, y int, f frame) *tea.Cursor {
	c := tea.NewCursor(x, y)
	c.Shape, c.Blink, c.Color = tea.CursorBar, true, f.theme.AccentColor
	return c
}

// writing is where a person writes, and the cursor in it.
func (m *Model) writing(f frame) ([]string, *tea.Cursor) {
	if finder, ok := m.focus.finder(); ok {
		return []string{finder.line(f)}, tea.NewCursor(finder.column(f), 0)
	}
	rows := m.composer.View()
	x, y, ok := m.composer.Cursor()
	if !ok {
		return rows, nil
	}
	return rows, barCursor(x, y, f)
}

// ruleText stands in the rule over the composer.
func (m *Model) ruleText(f frame) string {
	if entry, ok := m.focus.mode.(entryMode); ok {
		return f.theme.Warn.Paint(entry.title()) + f.theme.Dim.Paint(entry.ways())
	}
	pane, end := m.views.transcript(), keys.Label(keys.Bottom)
	switch n := pane.Unseen(); {
	case n > 0:
		return f.theme.Accent.Paint("↓ "+theme.Count(int64(n))+" new") + f.theme.Dim.Paint("  "+end)
	case !pane.Following() && !m.covered():
		return f.theme.Dim.Paint("↓ " + end)
	}
	return ""
}

// body is the transcript, or the welcome while that is empty, and the panel beside
// it.
func (m *Model) body(f frame, height int) []string {
	side := m.side()
	pane := m.views.transcript()
	var lines []string
	if pane.Empty() {
		lines = m.views.welcome(f, height, m.options.Version)
	} else {
		pane.SetSize(f.width-side, height)
		lines = pane.View()
	}
	if side == 0 {
		return lines
	}
	column := f
	column.width, column.height = side, len(lines)
	beside := m.dialog.(panel).beside(column)
	for i := range lines {
		lines[i] = theme.Fit(lines[i], f.width-side)
		if i < len(beside) {
			lines[i] += beside[i]
		}
	}
	return lines
}

// belowTranscript is what lies between the transcript and the composer: the wait,
// the queue, the question, the warning of a large request. Room is how many rows
// there are.
func (m *Model) belowTranscript(f frame, room int) []string {
	var lines []string
	airy := f.height >= minAiryHeight
	if v := m.views.shown(); v != nil {
		if v.wait != nil {
			wait := *v.wait
			wait.Now, wait.Tiers, wait.After = f.now, v.tiers, v.tierBelow()
			wait.Focused = m.focus.mode == (retryBox{})
			box := wait.View(f.theme, f.width)
			if airy {
				lines = append(lines, "")
			}
			lines = append(lines, box[:min(len(box), max(room-3, 4))]...)
		}
		lines = append(lines, v.queueLines(f, m.dialog == m.steps && m.covered())...)
		if m.approvals.Active() && !m.focus.editingCall() {
			if airy && len(lines) == 0 {
				lines = append(lines, "")
			}
			rows := max(room-len(lines)-2, 6)
			if airy {
				rows = max(min(rows, room*2/3), 6)
			}
			lines = append(lines, m.approvals.View(f.width, rows)...)
		}
	}
	if m.draft.size.shown && !m.composer.Borrowed() {
		lines = append(lines, m.draft.size.lines(f)...)
	}
	return lines
}

// bottom is the status line.
func (m *Model) bottom(f frame) string {
	line := m.views.bottomLine(f, m.options.Mode)
	line.Toast = m.toast
	line.Keys = append(m.views.stepHints(m.dialog == m.steps), line.Keys...)
	if _, ok := m.focus.mode.(callChooser); ok {
		hint := keys.CallChooser.Hint
		line.Keys = [][2]string{hint("choose", keys.Up, keys.Down), hint("open", keys.OpenCall), hint("back", keys.Blur)}
	}
	return line.View(f.theme, f.width)
}
