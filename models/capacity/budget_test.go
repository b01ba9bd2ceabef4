package capacity_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/models/capacity"
)

func TestTheRetryBudgetIsShared(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		boards := []*capacity.Breakers{board(shared, "a"), board(shared, "b")}
		given := 0
		for n := range 30 {
			if boards[n%2].Retry(ctx, "p") {
				given++
			}
		}
		if given != 10 {
			t.Errorf("%d retries were given, want 10", given)
		}
		if !boards[0].Retry(ctx, "q") {
			t.Error("another provider has none")
		}
		time.Sleep(90 * time.Second)
		if first, second := boards[0].Retry(ctx, "p"), boards[1].Retry(ctx, "p"); !first || second {
			t.Errorf("after 90 s: %v %v, want one", first, second)
		}
		time.Sleep(30 * time.Second)
		if !boards[1].Retry(ctx, "p") {
			t.Error("half a minute was lost")
		}
		time.Sleep(24 * time.Hour)
		boards[0].Refresh(ctx)
		if got := boards[0].Budget("p"); got != 10 {
			t.Errorf("after a day the budget is %d, want 10", got)
		}
	})
}

func TestQueuedWorkIsPaced(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		began := time.Now()
		randoms := []float64{0, 0.5, 1, 0}
		b := board(shared, "a", func(o *capacity.Options) {
			o.Random = func() float64 { r := randoms[0]; randoms = append(randoms[1:], r); return r }
		})
		var at []string
		for range 4 {
			leave, err := b.Enter(ctx, "p")
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(began).String())
			leave(true)
		}
		if got, want := strings.Join(at, " "), "0s 500ms 1.75s 3.75s"; got != want {
			t.Errorf("requests begin at %s, want %s", got, want)
		}
	})
}

// crowd lets many requests of several boards through, each taking a while, and
// returns the most there were at once.
func crowd(t *testing.T, boards []*capacity.Breakers, count int, took time.Duration) int {
	t.Helper()
	var mu sync.Mutex
	running, most := 0, 0
	add := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		running += n
		most = max(most, running)
	}
	var wg sync.WaitGroup
	for n := range count {
		wg.Go(func() {
			leave, err := boards[n%len(boards)].Enter(ctx, "p")
			if err != nil {
				t.Error(err)
				return
			}
			add(1)
			time.Sleep(took)
			add(-1)
			leave(true)
		})
	}
	wg.Wait()
	return most
}

func TestConcurrencyAdapts(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		boards := []*capacity.Breakers{board(shared, "a"), board(shared, "b")}
		limit := func() int {
			boards[0].Refresh(ctx)
			_, limit := boards[0].Pace("p")
			return limit
		}
		if most := crowd(t, boards, 19, 10*time.Second); most != 2 || limit() != 2 {
			t.Errorf("%d at once, want 2; then the limit is %d", most, limit())
		}
		if most := crowd(t, boards, 1, time.Second); most != 1 || limit() != 3 {
			t.Errorf("after 20 clean requests the limit is %d, want 3", limit())
		}
		if most := crowd(t, boards, 40, 10*time.Second); most != 3 || limit() != 3 {
			t.Errorf("%d at once and a limit of %d, want 3", most, limit())
		}
		leave, err := boards[1].Enter(ctx, "p")
		if err != nil {
			t.Fatal(err)
		}
		leave(false)
		leave(false) // counts once
		if got := limit(); got != 1 {
			t.Errorf("after a failure the limit is %d, want half of 3", got)
		}
		if most := crowd(t, boards, 10, 10*time.Second); most != 1 {
			t.Errorf("%d at once, want 1", most)
		}
	})
}

// join counts a request and gives how its end is told.
func join(ctx context.Context, b interface {
	Join(ctx context.Context, provider string) (leave func(clean bool), withdraw func())
}) func(clean bool) {
	leave, _ := b.Join(ctx, "p")
	return leave
}

func TestAPersonNeverWaitsButCounts(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		b := board(shared, "a")
		began := time.Now()
		var leaves []func(bool)
		for range 3 {
			leaves = append(leaves, join(ctx, b))
		}
		if time.Since(began) != 0 {
			t.Errorf("a person waited %v", time.Since(began))
		}
		if running, limit := b.Pace("p"); running != 3 || limit != 2 {
			t.Errorf("%d of %d run, want 3 of 2", running, limit)
		}
		short, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("enough"))
		defer cancel()
		if _, err := b.Enter(short, "p"); err == nil || err.Error() != "enough" {
			t.Errorf("queued work went beside them: %v", err)
		}
		for _, leave := range leaves {
			leave(true)
		}
		if _, err := b.Enter(ctx, "p"); err != nil {
			t.Error(err)
		}
	})
}

func TestTheUsersOwnLimitHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := board(&memory{}, "a", func(o *capacity.Options) { o.Concurrency = func(string) int { return 1 } })
		if most := crowd(t, []*capacity.Breakers{b}, 30, 5*time.Second); most != 1 {
			t.Errorf("%d at once, want 1", most)
		}
	})
}

func TestASlotOfADeadProgramIsFreeInTheEnd(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		dead, b := board(shared, "dead"), board(shared, "b")
		join(ctx, dead)
		join(ctx, dead)
		began := time.Now()
		if _, err := b.Enter(ctx, "p"); err != nil || time.Since(began) != 15*time.Minute {
			t.Errorf("entered after %v, %v", time.Since(began), err)
		}
	})
}

func TestWaitersDoNotWriteToTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		b := board(m, "a")
		join(ctx, b)
		join(ctx, b)
		before := m.writes
		short, cancel := context.WithTimeout(ctx, 14*time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if _, err := b.Enter(short, "p"); err == nil {
					t.Error("entered")
				}
			})
		}
		wg.Wait()
		if m.writes != before {
			t.Errorf("%d writes while waiting", m.writes-before)
		}
	})
}

func TestWorkGoesOnWithTheRaceDetectorWatching(t *testing.T) {
	s := &memory{}
	boards := []*capacity.Breakers{board(s, "a"), board(s, "b")}
	var wg sync.WaitGroup
	for n := range 8 {
		b := boards[n%2]
		wg.Go(func() {
			for i := range 50 {
				switch (n + i) % 6 {
				case 0:
					b.Failed(ctx, sol, full())
				case 1:
					b.Succeeded(ctx, sol, time.Second)
				case 2:
					b.Allow(ctx, sol, false)
				case 3:
					b.Refresh(ctx)
				case 4:
					join(ctx, b)(i%2 == 0)
				case 5:
					s.mu.Lock()
					s.broken = map[bool]error{true: errors.New("x")}[i%4 == 0]
					s.mu.Unlock()
					b.Retry(ctx, "p")
				}
				b.Order(slices.Clone(boards[0].Order(nil)))
				_ = fmt.Sprint(b.Condition(sol).State, b.Status(sol).Health)
			}
		})
	}
	wg.Wait()
}
