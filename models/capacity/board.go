package capacity

import (
	"context"
	"maps"
	"time"

	"belay/models"
)

// Condition gives the state of a target, without tier and short name.
func (b *Breakers) Condition(t models.Target) models.Condition {
	return b.condition(t, b.entry(id{t}), b.clock.read())
}

func (b *Breakers) condition(t models.Target, e *entry, now instant) models.Condition {
	c := models.Condition{Target: t, State: models.Ready, Fault: e.Target.Fault}
	if e.Target.Aside {
		c.State = models.Disabled
		return c
	}
	if o, until := b.unusable(t, e, now); o != nil {
		c.State, c.Until, c.Fault = models.Unusable, until, o
		return c
	}
	switch {
	case e.rest.left(now) > 0:
		c.State, c.Until = models.Resting, e.rest.at(now)
	case e.Target.Open:
		c.State = models.HalfOpen
		if l := e.Target.Lease; l.live(now.wall) {
			c.Until = l.Until
		}
	}
	return c
}

// unusable tells what speaks against a target for longer than a rest.
func (b *Breakers) unusable(t models.Target, e *entry, now instant) (*models.Fault, time.Time) {
	if until := e.out.at(now); !until.IsZero() {
		return e.Target.Out.Fault, until
	}
	p := b.entry(provider(t.Provider))
	if until := p.out.at(now); !until.IsZero() {
		return p.Provider.Out.Fault, until
	}
	refused := *b.refused.Load()
	for _, i := range []id{{t}, provider(t.Provider)} {
		if l, ok := refused[i]; ok && l.until.left(now) > 0 {
			return l.fault, l.until.at(now)
		}
	}
	return nil, time.Time{}
}

// Allow asks whether a request may go to a target now. Of all belays only one
// request at a time is let through to a target that has rested; whoever is
// allowed reports how it went by Succeeded, Failed or Left. Insist says that a
// person wants it now: then only what the user set aside is refused. When the
// answer is no, the condition says why, and until when if that is known.
func (b *Breakers) Allow(ctx context.Context, t models.Target, insist bool) (models.Condition, bool) {
	b.begin(ctx)
	now := b.clock.look()
	c := b.condition(t, b.entry(id{t}), now)
	switch {
	case c.State == models.Disabled:
		return c, false
	case c.State == models.Ready, insist:
		return c, true
	case c.State != models.HalfOpen || !c.Until.IsZero():
		return c, false
	}
	owner := b.o.Owner
	e, granted := b.update(ctx, now, id{t}, func(k *kept) bool {
		if !k.Target.Open || k.Target.Lease.live(now.wall) || now.wall.Before(k.Target.Until) && !k.Target.Set.After(now.wall) && k.Target.Until.Sub(now.wall) > clockSlack {
			return false
		}
		k.Target.Lease = lease{Owner: owner, From: now.wall, Until: now.wall.Add(leaseTime)}
		return true
	})
	c = b.condition(t, e, now)
	return c, granted || c.State == models.Ready
}

// clockSlack is how far the clocks of two looks may differ when a rest ends.
const clockSlack = 10 * time.Millisecond

// Succeeded records a reply that came to its end, firstToken after it was
// asked for; 0 when that is unknown. It closes the circuit.
func (b *Breakers) Succeeded(ctx context.Context, t models.Target, firstToken time.Duration) {
	now := b.clock.look()
	b.forget(func(i id) bool { return i.Target == t || i == provider(t.Provider) })
	pace := b.pace(b.tierOf(t))
	b.update(ctx, now, id{t}, func(k *kept) bool {
		c := &k.Target
		c.close()
		c.weigh(now.wall, true)
		c.timed(firstToken)
		c.Low = judge(c.Low, c.health(now.wall, median(c.First), pace))
		return true
	})
	if !b.entry(provider(t.Provider)).Provider.Out.Until.IsZero() {
		b.update(ctx, now, provider(t.Provider), func(k *kept) bool {
			k.Provider.Out = out{}
			return true
		})
	}
}

// Release records that a request which was allowed ended without telling anything
// about the target: its user stopped it.
func (b *Breakers) Release(ctx context.Context, t models.Target) { b.giveBack(ctx, b.clock.look(), t) }

