package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/agent"
)

// Errors of Do that the caller may want to tell apart.
var (
	ErrNotOpen = errors.New("the session is not open")
	ErrBusy    = errors.New("a turn is running")
	ErrNothing = errors.New("there is nothing to go on with")
)

// Do carries a command out. What follows from it comes as events.
func (e *Engine) Do(ctx context.Context, id session.ID, c session.Command) error {
	if c, ok := c.(session.DisableTarget); ok {
		e.o.Breakers.SetDisabled(ctx, c.Target, c.Disabled)
		e.feed.put(session.Record{Time: e.o.Now(), Event: session.TiersChanged{}})
		return nil
	}
	a := e.openSession(id)
	if a == nil {
		return e.file(ctx, id, c)
	}
	if work := a.long(ctx, c); work != nil {
		if err := work(); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
		return nil
	}
	if err := a.now(ctx, c); err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	switch c.(type) {
	case session.ChooseMode, session.ChooseTier, session.Park, session.TryNow:
		if step := a.running(); step != nil { // what is said to a plan is meant for the step that runs
			if err := step.now(ctx, c); err != nil {
				return fmt.Errorf("session %s: %w", step.id, err)
			}
		}
	}
	return nil
}

func (a *openSession) now(ctx context.Context, c session.Command) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrNotOpen
	}
	return a.do(ctx, c)
}

