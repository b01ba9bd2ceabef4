package route

import (
	"context"
	"time"

	"belay/models"
)

// park gives the request up until there may be room again.
func (op *operation) park(f *models.Fault) *Parked {
	return &Parked{Fault: op.cause(f), Until: op.until(f)}
}

// until is when the first of the candidates may be asked again; zero if one may
// be asked at any time, or if nobody knows.
func (op *operation) until(f *models.Fault) time.Time {
	clear(op.skip)
	var soonest time.Time
	for _, c := range op.candidates() {
		cond := op.r.o.RateLimiter.Condition(c.Target)
		switch {
		case cond.State == models.Disabled, refused(cond):
		case cond.State == models.Unusable || cond.State == models.Resting:
			if soonest.IsZero() || cond.Until.Before(soonest) {
				soonest = cond.Until
			}
		case c.Target == f.Target && f.Delayed:
			soonest = op.r.o.Now().Add(f.RetryAfter)
		default:
			return time.Time{}
		}
	}
	return soonest
}

// wait announces a wait and sits it out, or until the lever moves. What counts
// is taken from the time that the request has.
func (op *operation) wait(ctx context.Context, f *models.Fault, delay time.Duration, counts bool) error {
	op.record(ctx, "")
	if delay <= 0 {
		return nil
	}
	began := op.r.o.Now()
	until := began.Add(delay)
	op.r.wait(op.target, models.Condition{State: models.Trying, Until: until, Fault: f})
	defer op.r.waited(op.target)
	if !op.yield(models.Waiting{Number: op.attempts + 1, Of: op.of(), Until: until, Target: op.target, Fault: f}, nil) {
		return errLeft
	}
	early, err := op.need.Control.wait(ctx, op.r.o.Now, until)
	took := min(op.r.o.Now().Sub(began), delay)
	op.delay += took
	if counts {
		op.waited += took
	}
	if err != nil {
		return op.cancelled(ctx)
	}
	op.insist = early // somebody ended the wait: they want it now
	if op.need.Control.parking() {
		return &Parked{Fault: op.cause(f), UserInitiated: true}
	}
	return nil
}
