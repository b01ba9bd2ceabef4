// Package engine decides which session runs what, and when: which prompt starts
// a turn and which waits, what a stop, a tier key or an answer reaches, when a
// parked turn goes on, and what a crash left behind.
//
// It knows no screen: what shows sessions calls Do and reads Next.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"belay/models"
	"belay/models/capacity"
	"belay/models/route"
	"belay/session"
	"belay/session/agent"
	"belay/session/files"
	"belay/session/request"
	"belay/session/store"
)

// Options are what an Engine works with. All but ParkSchedule and what says so
// are needed.
type Options struct {
	request.Options

	Tier    models.Tier  // of new sessions
	Mode    session.Mode // of new sessions
	Program string       // what others see of this program: "screen", "run"
	// NonInteractive says that nobody can answer: an approval ends the turn, and all that is
	// done in a session is one task, whose limits nobody gives anew.
	NonInteractive bool

	ParkSchedule []time.Duration             // waits between the retries of a parked turn
	Random       func() float64              // uniform in [0, 1), spreads the waits by a tenth; nil: exact
	Breakers     *capacity.Breakers          // what is known of all targets
	Snapshots    func(root string) Snapshots // nil: the files of checkpoints are not kept
	Watch        time.Duration               // how often changes by other belays are looked for; 0: never
	Limits       agent.Limits                // of a task
	TaskSince    *time.Time                  // since when they count what programs before took; nil: they do not
	Grants       []string                    // rules of the settings, which hold in every project
	TooWide      func(root string) string    // why changes in a workspace ask in every mode; nil: they never do

	// TurnEnded hears of each turn that ends or is parked; it must not wait. Nil: nobody does.
	TurnEnded func(models.Turn)

	// ModelTitles says that the light tier names a session after its first turn: a
	// request that the settings ask for, and nobody else.
	ModelTitles bool

	// SwitchAfterStep is how many capacity failures in a row a step's turn takes
	// before it leaves a target; 0: as many as any other.
	SwitchAfterStep int

	Now func() time.Time
}

// Engine runs sessions.
type Engine struct {
	o        Options
	requests *request.Factory
	events   *eventQueue

	mu      sync.Mutex
	open    map[session.ID]*openSession
	opening map[session.ID]chan struct{} // closed when it is open, or cannot be
	closing bool
	watch   context.CancelFunc
	work    sync.WaitGroup // turns and watchers
}

// New returns an engine. It does nothing until a session is started or opened.
func New(o Options) *Engine {
	return &Engine{
		o: o, requests: request.NewFactory(o.Options), events: newEventQueue(),
		open: map[session.ID]*openSession{}, opening: map[session.ID]chan struct{}{},
	}
}

// Start makes a session in a workspace and opens it.
func (e *Engine) Start(ctx context.Context, project string) (session.Session, error) {
	s, err := e.o.Store.Create(ctx, session.Created{
		Project: project, Folder: files.FolderID(project), Tier: e.o.Tier, Mode: e.modeOf(project, e.o.Mode),
	})
	if err != nil {
		return session.Session{}, fmt.Errorf("start session: %w", err)
	}
	return e.Open(ctx, s.ID, false)
}

// Open makes this program the writer of a session and brings in order what an
// earlier one left behind. A session that is open already is returned as it
// is. If another living program has it, the error's chain has an
// Owner() session.Owner; takeover takes it nevertheless.
func (e *Engine) Open(ctx context.Context, id session.ID, takeover bool) (session.Session, error) {
	for {
		e.mu.Lock()
		known, other := e.open[id], e.opening[id]
		switch {
		case e.closing:
			e.mu.Unlock()
			return session.Session{}, agent.ErrClosing
		case known != nil && !known.lost():
			e.mu.Unlock()
			return known.State(), nil
		case other == nil:
			opened := make(chan struct{})
			e.opening[id] = opened
			delete(e.open, id)
			e.work.Add(1) // Close waits for it
			e.mu.Unlock()
			return e.take(ctx, id, known, takeover, opened)
		}
		e.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return session.Session{}, context.Cause(ctx)
		}
	}
}

// take makes this program the writer of a session that is not open. Another
// program may have had it meanwhile: what this one knew, old, is out of date.
// Done is closed at the end.
func (e *Engine) take(
	ctx context.Context, id session.ID, old *openSession, takeover bool, done chan struct{},
) (session.Session, error) {
	defer e.work.Done()
	defer close(done)
	opened, err := e.acquire(ctx, id, old, takeover)
	e.mu.Lock()
	delete(e.opening, id)
	if err == nil && e.closing {
		err = errors.Join(agent.ErrClosing, opened.leave(ctx))
	}
	if err != nil {
		e.mu.Unlock()
		return session.Session{}, fmt.Errorf("open session %s: %w", id, err)
	}
	e.open[id] = opened
	e.startWatchLocked()
	e.mu.Unlock()
	opened.settle()
	return opened.State(), nil
}

