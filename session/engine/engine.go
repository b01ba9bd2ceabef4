// Package engine decides what runs when in the sessions that are open: which
// prompt starts a turn and which waits, what a stop, a tier key or an answer
// reaches, when a parked turn goes on, and what a crash left behind.
//
// It knows no screen: whoever shows sessions calls Do and reads Next.
package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"belay/context/systemprompt"
	"belay/context/window"
	"belay/models"
	"belay/models/capacity"
	"belay/models/route"
	"belay/session"
	"belay/session/agent"
	"belay/session/store"
	"belay/session/tools"
)

// Options are what an Engine works with. All but Ladder and what says so are
// needed.
type Options struct {
	Store            *store.Store
	Router           *route.Router
	Model            func(models.Target) models.Model
	Counter          func(models.Model) Counter // counts as the model does
	Calibration      Calibration
	FailureThreshold func(ctx context.Context) session.FailureThreshold // from which size on requests fail; nil: nobody knows
	Window           func(models.Target) window.Limits
	Tools            func(root string) (*tools.Set, error)
	SystemPrompt     func(ctx context.Context, root string) systemprompt.Prompt

	Tier           models.Tier               // of new sessions
	Mode           session.Mode              // of new sessions
	Program        string                    // what others see of this program: "screen", "run"
	NonInteractive bool                      // nobody can answer: an approval ends the turn
	Reply          func(models.Target) Reply // nil: all is left to the provider
	PrunePolicy    PrunePolicy

	ParkSchedule []time.Duration             // rests between the tries of a parked turn
	Random       func() float64              // uniform in [0, 1), spreads the rests by a tenth; nil: exact
	Breakers     *capacity.Breakers          // what is known of all targets
	Snapshots    func(root string) Snapshots // nil: the files of checkpoints are not kept
	Watch        time.Duration               // how often other belays' changes are looked for; 0: never
	Limits       agent.Limits                // of a task
	Trigger      float64                     // share of the budget from which the conversation is lightened; 0: never
	// NetworkWait is how long a lost connection is waited out; 0: as long as it takes.
	NetworkWait time.Duration

	Now   func() time.Time
	NewID func() string
}

// Counter measures requests in tokens.
type Counter interface {
	window.Counter
	Loaded() bool // otherwise it estimates
	Exact() bool  // its encoding is the model's own, and loaded
}

// Calibration learn how each target counts.
type Calibration interface {
	Calibrate(t models.Target, ours, reported int64)
	Factor(t models.Target) float64
	Measured(t models.Target) bool
}

// Engine runs sessions.
type Engine struct {
	o    Options
	feed *feed

	mu      sync.Mutex
	open    map[session.ID]*openSession
	opening map[session.ID]chan struct{} // closed when it is open, or cannot be
	closing bool
	watch   context.CancelFunc
	work    sync.WaitGroup // turns and watchers

	failing atomic.Pointer[session.FailureThreshold] // from which size on requests fail, as it was read last
}

// New returns an engine. It does nothing until a session is started or opened.
func New(o Options) *Engine {
	return &Engine{o: o, feed: newFeed(), open: map[session.ID]*openSession{}, opening: map[session.ID]chan struct{}{}}
}

// Start makes a session in a workspace and opens it.
func (e *Engine) Start(ctx context.Context, project string) (session.Session, error) {
	s, err := e.o.Store.Create(ctx, session.Created{Project: project, Tier: e.o.Tier, Mode: e.o.Mode})
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
		a, other := e.open[id], e.opening[id]
		switch {
		case e.closing:
			e.mu.Unlock()
			return session.Session{}, agent.ErrClosing
		case a != nil && !a.lost():
			e.mu.Unlock()
			return a.session(), nil
		case other == nil:
			mine := make(chan struct{})
			e.opening[id] = mine
			delete(e.open, id)
			e.work.Add(1) // Close waits for it
			e.mu.Unlock()
			return e.take(ctx, id, a, takeover, mine)
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
// Opened is closed at the end.
func (e *Engine) take(ctx context.Context, id session.ID, old *openSession, takeover bool, opened chan struct{}) (session.Session, error) {
	defer e.work.Done()
	defer close(opened)
	a, err := e.acquire(ctx, id, old, takeover)
	e.mu.Lock()
	delete(e.opening, id)
	if err == nil && e.closing {
		err = errors.Join(agent.ErrClosing, a.leave(ctx))
	}
	if err != nil {
		e.mu.Unlock()
		return session.Session{}, fmt.Errorf("open session %s: %w", id, err)
	}
	e.open[id] = a
	e.look()
	e.mu.Unlock()
	a.settle()
	return a.session(), nil
}

func (e *Engine) acquire(ctx context.Context, id session.ID, old *openSession, takeover bool) (*openSession, error) {
	if old != nil {
		if err := old.leave(ctx); err != nil {
			return nil, err
		}
	}
	lease, err := e.o.Store.Acquire(ctx, id, e.o.Program, takeover)
	if err != nil {
		return nil, err
	}
	a, err := e.load(ctx, id, lease)
	if err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	return a, nil
}

// look begins to notice what other belays write, once: targets that they found
// full or free are so for this one too. e.mu is held.
func (e *Engine) look() {
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
				e.feed.put(session.Record{Time: e.o.Now(), Event: session.TiersChanged{}})
			}
		}
	})
}

