package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"belay/models"
	"belay/session"
	"belay/session/agent"
	"belay/session/request"
)

// Errors of Do that the caller may want to tell apart.
var (
	ErrNotOpen = errors.New("the session is not open")
	ErrBusy    = errors.New("a turn is running")
	ErrNothing = errors.New("there is nothing to go on with")
)

// Do executes a command. What follows from it comes as events.
func (e *Engine) Do(ctx context.Context, id session.ID, c session.Command) error {
	if c, ok := c.(session.DisableTarget); ok {
		e.o.Breakers.SetDisabled(ctx, c.Target, c.Disabled)
		e.events.put(session.Record{Time: e.o.Now(), Event: session.TiersChanged{}})
		return nil
	}
	if _, stops := c.(session.Stop); stops {
		e.o.Store.Hurry() // what waits for another writer keeps the session from hearing of it
	}
	opened, err := e.opened(ctx, id)
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	if opened == nil {
		if err := e.fileClosed(ctx, id, c); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
		return nil
	}
	if err := opened.do(ctx, c); err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	switch c.(type) {
	case session.ChooseMode, session.ChooseTier, session.Park, session.TryNow:
		if step := opened.runningStep(); step != nil { // what is said to a plan is meant for the step that runs
			if err := step.do(ctx, c); err != nil {
				return fmt.Errorf("session %s: %w", step.id, err)
			}
		}
	}
	return nil
}

// fileClosed executes what needs no writer: titles and archiving of sessions
// that are not open here.
func (e *Engine) fileClosed(ctx context.Context, id session.ID, c session.Command) error {
	var event session.Event
	switch c := c.(type) {
	case session.Rename:
		event = session.Renamed(c)
	case session.SetArchived:
		event = session.ArchiveChanged(c)
	default:
		return ErrNotOpen
	}
	s, err := e.o.Store.Load(ctx, id)
	if err != nil {
		return err
	}
	if err := mayFile(s, c); err != nil {
		return err
	}
	records, _, err := e.o.Store.Append(ctx, id, s.Turn, event)
	if err != nil {
		return err
	}
	e.events.put(records...)
	return nil
}

// mayFile refuses to archive the session of a step without the plan that needs
// it.
func mayFile(s session.Session, c session.Command) error {
	if _, archiving := c.(session.SetArchived); archiving && s.PartOf != "" {
		return fmt.Errorf("this session carries out a step: archive or delete session %s, whose step it is", s.PartOf)
	}
	return nil
}

