package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/status"
	"belay/ui/theme"
)

// going is a session of a step that is being read, to be shown then.
type going struct {
	id       session.ID
	followed bool // nobody asked for it: the step has begun
}

// working is the session in which the running step of a plan is carried out, or
// the steps are proposed.
func (m *Model) working(r *room) *room {
	if s := r.s.Plan; s != nil {
		if step, ok := s.Running(); ok {
			return m.rooms[step.Session]
		}
	}
	if !r.s.RunsPlan || !r.s.Live() {
		return nil
	}
	for _, id := range m.order {
		if c := m.rooms[id]; c.s.PartOf == r.s.ID && c.s.Step == 0 && c.s.Live() {
			return c
		}
	}
	return nil
}

// stepName is how a session that is part of another one is called.
func (m *Model) stepName(s *session.Session) string {
	if s.PartOf == "" {
		return theme.Line(s.Title)
	}
	if s.Step == 0 {
		return "proposing steps"
	}
	whole := m.rooms[s.PartOf]
	if whole == nil || whole.s.Plan == nil || s.Step > len(whole.s.Plan.Steps) {
		return fmt.Sprintf("step %d", s.Step)
	}
	list := whole.s.Plan.Steps
	return fmt.Sprintf("step %d/%d %s", s.Step, len(list), theme.Line(list[s.Step-1].Title))
}

// visit shows the session of a step. The engine has it open if it runs; others
// are only looked at, so nothing is opened but the log.
func (m *Model) visit(id session.ID, followed bool) tea.Cmd {
	if r := m.rooms[id]; r != nil {
		m.enter(id)
		return nil
	}
	if m.books == nil {
		return nil
	}
	m.going = going{id, followed}
	if m.opening[id] {
		return nil
	}
	m.opening[id] = true
	return m.reload(id, true)
}

// lost says that a session cannot be shown that visit wanted to show. The
// screen stays where it is.
func (m *Model) lost(id session.ID, err error) (tea.Cmd, bool) {
	if err == nil || id == "" || m.going.id != id {
		return nil, false
	}
	m.going = going{}
	return m.say("the step cannot be shown: " + err.Error()), true
}

// arrived goes where visit wanted to go, if that is still wanted.
func (m *Model) arrived(id session.ID) {
	if id == "" || m.going.id != id {
		return
	}
	g, r := m.going, m.rooms[id]
	m.going = going{}
	if !g.followed || m.attentive(r.s.PartOf) && m.runs(r) {
		m.enter(id)
	}
}

// runs reports whether a session carries out the running step of its plan.
func (m *Model) runs(r *room) bool {
	whole := m.rooms[r.s.PartOf]
	return whole != nil && m.working(whole) == r
}

// attentive reports whether a person is looking at a session and at nothing
// else: not writing, not reading further up.
func (m *Model) attentive(id session.ID) bool {
	return m.current == id && (m.layer == none || m.layer == stepping) && (m.focus == writing || m.focus == asked || m.focus == boxed) &&
		m.composer.Empty() && m.transcript().Following()
}

// stepped follows what happened to the plan of a session.
func (m *Model) stepped(r *room, was *session.Plan, part []session.Record) tea.Cmd {
	var cmds []tea.Cmd
	var list []session.Step
	if was != nil {
		list = slices.Clone(was.Steps)
	}
	for _, rec := range part {
		m.confirmed(r.s.ID, rec.Event)
		switch e := rec.Event.(type) {
		case session.PlanSet:
			list = slices.Clone(e.Plan.Steps)
			switch {
			case e.Plan.Reviewed || len(list) == 0 || m.current != r.s.ID:
			case e.Plan.Started: // nobody has to look at it first
				m.accompany()
			default:
				cmds = append(cmds, m.propose())
			}
		case session.StepMoved:
			if e.Number < 1 || e.Number > len(list) {
				continue
			}
			before := list[e.Number-1]
			list[e.Number-1] = e.Step
			cmds = append(cmds, m.moved(r.s.ID, before, e.Step))
		case session.TurnResumed:
			if r.s.Plan != nil && m.attentive(r.s.ID) {
				cmds = append(cmds, m.rejoin(r.s.Plan))
			}
		case session.Rewound:
			if e.Conversation && e.Undo > 0 { // what was taken out of the transcript is read again
				r.loading = true
				cmds = append(cmds, m.reload(r.s.ID, false))
			}
		}
	}
	return tea.Batch(cmds...)
}

// moved goes with a step that begins, and comes back when it ends.
func (m *Model) moved(whole session.ID, before, now session.Step) tea.Cmd {
	began := now.State == session.StepRunning && now.Session != "" && (before.State != session.StepRunning || before.Session != now.Session)
	ended := before.State == session.StepRunning && now.State != session.StepRunning
	switch {
	case began && m.attentive(whole):
		return m.visit(now.Session, true)
	case ended && m.going.id == now.Session:
		m.going = going{}
	case ended && m.attentive(now.Session):
		m.enter(whole)
	case ended && m.current == now.Session && now.Session != "":
		return m.say("this step is over; esc goes back to the plan")
	}
	return nil
}

// rejoin goes with the step of a plan that goes on, if one is under way.
func (m *Model) rejoin(plan *session.Plan) tea.Cmd {
	if step, ok := plan.Running(); ok && step.Session != "" {
		return m.visit(step.Session, true)
	}
	return nil
}

// goBack leads from a step to its plan.
func (m *Model) goBack() tea.Cmd {
	r := m.room()
	if r == nil || r.s.PartOf == "" {
		return nil
	}
	whole := r.s.PartOf
	if m.rooms[whole] == nil {
		return m.open(whole, false)
	}
	m.enter(whole)
	switch {
	case m.layer == stepping:
		m.plan.away, m.plan.since = false, time.Time{}
	case m.plan.back && m.layer == none:
		m.openSteps()
	}
	m.plan.back = false
	return nil
}

// wholeIs reports whether the session in view is part of another one.
func (m *Model) wholeIs(id session.ID) bool {
	r := m.room()
	return r != nil && r.s.PartOf == id
}

// planKeys are the ways on for a plan that stands still.
func planKeys(r *room) []string {
	on := "go on"
	if r.s.Status == session.NeedsPerson && r.s.Plan.Reviewed {
		on = "next step"
	}
	pairs := []string{"F7", "the plan", "F8", on}
	if len(r.s.Queue) > 0 {
		pairs = append(pairs, "ctrl+x", "drop the turn, send this")
	}
	return pairs
}

// backKeys are the ways from a step back to its plan.
func backKeys(r *room) []string {
	if r.s.Live() {
		return []string{"F7", "back to the plan"}
	}
	return []string{"esc", "back to the plan"}
}

// planLine says at the bottom of a session which of its steps is under way, and
// how that is doing.
func (m *Model) planLine(b *status.Bottom, r, c *room) {
	live := m.liveWords(r, c)
	step := "planning"
	if s := r.s.Plan; s != nil && s.Current() > 0 {
		step = fmt.Sprintf("step %d/%d", s.Current(), len(s.Steps))
		if m.width >= besideFrom {
			step += " " + theme.Cut(theme.Line(s.Steps[s.Current()-1].Title), 24)
		}
		b.Since = s.Steps[s.Current()-1].StartedAt
	}
	b.Doing = strings.TrimSuffix(step+": "+live.Words, ": ")
	if c != nil {
		b.Quiet = c.quiet(m.o.Now())
	}
}
