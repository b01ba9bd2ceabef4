package ui

import (
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/session"
	"belay/ui/status"
	"belay/ui/theme"
)

const (
	leastWidth  = 60
	leastHeight = 16
)

// View draws the screen. It is called after every message, so it gives the
// last frame again while nothing has changed.
func (m *Model) View() tea.View {
	if !m.dirty {
		return m.cached
	}
	m.dirty = false
	v := tea.View{
		AltScreen: true, ReportFocus: true, MouseMode: tea.MouseModeCellMotion,
		WindowTitle: m.title(), ProgramStatus: m.programStatus(),
	}
	if m.width < leastWidth || m.height < leastHeight {
		v.SetContent(tooSmall(m.width, m.height))
		m.cached = v
		return v
	}
	lines, cursor := m.screen()
	v.SetContent(strings.Join(lines, "\n"))
	v.Cursor = cursor
	m.cached = v
	return v
}

func tooSmall(width, height int) string {
	return theme.Cut("too small: belay needs 60×16", width) + strings.Repeat("\n", max(height-1, 0))
}

// screen lays the parts out: the bar, the transcript with what lies under it,
// the composer, the status line.
func (m *Model) screen() ([]string, *tea.Cursor) {
	w, h := m.width, m.height
	m.composer.SetHint(m.hintWords())
	if m.composerWidth() {
		m.composer.SetSize(w, max(min(h/3, 12), 1))
	}
	write := m.writeRows()
	under := m.under(h - 5 - len(write))
	room := max(h-4-len(write)-len(under), 1)

	lines := make([]string, 0, h)
	lines = append(lines, m.top(), m.theme.Rule(w, m.theme.Warn.Paint(theme.Line(m.o.Banner))))
	lines = append(lines, m.beside(m.body(room))...)
	lines = append(lines, under...)
	lines = append(lines, m.theme.Rule(w, m.newWords()))
	at := len(lines)
	lines = append(lines, write...)
	lines = append(lines, m.bottom())
	if len(lines) > h {
		lines = lines[:h]
	}
	cursor := m.cursor(at)
	if m.layer != none {
		write := cursor
		if lines, cursor = m.over(lines); !m.covered() {
			cursor = write
		}
	}
	for i, l := range lines {
		if theme.Width(l) > w {
			lines[i] = ansi.Truncate(l, w, "")
		}
	}
	return lines, cursor
}

// composerWidth reports whether the composer does not fit the screen any more.
func (m *Model) composerWidth() bool {
	return m.composer.Resized(m.width, max(min(m.height/3, 12), 1))
}

func (m *Model) writeRows() []string {
	if m.focus == finding {
		places := theme.Plural(m.finds, "place")
		if m.find == "" {
			places = "type what to find"
		}
		left := m.theme.Accent.Paint(" find › ") + theme.Cut(m.find, m.width-40)
		return []string{theme.Sides(left, m.theme.Dim.Paint(places+"   ")+m.theme.Keys("↑ ↓", "next", "esc", "close")+" ", m.width)}
	}
	return m.composer.View()
}

func (m *Model) cursor(at int) *tea.Cursor {
	if m.focus == finding {
		return tea.NewCursor(8+theme.Width(theme.Cut(m.find, m.width-40)), at)
	}
	x, y, ok := m.composer.Cursor()
	if !ok {
		return nil
	}
	c := tea.NewCursor(x, at+y)
	c.Shape, c.Blink, c.Color = tea.CursorBar, true, m.theme.AccentColor
	return c
}

func (m *Model) hintWords() string {
	r := m.room()
	switch {
	case m.focus == asked:
		return "tab to write a message instead"
	case r != nil && r.s.PartOf != "" && !r.s.Live():
		return "this step is not at work; esc goes back to the plan"
	case r != nil && r.s.Live():
		return "write ahead: it is sent when this turn is done"
	case r != nil && r.s.Status == session.Parked:
		return "what you write is held behind the parked turn"
	}
	return "what is to be done?   @ file   ! command   / everything"
}

