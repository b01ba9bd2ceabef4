package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"belay/models"
)

// The fixed numbers of the loop.
const (
	longestStep   = 8 * time.Second  // growing delays stop growing here
	fixedDelay    = time.Second      // network and gateway: it is not the model's fault
	offlineDelay  = 10 * time.Second // the same once a connection has been gone for longer than offlineAfter
	offlineAfter  = 30 * time.Second
	leaveAfterBad = 2 // failures of a server or stream before another target is tried
	localAfter    = 3 // failures in a row before a local target takes over
)

// move is what a kind of failure allows.
type move struct {
	again    bool // the same target may be asked again
	fixed    bool // after a short fixed delay instead of a growing one
	free     bool // without using up the attempts and the waiting time
	other    bool // another target may be asked
	provider bool // only one of another provider
	passes   bool // it will pass by itself: park when the attempts are used up
	shorter  bool // what is sent again is not the same
}

// moveFor is what the kind of a failure allows by itself.
func moveFor(k models.Kind) move {
	p := k.Policy()
	return move{
		again:    p.Retry == models.RetryBackoff || p.Retry == models.RetryFixed,
		fixed:    p.Retry == models.RetryFixed,
		free:     p.Uncounted,
		other:    p.Switch != models.SwitchNever,
		provider: p.Other == models.OtherProvider,
		passes:   p.Park != models.ParkNever,
	}
}

// after decides what follows a failed attempt, tells the caller and waits.
// A nil error means that the next attempt may start.
func (op *operation) after(ctx context.Context, f *models.Fault) error {
	op.kept = op.need.Committed != nil && op.need.Committed()
	if moved, err := op.moved(ctx, f); moved {
		return err
	}
	if op.first == nil {
		op.first = f
	}
	op.tried[op.target] = f.Kind
	op.name(ctx, f)
	m := moveFor(f.Kind)
	if f.Retry != nil {
		m.again, m.other = *f.Retry, m.other && *f.Retry
	}
	if op.slept {
		m = move{again: true, fixed: true, free: true, passes: true} // nobody could have answered
	}
	if m.free {
		op.attempts--
	} else {
		op.failed[op.target]++
	}
	delay := op.wish(f, m)
	if cond := op.r.o.RateLimiter.Condition(op.target); cond.State == models.Resting {
		delay = max(delay, cond.Until.Sub(op.r.o.Now()))
	}
	if shorter := f.Kind == models.KindSize && !op.shrunk && op.attempts > 0; shorter {
		op.shrunk, op.tooLong, m.again, m.shorter, delay = true, op.sent, true, true, 0 // what goes out next is shorter
	} else if c, ok := op.elsewhere(ctx, f, m, delay); ok {
		if !op.again(m) {
			op.r.o.Breakers.Release(ctx, c.Target)
			return op.enough(f)
		}
		return op.tell(ctx, f, m, models.NextSwitch, c, 0)
	}
	switch {
	case !m.again, op.used(m, delay):
	case !op.again(m):
		return op.enough(f)
	case op.affordable(ctx, f, m):
		return op.tell(ctx, f, m, models.NextRetry, candidate{op.target, op.tier}, delay)
	}
	next := models.NextStop
	if (m.passes || op.lastResort(f)) && (f.Retry == nil || *f.Retry) {
		next = models.NextPark
	}
	return op.tell(ctx, f, m, next, candidate{op.target, op.tier}, delay)
}

// lastResort reports whether the failure is only about a target that stood in
// for one which will have room again.
func (op *operation) lastResort(f *models.Fault) bool {
	return f.Kind.Policy().Breaker == models.BreakerRefused && op.first.Target != f.Target && moveFor(op.first.Kind).passes
}

// again takes an automatic retry out of the task's own limit.
func (op *operation) again(m move) bool {
	return m.free || op.need.TakeRetry == nil || op.need.TakeRetry()
}

// enough ends a request because the task's own limit of retries is reached.
func (op *operation) enough(f *models.Fault) error {
	failed := models.AttemptFailed{Number: max(op.attempts, 1), Of: op.of(), Tier: op.tier, Target: op.target, Fault: f, Next: models.NextStop}
	if !op.yield(failed, nil) {
		return errLeft
	}
	return fmt.Errorf("%w: %w", ErrRetries, op.final(f))
}

