package ui

import (
	"slices"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
)

// planFollower follows what happens to plans: it shows new ones, goes with a step
// that begins and comes back when it ends.
type planFollower struct {
	views  *sessionViews
	opener *opener
	edits  *planEdits
}

// follow takes in records of a session. The plan is the one before them; idle says
// whether a person looks at a session and at nothing else.
func (p *planFollower) follow(
	view *sessionView, plan *session.Plan, records []session.Record, idle func(session.ID) bool,
) action {
	var actions together
	var list []session.Step
	if plan != nil {
		list = slices.Clone(plan.Steps)
	}
	for _, r := range records {
		p.edits.confirm(view.state.ID, r.Event)
		switch e := r.Event.(type) {
		case session.PlanSet:
			list = slices.Clone(e.Plan.Steps)
			if !e.Plan.Reviewed && len(list) > 0 && p.views.current == view.state.ID {
				actions = append(actions, raisePlan{review: !e.Plan.Started})
			}
		case session.StepMoved:
			if e.Number < 1 || e.Number > len(list) {
				continue
			}
			before := list[e.Number-1]
			list[e.Number-1] = e.Step
			actions = append(actions, p.stepMoved(view.state.ID, before, e.Step, idle))
		case session.TurnResumed: // a step may be under way
			if view.state.Plan == nil || !idle(view.state.ID) {
				continue
			}
			if step, ok := view.state.Plan.Running(); ok && step.Session != "" {
				actions = append(actions, showStep{step.Session, true})
			}
		case session.Rewound:
			if e.Conversation && e.Undo > 0 { // what was taken out of the transcript is read again
				view.loading = true
				actions = append(actions, work{p.opener.backend.read(view.state.ID, false)})
			}
		}
	}
	if len(actions) == 0 {
		return nil
	}
	return actions
}

func (p *planFollower) stepMoved(plan session.ID, before, now session.Step, idle func(session.ID) bool) action {
	ran, runs := before.State == session.StepRunning, now.State == session.StepRunning
	began := runs && now.Session != "" && (!ran || before.Session != now.Session)
	ended := ran && !runs
	switch {
	case began && idle(plan):
		return showStep{now.Session, true}
	case ended && p.opener.step.id == now.Session:
		p.opener.step = pendingStep{}
	case ended && idle(now.Session):
		return show{id: plan}
	case ended && p.views.current == now.Session && now.Session != "":
		return message{locale.T("this step is over; %s", backToPlan())}
	}
	return nil
}

// backToPlan says which key leads from a step to its plan.
func backToPlan() string { return locale.T("%s goes back to the plan", keys.Label(keys.Stop)) }
