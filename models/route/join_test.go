package route

import (
	"context"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/capacity"
)

// shared is what two programs share.
type shared struct {
	mu     sync.Mutex
	states map[string][]byte
}

func (s *shared) UpdateShared(_ context.Context, key string, change func([]byte) ([]byte, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, err := change(s.states[key])
	if err == nil && value != nil {
		s.states[key] = value
	}
	return err
}

func (s *shared) SharedStates(context.Context) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.states), nil
}

// slow is a board whose first request has to wait for its turn.
type slow struct {
	*counting
	wait                   time.Duration
	joined, left, withdrew int
	meanwhile              func()
}

func (s *slow) Join(ctx context.Context, _ string) (leave func(bool), withdraw func()) {
	if s.joined++; s.joined == 1 {
		last := min(5*time.Second, s.wait/2)
		time.Sleep(s.wait - last)
		s.meanwhile()
		time.Sleep(last)
	}
	return func(bool) { s.left++ }, func() { s.withdrew++ }
}

func TestTheCircuitIsAskedAgainAfterALongWaitForTheTurn(t *testing.T) {
	full := &models.Fault{Kind: models.KindCapacity}
	for _, tt := range []struct {
		name      string
		rested    bool // the circuit had opened before: the request is the one that tries the target
		wait      time.Duration
		meanwhile func(own, other *capacity.Breakers)
		policy    Policy
		want      string
		withdrew  int
	}{
		{"it is as it was", false, time.Hour, nil, Auto, "sol(1/4) done", 0},
		{"it has opened: another serves", false, time.Hour, func(_, other *capacity.Breakers) {
			for range 3 {
				other.Failed(context.Background(), sol, full)
			}
		}, Auto, "→terra terra(1/4) done", 1},
		{"it has opened: it is waited for", false, time.Hour, func(_, other *capacity.Breakers) {
			for range 3 {
				other.Failed(context.Background(), sol, full)
			}
		}, Never, "25s sol(1/4) done", 1},
		{"a short wait is no wait", false, 900 * time.Millisecond, func(_, other *capacity.Breakers) {
			for range 3 {
				other.Failed(context.Background(), sol, full)
			}
		}, Auto, "sol(1/4) done", 0},
		{"the one that tries the target still does", true, time.Minute, nil, Auto, "sol(1/4) done", 0},
		{"and does when its lease was over", true, time.Hour, nil, Auto, "sol(1/4) done", 0},
		{"but not when another does now", true, time.Hour, func(_, other *capacity.Breakers) {
			if _, ok := other.Allow(context.Background(), sol, false); !ok {
				panic("the lease is not over")
			}
		}, Auto, "→terra terra(1/4) done", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				both := &shared{states: map[string][]byte{}}
				tiers := map[models.Tier][]models.Target{models.Heavy: {sol}, models.Medium: {terra}, models.Light: {luna}}
				board := func(owner string) *capacity.Breakers {
					return capacity.New(capacity.Options{Shared: both, Owner: owner, Tiers: tiers, Fresh: time.Second})
				}
				own, other := board("own"), board("other")
				e := &endpoint{}
				limiter := &slow{counting: &counting{Breakers: own}, wait: tt.wait, meanwhile: func() {
					if tt.meanwhile != nil {
						tt.meanwhile(own, other)
					}
				}}
				r := router(e, func(o *Options) { o.Breakers, o.RateLimiter, o.Policy = limiter, limiter, tt.policy })
				if tt.rested {
					for range 3 {
						other.Failed(t.Context(), sol, full)
					}
					time.Sleep(31 * time.Second)
				}
				got, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
				if got != tt.want || err != nil {
					t.Errorf("went %s (%v), want %s", got, err, tt.want)
				}
				if limiter.withdrew != tt.withdrew || limiter.left != 1 {
					t.Errorf("%d withdrawn and %d left, want %d and 1", limiter.withdrew, limiter.left, tt.withdrew)
				}
				if limiter.out != 0 {
					t.Errorf("%d leases were not given back", limiter.out)
				}
				other.Release(t.Context(), sol) // of the case where it has it
				if c, ok := other.Allow(t.Context(), sol, false); c.State == models.HalfOpen && !ok {
					t.Errorf("the place of the one that tries the target is lost: %+v", c)
				}
			})
		})
	}
}

func TestAWaitForTheTurnIsNoTimeWithoutANetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := capacity.New(capacity.Options{})
		limiter := &slow{counting: &counting{Breakers: board}, wait: time.Hour, meanwhile: func() {}}
		e := &endpoint{script: map[models.Target][]any{sol: {models.KindNetwork, ""}}}
		r := router(e, func(o *Options) { o.Breakers, o.RateLimiter = limiter, limiter })
		got, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy), NetworkWait: time.Minute})
		if want := "sol(1/4) retry 1.5s sol(1/4) done"; got != want || err != nil {
			t.Errorf("went %s (%v), want %s", got, err, want)
		}
	})
}
