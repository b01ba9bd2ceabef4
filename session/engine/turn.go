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

// task is what a person has asked for last, over all the retries of a parked
// turn.
type task struct {
	limits     agent.Limits
	spent      *agent.Spent  // nil: nothing
	costBefore float64       // what the session had cost when a person last said go
	parked     time.Duration // how long it has been parked, its next wait included
	trigger    trigger       // of the turn that runs
	wrote      bool          // the last turn has changed something
}

// apply follows the log: a turn has changed something once a call that is not
// only a read has started.
func (t *task) apply(e session.Event) {
	switch e := e.(type) {
	case session.TurnStarted:
		t.wrote = false
	case session.ToolStarted:
		t.wrote = t.wrote || e.Effect.Class != session.Read
	}
}

// launch notes that a turn begins. A person's word gives the task its limits
// anew.
func (t *task) launch(by trigger, cost float64) {
	t.trigger = by
	if by == byTimer && t.spent != nil {
		return
	}
	t.spent = &agent.Spent{}
	t.parked = 0
	t.costBefore = cost
}

// rewound forgets what was taken back.
func (t *task) rewound() {
	t.wrote = false
	t.spent = nil
}

// startLocked begins a turn with a prompt.
func (a *openSession) startLocked(ctx context.Context, p session.Prompt) error {
	changed, where := a.requests.Refresh(ctx)
	if changed != nil {
		if err := a.appendLocked(context.WithoutCancel(ctx), *changed); err != nil {
			return err
		}
	}
	note := strings.TrimSpace(where + "\n\n" + a.requests.Mentioned(ctx, p))
	return a.beginLocked(ctx, byPrompt, session.TurnStarted{Prompt: p, Note: note})
}

// resumeLocked goes on with the last turn.
func (a *openSession) resumeLocked(ctx context.Context, by trigger, why string) error {
	if a.running != nil {
		return ErrBusy
	}
	if !a.state.Status.Resumable() {
		return ErrNothing
	}
	return a.beginLocked(ctx, by, session.TurnResumed{Why: why})
}

// beginLocked starts or resumes a turn with an event that says so.
func (a *openSession) beginLocked(ctx context.Context, by trigger, event session.Event) error {
	if a.closed() {
		return agent.ErrClosing
	}
	if a.running != nil {
		return ErrBusy
	}
	if err := a.settleEffectsLocked(ctx); err != nil {
		return err
	}
	if err := a.appendLocked(ctx, event); err != nil {
		return err
	}
	a.launchLocked(by)
	return nil
}

