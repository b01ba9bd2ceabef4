package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/approval"
	"belay/ui/keys"
	"belay/ui/steps"
	"belay/ui/theme"
)

// plan is the steps panel, and what a person does to the plan in it.
type plan struct {
	pane  steps.Pane
	away  bool      // it stands beside the transcript, and the keys are there
	since time.Time // it came up by itself: what is being typed is not for it
	back  bool      // it is open again when the composer is given back, or its step is left

	of   session.ID     // whose plan is being edited
	list []session.Step // as edited, until the engine has said so too
	sent int            // edits that it has not said yet
	at   int            // the step that is in the composer; 0: a new one
	text string         // what went to the editor, or came back and could not be read
	kept bool           // it is the latter
}

// whole is the room with the plan that the session in view belongs to.
func (m *Model) whole() *room {
	r := m.room()
	if r != nil && r.s.PartOf != "" {
		return m.rooms[r.s.PartOf]
	}
	return r
}

// planned is the plan as it was edited last; nil: there is none.
func (m *Model) planned() *session.Plan {
	r := m.whole()
	if r == nil || r.s.Plan == nil {
		return nil
	}
	s := *r.s.Plan
	if m.plan.sent > 0 && m.plan.of == r.s.ID {
		s.Steps = m.plan.list
	}
	return &s
}

// stepsHaveKeys reports whether the panel is open and takes the keys.
func (m *Model) stepsHaveKeys() bool {
	return m.layer == stepping && !(m.plan.away && m.side() > 0)
}

// covered reports whether something takes the keys in the place of the main
// screen.
func (m *Model) covered() bool { return m.layer != none && (m.layer != stepping || m.stepsHaveKeys()) }

// toggleSteps opens the panel, gives it the keys, or closes it. From a step it
// leads back to the plan; with a heavy draft it splits that.
func (m *Model) toggleSteps() tea.Cmd {
	r := m.room()
	switch {
	case m.told && !m.composer.Empty() && !m.borrowing():
		return m.splitDraft()
	case m.stepsHaveKeys():
		m.layer = none
		return nil
	case r == nil:
		return m.say("there is no plan yet: /steps TASK makes one")
	case r.s.PartOf != "":
		m.plan.back = true
		return m.goBack()
	}
	m.openSteps()
	return nil
}

func (m *Model) openSteps() {
	m.release()
	m.layer, m.plan.away, m.plan.back, m.plan.since = stepping, false, false, time.Time{}
	m.showSteps()
	m.ask()
}

// propose opens the panel by itself, for a plan that a person has to look at.
func (m *Model) propose() tea.Cmd {
	if m.layer != none || m.borrowing() || m.focus == finding {
		return nil
	}
	m.layer, m.plan.away, m.plan.since = stepping, false, m.o.Now()
	m.showSteps()
	if m.composer.Empty() {
		return nil
	}
	m.letGo()
	return m.say("the steps are proposed: F7 shows them")
}

// accompany opens the panel beside the transcript, where there is room, for a
// plan that is carried out without a look at it.
func (m *Model) accompany() {
	if m.layer != none {
		return
	}
	m.layer, m.plan.since = stepping, time.Time{}
	m.showSteps()
	m.letGo()
}

// letGo gives the keys of the panel to the main screen.
func (m *Model) letGo() {
	m.plan.away = true
	if m.layer == stepping && m.side() == 0 && m.sized { // else the size decides, when it is known
		m.layer = none
	}
}

// showSteps gives the panel what it shows now.
func (m *Model) showSteps() {
	v := steps.View{Steps: m.planned(), Keys: m.stepsHaveKeys(), Asked: m.question.Active(), Now: m.o.Now()}
	if r := m.whole(); r != nil {
		v.Checkpoint = r.kept
		c := m.working(r)
		v.Live = m.liveWords(r, c)
		if (v.Steps == nil || len(v.Steps.Steps) == 0) && c != nil {
			v.Planning = v.Live.Words
		}
	}
	m.plan.pane.Set(v)
}

func (m *Model) stepsView(width, height int) []string {
	m.showSteps()
	return m.plan.pane.View(m.theme, width, height)
}

