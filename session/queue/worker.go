package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"belay/session/batch"
	"belay/session/store"
)

// WorkerOptions are what a worker works with. All but Poll, Event and Trouble are needed.
type WorkerOptions struct {
	Scopes  []string // of the tasks that it takes
	Carrier *batch.Carrier
	Pace    *batch.Pace
	Most    int // tasks at once; as many more may be parked
	Random  func() float64
	Event   func(batch.Event) // hears of everything that happens; nil: nobody does
	Trouble func(error)       // hears that the queue cannot be asked, and with nil that it can again; nil: nobody does
	Poll    time.Duration     // how often it looks for tasks; 0: once a second
}

// worker takes tasks and carries them out.
type worker struct {
	WorkerOptions
	q    *Queue
	id   string
	life context.Context // until it is to end

	mu      sync.Mutex
	running map[string]context.CancelCauseFunc // by task
}

// parkedRoom is how many tasks may be parked beside those that work.
const parkedRoom = 5

// errCancelled is why the work on a task ended that nobody wants any more.
var errCancelled = errors.New("the task was cancelled")

// Run takes tasks until the context ends; then it gives back what runs, to be gone on
// with, and returns. Begun hears when it takes tasks; it may be nil.
func (q *Queue) Run(ctx context.Context, o WorkerOptions, begun func()) error {
	host, _ := os.Hostname() //nolint:errcheck // it only tells people
	w := &worker{
		WorkerOptions: o, q: q, id: fmt.Sprintf("%s-%d-%s", cmp.Or(host, "host"), os.Getpid(), shortID(q.o.NewID())),
		running: map[string]context.CancelCauseFunc{},
	}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	w.life = life
	if err := w.reclaim(ctx); err != nil {
		return err
	}
	if err := q.register(ctx, w.id, o.Scopes); err != nil {
		return err
	}
	err := w.work(ctx, end, begun)
	return errors.Join(err, q.unregister(context.WithoutCancel(ctx), w.id))
}

func (w *worker) work(ctx context.Context, end context.CancelCauseFunc, begun func()) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(w.workOn))
	queues := map[string]river.QueueConfig{}
	for _, scope := range w.Scopes {
		for _, lane := range batch.Lanes() {
			queues[riverQueue(scope, lane)] = river.QueueConfig{MaxWorkers: w.Most + parkedRoom}
		}
	}
	poll := cmp.Or(w.Poll, time.Second)
	client, err := river.NewClient(w.q.driver, &river.Config{
		ID: w.id, Queues: queues, Workers: workers, Logger: quiet(), PollOnly: true,
		FetchPollInterval: poll, FetchCooldown: min(poll, river.FetchCooldownDefault),
		JobTimeout: -1, RescueStuckJobsAfter: time.Hour,
	})
	if err != nil {
		return &Error{"begin to work", err, ""}
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return &Error{"begin to work", err, ""}
	}
	if begun != nil {
		begun()
	}
	w.watch(ctx)
	end(batch.ErrReleased)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := client.Stop(stopping); err != nil {
		return &Error{"end to work", err, "what still ran is gone on with by the next worker"}
	}
	return nil
}

// stopTime is how long a worker waits for its tasks to save what they have.
const stopTime = time.Minute

// watch keeps the leases until the context ends.
func (w *worker) watch(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var last, reclaimed time.Time
	troubled := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := w.q.o.Now()
		// What fails here is made up for by the next; a lease that is lost shows when
		// something is written under it.
		err := w.endCancelled(ctx)
		beats := err == nil && now.Sub(last) >= heartbeatInterval
		if beats {
			last = now
			err = w.q.beat(ctx, w.id)
		}
		if err == nil && now.Sub(reclaimed) >= reclaimInterval {
			reclaimed = now
			err = w.reclaim(ctx)
		}
		// Only a heartbeat shows that the queue can be written again.
		if ctx.Err() == nil && w.Trouble != nil && (err != nil && !troubled || err == nil && beats && troubled) {
			troubled = err != nil
			w.Trouble(err)
		}
		if err != nil {
			last, reclaimed = time.Time{}, time.Time{} // as soon as it can be: all of it is well again, or nothing is
		}
	}
}

func (w *worker) endCancelled(ctx context.Context) error {
	ids, err := w.q.cancelled(ctx, w.id)
	for _, id := range ids {
		w.mu.Lock()
		if cancel := w.running[id]; cancel != nil {
			cancel(errCancelled)
		}
		w.mu.Unlock()
	}
	return err
}

func (w *worker) reclaim(ctx context.Context) error {
	restarted, err := w.q.Reclaim(ctx)
	for _, e := range restarted {
		w.emit(e, batch.Event{Type: batch.TaskRestarted, State: batch.Waiting,
			Text: "its machine is gone: it begins anew"})
	}
	return err
}

func (w *worker) emit(e Entry, event batch.Event) {
	event.Time, event.Batch, event.Task, event.Name, event.Lane = w.q.o.Now(), e.Batch, e.ID, e.Task.Name, e.Task.Lane
	event.Try = cmp.Or(event.Try, e.Tries)
	event.Session = cmp.Or(event.Session, e.Progress.Session)
	if w.Event != nil {
		w.Event(event)
	}
}