// launchLocked runs the turn that the log says is under way.
func (a *openSession) launchLocked(by trigger) {
	a.timer.stop()
	for _, approval := range a.state.PendingApprovals {
		a.approvals.expect(approval)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	a.running = &running{cancel: cancel, done: done}
	a.task.launch(by, a.state.Cost)
	var ready func(context.Context)
	if a.state.CheckpointTurn < a.state.Turn && !a.changedLocked() {
		ready = a.checkpoints.Before(a.state.Turn, 0, "")
	}
	run := func() session.TurnEnded { return a.runPlan(ctx, ready) }
	if !a.state.RunsPlan {
		o := a.turnOptionsLocked(ready)
		run = func() session.TurnEnded { return agent.Run(ctx, o) }
	}
	a.e.work.Go(func() {
		select {
		case <-a.lease.Lost():
			cancel(store.ErrTakenOver)
		case <-ctx.Done():
		}
	})
	a.e.work.Go(func() {
		defer close(done)
		var end session.TurnEnded
		if err := a.requests.StoreSystemPrompt(ctx); err != nil {
			end = session.TurnEnded{Outcome: session.OutcomeFailed, Reason: err.Error()}
		} else {
			end = run()
		}
		cancel(nil)
		a.control.Release()
		a.ended(end)
	})
}

// turnOptionsLocked are what the turn under way works with.
func (a *openSession) turnOptionsLocked(ready func(context.Context)) agent.Options {
	return agent.Options{
		Router: a.e.o.Router, Control: a.control, Model: a.e.o.Model, NetworkWait: a.e.o.NetworkWait,
		Log: a, Gate: a, Tools: a.tools, Root: a.root,
		Build: a.requests.Build, Prune: a.requests.Prune, Measured: a.requests.Measured, Ready: ready,
		Turn: a.state.Turn, Purpose: purposeOf(a.state), Unknown: unknownEffects(a.state), Wrote: a.task.wrote,
		ParkRetry: a.task.trigger == byTimer, Force: a.task.trigger == byUser,
		Limits: a.task.limits, Spent: a.task.spent, SwitchAfter: a.switchAfterLocked(),
		NonInteractive: a.e.o.NonInteractive, Now: a.e.o.Now, NewID: a.e.o.NewID,
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
func (a *openSession) switchAfterLocked() int {
	if a.state.PartOf == "" {
		return 0
	}
	return a.e.o.SwitchAfterStep
}

// purposeOf says whose the requests of a session are, for the record.
func purposeOf(state session.Session) models.Purpose {
	purpose := models.Purpose{Session: string(state.ID), Project: state.Project, Turn: state.Turn}
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
func (a *openSession) ended(end session.TurnEnded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = nil
	a.approvals.forget()
	if end.Interrupted && a.state.Status == session.Asking {
		return // left as it is: the question is asked again when the session is opened
	}
	if end.Outcome == session.OutcomeParked && !a.state.RunsPlan { // a plan waits as long as its step
		end = a.parkLocked(end)
	}
	ctx := context.Background()
	if err := a.appendLocked(ctx, end); err != nil {
		a.publishLocked(session.Noted{Text: "this turn's end could not be saved: " + err.Error()})
		a.state.Apply(session.Record{
			Session: a.id, Seq: a.state.LastSeq, Turn: a.state.Turn, Time: a.e.o.Now(), Event: end,
		})
		a.publishLocked(end)
		a.unsaved = &end
		return
	}
	if a.changedLocked() {
		a.checkpoints.After(a.state.Turn)
	}
	switch end.Outcome {
	case session.OutcomeDone:
		a.startQueuedLocked(ctx)
	case session.OutcomeParked:
		a.scheduleLocked()
	}
}

// startQueuedLocked starts the turn of the first queued prompt.
func (a *openSession) startQueuedLocked(ctx context.Context) {
	if len(a.state.Queue) == 0 || a.running != nil || a.closed() {
		return
	}
	if err := a.startLocked(ctx, a.state.Queue[0]); err != nil {
		a.publishLocked(session.Noted{Text: "the next message could not be sent: " + err.Error()})
	}
}

// occupyLocked keeps turns away until what it returns is called, which takes the
// lock and lets come what was sent meanwhile.
func (a *openSession) occupyLocked(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	a.running = &running{cancel: cancel, done: done}
	return ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.running = nil
		cancel(nil)
		close(done)
		switch a.state.Status {
		case session.Idle:
			a.startQueuedLocked(context.Background())
		case session.Parked:
			a.scheduleLocked()
		}
	}
}

// exclusively runs work that no turn may run beside, and that Close waits for.
func (a *openSession) exclusively(ctx context.Context, work func(context.Context) error) error {
	a.mu.Lock()
	switch {
	case a.closed():
		a.mu.Unlock()
		return ErrNotOpen
	case a.running != nil:
		a.mu.Unlock()
		return ErrBusy
	}
	ctx, release := a.occupyLocked(ctx)
	a.e.work.Add(1)
	a.mu.Unlock()
	defer a.e.work.Done()
	defer release()
	return work(ctx)
}

// over is closed when no turn runs.
func (a *openSession) over() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running != nil {
		return a.running.done
	}
	done := make(chan struct{})
	close(done)
	return done
}

// idle waits until no turn runs and none is about to.
func (a *openSession) idle(ctx context.Context) error {
	for {
		a.mu.Lock()
		current := a.running
		a.mu.Unlock()
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
func (a *openSession) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end()
	a.timer.stop()
	if a.running != nil {
		a.running.cancel(agent.ErrClosing)
	}
}
