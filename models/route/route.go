// Package route decides which target a request goes to, and what happens when
// an attempt fails: it is the one place where belay retries, waits, switches
// and gives up for now.
package route

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"belay/models"
)

// Policy is the user's word on switching.
type Policy string

// The switching policies.
const (
	Auto  Policy = "auto"  // switch, and say so
	Never Policy = "never" // wait for the preferred target, then park
	// Confirm waits like Never; the screen offers the switch as a key.
	Confirm Policy = "ask"
)

// Options are what a Router works with. Client, Tiers, Model, Now and Random
// are needed.
type Options struct {
	Client models.Client
	Tiers  map[models.Tier][]models.Target
	Model  func(models.Target) models.Model
	Names  func(ctx context.Context, provider string) ([]string, error) // what an endpoint offers; nil: unknown
	Local  func(models.Target) bool                                     // runs on this computer; nil: none does

	Policy      Policy
	Floor       models.Tier // automatic switches never go below
	SwitchLocal bool        // an automatic switch may end at a local target
	After       int         // capacity failures in a row before a target is left
	Attempts    int         // per request over all targets
	MaxWait     time.Duration

	// FailbackAfter is how long requests stay with the target that they were
	// switched to before the preferred one is tried again.
	FailbackAfter time.Duration

	Now    func() time.Time
	Random func() float64 // uniform in [0, 1)
}

// Need is what a request asks of its target, and how its user can steer it.
type Need struct {
	Lever     *Lever
	Images    bool          // the request holds pictures
	Wrote     bool          // this turn has changed something: switch one tier down at most
	Operation string        // one id for all attempts
	Network   time.Duration // how long to wait out a lost connection; 0: as long as it takes
}

// Build makes the request for one target. It is called anew for each attempt.
type Build func(models.Model) (models.Request, error)

// Parked says that a request has been given up for now.
type Parked struct {
	Until time.Time     // the server's own word on when to come back; zero if it gave none
	Fault *models.Fault // of the preferred target
	Asked bool          // the user pressed park
}

// Error says why the request is parked.
func (p *Parked) Error() string { return fmt.Sprintf("parked: %v", p.Fault) }

// Unwrap gives the fault.
func (p *Parked) Unwrap() error {
	if p.Fault == nil {
		return nil
	}
	return p.Fault
}

// Router sends requests to targets.
type Router struct {
	o     Options
	board board
}

// New returns a router. It does nothing until Stream is called.
func New(o Options) *Router {
	if o.Local == nil {
		o.Local = func(models.Target) bool { return false }
	}
	return &Router{o: o, board: board{conditions: map[models.Target]models.Condition{}}}
}

// Stream makes a request and keeps at it as the policy says. The sequence
// holds the chunks of every attempt, framed by AttemptStarted and
// AttemptFailed; Waiting and Switched stand between attempts. It ends after a
// Finished chunk, or with one last pair whose error is a *models.Fault or a
// *Parked. The caller may leave the loop at any chunk; leaving at an
// AttemptFailed is how it begins anew with what the attempt had finished.
func (r *Router) Stream(ctx context.Context, need Need, build Build) iter.Seq2[models.Chunk, error] {
	return func(yield func(models.Chunk, error) bool) {
		need.Lever.begin()
		op := &operation{r: r, need: need, build: build, yield: yield, failed: map[models.Target]int{}, began: r.o.Now()}
		op.run(ctx)
	}
}

// operation is one request on its way to a reply.
type operation struct {
	r     *Router
	need  Need
	build Build
	yield func(models.Chunk, error) bool

	began    time.Time
	tier     models.Tier
	target   models.Target
	attempts int                   // that count
	waited   time.Duration         // that counts
	failed   map[models.Target]int // failures in a row that speak for leaving a target
	first    *models.Fault         // of the preferred target
	skip     map[models.Target]bool
}

// errLeft says that the caller has left the loop.
var errLeft = errors.New("the caller left")

