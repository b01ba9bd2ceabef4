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
)

// Options are what a plan is carried out with.
type Options struct {
	// State is the state of the session that holds the plan.
	State func() session.Session
	// Append stores events of that session, all or none.
	Append func(ctx context.Context, events ...session.Event) error
	// Checkpoint keeps the working tree before a step, and waits for that.
	Checkpoint func(ctx context.Context, number int, title string)
	// Begin makes the session of a step; number 0 is the planning.
	Begin func(ctx context.Context, number int, s session.Step) (session.ID, error)
	// RunStep opens the session of a step, sends it words, and returns when its turn
	// is over. Words of the same key are sent once: the second time the turn goes
	// on where it is, or is over already.
	RunStep func(ctx context.Context, id session.ID, key, words string) (StepResult, error)
	// Check runs a step's check. The plan was seen by a person or not.
	Check func(ctx context.Context, command string, seen bool) (CheckResult, error)
	// Limit says that no further step may begin; nil: nothing limits them.
	Limit func() *session.TurnEnded
	Like  []session.Step // the shape to begin a plan with
	Now   func() time.Time
}

// StepResult is what came of a turn in the session of a step.
type StepResult struct {
	Session session.Session
	End     session.TurnEnded
	Answer  string // the model's last words
	Calls   int    // of tools, in the whole session
}

// CheckResult is what came of a check.
type CheckResult struct {
	OK      bool
	Summary string // "exit 1"
	Output  string
}

// ErrNotReviewed says that a check may not run, because nobody has seen the plan.
var ErrNotReviewed = errors.New("nobody has looked at the plan, and its checks are commands")

const (
	mostPlans  = 3    // answers that are no plan
	mostChecks = 2    // times that the model hears of a failed check
	mostNote   = 3000 // bytes
	mostOutput = 8000 // bytes of a check's output
)

// Run carries a plan out until it is done, or something is for a person, or for
// a later time. The log says where it stands, so a plan that was cut short goes
// on from the last thing that was done.
func Run(ctx context.Context, o Options) session.TurnEnded {
	if end := o.plan(ctx); end != nil {
		return *end
	}
	waiting := map[int]session.TurnEnded{} // parked in this run
	for {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		s := o.State()
		if s.Plan == nil {
			return session.TurnEnded{Outcome: session.OutcomeFailed, Reason: "the plan is gone"}
		}
		for i := range waiting {
			if i > len(s.Plan.Steps) || s.Plan.Steps[i-1].Finished() { // skipped meanwhile
				delete(waiting, i)
			}
		}
		n := next(s.Plan.Steps, waiting)
		switch {
		case n == 0 && len(waiting) > 0:
			return earliest(waiting)
		case n == 0:
			return session.TurnEnded{Outcome: session.OutcomeDone}
		}
		step := s.Plan.Steps[n-1]
		if step.Pause && step.State == session.StepPending && !o.unpaused(s, n) {
			return person(fmt.Sprintf("paused before step %d, %s", n, step.Title))
		}
		if o.Limit != nil {
			if end := o.Limit(); end != nil {
				return *end
			}
		}
		end := o.step(ctx, n, step)
		s = o.State() // a person may have said something meanwhile
		switch {
		case end == nil && s.Plan != nil && !s.Plan.Through:
			if next(s.Plan.Steps, nil) == 0 {
				return session.TurnEnded{Outcome: session.OutcomeDone}
			}
			m := next(s.Plan.Steps, nil)
			return person(fmt.Sprintf("step %d is done; next is step %d, %s", n, m, s.Plan.Steps[m-1].Title))
		case end == nil:
		case end.Outcome == session.OutcomeParked:
			waiting[n] = *end
		default:
			return *end
		}
	}
}

// unpaused reports whether a person has just said that the paused step begins.
func (o Options) unpaused(s session.Session, n int) bool { return s.Plan.Approved == n }

func person(reason string) session.TurnEnded {
	return session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: reason}
}

func failed(reason string, f *models.Fault) *session.TurnEnded {
	return &session.TurnEnded{Outcome: session.OutcomeFailed, Reason: reason, Fault: f}
}

func stopped(ctx context.Context) session.TurnEnded {
	cause := context.Cause(ctx)
	return session.TurnEnded{Outcome: session.OutcomeStopped, Reason: cause.Error(), Interrupted: errors.Is(cause, agent.ErrClosing)}
}

