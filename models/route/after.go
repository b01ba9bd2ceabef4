package route

import (
	"context"
	"errors"
	"fmt"
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
	absentDelay   = 60 * time.Second // a local endpoint where nothing runs
	leaveAfterBad = 2                // failures of a server or stream before another target is tried
)

// move is what a kind of failure allows.
type move struct {
	again    bool // the same target may be asked again
	fixed    bool // after a short fixed delay instead of a growing one
	free     bool // without using up the attempts and the waiting time
	other    bool // another target may be asked
	provider bool // only one of another provider
	passes   bool // it will pass by itself: park when the attempts are used up
}

var moves = map[models.Kind]move{
	models.KindCapacity: {again: true, other: true, passes: true},
	models.KindRate:     {again: true, other: true, provider: true, passes: true},
	models.KindUsage:    {other: true, provider: true, passes: true},
	models.KindServer:   {again: true, other: true, passes: true},
	models.KindGateway:  {again: true, fixed: true, passes: true},
	models.KindNetwork:  {again: true, fixed: true, free: true, passes: true},
	models.KindAbsent:   {other: true, passes: true},
	models.KindStream:   {again: true, other: true, passes: true},
}

// after decides what follows a failed attempt, tells the caller and waits.
// A nil error means that the next attempt may start.
func (op *operation) after(ctx context.Context, f *models.Fault) error {
	if moved, err := op.moved(ctx, f); moved {
		return err
	}
	if op.first == nil {
		op.first = f
	}
	op.name(ctx, f)
	m := moves[f.Kind]
	if f.Retry != nil {
		m.again, m.other = *f.Retry, m.other && *f.Retry
	}
	if m.free {
		op.attempts--
	} else {
		op.failed[op.target]++
	}
	delay := op.delay(f, m)
	next, to, tier := models.NextRetry, op.target, op.tier
	if m.other && op.leave(f, delay) {
		if t, tr, ok := op.another(m.provider); ok {
			next, to, tier = models.NextSwitch, t, tr
			delay = 0
		}
	}
	used := op.attempts >= op.r.o.Attempts || (op.waited+delay > op.r.o.MaxWait && !m.free)
	if m.free && op.need.Network > 0 && op.r.o.Now().Add(delay).Sub(op.began) > op.need.Network {
		used = true
	}
	if next == models.NextRetry && (!m.again || used) || next == models.NextSwitch && op.attempts >= op.r.o.Attempts {
		next = models.NextStop
		if m.passes && (f.Retry == nil || *f.Retry) {
			next = models.NextPark
		}
	}
	return op.tell(ctx, f, m, next, to, tier, delay)
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
	switch {
	case ctx.Err() != nil:
		return true, &models.Fault{Kind: models.KindCancelled, Scope: models.ScopeRequest, Target: op.target, Phase: f.Phase, Err: context.Cause(ctx)}
	case op.need.Lever.parking():
		op.yield(models.AttemptFailed{Number: op.attempts, Of: op.r.o.Attempts, Tier: op.tier, Target: op.target, Fault: f, Next: models.NextPark}, nil)
		return true, &Parked{Fault: op.cause(f), Asked: true}
	case errors.Is(f.Err, errTier), op.need.Lever.pin() && op.need.Lever.Tier() != op.tier:
		failed := models.AttemptFailed{Number: op.attempts, Of: op.r.o.Attempts, Tier: op.tier, Target: op.target, Fault: f, Next: models.NextSwitch}
		if !op.yield(failed, nil) {
			return true, errLeft
		}
		return true, op.follow()
	}
	return false, nil
}

// follow goes where the lever points. The attempts begin anew: it is a
// person's decision.
func (op *operation) follow() error {
	from, fromTier := op.target, op.tier
	op.attempts, op.waited = 0, 0
	clear(op.failed)
	clear(op.skip)
	if err := op.choose(op.need.Lever.Tier()); err != nil {
		return err
	}
	if !op.yield(models.Switched{From: from, To: op.target, FromTier: fromTier, ToTier: op.tier}, nil) {
		return errLeft
	}
	return nil
}

// cause is the fault to report: the preferred target's, if there is one that
// is not the user's own doing.
func (op *operation) cause(f *models.Fault) *models.Fault {
	if op.first != nil {
		return op.first
	}
	if f.Kind == models.KindCancelled {
		return nil
	}
	return f
}

