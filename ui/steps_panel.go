package ui

import (
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/approval"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/steps"
)

// stepsPanel shows the plan of a large task, changes it and steers it.
type stepsPanel struct {
	pane      *steps.Pane
	edits     *planEdits
	file      planFile
	views     *sessionViews
	approvals *approval.Pane
	now       func() time.Time

	blurred bool      // it stands beside the transcript, and the keys are there
	since   time.Time // it came up by itself: what is being typed is not for it
	left    bool      // for the session of a step: it is open again when that is left
}

// noPlan and proposed are said where the panel has nothing to show, or is not
// shown.
func noPlan() action {
	return message{locale.T("there is no plan yet: %s TASK makes one", keys.Label(keys.Steps))}
}

func proposed() action {
	return message{locale.T("the steps are proposed: %s shows them", keys.Label(keys.StepsPanel))}
}

// opened gives the panel the keys, for somebody who wants to see it.
func (p *stepsPanel) opened() tea.Cmd {
	p.blurred = false
	p.left = false
	p.since = time.Time{}
	p.refresh(true)
	return nil
}

// focus gives the keys to a panel that stands beside the transcript.
func (p *stepsPanel) focus() { p.blurred, p.since = false, time.Time{} }

// plan is the plan as it was edited last; nil: there is none.
func (p *stepsPanel) plan() *session.Plan { return p.edits.plan(p.views.planView()) }

// refresh gives the panel what it shows now.
func (p *stepsPanel) refresh(focused bool) {
	state := steps.View{Steps: p.plan(), Keys: focused, Asked: p.approvals.Active(), Now: p.now()}
	if v := p.views.planView(); v != nil {
		worker := p.views.worker(v)
		state.Checkpoint = v.checkpointed
		state.Live = liveStep(v, worker, p.now())
		if (state.Steps == nil || len(state.Steps.Steps) == 0) && worker != nil {
			state.Planning = state.Live.Words
		}
	}
	p.pane.Set(state)
}

func (p *stepsPanel) list() (items, string) { return p.pane, keys.PlanPanel.Press(keys.OpenStep) }

func (p *stepsPanel) view(f frame) box { return panelBox(f, p.beside) }

func (p *stepsPanel) beside(f frame) []string {
	p.refresh(f.focused)
	return p.pane.View(f.theme, f.width, f.height)
}

func (p *stepsPanel) key(name, text string) action {
	if name == "" {
		return together{blurPanel{}, typeText{text: text, pasted: true}}
	}
	if !p.since.IsZero() && text != "" {
		if p.now().Sub(p.since) < approval.Guard { // it was meant for the composer
			return together{blurPanel{}, typeText{text: text}, proposed()}
		}
		p.since = time.Time{}
	}
	p.refresh(true)
	switch a := keys.PlanPanel.Action(name); a {
	case keys.Close:
		return closeDialog{}
	case keys.Blur:
		return blurPanel{}
	case keys.Up:
		p.pane.Move(-1)
	case keys.Down:
		p.pane.Move(1)
	case keys.OpenStep, keys.RunThrough, keys.RunNext, keys.RunFrom, keys.RewindStep:
		return p.steer(a)
	case "":
		return unhandled{}
	default:
		return p.edit(a)
	}
	return nil
}

// steer is a key that carries steps out, shows them or takes them back.
func (p *stepsPanel) steer(a keys.Action) action {
	number, step, chosen := p.pane.Chosen()
	plan := p.plan()
	switch a {
	case keys.OpenStep:
		return p.openStep(number, step)
	case keys.RunThrough:
		return p.run(session.RunPlan{Through: true})
	case keys.RunNext:
		return p.run(session.RunPlan{})
	case keys.RunFrom:
		if chosen && plan != nil {
			return p.run(session.RunPlan{Through: plan.Through, From: number})
		}
	case keys.RewindStep:
		if chosen {
			return openRewind{step: number}
		}
	}
	return nil
}

