package app

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"belay/models/metrics"
	"belay/session"
	"belay/session/batch"
	"belay/session/queue"
	"belay/session/store"
	"belay/ui/cli/maintenance"
)

// TaskWatch tells others of tasks: by the alerts of the settings when a batch has failed
// ones, and Prometheus of how many there are.
type TaskWatch struct {
	store   *store.Store
	upkeep  *maintenance.Worker
	metrics *metrics.Metrics // nil: nobody looks

	mu   sync.Mutex
	told map[string]bool // batches
}

// WatchTasks opens a watch over the tasks of a queue, until Close. Say hears of what the
// settings want on the screen. With options.Counted it is given to Prometheus as well.
func WatchTasks(
	ctx context.Context, env Env, options Options, q *queue.Queue, say func(text string),
) (*TaskWatch, error) {
	ctx, settings, dir, err := locate(ctx, options)
	if err != nil {
		return nil, err
	}
	said := newNotices(env.Err, options)
	st, err := openStore(ctx, store.Options{Waiting: said.add})
	if err != nil {
		return nil, err
	}
	b := &builder{env: env, options: options, settings: settings, dir: dir, notices: said}
	w := &TaskWatch{store: st, metrics: options.Counted, told: map[string]bool{}, upkeep: maintenance.New(
		maintenance.Options{
			Store: st, Settings: settings, Program: options.Program, Outputs: b.outputs(), Now: env.Now,
			Webhook: b.webhook(), NewID: env.NewID,
		})}
	if w.metrics != nil {
		w.metrics.Tasks(func() map[string]int { return countTasks(ctx, q) })
	}
	w.upkeep.Start(func(a session.Alerted) {
		if a.Screen {
			say(a.Text)
		}
	})
	return w, nil
}

// countLimit is how long a queue may take to count its tasks.
const countLimit = 5 * time.Second

// countTasks is how many tasks there are of each state; nil: the queue does not answer.
func countTasks(ctx context.Context, q *queue.Queue) map[string]int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countLimit)
	defer cancel()
	tasks, err := q.Counts(ctx)
	if err != nil {
		return nil
	}
	counts := map[string]int{}
	for state, n := range tasks {
		counts[string(state)] = n
	}
	return counts
}

// Event takes what happened to a task. The first failed one of a batch is told of; how
// many more there are, belay batch status knows.
func (w *TaskWatch) Event(e batch.Event) {
	if e.Type != batch.TaskEnded || e.State != batch.Failed {
		return
	}
	w.mu.Lock()
	told := w.told[e.Batch]
	w.told[e.Batch] = true
	w.mu.Unlock()
	if !told {
		w.upkeep.Report("batch "+e.Batch, fmt.Sprintf("batch %s: task %s failed: %s", e.Batch, e.Name, e.Text))
	}
}

// Handler tells Prometheus; nil: nobody wanted that.
func (w *TaskWatch) Handler() http.Handler {
	if w.metrics == nil {
		return nil
	}
	return w.metrics.Handler()
}

// Close delivers what is to be told.
func (w *TaskWatch) Close() error {
	w.upkeep.Stop()
	return w.store.Close()
}
