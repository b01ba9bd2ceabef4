package capacity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/capacity"
	"belay/session/store"
)

var (
	ctx   = context.Background()
	sol   = models.Target{Provider: "p", Model: "sol"}
	terra = models.Target{Provider: "p", Model: "terra/preview"}
	luna  = models.Target{Provider: "q", Model: "luna"}
)

// memory is a Shared that can be told to fail.
type memory struct {
	mu     sync.Mutex
	rows   map[string][]byte
	broken error
	writes int
	tried  int
}

func (m *memory) UpdateShared(_ context.Context, key string, change func([]byte) ([]byte, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tried++
	if m.broken != nil {
		return m.broken
	}
	value, err := change(m.rows[key])
	if err != nil || value == nil {
		return err
	}
	if m.rows == nil {
		m.rows = map[string][]byte{}
	}
	m.rows[key] = value
	m.writes++
	return nil
}

func (m *memory) SharedStates(context.Context) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tried++
	all := map[string][]byte{}
	for k, v := range m.rows {
		all[k] = v
	}
	return all, m.broken
}

func board(shared capacity.Shared, owner string, change ...func(*capacity.Options)) *capacity.Breakers {
	o := capacity.Options{
		Shared: shared,
		Owner:  owner,
		Tiers:  map[models.Tier][]models.Target{models.Heavy: {sol, terra, luna}},
	}
	for _, c := range change {
		c(&o)
	}
	return capacity.New(o)
}

func full() *models.Fault {
	return &models.Fault{Kind: models.KindCapacity, Code: "server_is_overloaded"}
}

func fault(k models.Kind) *models.Fault { return &models.Fault{Kind: k} }

func states(b *capacity.Breakers) string {
	c := b.Condition(sol)
	s := string(c.State)
	if !c.Until.IsZero() {
		s += " " + time.Until(c.Until).String()
	}
	return s
}

// under runs a test in a bubble, once with a fake store and once with the real
// one.
func under(t *testing.T, test func(t *testing.T, shared capacity.Shared)) {
	t.Run("in memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, &memory{}) })
	})
	t.Run("on disk", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, err := store.Open(ctx, t.TempDir(), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			test(t, s)
		})
	})
}

func TestTwoProcessesAgree(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		a, b := board(shared, "a"), board(shared, "b")
		a.Failed(ctx, sol, full())
		b.Failed(ctx, sol, full())
		a.Failed(ctx, sol, full())
		b.Refresh(ctx)
		if got, want := states(b), "resting 30s"; got != want || states(a) != want {
			t.Fatalf("after three failures in two programs: %s and %s, want %s", states(a), got, want)
		}
		time.Sleep(30 * time.Second)
		_, first := a.Allow(ctx, sol, false)
		_, second := b.Allow(ctx, sol, false) // b has not been told
		if !first || second {
			t.Errorf("the rested target was tried by a: %v, by b: %v; want only the first", first, second)
		}
		b.Release(ctx, sol) // somebody else's lease
		if _, again := b.Allow(ctx, sol, false); again {
			t.Error("b gave a's lease back")
		}
		a.Succeeded(ctx, sol, time.Second)
		if c, ok := b.Allow(ctx, sol, false); ok && c.State != models.Ready {
			t.Errorf("Allow() = %v", c)
		}
		b.Refresh(ctx)
		if got := states(b); got != "has room" {
			t.Errorf("after a success elsewhere: %s", got)
		}
		b.SetDisabled(ctx, sol, true)
		a.Refresh(ctx)
		if got := states(a); got != "set aside" {
			t.Errorf("set aside elsewhere: %s", got)
		}
	})
}

func TestTwoProgramsOnOneDatabaseAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var stores []*store.Store
		var boards []*capacity.Breakers
		for _, owner := range []string{"a", "b"} {
			s, err := store.Open(ctx, dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			stores, boards = append(stores, s), append(boards, board(s, owner))
			boards[len(boards)-1].Refresh(ctx)
		}
		for n := range 3 {
			boards[n%2].Failed(ctx, sol, full())
		}
		told := boards[1].Changed()
		if changed, err := stores[1].Changed(ctx); !changed || err != nil {
			t.Fatalf("Changed() = %v, %v", changed, err)
		}
		boards[1].Refresh(ctx)
		select {
		case <-told:
		default:
			t.Error("nobody was told of the change")
		}
		if got, want := states(boards[1]), "resting 30s"; got != want || states(boards[0]) != want {
			t.Errorf("%s and %s, want %s", states(boards[0]), got, want)
		}
		quiet := boards[1].Changed()
		boards[1].Refresh(ctx)
		select {
		case <-quiet:
			t.Error("a refresh without news was told of")
		default:
		}
		time.Sleep(30 * time.Second)
		if _, ok := boards[1].Allow(ctx, sol, false); !ok {
			t.Error("nobody tries the rested target")
		}
		if _, ok := boards[0].Allow(ctx, sol, false); ok {
			t.Error("both try the rested target")
		}
	})
}

func TestARefusedKeyIsThisProgramsOwn(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		a, b := board(shared, "a"), board(shared, "b")
		a.Failed(ctx, sol, &models.Fault{Kind: models.KindAuth, Scope: models.ScopeAccount})
		b.Refresh(ctx)
		if got := a.Condition(terra).State; got != models.Unusable {
			t.Errorf("another model of the account is %s, want out", got)
		}
		if got := a.Condition(luna).State; got != models.Unknown {
			t.Errorf("another provider is %s", got)
		}
		if got := states(b); got != "unknown" {
			t.Errorf("elsewhere it is %s", got)
		}
	})
}

func TestAUsedUpAccountIsOutForAll(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		a, b := board(shared, "a"), board(shared, "b")
		a.Failed(ctx, sol, &models.Fault{
			Kind:       models.KindUsage,
			Scope:      models.ScopeAccount,
			Message:    "daily",
			Delayed:    true,
			RetryAfter: time.Hour,
		})
		b.Refresh(ctx)
		if c := b.Condition(terra); c.State != models.Unusable || time.Until(c.Until) != time.Hour ||
			c.Fault.Message != "daily" {
			t.Errorf("elsewhere another model of the account is %+v", c)
		}
		b.Succeeded(ctx, terra, 0)
		a.Refresh(ctx)
		if got := a.Condition(sol).State; !got.Open() {
			t.Errorf("after a success it is %s", got)
		}
	})
}

func TestTheStateSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		run := func(do func(b *capacity.Breakers)) {
			s, err := store.Open(ctx, dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			do(board(s, "me"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		run(func(b *capacity.Breakers) {
			for range 3 {
				b.Failed(ctx, sol, full())
			}
			b.StartFailback(ctx, sol)
			b.Retry(ctx, "p")
		})
		time.Sleep(10 * time.Second)
		run(func(b *capacity.Breakers) {
			b.Refresh(ctx)
			s := b.Status(sol)
			if states(b) != "resting 20s" || s.Streak != 3 || s.Fault.Code != "server_is_overloaded" ||
				time.Since(s.Since) != 10*time.Second {
				t.Errorf("after a restart: %s, %+v", states(b), s)
			}
			if got := time.Until(b.FailbackAt(sol)); got != 5*time.Minute-10*time.Second {
				t.Errorf("the hold lasts %v", got)
			}
			if got := b.Budget("p"); got != 9 {
				t.Errorf("budget is %d", got)
			}
		})
		run(func(b *capacity.Breakers) { // without Refresh
			if c, ok := b.Allow(ctx, sol, false); ok || c.State != models.Resting {
				t.Errorf("Allow() before Refresh = %v, %v", c, ok)
			}
		})
	})
}

func TestAStoreThatFailsStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{broken: errors.New("disk is full")}
		var reports []error
		b := board(m, "a", func(o *capacity.Options) { o.Report = func(err error) { reports = append(reports, err) } })
		for range 3 {
			b.Failed(ctx, sol, full())
		}
		if got := states(b); got != "resting 30s" {
			t.Errorf("without a store: %s", got)
		}
		time.Sleep(30 * time.Second)
		if _, ok := b.Allow(ctx, sol, false); !ok {
			t.Error("no trial without a store")
		}
		if _, ok := b.Allow(ctx, sol, false); ok {
			t.Error("two trials without a store")
		}
		b.Failed(ctx, sol, full())
		if !b.Retry(ctx, "p") {
			t.Error("no retry without a store")
		}
		leave, err := b.Enter(ctx, "p")
		if err != nil {
			t.Fatal(err)
		}
		leave(true)
		if m.tried != 2 { // one look at the beginning, one trial after 30 s
			t.Errorf("the broken store was tried %d times, want it left alone for a while", m.tried)
		}
		if len(reports) != 1 || !errors.Is(reports[0], m.broken) {
			t.Errorf("reported %v, want it once", reports)
		}
		m.broken = nil
		time.Sleep(5 * time.Second)
		b.Refresh(ctx)
		if got := states(b); got != "resting 55s" {
			t.Errorf("a store that came back made it forget: %s", got)
		}
		b.SetOutage(ctx, sol, true)
		other := board(m, "b")
		other.Refresh(ctx)
		if got := states(other); got != "resting 55s" {
			t.Errorf("what happened meanwhile was not saved: %s", got)
		}
	})
}