// file carries out what needs no writer: titles and filing of sessions that
// are not open here.
func (e *Engine) file(ctx context.Context, id session.ID, c session.Command) error {
	var event session.Event
	switch c := c.(type) {
	case session.Rename:
		event = session.Renamed(c)
	case session.SetArchived:
		event = session.ArchiveChanged(c)
	default:
		return fmt.Errorf("session %s: %w", id, ErrNotOpen)
	}
	s, err := e.o.Store.Load(ctx, id)
	if err == nil {
		err = apart(s, c)
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	records, _, err := e.o.Store.Append(ctx, id, s.Turn, event)
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	e.feed.put(records...)
	return nil
}

// long is the work of a command that takes a while, so that a.mu is not held
// for it; nil: it is none.
func (a *openSession) long(ctx context.Context, c session.Command) func() error {
	switch c := c.(type) {
	case session.PruneOutputs:
		return func() error { return a.trim(ctx) }
	case session.Rewind:
		return func() error { return a.alone(ctx, func(ctx context.Context) error { return a.rewind(ctx, c) }) }
	case session.UndoRewind:
		return func() error { return a.alone(ctx, a.unrewind) }
	}
	return nil
}

// do carries a command out. a.mu is held.
func (a *openSession) do(ctx context.Context, c session.Command) error {
	switch c := c.(type) {
	case session.Send:
		return a.send(ctx, c.Prompt)
	case session.Unqueue:
		return a.append(ctx, session.PromptUnqueued(c))
	case session.Stop:
		return a.stop(ctx)
	case session.Resume:
		return a.retry(ctx)
	case session.Drop:
		return a.drop(ctx)
	case session.TryNow:
		if a.cancel == nil && a.head.Status == session.Parked {
			return a.retry(ctx)
		}
		a.lever.Now()
	case session.Park:
		a.lever.Park()
	case session.ChooseTier:
		if c.Tier != a.head.Tier || a.head.PinnedTarget != (models.Target{}) {
			if err := a.append(ctx, session.TierChosen(c)); err != nil {
				return err
			}
		}
		a.lever.Choose(c.Tier)
	case session.PinTarget:
		err := a.append(ctx, session.TargetPinned(c))
		if err == nil {
			a.lever.Pin(c.Target)
		}
		return err
	case session.ChooseEffort:
		if m := a.e.o.Model(a.e.preferred(a.head)); c.Effort != "" && !knows(m, c.Effort) {
			return fmt.Errorf("%s does not know the effort %q: it knows %s", m.Target.Model, c.Effort, strings.Join(m.Efforts, ", "))
		}
		return a.append(ctx, session.EffortChosen(c))
	case session.PruneRequest:
		a.slimNext = true
	case session.PlanTask:
		return a.split(ctx, c)
	case session.EditPlan:
		return a.setSteps(ctx, c.Steps)
	case session.RunPlan:
		return a.runSteps(ctx, c)
	case session.Compact:
		return a.compactSoon(c.Keep)
	case session.Restore:
		a.full = 0
		return a.append(ctx, session.Restored(c))
	case session.Focus:
		if err := a.tools.Focus(c.Paths); err != nil {
			return err
		}
		return a.append(ctx, session.Focused(c))
	case session.PinNote:
		return a.append(ctx, session.NotePinned{Text: c.Text, Unpinned: c.Unpin})
	case session.ChooseMode:
		return a.append(ctx, session.ModeChosen(c))
	case session.AnswerApproval:
		return a.answer(ctx, c.Answer)
	case session.Rename:
		return a.append(ctx, session.Renamed(c))
	case session.SetArchived:
		if err := apart(a.head, c); err != nil {
			return err
		}
		return a.append(ctx, session.ArchiveChanged(c))
	default:
		return fmt.Errorf("unknown command %T", c)
	}
	return nil
}

// apart refuses to file the session of a step without the plan that needs it.
func apart(s session.Session, c session.Command) error {
	if _, filing := c.(session.SetArchived); filing && s.PartOf != "" {
		return fmt.Errorf("this session carries out a step: archive or delete session %s, whose step it is", s.PartOf)
	}
	return nil
}

// send starts a turn, or queues the prompt behind one that runs or is parked.
// The same prompt sent twice counts once.
func (a *openSession) send(ctx context.Context, p session.Prompt) error {
	if p.ID == "" {
		p.ID = a.e.o.NewID()
	}
	if a.sent(p.ID) {
		return nil
	}
	if a.cancel != nil || a.head.Status == session.Parked {
		return a.append(ctx, session.PromptQueued{Prompt: p})
	}
	return a.start(ctx, p)
}

// start begins a turn with a prompt. a.mu is held.
func (a *openSession) start(ctx context.Context, p session.Prompt) error {
	where, err := a.refresh(ctx)
	if err != nil {
		return err
	}
	e := a.begun(ctx, p)
	e.Note = strings.TrimSpace(where + "\n\n" + e.Note)
	return a.begin(ctx, e)
}

func (a *openSession) sent(id string) bool {
	if a.head.PromptID == id {
		return true
	}
	return slices.ContainsFunc(a.head.Queue, func(q session.Queued) bool { return q.ID == id })
}

func (a *openSession) stop(ctx context.Context) error {
	if a.cancel != nil {
		a.cancel(agent.ErrStopped)
		return nil
	}
	if a.head.Status == session.Parked {
		return a.halt(ctx)
	}
	return nil
}

// halt ends a parked turn: it no longer goes on by itself.
func (a *openSession) halt(ctx context.Context) error {
	err := a.append(ctx, session.TurnEnded{Outcome: session.OutcomeStopped, Fault: a.head.Fault, Reason: agent.ErrStopped.Error()})
	if err == nil && a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	return err
}

// near is how early a try of the ladder may come: who waits for its time does so
// on another clock than the one it was saved with.
const near = time.Second

// timely is why a parked turn goes on by itself.
const timely = "its time had come"

// retry is resume by the user: before the turn's own time it is their word,
// which also a resting target hears; at that time it is a try of the ladder.
func (a *openSession) retry(ctx context.Context) error {
	due := a.head.Status == session.Parked && !a.head.RetryAt.IsZero() && a.head.RetryAt.Sub(a.e.o.Now()) < near
	if a.rung, a.insist = due, !due; due {
		return a.resume(ctx, timely)
	}
	if plan := a.head.Plan; a.cancel == nil && a.head.RunsPlan && a.head.Status == session.NeedsPerson && plan != nil && plan.Started && plan.Reviewed {
		// A person's word goes on from a pause as well.
		if err := a.append(ctx, session.PlanStarted{Through: plan.Through}); err != nil {
			return err
		}
	}
	return a.resume(ctx, "by the user")
}

// resume goes on with the last turn. a.mu is held.
func (a *openSession) resume(ctx context.Context, why string) error {
	if a.cancel != nil {
		return ErrBusy
	}
	if a.resumable() {
		return a.begin(ctx, session.TurnResumed{Why: why})
	}
	return ErrNothing
}

// drop gives a parked or failed turn up and moves the queue on.
func (a *openSession) drop(ctx context.Context) error {
	if a.cancel != nil {
		return ErrBusy
	}
	if a.head.Status == session.Parked {
		if err := a.halt(ctx); err != nil {
			return err
		}
	}
	a.pump(ctx)
	return nil
}

// answer passes a person's word on to the turn that waits for it. A turn that
// ended because nobody was there goes on with it.
func (a *openSession) answer(ctx context.Context, answer session.Answer) error {
	asked := func(ap session.Approval) bool { return ap.CallID == answer.CallID }
	switch {
	case a.cancel != nil || !slices.ContainsFunc(a.head.PendingApprovals, asked):
	case a.head.Status == session.Asking:
		a.launch() // after a restart: it asks again, and is answered
	default:
		if err := a.resume(ctx, "answered by the user"); err != nil {
			return err
		}
	}
	waiting := a.answers[answer.CallID]
	if waiting == nil {
		return errors.New("this call no longer waits for an answer")
	}
	select {
	case waiting <- answer:
	default: // answered already
	}
	return nil
}