// giveBack ends this program's lease on a target, if it has one.
func (b *Breakers) giveBack(ctx context.Context, now instant, t models.Target) {
	owner := b.o.Owner
	mine := func(l lease) bool { return !l.Until.IsZero() && l.Owner == owner }
	if !mine(b.entry(id{t}).Target.Lease) {
		return
	}
	b.update(ctx, now, id{t}, func(k *kept) bool {
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
func (b *Breakers) Failed(ctx context.Context, t models.Target, f *models.Fault) {
	now := b.clock.look()
	if f == nil || b.clock.slept(now, f.Elapsed) {
		b.giveBack(ctx, now, t)
		return
	}
	f = bounded(f)
	switch f.Kind.Policy().Breaker {
	case models.BreakerPause, models.BreakerHealth, models.BreakerTrip, models.BreakerAbsent:
		b.count(ctx, now, t, f)
	case models.BreakerUsedUp:
		b.usedUp(ctx, now, t, f)
	case models.BreakerRefused:
		b.refuse(now, t, f)
		b.giveBack(ctx, now, t)
	default:
		b.giveBack(ctx, now, t)
	}
}

// count records a failure that passes by itself.
func (b *Breakers) count(ctx context.Context, now instant, t models.Target, f *models.Fault) {
	pace := b.pace(b.tierOf(t))
	owner := b.o.Owner
	rule := f.Kind.Policy().Breaker
	b.update(ctx, now, id{t}, func(k *kept) bool {
		c := &k.Target
		probe := c.Lease.Owner == owner && c.Lease.live(now.wall) && !now.wall.Add(-f.Elapsed).Before(c.Lease.From.Add(-clockSlack))
		c.Fault = f
		switch rule {
		case models.BreakerTrip:
			c.full(now.wall, f, probe)
		case models.BreakerAbsent:
			c.pause(now.wall, absentRest)
		default:
			c.pause(now.wall, stated(now.wall, f))
		}
		if rule == models.BreakerTrip || rule == models.BreakerHealth {
			c.weigh(now.wall, false)
			c.Low = judge(c.Low, c.health(now.wall, median(c.First), pace))
		}
		if probe {
			c.Lease = lease{}
		}
		return true
	})
}

// usedUp records that an allowance is gone until it is renewed.
func (b *Breakers) usedUp(ctx context.Context, now instant, t models.Target, f *models.Fault) {
	end := f.ResetAt
	if end.IsZero() && f.Delayed {
		end = now.wall.Add(f.RetryAfter)
	}
	if !end.After(now.wall) {
		// Nobody said when: it is tried again like a refused key.
		b.refuse(now, t, f)
		b.giveBack(ctx, now, t)
		return
	}
	o := out{Set: now.wall, Until: end.Round(0).UTC(), Fault: f}
	i := id{t}
	if wide(f) {
		i = provider(t.Provider)
	}
	b.update(ctx, now, i, func(k *kept) bool {
		if i.Model == "" {
			k.Provider.Out = o
		} else {
			k.Target.Out = o
		}
		return true
	})
	b.giveBack(ctx, now, t)
}

// refuse remembers what depends on this program's key and settings.
func (b *Breakers) refuse(now instant, t models.Target, f *models.Fault) {
	i := id{t}
	if wide(f) {
		i = provider(t.Provider)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	next := maps.Clone(*b.refused.Load())
	next[i] = local{f, deadline{now.wall.Add(outFor), now.mono + outFor}}
	b.refused.Store(&next)
}

// forget drops what this program has against some ids.
func (b *Breakers) forget(which func(id) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *b.refused.Load()
	if len(old) == 0 {
		return
	}
	next := maps.Clone(old)
	maps.DeleteFunc(next, func(i id, _ local) bool { return which(i) })
	b.refused.Store(&next)
}

// wide reports whether a failure concerns every target of the provider.
func wide(f *models.Fault) bool {
	return f.Scope == models.ScopeAccount || f.Scope == models.ScopeProvider
}

// SetDisabled isolates a target until the user takes it back. It stays so over
// restarts and in all belays.
func (b *Breakers) SetDisabled(ctx context.Context, t models.Target, isolated bool) {
	b.update(ctx, b.clock.look(), id{t}, func(k *kept) bool {
		did := k.Target.Aside != isolated
		k.Target.Aside = isolated
		return did
	})
}

// SetOutage marks a target as down: the whole ladder was climbed in vain. A
// success takes the mark away, and so does a night in which the computer slept.
func (b *Breakers) SetOutage(ctx context.Context, t models.Target, down bool) {
	now := b.clock.look()
	b.update(ctx, now, id{t}, func(k *kept) bool {
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
	now := b.clock.look()
	first := b.o.FailbackDelay
	e, _ := b.update(ctx, now, id{t}, func(k *kept) bool { return k.Target.leave(now.wall, first) })
	return e.hold.at(now)
}

// FailbackAt returns until when requests that left a target stay away; zero when
// they may come back.
func (b *Breakers) FailbackAt(t models.Target) time.Time {
	return b.entry(id{t}).hold.at(b.clock.read())
}

// Forget drops what speaks against a provider in this program alone: call it
// when a key or the settings have changed.
func (b *Breakers) Forget(name string) {
	b.forget(func(i id) bool { return i.Provider == name })
}
