package route

import (
	"maps"
	"slices"
	"time"

	"belay/models"
)

// situation is everything that a decision depends on, gathered before it is
// made. The functions on it read no clock, draw no number and ask nobody.
type situation struct {
	now    time.Time
	random float64 // uniform in [0, 1)

	rules   *rules
	request request
	control controlState
	history *history
	target  candidate // the one that was asked

	order      map[models.Tier][]models.Target // each tier's targets as they should be asked
	targets    map[models.Target]targetState
	failbackAt time.Time // when a session that an automatic switch moved may go back
	cancelled  error     // why the caller has ended the request

	shortest    bool // the request cannot be made shorter
	taskSpent   bool // the task's own limit of retries is reached
	budgetSpent bool // the retry budget that all sessions share is empty
}

// request is what the request asks of its targets.
type request struct {
	images      bool
	wrote       bool          // its turn has changed something
	parkRetry   bool          // a parked request tries again by itself
	force       bool          // a person wants it now: the next attempt may also go to a target that rests
	networkWait time.Duration // how long to wait out a lost connection; 0: as long as it takes
	boundary    bool          // it is the first of a turn
}

// targetState is how a target is doing.
type targetState struct {
	model     models.Model
	local     bool // runs on this computer
	condition models.Condition
	refused   bool // it was asked for just now, and the answer was no
}

// history is what has happened to a request so far.
type history struct {
	began    time.Time
	attempts int                           // that count
	waited   time.Duration                 // that counts
	failures map[models.Target]int         // in a row, that speak for leaving a target
	closed   map[models.Target]int         // connections in a row that were closed without an answer
	left     map[models.Target]bool        // targets that were left already
	tried    map[models.Target]models.Kind // how each target failed last
	sent     bool                          // a request has gone out
	size     int64                         // for the preferred target, in tokens; 0: not measured, -1: not known
	kept     bool                          // the failed attempt has finished something: what follows is a new request
	slept    bool                          // the computer was suspended during the last attempt
	first    *models.Fault                 // of the preferred target
}

func newHistory(began time.Time) history {
	return history{
		began:    began,
		failures: map[models.Target]int{},
		closed:   map[models.Target]int{},
		left:     map[models.Target]bool{},
		tried:    map[models.Target]models.Kind{},
	}
}

// clone is a history that can be written on without changing this one.
func (h *history) clone() history {
	c := *h
	c.failures = maps.Clone(h.failures)
	return c
}

// restart forgets the attempts: a person wants the request made anew.
func (h *history) restart() {
	h.attempts = 0
	h.waited = 0
	h.size = 0
	h.first = nil
	clear(h.failures)
	clear(h.closed)
	clear(h.left)
}

// rules are the settings that decisions depend on.
type rules struct {
	tiers       map[models.Tier][]models.Target
	policy      Policy
	floor       models.Tier
	switchLocal bool
	switchAfter int
	attempts    int
	maxWait     time.Duration
}

// condition is how a target is doing.
func (s *situation) condition(t models.Target) models.Condition { return s.targets[t].condition }

// available reports whether a target may be asked now.
func (s *situation) available(t models.Target, force bool) bool {
	state := s.targets[t]
	c := state.condition
	if force {
		return c.State != models.Disabled
	}
	return !state.refused && (c.State.Open() || c.State == models.HalfOpen && c.Until.IsZero())
}

// able reports whether a target has what every request needs.
func (s *situation) able(t models.Target) bool { return s.targets[t].model.Tools }

// blind reports whether a target is known not to see the pictures of the request.
// It gets a line of text in their place, and is asked after those that see them.
func (s *situation) blind(t models.Target) bool {
	return s.request.images && s.targets[t].model.Blind()
}

// sees reports whether a target is known to see pictures.
func (s *situation) sees(t models.Target) bool { return s.targets[t].model.Images }

// seeingFirst puts those that see the request's pictures before the first that
// does not, and leaves the others in their order.
func (s *situation) seeingFirst(list []candidate) []candidate {
	first := slices.IndexFunc(list, func(c candidate) bool { return s.blind(c.Target) })
	if first < 0 {
		return list
	}
	var seeing, others []candidate
	for _, c := range list[first:] {
		if s.sees(c.Target) {
			seeing = append(seeing, c)
		} else {
			others = append(others, c)
		}
	}
	return slices.Concat(list[:first], seeing, others)
}

// passedOver reports whether a target stands behind others only because it does
// not see the request's pictures.
func (s *situation) passedOver(t models.Target, list []candidate) bool {
	return s.blind(t) && slices.ContainsFunc(list, func(c candidate) bool { return s.sees(c.Target) })
}

// mayFailOver reports whether the request may leave its target by itself.
func (s *situation) mayFailOver() bool { return s.rules.policy == Auto && !s.control.pinned() }

// mismatched reports whether the user wants the running request to go elsewhere.
func (s *situation) mismatched() bool { return s.control.mismatched(s.target) }

// preferred is the target that the user would rather have.
func (s *situation) preferred() candidate { return s.rules.preferred(s.control) }

// tierOf is the tier that a target stands in; the control's, if it is in several.
func (s *situation) tierOf(t models.Target) models.Tier { return s.rules.tierOf(t, s.control.tier) }

func (r *rules) preferred(at controlState) candidate {
	if at.only != (models.Target{}) {
		return candidate{at.only, r.tierOf(at.only, at.tier)}
	}
	for _, t := range r.tiers[at.tier] {
		return candidate{t, at.tier}
	}
	return candidate{tier: at.tier} // a tier without models was chosen just now
}

func (r *rules) tierOf(t models.Target, top models.Tier) models.Tier {
	if slices.Contains(r.tiers[top], t) {
		return top
	}
	for _, tier := range models.Tiers() {
		if slices.Contains(r.tiers[tier], t) {
			return tier
		}
	}
	return top
}

// needsPerson reports whether a target is unusable for a reason that does not
// pass by itself: its key, plan or name was refused.
func needsPerson(c models.Condition) bool {
	return c.State == models.Unusable && c.Fault != nil && c.Fault.Kind.Policy().Park == models.ParkNever
}

// unavailable reports whether a target is not worth waiting for: the user set it
// aside, its key or name is refused, or nothing runs there.
func unavailable(c models.Condition) bool {
	absent := c.State == models.Resting && c.Fault != nil && c.Fault.Kind == models.KindAbsent
	return c.State == models.Disabled || needsPerson(c) || absent
}

// stated reports whether a target rests by the server's own word.
func stated(c models.Condition) bool {
	return c.State == models.Resting && c.Fault != nil && c.Fault.Delayed && c.Fault.RetryAfter > 0
}