func TestACancelledRequestIsStillRecorded(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		gone, cancel := context.WithCancel(ctx)
		cancel()
		a, b := board(shared, "a"), board(shared, "b")
		for range 3 {
			a.Failed(gone, sol, full())
		}
		b.Refresh(ctx)
		if got := states(b); got != "resting 30s" {
			t.Errorf("elsewhere it is %s", got)
		}
	})
}

func TestASuspendedComputerIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asleep := time.Duration(0)
		began := time.Now()
		b := board(&memory{}, "a", func(o *capacity.Options) {
			o.Now = func() time.Time { return time.Now().Add(asleep) }
			o.Elapsed = func() time.Duration { return time.Since(began) }
		})
		b.SetOutage(ctx, sol, true)
		b.Failed(ctx, sol, full())
		b.Failed(ctx, sol, full())
		if b.Status(sol).Outage.IsZero() {
			t.Fatal("no outage")
		}
		b.Allow(ctx, sol, false)
		time.Sleep(10 * time.Second)
		asleep = 8 * time.Hour
		time.Sleep(10 * time.Second)
		f := full()
		f.Elapsed = 20 * time.Second
		b.Failed(ctx, sol, f)
		s := b.Status(sol)
		if s.Streak != 2 || !s.State.Open() || !s.Outage.IsZero() {
			t.Errorf("an attempt during which the computer slept counted: %+v", s)
		}
		f = full()
		f.Elapsed = time.Second
		time.Sleep(2 * time.Second)
		b.Failed(ctx, sol, f)
		if s := b.Status(sol); s.Streak != 1 {
			t.Errorf("after the night the streak is %d, want it to begin anew", s.Streak)
		}
	})
}

func TestARestEndsByEitherClock(t *testing.T) {
	for _, tt := range []struct {
		name  string
		moved time.Duration // of wall time, right after the circuit opened
		wait  time.Duration
		want  models.State
	}{
		{"a night of sleep ends it", 8 * time.Hour, 0, models.HalfOpen},
		{"a clock set back does not make it longer", -3 * time.Hour, 30 * time.Second, models.HalfOpen},
		{"nor shorter", -3 * time.Hour, 29 * time.Second, models.Resting},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				moved := time.Duration(0)
				began := time.Now()
				b := board(&memory{}, "a", func(o *capacity.Options) {
					o.Now = func() time.Time { return time.Now().Add(moved) }
					o.Elapsed = func() time.Duration { return time.Since(began) }
				})
				for range 3 {
					b.Failed(ctx, sol, full())
				}
				moved = tt.moved
				time.Sleep(tt.wait)
				if got := b.Condition(sol).State; got != tt.want {
					t.Errorf("state is %s, want %s", got, tt.want)
				}
				if _, ok := b.Allow(ctx, sol, false); ok != (tt.want == models.HalfOpen) {
					t.Errorf("allowed: %v", ok)
				}
			})
		})
	}
}

