package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"belay/models"
	"belay/models/route"
	"belay/session"
	"belay/session/batch"
	"belay/session/queue"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

func modeOf(name string) session.Mode { return session.Mode(name) }

// quietTimes gives tasks that wait for quiet hours their time.
func (cli batchCLI) quietTimes(
	ctx context.Context, options app.Options, tasks []batch.Task,
) (func(batch.Task) time.Time, error) {
	if !slices.ContainsFunc(tasks, func(t batch.Task) bool { return t.Quiet }) {
		return nil, nil
	}
	now := cli.Now()
	weekOf, err := app.BusyHours(ctx, options, now)
	if err != nil {
		return nil, err
	}
	var told bool
	return func(t batch.Task) time.Time {
		if !t.Quiet {
			return time.Time{}
		}
		at, known := batch.QuietTime(weekOf(t.Tier), now.Local(), mathrand.Float64)
		if !known && !told {
			told = true
			fmt.Fprintln(cli.Err, locale.T("the record does not cover a week yet, so that no hours are known to be quiet: they begin now"))
		}
		return at
	}, nil
}

// batchView shows what happens to a batch.
type batchView interface {
	event(e batch.Event)
	say(text string) // for a person
	tick(ctx context.Context, counts map[batch.State]int)
	close()
}

// workOn carries out the tasks of a batch in this process until all are over.
func (cli batchCLI) workOn(
	ctx context.Context, flags batchFlags, options app.Options, q *queue.Queue, b queue.Batch,
) (err error) {
	worker, err := app.TaskWorker(ctx, cli.Env, options, q)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	lines := flags.json || cli.Width(cli.Out) == 0
	watch, err := app.WatchTasks(ctx, cli.Env, options, q, func(text string) {
		if lines { // the table shows what fails
			fmt.Fprintln(cli.Err, "! "+theme.Line(text))
		}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, watch.Close()) }()
	var view batchView
	if lines {
		view = &batchLines{w: cli.Out, err: cli.Err}
	} else {
		view = newBatchTable(ctx, cli, q, b, worker.Pace.Limit, stop)
	}
	var mu sync.Mutex
	changed := make(chan struct{}, 1)
	worker.Scopes = []string{b.ID}
	worker.Event = func(e batch.Event) {
		watch.Event(e)
		mu.Lock()
		defer mu.Unlock()
		view.event(e)
		if e.Type == batch.TaskEnded {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}
	worker.Trouble = func(err error) { view.say(queueTrouble(err)) }
	if err := cli.tellScheduled(ctx, q, b.ID, view); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- q.Run(working, worker, nil) }()
	watching := cli.watchBatch(working, q, b.ID, changed, failed, view.tick)
	stop()
	if watching.ended {
		err = watching.err
	} else {
		err = cmp.Or(<-failed, watching.err)
	}
	view.close()
	if err != nil {
		return err
	}
	return cli.endBatch(ctx, flags, q, b)
}

// tellScheduled tells of the tasks of a batch that wait for their time.
func (cli batchCLI) tellScheduled(ctx context.Context, q *queue.Queue, id string, view batchView) error {
	list, err := q.Tasks(ctx, id)
	now := cli.Now()
	for _, e := range list {
		if e.State == batch.Waiting && e.NotBefore.After(now) {
			view.event(batch.Event{
				Time: now, Type: batch.TaskScheduled, Batch: id, Task: e.ID, Name: e.Task.Name, Lane: e.Task.Lane,
				Try: e.Tries, State: e.State, Session: e.Progress.Session, Until: e.NotBefore,
			})
		}
	}
	return err
}

// queueTrouble says that a queue cannot be asked, or with nil that it can again.
func queueTrouble(err error) string {
	if err == nil {
		return locale.T("the queue can be read and written again")
	}
	return theme.Line(locale.T("%s; what runs goes on, and the queue is asked again", locale.Said(err.Error())))
}

// watched is how watching a batch has ended.
type watched struct {
	ended bool // its worker has, by itself
	err   error
}

// queuePatience is how long a batch is watched whose queue does not answer: a server
// that is started again is back by then.
const queuePatience = 5 * time.Minute

// watchBatch returns when all tasks of a batch are over, or its worker or the context
// ends.
func (cli batchCLI) watchBatch(
	ctx context.Context, q *queue.Queue, id string, changed <-chan struct{}, worker <-chan error,
	tick func(context.Context, map[batch.State]int),
) watched {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	// Counting takes the longer the more tasks there are: it is done a few times a
	// second at most, however many of them end.
	const between = 300 * time.Millisecond
	var lost time.Time // since when the queue does not answer
	for {
		b, err := q.Batch(ctx, id)
		switch {
		case ctx.Err() != nil:
			return watched{}
		case errors.Is(err, queue.ErrUnreachable) && (lost.IsZero() || cli.Now().Sub(lost) < queuePatience):
			if lost.IsZero() {
				lost = cli.Now()
				if worker == nil { // otherwise it tells of it itself
					fmt.Fprintln(cli.Err, "! "+queueTrouble(err))
				}
			}
		case err != nil:
			return watched{err: err}
		default:
			lost = time.Time{}
			tick(ctx, b.Counts)
			if b.Open() == 0 {
				return watched{}
			}
		}
		select {
		case <-ctx.Done():
			return watched{}
		case err := <-worker:
			return watched{ended: true, err: err}
		case <-changed:
			_ = route.SleepUntil(ctx, cli.Now, cli.Now().Add(between), between)
		case <-ticker.C:
		}
	}
}

