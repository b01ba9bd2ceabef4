package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/agent"
	"belay/session/store"
)

// running is a turn that runs, or other work that keeps turns away.
type running struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has ended
}

// trigger is why a turn begins or goes on.
type trigger int

const (
	byPrompt trigger = iota // a prompt, or an answer
	byUser                  // a person wants it to go on now: a resting target is asked as well
	byTimer                 // the time of a parked turn has come
)

// startLocked begins a turn with a prompt.
func (s *openSession) startLocked(ctx context.Context, p session.Prompt) error {
	changed, where := s.requests.Refresh(ctx)
	if changed != nil {
		if err := s.appendLocked(context.WithoutCancel(ctx), *changed); err != nil {
			return err
		}
	}
	s.task.failed = nil
	note := strings.TrimSpace(where + "\n\n" + s.requests.Mentioned(ctx, p))
	return s.beginLocked(ctx, byPrompt, session.TurnStarted{Prompt: p, Note: note})
}

// resumeLocked goes on with the last turn.
func (s *openSession) resumeLocked(ctx context.Context, by trigger, why string) error {
	if s.running != nil {
		return ErrBusy
	}
	if !s.state.Status.Resumable() {
		return ErrNothing
	}
	s.task.failed = s.state.Fault
	return s.beginLocked(ctx, by, session.TurnResumed{Why: why})
}

// beginLocked starts or resumes a turn with an event that says so.
func (s *openSession) beginLocked(ctx context.Context, by trigger, event session.Event) error {
	if s.closed() {
		return agent.ErrClosing
	}
	if s.running != nil {
		return ErrBusy
	}
	if err := s.settleEffectsLocked(ctx); err != nil {
		return err
	}
	if err := s.appendLocked(ctx, event); err != nil {
		return err
	}
	s.launchLocked(by)
	return nil
}

