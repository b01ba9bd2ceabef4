// Package steps decides how a large task is carried out in checkpointed steps:
// what a plan is, which step comes next, what its session is told, when it is
// done, and what a failure leaves for a person to decide.
package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/agent"
	"belay/session/permit"
	"belay/session/store"
	"belay/session/tools"
)

// Options are what a plan is carried out with.
type Options struct {
	Log    Log
	Runner Runner
	Store  *store.Store
	Tools  *tools.Set                          // runs the checks
	Judge  func(c permit.Call) permit.Decision // about checks
	Root   string                              // the workspace, links resolved
	// Checkpoint keeps the working tree before a step, and waits for that.
	Checkpoint func(ctx context.Context, number int, title string)
	// Cost is what the task has taken since a person last said go, in US dollars.
	Cost    func() float64
	MaxCost float64 // that the task may take, in US dollars; 0: no limit
	Now     func() time.Time
}

// Log is the session that holds the plan.
type Log interface {
	State() session.Session
	// Append stores events, all or none.
	Append(ctx context.Context, events ...session.Event) error
}

// Runner runs turns in the sessions of steps.
type Runner interface {
	// Open opens a session.
	Open(ctx context.Context, id session.ID) error
	// RunTurn starts or resumes a turn in an open session, and returns when it is
	// over.
	RunTurn(ctx context.Context, id session.ID, t Turn) (TurnResult, error)
	// Close closes sessions in which nothing runs.
	Close(ctx context.Context, ids []session.ID)
}

const (
	maxProposals    = 3    // answers that are no plan
	maxFailedChecks = 2    // times that the model hears of a failed check
	maxNote         = 3000 // bytes
	maxCheckOutput  = 8000 // bytes
)

// Run carries a plan out until it is done, or something is for a person, or for
// a later time. The log says where it stands, so a plan that was cut short goes
// on from the last thing that was done.
func Run(ctx context.Context, o Options) session.TurnEnded {
	defer func() { o.closeFinished(context.WithoutCancel(ctx), o.Log.State().Plan) }()
	if end := o.plan(ctx); end != nil {
		return *end
	}
	parked := map[int]session.TurnEnded{} // in this run
	for {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		if end := o.runNext(ctx, parked); end != nil {
			return *end
		}
	}
}

// runNext runs the next step, if one can begin. A non-nil end ends the plan's
// turn.
func (o Options) runNext(ctx context.Context, parked map[int]session.TurnEnded) *session.TurnEnded {
	plan := o.Log.State().Plan
	if plan == nil {
		return failed("the plan is gone", nil)
	}
	for n := range parked {
		if n > len(plan.Steps) || plan.Steps[n-1].Finished() { // skipped meanwhile
			delete(parked, n)
		}
	}
	n := next(plan.Steps, parked)
	if end := o.mayBegin(*plan, n, parked); end != nil {
		return end
	}
	end := o.runStep(ctx, n, plan.Steps[n-1])
	switch {
	case end == nil:
		return pauseAfter(o.Log.State().Plan, n) // a person may have changed it meanwhile
	case end.Outcome == session.OutcomeParked:
		parked[n] = *end
		return nil
	}
	return end
}

// mayBegin says why step n may not begin now; nil: it may. 0 is no step.
func (o Options) mayBegin(plan session.Plan, n int, parked map[int]session.TurnEnded) *session.TurnEnded {
	switch {
	case n == 0 && len(parked) > 0:
		end := earliest(parked)
		return &end
	case n == 0:
		return &session.TurnEnded{Outcome: session.OutcomeDone}
	}
	step := plan.Steps[n-1]
	if step.Pause && step.State == session.StepPending && plan.Approved != n {
		return needsPerson(fmt.Sprintf("paused before step %d, %s", n, step.Title))
	}
	return o.limit()
}

// pauseAfter says, of a plan that a person takes one by one, what is next.
func pauseAfter(plan *session.Plan, n int) *session.TurnEnded {
	if plan == nil || plan.Through {
		return nil
	}
	m := next(plan.Steps, nil)
	if m == 0 {
		return &session.TurnEnded{Outcome: session.OutcomeDone}
	}
	return needsPerson(fmt.Sprintf("step %d is done; next is step %d, %s", n, m, plan.Steps[m-1].Title))
}

// limit ends a plan that takes more than a task may.
func (o Options) limit() *session.TurnEnded {
	const stop = 0.95 // as for a turn: a step takes an unknown part of it
	cost := o.Cost()
	if o.MaxCost <= 0 || cost < stop*o.MaxCost {
		return nil
	}
	return &session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Limit: true,
		Reason: fmt.Sprintf("the limit of cost is reached ($%.2f of $%.2f): raise it, or go on with the rest yourself",
			cost, o.MaxCost)}
}

func needsPerson(reason string) *session.TurnEnded {
	return &session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: reason}
}

func failed(reason string, f *models.Fault) *session.TurnEnded {
	return &session.TurnEnded{Outcome: session.OutcomeFailed, Reason: reason, Fault: f}
}

func stopped(ctx context.Context) session.TurnEnded {
	cause := context.Cause(ctx)
	return session.TurnEnded{
		Outcome: session.OutcomeStopped, Reason: cause.Error(), Interrupted: errors.Is(cause, agent.ErrClosing),
	}
}

// unstorable ends a run whose events cannot be stored.
func unstorable(ctx context.Context, err error) *session.TurnEnded {
	switch {
	case ctx.Err() != nil:
		end := stopped(ctx)
		return &end
	case errors.Is(err, agent.ErrClosing):
		return &session.TurnEnded{Outcome: session.OutcomeStopped, Reason: err.Error(), Interrupted: true}
	}
	return failed(err.Error(), nil)
}

// next is the number of the step that can be done now: the first that is not
// over and builds on nothing that is still to be done; 0: none. Those that are
// parked are passed over, and with them what builds on them.
func next(list []session.Step, parked map[int]session.TurnEnded) int {
	for i, s := range list {
		if _, waits := parked[i+1]; !waits && !s.Finished() && ready(list, i) {
			return i + 1
		}
	}
	return 0
}

func ready(list []session.Step, i int) bool {
	if list[i].Needs == nil {
		return !slices.ContainsFunc(list[:i], func(s session.Step) bool { return !s.Finished() })
	}
	for _, n := range list[i].Needs {
		if n >= 1 && n <= len(list) && !list[n-1].Finished() {
			return false
		}
	}
	return true
}

// earliest is the end of the step that goes on first.
func earliest(parked map[int]session.TurnEnded) session.TurnEnded {
	var first session.TurnEnded
	for _, end := range parked {
		sooner := !end.RetryAt.IsZero() && end.RetryAt.Before(first.RetryAt)
		if first.Outcome == "" || first.RetryAt.IsZero() || sooner {
			first = end
		}
	}
	return first
}