// endBatch tells how a batch stands, and gives the exit code.
func (cli batchCLI) endBatch(ctx context.Context, flags batchFlags, q *queue.Queue, b queue.Batch) error {
	ctx = context.WithoutCancel(ctx)
	tasks, err := q.Tasks(ctx, b.ID)
	if err != nil {
		return err
	}
	sum := summarise(tasks)
	if err := cli.printEnd(flags, b, sum); err != nil {
		return err
	}
	if flags.report != "" {
		if err := cli.writeReport(flags.report, reportOf(b, tasks, sum, cli.Now())); err != nil {
			return err
		}
	}
	if sum.open > 0 {
		if b.Scope == queue.Workers {
			fmt.Fprintln(cli.Err, locale.T("its workers go on: belay batch wait %s", b.ID))
		} else {
			fmt.Fprintln(cli.Err, locale.T("to go on: belay batch --resume %s", b.ID))
		}
		return &exit.Error{Code: exit.Interrupted}
	}
	if sum.code != exit.Done {
		fmt.Fprintln(cli.Err, locale.T("to try the failed ones again: belay batch --retry-failed %s", b.ID))
		return &exit.Error{Code: sum.code}
	}
	return nil
}

// batchSum is what has come of a batch.
type batchSum struct {
	tasks, open, done, failed, cancelled, restarts int
	cost                                           float64
	usage                                          models.Usage
	code                                           int
}

func summarise(tasks []queue.Entry) batchSum {
	sum := batchSum{tasks: len(tasks)}
	for _, e := range tasks {
		sum.restarts += e.Restarts
		sum.cost += e.Result.Cost
		sum.usage = sum.usage.Add(e.Result.Usage)
		code := exit.Done
		switch e.State {
		case batch.Done:
			sum.done++
		case batch.Failed:
			sum.failed++
			code = resultCode(e.Result)
		case batch.Cancelled:
			sum.cancelled++
			code = exit.Interrupted
		default:
			sum.open++
		}
		switch {
		case code == exit.Done:
		case sum.code == exit.Done:
			sum.code = code
		case sum.code != code:
			sum.code = exit.Failed
		}
	}
	return sum
}

// resultCode is the exit code of `belay run` for a task that failed.
func resultCode(r batch.Result) int {
	switch {
	case r.Limit:
		return exit.Limit
	case r.Person:
		return exit.Person
	case r.Fault != nil:
		return exit.OfFault(r.Fault)
	}
	return exit.Failed
}

func (cli batchCLI) workerView(flags batchFlags) batchView {
	if flags.json || cli.Width(cli.Out) == 0 {
		return &batchLines{w: cli.Out, err: cli.Err}
	}
	return &batchText{w: cli.Out, err: cli.Err}
}

// batchLines writes JSON lines.
type batchLines struct{ w, err io.Writer }

// batchLine is one of them. Fields are added, never changed.
type batchLine struct {
	V int `json:"v"`
	batch.Event
	Fault     any  `json:"fault,omitempty"` // as in the lines of belay run
	Done      *int `json:"done,omitempty"`
	Failed    *int `json:"failed,omitempty"`
	Cancelled *int `json:"cancelled,omitempty"`
	Open      *int `json:"open,omitempty"`
	Restarts  int  `json:"restarts,omitempty"`
}

func (l *batchLines) event(e batch.Event) {
	if e.Type != batch.AttemptDone {
		line := batchLine{V: 1, Event: e}
		if e.Fault != nil {
			line.Fault = plain.JSONFault(e.Fault)
		}
		_ = plain.JSONLine(l.w, line) // the queue has it in any case
	}
}

func (l *batchLines) say(text string)                           { fmt.Fprintln(l.err, "! "+text) }
func (l *batchLines) tick(context.Context, map[batch.State]int) {}
func (l *batchLines) close()                                    {}

// batchText writes a line for each thing that happens.
type batchText struct{ w, err io.Writer }

func (t *batchText) event(e batch.Event) {
	if e.Type == batch.AttemptDone || e.Type == batch.AttemptFailed {
		return
	}
	line := e.Time.Local().Format("15:04:05") + "  " + theme.Line(e.Name) + "  " + locale.T(eventText(e))
	if e.Text != "" {
		line += ": " + locale.Said(theme.Line(e.Text))
	}
	fmt.Fprintln(t.w, line)
}

func (t *batchText) say(text string)                           { fmt.Fprintln(t.err, "! "+text) }
func (t *batchText) tick(context.Context, map[batch.State]int) {}
func (t *batchText) close()                                    {}

// eventText is what happened, in a few words.
func eventText(e batch.Event) string {
	switch e.Type {
	case batch.TaskScheduled:
		return "waits for its time"
	case batch.TaskStarted:
		return "begins"
	case batch.TaskResumed:
		return "goes on"
	case batch.TaskRestarted:
		return "begins anew"
	case batch.TaskParked:
		return "is parked"
	case batch.TaskRetried:
		return "failed, and is tried again"
	case batch.TaskReleased:
		return "is given back"
	}
	switch e.State {
	case batch.Done:
		return "done"
	case batch.Cancelled:
		return "cancelled"
	}
	return "failed"
}

// printEnd tells how a batch has ended.
func (cli batchCLI) printEnd(flags batchFlags, b queue.Batch, sum batchSum) error {
	if flags.json || cli.Width(cli.Out) == 0 {
		return plain.JSONLine(cli.Out, batchLine{
			V: 1, Event: batch.Event{Time: cli.Now(), Type: "batch.ended", Batch: b.ID, Name: b.Name, Cost: sum.cost},
			Done: &sum.done, Failed: &sum.failed, Cancelled: &sum.cancelled, Open: &sum.open, Restarts: sum.restarts,
		})
	}
	_, err := fmt.Fprintln(cli.Out, locale.T("batch %s: %d of %d done, %d failed, %d cancelled",
		b.ID, sum.done, sum.tasks, sum.failed, sum.cancelled))
	return err
}
