package engine

import (
	"context"
	"errors"
	"fmt"

	"belay/session"
	"belay/session/agent"
	"belay/session/steps"
)

// planTaskLocked begins a turn that splits a task into steps.
func (a *openSession) planTaskLocked(ctx context.Context, c session.PlanTask) error {
	if a.state.PartOf != "" {
		return errors.New("this session carries out a step itself: split the task in a new session")
	}
	if a.running != nil || a.state.Status == session.Parked {
		return ErrBusy
	}
	if c.Prompt.ID == "" {
		c.Prompt.ID = a.e.o.NewID()
	}
	if a.state.HasPrompt(c.Prompt.ID) {
		return nil
	}
	plan, err := steps.New(c)
	if err != nil {
		return err
	}
	started := session.TurnStarted{Prompt: c.Prompt, RunsPlan: true}
	if err := a.appendLocked(ctx, started, session.PlanSet{Plan: plan}); err != nil {
		return err
	}
	a.launchLocked(byPrompt)
	return nil
}

// editPlanLocked edits the plan. What has begun stays as it is.
func (a *openSession) editPlanLocked(ctx context.Context, list []session.Step) error {
	plan, err := steps.Edit(a.state.Plan, list)
	if err != nil {
		return err
	}
	return a.appendLocked(ctx, session.PlanSet{Plan: plan})
}

// runPlanLocked carries the plan out.
func (a *openSession) runPlanLocked(ctx context.Context, c session.RunPlan) error {
	plan := a.state.Plan
	switch {
	case plan == nil || len(plan.Steps) == 0:
		return errors.New("there is no plan to carry out: /steps TASK makes one")
	case a.running != nil && a.state.RunsPlan && a.state.Live():
		// It runs: from now on it stops after each step, or does not.
		return a.appendLocked(ctx, session.PlanStarted{Through: c.Through})
	case a.running != nil, a.state.Status == session.Parked && !a.state.RunsPlan:
		return ErrBusy
	case c.From < 0 || c.From > len(plan.Steps):
		return fmt.Errorf("there is no step %d", c.From)
	}
	if err := a.appendLocked(ctx, session.PlanStarted(c)); err != nil {
		return err
	}
	if a.state.RunsPlan && a.state.Status.Resumable() {
		return a.resumeLocked(ctx, byPrompt, "the plan goes on")
	}
	p := session.Prompt{ID: a.e.o.NewID(), Text: a.state.Plan.Task}
	return a.beginLocked(ctx, byPrompt, session.TurnStarted{Prompt: p, RunsPlan: true})
}

// runPlan runs the turn of a plan.
func (a *openSession) runPlan(ctx context.Context, ready func(context.Context)) session.TurnEnded {
	if ready != nil {
		ready(ctx)
	}
	return steps.Run(ctx, steps.Options{
		Log: a, Runner: stepRunner{a}, Store: a.e.o.Store, Tools: a.tools, Judge: a.Judge, Root: a.root,
		Cost: a.taskCost, MaxCost: a.e.o.Limits.Cost, Now: a.e.o.Now,
		Checkpoint: func(ctx context.Context, number int, title string) {
			if ready := a.checkpoints.Before(a.State().Turn, number, title); ready != nil {
				ready(ctx)
			}
		},
	})
}

// taskCost is what the task has taken since a person last said go.
func (a *openSession) taskCost() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state.Cost - a.task.costBefore
}

// runningStep is the session of the step that runs; nil: none does here.
func (a *openSession) runningStep() *openSession {
	a.mu.Lock()
	live := a.running != nil && a.state.RunsPlan
	plan := a.state.Plan
	a.mu.Unlock()
	if !live || plan == nil {
		return nil
	}
	id := plan.Planning
	for _, s := range plan.Steps {
		if s.State == session.StepRunning {
			id = s.Session
		}
	}
	return a.e.openSession(id)
}

// stepRunner runs turns in the sessions of the steps of a plan.
type stepRunner struct{ plan *openSession }

// Open opens the session of a step.
func (r stepRunner) Open(ctx context.Context, id session.ID) error {
	_, err := r.plan.e.Open(ctx, id, false)
	return err
}

// RunTurn starts or resumes a turn in the session of a step, and returns when it
// is over. Stopping the plan stops it.
func (r stepRunner) RunTurn(ctx context.Context, id session.ID, t steps.Turn) (steps.TurnResult, error) {
	step := r.plan.e.openSession(id)
	if step == nil {
		return steps.TurnResult{}, agent.ErrClosing
	}
	number, err := step.startOrResumeTurn(ctx, t, r.plan)
	if err != nil {
		return steps.TurnResult{}, err
	}
	select {
	case <-step.over():
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), agent.ErrClosing) { // then it ends by itself
			break
		}
		if err := step.stop(context.WithoutCancel(ctx)); err != nil {
			return steps.TurnResult{}, err
		}
	}
	if err := step.idle(context.WithoutCancel(ctx)); err != nil {
		return steps.TurnResult{}, err
	}
	step.mu.Lock()
	defer step.mu.Unlock()
	return steps.TurnResult{
		Number: number, State: step.state, Conversation: step.conversation.Snapshot(), Unsaved: step.unsaved,
	}, nil
}

// Close closes sessions in which nothing runs.
func (r stepRunner) Close(ctx context.Context, ids []session.ID) {
	for _, id := range ids {
		r.plan.e.closeIdle(ctx, id)
	}
}

// closeIdle closes a session in which nothing runs.
func (e *Engine) closeIdle(ctx context.Context, id session.ID) {
	idle := e.openSession(id)
	if idle == nil {
		return
	}
	idle.mu.Lock()
	busy := idle.running != nil
	if !busy {
		idle.end() // nothing is begun any more
	}
	idle.mu.Unlock()
	if busy {
		return
	}
	e.mu.Lock()
	if e.open[id] == idle {
		delete(e.open, id)
	}
	e.mu.Unlock()
	if err := idle.leave(ctx); err != nil {
		idle.Publish(session.Noted{Text: "a step's session could not be closed: " + err.Error()})
	}
}

// startOrResumeTurn begins or resumes the turn of a step, unless it is over, and
// gives its number. A person may have spoken in the session since: then a turn
// that was not done is begun again with the same words.
func (a *openSession) startOrResumeTurn(
	ctx context.Context, t steps.Turn, plan *openSession,
) (number int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.control.SetNoFailover(t.Step.Pinned)
	a.checkpoints.KeepFor(plan.checkpoints)
	a.task.limits = a.e.o.Limits
	if t.Step.MaxRequests > 0 {
		a.task.limits.Requests = t.Step.MaxRequests
	}
	if t.Step.MaxCost > 0 {
		a.task.limits.Cost = t.Step.MaxCost
	}
	if a.state.Mode != t.Mode {
		if err := a.appendLocked(ctx, session.ModeChosen{Mode: t.Mode}); err != nil {
			return 0, err
		}
	}
	switch {
	case a.closed():
		return 0, agent.ErrClosing
	case a.running != nil:
		return a.state.Turn, nil // it runs already: a person was quicker
	case t.Done:
		return t.Number, nil
	case t.Tries == 0, t.Number < a.state.Turn:
		if t.Tries > 0 {
			t.Prompt.ID = fmt.Sprintf("%s+%d", t.Prompt.ID, t.Tries)
		}
		err = a.startLocked(ctx, t.Prompt)
		return a.state.Turn, err
	case a.state.Status == session.Asking:
		a.launchLocked(byPrompt) // it asks again
	case a.state.Status.Resumable():
		err = a.retryLocked(ctx)
	}
	return t.Number, err
}
