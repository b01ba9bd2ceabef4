package route

import (
	"cmp"
	"context"
	"time"

	"belay/models"
)

// enter makes a candidate the target at the beginning of a request, and
// announces it if the session was served by another one, or would rather be.
func (op *operation) enter(ctx context.Context, c candidate) error {
	router := op.r
	at := op.need.Control.state()
	preferred := op.rules.preferred(at)
	from := at.lastTarget
	if from == (candidate{}) {
		from = preferred
	}
	op.target = c
	op.admitted = true
	if from.Target == c.Target {
		return nil
	}
	chunk := models.Switched{
		From:     from.Target,
		To:       c.Target,
		FromTier: from.tier,
		ToTier:   c.tier,
		Failback: c.Target == preferred.Target,
	}
	if chunk.Failback {
		op.need.Control.setFailover(failover{})
		return op.announce(chunk)
	}
	if op.need.Images && router.Model(from.Target).Blind() && router.Model(c.Target).Images {
		chunk.Pictures = true
		return op.announce(chunk)
	}
	condition := router.o.RateLimiter.Condition(from.Target)
	if condition.Fault == nil {
		condition = router.o.RateLimiter.Condition(preferred.Target)
	}
	chunk.Fault = condition.Fault
	if from == preferred && condition.State != models.Disabled {
		chunk.FailbackDelay = router.o.RateLimiter.StartFailback(ctx, from.Target).Sub(router.o.Now())
	}
	op.need.Control.setFailover(failover{to: c, from: preferred.Target})
	return op.announce(chunk)
}

// switchTo moves the request to another target by itself, and says so.
func (op *operation) switchTo(ctx context.Context, chosen decision) error {
	from := op.target
	failbackDelay := op.failOver(ctx, chosen.to)
	op.history.left[from.Target] = true
	op.target = chosen.to
	op.admitted = true
	return op.announce(
		models.Switched{From: from.Target, To: chosen.to.Target, FromTier: from.tier, ToTier: chosen.to.tier,
			Fault: chosen.fault, FailbackDelay: failbackDelay},
	)
}

// failOver records that the session is moved to another target, and gives how
// long the old one is left alone.
func (op *operation) failOver(ctx context.Context, to candidate) time.Duration {
	op.record(ctx, to.String())
	preferred := op.rules.preferred(op.need.Control.state())
	op.need.Control.setFailover(failover{to: to, from: preferred.Target})
	return op.r.o.RateLimiter.StartFailback(ctx, op.target.Target).Sub(op.r.o.Now())
}

// announce tells of a switch. The lease of a caller that leaves is given back
// at the end of run.
func (op *operation) announce(s models.Switched) error {
	if !op.yield(s, nil) {
		return errLeft
	}
	return nil
}

// giveBack returns what the breakers have let through and nobody used.
func (op *operation) giveBack(ctx context.Context) {
	if op.admitted {
		op.admitted = false
		op.r.o.Breakers.Release(context.WithoutCancel(ctx), op.target.Target)
	}
}

// wait announces a wait and sits it out, or until the user does something. What
// counts is taken from the time that the request has.
func (op *operation) wait(ctx context.Context, chosen decision) error {
	op.record(ctx, "")
	if chosen.delay <= 0 {
		return nil
	}
	router, t := op.r, op.target.Target
	began := router.o.Now()
	until := began.Add(chosen.delay)
	router.wait(t, models.Condition{State: models.Trying, Until: until, Fault: chosen.fault})
	defer router.waited(t)
	if !op.yield(models.Waiting{
		Number: op.history.attempts + 1, Of: op.of(), Until: until, Target: t, Fault: chosen.fault,
		Then:     op.gather(ctx, &answers{random: 0.5}).successor(chosen.fault),
		GiveUpAt: chosen.giveUpAt,
	}, nil) {
		return errLeft
	}
	early, err := op.need.Control.wait(ctx, router.o.Now, until)
	took := min(router.o.Now().Sub(began), chosen.delay)
	op.delay += took
	if !chosen.uncounted {
		op.history.waited += took
	}
	if err != nil {
		return op.cancelled(ctx)
	}
	op.force = early // somebody ended the wait: they want it now
	if op.need.Control.state().parking {
		s := situation{rules: &op.rules, history: &op.history}
		return &Parked{Fault: s.report(cmp.Or(op.history.first, chosen.fault)), UserInitiated: true}
	}
	return nil
}