// newWords stands in the rule over the composer.
func (m *Model) newWords() string {
	switch n := m.transcript().Unseen(); {
	case m.focus == splitting:
		return m.theme.Warn.Paint("the task to cut into steps") + m.theme.Dim.Paint(": enter begins, esc goes back")
	case m.focus == shaping:
		return m.theme.Warn.Paint("step "+theme.Count(int64(m.plan.at))) + m.theme.Dim.Paint(": enter takes it, alt+enter new line, esc goes back")
	case m.focus == adding:
		return m.theme.Warn.Paint("a new step") + m.theme.Dim.Paint(": enter takes it, alt+enter new line, esc goes back")
	case m.focus == editing:
		return m.theme.Warn.Paint("editing the call") + m.theme.Dim.Paint(": enter runs it, esc goes back")
	case m.focus == naming:
		return m.theme.Warn.Paint("a new title") + m.theme.Dim.Paint(": enter, or esc")
	case m.focus == noting:
		return m.theme.Warn.Paint("a note for every request") + m.theme.Dim.Paint(": enter pins it, esc goes back")
	case m.focus == aiming:
		return m.theme.Warn.Paint("folders or patterns to work in") + m.theme.Dim.Paint(": enter, or esc; none looks everywhere")
	case m.focus == handing:
		return m.theme.Warn.Paint("what the new session is to do") + m.theme.Dim.Paint(": enter begins it, esc goes back")
	case n > 0:
		return m.theme.Accent.Paint("↓ "+theme.Count(int64(n))+" new") + m.theme.Dim.Paint("  end")
	case !m.transcript().Following() && !m.covered():
		return m.theme.Dim.Paint("↓ end")
	}
	return ""
}

func (m *Model) body(height int) []string {
	t := m.transcript()
	if t.Empty() {
		return m.welcome(height)
	}
	t.SetSize(m.width-m.side(), height)
	return t.View()
}

func (m *Model) welcome(height int) []string {
	th := m.theme
	name := "belay"
	if m.o.Version != "" {
		name += " " + m.o.Version
	}
	lines := []string{"", "   " + th.Accent.Paint(name), "   " + th.Dim.Paint("What was done is kept, whatever the model does."), ""}
	for _, k := range [][2]string{{"enter", "send"}, {"@", "mention a file"}, {"!", "run a command yourself"}, {"F2 F3 F4", "heavy, medium, light model"}, {"ctrl+s", "sessions"}, {"?", "all keys"}} {
		lines = append(lines, "   "+th.Key.Paint(theme.Fit(k[0], 10))+th.Dim.Paint(k[1]))
	}
	if len(m.offered) > 0 {
		lines = append(lines, "", "   "+th.Strong.Paint("Unfinished")+"  "+th.Keys("F8", "go on with the first", "ctrl+s", "all"))
		for _, s := range m.offered {
			symbol, words, st := th.Status(&s)
			why := theme.Kind(s.Fault)
			if why != "" {
				why = " · " + why
			}
			line := "   " + st.Paint(symbol+" "+theme.Fit(words, 20)) + theme.Line(s.Title) + th.Dim.Paint(why+" · "+theme.Line(filepath.Base(s.Project))+" · "+theme.Age(s.Updated, m.o.Now()))
			lines = append(lines, theme.Cut(line, m.width-1))
		}
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:height]
}

// under is what lies between the transcript and the composer: the wait, the
// queue, the question.
func (m *Model) under(most int) []string {
	r := m.room()
	if r == nil {
		return m.fatWords(nil)
	}
	var lines []string
	if r.wait != nil {
		w := *r.wait
		w.Now, w.Tiers, w.After, w.Focused = m.o.Now(), r.tiers, r.below(), m.focus == boxed
		box := w.View(m.theme, m.width)
		if m.height >= 24 {
			lines = append(lines, "")
		}
		lines = append(lines, box[:min(len(box), max(most-3, 4))]...)
	}
	lines = append(lines, m.queue(r)...)
	if m.question.Active() && m.focus != editing {
		if m.height >= 24 && len(lines) == 0 {
			lines = append(lines, "")
		}
		room := max(most-len(lines)-2, 6)
		if m.height >= 24 {
			room = max(min(room, most*2/3), 6)
		}
		lines = append(lines, m.question.View(m.width, room)...)
	}
	return m.fatWords(lines)
}

// fatWords adds the hints about a heavy request.
func (m *Model) fatWords(lines []string) []string {
	if !m.told || m.borrowing() {
		return lines
	}
	mark := "   " + m.theme.Warn.Paint("▲ ")
	for _, h := range m.hints {
		for i, l := range theme.Wrap(h.Text, m.width-7) {
			if i > 0 {
				mark = "     "
			}
			lines = append(lines, mark+l)
		}
	}
	pairs := []string{"F6", "what fills it", "F7", "/steps splits it", "/trim", "", "/compact", "", "enter", "send it as it is"}
	if keys := "     " + m.theme.Keys(pairs...); theme.Width(keys) <= m.width {
		return append(lines, keys)
	}
	return append(lines, "     "+m.theme.Keys(pairs[:4]...), "     "+m.theme.Keys(pairs[4:]...))
}

