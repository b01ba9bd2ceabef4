package ui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"belay/session"
)

// planEdits shows a plan as it was edited last, until the engine has said so too.
type planEdits struct {
	backend *backend
	of      session.ID     // whose plan was edited
	list    []session.Step // as edited
	sent    int            // edits that the engine has not confirmed yet
}

// planEditedMsg says whether the engine took an edited plan.
type planEditedMsg struct {
	id  session.ID
	err error
}

// plan is the plan of a session as it was edited last; nil: there is none.
func (e *planEdits) plan(v *sessionView) *session.Plan {
	if v == nil || v.state.Plan == nil {
		return nil
	}
	plan := *v.state.Plan
	if e.sent > 0 && e.of == v.state.ID {
		plan.Steps = e.list
	}
	return &plan
}

// send gives the engine the edited steps. Edits keep their order, also with what
// is begun after them.
func (e *planEdits) send(id session.ID, list []session.Step) tea.Cmd {
	if e.of != id {
		e.of, e.sent = id, 0
	}
	e.list = list
	e.sent++
	engine := e.backend.engine
	return e.backend.enqueue(func(ctx context.Context) tea.Msg {
		return planEditedMsg{id, engine.Do(ctx, id, session.EditPlan{Steps: list})}
	})
}

// refused takes an edit off the screen with all that came after it.
func (e *planEdits) refused(id session.ID) {
	if id == e.of {
		e.sent = 0
	}
}

// confirm counts the edits of which the engine has told.
func (e *planEdits) confirm(id session.ID, event session.Event) {
	if id != e.of || e.sent == 0 {
		return
	}
	switch event := event.(type) {
	case session.PlanSet:
		e.sent--
	case session.StepMoved:
		if event.Number >= 1 && event.Number <= len(e.list) {
			e.list = slices.Clone(e.list) // the engine may be reading it
			e.list[event.Number-1] = event.Step
		}
	case session.Rewound:
		e.sent = 0
	}
}
