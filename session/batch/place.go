package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"belay/session"
)

// Place is the place of one task among those that work: it has it or it does not. Its
// methods may be called by several goroutines, in any order.
type Place struct {
	pace     *Pace
	lane     Lane
	entering chan struct{} // holds what waits for the place

	mu   sync.Mutex
	held bool
}

// Place returns the place of a task, which it does not have yet.
func (p *Pace) Place(lane Lane) *Place {
	return &Place{pace: p, lane: lane, entering: make(chan struct{}, 1)}
}

// Enter waits until the task has a place; one that has it goes on at once. The error is
// the context's cause.
func (l *Place) Enter(ctx context.Context) error {
	select {
	case l.entering <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.entering }()
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held {
		return nil
	}
	if err := l.pace.Enter(ctx, l.lane); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
	return nil
}

// Leave gives the place back, if the task has it.
func (l *Place) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.held = false
		l.pace.Leave()
	}
}

// restAfter is how long a task waits with its place held: a shorter wait is over before
// another task has begun. Longer ones, whatever for, are others' time.
const restAfter = 5 * time.Second

// budgetRest lets a task rest while a request of it waits for the budget of its lane.
// Several requests may: the task goes on with the first of them.
type budgetRest struct {
	run *sessionRun

	mu    sync.Mutex
	until time.Time // told last; zero: it does not rest
}

// Rest gives the place back, and tells until when.
func (b *budgetRest) Rest(until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until.Sub(b.until).Abs() >= time.Second {
		b.until = until
		b.run.Seen(Event{Type: TaskParked, State: Parked, Until: until,
			Text: fmt.Sprintf("the budget of the lane %s is spent", b.run.Task.Lane)})
	}
	b.run.Place.Leave()
}

// Rejoin waits for the place, and lets the task go on as it is wanted now: its tier may
// have been moved.
func (b *budgetRest) Rejoin(ctx context.Context) error {
	if err := b.run.Place.Enter(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return nil
	}
	b.until = time.Time{}
	b.run.Seen(Event{Type: TaskResumed, State: Running})
	state, err := b.run.sessions.Open(ctx, b.run.Progress.Session, false) // it is open: this tells how it stands
	if err != nil {
		return err
	}
	return b.run.chooseTier(ctx, state)
}

// noteWait gives the place back while the model, or the network, is waited for within
// a request: a lost connection may take as long as parking does. The request that
// follows takes it again (see budgetRest); those that somebody waits for ask for none.
func (r *sessionRun) noteWait(e session.Waiting) {
	if r.Task.Lane != Interactive && e.Until.Sub(r.Now()) > restAfter {
		r.Place.Leave()
	}
}

// lockFolder keeps other tasks, also those of other belays, from a task's folder: two in
// one would mix their changes.
func (c *Carrier) lockFolder(ctx context.Context, a Attempt) (unlock func(), err error) {
	dir := a.Progress.Workspace.Dir
	brief, cancel := context.WithTimeout(ctx, restAfter)
	unlock, err = c.Workspaces.lock(brief, dir)
	cancel()
	if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return unlock, err
	}
	a.Seen(Event{Type: TaskParked, State: Parked, Text: "another task works in " + dir})
	a.Place.Leave()
	if unlock, err = c.Workspaces.lock(ctx, dir); err != nil {
		return nil, err
	}
	if err := a.Place.Enter(ctx); err != nil {
		unlock()
		return nil, err
	}
	a.Seen(Event{Type: TaskResumed, State: Running})
	return unlock, nil
}
