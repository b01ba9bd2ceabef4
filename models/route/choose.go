package route

import (
	"context"
	"fmt"
	"slices"
	"time"

	"belay/models"
)

// candidate is a target that may serve the request.
type candidate struct {
	models.Target
	tier models.Tier
}

// free reports whether the request may leave its target by itself.
func (op *operation) free() bool { return op.r.o.Policy == Auto && !op.need.Control.pin() }

// candidates is the gate: the targets of the lever's tier, the best first,
// then those of the tiers below as far as a switch may go. Who may not switch
// has one candidate: the target that is waited for.
func (op *operation) candidates() []candidate {
	top := op.need.Control.Tier()
	if only := op.need.Control.onlyTarget(); only != (models.Target{}) {
		return []candidate{{only, op.tierOf(only)}}
	}
	floor := op.r.o.Floor.Rank()
	if !op.free() {
		floor = top.Rank()
	}
	if op.need.Wrote && floor > top.Rank()+1 {
		floor = top.Rank() + 1
	}
	var list []candidate
	seen := map[models.Target]bool{}
	for _, tier := range models.Tiers() {
		if tier.Rank() < top.Rank() || tier.Rank() > max(floor, top.Rank()) {
			continue
		}
		var local []candidate
		for _, t := range op.r.o.Breakers.Order(op.r.o.Tiers[tier]) {
			if seen[t] || op.skip[t] || !op.able(t) {
				continue
			}
			seen[t] = true
			switch {
			case !op.r.o.Local(t):
				list = append(list, candidate{t, tier})
			case tier == top || op.r.o.SwitchLocal || op.r.o.Local(op.preferred().Target):
				local = append(local, candidate{t, tier})
			}
		}
		list = append(list, local...) // a local model is the last resort of its tier
	}
	if !op.free() {
		return op.faithful(list)
	}
	return list
}

// faithful chooses the one target of a tier that is waited for: under a pin the
// one that served last, otherwise the first of the settings that is of use.
func (op *operation) faithful(list []candidate) []candidate {
	var order []candidate
	if op.need.Control.pin() {
		order = append(order, op.need.Control.heldTo())
	}
	for _, t := range op.r.o.Tiers[op.need.Control.Tier()] {
		order = append(order, candidate{t, op.need.Control.Tier()})
	}
	for _, c := range order {
		if slices.Contains(list, c) && !hopeless(op.r.o.RateLimiter.Condition(c.Target)) {
			return []candidate{c}
		}
	}
	return list[:min(len(list), 1)]
}

// hopeless reports whether a target is not worth waiting for: the user set it
// aside, its key or name is refused, or nothing runs there.
func hopeless(c models.Condition) bool {
	return c.State == models.Disabled || refused(c) || c.State == models.Resting && c.Fault != nil && c.Fault.Kind == models.KindAbsent
}

// refused reports whether a target is out for a reason that does not mend
// itself.
func refused(c models.Condition) bool {
	return c.State == models.Unusable && c.Fault != nil && !moveFor(c.Fault.Kind).passes
}

// stated reports whether a target rests by the server's own word.
func stated(c models.Condition) bool {
	return c.State == models.Resting && c.Fault != nil && c.Fault.Delayed && c.Fault.RetryAfter > 0
}

// tierOf is the tier that a target stands in; the lever's, if it is in several.
func (op *operation) tierOf(t models.Target) models.Tier {
	top := op.need.Control.Tier()
	if slices.Contains(op.r.o.Tiers[top], t) {
		return top
	}
	for _, tier := range models.Tiers() {
		if slices.Contains(op.r.o.Tiers[tier], t) {
			return tier
		}
	}
	return top
}

// below are the candidates that a failure of some kind may move the request
// to: never up, which is for the next turn to try, and never to a target that
// shares the allowance that is used up.
func (op *operation) below(kind models.Kind) []candidate {
	return slices.DeleteFunc(op.candidates(), func(c candidate) bool {
		return c.tier.Rank() < op.tier.Rank() || moveFor(kind).provider && c.Provider == op.target.Provider
	})
}

// able reports whether a target has what the request needs.
func (op *operation) able(t models.Target) bool {
	m := op.r.o.Model(t)
	return m.Tools && (m.Images || !op.need.Images)
}

// preferred is the target that the user would rather have.
func (op *operation) preferred() candidate {
	if only := op.need.Control.onlyTarget(); only != (models.Target{}) {
		return candidate{only, op.tierOf(only)}
	}
	tier := op.need.Control.Tier()
	for _, t := range op.r.o.Tiers[tier] {
		return candidate{t, tier}
	}
	return candidate{tier: tier} // a tier without models was chosen just now
}

