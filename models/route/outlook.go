package route

import (
	"context"
	"slices"

	"belay/models"
)

// Outlook gives the state of every target of every tier, heavy first, as the next
// request of a control would meet it: who would answer it, in whose place, and who
// is passed over. It decides by the same functions as a request, and touches memory
// alone.
func (r *Router) Outlook(control *Control) []models.Condition {
	s, next := r.foresee(control)
	var list []models.Condition
	for _, tier := range models.Tiers() {
		for _, t := range (*r.tiers.Load())[tier] {
			list = append(list, r.foreseen(s, candidate{t, tier}, next))
		}
	}
	return list
}

// Conditions gives of each tier the target that stands for it, heavy first: the
// preferred one of the control's tier, and the first to be asked of the others. A
// tier without targets is left out.
func (r *Router) Conditions(control *Control) []models.Condition {
	s, next := r.foresee(control)
	var list []models.Condition
	for _, tier := range models.Tiers() {
		if len(s.order[tier]) == 0 {
			continue
		}
		shown := candidate{s.order[tier][0], tier}
		if preferred := s.preferred(); preferred.tier == tier {
			shown = preferred
		}
		list = append(list, r.foreseen(s, shown, next))
	}
	return list
}

// First is the target of a tier that is asked first; of the heaviest tier with models
// where that tier has none.
func (r *Router) First(tier models.Tier) models.Target {
	for _, tier := range append([]models.Tier{tier}, models.Tiers()...) {
		if order := r.o.Breakers.Order((*r.tiers.Load())[tier]); len(order) > 0 {
			return order[0]
		}
	}
	return models.Target{}
}

// foresee is the situation of a control's next request, and who would answer it;
// the zero candidate if nobody can.
func (r *Router) foresee(control *Control) (*situation, candidate) {
	op := &operation{
		r: r, need: Need{Control: control}, rules: r.rules(Need{}), boundary: control.state().turnEnded,
		history: newHistory(r.o.Now()),
	}
	op.history.size = -1 // not known: any window will do
	s := op.gather(context.Background(), &answers{})
	switch chosen := begin(s); chosen.next {
	case models.NextSwitch, models.NextRetry:
		return s, chosen.to
	}
	return s, candidate{}
}

// foreseen is the state of a target in a situation.
func (r *Router) foreseen(s *situation, shown candidate, next candidate) models.Condition {
	condition := r.Condition(shown.tier, shown.Target)
	if limit, ok := s.limitOf(s.candidates(nil), shown); ok && condition.State.Open() {
		condition.State, condition.Until, condition.Fault = models.Resting, limit.Until, limit.Fault
	}
	moved := s.control.failover
	if shown.Target == moved.from && condition.State.Open() && s.failbackAt.After(s.now) {
		condition.Until = s.failbackAt
	}
	condition.Answers = shown == next
	if shown == s.preferred() && next.Target != shown.Target {
		condition.StandIn = next.Target
	}
	return condition
}

// limitOf is the condition of the target before a candidate in a list that has used
// up the account's limit for both.
func (s *situation) limitOf(list []candidate, of candidate) (models.Condition, bool) {
	for _, c := range list[:max(slices.Index(list, of), 0)] {
		if c.Provider == of.Provider && !s.available(c.Target, false) && sharesLimit(s.condition(c.Target)) {
			return s.condition(c.Target), true
		}
	}
	return models.Condition{}, false
}

// sharesLimit reports whether what speaks against a target is the account's limit,
// and so speaks against the provider's others.
func sharesLimit(c models.Condition) bool {
	return c.Fault != nil && c.State != models.Disabled && !needsPerson(c) &&
		c.Fault.Kind.Policy().Other == models.OtherProvider
}

// successor is who is asked in the end if the target goes on failing like this; the
// zero target if nobody is.
func (s *situation) successor(fault *models.Fault) models.Target {
	if fault == nil || policyFor(fault, s.history.slept).Uncounted {
		return models.Target{}
	}
	imagined := *s
	history := s.history.clone()
	imagined.history = &history
	if history.size == 0 {
		history.size = -1
	}
	for range s.rules.attempts {
		history.attempts++
		history.failures[s.target.Target]++
		switch chosen := decide(&imagined, fault); chosen.next {
		case models.NextSwitch:
			return chosen.to.Target
		case models.NextRetry:
			history.waited += chosen.delay
		default:
			return models.Target{}
		}
	}
	return models.Target{}
}