func (op *operation) run(ctx context.Context) {
	op.skip = map[models.Target]bool{}
	err := op.start(ctx)
	for err == nil {
		if err = op.steer(ctx); err != nil {
			break
		}
		fault := op.attempt(ctx)
		switch {
		case fault == nil:
			return
		case fault != unsent:
			err = op.after(ctx, fault)
		}
	}
	if !errors.Is(err, errLeft) {
		op.yield(nil, err)
	}
}

// unsent stands for an attempt that ended before it began.
var unsent = &models.Fault{}

// steer does before an attempt what the lever asks for.
func (op *operation) steer(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return &models.Fault{Kind: models.KindCancelled, Scope: models.ScopeRequest, Target: op.target, Err: context.Cause(ctx)}
	case op.need.Lever.parking():
		return &Parked{Fault: op.first, Asked: true}
	case op.need.Lever.pin() && op.need.Lever.Tier() != op.tier:
		return op.follow()
	}
	return nil
}

// start takes the target that the last requests were moved to, as long as it
// is too early to go back, and the lever's tier otherwise.
func (op *operation) start(ctx context.Context) error {
	if t, tier, ok := op.need.Lever.lent(op.began, op.r.o.FailbackAfter); ok {
		op.target, op.tier = t, tier
	} else if err := op.choose(op.need.Lever.Tier()); err != nil {
		return err
	}
	if due, ok := op.need.Lever.due(op.target); ok && due.until.After(op.began) {
		return op.wait(ctx, due.fault, due.until.Sub(op.began))
	}
	return nil
}

// choose takes the first target of a tier that can do what is needed.
func (op *operation) choose(tier models.Tier) error {
	targets := op.r.o.Tiers[tier]
	if len(targets) == 0 {
		return &models.Fault{Kind: models.KindModel, Scope: models.ScopeRequest,
			Message: fmt.Sprintf("the tier %s has no model", tier),
			Hint:    fmt.Sprintf("name one in the settings: [tiers] %s = [\"provider/model\"]", tier)}
	}
	for _, t := range targets {
		if !op.skip[t] && op.able(t) {
			op.tier, op.target = tier, t
			return nil
		}
	}
	op.tier, op.target = tier, targets[0]
	return nil
}

func (op *operation) able(t models.Target) bool {
	m := op.r.o.Model(t)
	return m.Tools && (m.Images || !op.need.Images)
}

// attempt makes one attempt and passes its chunks on. It returns nil when
// there is nothing more to do: the reply is complete, or the caller left.
func (op *operation) attempt(ctx context.Context) *models.Fault {
	r := op.r
	ctx, release := op.need.Lever.attempt(ctx, op.tier)
	defer release()
	model := r.o.Model(op.target)
	req, err := op.build(model)
	if ctx.Err() != nil {
		return unsent // building takes a while: the lever moved meanwhile
	}
	if err != nil {
		var f *models.Fault
		if !errors.As(err, &f) {
			f = &models.Fault{Kind: models.KindRequest, Scope: models.ScopeRequest, Target: op.target, Message: err.Error(), Err: err}
		}
		return f
	}
	req.Operation = op.need.Operation
	op.attempts++
	if !op.yield(models.AttemptStarted{Number: op.attempts, Of: r.o.Attempts, Tier: op.tier, Target: op.target}, nil) {
		return nil
	}
	for chunk, err := range r.o.Client.Stream(ctx, op.target, req) {
		if err != nil {
			var f *models.Fault
			if !errors.As(err, &f) {
				f = &models.Fault{Kind: models.KindStream, Target: op.target, Message: err.Error(), Err: err}
			}
			return f
		}
		if _, done := chunk.(models.Finished); done {
			r.board.set(op.target, models.Condition{State: models.Ready})
		}
		if !op.yield(chunk, nil) {
			return nil
		}
		if _, done := chunk.(models.Finished); done {
			return nil
		}
	}
	return &models.Fault{Kind: models.KindStream, Scope: models.ScopeProvider, Target: op.target, Message: "the reply ended without a closing event"}
}
