package ui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/steps"
	"belay/ui/theme"
)

// plannedMsg says whether the engine took an edited plan.
type plannedMsg struct {
	id  session.ID
	err error
}

// setSteps gives the engine an edited plan, and shows it as if it had it. Edits
// keep their order, also with what is begun after them.
func (m *Model) setSteps(list []session.Step, at int) tea.Cmd {
	r := m.whole()
	if r == nil || r.s.Plan == nil {
		return nil
	}
	id := r.s.ID
	if m.plan.of != id {
		m.plan.of, m.plan.sent = id, 0
	}
	m.plan.list = list
	m.plan.sent++
	m.showSteps()
	m.plan.pane.Choose(at)
	engine := m.engine
	m.serial = append(m.serial, func(ctx context.Context) tea.Msg {
		return plannedMsg{id, engine.Do(ctx, id, session.EditPlan{Steps: list})}
	})
	return m.pump()
}

// took settles an edit: a refused one is taken off the screen with all that
// came after it.
func (m *Model) took(msg plannedMsg) tea.Cmd {
	m.busy = false
	if msg.err == nil {
		return m.pump()
	}
	if msg.id == m.plan.of {
		m.plan.sent = 0
	}
	return tea.Batch(m.pump(), m.complain(msg.err))
}

// confirmed counts the edits of which the engine has told.
func (m *Model) confirmed(id session.ID, e session.Event) {
	if id != m.plan.of || m.plan.sent == 0 {
		return
	}
	switch e := e.(type) {
	case session.PlanSet:
		m.plan.sent--
	case session.StepMoved:
		if e.Number >= 1 && e.Number <= len(m.plan.list) {
			m.plan.list = slices.Clone(m.plan.list) // the engine may be reading it
			m.plan.list[e.Number-1] = e.Step
		}
	case session.Rewound:
		m.plan.sent = 0
	}
}

// reshape changes the plan with one key.
func (m *Model) reshape(key string, number int) tea.Cmd {
	p := m.planned()
	if p == nil {
		return nil
	}
	list, at, why := steps.Shape(key, p.Steps, number)
	if why != "" {
		return m.say(why)
	}
	return m.setSteps(list, at)
}

// writeStep takes a step into the composer, or the whole plan into the editor.
func (m *Model) writeStep(key string, number int, s session.Step) tea.Cmd {
	p := m.planned()
	switch {
	case p == nil:
		return m.say("there is no plan yet: /steps TASK makes one")
	case key == "E":
		return m.writePlan(p.Steps)
	case key == "a":
		if _, _, why := steps.Insert(p.Steps, number, session.Step{}); why != "" {
			return m.say(why)
		}
		m.plan.at, m.plan.back, m.layer = number, true, none
		m.borrow(adding, steps.Text(session.Step{}))
		return nil
	case s.Started():
		_, _, why := steps.Shape("e", p.Steps, number)
		return m.say(why)
	}
	m.plan.at, m.plan.back, m.layer = number, true, none
	m.borrow(shaping, steps.Text(s))
	return nil
}

// wroteStep takes a step out of the composer again.
func (m *Model) wroteStep(text string) tea.Cmd {
	p := m.planned()
	if p == nil {
		m.release()
		return nil
	}
	s, list, at, why := session.Step{StepProgress: session.StepProgress{State: session.StepPending}}, p.Steps, m.plan.at, ""
	if m.focus == shaping {
		if at < 1 || at > len(list) {
			m.release()
			return m.say("that step is not there any more")
		}
		s = list[at-1]
	}
	s, err := steps.Parse(text, s)
	if err != nil {
		return m.say(err.Error())
	}
	if m.focus == adding {
		list, at, why = steps.Insert(list, at, s)
	} else if list, _, why = steps.Shape("e", list, at); why == "" {
		list[at-1] = s
	}
	if why != "" {
		return m.say(why)
	}
	m.openSteps()
	return m.setSteps(list, at)
}

// writePlan opens the whole plan in the editor. One that could not be read is
// opened again as it was left.
func (m *Model) writePlan(list []session.Step) tea.Cmd {
	if m.o.PlanText == nil || m.o.ParsePlan == nil || m.o.EditText == nil || m.o.ReadText == nil {
		return m.say("the plan cannot be opened as a file here")
	}
	if !m.plan.kept {
		m.plan.text = m.o.PlanText(list)
	}
	write, ctx, text := m.o.EditText, m.ctx, m.plan.text
	return func() tea.Msg {
		path, err := write(ctx, text)
		return draftMsg{path, err, true}
	}
}

// wrotePlan takes the plan back from the editor.
func (m *Model) wrotePlan(text string) tea.Cmd {
	p := m.planned()
	if p == nil || text == m.plan.text && !m.plan.kept {
		return nil
	}
	m.plan.text, m.plan.kept = text, true
	written, err := m.o.ParsePlan(text)
	if err != nil {
		m.transcript().Note("the plan was not changed: " + theme.Sanitize(err.Error()) + "; E opens it again as you left it")
		return m.say(err.Error() + ": E opens it again")
	}
	list, why := steps.Merge(p.Steps, written)
	if why != "" {
		return m.say(why + ": E opens it again")
	}
	m.plan.kept = false
	number, _, _ := m.plan.pane.Chosen()
	return m.setSteps(list, number)
}
