package route

import (
	"context"
	"errors"
	"fmt"
	"time"

	"belay/models"
)

// operation is one request on its way to a reply. It carries out what the
// policy decides, and decides nothing itself.
type operation struct {
	r     *Router
	need  Need
	build Build
	yield func(models.Chunk, error) bool
	rules rules

	history  history
	target   candidate
	admitted bool            // the breakers have let the next attempt through
	force    bool            // a person wants the next attempt now
	boundary bool            // the request is the first of a turn
	choices  int             // targets that a parked request tries again
	made     int             // attempts, also those that do not count
	delay    time.Duration   // before the attempt that runs
	last     *models.Attempt // not recorded yet: what follows it is not known
}

// errLeft says that the caller has left the loop.
var errLeft = errors.New("the caller left")

// unsent stands for an attempt that ended before it began.
var unsent = &models.Fault{}

func (op *operation) run(ctx context.Context) {
	err := op.begin(ctx)
	for err == nil {
		if err = op.steer(ctx); err != nil {
			break
		}
		if !op.admitted {
			if err = op.admit(ctx); err != nil || !op.admitted {
				continue // somebody else is asked, or the wait is over: look at the control again
			}
		}
		fault := op.attempt(ctx)
		switch {
		case fault == nil:
			op.record(ctx, "")
			return
		case fault != unsent:
			err = op.failed(ctx, fault)
		}
	}
	op.giveBack(ctx)
	op.record(ctx, "")
	if !errors.Is(err, errLeft) {
		op.yield(nil, err)
	}
}

// begin finds the first target, and waits for it if need be.
func (op *operation) begin(ctx context.Context) error {
	for {
		at := op.need.Control.state()
		if ctx.Err() != nil || at.parking {
			return op.steer(ctx)
		}
		op.boundary = op.boundary || at.turnEnded
		chosen := op.settle(ctx, answers{}, begin)
		if chosen.choices > 0 {
			op.need.Control.requestBegan()
		}
		if op.need.ParkRetry {
			op.choices = chosen.choices
		}
		if chosen.next == models.NextSwitch {
			return op.enter(ctx, chosen.to)
		}
		if err := op.applyDecision(ctx, chosen); err != nil || chosen.pending {
			return err
		}
		if op.need.Control.state().mismatched(op.target) {
			return nil // the control moved: the loop follows it
		}
	}
}

// steer does before an attempt what the control asks for.
func (op *operation) steer(ctx context.Context) error {
	at := op.need.Control.state()
	switch {
	case ctx.Err() != nil:
		return op.cancelled(ctx)
	case at.parking:
		return &Parked{Fault: op.history.first, UserInitiated: true}
	case at.mismatched(op.target):
		return op.follow(ctx)
	}
	return nil
}

func (op *operation) cancelled(ctx context.Context) error {
	return &models.Fault{
		Kind:   models.KindCancelled,
		Scope:  models.ScopeRequest,
		Target: op.target.Target,
		Err:    context.Cause(ctx),
	}
}

// admit asks the breakers before another attempt at the same target: meanwhile
// it may have begun to rest. Without admitted set the loop comes back here.
func (op *operation) admit(ctx context.Context) error {
	condition, ok := op.r.o.Breakers.Allow(ctx, op.target.Target, op.force)
	if ok {
		op.admitted = true
		return nil
	}
	d := op.settle(ctx, answers{}, func(s *situation) decision { return readmit(s, condition) })
	if d.next == models.NextSwitch {
		return op.switchTo(ctx, d)
	}
	return op.applyDecision(ctx, d)
}

// follow goes where the control points. The attempts begin anew, for it is a
// person's decision.
func (op *operation) follow(ctx context.Context) error {
	op.giveBack(ctx)
	op.history.restart()
	chosen := op.settle(ctx, answers{}, follow)
	if chosen.next != models.NextSwitch {
		return op.applyDecision(ctx, chosen)
	}
	from := op.target
	op.record(ctx, chosen.to.String())
	op.target = chosen.to
	op.admitted = true
	if chosen.to == from {
		return nil // the control was moved away and back
	}
	return op.announce(
		models.Switched{From: from.Target, To: chosen.to.Target, FromTier: from.tier, ToTier: chosen.to.tier},
	)
}