// openStep shows the session of a step, or of the model that proposes them.
func (p *stepsPanel) openStep(number int, step session.Step) action {
	id := step.Session
	if v := p.views.planView(); id == "" && v != nil && v.state.Plan == nil {
		if worker := p.views.worker(v); worker != nil {
			id = worker.state.ID
		}
	}
	switch {
	case id == "" && number == 0:
		return message{locale.T("%s TASK makes a plan", keys.Label(keys.Steps))}
	case id == "":
		return message{locale.T("step %d has not begun: there is nothing to open yet", number)}
	}
	p.left = true
	return together{blurPanel{}, showStep{id: id}}
}

// run carries the plan out, and follows it.
func (p *stepsPanel) run(c session.RunPlan) action {
	v := p.views.planView()
	if v == nil || v.state.Plan == nil {
		return noPlan()
	}
	id := v.state.ID
	return together{blurPanel{}, show{id: id, end: true}, sendTo{id: id, command: c, inOrder: true}}
}

// edit is a key that changes the plan.
func (p *stepsPanel) edit(a keys.Action) action {
	number, step, _ := p.pane.Chosen()
	plan := p.plan()
	if plan == nil {
		switch a {
		case keys.EditStep, keys.AddStep, keys.EditPlan:
			return noPlan()
		}
		return nil
	}
	switch a {
	case keys.EditPlan:
		return p.file.open(plan.Steps)
	case keys.AddStep:
		if _, err := plan.InsertStep(number, session.Step{}); err != nil {
			return message{err.Error()}
		}
		return together{closeDialog{}, borrow{addStepEntry{p, number}, session.Step{}.Text(), p}}
	case keys.EditStep:
		if _, err := plan.ChangeStep(number, func(*session.Step) {}); err != nil {
			return message{editError(a, err)}
		}
		return together{closeDialog{}, borrow{editStepEntry{p, number}, step.Text(), p}}
	}
	list, at, err := changedSteps(a, plan, number)
	if err != nil {
		return message{editError(a, err)}
	}
	return p.save(list, at)
}

// changedSteps carries a change of one key out on a plan, and says which step is
// chosen in it.
func changedSteps(a keys.Action, plan *session.Plan, number int) (list []session.Step, at int, err error) {
	at = number
	switch a {
	case keys.PauseStep:
		list, err = plan.ChangeStep(number, func(s *session.Step) { s.Pause = !s.Pause })
	case keys.SkipStep:
		list, err = plan.ChangeStep(number, (*session.Step).ToggleSkip)
	case keys.StepTier:
		list, err = plan.ChangeStep(number, (*session.Step).NextTier)
	case keys.PinTier:
		list, err = plan.ChangeStep(number, func(s *session.Step) { s.Pinned = !s.Pinned })
	case keys.DropStep:
		list, err = plan.RemoveStep(number)
	case keys.SplitStep:
		list, err = plan.SplitStep(number)
	case keys.MoveUp:
		list, err = plan.MoveStep(number, -1)
		at--
	case keys.MoveDown:
		list, err = plan.MoveStep(number, 1)
		at++
	}
	return list, at, err
}

// editError says why an edit was refused, and which key does what was meant.
func editError(a keys.Action, err error) string {
	label := keys.PlanPanel.Label
	switch {
	case errors.Is(err, session.ErrStepStarted):
		return locale.Said(err.Error()) + locale.T("; %s goes back to before it", label(keys.RewindStep))
	case errors.Is(err, session.ErrOnlyStep):
		return locale.Said(err.Error()) + locale.T("; %s skips it", label(keys.SkipStep))
	case errors.Is(err, session.ErrKeepsNumber) && a == keys.DropStep:
		return locale.Said(err.Error()) + locale.T("; %s skips this one", label(keys.SkipStep))
	}
	return err.Error()
}

// save shows an edited plan and gives it to the engine.
func (p *stepsPanel) save(list []session.Step, at int) action {
	v := p.views.planView()
	if v == nil || v.state.Plan == nil {
		return nil
	}
	cmd := p.edits.send(v.state.ID, list)
	p.refresh(!p.blurred)
	p.pane.Choose(at)
	return work{cmd}
}

// wrote takes the plan back from the editor.
func (p *stepsPanel) wrote(text string) action {
	plan := p.plan()
	if plan == nil || !p.file.changed(text) {
		return nil
	}
	list, problem := p.file.read(text, plan)
	if problem != nil {
		return problem
	}
	number, _, _ := p.pane.Chosen()
	return p.save(list, number)
}
