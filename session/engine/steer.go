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

// steering lets queued prompts go with the next request; an empty id means all. Those
// that have been sent meanwhile need nothing.
func steering(state session.Session, id string) ([]session.Event, error) {
	var events []session.Event
	for _, p := range state.Queue {
		if (id == "" || p.ID == id) && !state.IsSteered(p.ID) {
			events = append(events, session.PromptSteered{ID: p.ID})
		}
	}
	if len(events) > 0 && state.RunsPlan && state.Live() {
		return nil, errPlanRuns
	}
	return events, nil
}

// unqueueing takes a queued prompt back.
func unqueueing(state session.Session, id string) ([]session.Event, error) {
	if !state.IsQueued(id) {
		return nil, ErrSent
	}
	return []session.Event{session.PromptUnqueued{ID: id}}, nil
}

// takeSteered adds what a person wants to say now to the running turn: stored before
// anything is made of it, and gone from the queue with the same write.
func (s *openSession) takeSteered(ctx context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var events []session.Event
	for _, p := range s.state.SteeredPrompts() {
		events = append(events, session.PromptTaken{Prompt: p, Note: s.requests.Mentioned(ctx, p)})
	}
	return len(events) > 0, s.appendLocked(ctx, events...)
}