// failed carries out what follows a failed attempt. A nil error means that the
// next attempt may start.
func (op *operation) failed(ctx context.Context, fault *models.Fault) error {
	op.note(fault)
	chosen := op.settle(ctx, answers{random: op.r.o.Random()}, func(s *situation) decision { return decide(s, fault) })
	if chosen.userInitiated && chosen.next == models.NextStop {
		return chosen.fault
	}
	failed := models.AttemptFailed{
		Number: max(op.history.attempts, 1),
		Of:     op.of(),
		Tier:   op.target.tier,
		Target: op.target.Target,
		Fault:  fault,
		Next:   chosen.next,
		Cost:   op.r.o.Model(op.target.Target).Cost(fault.Usage),
	}
	if chosen.shorter {
		op.history.attempts-- // each size is tried once, whatever the limit of attempts
	}
	if op.uncounted(fault) {
		failed.Number = op.history.attempts + 1 // it was made, though it does not count
	}
	if chosen.next == models.NextRetry {
		failed.Delay = chosen.delay
	}
	if !op.yield(failed, nil) {
		op.left(ctx, chosen)
		return errLeft
	}
	if chosen.userInitiated && chosen.next == models.NextSwitch {
		return op.follow(ctx)
	}
	if op.history.kept && !chosen.retryLimit { // a new request, though the caller stayed
		op.history.attempts = 0
		op.history.waited = 0
	}
	switch {
	case chosen.next == models.NextSwitch:
		return op.switchTo(ctx, chosen)
	case chosen.next == models.NextPark && !chosen.userInitiated: // the user may have chosen another tier meanwhile
		chosen.until = op.gather(ctx, &answers{}).parkedUntil(fault)
	}
	return op.applyDecision(ctx, chosen)
}

// note adds a failure to the history.
func (op *operation) note(fault *models.Fault) {
	past := &op.history
	past.kept = op.need.Committed != nil && op.need.Committed()
	if fault.Kind == models.KindCancelled && !past.slept {
		return
	}
	if fault.Adjusted != "" {
		past.attempts-- // it was only learned how to ask
		return
	}
	if past.first == nil || past.first.Contact == models.ContactClosed && past.first.Target == fault.Target {
		past.first = fault // what looked like the network's may turn out to be the server's
	}
	past.tried[op.target.Target] = fault.Kind
	if op.uncounted(fault) {
		past.attempts--
	} else {
		past.failures[op.target.Target]++
	}
}

func (op *operation) uncounted(f *models.Fault) bool { return policyFor(f, op.history.slept).Uncounted }

// left keeps for the next request what was announced to a caller that left.
func (op *operation) left(ctx context.Context, chosen decision) {
	switch {
	case chosen.userInitiated:
	case chosen.next == models.NextRetry:
		op.need.Control.setPendingWait(pendingWait{op.target, op.r.o.Now().Add(chosen.delay), chosen.fault})
	case chosen.next == models.NextSwitch:
		op.failOver(ctx, chosen.to)
		op.r.o.Breakers.Release(ctx, chosen.to.Target)
	}
}

// answers are what the policy learns while its decision is settled.
type answers struct {
	random      float64
	refused     map[models.Target]bool
	taskSpent   bool
	budgetSpent bool
	shortest    bool
}

// settle asks the policy until what it decides can be had: a target may refuse
// the request after all, a limit of retries may be used up. Each such answer is
// a fact of the next question.
func (op *operation) settle(ctx context.Context, known answers, policy func(*situation) decision) decision {
	known.refused = map[models.Target]bool{}
	for {
		s := op.gather(ctx, &known)
		chosen := policy(s)
		switch {
		case chosen.measure:
			op.measure(s)
		case op.reserve(ctx, chosen, &known):
			if op.history.first == nil {
				op.history.first = chosen.blame
			}
			return chosen
		}
	}
}

