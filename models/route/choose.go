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

// candidates is the gate: the targets of the lever's tier, the best first,
// then those of the tiers below as far as a switch may go.
func (op *operation) candidates(otherProvider bool) []candidate {
	top := op.need.Lever.Tier()
	if only := op.need.Lever.onlyTarget(); only != (models.Target{}) {
		return []candidate{{only, op.tierOf(only)}}
	}
	floor := op.r.o.Floor.Rank()
	if op.need.Lever.pin() || op.r.o.Policy != Auto {
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
		for _, t := range op.r.o.Board.Order(op.r.o.Tiers[tier]) {
			if seen[t] || op.skip[t] || !op.able(t) || otherProvider && t.Provider == op.target.Provider {
				continue
			}
			seen[t] = true
			switch {
			case !op.r.o.Local(t):
				list = append(list, candidate{t, tier})
			case tier == top || op.r.o.SwitchLocal:
				local = append(local, candidate{t, tier})
			}
		}
		list = append(list, local...) // a local model is the last resort of its tier
	}
	return list
}

// tierOf is the tier that a target stands in; the lever's, if it is in several.
func (op *operation) tierOf(t models.Target) models.Tier {
	top := op.need.Lever.Tier()
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

// below are the candidates that a failure may move the request to: never up,
// which is for the next turn to try.
func (op *operation) below(otherProvider bool) []candidate {
	return slices.DeleteFunc(op.candidates(otherProvider), func(c candidate) bool { return c.tier.Rank() < op.tier.Rank() })
}

// able reports whether a target has what the request needs.
func (op *operation) able(t models.Target) bool {
	m := op.r.o.Model(t)
	return m.Tools && (m.Images || !op.need.Images)
}

// pick asks the board for the first candidate that may be asked now. If there
// is none, the condition is of the one that can be asked soonest.
func (op *operation) pick(ctx context.Context, list []candidate, insist bool) (candidate, models.Condition, bool) {
	var soonest models.Condition
	var refused candidate
	for _, c := range list {
		cond, ok := op.r.o.Board.Allow(ctx, c.Target, insist)
		if ok {
			return c, cond, true
		}
		if cond.State == models.Out && cond.Fault != nil && !moves[cond.Fault.Kind].passes {
			// A key or a name does not mend itself, but a person may have mended
			// it: they get the endpoint's own answer rather than an old one.
			if refused == (candidate{}) {
				refused = c
			}
			continue
		}
		if soonest.Target == (models.Target{}) || !cond.Until.IsZero() && (soonest.Until.IsZero() || cond.Until.Before(soonest.Until)) {
			soonest, soonest.Target = cond, c.Target
		}
	}
	if soonest.Target == (models.Target{}) && refused != (candidate{}) {
		cond, ok := op.r.o.Board.Allow(ctx, refused.Target, true)
		return refused, cond, ok
	}
	return candidate{}, soonest, false
}

// start finds the first target: the one that the session was moved to, as long
// as it is too early to go back, or the best of the lever's tier.
func (op *operation) start(ctx context.Context) error {
	tier := op.need.Lever.Tier()
	if len(op.r.o.Tiers[tier]) == 0 {
		return &models.Fault{Kind: models.KindModel, Scope: models.ScopeRequest,
			Message: fmt.Sprintf("the tier %s has no model", tier),
			Hint:    fmt.Sprintf("name one in the settings: [tiers] %s = [\"provider/model\"]", tier)}
	}
	list := op.candidates(false)
	op.rungs = len(list)
	if len(list) == 0 {
		return &models.Fault{Kind: models.KindRequest, Scope: models.ScopeRequest, Target: op.r.o.Tiers[tier][0],
			Message: "no model of the tier can do what this request needs", Hint: "choose another tier, or leave the pictures out"}
	}
	if away, ok := op.need.Lever.lent(op.r.o.Allowance.Hold, op.began); ok {
		list = slices.DeleteFunc(list, func(c candidate) bool { return c.Target == away.target })
		list = append([]candidate{{away.target, away.tier}}, list...)
	}
	insist := op.need.Insist || op.need.Rung
	if due, ok := op.need.Lever.due(op.began); ok && !insist && slices.Contains(list, due.candidate) {
		op.target, op.tier = due.Target, due.tier
		return op.wait(ctx, due.fault, due.until.Sub(op.began))
	}
	c, cond, ok := op.pick(ctx, list, insist)
	if !ok {
		return op.none(ctx, cond)
	}
	return op.move(ctx, c)
}

// move makes a candidate the target, and announces it if the session was
// served by another one, or would rather be.
func (op *operation) move(ctx context.Context, c candidate) error {
	preferred := candidate{op.r.o.Tiers[op.need.Lever.Tier()][0], op.need.Lever.Tier()}
	if op.need.Lever.onlyTarget() == c.Target {
		preferred = c // pinned: it is where it should be
	}
	from, known := op.need.Lever.servedBy()
	if !known {
		from = preferred
	}
	op.target, op.tier, op.admitted = c.Target, c.tier, true
	if from.Target == c.Target {
		return nil
	}
	chunk := models.Switched{From: from.Target, To: c.Target, FromTier: from.tier, ToTier: c.tier, Back: c.Target == preferred.Target}
	if chunk.Back {
		op.need.Lever.home()
	} else {
		chunk.Fault = op.r.o.Allowance.Condition(from.Target).Fault
		if chunk.Fault == nil {
			chunk.Fault = op.r.o.Allowance.Condition(preferred.Target).Fault
		}
		op.need.Lever.lend(away{target: c.Target, tier: c.tier, from: preferred.Target})
	}
	if !op.yield(chunk, nil) {
		op.r.o.Board.Left(ctx, c.Target)
		return errLeft
	}
	return nil
}

// none waits for the target that can be asked soonest, or parks until then.
func (op *operation) none(ctx context.Context, cond models.Condition) error {
	if op.first == nil {
		op.first = cond.Fault
	}
	if cond.Until.IsZero() {
		f := cond.Fault
		if f == nil || cond.State == models.Aside {
			f = &models.Fault{Kind: models.KindRequest, Scope: models.ScopeRequest, Target: cond.Target,
				Message: "every model that could serve is set aside", Hint: "take one back in the capacity panel, or choose another tier"}
		}
		return f
	}
	rest := cond.Until.Sub(op.r.o.Now())
	if rest > op.r.o.MaxWait-op.waited {
		return &Parked{Until: cond.Until, Fault: op.cause(cond.Fault)}
	}
	rest = max(rest, 100*time.Millisecond) // another belay's lease may end a moment late
	op.waited += rest
	op.target = cond.Target
	if err := op.wait(ctx, cond.Fault, rest); err != nil {
		return err
	}
	if op.need.Lever.elsewhere(op.target, op.tier) {
		return nil // the lever moved: the loop follows it
	}
	return op.start(ctx)
}

// admit asks the board before another attempt at the same target: meanwhile it
// may have begun to rest. Without admitted set the loop comes back here.
func (op *operation) admit(ctx context.Context) error {
	cond, ok := op.r.o.Board.Allow(ctx, op.target, op.insist || op.need.Insist)
	if ok {
		op.admitted = true
		return nil
	}
	if !op.need.Lever.pin() {
		op.skip[op.target] = true
		if c, _, ok := op.pick(ctx, op.below(false), op.need.Rung); ok {
			return op.switchTo(ctx, c, cond.Fault)
		}
		delete(op.skip, op.target)
	}
	rest := cond.Until.Sub(op.r.o.Now())
	if cond.Until.IsZero() || rest > op.r.o.MaxWait-op.waited {
		return &Parked{Until: cond.Until, Fault: op.cause(cond.Fault)}
	}
	rest = max(rest, 100*time.Millisecond)
	op.waited += rest
	return op.wait(ctx, cond.Fault, rest)
}

// switchTo moves the request to another target by itself, and says so.
func (op *operation) switchTo(ctx context.Context, c candidate, f *models.Fault) error {
	op.record(ctx, c.String())
	from, fromTier := op.target, op.tier
	op.target, op.tier, op.admitted = c.Target, c.tier, true
	preferred := op.r.o.Tiers[op.need.Lever.Tier()][0]
	hold := op.r.o.Allowance.Leave(ctx, from).Sub(op.r.o.Now())
	op.need.Lever.lend(away{target: c.Target, tier: c.tier, from: preferred})
	if !op.yield(models.Switched{From: from, To: c.Target, FromTier: fromTier, ToTier: c.tier, Fault: f, Hold: hold}, nil) {
		op.r.o.Board.Left(ctx, c.Target)
		return errLeft
	}
	return nil
}

// follow goes where the lever points. The attempts begin anew: it is a
// person's decision, so resting targets are asked as well.
func (op *operation) follow(ctx context.Context) error {
	if op.admitted {
		op.r.o.Board.Left(ctx, op.target)
	}
	from, fromTier := op.target, op.tier
	op.attempts, op.waited, op.shrunk = 0, 0, false
	clear(op.failed)
	clear(op.skip)
	tier := op.need.Lever.Tier()
	list := op.candidates(false)
	c, _, ok := op.pick(ctx, list, true)
	if !ok {
		op.tier = tier // so that the loop does not follow again
		if len(op.r.o.Tiers[tier]) > 0 {
			op.target = op.r.o.Tiers[tier][0]
		}
		return op.none(ctx, models.Condition{Target: op.target, State: models.Aside})
	}
	op.record(ctx, c.String())
	op.target, op.tier, op.admitted = c.Target, c.tier, true
	if !op.yield(models.Switched{From: from, To: c.Target, FromTier: fromTier, ToTier: c.tier}, nil) {
		op.r.o.Board.Left(ctx, c.Target)
		return errLeft
	}
	return nil
}
