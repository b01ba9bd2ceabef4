// Package route decides which target a request goes to, and what happens when
// an attempt fails: it is the one place where belay retries, waits, switches
// and gives up for now.
package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
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

// Breakers knows how each target is doing.
type Breakers interface {
	// Order puts a tier's targets in the order in which they should be asked.
	Order(tier []models.Target) []models.Target
	// Allow asks whether a request may go to a target now. Whoever is allowed
	// reports by Succeeded, Failed or Release. Force is a person's word.
	Allow(ctx context.Context, t models.Target, force bool) (models.Condition, bool)
	Succeeded(ctx context.Context, t models.Target, firstToken time.Duration)
	Failed(ctx context.Context, t models.Target, f *models.Fault)
	Release(ctx context.Context, t models.Target)
}

// RateLimiter is what is shared by all requests of a user.
type RateLimiter interface {
	// Retry takes one automatic retry at a provider, if there is one left.
	Retry(ctx context.Context, provider string) bool
	// Join counts a request at a provider until leave is called: clean is false when
	// there was no capacity for it. For work that nobody waits for it may wait, until
	// the context ends, for its turn. Withdraw is called in the place of leave when the
	// request was not sent after all.
	Join(ctx context.Context, provider string) (leave func(clean bool), withdraw func())
	// StartFailback notes that requests are moved away from a target, and
	// returns when they may come back; FailbackAt returns the same.
	StartFailback(ctx context.Context, t models.Target) time.Time
	FailbackAt(t models.Target) time.Time
	// Condition gives the state of a target.
	Condition(t models.Target) models.Condition
}

// Options are what a Router works with. Client, Breakers, RateLimiter, Tiers,
// Model, Now and Random are needed.
type Options struct {
	Client      models.Client
	Breakers    Breakers
	RateLimiter RateLimiter
	Tiers       map[models.Tier][]models.Target
	Model       func(models.Target) models.Model
	Names       func(ctx context.Context, provider string) ([]string, error) // what an endpoint offers; nil: unknown
	Local       func(models.Target) bool                                     // runs on this computer; nil: none does
	Endpoint    func(provider string) string                                 // its host, for the record; nil: unknown
	Record      func(ctx context.Context, a models.Attempt)                  // hears of every attempt; nil: nobody does

	Policy      Policy
	Floor       models.Tier // automatic switches never go below
	SwitchLocal bool        // an automatic switch may end at a local target
	SwitchAfter int         // capacity failures in a row before a target is left
	Attempts    int         // per request over all targets
	MaxWait     time.Duration

	Now    func() time.Time
	Random func() float64 // uniform in [0, 1)
	// Elapsed is time that stands still while the computer is suspended. Nil
	// takes the monotonic reading of Now.
	Elapsed func() time.Duration
}

// Need is what a request asks of its target, and how its user can steer it.
type Need struct {
	Control     *Control
	Images      bool           // the request holds pictures
	Wrote       bool           // this turn has changed something: switch one tier down at most
	Operation   string         // one id for all attempts
	Purpose     models.Purpose // whose it is, for the record
	NetworkWait time.Duration  // how long to wait out a lost connection; 0: as long as it takes
	SwitchAfter int            // capacity failures in a row before a target is left; 0: as the Router's Options say
	// ParkRetry says that a parked request tries again by itself: every target
	// that is not resting once, the preferred one first.
	ParkRetry bool
	Force     bool // a person wants it now: the first attempt may also go to a target that rests
	// Committed reports whether the attempt that just failed has left something that
	// its caller keeps: what follows is a new request then. Nil: nothing is kept.
	Committed func() bool
	// Shorten makes the requests that are built from now on shorter, because one has
	// been refused as too long. It reports false when they are as short as they can
	// be. Nil: they always are.
	Shorten func(refused *models.Fault) bool
	// TakeRetry takes one automatic retry out of the task's own limit. Nil: it has
	// none. When it says no, Stream ends with ErrRetries.
	TakeRetry func() bool
}

