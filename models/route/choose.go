package route

import (
	"cmp"
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

// begin decides who is asked first: the target that the session was moved to,
// as long as it is too early to go back, or the best of the control's tier.
func begin(s *situation) decision {
	list, fault := s.admissible()
	if fault != nil {
		return decision{next: models.NextStop, fault: fault}
	}
	list = s.afterFailover(list)
	d := s.firstOf(list)
	d.choices = len(list)
	return d
}

func (s *situation) firstOf(list []candidate) decision {
	if !s.request.force {
		if p := s.control.pending; p.until.After(s.now) && slices.Contains(list, p.candidate) {
			return decision{
				next:    models.NextRetry,
				to:      p.candidate,
				delay:   p.until.Sub(s.now),
				fault:   p.fault,
				pending: true,
			}
		}
		if c, condition, ok := s.shortRest(list); ok {
			return s.waitFor(c, condition, nil)
		}
	}
	force := s.request.force
	// A key or a name that was refused does not pass by itself, and is no reason to
	// go down a tier; but a person may have corrected it, so the endpoint gives its
	// own answer rather than an old one.
	usable := func(c candidate) bool { return !needsPerson(s.condition(c.Target)) }
	if i := slices.IndexFunc(list, usable); i < 0 || list[i].tier != list[0].tier {
		if s.available(list[0].Target, true) {
			return decision{next: models.NextSwitch, to: list[0], force: true}
		}
	}
	// Where nothing runs at any of them, somebody may have started it meanwhile.
	if !slices.ContainsFunc(list, func(c candidate) bool { return !unavailable(s.condition(c.Target)) }) {
		force = true
	}
	c, condition, found := s.pick(list, force)
	switch found {
	case unmeasured:
		return decision{measure: true}
	case available:
		return decision{next: models.NextSwitch, to: c, force: force}
	}
	return s.waitForSoonest(c, condition)
}

// readmit decides what happens when the target must not be asked again just
// now, as its condition says: another one takes over, or it is waited for.
func readmit(s *situation, condition models.Condition) decision {
	if s.mayFailOver() {
		var kind models.Kind
		if condition.Fault != nil {
			kind = condition.Fault.Kind
		}
		switch c, _, found := s.pick(s.below(kind), false); found {
		case unmeasured:
			return decision{measure: true}
		case available:
			return decision{next: models.NextSwitch, to: c, fault: condition.Fault}
		}
	}
	return s.waitFor(s.target, condition, nil)
}

// follow decides who is asked where the control points. It is a person's
// choice, so resting targets are asked as well.
func follow(s *situation) decision {
	list, fault := s.admissible()
	if fault != nil {
		return decision{next: models.NextStop, fault: fault}
	}
	switch c, _, found := s.pick(list, true); found {
	case unmeasured:
		return decision{measure: true}
	case available:
		return decision{next: models.NextSwitch, to: c, force: true}
	}
	return decision{next: models.NextStop, fault: s.allDisabled()}
}

// admissible lists the candidates, or says why there are none.
func (s *situation) admissible() ([]candidate, *models.Fault) {
	tier := s.control.tier
	if len(s.rules.tiers[tier]) == 0 && s.control.only == (models.Target{}) {
		return nil, &models.Fault{Kind: models.KindModel, Scope: models.ScopeRequest,
			Message: fmt.Sprintf("the tier %s has no model", tier),
			Hint:    fmt.Sprintf("name one in the settings: [tiers] %s = [\"provider/model\"]", tier)}
	}
	list := s.candidates(s.history.left)
	if len(list) == 0 {
		return nil, &models.Fault{Kind: models.KindRequest, Scope: models.ScopeRequest, Target: s.preferred().Target,
			Message: "no model of the tier can call tools",
			Hint:    "choose another tier, or name a model in [tiers] that can"}
	}
	return list, nil
}

// candidates are the targets of the control's tier, the best first, then those
// of the tiers below as far as a switch may go; with pictures in the request,
// those that see them before all others. A request that may not switch
// has one candidate: the target that is waited for.
func (s *situation) candidates(except map[models.Target]bool) []candidate {
	top := s.control.tier
	if only := s.control.only; only != (models.Target{}) {
		return []candidate{{only, s.tierOf(only)}}
	}
	var list []candidate
	seen := map[models.Target]bool{}
	for _, tier := range models.Tiers() {
		if tier.Rank() < top.Rank() || tier.Rank() > s.lowestRank() {
			continue
		}
		var local []candidate
		for _, target := range s.order[tier] {
			if seen[target] || except[target] || !s.able(target) {
				continue
			}
			seen[target] = true
			switch {
			case !s.targets[target].local:
				list = append(list, candidate{target, tier})
			case tier == top || s.rules.switchLocal || s.targets[s.preferred().Target].local:
				local = append(local, candidate{target, tier})
			}
		}
		list = append(list, local...) // a local model is the last resort of its tier
	}
	list = s.seeingFirst(list)
	if !s.mayFailOver() {
		return s.pinnedCandidate(list)
	}
	return list
}

// lowestRank is the rank of the lowest tier that an automatic switch may reach.
func (s *situation) lowestRank() int {
	top, lowest := s.control.tier.Rank(), s.rules.floor.Rank()
	if !s.mayFailOver() {
		return top
	}
	if s.request.wrote {
		lowest = min(lowest, top+1)
	}
	return max(lowest, top)
}

// pinnedCandidate chooses the one target of a tier that is waited for: under a
// pin the one that served last, otherwise the first of the settings that is of use.
func (s *situation) pinnedCandidate(list []candidate) []candidate {
	var order []candidate
	if s.control.pinned() {
		order = append(order, s.control.stickyTarget)
	}
	for _, t := range s.rules.tiers[s.control.tier] {
		order = append(order, candidate{t, s.control.tier})
	}
	for _, c := range s.seeingFirst(order) {
		if slices.Contains(list, c) && !unavailable(s.condition(c.Target)) {
			return []candidate{c}
		}
	}
	return list[:min(len(list), 1)]
}

// below are the candidates that a failure of some kind may move the request
// to: never up, which is for the next turn to try, unless what is above was only
// passed over for the request's pictures; and never to a target that shares the
// allowance that is used up.
func (s *situation) below(kind models.Kind) []candidate {
	except := map[models.Target]bool{s.target.Target: true}
	for t := range s.history.left {
		except[t] = true
	}
	otherProvider := kind.Policy().Other == models.OtherProvider
	return slices.DeleteFunc(s.candidates(except), func(c candidate) bool {
		up := c.tier.Rank() < s.target.tier.Rank() && !(s.blind(c.Target) && s.sees(s.target.Target))
		return up || otherProvider && c.Provider == s.target.Provider
	})
}

// afterFailover puts the target that the session was moved to before the
// others. Within a turn a session never goes up again; between turns only when
// it may go back, or when nobody below can serve.
func (s *situation) afterFailover(list []candidate) []candidate {
	moved := s.control.failover
	switch {
	case moved.to.Target == (models.Target{}), s.request.parkRetry, !s.able(moved.to.Target),
		s.passedOver(moved.to.Target, list):
		return list
	case s.request.boundary && !s.failbackAt.After(s.now):
		return list
	}
	here := []candidate{moved.to}
	var above []candidate
	for _, c := range list {
		switch {
		case c.Target == moved.to.Target:
		case c.tier.Rank() >= moved.to.tier.Rank():
			here = append(here, c)
		case s.request.boundary:
			above = append(above, c)
		}
	}
	return append(here, above...)
}

// shortRest gives the preferred one of the candidates if it rests for so short a
// time, by the server's own word, that it is waited for rather than left.
func (s *situation) shortRest(list []candidate) (candidate, models.Condition, bool) {
	c := s.preferred()
	if list[0].Target == s.control.failover.to.Target {
		c = list[0]
	}
	condition := s.condition(c.Target)
	if !slices.Contains(list, c) || !stated(condition) || s.passedOver(c.Target, list) {
		return c, condition, false
	}
	limit := s.rules.maxWait - s.history.waited
	if condition.Fault.Kind != models.KindRate { // nobody else can serve at a limit of one's own
		limit = min(maxBackoff, limit)
	}
	return c, condition, condition.Until.Sub(s.now) <= limit
}

// What pick can find.
const (
	nobody     = iota // who may be asked now
	available         // a candidate that may be asked
	unmeasured        // that it depends on how long the request is
)

// pick finds the first candidate that may be asked now. If there is none, it
// gives the one that can be asked soonest, and its condition.
func (s *situation) pick(list []candidate, force bool) (candidate, models.Condition, int) {
	var soonest candidate
	var condition models.Condition
	for _, c := range list {
		if _, spent := s.limitOf(list, c); spent && !force {
			continue
		}
		if c.Target != s.control.failover.to.Target && s.mayBeTooSmall(c.Target) {
			if s.history.size == 0 {
				return candidate{}, models.Condition{}, unmeasured
			}
			if s.history.size > s.targets[c.Target].model.Window {
				continue
			}
		}
		if s.available(c.Target, force) {
			return c, models.Condition{}, available
		}
		own := s.condition(c.Target)
		if needsPerson(own) {
			continue
		}
		sooner := condition.Until.IsZero() || own.Until.Before(condition.Until)
		if soonest == (candidate{}) || !own.Until.IsZero() && sooner {
			soonest = c
			condition = own
		}
	}
	return soonest, condition, nobody
}

// mayBeTooSmall reports whether a target's window is smaller than the preferred
// one's: a switch must not cut the conversation short.
func (s *situation) mayBeTooSmall(t models.Target) bool {
	preferred := s.preferred().Target
	window, usual := s.targets[t].model.Window, s.targets[preferred].model.Window
	return window > 0 && t != preferred && (usual <= 0 || window < usual)
}

// probeInterval is how long a request waits at most before it looks again how
// the one request that tries a rested target went.
const probeInterval = 5 * time.Second

// minWait is waited at least: another belay's lease may end a moment late.
const minWait = 100 * time.Millisecond

// waitForSoonest waits for the target that can be asked soonest, or parks.
func (s *situation) waitForSoonest(c candidate, condition models.Condition) decision {
	fault := condition.Fault
	switch {
	case c != (candidate{}) && !condition.Until.IsZero():
		blame := fault
		if p := s.condition(s.preferred().Target); p.Fault != nil && p.State != models.Disabled &&
			!p.State.Open() {
			blame = p.Fault
		}
		return s.waitFor(c, condition, blame)
	case fault != nil && condition.State != models.Disabled:
		return decision{next: models.NextStop, fault: fault}
	}
	return decision{next: models.NextStop, fault: s.allDisabled()}
}

// waitFor waits until a target may be asked if that is soon enough, or parks
// until then. Blame is the fault to report unless there is one already.
func (s *situation) waitFor(c candidate, condition models.Condition, blame *models.Fault) decision {
	rest := condition.Until.Sub(s.now)
	left := s.rules.maxWait - s.history.waited
	onTrial := condition.State == models.HalfOpen
	if onTrial {
		rest = min(rest, probeInterval) // it is over when the request on trial is
	}
	parked := decision{next: models.NextPark, fault: s.report(cmp.Or(s.history.first, blame, condition.Fault))}
	switch {
	case condition.Until.IsZero(), onTrial && rest > left:
		return parked
	case rest > left:
		parked.until = condition.Until
		return parked
	}
	return decision{next: models.NextRetry, to: c, delay: max(rest, minWait), fault: condition.Fault, blame: blame}
}

func (s *situation) allDisabled() *models.Fault {
	return &models.Fault{Kind: models.KindRequest, Scope: models.ScopeRequest, Target: s.preferred().Target,
		Message: "every model that could serve is set aside",
		Hint:    "take one back in the capacity panel, or choose another tier"}
}
