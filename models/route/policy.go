package route

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"belay/models"
)

// The fixed numbers of the policy.
const (
	maxBackoff    = 8 * time.Second  // growing delays stop growing here
	fixedDelay    = time.Second      // network and gateway: it is not the model's fault
	offlineDelay  = 10 * time.Second // the same once a connection has been gone for longer than offlineAfter
	offlineAfter  = 30 * time.Second
	switchSoon    = 2                // failures of a server or stream before another target is tried
	settingWait   = 25 * time.Second // how long a wrong setting is waited out where nobody can correct it
	localFailures = 3                // failures in a row, at whichever targets, before a local one takes over
)

// decision is what happens next.
type decision struct {
	next  models.Next
	to    candidate     // who is asked next
	delay time.Duration // before a retry
	until time.Time     // when a parked request may be tried again; zero: at any time, or nobody knows
	fault *models.Fault // why; when the request ends, the fault to report

	measure       bool      // nothing yet: it must be known first how long the request is
	giveUpAt      time.Time // when a connection that stays lost is waited out no more; zero: never
	userInitiated bool      // by a person's hand: parked, or moved to where the control points
	force         bool      // a resting target may be asked
	shorter       bool      // the request is to be shortened
	uncounted     bool      // the wait is not taken from the time that the request has
	takesRetry    bool      // it takes one of the task's retries
	takesBudget   bool      // it takes one out of the shared retry budget
	retryLimit    bool      // it ends because the task's retries are used up
	pending       bool      // it is the wait that an earlier request of the session left
	choices       int       // how many targets could serve, at the beginning

	blame *models.Fault // the fault to report at the end, unless there is one already
}

// decide is what follows a failed attempt. The history includes the failure.
func decide(s *situation, fault *models.Fault) decision {
	switch {
	case s.cancelled != nil:
		return decision{next: models.NextStop, userInitiated: true, fault: s.cancelledFault(fault)}
	case s.control.parking:
		return decision{next: models.NextPark, userInitiated: true, fault: s.report(cmp.Or(s.history.first, fault))}
	case errors.Is(fault.Err, errTier), s.mismatched():
		return decision{next: models.NextSwitch, userInitiated: true, fault: fault}
	}
	policy := policyFor(fault, s.history.slept)
	if policy.Retry == models.RetryAdjusted {
		return decision{next: models.NextRetry, to: s.target, fault: fault, uncounted: true}
	}
	delay := s.retryDelay(fault, policy)
	shorter := fault.Kind.Policy().Retry == models.RetryShorter && !s.shortest && s.history.sent
	again := shorter || retries(policy)
	if shorter {
		delay = 0
	} else if list := s.successors(fault, policy, delay); len(list) > 0 {
		to, _, found := s.pick(list, false)
		switch {
		case found == unmeasured:
			return decision{measure: true}
		case found == available && s.taskSpent && !policy.Uncounted:
			return decision{next: models.NextStop, retryLimit: true, fault: s.final(fault)}
		case found == available:
			return decision{next: models.NextSwitch, to: to, fault: fault, takesRetry: !policy.Uncounted}
		}
	}
	if again && (shorter || !s.exhausted(fault, policy, delay)) {
		if s.taskSpent && !policy.Uncounted {
			return decision{next: models.NextStop, retryLimit: true, fault: s.final(fault)}
		}
		budgeted := !policy.Uncounted && !shorter && !fault.Delayed
		if !budgeted || !s.budgetSpent {
			return decision{next: models.NextRetry, to: s.target, delay: delay, fault: fault,
				shorter: shorter, uncounted: policy.Uncounted, takesRetry: !policy.Uncounted, takesBudget: budgeted,
				giveUpAt: s.giveUpAt(fault, policy)}
		}
	}
	if s.parks(fault, policy) {
		return decision{
			next:  models.NextPark,
			fault: s.report(cmp.Or(s.history.first, fault)),
			until: s.parkedUntil(fault),
		}
	}
	return decision{next: models.NextStop, fault: s.final(fault)}
}