// delay is how long to wait before the same target is asked again.
func (op *operation) delay(f *models.Fault, m move) time.Duration {
	jitter := time.Duration(op.r.o.Random() * float64(time.Second))
	switch {
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

// leave reports whether it is time to try another target.
func (op *operation) leave(f *models.Fault, delay time.Duration) bool {
	if op.r.o.Policy != Auto || op.need.Lever.pin() {
		return f.Kind == models.KindAbsent
	}
	switch f.Kind {
	case models.KindUsage, models.KindAbsent:
		return true
	case models.KindServer, models.KindStream:
		return op.failed[op.target] >= leaveAfterBad
	}
	return op.failed[op.target] >= op.r.o.After || op.waited+delay > op.r.o.MaxWait
}

// another finds the next admissible target: in the tier, then below it.
func (op *operation) another(otherProvider bool) (models.Target, models.Tier, bool) {
	op.skip[op.target] = true
	floor := op.r.o.Floor.Rank()
	if op.need.Lever.pin() || op.r.o.Policy != Auto {
		floor = op.tier.Rank()
	}
	if start := op.need.Lever.Tier().Rank(); op.need.Wrote && floor > start+1 {
		floor = start + 1
	}
	for _, tier := range models.Tiers() {
		if tier.Rank() < op.tier.Rank() || tier.Rank() > floor {
			continue
		}
		for _, t := range op.r.o.Tiers[tier] {
			local := op.r.o.Local(t) && !op.r.o.SwitchLocal && tier != op.tier
			if !op.skip[t] && op.able(t) && !local && (!otherProvider || t.Provider != op.target.Provider) {
				return t, tier, true
			}
		}
	}
	return models.Target{}, "", false
}

// tell announces the next move, then makes it.
func (op *operation) tell(ctx context.Context, f *models.Fault, m move, next models.Next, to models.Target, tier models.Tier, delay time.Duration) error {
	failed := models.AttemptFailed{Number: op.attempts, Of: op.r.o.Attempts, Tier: op.tier, Target: op.target, Fault: f, Next: next}
	if m.free {
		failed.Number++ // it was made, though it does not count
	}
	if next == models.NextRetry {
		failed.Delay = delay
	}
	op.r.board.failed(op.target, f, next)
	if !op.yield(failed, nil) {
		if next == models.NextRetry {
			op.need.Lever.owe(rest{op.target, op.r.o.Now().Add(delay), f})
		}
		return errLeft
	}
	switch next {
	case models.NextStop:
		return op.final(f)
	case models.NextPark:
		p := &Parked{Fault: op.cause(f)}
		if f.Delayed {
			p.Until = op.r.o.Now().Add(f.RetryAfter)
		}
		if !f.ResetAt.IsZero() {
			p.Until = f.ResetAt
		}
		return p
	case models.NextSwitch:
		from, fromTier := op.target, op.tier
		op.target, op.tier = to, tier
		op.need.Lever.lend(to, tier, op.r.o.Now())
		if !op.yield(models.Switched{From: from, To: to, FromTier: fromTier, ToTier: tier, Fault: f}, nil) {
			return errLeft
		}
		return nil
	}
	if !m.free {
		op.waited += delay
	}
	return op.wait(ctx, f, delay)
}

// wait announces a wait and sits it out.
func (op *operation) wait(ctx context.Context, f *models.Fault, delay time.Duration) error {
	until := op.r.o.Now().Add(delay)
	op.r.board.set(op.target, models.Condition{State: models.Trying, Until: until, Fault: f})
	wait := models.Waiting{Number: op.attempts + 1, Of: op.r.o.Attempts, Until: until, Target: op.target, Fault: f}
	if !op.yield(wait, nil) {
		return errLeft
	}
	if err := op.need.Lever.wait(ctx, delay); err != nil {
		op.r.board.set(op.target, models.Condition{State: models.Ready})
		return &models.Fault{Kind: models.KindCancelled, Scope: models.ScopeRequest, Target: op.target, Err: err}
	}
	if op.need.Lever.parking() {
		return &Parked{Fault: op.cause(f), Asked: true}
	}
	if tier := op.need.Lever.Tier(); tier != op.tier && op.need.Lever.pin() {
		return op.follow()
	}
	return nil
}

// final is the fault that ends the request: the preferred target's, so that a
// person sees why the first choice failed and not the last resort.
func (op *operation) final(f *models.Fault) *models.Fault {
	if op.first != nil && op.first.Target != f.Target && moves[f.Kind].again {
		return op.first
	}
	return f
}