// fits reports whether a target's window holds the request as it was measured
// for the preferred one: a switch must not cut the conversation short.
func (op *operation) fits(t models.Target) bool {
	m, usual := op.r.o.Model(t), op.r.o.Model(op.preferred().Target)
	if m.Window <= 0 || usual.Window > 0 && m.Window >= usual.Window || t == usual.Target {
		return true
	}
	if op.size == 0 {
		op.size = -1 // not known
		if req, err := op.build(usual); err == nil && req.Tokens > 0 {
			op.size = req.Tokens
		}
	}
	return op.size <= m.Window
}

// pick asks the board for the first candidate that may be asked now. If there
// is none, it gives the one that can be asked soonest, and its condition.
func (op *operation) pick(ctx context.Context, list []candidate, insist bool) (candidate, models.Condition, bool) {
	var soonest models.Condition
	var who candidate
	spent := map[string]bool{} // providers whose allowance is used up
	for _, c := range list {
		if spent[c.Provider] || !op.fits(c.Target) && c.Target != op.need.Control.lentTo().target {
			continue
		}
		cond, ok := op.r.o.Breakers.Allow(ctx, c.Target, insist)
		if ok {
			return c, cond, true
		}
		if refused(cond) {
			continue
		}
		if cond.Fault != nil && cond.State != models.Disabled && moveFor(cond.Fault.Kind).provider {
			spent[c.Provider] = true
		}
		if who == (candidate{}) || !cond.Until.IsZero() && (soonest.Until.IsZero() || cond.Until.Before(soonest.Until)) {
			soonest, who = cond, c
		}
	}
	return who, soonest, false
}

// pickFirst is pick at the beginning of a request. A key or a name that was
// refused does not mend itself, and is no reason to go down a tier; but a person
// may have mended it, so the endpoint gives its own answer rather than an old one.
func (op *operation) pickFirst(ctx context.Context, list []candidate, insist bool) (candidate, models.Condition, bool) {
	usable := func(c candidate) bool { return !refused(op.r.o.RateLimiter.Condition(c.Target)) }
	if i := slices.IndexFunc(list, usable); i < 0 || list[i].tier != list[0].tier {
		if cond, ok := op.r.o.Breakers.Allow(ctx, list[0].Target, true); ok {
			return list[0], cond, true
		}
	}
	// Where nothing runs at any of them, somebody may have started it meanwhile.
	if !slices.ContainsFunc(list, func(c candidate) bool { return !hopeless(op.r.o.RateLimiter.Condition(c.Target)) }) {
		insist = true
	}
	return op.pick(ctx, list, insist)
}

// gate lists the candidates, or says why there are none.
func (op *operation) gate() ([]candidate, error) {
	tier := op.need.Control.Tier()
	if len(op.r.o.Tiers[tier]) == 0 && op.need.Control.onlyTarget() == (models.Target{}) {
		return nil, &models.Fault{Kind: models.KindModel, Scope: models.ScopeRequest,
			Message: fmt.Sprintf("the tier %s has no model", tier),
			Hint:    fmt.Sprintf("name one in the settings: [tiers] %s = [\"provider/model\"]", tier)}
	}
	list := op.candidates()
	if len(list) == 0 {
		return nil, &models.Fault{Kind: models.KindRequest, Scope: models.ScopeRequest, Target: op.preferred().Target,
			Message: "no model of the tier can do what this request needs", Hint: "choose another tier, or leave the pictures out"}
	}
	return list, nil
}

// start finds the first target: the one that the session was moved to, as long
// as it is too early to go back, or the best of the lever's tier.
func (op *operation) start(ctx context.Context) error {
	for {
		if ctx.Err() != nil || op.need.Control.parking() {
			return op.steer(ctx)
		}
		list, err := op.gate()
		if err != nil {
			return err
		}
		list = op.stay(list)
		if op.need.ParkRetry {
			op.rungs = len(list)
		}
		insist := op.insist
		if due, ok := op.need.Control.due(op.r.o.Now()); ok && !insist && slices.Contains(list, due.candidate) {
			op.target, op.tier = due.Target, due.tier
			return op.wait(ctx, due.fault, due.until.Sub(op.r.o.Now()), true)
		}
		if c, cond, ok := op.brief(list); ok && !insist {
			op.target, op.tier = c.Target, c.tier
			err = op.sitOut(ctx, cond)
		} else if c, cond, ok := op.pickFirst(ctx, list, insist); ok {
			return op.move(ctx, c)
		} else {
			err = op.none(ctx, c, cond)
		}
		if err != nil {
			return err
		}
		if op.need.Control.elsewhere(op.target, op.tier) {
			return nil // the lever moved: the loop follows it
		}
	}
}