// reserve takes what a decision needs: the target's permission, a shorter request,
// a retry of the task, one of the shared budget. It reports whether all was there.
func (op *operation) reserve(ctx context.Context, chosen decision, known *answers) bool {
	asks := chosen.next == models.NextSwitch && !chosen.userInitiated
	if asks {
		if _, ok := op.r.o.Breakers.Allow(ctx, chosen.to.Target, chosen.force); !ok {
			known.refused[chosen.to.Target] = true
			return false
		}
	}
	if chosen.shorter && !op.need.Shorten(chosen.fault) {
		known.shortest = true
		return false
	}
	if chosen.takesRetry && op.need.TakeRetry != nil && !op.need.TakeRetry() {
		if asks {
			op.r.o.Breakers.Release(ctx, chosen.to.Target)
		}
		known.taskSpent = true
		return false
	}
	if chosen.takesBudget && !op.r.o.RateLimiter.Retry(ctx, op.target.Provider) {
		known.budgetSpent = true
		return false
	}
	return true
}

// gather collects everything that a decision depends on.
func (op *operation) gather(ctx context.Context, known *answers) *situation {
	router := op.r
	s := &situation{
		now:     router.o.Now(),
		random:  known.random,
		rules:   &op.rules,
		control: op.need.Control.state(),
		history: &op.history,
		target:  op.target,
		request: request{
			images: op.need.Images, wrote: op.need.Wrote, parkRetry: op.need.ParkRetry, force: op.force,
			networkWait: op.need.NetworkWait, boundary: op.boundary,
		},
		order:       map[models.Tier][]models.Target{},
		targets:     map[models.Target]targetState{},
		taskSpent:   known.taskSpent,
		budgetSpent: known.budgetSpent,
		shortest:    known.shortest || op.need.Shorten == nil,
	}
	if ctx.Err() != nil {
		s.cancelled = context.Cause(ctx)
	}
	moved := s.control.failover
	if moved != (failover{}) {
		s.failbackAt = router.o.RateLimiter.FailbackAt(moved.from)
	}
	all := []models.Target{op.target.Target, s.control.only, moved.to.Target}
	for tier, targets := range op.rules.tiers {
		s.order[tier] = router.o.Breakers.Order(targets)
		all = append(all, targets...)
	}
	for _, t := range all {
		if _, known := s.targets[t]; !known && t != (models.Target{}) {
			s.targets[t] = targetState{
				model:     router.Model(t),
				local:     router.o.Local(t),
				condition: router.o.RateLimiter.Condition(t),
			}
		}
	}
	for t := range known.refused {
		state := s.targets[t]
		state.refused = true
		s.targets[t] = state
	}
	return s
}

// measure finds out how long the request is for the preferred target.
func (op *operation) measure(s *situation) {
	op.history.size = -1 // not known
	req, err := op.build(s.targets[s.preferred().Target].model)
	if err == nil && req.Tokens > 0 {
		op.history.size = req.Tokens
	}
}

// applyDecision does what was decided, unless that is a switch.
func (op *operation) applyDecision(ctx context.Context, chosen decision) error {
	switch {
	case chosen.retryLimit:
		return fmt.Errorf("%w: %w", ErrRetries, chosen.fault)
	case chosen.next == models.NextPark:
		return &Parked{Fault: chosen.fault, Until: chosen.until, UserInitiated: chosen.userInitiated}
	case chosen.next == models.NextStop:
		return chosen.fault
	}
	op.target = chosen.to
	return op.wait(ctx, chosen)
}

// checkName asks the endpoint for its names once it has refused one. They say
// which were meant, or that the name is right and the path is not; the endpoint
// may refuse to list them.
func (op *operation) checkName(ctx context.Context, fault *models.Fault) {
	if fault.Kind != models.KindModel || len(fault.Nearest) > 0 || op.r.o.Names == nil || ctx.Err() != nil {
		return
	}
	names, err := op.r.o.Names(ctx, fault.Target.Provider)
	if err == nil {
		fault.CheckName(names)
	}
}