// load reads what the engine needs of a session.
func (e *Engine) load(ctx context.Context, id session.ID, lease *store.Lease) (*openSession, error) {
	head, err := e.o.Store.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(head.Project)
	if err != nil {
		return nil, fmt.Errorf("find the workspace: %w", err)
	}
	set, err := e.o.Tools(head.Project)
	if err != nil {
		return nil, err
	}
	a := &openSession{e: e, id: id, lease: lease, root: root, head: head, tools: set, lever: route.NewControl(head.Tier), limits: e.o.Limits, marks: &markings{},
		answers: map[string]chan session.Answer{}}
	a.life, a.end = context.WithCancel(context.Background())
	if e.o.Snapshots != nil && head.PartOf == "" {
		a.shots = e.o.Snapshots(root)
	}
	a.lever.Pin(head.PinnedTarget)
	if head.PartOf != "" && head.Step == 0 {
		set.Restrict("read", "glob", "grep") // who plans only looks
	}
	if err := set.Focus(head.Focus); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	if a.grants, err = e.o.Store.PermissionGrants(ctx, head.Project); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	records, whole, err := e.tail(ctx, head)
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	a.talk = conversation(head, records, whole)
	remember(set, records)
	for _, r := range records {
		a.wrote = wrote(a.wrote, r.Event)
	}
	a.gather = sync.OnceValue(func() systemprompt.Prompt { return e.o.SystemPrompt(context.WithoutCancel(ctx), head.Project) })
	if a.briefed, err = e.briefed(ctx, id); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	if a.briefed != nil {
		a.where = a.briefed.Environment
	}
	if err := a.recover(ctx); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return a, nil
}

// The bounds of what is read of a log for the next request: more would not fit
// into any window.
const (
	tailPage  = 500
	tailBytes = 4 << 20
	tailLeast = 256 << 10 // of a page
)

// tail reads the end of a session's log from the beginning of a turn on. Of a
// turn that is longer than the bound it gives the prompt and the end. whole
// means that nothing is missing.
func (e *Engine) tail(ctx context.Context, head session.Session) (records []session.Record, whole bool, err error) {
	id := head.ID
	var pages [][]session.Record
	begun, skipped := false, false
	for before, room := int64(0), tailBytes; !whole && (room > 0 || !begun); {
		page, err := e.o.Store.Records(ctx, id, before, tailPage, max(room, tailLeast))
		if err != nil {
			return nil, false, err
		}
		if len(page) == 0 {
			return nil, true, nil
		}
		before = page[0].Seq
		whole = before <= 1
		page = head.Active(page)
		if room <= 0 {
			skipped = true
			page = slices.DeleteFunc(page, func(r session.Record) bool { return !begins(r) })
			page = page[max(len(page)-1, 0):]
		}
		for _, r := range page {
			room -= weigh(r.Event)
			begun = begun || begins(r)
		}
		pages = append(pages, page)
	}
	slices.Reverse(pages)
	records = slices.Concat(pages...)
	if first := slices.IndexFunc(records, begins); !whole && first > 0 {
		records = records[first:]
	}
	return records, whole && !skipped, nil
}

// remember tells the tools which files the model has seen, so that a change it
// was about to make can still be made.
func remember(set *tools.Set, records []session.Record) {
	args := map[string]string{}
	for _, r := range records {
		switch e := r.Event.(type) {
		case session.ItemAdded:
			if name := e.Item.Name; name == "read" || name == "edit" || name == "write" {
				args[e.Item.CallID] = e.Item.Arguments
			}
		case session.ToolEnded:
			if !e.Error && !e.Denied && !e.Unknown {
				set.SeedKnown(args[e.CallID], r.Time)
			}
		}
	}
}

func begins(r session.Record) bool {
	_, ok := r.Event.(session.TurnStarted)
	return ok
}

// weigh is about how many bytes of a request an event becomes.
func weigh(e session.Event) int {
	const least = 64
	n := least
	var images []models.Image
	switch e := e.(type) {
	case session.ItemAdded:
		n += len(e.Item.Text) + len(e.Item.Arguments) + len(e.Item.Raw)
	case session.ToolEnded:
		n, images = n+len(e.Output), e.Images
	case session.TurnStarted:
		n, images = n+len(e.Prompt.Text), e.Prompt.Images
		for _, at := range e.Prompt.Attachments {
			n += len(at.Text)
		}
	}
	for _, image := range images {
		n += len(image.Data)
	}
	return n
}

// Next waits for events and returns all that have come, of every open session,
// in order; pieces of text that follow each other come as one. One caller at
// a time.
func (e *Engine) Next(ctx context.Context) ([]session.Record, error) { return e.feed.next(ctx) }

// Alert passes on to whoever shows sessions what is of no session.
func (e *Engine) Alert(a session.Alerted) { e.feed.put(session.Record{Time: e.o.Now(), Event: a}) }

// Tiers gives the state of the current target of each tier, heavy first.
func (e *Engine) Tiers(session.ID) []models.Condition { return e.o.Router.Conditions() }

// Session is the state of an open session.
func (e *Engine) Session(id session.ID) (session.Session, bool) {
	a := e.openSession(id)
	if a == nil {
		return session.Session{}, false
	}
	return a.session(), true
}

func (e *Engine) openSession(id session.ID) *openSession {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[id]
}

// Wait returns when a session has no running turn, with the state it is in.
func (e *Engine) Wait(ctx context.Context, id session.ID) (session.Session, error) {
	a := e.openSession(id)
	if a == nil {
		return session.Session{}, fmt.Errorf("wait for session %s: it is not open", id)
	}
	if err := a.idle(ctx); err != nil {
		return session.Session{}, err
	}
	return a.session(), nil
}

// Close stops every running turn in a way that it can go on from, and gives
// the sessions back.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closing = true
	open := e.open
	e.open = map[session.ID]*openSession{}
	if e.watch != nil {
		e.watch()
	}
	e.mu.Unlock()
	for _, a := range open {
		a.close()
	}
	e.work.Wait()
	var errs []error
	for _, a := range open {
		errs = append(errs, a.tools.Close(), a.lease.Release())
	}
	e.feed.close()
	return errors.Join(errs...)
}