// do executes a command on an open session.
func (s *openSession) do(ctx context.Context, c session.Command) error {
	switch c := c.(type) { // what takes a while does not hold the lock
	case session.PruneOutputs:
		return s.requests.PruneOutputs(ctx)
	case session.Rewind:
		return s.exclusively(ctx, func(ctx context.Context) error { return s.rewinder().Rewind(ctx, c) })
	case session.UndoRewind:
		return s.exclusively(ctx, s.rewinder().Undo)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed() {
		return ErrNotOpen
	}
	if choice, ok := c.(session.ChooseMode); ok && choice.Mode != session.Ask {
		if reason := s.e.tooWide(s.state.Project); reason != "" {
			return &WideError{Reason: reason}
		}
	}
	if event, ok := asEvent(c); ok {
		return s.appendLocked(ctx, event)
	}
	return s.doLocked(ctx, c)
}

// asEvent is the event that a command becomes as it stands, if it does.
func asEvent(c session.Command) (session.Event, bool) {
	switch c := c.(type) {
	case session.Restore:
		return session.Restored(c), true
	case session.ChooseMode:
		return session.ModeChosen(c), true
	case session.Rename:
		return session.Renamed(c), true
	case session.PinNote:
		return session.NotePinned{Text: c.Text, Unpinned: c.Unpin}, true
	}
	return nil, false
}

// doLocked executes a command that is more than an event.
func (s *openSession) doLocked(ctx context.Context, c session.Command) error {
	switch c := c.(type) {
	case session.Send:
		return s.sendLocked(ctx, c.Prompt)
	case session.Unqueue:
		events, err := unqueueing(s.state, c.ID)
		return cmp.Or(err, s.appendLocked(ctx, events...))
	case session.SteerQueued:
		events, err := steering(s.state, c.ID)
		return cmp.Or(err, s.appendLocked(ctx, events...))
	case session.Stop:
		return s.stopLocked(ctx)
	case session.Resume:
		return s.retryLocked(ctx)
	case session.Drop:
		return s.dropLocked(ctx)
	case session.TryNow:
		if s.running == nil && s.state.Status == session.Parked {
			return s.retryLocked(ctx)
		}
		s.control.Now()
	case session.Park:
		s.control.Park()
	case session.ChooseTier:
		return s.chooseTierLocked(ctx, c)
	case session.PinTarget:
		if err := s.appendLocked(ctx, session.TargetPinned(c)); err != nil {
			return err
		}
		s.control.Pin(c.Target)
	case session.ChooseEffort:
		return s.chooseEffortLocked(ctx, c)
	case session.PruneRequest:
		s.requests.PruneNext()
	case session.Compact:
		s.compactLocked(c.Keep)
	case session.PlanTask:
		return s.planTaskLocked(ctx, c)
	case session.EditPlan:
		return s.editPlanLocked(ctx, c.Steps)
	case session.RunPlan:
		return s.runPlanLocked(ctx, c)
	case session.Focus:
		if err := s.tools.Focus(c.Paths); err != nil {
			return err
		}
		return s.appendLocked(ctx, session.Focused(c))
	case session.AnswerApproval:
		return s.answerLocked(ctx, c.Answer)
	case session.SetArchived:
		if err := mayFile(s.state, c); err != nil {
			return err
		}
		return s.appendLocked(ctx, session.ArchiveChanged(c))
	default:
		return fmt.Errorf("unknown command %T", c)
	}
	return nil
}

func (s *openSession) chooseTierLocked(ctx context.Context, c session.ChooseTier) error {
	if c.Tier != s.state.Tier || s.state.PinnedTarget != (models.Target{}) {
		if err := s.appendLocked(ctx, session.TierChosen(c)); err != nil {
			return err
		}
	}
	s.control.Choose(c.Tier)
	return nil
}

func (s *openSession) chooseEffortLocked(ctx context.Context, c session.ChooseEffort) error {
	m := s.e.o.Model(s.e.requests.Preferred(s.state))
	if c.Effort != "" && !request.KnowsEffort(m, c.Effort) {
		return fmt.Errorf("%s does not know the effort %q: it knows %s",
			m.Target.Model, c.Effort, strings.Join(m.Efforts, ", "))
	}
	return s.appendLocked(ctx, session.EffortChosen(c))
}

// compactLocked makes a summary now if nothing runs, else before the next
// request of the running turn.
func (s *openSession) compactLocked(keep string) {
	if s.running != nil {
		s.requests.SummariseNext(keep)
		return
	}
	ctx, release := s.occupyLocked(context.Background())
	s.e.work.Go(func() {
		defer release()
		if err := s.requests.Summarise(ctx, keep); err != nil {
			s.Publish(session.Noted{Text: "no summary was made: " + err.Error()})
		}
	})
}

// sendLocked starts a turn, or queues the prompt behind one that runs or is
// parked. The same prompt sent twice counts once.
func (s *openSession) sendLocked(ctx context.Context, p session.Prompt) error {
	if p.ID == "" {
		p.ID = s.e.o.NewID()
	}
	if s.state.HasPrompt(p.ID) {
		return nil
	}
	if s.running != nil || s.state.Status == session.Parked {
		return s.appendLocked(ctx, session.PromptQueued{Prompt: p})
	}
	return s.startLocked(ctx, p)
}

func (s *openSession) stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopLocked(ctx)
}

func (s *openSession) stopLocked(ctx context.Context) error {
	if s.running != nil {
		s.running.cancel(agent.ErrStopped)
		return nil
	}
	if s.state.Status == session.Parked {
		return s.stopParkedLocked(ctx)
	}
	return nil
}

// stopParkedLocked ends a parked turn: it no longer goes on by itself.
func (s *openSession) stopParkedLocked(ctx context.Context) error {
	end := session.TurnEnded{
		Outcome: session.OutcomeStopped, Fault: s.state.Fault, Reason: agent.ErrStopped.Error(),
	}
	if err := s.appendLocked(ctx, end); err != nil {
		return err
	}
	s.timer.stop()
	return nil
}

// retryLocked is resume by the user. Before the turn's own time it is their
// word, which a resting target hears as well; at that time it is a retry of the
// parked turn.
func (s *openSession) retryLocked(ctx context.Context) error {
	if s.dueLocked() {
		return s.resumeLocked(ctx, byTimer, reasonDue)
	}
	plan := s.state.Plan
	paused := s.running == nil && s.state.RunsPlan && s.state.Status == session.NeedsPerson
	if paused && plan != nil && plan.Started && plan.Reviewed {
		// A person's word goes on from a pause as well.
		if err := s.appendLocked(ctx, session.PlanStarted{Through: plan.Through}); err != nil {
			return err
		}
	}
	return s.resumeLocked(ctx, byUser, "by the user")
}

// dropLocked gives a parked or failed turn up and moves the queue on.
func (s *openSession) dropLocked(ctx context.Context) error {
	if s.running != nil {
		return ErrBusy
	}
	if s.state.Status == session.Parked {
		if err := s.stopParkedLocked(ctx); err != nil {
			return err
		}
	}
	s.startQueuedLocked(ctx)
	return nil
}
