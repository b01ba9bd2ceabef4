package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"belay/models"
	"belay/models/capacity"
	"belay/session"
	"belay/session/engine"
	"belay/session/store"
)

// Sessions run the session of one task. An engine does.
type Sessions interface {
	Start(ctx context.Context, project string) (session.Session, error)
	Open(ctx context.Context, id session.ID, takeover bool) (session.Session, error)
	Do(ctx context.Context, id session.ID, c session.Command) error
	Wait(ctx context.Context, id session.ID) (session.Session, error)
	Next(ctx context.Context) ([]session.Record, error)
}

// Opened is what runs one task's session, until it is closed.
type Opened struct {
	Sessions
	Record func(ctx context.Context, id session.ID) ([]byte, error) // the log, as JSON lines
	Answer func(ctx context.Context, id session.ID) (string, error) // the last words of the model
	Close  func() error
}

// Carrier carries tasks out, one call each.
type Carrier struct {
	// Open opens what runs the session of a task in its workspace. Its requests, other
	// than those that somebody waits for, ask resting before they go out.
	Open func(ctx context.Context, a Attempt, resting capacity.Resting) (Opened, error)
	Now  func() time.Time
	// Sleep waits until a time, or until the context ends.
	Sleep      func(ctx context.Context, until time.Time) error
	Workspaces *Workspaces
}

// Progress is how far a task has come: what another try, or another program, goes on
// from.
type Progress struct {
	Session   session.ID `json:"session,omitempty"`
	Workspace Workspace  `json:"workspace,omitzero"`
	Waits     string     `json:"waits,omitempty"`  // what it waits for while it is parked, in words
	Since     time.Time  `json:"since,omitzero"`   // when a person last let it begin again: its limits count from then
	Cost      float64    `json:"cost,omitempty"`   // of its session, in US dollars
	Before    float64    `json:"before,omitempty"` // what Cost and Lost came to at Since
	Lost      float64    `json:"lost,omitempty"`   // cost of sessions before, which are lost with their machine or folder
}

// Anew is the progress of a task whose session is lost: what it cost stays spent.
func (p Progress) Anew() Progress {
	return Progress{Since: p.Since, Lost: p.Lost + p.Cost, Before: p.Before}
}

// lostOfLimit is what sessions that are lost have taken of the task's limit of cost.
func (p Progress) lostOfLimit() float64 { return max(0, p.Lost-p.Before) }

// Again is the progress of a task that a person lets begin again: its limits begin anew.
func (p Progress) Again(now time.Time) Progress {
	p.Since, p.Before = now, p.Lost+p.Cost
	return p
}

// Attempt is one try of a task.
type Attempt struct {
	ID       string // of the task; also that of its prompt, so that it is sent once
	Task     Task
	Progress Progress // of the tries before; empty: there are none
	// Save keeps the progress before the next thing happens.
	Save func(ctx context.Context, p Progress) error
	// Seen hears of what happens: parking, failed attempts. Several goroutines call it.
	Seen func(e Event)
	// Tier is the tier that the task is to ask now: it may have been moved while it was
	// parked. Nil: the one that it names.
	Tier func(ctx context.Context) (models.Tier, error)
	// Place is what the task has among those that work, and gives back while it waits.
	Place *Place
}

// ErrReleased is why the work on a task ended when it is to be gone on with later.
var ErrReleased = errors.New("the task is given back")

// errTimeout is why a try ended that took too long.
var errTimeout = errors.New("it took too long")

// maxText bounds the last words of a model that are kept of a task.
const maxText = 64 << 10

// Carry carries out one try of a task. It returns ErrReleased if ctx ended: then
// what there is can be gone on with.
func (c *Carrier) Carry(ctx context.Context, a Attempt) (Result, error) {
	if _, err := os.Stat(a.Progress.Workspace.Dir); errors.Is(err, fs.ErrNotExist) {
		a.Progress = a.Progress.Anew() // somebody has deleted it: its session has nothing to go on with
	}
	if a.Task.MaxCost > 0 {
		if a.Task.MaxCost -= a.Progress.lostOfLimit(); a.Task.MaxCost <= 0 {
			return Result{State: Failed, Limit: true, Error: "its limit of cost is used up", Cost: a.Progress.Lost}, nil
		}
	}
	if a.Progress.Workspace.Dir == "" {
		place, err := c.Workspaces.Prepare(ctx, a.Task, a.ID)
		if err != nil {
			return failedOr(ctx, err)
		}
		a.Progress.Workspace = place
		if err := a.Save(ctx, a.Progress); err != nil {
			return failedOr(ctx, err)
		}
	}
	if a.Progress.Workspace.Source == "" {
		unlock, err := c.lockFolder(ctx, a)
		if err != nil {
			return failedOr(ctx, err)
		}
		defer unlock()
	}
	run := &sessionRun{Carrier: c, Attempt: a}
	opened, err := c.Open(ctx, a, &budgetRest{run: run})
	if err != nil {
		return failedOr(ctx, err)
	}
	run.sessions = opened
	result, err := run.run(ctx)
	if err == nil && result.Text == "" && result.State == Done { // it was done before a kill
		result.Text, err = opened.Answer(context.WithoutCancel(ctx), run.Progress.Session)
		result.Text = result.Text[:min(len(result.Text), maxText)]
	}
	if err == nil && result.State.Over() {
		// Without it the result is as good.
		result.Record, _ = opened.Record(context.WithoutCancel(ctx), run.Progress.Session)
	}
	if closing := opened.Close(); err == nil && closing != nil && result.State != Done {
		result.Error = cmp.Or(result.Error, closing.Error())
	}
	if err != nil || result.State != Done {
		return result, err
	}
	return c.collect(ctx, a.Task, run.Progress.Workspace, result)
}

