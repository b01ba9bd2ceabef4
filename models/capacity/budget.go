package capacity

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	retryBudget    = 10          // automatic retries a provider is sent in a burst
	refillInterval = time.Minute // for one more
	initialLimit   = 2           // queued requests at once
	maxLimit       = 3
	growAfter      = 20 // clean requests
	minGap         = 500 * time.Millisecond
	maxGap         = 2 * time.Second

	// slotTime is after which a request counts no more, because the program
	// that made it must have ended.
	slotTime = 15 * time.Minute
	// slotPoll is after which a waiting request looks into the store even if
	// nobody says that it has changed.
	slotPoll = 5 * time.Second
)

// providerState is what is saved of one provider. All times are wall times.
type providerState struct {
	Spent      float64   `json:"spent,omitempty"` // of the retry budget
	RefilledAt time.Time `json:"filled,omitzero"` // as of when

	Limit     int       `json:"limit,omitempty"` // queued requests at once; 0: as at the beginning
	Clean     int       `json:"clean,omitempty"` // since the limit changed
	NextStart time.Time `json:"next,omitzero"`   // before it no queued request begins
	Slots     []slot    `json:"slots,omitempty"` // requests under way

	OutOfUse outage `json:"out,omitzero"`
	Answered bool   `json:"answered,omitempty"` // some request, in whatever way
}

// slot is one request under way.
type slot struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until"`
}

// refilled is what is spent of the retry budget now.
func (a *providerState) refilled(now time.Time) float64 {
	if a.RefilledAt.Sub(now) > refillInterval {
		return 0 // the clock was set back; nobody waits until it has caught up
	}
	back := max(now.Sub(a.RefilledAt), 0)
	return max(0, a.Spent-float64(back)/float64(refillInterval))
}

// limit is how many queued requests there may be at once.
func (a *providerState) limit(most int) int {
	limit := a.Limit
	if limit == 0 {
		limit = initialLimit
	}
	if most > 0 {
		limit = min(limit, most)
	}
	return limit
}

// activeSlots are the requests under way.
func (a *providerState) activeSlots(now time.Time) []slot {
	return slices.DeleteFunc(slices.Clone(a.Slots),
		func(s slot) bool { return !now.Before(s.Until) || s.Until.Sub(now) > slotTime+suspendGap })
}

// startDelay is how long a queued request has to wait; 0 lets it go.
func (a *providerState) startDelay(now time.Time, most int) time.Duration {
	if running := a.activeSlots(now); len(running) >= a.limit(most) {
		wait := slotPoll
		for _, s := range running {
			wait = min(wait, s.Until.Sub(now))
		}
		return wait
	}
	// A longer gap than there can be was made by a clock that was set back.
	if gap := a.NextStart.Sub(now); gap > 0 && gap <= maxGap {
		return gap
	}
	return 0
}

// freeSlot frees a slot.
func (a *providerState) freeSlot(slotID string, now time.Time) {
	a.Slots = slices.DeleteFunc(a.activeSlots(now), func(s slot) bool { return s.ID == slotID })
}

// adaptLimit adapts the limit to how a request went.
func (a *providerState) adaptLimit(clean bool) {
	limit := a.limit(0)
	switch a.Clean++; {
	case !clean:
		a.Limit, a.Clean = max(1, limit/2), 0
	case a.Clean >= growAfter:
		a.Limit, a.Clean = min(limit+1, maxLimit), 0
	}
}

// Retry takes one automatic retry out of a provider's budget of 10, which
// refills by one a minute and is shared by all sessions of all running belays.
// It reports whether there was one; if not, the request is parked instead.
// Retries by hand, tries of parked turns, stated delays and network retries are
// free and do not ask.
func (b *Breakers) Retry(ctx context.Context, name string) bool {
	now := b.clock.observe()
	_, ok := b.update(ctx, now, providerID(name), func(k *saved) bool {
		spent := k.Provider.refilled(now.wall)
		if spent > retryBudget-1 {
			return false
		}
		k.Provider.Spent, k.Provider.RefilledAt = spent+1, now.wall
		return true
	})
	return ok
}

// Budget is how many automatic retries a provider may be sent now.
func (b *Breakers) Budget(name string) int {
	return int(retryBudget - b.entry(providerID(name)).Provider.refilled(b.clock.read().wall))
}

