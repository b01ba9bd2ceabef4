package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"belay/session"
	"belay/session/permit"
	"belay/session/tools"
)

// checkTimeout is how long a check may take, in seconds.
const checkTimeout = 900

// errNotReviewed says that a check may not run, because nobody has seen the plan.
var errNotReviewed = errors.New("nobody has looked at the plan, and its checks are commands")

// stepRun is one step while it is carried out.
type stepRun struct {
	Options
	number int
	step   session.Step
}

// runStep carries one step out. A nil end says that it is done.
func (o Options) runStep(ctx context.Context, n int, s session.Step) *session.TurnEnded {
	run := &stepRun{Options: o, number: n, step: s}
	if end := run.begin(ctx); end != nil {
		return end
	}
	for {
		key := fmt.Sprintf("step-%d-%d", n, run.step.FailedChecks)
		result, err := o.runTurn(ctx, run.step.Session, key, run.instructions())
		if err != nil {
			return unstorable(ctx, err)
		}
		run.step.ToolCalls = result.calls
		run.step.Usage = run.step.EarlierUsage.Add(result.state.Usage)
		run.step.Cost = run.step.EarlierCost + result.state.Cost
		if end := turnEnd(ctx, run.name(), result); end != nil {
			return run.giveUp(ctx, *end, result.end.Reason)
		}
		run.step.Note = note(result.answer)
		run.takeEdits()
		passed := true
		if run.step.Check != "" {
			var end *session.TurnEnded
			if passed, end = run.check(ctx); end != nil {
				return end
			}
		}
		if !passed {
			continue
		}
		run.step.State = session.StepDone
		run.step.Reason = ""
		run.step.EndedAt = o.Now()
		if err := run.save(ctx); err != nil {
			return unstorable(ctx, err)
		}
		return nil
	}
}

func (r *stepRun) name() string { return fmt.Sprintf("step %d, %s", r.number, r.step.Title) }

// begin makes the session of a step, if it has none, and lets it run.
func (r *stepRun) begin(ctx context.Context) *session.TurnEnded {
	if r.step.Session == "" {
		r.Checkpoint(ctx, r.number, r.step.Title)
		id, err := r.createSession(ctx, r.number, r.step)
		if err != nil {
			return unstorable(ctx, err)
		}
		r.step.Session = id
		r.step.StartedAt = r.Now()
	}
	if r.step.State == session.StepRunning {
		return nil
	}
	r.step.State = session.StepRunning
	r.step.Fault = nil
	r.step.RetryAt = time.Time{}
	if r.step.FailedChecks == 0 { // what a failed check said is kept for the model
		r.step.Reason = ""
	}
	if err := r.save(ctx); err != nil {
		return unstorable(ctx, err)
	}
	return nil
}

// save stores the state of the step behind other events.
func (r *stepRun) save(ctx context.Context, events ...session.Event) error {
	r.takeEdits()
	events = append(events, session.StepMoved{Number: r.number, Step: r.step})
	return r.Log.Append(context.WithoutCancel(ctx), events...)
}

// takeEdits takes over what a person has changed of a running step.
func (r *stepRun) takeEdits() {
	if plan := r.Log.State().Plan; plan != nil && r.number <= len(plan.Steps) {
		r.step.Check = plan.Steps[r.number-1].Check
		r.step.Pause = plan.Steps[r.number-1].Pause
	}
}

// giveUp records a turn in the step's session that did not end well. A stopped
// one goes on where it is. Reason is the turn's own.
func (r *stepRun) giveUp(ctx context.Context, end session.TurnEnded, reason string) *session.TurnEnded {
	switch end.Outcome {
	case session.OutcomeParked:
		r.step.State = session.StepParked
		r.step.Fault = end.Fault
		r.step.RetryAt = end.RetryAt
	case session.OutcomeNeedsPerson:
		r.step.State = session.StepPerson
		r.step.Reason = reason
	case session.OutcomeFailed:
		r.step.State = session.StepFailed
		r.step.Fault = end.Fault
		r.step.Reason = reason
		if reason == "" && end.Fault != nil {
			r.step.Reason = end.Fault.Error()
		}
	default:
		return &end
	}
	if err := r.save(ctx); err != nil {
		return unstorable(ctx, err)
	}
	return &end
}

// check lets a command decide whether the step is done. Its output goes back to
// the model a few times; then the step has failed.
func (r *stepRun) check(ctx context.Context) (passed bool, end *session.TurnEnded) {
	began := r.Now()
	result, err := r.runCheck(ctx, r.step.Check)
	switch {
	case ctx.Err() != nil:
		end := stopped(ctx)
		return false, &end
	case errors.Is(err, errNotReviewed):
		r.step.State = session.StepPerson
		r.step.Reason = "its check has to be approved: " + r.step.Check
		if err := r.save(ctx); err != nil {
			return false, unstorable(ctx, err)
		}
		return false, needsPerson(fmt.Sprintf("step %d is done as far as the model can say; %s", r.number, r.step.Reason))
	case err != nil:
		result = tools.Result{Error: true, Summary: err.Error(), Output: err.Error()}
	}
	event := session.StepChecked{
		Number: r.number, Command: r.step.Check, OK: !result.Error, Summary: result.Summary,
		Output: truncate(result.Output, maxCheckOutput), Duration: r.Now().Sub(began),
	}
	if event.OK {
		if err := r.Log.Append(context.WithoutCancel(ctx), event); err != nil {
			return false, unstorable(ctx, err)
		}
		return true, nil
	}
	r.step.FailedChecks++
	r.step.Reason = fmt.Sprintf("%s: %s\n%s", r.step.Check, event.Summary, event.Output)
	exhausted := r.step.FailedChecks > maxFailedChecks
	if exhausted {
		r.step.State = session.StepFailed
		r.step.Reason = fmt.Sprintf("its check failed %d times: %s: %s",
			r.step.FailedChecks, r.step.Check, event.Summary)
	}
	if err := r.save(ctx, event); err != nil {
		return false, unstorable(ctx, err)
	}
	if exhausted {
		return false, failed(r.name()+", failed: "+r.step.Reason, nil)
	}
	return false, nil
}

// runCheck runs a command by the rules for any command: a plan that a person has
// looked at allows those in it.
func (o Options) runCheck(ctx context.Context, command string) (tools.Result, error) {
	args, err := json.Marshal(map[string]any{"command": command, "timeout": checkTimeout})
	if err != nil {
		return tools.Result{}, err
	}
	call, err := o.Tools.Prepare(tools.RunCommand, string(args))
	if err != nil {
		return tools.Result{}, err
	}
	plan := o.Log.State().Plan
	reviewed := plan != nil && plan.Reviewed
	decision := o.Judge(call.Describe(tools.RunCommand, o.Root))
	switch {
	case decision.Verdict == permit.Deny:
		return tools.Result{}, errors.New("it is not allowed: " + decision.Reason)
	case decision.Verdict == permit.Ask && !reviewed:
		return tools.Result{}, errNotReviewed
	}
	return call.Runner(decision)(ctx, func(string) {}), nil
}
