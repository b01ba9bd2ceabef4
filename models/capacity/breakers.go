package capacity

import (
	"context"
	"maps"
	"time"

	"belay/models"
)

// Condition gives the state of a target, without tier and short name: what
// requests are routed by, and what every screen shows. It knows what other belays
// have written once Refresh has been called.
func (b *Breakers) Condition(t models.Target) models.Condition {
	return b.condition(t, b.entry(id{t}), b.clock.read())
}

func (b *Breakers) condition(t models.Target, known *entry, now instant) models.Condition {
	condition := models.Condition{
		Target: t, State: known.Target.observedState(now.wall), Fault: known.Target.Fault,
		Answered: known.Target.Successes > 0 || b.entry(providerID(t.Provider)).Provider.Answered,
		Window:   known.Target.statedWindow(now.wall),
	}
	if known.Target.Disabled {
		condition.State = models.Disabled
		return condition
	}
	if o, until := b.outOfUse(t, known, now); o != nil {
		condition.State, condition.Until, condition.Fault = models.Unusable, until, o
		return condition
	}
	switch {
	case known.cooldown.remaining(now) > 0:
		condition.State, condition.Until = models.Resting, known.cooldown.at(now)
	case known.Target.Open:
		condition.State = models.HalfOpen
		if l := known.Target.Lease; l.isLive(now.wall) {
			condition.Until = l.Until
		}
	case condition.State == models.Failing:
		condition.Until = known.failback.at(now)
	}
	return condition
}

// outOfUse tells what speaks against a target for longer than a rest.
func (b *Breakers) outOfUse(target models.Target, e *entry, now instant) (*models.Fault, time.Time) {
	if until := e.outOfUse.at(now); !until.IsZero() {
		return e.Target.OutOfUse.Fault, until
	}
	p := b.entry(providerID(target.Provider))
	if until := p.outOfUse.at(now); !until.IsZero() {
		return p.Provider.OutOfUse.Fault, until
	}
	refused := *b.refusals.Load()
	for _, i := range []id{{target}, providerID(target.Provider)} {
		if l, ok := refused[i]; ok && l.until.remaining(now) > 0 {
			return l.fault, l.until.at(now)
		}
	}
	return nil, time.Time{}
}

// Allow asks whether a request may go to a target now. Of all belays only one
// request at a time is let through to a target that has rested; whoever is
// allowed reports how it went by Succeeded, Failed or Release. Force says that a
// person wants it now: then only what the user set aside is refused. When the
// answer is no, the condition says why, and until when if that is known.
func (b *Breakers) Allow(ctx context.Context, target models.Target, force bool) (models.Condition, bool) {
	b.ensureLoaded(ctx)
	b.refreshStale(ctx)
	now := b.clock.observe()
	condition := b.condition(target, b.entry(id{target}), now)
	switch {
	case condition.State == models.Disabled:
		return condition, false
	case condition.State.Open(), force:
		return condition, true
	case condition.State != models.HalfOpen || !condition.Until.IsZero():
		return condition, false
	}
	owner := b.o.Owner
	known, granted := b.update(ctx, now, id{target}, func(k *saved) bool {
		if !k.Target.Open || k.Target.Lease.isLive(now.wall) ||
			now.wall.Before(k.Target.CooldownUntil) && !k.Target.CooldownSet.After(now.wall) &&
				k.Target.CooldownUntil.Sub(now.wall) > clockSlack {
			return false
		}
		k.Target.Lease = lease{Owner: owner, From: now.wall, Until: now.wall.Add(leaseTime)}
		return true
	})
	condition = b.condition(target, known, now)
	return condition, granted || condition.State.Open()
}

// clockSlack is how far the clocks of two looks may differ when a rest ends.
const clockSlack = 10 * time.Millisecond