func TestARecordedFaultIsBounded(t *testing.T) {
	b := board(nil, "")
	b.Failed(ctx, sol, &models.Fault{
		Kind:    models.KindCapacity,
		Message: strings.Repeat("ä", 5000),
		Raw:     "raw",
		Err:     errors.New("x"),
		Code:    strings.Repeat("c", 5000),
	})
	f := b.Condition(sol).Fault
	if len(f.Message) > 510 || !strings.HasSuffix(f.Message, "ä…") || f.Raw != "" || f.Err != nil || len(f.Code) > 130 {
		t.Errorf("fault is %+v", f)
	}
}

func FuzzSavedState(f *testing.F) {
	f.Add([]byte(`{"rev":1,"target":{"open":true,"rests":-9,"hold_step":77,"streak":3}}`),
		[]byte(`{"provider":{"limit":-4,"spent":1e300,"slots":[{}]}}`))
	f.Add([]byte(`{"target":{"until":"9999-12-31T23:59:59Z","first":[-1]}}`), []byte(`[]`))
	f.Add([]byte(``), []byte("\x00"))
	f.Fuzz(func(t *testing.T, target, provider []byte) {
		m := &memory{
			rows: map[string][]byte{"target/p/sol": target, "provider/p": provider, "target/": target, "x": nil},
		}
		b := board(m, "a")
		b.Refresh(ctx)
		b.Allow(ctx, sol, false)
		b.Failed(ctx, sol, full())
		b.StartFailback(ctx, sol)
		b.Retry(ctx, "p")
		join(ctx, b)(false)
		b.Succeeded(ctx, sol, time.Second)
		if n := b.Budget("p"); n < 0 || n > 10 {
			t.Errorf("budget is %d", n)
		}
		if h := b.Status(sol).Health; h < 0 || h > 1 {
			t.Errorf("health is %v", h)
		}
		if got := b.Condition(sol).State; got != models.Ready && got != models.Disabled && got != models.Unusable {
			t.Errorf("after a success it is %s", got)
		}
	})
}

func loaded() *capacity.Breakers {
	b := board(nil, "")
	for range 40 {
		b.Succeeded(ctx, sol, time.Second)
		b.Succeeded(ctx, terra, 2*time.Second)
	}
	for range 3 {
		b.Failed(ctx, luna, full())
	}
	return b
}

func BenchmarkCondition(b *testing.B) {
	board := loaded()
	b.ReportAllocs()
	for b.Loop() {
		board.Condition(luna)
	}
}

func BenchmarkOrder(b *testing.B) {
	board := loaded()
	tier := []models.Target{sol, terra, luna}
	b.ReportAllocs()
	for b.Loop() {
		board.Order(tier)
	}
}

func BenchmarkAllowReady(b *testing.B) {
	board := loaded()
	for b.Loop() {
		board.Allow(ctx, sol, false)
	}
}

func BenchmarkSucceededOnDisk(b *testing.B) {
	s, err := store.Open(ctx, b.TempDir(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	board := board(s, "a")
	for b.Loop() {
		board.Succeeded(ctx, sol, time.Second)
	}
}

func ExampleBreakers_Allow() {
	b := capacity.New(capacity.Options{})
	for range 3 {
		if _, ok := b.Allow(ctx, sol, false); ok {
			b.Failed(ctx, sol, &models.Fault{Kind: models.KindCapacity})
		}
	}
	c, ok := b.Allow(ctx, sol, false)
	fmt.Println(c.State, ok)
	// Output: resting false
}

func TestWhatOthersKnowIsReadWhereNobodyTellsOfIt(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		fresh := func(o *capacity.Options) { o.Fresh = time.Second }
		a, b := board(shared, "a"), board(shared, "b", fresh)
		if _, ok := b.Allow(ctx, sol, false); !ok {
			t.Fatal("nothing has failed yet")
		}
		for range 3 {
			a.Failed(ctx, sol, full())
		}
		if _, ok := b.Allow(ctx, sol, false); !ok {
			t.Error("the store was read twice within a second")
		}
		time.Sleep(time.Second)
		if _, ok := b.Allow(ctx, sol, false); ok {
			t.Error("after a second it does not know of the other's circuit")
		}
	})
}
