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
func (s *openSession) planTaskLocked(ctx context.Context, c session.PlanTask) error {
	if s.state.PartOf != "" {
		return errors.New("this session carries out a step itself: split the task in a new session")
	}
	if s.running != nil || s.state.Status == session.Parked {
		return ErrBusy
	}
	if c.Prompt.ID == "" {
		c.Prompt.ID = s.e.o.NewID()
	}
	if s.state.HasPrompt(c.Prompt.ID) {
		return nil
	}
	plan, err := steps.New(c)
	if err != nil {
		return err
	}
	started := session.TurnStarted{Prompt: c.Prompt, RunsPlan: true}
	if err := s.appendLocked(ctx, started, session.PlanSet{Plan: plan}); err != nil {
		return err
	}
	s.launchLocked(byPrompt)
	return nil
}

// editPlanLocked edits the plan. What has begun stays as it is.
func (s *openSession) editPlanLocked(ctx context.Context, list []session.Step) error {
	plan, err := steps.Edit(s.state.Plan, list)
	if err != nil {
		return err
	}
	return s.appendLocked(ctx, session.PlanSet{Plan: plan})
}

// runPlanLocked carries the plan out.
func (s *openSession) runPlanLocked(ctx context.Context, c session.RunPlan) error {
	plan := s.state.Plan
	switch {
	case plan == nil || len(plan.Steps) == 0:
		return errors.New("there is no plan to carry out: /steps TASK makes one")
	case s.running != nil && s.state.RunsPlan && s.state.Live():
		// It runs: from now on it stops after each step, or does not.
		return s.appendLocked(ctx, session.PlanStarted{Through: c.Through})
	case s.running != nil, s.state.Status == session.Parked && !s.state.RunsPlan:
		return ErrBusy
	case c.From < 0 || c.From > len(plan.Steps):
		return fmt.Errorf("there is no step %d", c.From)
	}
	if err := s.appendLocked(ctx, session.PlanStarted(c)); err != nil {
		return err
	}
	if s.state.RunsPlan && s.state.Status.Resumable() {
		return s.resumeLocked(ctx, byPrompt, "the plan goes on")
	}
	p := session.Prompt{ID: s.e.o.NewID(), Text: s.state.Plan.Task}
	return s.beginLocked(ctx, byPrompt, session.TurnStarted{Prompt: p, RunsPlan: true})
}

// runPlan runs the turn of a plan.
func (s *openSession) runPlan(ctx context.Context, ready func(context.Context)) session.TurnEnded {
	if ready != nil {
		ready(ctx)
	}
	return steps.Run(ctx, steps.Options{
		Log: s, Runner: stepRunner{s}, Store: s.e.o.Store, Tools: s.tools, Judge: s.Judge, Root: s.root,
		Cost: s.taskCost, MaxCost: s.e.o.Limits.Cost, Now: s.e.o.Now,
		Checkpoint: func(ctx context.Context, number int, title string) {
			if ready := s.checkpoints.Before(s.State().Turn, number, title); ready != nil {
				ready(ctx)
			}
		},
	})
}

// runningStep is the session of the step that runs; nil: none does here.
func (s *openSession) runningStep() *openSession {
	s.mu.Lock()
	live := s.running != nil && s.state.RunsPlan
	plan := s.state.Plan
	s.mu.Unlock()
	if !live || plan == nil {
		return nil
	}
	id := plan.Planning
	for _, s := range plan.Steps {
		if s.State == session.StepRunning {
			id = s.Session
		}
	}
	return s.e.openSession(id)
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
func (s *openSession) startOrResumeTurn(
	ctx context.Context, t steps.Turn, plan *openSession,
) (number int, err error) {
	planCost := plan.taskCost() // this step's earlier turns are a part of it
	s.mu.Lock()
	defer s.mu.Unlock()
	s.control.SetNoFailover(t.Step.Pinned)
	s.checkpoints.KeepFor(plan.checkpoints)
	s.task.limitStep(s.e.o.Limits, t.Step, planCost)
	defer func() { s.task.next = nil }() // nothing may have begun
	if s.state.Mode != t.Mode {
		if err := s.appendLocked(ctx, session.ModeChosen{Mode: t.Mode}); err != nil {
			return 0, err
		}
	}
	switch {
	case s.closed():
		return 0, agent.ErrClosing
	case s.running != nil:
		return s.state.Turn, nil // it runs already: a person was quicker
	case t.Done:
		return t.Number, nil
	case t.Tries == 0, t.Number < s.state.Turn:
		if t.Tries > 0 {
			t.Prompt.ID = fmt.Sprintf("%s+%d", t.Prompt.ID, t.Tries)
		}
		err = s.startLocked(ctx, t.Prompt)
		return s.state.Turn, err
	case s.state.Status == session.Asking:
		s.launchLocked(byPrompt) // it asks again
	case s.state.Status.Resumable():
		err = s.retryLocked(ctx)
	}
	return t.Number, err
}