func (e *Engine) acquire(
	ctx context.Context, id session.ID, old *openSession, takeover bool,
) (*openSession, error) {
	if old != nil {
		if err := old.leave(ctx); err != nil {
			return nil, err
		}
	}
	lease, err := e.o.Store.Acquire(ctx, id, e.o.Program, takeover)
	if err != nil {
		return nil, err
	}
	opened, err := e.load(ctx, id, lease)
	if err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	return opened, nil
}

// startWatchLocked polls for changes by other processes; it starts at most
// once. Targets that they found full or free are so for this one too.
func (e *Engine) startWatchLocked() {
	if e.watch != nil || e.o.Watch <= 0 || e.o.Breakers == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.watch = cancel
	e.work.Go(func() {
		ticker := time.NewTicker(e.o.Watch)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if changed, err := e.o.Store.Changed(ctx); err == nil && changed {
				e.o.Breakers.Refresh(ctx)
				e.events.put(session.Record{Time: e.o.Now(), Event: session.TiersChanged{}})
			}
		}
	})
}

// Next waits for events and returns all that have come, of every open session,
// in order; pieces of text that follow each other come as one. One caller at
// a time.
func (e *Engine) Next(ctx context.Context) ([]session.Record, error) {
	e.mu.Lock()
	if !e.closing { // who listens wants to hear of the models, with and without a session
		e.startWatchLocked()
	}
	e.mu.Unlock()
	return e.events.next(ctx)
}

// Alert publishes an event that belongs to no session.
func (e *Engine) Alert(a session.Alerted) { e.events.put(session.Record{Time: e.o.Now(), Event: a}) }

// Tiers gives of each tier the target that stands for it, as the next request of a
// session would meet it, heavy first.
func (e *Engine) Tiers(id session.ID) []models.Condition { return e.o.Router.Conditions(e.control(id)) }

// Outlook gives the state of every target of every tier in the same way.
func (e *Engine) Outlook(id session.ID) []models.Condition { return e.o.Router.Outlook(e.control(id)) }

// control is that of an open session, or one as a new session would get.
func (e *Engine) control(id session.ID) *route.Control {
	if opened := e.openSession(id); opened != nil {
		return opened.control
	}
	return route.NewControl(e.o.Tier)
}

// Session is the state of an open session.
func (e *Engine) Session(id session.ID) (session.Session, bool) {
	opened := e.openSession(id)
	if opened == nil {
		return session.Session{}, false
	}
	return opened.State(), true
}

func (e *Engine) openSession(id session.ID) *openSession {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[id]
}

// opened is openSession after waiting for one that is being opened: it is shown
// already, and may be told something.
func (e *Engine) opened(ctx context.Context, id session.ID) (*openSession, error) {
	e.mu.Lock()
	opening := e.opening[id]
	e.mu.Unlock()
	if opening != nil {
		select {
		case <-opening:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return e.openSession(id), nil
}

// Request rebuilds the last request of a session out of its log, as it would be
// made now, and names the target that it went to. The session need not be open.
func (e *Engine) Request(ctx context.Context, id session.ID) (models.Target, models.Request, error) {
	return e.requests.Rebuild(ctx, id)
}

// ContextUsage says what the next request of an open session would be made of.
func (e *Engine) ContextUsage(ctx context.Context, id session.ID) (session.ContextUsage, error) {
	opened := e.openSession(id)
	if opened == nil {
		return session.ContextUsage{}, fmt.Errorf("measure session %s: %w", id, ErrNotOpen)
	}
	return opened.requests.ContextUsage(ctx)
}

// Wait returns when a session has no running turn, with the state it is in.
func (e *Engine) Wait(ctx context.Context, id session.ID) (session.Session, error) {
	opened := e.openSession(id)
	if opened == nil {
		return session.Session{}, fmt.Errorf("wait for session %s: it is not open", id)
	}
	if err := opened.idle(ctx); err != nil {
		return session.Session{}, err
	}
	return opened.State(), nil
}

// Close stops every running turn in a way that it can go on from, and gives
// the sessions back.
func (e *Engine) Close() error {
	e.o.Store.Hurry()
	e.mu.Lock()
	e.closing = true
	open := e.open
	e.open = map[session.ID]*openSession{}
	if e.watch != nil {
		e.watch()
	}
	e.mu.Unlock()
	for _, s := range open {
		s.close()
	}
	e.work.Wait()
	var errs []error
	for _, s := range open {
		errs = append(errs, s.tools.Close())
		// One that cannot be given back in time ends with this process.
		if err := s.lease.Release(); !errors.Is(err, store.ErrLocked) {
			errs = append(errs, err)
		}
	}
	e.events.close()
	return errors.Join(errs...)
}