// policyFor is what may follow a failure: what its kind allows, unless the
// server's own word overrides it, or the computer slept through the attempt.
func policyFor(fault *models.Fault, slept bool) models.KindPolicy {
	policy := fault.Kind.Policy()
	if policy.Uncounted && fault.Status != 0 { // a relay lost its own connection: ours is there
		policy.Uncounted = false
		policy.Switch = models.SwitchSoon
	}
	switch {
	case slept: // nobody could have answered
		policy.Retry = models.RetryFixed
		policy.Uncounted = true
		policy.Switch = models.SwitchNever
		policy.Park = models.ParkBackoff
	case fault.Adjusted != "": // each adjustment is made once, so this ends
		policy.Retry = models.RetryAdjusted
		policy.Uncounted = true
	case fault.ShouldRetry != nil && !*fault.ShouldRetry:
		policy.Retry = models.RetryNever
		policy.Switch = models.SwitchNever
	case fault.ShouldRetry != nil && !retries(policy):
		policy.Retry = models.RetryBackoff
	}
	return policy
}

// retries reports whether the same target may be asked again as it is.
func retries(p models.KindPolicy) bool {
	return p.Retry == models.RetryBackoff || p.Retry == models.RetryFixed
}

// retryDelay is how long to wait before the same target is asked again: as long
// as the server stated, or else our own delay; and at least as long as it rests.
func (s *situation) retryDelay(fault *models.Fault, policy models.KindPolicy) time.Duration {
	delay := time.Duration(s.random * float64(time.Second)) // jitter
	offline := policy.Uncounted && s.now.Sub(s.history.began) > offlineAfter
	switch {
	case s.history.slept:
		delay += fixedDelay
	case fault.Delayed && fault.RetryAfter > 0:
		delay = fault.RetryAfter
	case fault.Delayed:
	case policy.Retry == models.RetryFixed && offline:
		delay += offlineDelay
	case policy.Retry == models.RetryFixed:
		delay += fixedDelay
	default:
		delay += backoff(s.history.failures[s.target.Target])
	}
	if c := s.condition(s.target.Target); c.State == models.Resting {
		delay = max(delay, c.Until.Sub(s.now))
	}
	return delay
}

// backoff is 1, 2, 4, 8, 8, … seconds after as many failures in a row.
func backoff(failures int) time.Duration {
	if failures < 1 || failures > 3 {
		return maxBackoff
	}
	return time.Second << (failures - 1)
}

// remaining are the attempts and the waiting that the request still has. What
// was kept of a failed attempt makes the next one a new request.
func (s *situation) remaining() (attempts int, wait time.Duration) {
	if s.history.kept {
		return s.rules.attempts, s.rules.maxWait
	}
	return s.rules.attempts - s.history.attempts, s.rules.maxWait - s.history.waited
}

// giveUpAt is when a connection that stays lost is waited out no more; zero when
// it is not about one, or when somebody watches who can end the wait.
func (s *situation) giveUpAt(fault *models.Fault, policy models.KindPolicy) time.Time {
	limit := s.request.networkWait
	if !policy.Uncounted || limit <= 0 {
		return time.Time{}
	}
	if fault.Unproven {
		limit = min(limit, settingWait)
	}
	return s.history.began.Add(limit)
}

// exhausted reports whether the request's attempts or its time are used up.
func (s *situation) exhausted(fault *models.Fault, policy models.KindPolicy, delay time.Duration) bool {
	if policy.Uncounted {
		end := s.giveUpAt(fault, policy)
		return !end.IsZero() && s.now.Add(delay).After(end)
	}
	if s.request.parkRetry && !s.history.kept {
		return true // it tries each target once
	}
	attempts, wait := s.remaining()
	return attempts <= 0 || delay > wait
}

// shouldSwitch reports whether it is time to ask another target.
func (s *situation) shouldSwitch(policy models.KindPolicy, delay time.Duration) bool {
	attempts, wait := s.remaining()
	if policy.Switch == models.SwitchNever || !s.request.parkRetry && attempts <= 0 {
		return false
	}
	failures := s.history.failures[s.target.Target]
	switch {
	case policy.Switch == models.SwitchAlways:
		return true
	case !s.mayFailOver():
		return false
	case s.request.parkRetry, policy.Switch == models.SwitchAtOnce:
		return true
	case s.circuitOpen():
		return true // by the failures of others: nobody waits for a circuit where another target has capacity
	case policy.Switch == models.SwitchSoon:
		return failures >= min(switchSoon, s.rules.switchAfter)
	}
	return failures >= s.rules.switchAfter || delay > wait
}

