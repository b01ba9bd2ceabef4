package capacity

import (
	"context"
	"encoding/json"
	"time"
)

// Paced are breakers for queued work: its requests wait for their turn (see Enter),
// and for the budget of their lane.
type Paced struct {
	*Breakers
	Lane   string
	Budget LaneBudget
}

// LaneBudget is how many requests a lane may send, by all belays of a user together;
// 0: no limit.
type LaneBudget struct{ Minute, Hour int }

// Join waits for the lane's budget and the provider's pace. When the context ends it
// returns at once; the request is then not sent.
func (p Paced) Join(ctx context.Context, provider string) (leave func(clean bool)) {
	if p.waitForBudget(ctx) != nil {
		return func(bool) {}
	}
	leave, err := p.Enter(ctx, provider)
	if err != nil {
		return func(bool) {}
	}
	return leave
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

func (p Paced) waitForBudget(ctx context.Context) error {
	if p.Budget == (LaneBudget{}) || p.o.Shared == nil {
		return context.Cause(ctx)
	}
	for {
		var wait time.Duration
		updating, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		err := p.o.Shared.UpdateShared(updating, "lane/"+p.Lane, func(old []byte) ([]byte, error) {
			var state laneState
			if json.Unmarshal(old, &state) != nil {
				state = laneState{}
			}
			if wait = state.wait(p.clock.observe().wall, p.Budget); wait > 0 {
				return nil, nil
			}
			return json.Marshal(state)
		})
		cancel()
		if err != nil { // the state of the models is kept in memory then, and so is this
			p.storeFailed(p.clock.observe(), err)
			return context.Cause(ctx)
		}
		if wait == 0 {
			return context.Cause(ctx)
		}
		// Not all that wait go at the same moment.
		if _, err := sleep(ctx, wait+time.Duration(p.o.Random()*float64(minGap)), nil); err != nil {
			return err
		}
	}
}
