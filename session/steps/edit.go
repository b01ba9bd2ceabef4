package steps

import (
	"errors"
	"fmt"

	"belay/session"
)

// New makes the plan of a task that a person wants split.
func New(c session.PlanTask) (session.Plan, error) {
	plan := session.Plan{
		Task: c.Prompt.Text, Started: c.Start, Through: c.Start, Reviewed: len(c.Steps) > 0, Template: c.Template,
	}
	for _, s := range c.Steps {
		plan.Steps = append(plan.Steps, edited(session.Step{}, s))
	}
	if plan.Template == "" && len(plan.Steps) == 0 {
		plan.Template = Shape(plan.Task)
	}
	if plan.Template != "" {
		if _, err := FindTemplate(plan.Template); err != nil {
			return plan, err
		}
	}
	return plan, nil
}

// Edit gives a plan the steps that a person wants. What has begun stays as it is.
func Edit(plan *session.Plan, want []session.Step) (session.Plan, error) {
	if plan == nil {
		return session.Plan{}, errors.New("there is no plan to edit: /steps TASK makes one")
	}
	started := 0
	for i, s := range plan.Steps {
		if s.Started() {
			started = i + 1
		}
	}
	if len(want) < started {
		return session.Plan{}, fmt.Errorf("step %d has begun and cannot be taken out", started)
	}
	list := make([]session.Step, len(want))
	for i, s := range want {
		var old session.Step
		if i < len(plan.Steps) {
			old = plan.Steps[i]
		}
		list[i] = edited(old, s)
	}
	if _, _, err := Read(Write(plan.Task, list)); err != nil {
		return session.Plan{}, err
	}
	next := *plan
	next.Steps = list
	next.Reviewed = true
	return next, nil
}

// edited is a step as a person wants it: one that has begun keeps what it is.
func edited(old, want session.Step) session.Step {
	if !old.Started() {
		skipped := want.State == session.StepSkipped
		want.StepProgress = session.StepProgress{
			State: session.StepPending, Usage: old.Usage, Cost: old.Cost,
			EarlierUsage: old.EarlierUsage, EarlierCost: old.EarlierCost,
		}
		if skipped {
			want.State = session.StepSkipped
		}
		return want
	}
	skipped := want.State == session.StepSkipped
	if skipped && old.State != session.StepRunning && old.State != session.StepDone {
		old.State = session.StepSkipped
	}
	old.Check = want.Check
	old.Pause = want.Pause
	return old
}