// stay puts the target that the session was moved to before the others. Within
// a turn it never goes up again; between turns only once the hold is over, or
// when nobody below can serve.
func (op *operation) stay(list []candidate) []candidate {
	op.boundary = op.need.Control.boundary() || op.boundary
	away := op.need.Control.lentTo()
	switch {
	case away.target == (models.Target{}), op.need.ParkRetry, !op.able(away.target):
		return list
	case op.boundary && !op.r.o.RateLimiter.FailbackAt(away.from).After(op.r.o.Now()):
		return list
	}
	here := []candidate{{away.target, away.tier}}
	var above []candidate
	for _, c := range list {
		switch {
		case c.Target == away.target:
		case c.tier.Rank() >= away.tier.Rank():
			here = append(here, c)
		case op.boundary:
			above = append(above, c)
		}
	}
	return append(here, above...)
}

// brief gives the preferred one of the candidates if it rests for so short a
// time, by the server's own word, that it is waited for rather than left.
func (op *operation) brief(list []candidate) (candidate, models.Condition, bool) {
	c := op.preferred()
	if away := op.need.Control.lentTo(); list[0].Target == away.target {
		c = list[0]
	}
	cond := op.r.o.RateLimiter.Condition(c.Target)
	if !slices.Contains(list, c) || !stated(cond) {
		return c, cond, false
	}
	most := op.r.o.MaxWait - op.waited
	if cond.Fault.Kind != models.KindRate { // nobody else can serve at a limit of one's own
		most = min(longestStep, most)
	}
	return c, cond, cond.Until.Sub(op.r.o.Now()) <= most
}

// probing is how long a request waits at most before it looks again how the one
// request that tries a rested target went.
const probing = 5 * time.Second

// none waits for the target that can be asked soonest, or parks until then.
func (op *operation) none(ctx context.Context, c candidate, cond models.Condition) error {
	if c == (candidate{}) || cond.Until.IsZero() {
		if f := cond.Fault; f != nil && cond.State != models.Disabled {
			return f
		}
		return &models.Fault{Kind: models.KindRequest, Scope: models.ScopeRequest, Target: op.preferred().Target,
			Message: "every model that could serve is set aside", Hint: "take one back in the capacity panel, or choose another tier"}
	}
	if op.first == nil {
		op.first = cond.Fault
		if p := op.r.o.RateLimiter.Condition(op.preferred().Target); p.Fault != nil && p.State != models.Disabled && p.State != models.Ready {
			op.first = p.Fault
		}
	}
	op.target, op.tier = c.Target, c.tier
	return op.sitOut(ctx, cond)
}

// sitOut waits until a target may be asked, if that is soon enough.
func (op *operation) sitOut(ctx context.Context, cond models.Condition) error {
	rest := cond.Until.Sub(op.r.o.Now())
	left := op.r.o.MaxWait - op.waited
	if cond.State == models.HalfOpen {
		rest = min(rest, probing) // it is over when that request is
	}
	switch {
	case cond.Until.IsZero(), cond.State == models.HalfOpen && rest > left:
		return &Parked{Fault: op.cause(cond.Fault)}
	case rest > left:
		return &Parked{Until: cond.Until, Fault: op.cause(cond.Fault)}
	}
	return op.wait(ctx, cond.Fault, max(rest, 100*time.Millisecond), true) // another belay's lease may end a moment late
}

// admit asks the board before another attempt at the same target: meanwhile it
// may have begun to rest. Without admitted set the loop comes back here.
func (op *operation) admit(ctx context.Context) error {
	cond, ok := op.r.o.Breakers.Allow(ctx, op.target, op.insist)
	if ok {
		op.admitted = true
		return nil
	}
	if op.free() {
		var kind models.Kind
		if cond.Fault != nil {
			kind = cond.Fault.Kind
		}
		op.skip[op.target] = true
		if c, _, ok := op.pick(ctx, op.below(kind), false); ok {
			return op.switchTo(ctx, c, cond.Fault)
		}
		delete(op.skip, op.target)
	}
	return op.sitOut(ctx, cond)
}