// ErrRetries says that the limit of a task's retries is reached; the failure
// that would have been the next one to retry is in the same chain.
var ErrRetries = errors.New("the limit of retries is reached")

// Build makes the request for one target. It is called anew for each attempt.
type Build func(models.Model) (models.Request, error)

// Parked says that a request has been given up for now.
type Parked struct {
	// Until is when there may be capacity, by the server's word or the target's
	// rest; zero if nobody knows.
	Until         time.Time
	Fault         *models.Fault // of the preferred target
	UserInitiated bool          // the user pressed park
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
	tiers atomic.Pointer[map[models.Tier][]models.Target]

	mu      sync.Mutex
	trying  map[models.Target]models.Condition // of requests that wait for their next attempt
	running map[string]int                     // requests by provider
}

// New returns a router. It does nothing until Stream is called.
func New(options Options) *Router {
	if options.Local == nil {
		options.Local = func(models.Target) bool { return false }
	}
	if options.Endpoint == nil {
		options.Endpoint = func(string) string { return "" }
	}
	if options.Record == nil {
		options.Record = func(context.Context, models.Attempt) {}
	}
	router := &Router{o: options, trying: map[models.Target]models.Condition{}, running: map[string]int{}}
	router.SetTiers(options.Tiers)
	return router
}

// SetTiers replaces the targets of the tiers, from the next request on.
func (r *Router) SetTiers(tiers map[models.Tier][]models.Target) { r.tiers.Store(&tiers) }

func (r *Router) rules(need Need) rules {
	o := &r.o
	return rules{
		tiers:       *r.tiers.Load(),
		policy:      o.Policy,
		floor:       o.Floor,
		switchLocal: o.SwitchLocal,
		switchAfter: cmp.Or(need.SwitchAfter, o.SwitchAfter),
		attempts:    o.Attempts,
		maxWait:     o.MaxWait,
	}
}

// Stream makes a request and keeps at it as the policy says. The sequence
// holds the chunks of every attempt, framed by AttemptStarted and
// AttemptFailed; Waiting and Switched stand between attempts. It ends after a
// Finished chunk, or with one last pair whose error is a *models.Fault or a
// *Parked. The caller may leave the loop at any chunk; leaving at an
// AttemptFailed is how it begins anew with what the attempt had finished.
func (r *Router) Stream(ctx context.Context, need Need, build Build) iter.Seq2[models.Chunk, error] {
	return func(yield func(models.Chunk, error) bool) {
		need.Control.begin()
		op := &operation{
			r:       r,
			need:    need,
			build:   build,
			yield:   yield,
			rules:   r.rules(need),
			force:   need.Force,
			history: newHistory(r.o.Now()),
		}
		op.run(ctx)
	}
}

// Model is what is known of a target: as the Options say, but with no larger
// window than its endpoint has stated.
func (r *Router) Model(t models.Target) models.Model {
	model := r.o.Model(t)
	if stated := r.o.RateLimiter.Condition(t).Window; stated > 0 && (model.Window <= 0 || stated < model.Window) {
		model.Window = stated
	}
	return model
}

// Condition gives the state of one target of a tier.
func (r *Router) Condition(tier models.Tier, target models.Target) models.Condition {
	condition := r.o.RateLimiter.Condition(target)
	r.mu.Lock()
	waiting, ok := r.trying[target]
	r.mu.Unlock()
	if ok && (condition.State.Open() || condition.State == models.HalfOpen) && waiting.Until.After(r.o.Now()) {
		condition = waiting
	}
	condition.Tier, condition.Target, condition.Short = tier, target, r.o.Model(target).Short
	return condition
}

func (r *Router) wait(t models.Target, c models.Condition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trying[t] = c
}

func (r *Router) waited(t models.Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.trying, t)
}

func (r *Router) elapsed() time.Duration {
	if r.o.Elapsed == nil {
		return 0
	}
	return r.o.Elapsed()
}

// enter counts a request at a provider and tells how many run there with it.
func (r *Router) enter(provider string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[provider]++
	return r.running[provider]
}

func (r *Router) leave(provider string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[provider]--
}