// workOn carries out the task that a job points at. What it returns only tells river
// what becomes of the job.
func (w *worker) workOn(_ context.Context, job *river.Job[pointer]) error {
	lane := laneOf(job.Queue)
	// What waits for its folder is in nobody's way; claim asks again.
	if busy, err := w.q.busy(context.WithoutCancel(w.life), job.ID); err != nil {
		return err // river tries it again
	} else if busy {
		return river.JobSnooze(time.Second)
	}
	place := w.Pace.Place(lane)
	if err := place.Enter(w.life); err != nil {
		return river.JobSnooze(time.Second) // the worker ends: somebody else will take it
	}
	defer place.Leave()
	e, until, taken, err := w.q.claim(context.WithoutCancel(w.life), w.id, job.ID)
	switch {
	case err != nil:
		return err // river tries it again
	case !until.IsZero():
		return river.JobSnooze(max(until.Sub(w.q.o.Now()), time.Second))
	case !taken:
		return nil // the job is out of date
	}
	ctx, cancel := context.WithCancelCause(w.life)
	defer cancel(nil)
	w.mu.Lock()
	w.running[e.ID] = cancel
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.running, e.ID)
		w.mu.Unlock()
	}()
	begun := batch.Event{Type: batch.TaskStarted, State: batch.Running}
	if e.Progress.Session != "" {
		begun.Type = batch.TaskResumed
	}
	w.emit(e, begun)
	result, err := w.carry(ctx, &e, place)
	return w.settle(ctx, e, result, err)
}

func laneOf(name string) batch.Lane {
	for _, lane := range batch.Lanes() {
		if len(name) > len(lane) && name[len(name)-len(lane):] == string(lane) {
			return lane
		}
	}
	return batch.Bulk
}

// next is what follows a try.
type next int

const (
	nextFinish   next = iota // its result is for good
	nextRetry                // it is tried again
	nextGiveBack             // somebody goes on with it
)

// decide says what follows a try of a task that has failed so often before. Blocked says
// that this machine's disk is full: the task waits for room, however often that is.
func decide(task batch.Task, failures int, r batch.Result, released, blocked, cancelled bool) next {
	switch {
	case released && !cancelled:
		return nextGiveBack
	case blocked && !cancelled:
		return nextRetry
	case !cancelled && r.State == batch.Failed && r.Passing && failures < task.Retries:
		return nextRetry
	}
	return nextFinish
}

// retryDelay is how long a task waits after so many failures: half a minute, doubled
// each time, to half an hour.
func retryDelay(failures int, random float64) time.Duration {
	d := min(30*time.Second<<min(failures, 10), 30*time.Minute)
	return d + time.Duration(random*float64(d)/4)
}

// settle writes what came of a try. It goes on until that is written: the work is
// done, and only its result would be lost.
func (w *worker) settle(ctx context.Context, e Entry, r batch.Result, carried error) error {
	cancelled := errors.Is(context.Cause(ctx), errCancelled)
	released, blocked := errors.Is(carried, batch.ErrReleased), store.IsFull(carried)
	if carried != nil && !released {
		r = batch.Result{State: batch.Failed, Error: carried.Error(), Passing: true}
	}
	writing := context.WithoutCancel(ctx)
	var write func() error
	event := batch.Event{State: r.State, Text: r.Error, Fault: r.Fault, Cost: r.Cost, Commit: r.Commit}
	switch decide(e.Task, e.Failures, r, released, blocked, cancelled) {
	case nextGiveBack:
		event.Type, event.State = batch.TaskReleased, batch.Waiting
		write = func() error { return w.q.giveBack(writing, e, time.Time{}, false, r) }
	case nextRetry:
		event.Type, event.State = batch.TaskRetried, batch.Waiting
		event.Until = w.q.o.Now().Add(retryDelay(e.Failures, w.Random()))
		write = func() error { return w.q.giveBack(writing, e, event.Until, !blocked, r) }
	case nextFinish:
		if cancelled && r.State != batch.Done {
			r.State = batch.Cancelled
			event.State = r.State
		}
		event.Type = batch.TaskEnded
		write = func() error { return w.q.finish(writing, e, r) }
	}
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		err := write()
		switch {
		case err == nil:
			w.emit(e, event)
			if event.Type == batch.TaskEnded && r.State == batch.Done {
				_ = w.Carrier.Workspaces.Remove(writing, e.Progress.Workspace) // what stays is in nobody's way
			}
			if r.State == batch.Failed && event.Type == batch.TaskEnded {
				return river.JobCancel(errors.New(r.Error)) // river's own view shows it
			}
			return nil
		case errors.Is(err, ErrLost):
			return nil
		case w.life.Err() != nil && pause > time.Second:
			return err // the next worker finds the session done, and writes it
		}
		time.Sleep(pause)
	}
}

// Scopes are those of a worker for everybody, on this machine.
func (q *Queue) Scopes() []string { return slices.Compact([]string{Workers, q.machine}) }
