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
	mu     sync.Mutex
	tier   models.Tier
	only   models.Target // the user pinned it: nobody else is asked; zero: no pin
	stay   bool          // no automatic switch leaves the tier it stands at
	pinned bool          // chosen while a request was running: no automatic switch until it is done
	busy   bool
	park   bool
	cancel context.CancelCauseFunc
	wake   chan struct{}
	away   away
	rest   rest
	by     candidate // who was asked last
	held   candidate // the same since the last choice: a pin keeps to it
	fresh  bool      // a turn has ended since: the time to go back
}

// rest is how long the next request must wait, because the one before was
// left at a failure that asked for it.
type rest struct {
	candidate
	until time.Time
	fault *models.Fault
}

// away is where an automatic switch has taken the session.
type away struct {
	target models.Target
	tier   models.Tier
	from   models.Target // the preferred one
}

// The causes with which a lever ends an attempt.
var (
	errTier = errors.New("another tier was chosen")
	errPark = errors.New("parked by the user")
)

// NewControl returns a lever that stands at a tier.
func NewControl(tier models.Tier) *Control {
	return &Control{tier: tier, wake: make(chan struct{}, 1)}
}

// Tier is the tier the lever stands at.
func (l *Control) Tier() models.Tier {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tier
}

// Choose moves the lever. A request that waits or streams goes on at once with
// the new tier and stays there; choosing the tier it already has does nothing,
// unless an automatic switch has taken the session elsewhere: then it goes back.
func (l *Control) Choose(tier models.Tier) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tier == tier && l.away == (away{}) && l.only == (models.Target{}) {
		return
	}
	if l.tier != tier || l.only != (models.Target{}) {
		l.by = candidate{} // the next request begins there: nobody switches behind the user's back
	}
	l.only, l.held = models.Target{}, candidate{}
	l.tier, l.pinned, l.away, l.rest = tier, l.busy, away{}, rest{}
	l.signal(errTier)
}

// Pin keeps all requests at one target until a tier is chosen, or until it is
// called with the zero Target. A request that waits or streams goes there.
func (l *Control) Pin(t models.Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.only == t {
		return
	}
	l.only, l.away, l.rest, l.by, l.held = t, away{}, rest{}, candidate{}, candidate{}
	if t != (models.Target{}) {
		l.pinned = l.busy
		l.signal(errTier)
	}
}

// SetNoFailover keeps automatic switches from leaving the tier, or allows them again: for
// work that another tier would spoil.
func (l *Control) SetNoFailover(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stay = on
}

// Now ends a wait.
func (l *Control) Now() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy && l.cancel == nil {
		l.signal(nil)
	}
}

// Park gives the request up for now.
func (l *Control) Park() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		l.park = true
		l.signal(errPark)
	}
}

func (l *Control) signal(cause error) {
	if !l.busy {
		return
	}
	if l.cancel != nil {
		l.cancel(cause)
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Release ends a turn: the pin that a key press set is over.
func (l *Control) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pinned, l.busy, l.park, l.fresh = false, false, false, true
}

func (l *Control) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = true
	select {
	case <-l.wake:
	default:
	}
}

// pin reports whether no automatic switch may happen.
func (l *Control) pin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stay || l.pinned || l.only != (models.Target{})
}

// elsewhere reports whether the user wants the running request to go elsewhere.
func (l *Control) elsewhere(t models.Target, tier models.Tier) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.astray(t, tier)
}

func (l *Control) astray(t models.Target, tier models.Tier) bool {
	if l.only != (models.Target{}) {
		return l.only != t
	}
	return l.pinned && l.tier != tier
}

// onlyTarget is the target that the user pinned, if there is one.
func (l *Control) onlyTarget() models.Target {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.only
}

func (l *Control) parking() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.park
}

// lend remembers an automatic switch; home, that it is over.
func (l *Control) lend(a away) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = a
}

func (l *Control) home() { l.lend(away{}) }

// lentTo is where the last automatic switch has taken the session.
func (l *Control) lentTo() away {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.away
}

// boundary reports once whether a turn has ended: the time to go back.
func (l *Control) boundary() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.fresh
	l.fresh = false
	return fresh
}

// served notes who is asked; servedBy gives who was asked last.
func (l *Control) served(t models.Target, tier models.Tier) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by, l.held = candidate{t, tier}, candidate{t, tier}
}

// heldTo is who has been asked since a tier was chosen.
func (l *Control) heldTo() candidate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

func (l *Control) servedBy() (candidate, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by, l.by != (candidate{})
}

// owe remembers a wait that the caller left; due gives it back once.
func (l *Control) owe(r rest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = r
}

func (l *Control) due(now time.Time) (rest, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rest
	l.rest = rest{}
	return r, r.until.After(now)
}

// attempt gives the context of one attempt on a tier, which the lever can end,
// and has ended if it moved away just before.
func (l *Control) attempt(parent context.Context, t models.Target, tier models.Tier) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel = cancel
	select {
	case <-l.wake: // of a choice that the attempt follows already
	default:
	}
	switch {
	case l.park:
		cancel(errPark)
	case l.astray(t, tier):
		cancel(errTier)
	}
	return ctx, func() {
		l.mu.Lock()
		l.cancel = nil
		l.mu.Unlock()
		cancel(nil)
	}
}

// look is how often a wait compares the wall clock: in a suspended computer the
// timer stands still, and what was waited for may be over.
const look = 5 * time.Second

// wait sleeps until a time, or until the lever moves: that is early.
func (l *Control) wait(ctx context.Context, now func() time.Time, until time.Time) (early bool, err error) {
	timer := time.NewTimer(min(until.Sub(now()), look))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-l.wake:
			return true, nil
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
		t := now()
		left := min(until.Sub(t), until.Round(0).Sub(t.Round(0)))
		if left <= 0 {
			return false, nil
		}
		timer.Reset(min(left, look))
	}
}