// liveWords say what the session of the running step is doing.
func (m *Model) liveWords(whole, c *room) steps.Live {
	now, left := m.o.Now(), ""
	if c != nil && c.wait != nil {
		left = theme.Clock(c.wait.Until.Sub(now) + time.Second - 1)
	}
	switch {
	case c == nil || !c.s.Live() && c.s.Status != session.Parked:
		if s := whole.s.Plan; s != nil && c != nil {
			if step, ok := s.Running(); ok && step.Check != "" {
				return steps.Live{Words: "its check runs"}
			}
		}
		return steps.Live{}
	case c.s.Status == session.Asking:
		return steps.Live{Words: "asks you", Asks: true}
	case c.wait != nil && c.wait.Until.After(now):
		return steps.Live{Words: "◐ " + shortage(c) + ", again in " + left, Short: "◐ again in " + left, Waits: true}
	case c.wait != nil:
		return steps.Live{Words: "◐ " + shortage(c) + ", asking again", Waits: true}
	}
	return steps.Live{Words: c.doing}
}

func shortage(r *room) string {
	if f := r.wait.Fault; f != nil && f.Kind != "capacity" {
		return theme.Kind(f)
	}
	return "no capacity"
}

// stepsKey gives a key to the panel. Keys that work everywhere go on working.
func (m *Model) stepsKey(name, text string) tea.Cmd {
	if since := m.plan.since; !since.IsZero() && text != "" {
		if m.o.Now().Sub(since) < approval.Guard { // it was meant for the composer
			m.letGo()
			m.composer.Type(text)
			return m.say("the steps are proposed: F7 shows them")
		}
		m.plan.since = time.Time{}
	}
	m.showSteps()
	number, s, ok := m.plan.pane.Chosen()
	switch name {
	case "esc":
		m.layer = none
	case "tab":
		m.letGo()
	case "up", "k":
		m.plan.pane.Move(-1)
	case "down", "j":
		m.plan.pane.Move(1)
	case "enter":
		return m.openStep(number, s)
	case "g":
		return m.runSteps(session.RunPlan{Through: true})
	case "n":
		return m.runSteps(session.RunPlan{})
	case "r":
		if p := m.planned(); ok && p != nil {
			return m.runSteps(session.RunPlan{Through: p.Through, From: number})
		}
	case "z":
		if ok {
			return m.rewindTo(number)
		}
	case "e", "a", "E":
		return m.writeStep(name, number, s)
	case "space", "x", "t", "P", "d", "s", "K", "J":
		return m.reshape(name, number)
	default:
		if a := keys.Global(name); a != "" {
			cmd, _ := m.act(a)
			return cmd
		}
	}
	return nil
}

// openStep shows the session of a step, or of the model that proposes them.
func (m *Model) openStep(number int, s session.Step) tea.Cmd {
	id := s.Session
	if r := m.whole(); id == "" && r != nil && r.s.Plan == nil {
		if c := m.working(r); c != nil {
			id = c.s.ID
		}
	}
	switch {
	case id == "" && number == 0:
		return m.say("/steps TASK makes a plan")
	case id == "":
		return m.say("step " + theme.Count(int64(number)) + " has not begun: there is nothing to open yet")
	}
	m.letGo()
	m.plan.back = true
	return m.visit(id, false)
}

// runSteps carries the plan out, and follows it.
func (m *Model) runSteps(c session.RunPlan) tea.Cmd {
	r := m.whole()
	if r == nil || r.s.Plan == nil {
		return m.say("there is no plan yet: /steps TASK makes one")
	}
	m.letGo()
	m.enter(r.s.ID)
	m.transcript().Bottom()
	return m.inOrder(r.s.ID, c)
}

// split lets a model propose steps for a task.
func (m *Model) split(task string) tea.Cmd {
	if task == "" {
		if m.planned() != nil && !m.stepsHaveKeys() {
			return m.toggleSteps()
		}
		m.borrow(splitting, "")
		return nil
	}
	return m.deliver(session.Prompt{ID: m.o.NewID(), Text: task}, asSplit)
}

// splitDraft sends the heavy draft as a task to be cut into steps.
func (m *Model) splitDraft() tea.Cmd {
	words, attached := m.composer.Prompt()
	m.told = false
	m.composer.Clear()
	m.transcript().Bottom()
	return m.deliver(session.Prompt{ID: m.o.NewID(), Text: words, Attachments: attached}, asSplit)
}

func asSplit(p session.Prompt) session.Command { return session.PlanTask{Prompt: p} }
func asSend(p session.Prompt) session.Command  { return session.Send{Prompt: p} }