// successors are the targets that may be asked next in the place of the one that
// failed, the first choice in front.
func (s *situation) successors(fault *models.Fault, policy models.KindPolicy, delay time.Duration) []candidate {
	list := s.standIns(policy)
	if s.shouldSwitch(policy, delay) {
		list = append(list, s.replacements(fault, delay)...)
	}
	return list
}

// standIns are the local targets of the control's own tier, once enough failures
// in a row have shown that the others have no capacity: they come before the
// targets of lower tiers, and also when the request has gone down already.
func (s *situation) standIns(policy models.KindPolicy) []candidate {
	attempts, _ := s.remaining()
	switch {
	case policy.Switch == models.SwitchNever, policy.Uncounted, policy.Other == models.OtherLarger:
		return nil
	case !s.mayFailOver(), s.request.parkRetry, attempts <= 0:
		return nil
	case s.targets[s.target.Target].local, s.failures() < localFailures:
		return nil
	}
	return slices.DeleteFunc(s.candidates(s.history.left), func(c candidate) bool {
		return c.tier != s.control.tier || !s.targets[c.Target].local
	})
}

// failures are how many failures in a row there were, at all targets together.
func (s *situation) failures() int {
	failures := 0
	for _, n := range s.history.failures {
		failures += n
	}
	return failures
}

// circuitOpen reports whether the target's circuit is open.
func (s *situation) circuitOpen() bool {
	c := s.condition(s.target.Target)
	return c.State == models.Resting && !stated(c)
}

// replacements are the targets that may take over after a failure.
func (s *situation) replacements(f *models.Fault, delay time.Duration) []candidate {
	list := s.below(f.Kind)
	if f.Kind.Policy().Other == models.OtherLarger {
		window := s.targets[s.target.Target].model.Window
		list = slices.DeleteFunc(list, func(c candidate) bool { return s.targets[c.Target].model.Window <= window })
	}
	if !s.localAllowed(f, delay) {
		list = slices.DeleteFunc(list, func(c candidate) bool { return s.targets[c.Target].local })
	}
	return list
}

// localAllowed reports whether a local target may take over: after several
// failures in a row, or when waiting for the others would take too long.
func (s *situation) localAllowed(fault *models.Fault, delay time.Duration) bool {
	_, wait := s.remaining()
	return s.targets[s.target.Target].local || s.request.parkRetry || s.circuitOpen() ||
		s.failures() >= localFailures || delay > wait || !retries(fault.Kind.Policy())
}

// parks reports whether a request whose attempts are used up is kept for later:
// when the trouble passes by itself, or is only about a target that stood in for
// one whose trouble does. A wrong setting does not pass where nobody watches.
func (s *situation) parks(f *models.Fault, policy models.KindPolicy) bool {
	if f.ShouldRetry != nil && !*f.ShouldRetry || f.Unproven && s.request.networkWait > 0 {
		return false
	}
	first := s.history.first
	standIn := policy.Breaker == models.BreakerRefused && first != nil && first.Target != f.Target
	return policy.Park != models.ParkNever || standIn && first.Kind.Policy().Park != models.ParkNever
}

// parkedUntil is when the first of the candidates may be asked again; zero if
// one may be asked at any time, or if nobody knows.
func (s *situation) parkedUntil(fault *models.Fault) time.Time {
	var soonest time.Time
	for _, c := range s.candidates(nil) {
		condition := s.condition(c.Target)
		switch {
		case condition.State == models.Disabled, needsPerson(condition):
		case condition.State == models.Unusable || condition.State == models.Resting:
			if soonest.IsZero() || condition.Until.Before(soonest) {
				soonest = condition.Until
			}
		case c.Target == fault.Target && fault.Delayed:
			soonest = s.now.Add(fault.RetryAfter)
		default:
			return time.Time{}
		}
	}
	return soonest
}
