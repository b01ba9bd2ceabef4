package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"belay/ui/approval"
	"belay/ui/keys"
	"belay/ui/locale"
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
	view := tea.View{
		AltScreen: true, ReportFocus: true,
		WindowTitle: m.views.windowTitle(m.options.Project, m.frame()), ProgramStatus: m.views.programStatus(),
	}
	if !m.options.NoMouse {
		view.MouseMode = tea.MouseModeCellMotion
	}
	if m.ended {
		view.ProgramStatus.State = tea.ProgramStateIdle
	}
	switch {
	case m.unsized:
	case m.width < minWidth || m.height < minHeight:
		view.SetContent(tooSmall(m.width, m.height))
	default:
		lines, cursor := m.screen()
		view.SetContent(strings.Join(lines, "\n"))
		view.Cursor = cursor
	}
	m.cached = view
	m.pulse.drawn()
	return view
}

// rowSpan is some rows of the screen, the last one not included.
type rowSpan struct{ from, to int }

func (r rowSpan) holds(row int) bool     { return row >= r.from && row < r.to }
func (r rowSpan) moved(rows int) rowSpan { return rowSpan{r.from + rows, r.to + rows} }

func tooSmall(width, height int) string {
	return theme.Cut(locale.T("too small: belay needs 60×16"), width) + strings.Repeat("\n", max(height-1, 0))
}

// frame is the whole screen for a part to draw on.
func (m *Model) frame() frame {
	return frame{theme: m.look.theme, width: m.width, height: m.height, now: m.options.Now(), focused: m.covered()}
}

// screen lays the parts out: the bar, the transcript with what lies under it, the
// composer, the status line; and over them the dialog.
func (m *Model) screen() ([]string, *tea.Cursor) {
	area := m.frame()
	hint := m.views.composerHint()
	if _, ok := m.focus.mode.(approvalMode); ok {
		hint = locale.T("%s to write a message instead", keys.Approval.Label(keys.Blur))
	}
	m.composer.SetHint(hint)
	if rows := max(min(area.height/3, 12), 1); m.composer.Resized(area.width, rows) {
		m.composer.SetSize(area.width, rows)
	}
	write, cursor := m.writing(area)
	m.question, m.pointer.wait = rowSpan{}, waitPlace{}
	below := m.belowTranscript(area, area.height-5-len(write))
	room := max(area.height-4-len(write)-len(below), 1)

	banner := area.theme.Warn.Paint(locale.Said(theme.Line(m.options.Banner)))
	m.pointer.transcript = place{rowSpan{2, 2 + room}, 0}
	m.question, m.pointer.wait.rowSpan = m.question.moved(2+room), m.pointer.wait.moved(2+room)
	lines := make([]string, 0, area.height)
	top := m.views.topBar(m.options.Project, m.branch, area.now)
	lines = append(lines, top.View(area.theme, area.width), area.theme.Rule(area.width, banner))
	lines = append(lines, m.body(area, room)...)
	lines = append(lines, below...)
	lines = append(lines, area.theme.Rule(area.width, m.ruleText(area)))
	m.pointer.writing = rowSpan{len(lines), len(lines) + len(write)}
	m.pointer.dialog = place{rowSpan{2, 2 + room}, area.width - m.side()}
	if cursor != nil {
		cursor.Y += len(lines)
	}
	lines = append(lines, write...)
	lines = append(lines, m.bottom(area))
	lines = lines[:min(len(lines), area.height)]
	if m.dialog != nil {
		lines, cursor = m.overlay(area, lines, cursor)
	}
	for i, l := range lines {
		if theme.Width(l) > area.width {
			lines[i] = ansi.Truncate(l, area.width, "")
		}
	}
	return lines, cursor
}

// overlay puts the dialog over the screen, unless it stands beside the transcript.
func (m *Model) overlay(area frame, lines []string, write *tea.Cursor) ([]string, *tea.Cursor) {
	if m.side() > 0 {
		if m.covered() {
			write = nil
		}
		return lines, write
	}
	shown := m.dialog.view(area)
	if shown.page {
		return shown.centred(area, m.options.Version), nil
	}
	shown.over(lines)
	m.pointer.dialog = place{rowSpan{shown.top, shown.top + len(shown.lines)}, shown.left}
	m.pointer.dialogRows = shown.lines
	if m.toast.text != "" && shown.top+len(shown.lines) >= area.height { // it would lie under the dialog
		lines[len(lines)-1] = theme.Fit(" "+area.theme.Accent.Paint(m.toast.text), area.width)
	}
	if shown.cursor == nil {
		return lines, nil
	}
	return lines, barCursor(shown.left+shown.cursor.X, shown.top+shown.cursor.Y, area)
}

