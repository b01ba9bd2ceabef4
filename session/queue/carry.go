package queue

import (
	"context"
	"sync"
	"time"

	"belay/models"
	"belay/session/batch"
)

// carrying is one try of a task under its lease.
type carrying struct {
	w *worker

	mu    sync.Mutex
	entry *Entry
	// waits is what the task waits for, as it was told; empty: it works.
	waits string
}

// carry carries out one try.
func (w *worker) carry(ctx context.Context, e *Entry, place *batch.Place) (batch.Result, error) {
	c := &carrying{w: w, entry: e}
	return w.Carrier.Carry(ctx, batch.Attempt{
		ID: e.ID, Task: e.Task, Progress: e.Progress, Save: c.save, Place: place,
		Seen: func(event batch.Event) { c.seen(ctx, event) },
		Tier: func(ctx context.Context) (models.Tier, error) {
			now, err := w.q.Task(ctx, e.ID)
			return now.Task.Tier, err
		},
	})
}

func (c *carrying) save(ctx context.Context, p batch.Progress) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.Waits = c.waits
	c.entry.Progress = p
	return c.w.q.saveProgress(ctx, *c.entry, p)
}

// seen keeps what happens to the task, and passes it on. When it waits longer for the
// same than it was told, that shows in the list alone.
func (c *carrying) seen(ctx context.Context, event batch.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.w
	told := false
	switch event.Type {
	case batch.AttemptDone:
		w.Pace.Clean()
	case batch.AttemptFailed:
		if event.Fault != nil && event.Fault.Kind == models.KindCapacity {
			w.Pace.Full()
		}
	case batch.TaskParked:
		told = event.Text != "" && event.Text == c.waits
		c.waits = event.Text
		c.setState(ctx, batch.Parked, event.Until)
	case batch.TaskResumed:
		c.waits = ""
		c.setState(ctx, batch.Running, time.Time{})
	}
	if !told {
		w.emit(*c.entry, event)
	}
}

// setState shows in the list how the task stands; without it that alone is poorer.
func (c *carrying) setState(ctx context.Context, state batch.State, until time.Time) {
	c.entry.Progress.Waits = c.waits
	_ = c.w.q.setState(context.WithoutCancel(ctx), *c.entry, state, until)
}