// queue lists what waits behind the turn, at most three lines of it.
func (m *Model) queue(r *room) []string {
	th := m.theme
	word, st := "queued", th.Dim
	if r.stuck() {
		word, st = "held  ", th.Warn
	}
	var lines []string
	for i, q := range r.s.Queue {
		if i == 3 {
			lines = append(lines, "   "+th.Dim.Paint("… "+theme.Plural(len(r.s.Queue)-3, "message")+" more"))
			break
		}
		lines = append(lines, "   "+st.Paint(word)+"  "+theme.Cut(theme.Line(q.Text), m.width-14))
	}
	switch {
	case r.s.PartOf != "" || m.stepsHaveKeys() && r.s.Status != session.Parked:
	case r.stuck() && r.s.Status != session.Parked && r.s.Plan != nil && r.s.Plan.Current() > 0:
		lines = append(lines, "   "+th.Keys(planKeys(r)...))
	case r.s.Status == session.Parked || r.stuck() && len(r.s.Queue) > 0:
		pairs := []string{"F8", "go on now", "F2 F3 F4", "on another tier"}
		if len(r.s.Queue) > 0 {
			pairs = append(pairs, "ctrl+x", "drop the turn, send this")
		}
		lines = append(lines, "   "+th.Keys(pairs...))
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

func (m *Model) top() string {
	t := status.Top{Project: m.project(), Branch: m.branch, Tiers: m.conditions(), Now: m.o.Now(), Active: models.Heavy}
	if r := m.room(); r != nil {
		t.Title, t.Active = m.stepName(&r.s), r.s.Tier
		if r.s.Project != m.o.Project {
			t.Branch = ""
		}
	}
	for _, id := range m.order {
		s := &m.rooms[id].s
		if id == m.current {
			continue
		}
		if s.NeedsYou() {
			t.Need++
		} else if s.Live() && s.PartOf == "" && !m.wholeIs(id) { // a plan and its step are one
			t.Running++
		}
	}
	return t.View(m.theme, m.width)
}

func (m *Model) bottom() string {
	b := status.Bottom{Mode: m.o.Mode, Now: m.o.Now(), Toast: m.toast}
	b.Keys = []string{"?", "keys", "ctrl+p", "commands"}
	if r := m.room(); r != nil {
		b.Session, b.Mode, b.Counted = &r.s, r.s.Mode, r.weight.Counted
		b.Doing, b.Since = r.doing, r.s.TurnStartedAt
		if r.doing == summarising {
			b.Since = time.Time{}
			b.Keys = []string{"esc", "stop", "?", "keys", "ctrl+p", "commands"}
		}
		if r.s.Status == session.Parked {
			b.Doing, b.Since = "parked", time.Time{}
			if left := r.s.RetryAt.Sub(m.o.Now()); left > 0 {
				b.Doing = "parked, again in " + theme.Clock(left)
			}
		}
		if r.s.Live() {
			b.Keys = []string{"esc", "stop", "?", "keys", "ctrl+p", "commands"}
			if c := m.working(r); c != nil || r.s.RunsPlan {
				m.planLine(&b, r, c)
			} else {
				b.Quiet = r.quiet(m.o.Now())
			}
		}
	}
	if r := m.room(); r != nil && r.s.PartOf != "" {
		b.Keys = append(backKeys(r), b.Keys...)
	} else if r != nil && r.s.Plan != nil && m.layer != stepping {
		b.Keys = append([]string{"F7", "steps"}, b.Keys...)
	}
	if m.focus == choosing {
		b.Keys = []string{"↑ ↓", "choose", "enter", "open", "esc", "back"}
	}
	return b.View(m.theme, m.width)
}

func (m *Model) title() string {
	needs := 0
	for _, id := range m.order {
		if m.rooms[id].s.NeedsYou() {
			needs++
		}
	}
	s := "belay · " + theme.Line(m.project())
	if r := m.room(); r != nil && r.s.Title != "" {
		s += " · " + theme.Cut(m.stepName(&r.s), 50)
	}
	if needs > 0 {
		s = "(" + theme.Count(int64(needs)) + ") " + s
	}
	return s
}

func (m *Model) programStatus() *tea.ProgramStatus {
	ps := &tea.ProgramStatus{App: "belay", State: tea.ProgramStateIdle}
	r := m.room()
	if r == nil || m.ending {
		return ps
	}
	state := r.s.Status
	if c := m.working(r); c != nil && c.s.Status == session.Asking {
		state = session.Asking
	}
	switch state {
	case session.Running:
		ps.State = tea.ProgramStateWorking
	case session.Asking:
		ps.State, ps.Kind = tea.ProgramStateBlocked, tea.ProgramStatusKindPermission
	case session.NeedsPerson:
		ps.State, ps.Kind = tea.ProgramStateBlocked, tea.ProgramStatusKindQuestion
	case session.Failed:
		ps.State = tea.ProgramStateError
	case session.Idle:
		if r.s.Turn > 0 {
			ps.State = tea.ProgramStateDone
		}
	}
	return ps
}