func barCursor(x, y int, f frame) *tea.Cursor {
	c := tea.NewCursor(x, y)
	c.Shape = tea.CursorBar
	c.Blink = true
	c.Color = f.theme.AccentColor
	return c
}

// writing is where a person writes, and the cursor in it.
func (m *Model) writing(area frame) ([]string, *tea.Cursor) {
	if finder, ok := m.focus.finder(); ok {
		return []string{finder.line(area)}, tea.NewCursor(finder.column(area), 0)
	}
	rows := m.composer.View()
	x, y, ok := m.composer.Cursor()
	if !ok {
		return rows, nil
	}
	return rows, barCursor(x, y, area)
}

// ruleText stands in the rule over the composer.
func (m *Model) ruleText(area frame) string {
	if entry, ok := m.focus.mode.(entryMode); ok {
		return area.theme.Warn.Paint(entry.title()) + area.theme.Dim.Paint(entry.ways())
	}
	pane, end := m.views.transcript(), keys.Label(keys.Bottom)
	switch n := pane.Unseen(); {
	case n > 0:
		return area.theme.Accent.Paint("↓ "+locale.T("%d new", n)) + area.theme.Dim.Paint("  "+end)
	case !pane.Following() && !m.covered():
		return area.theme.Dim.Paint("↓ " + end)
	}
	return ""
}

// body is the transcript, or the welcome while that is empty, and the panel beside
// it.
func (m *Model) body(area frame, height int) []string {
	side := m.side()
	pane := m.views.transcript()
	var lines []string
	if pane.Empty() {
		lines = m.views.welcome(area, height, m.options.Version)
	} else {
		pane.SetSize(area.width-side, height)
		lines = pane.View()
	}
	if side == 0 {
		return lines
	}
	column := area
	column.width, column.height = side, len(lines)
	beside := m.dialog.(panel).beside(column)
	m.pointer.dialogRows = beside
	for i := range lines {
		lines[i] = theme.Fit(lines[i], area.width-side)
		if i < len(beside) {
			lines[i] += beside[i]
		}
	}
	return lines
}

// belowTranscript is what lies between the transcript and the composer: the wait,
// the queue, the question, the warning of a large request. Room is how many rows
// there are.
func (m *Model) belowTranscript(area frame, room int) []string {
	var lines []string
	airy := area.height >= minAiryHeight
	if view := m.views.shown(); view != nil {
		if view.wait != nil {
			wait := *view.wait
			wait.Now = area.now
			wait.Tiers = view.tiers
			wait.Focused = m.focus.mode == (retryBox{})
			if airy {
				lines = append(lines, "")
			}
			box := wait.View(area.theme, area.width, max(room-3, 4))
			m.pointer.wait = waitPlace{rowSpan{len(lines), len(lines) + len(box)}, area.width, wait}
			lines = append(lines, box...)
		}
		lines = append(lines, view.queueLines(area, m.dialog == m.steps && m.covered())...)
		lines = append(lines, view.todoLines(area, len(lines) > 0 || m.approvals.Active())...)
		if m.approvals.Active() && !m.focus.editingCall() {
			if airy && len(lines) == 0 {
				lines = append(lines, "")
			}
			rows := max(room-len(lines)-2, 6)
			if airy {
				rows = max(min(rows, room*2/3), 6)
			}
			box := m.approvals.View(area.width, rows, m.presence())
			m.question = rowSpan{len(lines), len(lines) + len(box)}
			lines = append(lines, box...)
		}
	}
	if m.draft.size.shown && !m.composer.Borrowed() {
		lines = append(lines, m.draft.size.lines(area)...)
	}
	return append(lines, m.toast.rows(area)...)
}

// presence says how the question about a call stands before the person.
func (m *Model) presence() approval.Presence {
	_, focused := m.focus.mode.(approvalMode)
	switch {
	case m.dialog != nil && m.side() == 0:
		return approval.Covered
	case focused && !m.covered():
		return approval.Focused
	}
	return approval.Dim
}

// bottom is the status line.
func (m *Model) bottom(area frame) string {
	line := m.views.bottomLine(area, m.options.Mode)
	line.Toast = m.toast.inLine(area)
	line.Unheld, line.Open = m.unheld, m.open
	line.Keys = append(m.views.stepHints(m.dialog == m.steps), line.Keys...)
	if _, ok := m.focus.mode.(callChooser); ok {
		hint := keys.CallChooser.Hint
		if area.width < minWidthBeside {
			line.Session = nil // the keys are worth more
		}
		line.Keys = [][2]string{hint("choose", keys.Up, keys.Down), hint("open", keys.OpenCall),
			hint("copy", keys.Copy), hint("back", keys.Blur)}
	}
	return line.View(area.theme, area.width)
}
