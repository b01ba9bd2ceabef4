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
					leave := programs[n%2].Join(ctx, "p")
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
		bulk.Join(ctx, "p")(true)
		ending, end := context.WithCancelCause(ctx)
		var waiting sync.WaitGroup
		for range 5 {
			waiting.Go(func() { bulk.Join(ending, "p")(true) })
		}
		synctest.Wait()
		began := time.Now()
		normal := lane(shared, "b", "normal", capacity.LaneBudget{Minute: 2})
		var took []time.Duration
		for range 3 {
			normal.Join(ctx, "p")(true)
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
		bulk.Breakers.Join(ctx, "p")(true) // a person
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
		bulk.Join(ctx, "p")(true)
		if took := time.Since(before); took != 0 {
			t.Errorf("after an hour the lane waited %v more", took)
		}
	})
}
