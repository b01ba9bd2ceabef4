package route

import (
	"context"
	"errors"
	"sync"
	"time"

	"belay/models"
)

// Lever is a person's hand on a session's requests. Its methods may be called
// at any time from anywhere; they act on the request that waits or streams.
type Lever struct {
	mu     sync.Mutex
	tier   models.Tier
	pinned bool // chosen while a request was running: no automatic switch until it is done
	busy   bool
	park   bool
	cancel context.CancelCauseFunc
	wake   chan struct{}
	away   away
	rest   rest
}

// rest is how long the next request must wait, because the one before was
// left at a failure that asked for it.
type rest struct {
	target models.Target
	until  time.Time
	fault  *models.Fault
}

// away is where an automatic switch has taken the session.
type away struct {
	target models.Target
	tier   models.Tier
	since  time.Time
}

// The causes with which a lever ends an attempt.
var (
	errTier = errors.New("another tier was chosen")
	errPark = errors.New("parked by the user")
)

// NewLever returns a lever that stands at a tier.
func NewLever(tier models.Tier) *Lever {
	return &Lever{tier: tier, wake: make(chan struct{}, 1)}
}

// Tier is the tier the lever stands at.
func (l *Lever) Tier() models.Tier {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tier
}

// Choose moves the lever. A request that waits or streams goes on at once with
// the new tier and stays there; choosing the tier it already has does nothing,
// unless an automatic switch has taken the session elsewhere: then it goes back.
func (l *Lever) Choose(tier models.Tier) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tier == tier && l.away.since.IsZero() {
		return
	}
	l.tier, l.pinned, l.away, l.rest = tier, l.busy, away{}, rest{}
	l.signal(errTier)
}

// Now ends a wait.
func (l *Lever) Now() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy && l.cancel == nil {
		l.signal(nil)
	}
}

// Park gives the request up for now.
func (l *Lever) Park() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		l.park = true
		l.signal(errPark)
	}
}

func (l *Lever) signal(cause error) {
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
func (l *Lever) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pinned, l.busy, l.park = false, false, false
}

func (l *Lever) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = true
	select {
	case <-l.wake:
	default:
	}
}

func (l *Lever) pin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pinned
}

func (l *Lever) parking() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.park
}

// lend remembers an automatic switch.
func (l *Lever) lend(t models.Target, tier models.Tier, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = away{t, tier, now}
}

// lent gives the target of the last automatic switch until it is time to try
// the preferred one again.
func (l *Lever) lent(now time.Time, after time.Duration) (models.Target, models.Tier, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away.since.IsZero() || now.Sub(l.away.since) >= after {
		l.away = away{}
		return models.Target{}, "", false
	}
	return l.away.target, l.away.tier, true
}

// owe remembers a wait that the caller left; due gives it back once.
func (l *Lever) owe(r rest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = r
}

func (l *Lever) due(t models.Target) (rest, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rest
	l.rest = rest{}
	return r, r.target == t && !r.until.IsZero()
}

// attempt gives the context of one attempt on a tier, which the lever can end,
// and has ended if it moved away just before.
func (l *Lever) attempt(parent context.Context, tier models.Tier) (context.Context, func()) {
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
	case l.pinned && l.tier != tier:
		cancel(errTier)
	}
	return ctx, func() {
		l.mu.Lock()
		l.cancel = nil
		l.mu.Unlock()
		cancel(nil)
	}
}

// wait sleeps for d, or until the lever moves.
func (l *Lever) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-l.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
