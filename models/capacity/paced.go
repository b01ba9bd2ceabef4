package capacity

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

const (
	// restAfter is how long a request waits for its lane's budget before its task rests:
	// a shorter wait is over before another task has begun.
	restAfter = 2 * time.Second
	// budgetPoll is after which it looks again, as others may have given theirs back.
	budgetPoll = 30 * time.Second
)

// Paced are breakers for queued work: its requests wait for their turn (see Enter),
// and for the budget of their lane.
type Paced struct {
	*Breakers
	Lane    string
	Budget  LaneBudget
	Resting Resting // nil: nobody needs to know
}

// LaneBudget is how many requests a lane may send, by all belays of a user together;
// 0: no limit.
type LaneBudget struct{ Minute, Hour int }

// Resting is who has a place among those that work, which a request that waits long
// does not need. Its methods may be called by several goroutines.
type Resting interface {
	// Rest hears that a request waits for its lane's budget, until a time at the
	// earliest; and again when that is later.
	Rest(until time.Time)
	// Rejoin is called before each request goes out. It waits for a place, unless there
	// is one. An error while ctx lives keeps no request back.
	Rejoin(ctx context.Context) error
}

// Join waits for the lane's budget and the provider's pace. When the context ends it
// returns at once; the request is then not sent. What is withdrawn is not counted.
func (p Paced) Join(ctx context.Context, provider string) (leave func(clean bool), withdraw func()) {
	taken, err := p.waitForBudget(ctx)
	if err != nil {
		return func(bool) {}, func() {}
	}
	slotID, err := p.waitForSlot(ctx, provider)
	if err != nil {
		p.giveBack(ctx, taken)
		return func(bool) {}, func() {}
	}
	leave, free := p.releaser(ctx, provider, slotID)
	return leave, func() {
		free()
		p.giveBack(ctx, taken)
	}
}

// laneState is what is saved of a lane: when its last requests went out.
type laneState struct {
	Sent []time.Time `json:"sent,omitempty"` // of the last hour, or minute; the oldest first
}

// wait is how long the next request waits at a time; 0: it goes, and is counted.
func (s *laneState) wait(now time.Time, budget LaneBudget) time.Duration {
	span := time.Hour
	if budget.Hour == 0 {
		span = time.Minute
	}
	recent := s.Sent[:0:0]
	for _, at := range s.Sent {
		if age := now.Sub(at); age < span && age > -time.Minute { // a clock was set back
			recent = append(recent, at)
		}
	}
	s.Sent = recent
	var wait time.Duration
	for _, limit := range []struct {
		most int
		span time.Duration
	}{{budget.Minute, time.Minute}, {budget.Hour, time.Hour}} {
		if limit.most > 0 && len(recent) >= limit.most {
			oldest := recent[len(recent)-limit.most]
			wait = max(wait, limit.span-now.Sub(oldest))
		}
	}
	if wait <= 0 {
		s.Sent = append(s.Sent, now)
		return 0
	}
	return wait
}

// remove takes back that a request was counted, and reports whether it still was.
func (s *laneState) remove(at time.Time) bool {
	i := slices.IndexFunc(s.Sent, at.Equal)
	if at.IsZero() || i < 0 {
		return false
	}
	s.Sent = slices.Delete(s.Sent, i, i+1)
	return true
}

// waitForBudget takes a request out of the lane's budget, and gives as of when it is
// counted. What a task waits for is taken before its place is: who comes back to a
// place goes on, and what is taken meanwhile is not waited for by anybody in vain.
func (p Paced) waitForBudget(ctx context.Context) (taken time.Time, err error) {
	for {
		var wait time.Duration
		if taken, wait = p.take(ctx, taken); wait == 0 {
			began := p.clock.observe()
			if err := p.rejoin(ctx); err != nil {
				p.giveBack(ctx, taken)
				return time.Time{}, err
			}
			if p.clock.observe().mono-began.mono < restAfter {
				return taken, nil
			}
			continue // it goes out later than it is counted
		}
		if wait > restAfter && p.Resting != nil {
			p.Resting.Rest(p.o.Now().Add(wait))
		}
		if wait > budgetPoll {
			wait = budgetPoll
		} else { // not all that wait go at the same moment
			wait += time.Duration(p.o.Random() * float64(minGap))
		}
		if _, err := sleep(ctx, wait, nil); err != nil {
			return time.Time{}, err
		}
	}
}

func (p Paced) rejoin(ctx context.Context) error {
	if p.Resting != nil {
		_ = p.Resting.Rejoin(ctx) // what fails besides ctx is no reason to send it uncounted, or not at all
	}
	return context.Cause(ctx)
}

// take counts a request in the lane's budget now, in the place of what was taken
// before; else wait says when there may be room. Where the store fails it goes: the
// state of the models is kept in memory then, and so is this.
func (p Paced) take(ctx context.Context, before time.Time) (taken time.Time, wait time.Duration) {
	if p.Budget == (LaneBudget{}) {
		return time.Time{}, 0
	}
	kept := p.updateLane(ctx, func(state *laneState) bool {
		removed := state.remove(before)
		taken = p.clock.observe().wall
		wait = state.wait(taken, p.Budget)
		return wait == 0 || removed
	})
	if !kept {
		return time.Time{}, 0
	}
	if wait > 0 {
		return time.Time{}, wait
	}
	return taken, 0
}

// giveBack takes back that a request was counted: it was not sent.
func (p Paced) giveBack(ctx context.Context, taken time.Time) {
	if !taken.IsZero() {
		p.updateLane(ctx, func(state *laneState) bool { return state.remove(taken) })
	}
}

// updateLane changes what is saved of the lane, if change says so. It reports whether
// the store works.
func (p Paced) updateLane(ctx context.Context, change func(*laneState) bool) bool {
	if p.o.Shared == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := p.o.Shared.UpdateShared(ctx, "lane/"+p.Lane, func(old []byte) ([]byte, error) {
		var state laneState
		if json.Unmarshal(old, &state) != nil {
			state = laneState{}
		}
		if !change(&state) {
			return nil, nil
		}
		return json.Marshal(state)
	})
	if err != nil {
		p.storeFailed(p.clock.observe(), err)
	}
	return err == nil
}
