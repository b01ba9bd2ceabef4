package engine

import (
	"context"
	"errors"

	"belay/session"
)

// ErrSent says that a message cannot be taken back any more.
var ErrSent = errors.New("that message has been sent already")

// errPlanRuns says why a message waits for the end of a plan.
var errPlanRuns = errors.New("a plan runs here: the message waits for its end. " +
	"To say it to the running step, open the step and write there")

// steeredLocked lists the queued prompts that go with the next request, in the order
// in which they were sent.
func (s *openSession) steeredLocked() []session.Prompt {
	var list []session.Prompt
	for _, p := range s.state.Queue {
		if s.state.IsSteered(p.ID) {
			list = append(list, p)
		}
	}
	return list
}

// steerLocked lets queued prompts go with the next request; an empty id means all.
func (s *openSession) steerLocked(ctx context.Context, id string) error {
	var events []session.Event
	for _, p := range s.state.Queue {
		if (id == "" || p.ID == id) && !s.state.IsSteered(p.ID) {
			events = append(events, session.PromptSteered{ID: p.ID})
		}
	}
	switch {
	case len(events) == 0: // it has been sent meanwhile
		return nil
	case s.state.RunsPlan && s.state.Live():
		return errPlanRuns
	}
	return s.appendLocked(ctx, events...)
}

// unqueueLocked takes a queued prompt back.
func (s *openSession) unqueueLocked(ctx context.Context, id string) error {
	if !s.state.IsQueued(id) {
		return ErrSent
	}
	return s.appendLocked(ctx, session.PromptUnqueued{ID: id})
}

// takeSteered adds what a person wants to say now to the running turn: stored before
// anything is made of it, and gone from the queue with the same write.
func (s *openSession) takeSteered(ctx context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var events []session.Event
	for _, p := range s.steeredLocked() {
		events = append(events, session.PromptTaken{Prompt: p, Note: s.requests.Mentioned(ctx, p)})
	}
	if len(events) == 0 {
		return false, nil
	}
	return true, s.appendLocked(ctx, events...)
}
