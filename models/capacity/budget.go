package capacity

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	budget     = 10          // automatic retries a provider is sent in a burst
	refill     = time.Minute // for one more
	firstLimit = 2           // queued requests at once
	lastLimit  = 3
	growAfter  = 20 // clean requests
	minGap     = 500 * time.Millisecond
	maxGap     = 2 * time.Second

	// slotTime is after which a request counts no more, because the program
	// that made it must have ended.
	slotTime = 15 * time.Minute
	// lookAgain is after which a waiting request looks into the store even if
	// nobody says that it has changed.
	lookAgain = 5 * time.Second
)

// allowance is what is saved of one provider. All times are wall times.
type allowance struct {
	Spent  float64   `json:"spent,omitempty"` // of the retry budget
	Filled time.Time `json:"filled,omitzero"` // as of when

	Limit int       `json:"limit,omitempty"` // queued requests at once; 0: as at the beginning
	Clean int       `json:"clean,omitempty"` // since the limit changed
	Next  time.Time `json:"next,omitzero"`   // before it no queued request begins
	Slots []slot    `json:"slots,omitempty"` // requests under way

	Out out `json:"out,omitzero"`
}

// slot is one request under way.
type slot struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until"`
}

// refilled is what is spent of the retry budget now.
func (a *allowance) refilled(now time.Time) float64 {
	if a.Filled.Sub(now) > refill {
		return 0 // the clock was set back; nobody waits until it has caught up
	}
	back := max(now.Sub(a.Filled), 0)
	return max(0, a.Spent-float64(back)/float64(refill))
}

// limit is how many queued requests there may be at once.
func (a *allowance) limit(most int) int {
	limit := a.Limit
	if limit == 0 {
		limit = firstLimit
	}
	if most > 0 {
		limit = min(limit, most)
	}
	return limit
}

// running are the requests under way.
func (a *allowance) running(now time.Time) []slot {
	return slices.DeleteFunc(slices.Clone(a.Slots), func(s slot) bool { return !now.Before(s.Until) || s.Until.Sub(now) > slotTime+jump })
}

// wait is how long a queued request has to wait; 0 lets it go.
func (a *allowance) wait(now time.Time, most int) time.Duration {
	if running := a.running(now); len(running) >= a.limit(most) {
		wait := lookAgain
		for _, s := range running {
			wait = min(wait, s.Until.Sub(now))
		}
		return wait
	}
	// A longer gap than there can be was made by a clock that was set back.
	if gap := a.Next.Sub(now); gap > 0 && gap <= maxGap {
		return gap
	}
	return 0
}

// ended frees a slot and adapts the limit to how the request went.
func (a *allowance) ended(slotID string, now time.Time, clean bool) {
	a.Slots = slices.DeleteFunc(a.running(now), func(s slot) bool { return s.ID == slotID })
	limit := a.limit(0)
	switch a.Clean++; {
	case !clean:
		a.Limit, a.Clean = max(1, limit/2), 0
	case a.Clean >= growAfter:
		a.Limit, a.Clean = min(limit+1, lastLimit), 0
	}
}

// Retry takes one automatic retry out of a provider's budget of 10, which
// refills by one a minute and is shared by all sessions of all running belays.
// It reports whether there was one; if not, the request is parked instead.
// Retries by hand, rungs of the ladder, stated delays and network retries are
// free and do not ask.
func (b *Breakers) Retry(ctx context.Context, name string) bool {
	now := b.clock.look()
	_, ok := b.update(ctx, now, provider(name), func(k *kept) bool {
		spent := k.Provider.refilled(now.wall)
		if spent > budget-1 {
			return false
		}
		k.Provider.Spent, k.Provider.Filled = spent+1, now.wall
		return true
	})
	return ok
}

// Budget is how many automatic retries a provider may be sent now.
func (b *Breakers) Budget(name string) int {
	return int(budget - b.entry(provider(name)).Provider.refilled(b.clock.read().wall))
}

// Pace describes the queued work of a provider.
func (b *Breakers) Pace(name string) (running, limit int) {
	a := &b.entry(provider(name)).Provider
	return len(a.running(b.clock.read().wall)), a.limit(b.most(name))
}

func (b *Breakers) most(name string) int {
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
	b.begin(ctx)
	slotID, most := b.slot(), b.most(name)
	look := false // into the store, whatever memory says
	for {
		changed := b.Changed()
		now := b.clock.look()
		wait := b.entry(provider(name)).Provider.wait(now.wall, most)
		if wait == 0 || look {
			e, entered := b.enter(ctx, now, name, slotID, func(a *allowance) bool { return a.wait(now.wall, most) == 0 })
			if entered {
				return b.leaver(ctx, name, slotID), nil
			}
			wait = max(e.Provider.wait(now.wall, most), time.Millisecond)
		}
		if look, err = sleep(ctx, wait, changed); err != nil {
			return nil, err
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
// does. Queued work makes room for it. Leave is as with Enter.
func (b *Breakers) Join(ctx context.Context, name string) (leave func(clean bool)) {
	slotID := b.slot()
	b.enter(ctx, b.clock.look(), name, slotID, func(*allowance) bool { return true })
	return b.leaver(ctx, name, slotID)
}

func (b *Breakers) slot() string {
	return b.o.Owner + "/" + strconv.FormatInt(b.slots.Add(1), 36)
}

func (b *Breakers) enter(ctx context.Context, now instant, name, slotID string, may func(*allowance) bool) (*entry, bool) {
	gap := minGap + time.Duration(b.o.Random()*float64(maxGap-minGap))
	return b.update(ctx, now, provider(name), func(k *kept) bool {
		a := &k.Provider
		if !may(a) {
			return false
		}
		a.Slots = append(a.running(now.wall), slot{slotID, now.wall.Add(slotTime)})
		a.Next = now.wall.Add(gap)
		return true
	})
}

func (b *Breakers) leaver(ctx context.Context, name, slotID string) func(bool) {
	var once sync.Once
	return func(clean bool) {
		once.Do(func() {
			now := b.clock.look()
			b.update(ctx, now, provider(name), func(k *kept) bool {
				k.Provider.ended(slotID, now.wall, clean)
				return true
			})
		})
	}
}