// broken ends a run whose events cannot be stored.
func broken(ctx context.Context, err error) *session.TurnEnded {
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
// over and builds on nothing that is still to be done; 0: none. Those that
// wait are passed over, and with them what builds on them.
func next(list []session.Step, waiting map[int]session.TurnEnded) int {
	for i, s := range list {
		if _, waits := waiting[i+1]; !waits && !s.Finished() && ready(list, i) {
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
func earliest(waiting map[int]session.TurnEnded) session.TurnEnded {
	var first session.TurnEnded
	for _, end := range waiting {
		if first.Outcome == "" || first.RetryAt.IsZero() || !end.RetryAt.IsZero() && end.RetryAt.Before(first.RetryAt) {
			first = end
		}
	}
	return first
}

// plan lets a model propose the steps, if there are none. A non-nil end says
// that they are not to be carried out now.
func (o Options) plan(ctx context.Context) *session.TurnEnded {
	s := o.State()
	if s.Plan == nil {
		return failed("there is no task to split", nil)
	}
	if len(s.Plan.Steps) == 0 {
		if end := o.ask(ctx, *s.Plan); end != nil {
			return end
		}
		s = o.State()
	}
	if !s.Plan.Started {
		end := person(fmt.Sprintf("%d steps are proposed: look at them, change what you like, and start", len(s.Plan.Steps)))
		return &end
	}
	return nil
}

// ask has the planning session write a plan.
func (o Options) ask(ctx context.Context, plan session.Plan) *session.TurnEnded {
	if plan.Planning == "" {
		id, err := o.Begin(ctx, 0, session.Step{Title: "plan"})
		if err != nil {
			return broken(ctx, err)
		}
		plan.Planning = id
		if err := o.Append(ctx, session.PlanSet{Plan: plan}); err != nil {
			return broken(ctx, err)
		}
	}
	words := propose(plan.Task, o.Like)
	for try := 1; ; try++ {
		c, err := o.RunStep(ctx, plan.Planning, fmt.Sprint("plan-", try), words)
		if err != nil {
			return broken(ctx, err)
		}
		if end := o.ended(ctx, "the planning", c); end != nil {
			return end
		}
		if now := o.State().Plan; now != nil && len(now.Steps) > 0 {
			return nil // a person has written one meanwhile
		}
		list, err := Parse(c.Answer)
		if err == nil {
			plan.Steps, plan.By = list, c.Session.Target
			if err := o.Append(ctx, session.PlanSet{Plan: plan, Usage: c.Session.Usage, Cost: c.Session.Cost}); err != nil {
				return broken(ctx, err)
			}
			return nil
		}
		if try == mostPlans {
			plan.Planning = "" // another try begins anew
			if err := o.Append(ctx, session.PlanSet{Plan: plan, Usage: c.Session.Usage, Cost: c.Session.Cost}); err != nil {
				return broken(ctx, err)
			}
			return failed(fmt.Sprintf("the model has proposed no plan in %d answers (%v): write one yourself, or ask again", mostPlans, err), nil)
		}
		words = fmt.Sprintf("That cannot be read (%v). Answer with the plan as JSON in a fence, as described, and nothing behind it.", err)
	}
}

// ended says how a turn in a step's session ends the plan's; nil: it is done.
func (o Options) ended(ctx context.Context, what string, c StepResult) *session.TurnEnded {
	if ctx.Err() != nil {
		end := stopped(ctx)
		return &end
	}
	if c.End.Outcome == session.OutcomeDone {
		return nil
	}
	end := c.End
	if end.Reason != "" {
		end.Reason = what + ": " + end.Reason
	}
	return &end
}

// step carries one step out. A nil end says that it is done.
func (o Options) step(ctx context.Context, n int, s session.Step) *session.TurnEnded {
	what := fmt.Sprintf("step %d, %s", n, s.Title)
	save := func(events ...session.Event) error {
		o.edited(n, &s)
		return o.Append(context.WithoutCancel(ctx), append(events, session.StepMoved{Number: n, Step: s})...)
	}
	if s.Session == "" {
		o.Checkpoint(ctx, n, s.Title)
		id, err := o.Begin(ctx, n, s)
		if err != nil {
			return broken(ctx, err)
		}
		s.Session, s.StartedAt = id, o.Now()
	}
	if s.State != session.StepRunning {
		s.State, s.Reason, s.Fault, s.RetryAt = session.StepRunning, keepOutput(s), nil, time.Time{}
		if err := save(); err != nil {
			return broken(ctx, err)
		}
	}
	for {
		c, err := o.RunStep(ctx, s.Session, fmt.Sprintf("step-%d-%d", n, s.FailedChecks), o.words(n, s))
		if err != nil {
			return broken(ctx, err)
		}
		s.ToolCalls, s.Usage, s.Cost = c.Calls, s.EarlierUsage.Add(c.Session.Usage), s.EarlierCost+c.Session.Cost
		if end := o.ended(ctx, what, c); end != nil {
			switch end.Outcome {
			case session.OutcomeParked:
				s.State, s.Fault, s.RetryAt = session.StepParked, end.Fault, end.RetryAt
			case session.OutcomeNeedsPerson:
				s.State, s.Reason = session.StepPerson, c.End.Reason
			case session.OutcomeFailed:
				s.State, s.Fault, s.Reason = session.StepFailed, end.Fault, c.End.Reason
				if s.Reason == "" && s.Fault != nil {
					s.Reason = s.Fault.Error()
				}
			default:
				return end // stopped: it goes on where it is
			}
			if err := save(); err != nil {
				return broken(ctx, err)
			}
			return end
		}
		s.Note = note(c.Answer)
		o.edited(n, &s)
		if s.Check == "" {
			break
		}
		checked, end := o.check(ctx, n, &s, save)
		if end != nil {
			return end
		}
		if checked {
			break
		}
	}
	s.State, s.Reason, s.EndedAt = session.StepDone, "", o.Now()
	if err := save(); err != nil {
		return broken(ctx, err)
	}
	return nil
}

// edited takes over what a person has changed of a running step.
func (o Options) edited(n int, s *session.Step) {
	if plan := o.State().Plan; plan != nil && n <= len(plan.Steps) {
		s.Check, s.Pause = plan.Steps[n-1].Check, plan.Steps[n-1].Pause
	}
}

// keepOutput keeps what a failed check said for the model.
func keepOutput(s session.Step) string {
	if s.FailedChecks > 0 {
		return s.Reason
	}
	return ""
}

// check lets a command decide whether a step is done. Its output goes back to
// the model twice at most; then the step has failed.
func (o Options) check(ctx context.Context, n int, s *session.Step, save func(...session.Event) error) (ok bool, end *session.TurnEnded) {
	state := o.State()
	began := o.Now()
	c, err := o.Check(ctx, s.Check, state.Plan != nil && state.Plan.Reviewed)
	switch {
	case ctx.Err() != nil:
		end := stopped(ctx)
		return false, &end
	case errors.Is(err, ErrNotReviewed):
		s.State, s.Reason = session.StepPerson, "its check has to be approved: "+s.Check
		if err := save(); err != nil {
			return false, broken(ctx, err)
		}
		end := person(fmt.Sprintf("step %d is done as far as the model can say; %s", n, s.Reason))
		return false, &end
	case err != nil:
		c = CheckResult{Summary: err.Error(), Output: err.Error()}
	}
	event := session.StepChecked{Number: n, Command: s.Check, OK: c.OK, Summary: c.Summary, Output: ends(c.Output, mostOutput), Duration: o.Now().Sub(began)}
	if c.OK {
		if err := o.Append(context.WithoutCancel(ctx), event); err != nil {
			return false, broken(ctx, err)
		}
		return true, nil
	}
	s.FailedChecks++
	s.Reason = fmt.Sprintf("%s: %s\n%s", s.Check, c.Summary, event.Output)
	if s.FailedChecks <= mostChecks {
		if err := save(event); err != nil {
			return false, broken(ctx, err)
		}
		return false, nil
	}
	s.State, s.Reason = session.StepFailed, fmt.Sprintf("its check failed %d times: %s: %s", s.FailedChecks, s.Check, c.Summary)
	if err := save(event); err != nil {
		return false, broken(ctx, err)
	}
	return false, failed(fmt.Sprintf("step %d, %s, failed: %s", n, s.Title, s.Reason), nil)
}
