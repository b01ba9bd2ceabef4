package route

import (
	"context"
	"errors"
	"sync"
	"time"

	"belay/models"
)

// Control is a person's hand on a session's requests. Its methods may be called
// at any time from anywhere; they act on the request that waits or streams.
type Control struct {
	mu      sync.Mutex
	current controlState
	busy    bool                    // a turn is under way
	cancel  context.CancelCauseFunc // of the attempt that runs
	wake    chan struct{}           // ends a wait
}

// controlState is where a control stands at one moment.
type controlState struct {
	tier         models.Tier
	only         models.Target // the user pinned it: nobody else is asked; zero: no pin
	noFailover   bool          // no automatic switch leaves the tier
	chosen       bool          // the tier was chosen while a request was running: no automatic switch until it is done
	parking      bool          // the user gives the request up for now
	failover     failover      // where the last automatic switch has taken the session
	lastTarget   candidate     // who was asked last
	stickyTarget candidate     // the same since a tier was chosen: a pin keeps to it
	turnEnded    bool          // since the last request: the time to go back
	pending      pendingWait   // that the caller of the last request left
}

// failover is where an automatic switch has taken the session.
type failover struct {
	to   candidate
	from models.Target // the preferred one
}

// pendingWait is how long the next request must wait, because the one before
// was left at a failure that asked for it.
type pendingWait struct {
	candidate
	until time.Time
	fault *models.Fault
}

// The causes with which a control ends an attempt.
var (
	errTier = errors.New("another tier was chosen")
	errPark = errors.New("parked by the user")
)

// NewControl returns a control that stands at a tier.
func NewControl(tier models.Tier) *Control {
	return &Control{current: controlState{tier: tier}, wake: make(chan struct{}, 1)}
}

// Tier is the tier the control stands at.
func (c *Control) Tier() models.Tier { return c.state().tier }

// Choose takes a tier. A request that waits or streams goes on at once with
// the new tier and stays there; choosing the tier it already has does nothing,
// unless an automatic switch has taken the session elsewhere: then it goes back.
func (c *Control) Choose(tier models.Tier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.current
	if was.tier == tier && was.failover == (failover{}) && was.only == (models.Target{}) {
		return
	}
	if was.tier != tier || was.only != (models.Target{}) {
		c.current.lastTarget = candidate{} // the next request begins there: nobody switches behind the user's back
	}
	c.current.tier = tier
	c.current.only = models.Target{}
	c.current.chosen = c.busy
	c.forgetLocked()
	c.signalLocked(errTier)
}

// Pin keeps all requests at one target until a tier is chosen, or until it is
// called with the zero Target. A request that waits or streams goes there.
func (c *Control) Pin(target models.Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.only == target {
		return
	}
	c.current.only = target
	c.current.lastTarget = candidate{}
	c.forgetLocked()
	if target != (models.Target{}) {
		c.current.chosen = c.busy
		c.signalLocked(errTier)
	}
}

// forgetLocked drops what no longer holds once a person has chosen.
func (c *Control) forgetLocked() {
	c.current.failover = failover{}
	c.current.stickyTarget = candidate{}
	c.current.pending = pendingWait{}
}

// SetNoFailover keeps automatic switches from leaving the tier, or allows them
// again: for work that another tier would spoil.
func (c *Control) SetNoFailover(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.noFailover = on
}

// Now ends a wait.
func (c *Control) Now() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy && c.cancel == nil {
		c.signalLocked(nil)
	}
}

// Park gives the request up for now.
func (c *Control) Park() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		c.current.parking = true
		c.signalLocked(errPark)
	}
}

func (c *Control) signalLocked(cause error) {
	if !c.busy {
		return
	}
	if c.cancel != nil {
		c.cancel(cause)
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Release ends a turn: the pin that a key press set is over.
func (c *Control) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	c.current.chosen = false
	c.current.parking = false
	c.current.turnEnded = true
}

// begin notes that a request is under way, and forgets what was pressed before.
func (c *Control) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = true
	select {
	case <-c.wake:
	default:
	}
}

func (c *Control) state() controlState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// pinned reports whether no automatic switch may happen.
func (s controlState) pinned() bool {
	return s.noFailover || s.chosen || s.only != (models.Target{})
}

// mismatched reports whether the user wants the running request to go elsewhere.
func (s controlState) mismatched(at candidate) bool {
	if s.only != (models.Target{}) {
		return s.only != at.Target
	}
	return s.chosen && s.tier != at.tier
}

// setFailover remembers an automatic switch; the zero value, that it is over.
func (c *Control) setFailover(f failover) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.failover = f
}

// requestBegan forgets what is for the first decision of a request only.
func (c *Control) requestBegan() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.turnEnded = false
	c.current.pending = pendingWait{}
}

// setTarget notes who is asked.
func (c *Control) setTarget(at candidate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.lastTarget = at
	c.current.stickyTarget = at
}

// setPendingWait remembers a wait that the caller left.
func (c *Control) setPendingWait(w pendingWait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.pending = w
}

// attempt gives the context of one attempt, which the control can end, and has
// ended if a person wanted something else just before.
func (c *Control) attempt(parent context.Context, at candidate) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = cancel
	select {
	case <-c.wake: // of a choice that the attempt follows already
	default:
	}
	switch {
	case c.current.parking:
		cancel(errPark)
	case c.current.mismatched(at):
		cancel(errTier)
	}
	return ctx, func() {
		c.mu.Lock()
		c.cancel = nil
		c.mu.Unlock()
		cancel(nil)
	}
}

// waitPoll is how often the wait for a retry compares the wall clock.
const waitPoll = 5 * time.Second

// wait sleeps until a time, or until the user does something: that is early.
func (c *Control) wait(ctx context.Context, now func() time.Time, until time.Time) (early bool, err error) {
	return sleepUntil(ctx, now, until, waitPoll, c.wake)
}
