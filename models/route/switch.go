package route

import (
	"context"
	"time"

	"belay/models"
)

// move makes a candidate the target, and announces it if the session was
// served by another one, or would rather be.
func (op *operation) move(ctx context.Context, c candidate) error {
	preferred := op.preferred()
	from, known := op.need.Control.servedBy()
	if !known {
		from = preferred
	}
	op.target, op.tier, op.admitted = c.Target, c.tier, true
	if from.Target == c.Target {
		return nil
	}
	chunk := models.Switched{From: from.Target, To: c.Target, FromTier: from.tier, ToTier: c.tier, Failback: c.Target == preferred.Target}
	if chunk.Failback {
		op.need.Control.home()
	} else {
		cond := op.r.o.RateLimiter.Condition(from.Target)
		if cond.Fault == nil {
			cond = op.r.o.RateLimiter.Condition(preferred.Target)
		}
		chunk.Fault = cond.Fault
		if from == preferred && cond.State != models.Disabled {
			chunk.FailbackDelay = op.r.o.RateLimiter.StartFailback(ctx, from.Target).Sub(op.r.o.Now())
		}
		op.need.Control.lend(away{target: c.Target, tier: c.tier, from: preferred.Target})
	}
	return op.announce(chunk)
}

// announce tells of a switch. The lease of a caller that leaves is given back
// at the end of run.
func (op *operation) announce(s models.Switched) error {
	if !op.yield(s, nil) {
		return errLeft
	}
	return nil
}

// switchTo moves the request to another target by itself, and says so.
func (op *operation) switchTo(ctx context.Context, c candidate, f *models.Fault) error {
	from, fromTier := op.target, op.tier
	hold := op.lendTo(ctx, c)
	op.target, op.tier, op.admitted = c.Target, c.tier, true
	return op.announce(models.Switched{From: from, To: c.Target, FromTier: fromTier, ToTier: c.tier, Fault: f, FailbackDelay: hold})
}

// lendTo records that the session is moved to another target, and for how long
// the old one is left alone.
func (op *operation) lendTo(ctx context.Context, c candidate) time.Duration {
	op.record(ctx, c.String())
	op.need.Control.lend(away{target: c.Target, tier: c.tier, from: op.preferred().Target})
	return op.r.o.RateLimiter.StartFailback(ctx, op.target).Sub(op.r.o.Now())
}

// follow goes where the lever points. The attempts begin anew: it is a
// person's decision, so resting targets are asked as well.
func (op *operation) follow(ctx context.Context) error {
	op.giveBack(ctx)
	from, fromTier := op.target, op.tier
	op.attempts, op.waited, op.shrunk, op.size, op.first = 0, 0, false, 0, nil
	clear(op.failed)
	clear(op.skip)
	list, err := op.gate()
	if err != nil {
		return err
	}
	c, cond, ok := op.pick(ctx, list, true)
	if !ok {
		return op.none(ctx, c, models.Condition{State: models.Disabled, Fault: cond.Fault})
	}
	op.record(ctx, c.String())
	op.target, op.tier, op.admitted = c.Target, c.tier, true
	if c.Target == from && c.tier == fromTier {
		return nil // the lever was moved away and back
	}
	return op.announce(models.Switched{From: from, To: c.Target, FromTier: fromTier, ToTier: c.tier})
}

// giveBack returns what the board has let through and nobody used.
func (op *operation) giveBack(ctx context.Context) {
	if op.admitted {
		op.admitted = false
		op.r.o.Breakers.Release(context.WithoutCancel(ctx), op.target)
	}
}
