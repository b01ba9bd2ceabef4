// Package maintenance decides what happens to the record beside the work: what
// is old enough to be forgotten, what stands out enough to tell a person, and
// how much of a budget is spent.
package maintenance

import (
	"cmp"
	"context"
	"sync"
	"time"

	"belay/config"
	"belay/models"
	"belay/models/alert"
	"belay/models/ledger"
	"belay/session"
	"belay/session/snapshot"
	"belay/session/store"
)

// keepDeleted is how long a deleted session can be brought back.
const keepDeleted = 30 * 24 * time.Hour

// Options are what a Worker works with.
type Options struct {
	Store     *store.Store
	Settings  config.Settings
	Program   string // the kind of program that makes the requests
	Project   string // whose snapshots are looked after
	Snapshots *snapshot.Store
	Outputs   string // the folder with the outputs of commands
	Now       func() time.Time

	Webhook *alert.Webhook // that alerts go to; nil: none
	NewID   func() string  // of alerts
	// States tells how the targets of the tiers are doing; nil: nobody is told of it.
	States func() []State
}

// State is how a target is doing, as the watch over it wants to know.
type State struct {
	models.Condition
	Outage time.Time // since when it is taken to be down; zero: it is not
}

// Worker looks after the record in the background.
type Worker struct {
	o       Options
	alertTo func(session.Alerted)

	recorded chan struct{} // something was recorded
	cancel   context.CancelFunc
	workers  sync.WaitGroup
	alerted  map[string]time.Time // by the loop alone
	reports  chan finding         // of others, on their way to the loop
	posts    chan alert.Message   // on their way to the webhook

	mu          sync.Mutex
	spentReadAt time.Time
	spent       [2]float64 // this day, this month
}

// New returns a worker. Nothing runs until Start.
func New(o Options) *Worker {
	return &Worker{
		o: o, recorded: make(chan struct{}, 1), alerted: map[string]time.Time{},
		reports: make(chan finding, maxWaiting), posts: make(chan alert.Message, maxWaiting),
	}
}

// Start begins the work in the background; Stop ends it.
func (w *Worker) Start(alertTo func(session.Alerted)) {
	w.alertTo = alertTo
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	w.workers.Go(func() { w.purge(ctx) })
	w.workers.Go(func() {
		w.watch(ctx)
		close(w.posts)
	})
	w.workers.Go(func() { w.post(ctx) })
}

// Stop waits for what is under way: an alert is delivered to its end.
func (w *Worker) Stop() {
	w.cancel()
	w.workers.Wait()
}

// Record writes an attempt down. A record that cannot be written is no reason
// to stop the work; a disk that is full shows where it matters.
func (w *Worker) Record(ctx context.Context, a models.Attempt) {
	a.Environment = cmp.Or(w.o.Settings.Record.Environment, w.o.Program)
	a.TeamID = w.o.Settings.Record.Team
	_ = w.o.Store.AppendAttempts(ctx, ledger.Attempt(a))
	w.mu.Lock()
	for i := range w.spent {
		w.spent[i] += a.Cost
	}
	w.mu.Unlock()
	w.wake()
}

// purge removes what is older than the user wants. What fails, for the
// database may be in use, is done at another start.
func (w *Worker) purge(ctx context.Context) {
	now := w.o.Now()
	retention := w.o.Settings.Record.Retention
	var oldest time.Time
	if retention > 0 {
		oldest = now.Add(-retention)
		_, _ = w.o.Store.ForgetAttempts(ctx, oldest)
	}
	_, _ = w.o.Store.Purge(ctx, now.Add(-keepDeleted), w.o.Outputs)
	if w.o.Snapshots == nil {
		return
	}
	if trees, err := w.o.Store.SnapshotTrees(ctx, w.o.Project, oldest); err == nil {
		_ = w.o.Snapshots.Prune(ctx, trees)
	}
}