// launchLocked runs the turn that the log says is under way.
func (s *openSession) launchLocked(by trigger) {
	s.timer.stop()
	for _, approval := range s.state.PendingApprovals {
		s.approvals.expect(approval)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	s.running = &running{cancel: cancel, done: done}
	s.task.launch(by, s.state.Cost)
	s.task.began = s.e.o.Now()
	var ready func(context.Context)
	if s.state.CheckpointTurn < s.state.Turn && !s.changedLocked() {
		ready = s.checkpoints.Before(s.state.Turn, 0, "")
	}
	run := func() session.TurnEnded { return s.runPlan(ctx, ready) }
	if !s.state.RunsPlan {
		o := s.turnOptionsLocked(ready)
		run = func() session.TurnEnded { return agent.Run(ctx, o) }
	}
	s.e.work.Go(func() {
		select {
		case <-s.lease.Lost():
			cancel(store.ErrTakenOver)
		case <-ctx.Done():
		}
	})
	s.e.work.Go(func() {
		defer close(done)
		var end session.TurnEnded
		if err := s.requests.StoreSystemPrompt(ctx); err != nil {
			end = session.TurnEnded{Outcome: session.OutcomeFailed, Reason: err.Error()}
		} else {
			end = run()
		}
		cancel(nil)
		s.control.Release()
		s.ended(end)
	})
}

// turnOptionsLocked are what the turn under way works with.
func (s *openSession) turnOptionsLocked(ready func(context.Context)) agent.Options {
	return agent.Options{
		Router: s.e.o.Router, Control: s.control, Model: s.e.o.Router.Model, NetworkWait: s.e.o.NetworkWait,
		Log: s, Gate: s, Tools: s.tools, Root: s.root,
		Build: s.requests.Build, Shorten: s.requests.Shorten,
		Prune: s.requests.Prune, Steer: s.takeSteered, Measured: s.requests.Measured, Ready: ready,
		Turn: s.state.Turn, Purpose: purposeOf(s.state, s.task.began), Unknown: unknownEffects(s.state), Wrote: s.task.wrote,
		Failed:    s.task.failed,
		ParkRetry: s.task.trigger == byTimer, Force: s.task.trigger == byUser,
		Limits: s.task.turnLimits(), Spent: s.task.spent, Cost: s.taskCost, SwitchAfter: s.switchAfterLocked(),
		NonInteractive: s.e.o.NonInteractive, Now: s.e.o.Now, NewID: s.e.o.NewID,
	}
}

// unknownEffects are the commands that have begun and not ended, whatever the
// reason: nobody knows what came of them.
func unknownEffects(s session.Session) map[string]session.Effect {
	unknown := map[string]session.Effect{}
	for _, effect := range s.OpenEffects {
		if effect.Class == session.Run {
			unknown[effect.CallID] = effect
		}
	}
	return unknown
}

// switchAfterLocked is how many capacity failures in a row the turn takes before
// it leaves a target; 0: the router's own number.
func (s *openSession) switchAfterLocked() int {
	if s.state.PartOf == "" {
		return 0
	}
	return s.e.o.SwitchAfterStep
}

// purposeOf says whose the requests of a session are, for the record.
func purposeOf(state session.Session, began time.Time) models.Purpose {
	purpose := models.Purpose{
		Session: string(state.ID), Project: state.Project, Turn: state.Turn, TurnBegan: began,
	}
	switch {
	case state.PartOf == "":
	case state.Step == 0:
		purpose.Step = "plan"
	default:
		purpose.Step = fmt.Sprint("step ", state.Step)
	}
	return purpose
}

// ended records how a turn ended and lets the next prompt go.
func (s *openSession) ended(end session.TurnEnded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = nil
	s.approvals.forget()
	if s.e.o.TurnEnded != nil {
		purpose := purposeOf(s.state, s.task.began)
		defer func() { // parking may come to nothing
			s.e.o.TurnEnded(models.Turn{Purpose: purpose, Ended: s.e.o.Now(), Outcome: string(end.Outcome), Fault: end.Fault})
		}()
	}
	if end.Interrupted && s.state.Status == session.Asking {
		return // left as it is: the question is asked again when the session is opened
	}
	if end.Outcome == session.OutcomeParked && !s.state.RunsPlan { // a plan waits as long as its step
		end = s.parkLocked(end)
	}
	ctx := context.Background()
	if err := s.appendLocked(ctx, end); err != nil {
		s.publishLocked(session.Noted{Text: "this turn's end could not be saved: " + err.Error()})
		s.state.Apply(session.Record{
			Session: s.id, Seq: s.state.LastSeq, Turn: s.state.Turn, Time: s.e.o.Now(), Event: end,
		})
		s.publishLocked(end)
		s.unsaved = &end
		return
	}
	if s.changedLocked() {
		s.checkpoints.After(s.state.Turn)
	}
	switch end.Outcome {
	case session.OutcomeDone:
		if wantsTitle(s.e.o, s.state) && !s.closed() {
			s.e.work.Go(func() {
				_ = s.requests.Title(s.life) // without one, the first words of the prompt are a title as well
			})
		}
		s.startQueuedLocked(ctx)
	case session.OutcomeParked:
		s.scheduleLocked()
	}
}

// wantsTitle reports whether a model names the session now: after its first turn, where
// the settings want that and somebody looks at it.
func wantsTitle(o Options, state session.Session) bool {
	return o.ModelTitles && !o.NonInteractive && state.Turn == 1 && !state.UserTitled && state.PartOf == ""
}

// startQueuedLocked starts the turn of the first queued prompt.
func (s *openSession) startQueuedLocked(ctx context.Context) {
	if len(s.state.Queue) == 0 || s.running != nil || s.closed() {
		return
	}
	next := s.state.Queue[0]
	if steered := s.state.SteeredPrompts(); len(steered) > 0 { // meant to go sooner than the rest
		next = steered[0]
	}
	if err := s.startLocked(ctx, next); err != nil {
		s.publishLocked(session.Noted{Text: "the next message could not be sent: " + err.Error()})
	}
}

// occupyLocked keeps turns away until what it returns is called, which takes the
// lock and lets come what was sent meanwhile.
func (s *openSession) occupyLocked(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	s.running = &running{cancel: cancel, done: done}
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running = nil
		cancel(nil)
		close(done)
		switch s.state.Status {
		case session.Idle:
			s.startQueuedLocked(context.Background())
		case session.Parked:
			s.scheduleLocked()
		}
	}
}

// exclusively runs work that no turn may run beside, and that Close waits for.
func (s *openSession) exclusively(ctx context.Context, work func(context.Context) error) error {
	s.mu.Lock()
	switch {
	case s.closed():
		s.mu.Unlock()
		return ErrNotOpen
	case s.running != nil:
		s.mu.Unlock()
		return ErrBusy
	}
	ctx, release := s.occupyLocked(ctx)
	s.e.work.Add(1)
	s.mu.Unlock()
	defer s.e.work.Done()
	defer release()
	return work(ctx)
}

// over is closed when no turn runs.
func (s *openSession) over() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return s.running.done
	}
	done := make(chan struct{})
	close(done)
	return done
}

// idle waits until no turn runs and none is about to.
func (s *openSession) idle(ctx context.Context) error {
	for {
		s.mu.Lock()
		current := s.running
		s.mu.Unlock()
		if current == nil {
			return nil
		}
		select {
		case <-current.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// close ends what runs, in a way that can be gone on from.
func (s *openSession) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	s.timer.stop()
	if s.running != nil {
		s.running.cancel(agent.ErrClosing)
	}
}