// Pace describes the queued work of a provider.
func (b *Breakers) Pace(name string) (running, limit int) {
	a := b.provider(name)
	return len(a.activeSlots(b.clock.read().wall)), a.limit(b.userLimit(name))
}

// provider is what is known of a provider, without the requests of programs that
// have ended.
func (b *Breakers) provider(name string) providerState {
	a := b.entry(providerID(name)).Provider
	b.dropDead(&a)
	return a
}

// dropDead forgets the requests of programs that ended without a word.
func (b *Breakers) dropDead(a *providerState) {
	if b.o.Alive == nil {
		return
	}
	dead := func(s slot) bool {
		owner, _, _ := strings.Cut(s.ID, "/")
		return owner != b.o.Owner && !b.o.Alive(owner)
	}
	if slices.ContainsFunc(a.Slots, dead) {
		a.Slots = slices.DeleteFunc(slices.Clone(a.Slots), dead)
	}
}

func (b *Breakers) userLimit(name string) int {
	if b.o.Concurrency == nil {
		return 0
	}
	return b.o.Concurrency(name)
}

// Enter waits until a queued request may go to a provider: a random gap of
// half a second to two after the one before, and not more at once than go
// well. Leave must be called when the request has ended; clean is false when
// the provider had no capacity for it. The error is the context's cause.
func (b *Breakers) Enter(ctx context.Context, name string) (leave func(clean bool), err error) {
	slotID, err := b.waitForSlot(ctx, name)
	if err != nil {
		return nil, err
	}
	leave, _ = b.releaser(ctx, name, slotID)
	return leave, nil
}

// waitForSlot waits as Enter does, and names the slot that was taken.
func (b *Breakers) waitForSlot(ctx context.Context, name string) (slotID string, err error) {
	b.ensureLoaded(ctx)
	slotID = b.newSlotID()
	most := b.userLimit(name)
	look := false // into the store, whatever memory says
	for {
		changed := b.Changed()
		now := b.clock.observe()
		known := b.provider(name)
		wait := known.startDelay(now.wall, most)
		if wait == 0 || look {
			e, entered := b.enter(ctx, now, name, slotID,
				func(a *providerState) bool { return a.startDelay(now.wall, most) == 0 })
			if entered {
				return slotID, nil
			}
			wait = max(e.Provider.startDelay(now.wall, most), time.Millisecond)
		}
		if look, err = sleep(ctx, wait, changed); err != nil {
			return "", err
		}
	}
}

// sleep waits for a time, a change or the end of a context. It reports whether
// the whole time has passed.
func sleep(ctx context.Context, d time.Duration, changed <-chan struct{}) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-changed:
		return false, nil
	case <-timer.C:
		return true, nil
	}
}

// Join counts a request that does not wait for its turn, because a person
// does. Queued work waits for it. Leave is as with Enter; withdraw is called in its
// place when the request was not sent after all.
func (b *Breakers) Join(ctx context.Context, name string) (leave func(clean bool), withdraw func()) {
	slotID := b.newSlotID()
	b.enter(ctx, b.clock.observe(), name, slotID, func(*providerState) bool { return true })
	return b.releaser(ctx, name, slotID)
}

func (b *Breakers) newSlotID() string {
	return b.o.Owner + "/" + strconv.FormatInt(b.lastSlot.Add(1), 36)
}

func (b *Breakers) enter(
	ctx context.Context,
	now instant,
	name, slotID string,
	may func(*providerState) bool,
) (*entry, bool) {
	gap := minGap + time.Duration(b.o.Random()*float64(maxGap-minGap))
	return b.update(ctx, now, providerID(name), func(k *saved) bool {
		a := &k.Provider
		b.dropDead(a)
		if !may(a) {
			return false
		}
		a.Slots = append(a.activeSlots(now.wall), slot{slotID, now.wall.Add(slotTime)})
		a.NextStart = now.wall.Add(gap)
		return true
	})
}

func (b *Breakers) releaser(
	ctx context.Context, name, slotID string,
) (leave func(clean bool), withdraw func()) {
	var once sync.Once
	free := func(adapt func(*providerState)) {
		once.Do(func() {
			now := b.clock.observe()
			b.update(ctx, now, providerID(name), func(k *saved) bool {
				k.Provider.freeSlot(slotID, now.wall)
				adapt(&k.Provider)
				return true
			})
		})
	}
	return func(clean bool) { free(func(a *providerState) { a.adaptLimit(clean) }) },
		func() { free(func(*providerState) {}) }
}
