package capacity_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/models/capacity"
)

// lane gives the requests of a lane, as a board of a program of its own sends them.
func lane(shared capacity.Shared, owner, name string, budget capacity.LaneBudget) capacity.Paced {
	b := board(shared, owner, func(o *capacity.Options) { o.Random = func() float64 { return 0 } })
	return capacity.Paced{Breakers: b, Lane: name, Budget: budget}
}

func TestALaneKeepsItsBudgetInAllPrograms(t *testing.T) {
	for _, tt := range []struct {
		name   string
		budget capacity.LaneBudget
		want   string // when requests begin
	}{
		{"a minute", capacity.LaneBudget{Minute: 3}, "0s 500ms 1s 1m0s 1m0.5s 1m1s 2m0s 2m0.5s"},
		{"an hour", capacity.LaneBudget{Hour: 4}, "0s 500ms 1s 1.5s 1h0m0s 1h0m0.5s 1h0m1s 1h0m1.5s"},
		{"both", capacity.LaneBudget{Minute: 2, Hour: 5}, "0s 500ms 1m0s 1m0.5s 2m0s 1h0m0s 1h0m0.5s 1h1m0s"},
		{"none", capacity.LaneBudget{}, "0s 500ms 1s 1.5s 2s 2.5s 3s 3.5s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			under(t, func(t *testing.T, shared capacity.Shared) {
				began := time.Now()
				programs := []capacity.Paced{
					lane(shared, "a", "batch", tt.budget), lane(shared, "b", "batch", tt.budget),
				}
				var at []string
				for n := range 8 {
					leave := join(ctx, programs[n%2])
					at = append(at, time.Since(began).String())
					leave(true)
				}
				if got := strings.Join(at, " "); got != tt.want {
					t.Errorf("requests begin at\n%s, want\n%s", got, tt.want)
				}
			})
		})
	}
}

func TestALaneWithoutRoomHoldsNoOtherUp(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		bulk := lane(shared, "a", "batch", capacity.LaneBudget{Hour: 1})
		join(ctx, bulk)(true)
		ending, end := context.WithCancelCause(ctx)
		var waiting sync.WaitGroup
		for range 5 {
			waiting.Go(func() { join(ending, bulk)(true) })
		}
		synctest.Wait()
		began := time.Now()
		normal := lane(shared, "b", "normal", capacity.LaneBudget{Minute: 2})
		var took []time.Duration
		for range 3 {
			join(ctx, normal)(true)
			took = append(took, time.Since(began))
		}
		// The first keeps the provider's gap to the one of the other lane.
		want := []time.Duration{500 * time.Millisecond, time.Second, time.Minute}
		if !slices.Equal(took, want) {
			t.Errorf("the other lane's requests begin at %v, want %v", took, want)
		}
		if running, _ := bulk.Pace("p"); running != 0 {
			t.Errorf("%d of those that wait for their budget hold a place at the provider", running)
		}
		before := time.Now()
		join(ctx, bulk.Breakers)(true) // a person
		if took := time.Since(before); took != 0 {
			t.Errorf("a person waited %v", took)
		}
		end(errors.New("enough"))
		waiting.Wait()
		if took := time.Since(before); took != 0 {
			t.Errorf("after their end those that waited went on for %v", took)
		}
		// What did not go out is not counted.
		time.Sleep(time.Hour - time.Since(began))
		before = time.Now()
		join(ctx, bulk)(true)
		if took := time.Since(before); took != 0 {
			t.Errorf("after an hour the lane waited %v more", took)
		}
	})
}

// place is that of a task, whose requests rest.
type place struct {
	mu     sync.Mutex
	held   bool
	heard  []string      // what happened to it, and when
	began  time.Time     //
	rejoin time.Duration // how long it takes to have it again
}

func (p *place) Rest(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	p.heard = append(p.heard, "rests until "+until.Sub(p.began).String())
}

func (p *place) Rejoin(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held {
		return context.Cause(ctx)
	}
	time.Sleep(p.rejoin)
	p.held = true
	p.heard = append(p.heard, "is back "+time.Since(p.began).String())
	return context.Cause(ctx)
}

func (p *place) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(slices.Compact(p.heard), ", ")
}

func TestARequestThatWaitsLongForItsBudgetNeedsNoPlace(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		at := &place{held: true, began: time.Now()}
		bulk := lane(shared, "a", "batch", capacity.LaneBudget{Hour: 2})
		bulk.Resting = at
		join(ctx, bulk)(true)
		time.Sleep(time.Hour - 1500*time.Millisecond)
		join(ctx, bulk)(true)
		join(ctx, bulk)(true) // in 1.5 s
		if got := at.String(); got != "" {
			t.Errorf("for a short wait the task %s", got)
		}
		join(ctx, bulk)(true)
		if got, want := at.String(), "rests until 1h59m58.5s, is back 1h59m58.5s"; got != want {
			t.Errorf("the task %s, want %s", got, want)
		}
	})
}

func TestABudgetIsKeptWhenAPlaceIsWaitedFor(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		at := &place{began: time.Now(), rejoin: 50 * time.Second}
		slow := lane(shared, "a", "batch", capacity.LaneBudget{Minute: 1})
		slow.Resting = at
		join(ctx, slow)(true) // goes out at 50 s
		quick := lane(shared, "b", "batch", capacity.LaneBudget{Minute: 1})
		join(ctx, quick)(true)
		if got, want := time.Since(at.began), 110*time.Second; got != want {
			t.Errorf("the second goes out at %v, want %v", got, want)
		}
	})
}

func TestARequestThatWasNotSentTakesNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		join func(capacity.Paced)
	}{
		{"withdrawn", func(p capacity.Paced) {
			leave, withdraw := p.Join(ctx, "p")
			withdraw()
			leave(false) // counts no more
		}},
		{"ended while it waited for the provider", func(p capacity.Paced) {
			for range 2 {
				defer join(ctx, p.Breakers)(true) // persons
			}
			ending, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			join(ending, p)(true)
		}},
		{"ended while it waited for its place", func(p capacity.Paced) {
			ending, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			p.Resting = &place{rejoin: time.Minute}
			join(ending, p)(true)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			under(t, func(t *testing.T, shared capacity.Shared) {
				p := lane(shared, "a", "batch", capacity.LaneBudget{Hour: 1})
				tt.join(p)
				time.Sleep(2 * time.Minute)
				if running, limit := p.Pace("p"); running != 0 || limit != 2 {
					t.Errorf("%d run of %d, want none of 2", running, limit)
				}
				began := time.Now()
				join(ctx, p)(true)
				if took := time.Since(began); took != 0 {
					t.Errorf("the next waited %v", took)
				}
			})
		})
	}
}

// lost is a place whose keeper cannot be asked.
type lost struct{}

func (lost) Rest(time.Time)               {}
func (lost) Rejoin(context.Context) error { return errors.New("the queue cannot be asked") }

func TestARequestWithoutAPlaceIsCountedWhenItGoesOut(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		p := lane(shared, "a", "batch", capacity.LaneBudget{Hour: 1})
		p.Resting = lost{}
		leave := join(ctx, p)
		if running, _ := p.Pace("p"); running != 1 {
			t.Errorf("%d requests run, want 1", running)
		}
		leave(true)
		began := time.Now()
		join(ctx, p)(true)
		if took := time.Since(began); took != time.Hour {
			t.Errorf("the next went out after %v, want an hour", took)
		}
	})
}