// collect puts what a task has changed into its result.
func (c *Carrier) collect(ctx context.Context, task Task, place Workspace, result Result) (Result, error) {
	outcome, err := c.Workspaces.Collect(ctx, task, place)
	result.Patch, result.Commit = outcome.Patch, outcome.Commit
	if result.Commit != "" {
		result.Branch = task.Branch
	}
	switch {
	case err == nil:
	case ctx.Err() != nil, store.IsFull(err):
		return failedOr(ctx, err)
	default:
		result.State, result.Error, result.Hint = Failed, err.Error(), session.ErrorHint(err)
	}
	return result, nil
}

// failedOr is the end of a try that an error ended. A full disk is not the task's
// failure: then the error is given back.
func failedOr(ctx context.Context, err error) (Result, error) {
	switch {
	case ctx.Err() != nil:
		return Result{}, ErrReleased
	case store.IsFull(err):
		return Result{}, err
	}
	r := Result{State: Failed, Error: err.Error(), Hint: session.ErrorHint(err)}
	errors.As(err, &r.Fault)
	return r, nil
}

// sessionRun follows the session of one try.
type sessionRun struct {
	*Carrier
	Attempt
	sessions Sessions
	result   Result
	before   int64 // the last event of the tries before
	end      session.TurnEnded
	asked    bool // a request is under way
}

func (r *sessionRun) run(ctx context.Context) (Result, error) {
	if r.Task.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.Task.Timeout, errTimeout)
		defer cancel()
	}
	state, err := r.open(ctx)
	if err != nil {
		return failedOr(ctx, err)
	}
	r.before, r.Progress.Cost = state.LastSeq, state.Cost
	if err := r.chooseTier(ctx, state); err != nil {
		return failedOr(ctx, err)
	}
	var command session.Command
	switch {
	case !state.HasPrompt(r.ID):
		command = session.Send{Prompt: session.Prompt{ID: r.ID, Text: r.Task.Prompt}}
	case state.Status.Resumable():
		command = session.Resume{}
	}
	if command != nil {
		if err := r.sessions.Do(ctx, state.ID, command); err != nil && !errors.Is(err, engine.ErrNothing) {
			return failedOr(ctx, err)
		}
		if err := r.follow(ctx, state.ID); err != nil {
			return r.result, err
		}
	}
	state, err = r.sessions.Wait(context.WithoutCancel(ctx), state.ID)
	if err != nil {
		return failedOr(ctx, err)
	}
	r.result.Cost, r.result.Usage = state.Cost+r.Progress.Lost, state.Usage
	if ctx.Err() != nil && state.Status != session.Idle && !errors.Is(context.Cause(ctx), errTimeout) {
		return r.result, ErrReleased
	}
	if reason := errors.New(r.end.Reason); state.Status != session.Idle && store.IsFull(reason) {
		return failedOr(ctx, reason)
	}
	r.judge(ctx, state)
	return r.result, nil
}

// open opens the session of the task, or a new one.
func (r *sessionRun) open(ctx context.Context) (session.Session, error) {
	if r.Progress.Session != "" {
		state, err := r.sessions.Open(ctx, r.Progress.Session, false)
		if isOurs(err) { // a try before could not write on a full disk that it let it go
			state, err = r.sessions.Open(ctx, r.Progress.Session, true)
		}
		return state, err
	}
	state, err := r.sessions.Start(ctx, r.Progress.Workspace.Dir)
	if err != nil {
		return state, err
	}
	r.Progress.Session = state.ID
	return state, r.Save(ctx, r.Progress)
}

// isOurs reports whether a session is held by this very process: as a task has one
// worker, by a try that is over.
func isOurs(err error) bool {
	var owned *store.OwnedError
	host, unknown := os.Hostname()
	return errors.As(err, &owned) && unknown == nil && owned.By.PID == os.Getpid() && owned.By.Host == host
}