// Succeeded records a reply that came to its end, firstToken after it was
// asked for; 0 when that is unknown. It closes the circuit.
func (b *Breakers) Succeeded(ctx context.Context, target models.Target, firstToken time.Duration) {
	now := b.clock.observe()
	b.dropRefusals(func(i id) bool { return i.Target == target || i == providerID(target.Provider) })
	b.recordAnswer(ctx, now, target.Provider)
	pace := b.medianFirstToken(b.tierOf(target))
	b.update(ctx, now, id{target}, func(k *saved) bool {
		c := &k.Target
		c.closeCircuit()
		c.observe(now.wall, true)
		c.addFirstToken(firstToken)
		c.Unhealthy = isUnhealthy(c.Unhealthy, c.health(now.wall, median(c.FirstTokens), pace))
		return true
	})
	if !b.entry(providerID(target.Provider)).Provider.OutOfUse.Until.IsZero() {
		b.update(ctx, now, providerID(target.Provider), func(k *saved) bool {
			k.Provider.OutOfUse = outage{}
			return true
		})
	}
}

// Release records that a request which was allowed ended without telling anything
// about the target: its user stopped it.
func (b *Breakers) Release(ctx context.Context, t models.Target) {
	b.releaseLease(ctx, b.clock.observe(), t)
}

// releaseLease ends this program's lease on a target, if it has one.
func (b *Breakers) releaseLease(ctx context.Context, now instant, t models.Target) {
	owner := b.o.Owner
	mine := func(l lease) bool { return !l.Until.IsZero() && l.Owner == owner }
	if !mine(b.entry(id{t}).Target.Lease) {
		return
	}
	b.update(ctx, now, id{t}, func(k *saved) bool {
		if !mine(k.Target.Lease) {
			return false
		}
		k.Target.Lease = lease{}
		return true
	})
}

// Failed records how an attempt failed. Failures that say nothing about the
// target (the network, a refused request, an attempt during which the computer
// was suspended) only free it for the next one.
func (b *Breakers) Failed(ctx context.Context, target models.Target, fault *models.Fault) {
	now := b.clock.observe()
	if fault == nil || b.clock.slept(now, fault.Elapsed) {
		b.releaseLease(ctx, now, target)
		return
	}
	if answered(fault) {
		b.recordAnswer(ctx, now, target.Provider)
	}
	if fault.Kind == models.KindSize && fault.WindowLimit > 0 {
		b.update(ctx, now, id{target}, func(k *saved) bool {
			k.Target.Window, k.Target.WindowSet = fault.WindowLimit, now.wall
			return true
		})
	}
	fault = boundedCopy(fault)
	rule := fault.Kind.Policy().Breaker
	if fault.Contact != "" && rule == models.BreakerHealth {
		rule = models.BreakerIgnore // nobody answered: that says nothing about how well the model does
	}
	switch rule {
	case models.BreakerPause, models.BreakerHealth, models.BreakerTrip, models.BreakerAbsent:
		b.recordFailure(ctx, now, target, fault)
	case models.BreakerUsedUp:
		b.recordUsedUp(ctx, now, target, fault)
	case models.BreakerRefused:
		b.recordRefusal(now, target, fault)
		b.releaseLease(ctx, now, target)
	default:
		b.releaseLease(ctx, now, target)
	}
}

// answered reports whether a failure came from the endpoint itself, and not from
// what stands between.
func answered(f *models.Fault) bool {
	return f.Status != 0 && f.Kind != models.KindGateway && f.Kind != models.KindNetwork
}

// recordAnswer notes that an endpoint has answered: from now on it is the network
// that fails when it cannot be reached, and not the settings.
func (b *Breakers) recordAnswer(ctx context.Context, now instant, provider string) {
	if b.entry(providerID(provider)).Provider.Answered {
		return
	}
	b.update(ctx, now, providerID(provider), func(k *saved) bool {
		did := !k.Provider.Answered
		k.Provider.Answered = true
		return did
	})
}

// recordFailure records a failure that passes by itself.
func (b *Breakers) recordFailure(ctx context.Context, now instant, t models.Target, fault *models.Fault) {
	pace := b.medianFirstToken(b.tierOf(t))
	owner := b.o.Owner
	rule := fault.Kind.Policy().Breaker
	b.update(ctx, now, id{t}, func(k *saved) bool {
		state := &k.Target
		probe := state.Lease.Owner == owner && state.Lease.isLive(now.wall) &&
			!now.wall.Add(-fault.Elapsed).Before(state.Lease.From.Add(-clockSlack))
		state.Fault = fault
		switch rule {
		case models.BreakerTrip:
			state.recordCapacity(now.wall, fault, probe)
		case models.BreakerAbsent:
			state.cooldown(now.wall, absentCooldown)
		default:
			state.cooldown(now.wall, statedDelay(now.wall, fault))
		}
		if rule == models.BreakerTrip || rule == models.BreakerHealth {
			state.observe(now.wall, false)
			state.Unhealthy = isUnhealthy(state.Unhealthy, state.health(now.wall, median(state.FirstTokens), pace))
		}
		if probe {
			state.Lease = lease{}
		}
		return true
	})
}