// left are the attempts and the waiting that the request still has. What was
// kept of a failed attempt makes the next one a new request.
func (op *operation) left() (attempts int, wait time.Duration) {
	if op.kept {
		return op.r.o.Attempts, op.r.o.MaxWait
	}
	return op.r.o.Attempts - op.attempts, op.r.o.MaxWait - op.waited
}

// elsewhere finds who takes over, if it is time for that.
func (op *operation) elsewhere(ctx context.Context, f *models.Fault, m move, delay time.Duration) (candidate, bool) {
	attempts, _ := op.left()
	if !m.other || !op.leave(f, delay) || !op.need.ParkRetry && attempts <= 0 {
		return candidate{}, false
	}
	op.skip[op.target] = true
	list := op.below(f.Kind)
	if f.Kind == models.KindSize {
		window := op.r.o.Model(op.target).Window
		list = slices.DeleteFunc(list, func(c candidate) bool { return op.r.o.Model(c.Target).Window <= window })
	}
	if !op.desperate(f, delay) {
		list = slices.DeleteFunc(list, func(c candidate) bool { return op.r.o.Local(c.Target) })
	}
	c, _, ok := op.pick(ctx, list, false)
	if !ok {
		delete(op.skip, op.target)
	}
	return c, ok
}

// desperate reports whether a local target may take over: after several
// failures in a row, or when waiting for the others would take too long.
func (op *operation) desperate(f *models.Fault, delay time.Duration) bool {
	row := 0
	for _, n := range op.failed {
		row += n
	}
	_, wait := op.left()
	return op.r.o.Local(op.target) || op.need.ParkRetry || op.opened() || row >= localAfter || delay > wait || !moveFor(f.Kind).again
}

// opened reports whether the target's circuit is open.
func (op *operation) opened() bool {
	cond := op.r.o.RateLimiter.Condition(op.target)
	return cond.State == models.Resting && !stated(cond)
}

// leave reports whether it is time to try another target.
func (op *operation) leave(f *models.Fault, delay time.Duration) bool {
	_, wait := op.left()
	rule := f.Kind.Policy().Switch
	switch {
	case rule == models.SwitchAlways:
		return true
	case !op.free():
		return false
	case op.need.ParkRetry, rule == models.SwitchAtOnce:
		return true
	case op.opened():
		return true // by the failures of others: nobody waits for a circuit where another target has room
	case rule == models.SwitchSoon:
		return op.failed[op.target] >= min(leaveAfterBad, op.r.o.SwitchAfter)
	}
	return op.failed[op.target] >= op.r.o.SwitchAfter || delay > wait
}

// used reports whether the request's attempts or its time are over.
func (op *operation) used(m move, delay time.Duration) bool {
	if m.free {
		return op.need.NetworkWait > 0 && op.r.o.Now().Add(delay).Sub(op.began) > op.need.NetworkWait
	}
	attempts, wait := op.left()
	if op.need.ParkRetry && !op.kept {
		return !m.shorter
	}
	return attempts <= 0 || delay > wait
}

// affordable takes a retry out of the budget that all of a user's sessions
// share. What the server itself asked for, and what no server hears of, is free.
func (op *operation) affordable(ctx context.Context, f *models.Fault, m move) bool {
	return m.free || m.shorter || f.Delayed || op.r.o.RateLimiter.Retry(ctx, op.target.Provider)
}

// name adds to a fault about an unknown model the names that were meant. The
// endpoint is asked for its list only then, and may refuse it.
func (op *operation) name(ctx context.Context, f *models.Fault) {
	if f.Kind != models.KindModel || len(f.Nearest) > 0 || op.r.o.Names == nil {
		return
	}
	names, err := op.r.o.Names(ctx, f.Target.Provider)
	if err != nil {
		return
	}
	if f.Nearest = models.Nearest(f.Target.Model, names); len(f.Nearest) > 0 {
		f.Hint = fmt.Sprintf("the endpoint has %s; names are compared letter by letter", strings.Join(f.Nearest, ", "))
	}
}