// follow hears what happens until the turn has ended for good.
func (r *sessionRun) follow(ctx context.Context, id session.ID) error {
	stopped := context.AfterFunc(ctx, func() { // it may have ended by itself meanwhile
		_ = r.sessions.Do(context.WithoutCancel(ctx), id, session.Stop{})
	})
	defer stopped()
	for {
		records, err := r.sessions.Next(context.WithoutCancel(ctx))
		if err != nil {
			return fmt.Errorf("follow the session: %w", err)
		}
		for _, record := range records {
			if record.Session != id {
				continue
			}
			if _, cost := session.RequestUsage(record.Event); cost > 0 {
				r.Progress.Cost += cost
				_ = r.Save(context.WithoutCancel(ctx), r.Progress) // it matters only where the session is lost
			}
			if end, over := r.note(record); over {
				again, err := r.afterTurn(ctx, id, end)
				if err != nil || !again {
					return err
				}
			}
		}
	}
}

// note takes what counts out of an event. Over says that the turn has ended.
func (r *sessionRun) note(record session.Record) (end session.TurnEnded, over bool) {
	switch e := record.Event.(type) {
	case session.AttemptStarted:
		r.asked = true
		r.result.Requests++
	case session.ItemAdded:
		if r.asked && e.Item.Role != models.User {
			r.asked = false
			r.Seen(Event{Type: AttemptDone, Session: record.Session})
		}
		if text := e.Item.Text; e.Item.Role == models.Assistant && text != "" {
			r.result.Text = text[:min(len(text), maxText)]
		}
	case session.AttemptFailed:
		r.asked = false
		event := Event{Type: AttemptFailed, Session: record.Session}
		if f := e.Fault; f != nil {
			event.Fault, event.Target, event.Text = f, e.Target, f.Error()
			if f.Kind == models.KindCapacity {
				r.result.Full++
			}
		}
		r.Seen(event)
	case session.Waiting:
		r.noteWait(e)
	case session.TurnEnded:
		r.end = e
		return e, record.Seq == 0 || record.Seq > r.before
	}
	return end, false
}

// afterTurn decides what follows the end of a turn: the end of the try, or a wait
// and more of it.
func (r *sessionRun) afterTurn(ctx context.Context, id session.ID, end session.TurnEnded) (again bool, err error) {
	if end.Outcome != session.OutcomeParked || ctx.Err() != nil {
		return false, nil
	}
	state, err := r.sessions.Wait(context.WithoutCancel(ctx), id)
	if err != nil {
		return false, err
	}
	event := Event{Type: TaskParked, Session: id, State: Parked, Until: state.RetryAt, Fault: state.Fault}
	if state.Fault != nil {
		event.Text = state.Fault.Error()
	}
	r.Seen(event)
	r.Place.Leave()
	if r.Sleep(ctx, state.RetryAt) != nil || r.Place.Enter(ctx) != nil {
		return false, nil
	}
	r.Seen(Event{Type: TaskResumed, Session: id, State: Running})
	if err := r.chooseTier(ctx, state); err != nil {
		return false, err
	}
	return true, r.sessions.Do(ctx, id, session.Resume{})
}

// chooseTier moves the session to the tier of its task.
func (r *sessionRun) chooseTier(ctx context.Context, state session.Session) error {
	tier := r.Task.Tier
	if r.Tier != nil {
		var err error
		if tier, err = r.Tier(ctx); err != nil {
			return err
		}
	}
	if tier == "" || tier == state.Tier {
		return nil
	}
	return r.sessions.Do(ctx, state.ID, session.ChooseTier{Tier: tier})
}

// judge says what came of the try.
func (r *sessionRun) judge(ctx context.Context, state session.Session) {
	out := &r.result
	switch {
	case state.Status == session.Idle:
		out.State = Done
		return
	case errors.Is(context.Cause(ctx), errTimeout):
		out.State, out.Passing = Failed, true
		out.Error = fmt.Sprintf("it took longer than its timeout of %v", r.Task.Timeout)
		return
	}
	out.State = Failed
	out.Fault = state.Fault
	switch {
	case state.Status == session.NeedsPerson, state.Status == session.Asking:
		out.Person = true
	case state.Fault != nil:
		out.Hint = state.Fault.Hint
		out.Passing = state.Fault.Kind.Policy().Park != models.ParkNever ||
			state.Fault.Kind.Policy().Exit == models.ExitUnreachable
	}
	out.Limit = r.end.Limit
	switch {
	case state.Fault != nil:
		out.Error = state.Fault.Error()
	default:
		out.Error = cmp.Or(r.end.Reason, string(state.Status))
	}
}