// recordUsedUp records that an allowance is gone until it is renewed.
func (b *Breakers) recordUsedUp(ctx context.Context, now instant, target models.Target, fault *models.Fault) {
	end := fault.ResetAt
	if end.IsZero() && fault.Delayed {
		end = now.wall.Add(fault.RetryAfter)
	}
	if !end.After(now.wall) {
		// Nobody said when: it is tried again like a refused key.
		b.recordRefusal(now, target, fault)
		b.releaseLease(ctx, now, target)
		return
	}
	mark := outage{Set: now.wall, Until: end.Round(0).UTC(), Fault: fault}
	i := id{target}
	if concernsProvider(fault) {
		i = providerID(target.Provider)
	}
	b.update(ctx, now, i, func(k *saved) bool {
		if i.Model == "" {
			k.Provider.OutOfUse = mark
		} else {
			k.Target.OutOfUse = mark
		}
		return true
	})
	b.releaseLease(ctx, now, target)
}

// recordRefusal remembers what depends on this program's key and settings.
func (b *Breakers) recordRefusal(now instant, t models.Target, fault *models.Fault) {
	entryID := id{t}
	if concernsProvider(fault) {
		entryID = providerID(t.Provider)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	next := maps.Clone(*b.refusals.Load())
	next[entryID] = refusal{fault, deadline{now.wall.Add(refusalTime), now.mono + refusalTime}}
	b.refusals.Store(&next)
}

// dropRefusals drops what this program has against some ids.
func (b *Breakers) dropRefusals(which func(id) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *b.refusals.Load()
	if len(old) == 0 {
		return
	}
	next := maps.Clone(old)
	maps.DeleteFunc(next, func(i id, _ refusal) bool { return which(i) })
	b.refusals.Store(&next)
}

// concernsProvider reports whether a failure concerns every target of the provider.
func concernsProvider(f *models.Fault) bool {
	return f.Scope == models.ScopeAccount || f.Scope == models.ScopeProvider
}

// SetDisabled isolates a target until the user takes it back. It stays so over
// restarts and in all belays.
func (b *Breakers) SetDisabled(ctx context.Context, t models.Target, isolated bool) {
	b.update(ctx, b.clock.observe(), id{t}, func(k *saved) bool {
		did := k.Target.Disabled != isolated
		k.Target.Disabled = isolated
		return did
	})
}

// SetOutage marks a target as down: all tries of a parked turn were in vain. A
// success takes the mark away, and so does a night in which the computer slept.
func (b *Breakers) SetOutage(ctx context.Context, t models.Target, down bool) {
	now := b.clock.observe()
	b.update(ctx, now, id{t}, func(k *saved) bool {
		did := k.Target.Outage.IsZero() == down
		switch {
		case !down:
			k.Target.Outage = time.Time{}
		case did:
			k.Target.Outage = now.wall
		}
		return did
	})
}

// StartFailback records that requests are moved away from a target by themselves, and
// returns when they may come back: after 5 minutes, and after 10, 20 and 30
// when they had hardly come back and must leave again.
func (b *Breakers) StartFailback(ctx context.Context, t models.Target) time.Time {
	now := b.clock.observe()
	first := b.o.FailbackDelay
	e, _ := b.update(ctx, now, id{t}, func(k *saved) bool { return k.Target.startFailbackDelay(now.wall, first) })
	return e.failback.at(now)
}

// FailbackAt returns until when requests that left a target stay away; zero when
// they may come back.
func (b *Breakers) FailbackAt(t models.Target) time.Time {
	return b.entry(id{t}).failback.at(b.clock.read())
}

// Forget drops what speaks against a provider in this program alone: call it
// when a key or the settings have changed.
func (b *Breakers) Forget(name string) {
	b.dropRefusals(func(i id) bool { return i.Provider == name })
}