// moved handles the lever: the user's stop, park or choice of a tier. The
// attempt may have failed by itself in the same moment.
func (op *operation) moved(ctx context.Context, f *models.Fault) (bool, error) {
	failed := models.AttemptFailed{Number: op.attempts, Of: op.of(), Tier: op.tier, Target: op.target, Fault: f, Next: models.NextSwitch}
	switch {
	case ctx.Err() != nil:
		return true, &models.Fault{Kind: models.KindCancelled, Scope: models.ScopeRequest, Target: op.target, Phase: f.Phase, Err: context.Cause(ctx)}
	case op.need.Control.parking():
		failed.Next = models.NextPark
		if !op.yield(failed, nil) {
			return true, errLeft
		}
		return true, &Parked{Fault: op.cause(f), UserInitiated: true}
	case errors.Is(f.Err, errTier), op.need.Control.elsewhere(op.target, op.tier):
		if !op.yield(failed, nil) {
			return true, errLeft
		}
		return true, op.follow(ctx)
	}
	return false, nil
}

// cause is the fault to report: the preferred target's, if there is one that
// is not the user's own doing.
func (op *operation) cause(f *models.Fault) *models.Fault {
	if op.first != nil {
		f = op.first
	}
	if f == nil || f.Kind == models.KindCancelled {
		return nil
	}
	return op.alike(f)
}

// alike lists the others that were asked as well. When every target of every
// tier failed the same way it points to the doctor: then the cause is likely
// nearer than all of them.
func (op *operation) alike(f *models.Fault) *models.Fault {
	var others []string
	seen := map[models.Target]bool{f.Target: true}
	same, all := true, 0
	for _, tier := range models.Tiers() {
		for _, t := range op.r.o.Tiers[tier] {
			kind, tried := op.tried[t]
			if same = same && kind == f.Kind; !seen[t] && tried {
				others = append(others, fmt.Sprintf("%s (%s)", t, kind))
			}
			if !seen[t] {
				all++
			}
			seen[t] = true
		}
	}
	told := *f
	switch {
	case same && all > 0:
		told.Hint = "Every model failed in the same way. `belay doctor` tells whether a name, the key or a proxy is the cause."
	case len(others) > 0:
		told.Hint = strings.TrimSpace(f.Hint + " Also asked: " + strings.Join(others, ", ") + ".")
	default:
		return f
	}
	return &told
}

// wish is how long to wait before the same target is asked again.
func (op *operation) wish(f *models.Fault, m move) time.Duration {
	jitter := time.Duration(op.r.o.Random() * float64(time.Second))
	switch {
	case op.slept:
		return fixedDelay + jitter
	case f.Delayed && f.RetryAfter > 0:
		return f.RetryAfter
	case f.Delayed:
		return jitter
	case m.fixed && m.free && op.r.o.Now().Sub(op.began) > offlineAfter:
		return offlineDelay + jitter
	case m.fixed:
		return fixedDelay + jitter
	}
	step := longestStep
	if n := op.failed[op.target] - 1; n >= 0 && n < 3 {
		step = time.Second << n
	}
	return step + jitter
}

// tell announces the next move, then makes it.
func (op *operation) tell(ctx context.Context, f *models.Fault, m move, next models.Next, to candidate, delay time.Duration) error {
	failed := models.AttemptFailed{Number: max(op.attempts, 1), Of: op.of(), Tier: op.tier, Target: op.target, Fault: f, Next: next}
	if m.free {
		failed.Number = op.attempts + 1 // it was made, though it does not count
	}
	if next == models.NextRetry {
		failed.Delay = delay
	}
	if !op.yield(failed, nil) {
		switch next {
		case models.NextRetry:
			op.need.Control.owe(rest{candidate{op.target, op.tier}, op.r.o.Now().Add(delay), f})
		case models.NextSwitch:
			op.lendTo(ctx, to) // the next request begins there
			op.r.o.Breakers.Release(ctx, to.Target)
		}
		return errLeft
	}
	if op.kept { // a new request, though the caller stayed
		op.attempts, op.waited = 0, 0
	}
	switch next {
	case models.NextStop:
		return op.final(f)
	case models.NextPark:
		return op.park(f)
	case models.NextSwitch:
		return op.switchTo(ctx, to, f)
	}
	return op.wait(ctx, f, delay, !m.free)
}

// final is the fault that ends the request: the preferred target's, so that a
// person sees why the first choice failed and not the last resort.
func (op *operation) final(f *models.Fault) *models.Fault {
	if op.first != nil && op.first.Target != f.Target && moveFor(f.Kind).again {
		return op.alike(op.first)
	}
	return op.alike(f)
}
