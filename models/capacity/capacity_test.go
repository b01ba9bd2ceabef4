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

	"belay/models"
	. "belay/models/capacity"
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
}

func (m *memory) Update(_ context.Context, key string, change func([]byte) ([]byte, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
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

func (m *memory) All(context.Context) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string][]byte{}
	for k, v := range m.rows {
		all[k] = v
	}
	return all, m.broken
}

func board(shared Shared, owner string, change ...func(*Options)) *Board {
	o := Options{Shared: shared, Owner: owner, Tiers: map[models.Tier][]models.Target{models.Heavy: {sol, terra, luna}}}
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

func full() *models.Fault {
	return &models.Fault{Kind: models.KindCapacity, Code: "server_is_overloaded"}
}

func fault(k models.Kind) *models.Fault { return &models.Fault{Kind: k} }

func states(b *Board) string {
	c := b.Condition(sol)
	s := string(c.State)
	if !c.Until.IsZero() {
		s += " " + time.Until(c.Until).String()
	}
	return s
}

// under runs a test in a bubble, once with a fake store and once with the real
// one.
func under(t *testing.T, test func(t *testing.T, shared Shared)) {
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

func TestTheCircuit(t *testing.T) {
	type step struct {
		do   string // full, stated D, ok, ask, insist, left, wait D, or a kind of failure
		want string // the state after it; for ask and insist also the answer
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"three failures in a row open it for 30 s", []step{
			{"full", "has room"}, {"full", "has room"}, {"full", "resting 30s"}, {"ask", "no resting 30s"}, {"wait 29s", "resting 1s"}, {"wait 1s", "untried"},
		}},
		{"a success between them starts anew", []step{{"full", "has room"}, {"full", "has room"}, {"ok", "has room"}, {"full", "has room"}, {"full", "has room"}}},
		{"other failures do not open it", []step{
			{"server", "has room"}, {"stream", "has room"}, {"gateway", "has room"}, {"network", "has room"}, {"request", "has room"}, {"size", "has room"},
			{"cancelled", "has room"}, {"incomplete", "has room"}, {"rate", "has room"}, {"ask", "yes has room"},
		}},
		{"half open lets one request through", []step{
			{"full", "has room"}, {"full", "has room"}, {"full", "resting 30s"}, {"wait 30s", "untried"},
			{"ask", "yes untried 2m0s"}, {"ask", "no untried 2m0s"}, {"ok", "has room"}, {"ask", "yes has room"},
		}},
		{"a failed trial rests twice as long, up to 10 minutes", []step{
			{"full", "has room"}, {"full", "has room"}, {"full", "resting 30s"},
			{"wait 30s", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 1m0s"},
			{"wait 1m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 2m0s"},
			{"wait 2m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 4m0s"},
			{"wait 4m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 8m0s"},
			{"wait 8m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 10m0s"},
			{"wait 10m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 10m0s"},
			{"wait 10m", "untried"}, {"ask", "yes untried 2m0s"}, {"ok", "has room"},
			{"full", "has room"}, {"full", "has room"}, {"full", "resting 30s"},
		}},
		{"a lease that nobody gives back expires", []step{
			{"full", "has room"}, {"full", "has room"}, {"full", "resting 30s"}, {"wait 30s", "untried"},
			{"ask", "yes untried 2m0s"}, {"wait 119s", "untried 1s"}, {"ask", "no untried 1s"}, {"wait 1s", "untried"}, {"ask", "yes untried 2m0s"},
		}},
		{"a stopped trial gives the lease back", []step{
			{"full", "has room"}, {"full", "has room"}, {"full", "resting 30s"}, {"wait 30s", "untried"},
			{"ask", "yes untried 2m0s"}, {"left", "untried"}, {"ask", "yes untried 2m0s"}, {"network", "untried"}, {"ask", "yes untried 2m0s"}, {"size", "untried"},
		}},
		{"failures of requests sent before it opened add nothing", []step{
			{"full", "has room"}, {"full", "has room"}, {"full", "resting 30s"}, {"wait 10s", "resting 20s"}, {"full", "resting 20s"}, {"full", "resting 20s"},
		}},
		{"a stated delay is kept exactly, and others wait too", []step{{"stated 7s", "resting 7s"}, {"ask", "no resting 7s"}, {"wait 7s", "has room"}, {"ask", "yes has room"}}},
		{"an open circuit rests as long as stated", []step{{"full", "has room"}, {"full", "has room"}, {"stated 12m", "resting 12m0s"}, {"stated 5m", "resting 12m0s"}, {"stated 1h", "resting 1h0m0s"}}},
		{"a stated year is a day", []step{{"stated 8760h", "resting 24h0m0s"}}},
		{"an old streak does not count", []step{{"full", "has room"}, {"full", "has room"}, {"wait 61m", "has room"}, {"full", "has room"}}},
		{"who insists is let through, as long as it is not set aside", []step{
			{"full", "has room"}, {"full", "has room"}, {"full", "resting 30s"}, {"insist", "yes resting 30s"}, {"full", "resting 30s"},
			{"aside", "set aside"}, {"ask", "no set aside"}, {"insist", "no set aside"}, {"wait 1h", "set aside"}, {"back", "untried"},
		}},
		{"nothing at a local address rests a minute", []step{{"absent", "resting 1m0s"}, {"wait 1m", "has room"}}},
		{"a refused key is out for a while", []step{{"auth", "out 10m0s"}, {"ask", "no out 10m0s"}, {"insist", "yes out 10m0s"}, {"wait 10m", "has room"}}},
		{"until it works", []step{{"billing", "out 10m0s"}, {"ok", "has room"}}},
		{"or the settings change", []step{{"model", "out 10m0s"}, {"forget", "has room"}}},
		{"a used-up allowance is out until its reset", []step{{"usage 3h", "out 3h0m0s"}, {"wait 2h", "out 1h0m0s"}, {"wait 1h", "has room"}}},
		{"without a reset it is tried again", []step{{"usage", "out 10m0s"}, {"wait 10m", "has room"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			under(t, func(t *testing.T, shared Shared) {
				b := board(shared, "me")
				for n, s := range tt.steps {
					answer := ""
					word, rest, _ := strings.Cut(s.do, " ")
					d, _ := time.ParseDuration(rest)
					switch word {
					case "full":
						b.Failed(ctx, sol, full())
					case "stated":
						b.Failed(ctx, sol, &models.Fault{Kind: models.KindCapacity, Delayed: true, RetryAfter: d})
					case "usage":
						f := fault(models.KindUsage)
						if d > 0 {
							f.ResetAt = time.Now().Add(d)
						}
						b.Failed(ctx, sol, f)
					case "ok":
						b.Succeeded(ctx, sol, time.Second)
					case "ask", "insist":
						_, ok := b.Allow(ctx, sol, word == "insist")
						answer = map[bool]string{true: "yes ", false: "no "}[ok]
					case "left":
						b.Left(ctx, sol)
					case "aside", "back":
						b.SetAside(ctx, sol, word == "aside")
					case "forget":
						b.Forget(sol.Provider)
					case "wait":
						time.Sleep(d)
					default:
						b.Failed(ctx, sol, fault(models.Kind(word)))
					}
					if got := answer + states(b); got != s.want {
						t.Fatalf("after step %d, %s: %s, want %s", n+1, s.do, got, s.want)
					}
				}
			})
		})
	}
}

func TestTwoBoardsAgree(t *testing.T) {
	under(t, func(t *testing.T, shared Shared) {
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
		b.Left(ctx, sol) // somebody else's lease
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
		b.SetAside(ctx, sol, true)
		a.Refresh(ctx)
		if got := states(a); got != "set aside" {
			t.Errorf("set aside elsewhere: %s", got)
		}
	})
}

func TestARefusedKeyIsThisProgramsOwn(t *testing.T) {
	under(t, func(t *testing.T, shared Shared) {
		a, b := board(shared, "a"), board(shared, "b")
		a.Failed(ctx, sol, &models.Fault{Kind: models.KindAuth, Scope: models.ScopeAccount})
		b.Refresh(ctx)
		if got := a.Condition(terra).State; got != models.Out {
			t.Errorf("another model of the account is %s, want out", got)
		}
		if got := a.Condition(luna).State; got != models.Ready {
			t.Errorf("another provider is %s", got)
		}
		if got := states(b); got != "has room" {
			t.Errorf("elsewhere it is %s", got)
		}
	})
}

func TestAUsedUpAccountIsOutForAll(t *testing.T) {
	under(t, func(t *testing.T, shared Shared) {
		a, b := board(shared, "a"), board(shared, "b")
		a.Failed(ctx, sol, &models.Fault{Kind: models.KindUsage, Scope: models.ScopeAccount, Message: "daily", Delayed: true, RetryAfter: time.Hour})
		b.Refresh(ctx)
		if c := b.Condition(terra); c.State != models.Out || time.Until(c.Until) != time.Hour || c.Fault.Message != "daily" {
			t.Errorf("elsewhere another model of the account is %+v", c)
		}
		b.Succeeded(ctx, terra, 0)
		a.Refresh(ctx)
		if got := a.Condition(sol).State; got != models.Ready {
			t.Errorf("after a success it is %s", got)
		}
	})
}

func TestTheStateSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		run := func(do func(b *Board)) {
			s, err := store.Open(ctx, dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			do(board(s, "me"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		run(func(b *Board) {
			for range 3 {
				b.Failed(ctx, sol, full())
			}
			b.Leave(ctx, sol)
			b.Retry(ctx, "p")
		})
		time.Sleep(10 * time.Second)
		run(func(b *Board) {
			b.Refresh(ctx)
			s := b.Status(sol)
			if states(b) != "resting 20s" || s.Streak != 3 || s.Fault.Code != "server_is_overloaded" || time.Since(s.Since) != 10*time.Second {
				t.Errorf("after a restart: %s, %+v", states(b), s)
			}
			if got := time.Until(b.Hold(sol)); got != 5*time.Minute-10*time.Second {
				t.Errorf("the hold lasts %v", got)
			}
			if got := b.Budget("p"); got != 9 {
				t.Errorf("budget is %d", got)
			}
		})
		run(func(b *Board) { // without Refresh
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
		b := board(m, "a", func(o *Options) { o.Report = func(err error) { reports = append(reports, err) } })
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
		if len(reports) != 1 || !errors.Is(reports[0], m.broken) {
			t.Errorf("reported %v, want it once", reports)
		}
		m.broken = nil
		b.Refresh(ctx)
		if got := states(b); got != "resting 1m0s" {
			t.Errorf("a store that came back made it forget: %s", got)
		}
		b.SetOutage(ctx, sol, true)
		other := board(m, "b")
		other.Refresh(ctx)
		if got := states(other); got != "resting 1m0s" {
			t.Errorf("what happened meanwhile was not saved: %s", got)
		}
	})
}

func TestACancelledRequestIsStillRecorded(t *testing.T) {
	under(t, func(t *testing.T, shared Shared) {
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
		b := board(&memory{}, "a", func(o *Options) {
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
		if s.Streak != 2 || s.State != models.Ready || !s.Outage.IsZero() {
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
				b := board(&memory{}, "a", func(o *Options) {
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

func TestHealthDecidesTheOrderInATier(t *testing.T) {
	under(t, func(t *testing.T, shared Shared) {
		b := board(shared, "a")
		tier := []models.Target{sol, terra, luna}
		order := func() string {
			var names []string
			for _, t := range b.Order(tier) {
				names = append(names, t.Model[:1])
			}
			return strings.Join(names, "")
		}
		want := func(when, want string) {
			t.Helper()
			if got := order(); got != want {
				t.Errorf("%s: %s, want %s (sol %.2f terra %.2f luna %.2f)", when, got, want, b.Status(sol).Health, b.Status(terra).Health, b.Status(luna).Health)
			}
		}
		want("at the beginning", "stl")
		for range 3 {
			b.Failed(ctx, sol, fault(models.KindServer))
		}
		want("after three failures", "tls")
		for range 3 {
			b.Succeeded(ctx, sol, 0)
		}
		want("at 0.62 it is not back", "tls")
		for range 3 {
			b.Succeeded(ctx, sol, 0)
		}
		want("above 0.7 it is", "stl")
		for range 4 {
			b.Failed(ctx, sol, fault(models.KindStream))
		}
		want("at 0.66 it stays", "stl")
		for range 4 {
			b.Failed(ctx, sol, fault(models.KindStream))
		}
		want("below 0.5 it is last", "tls")
		time.Sleep(4 * time.Hour)
		want("time forgives", "stl")
		for range 5 {
			b.Succeeded(ctx, sol, 5*time.Second)
			b.Succeeded(ctx, terra, 2*time.Second)
			b.Succeeded(ctx, luna, time.Second)
		}
		want("slow to begin: 5 s where 2 s is usual", "tls")
		for range 3 {
			b.Failed(ctx, terra, full())
		}
		want("a resting one is behind", "lst")
		b.Failed(ctx, luna, &models.Fault{Kind: models.KindAuth})
		want("an unusable one behind that", "stl")
		b.SetAside(ctx, sol, true)
		want("one set aside is the last", "tls")
		if !slices.Equal(tier, []models.Target{sol, terra, luna}) {
			t.Error("Order changed its argument")
		}
		if s := b.Status(luna); s.FirstToken != time.Second || s.Share != 1 {
			t.Errorf("Status() = %+v", s)
		}
	})
}

func TestARelapseDoublesTheHold(t *testing.T) {
	under(t, func(t *testing.T, shared Shared) {
		b := board(shared, "a")
		var got []string
		for range 5 {
			until := b.Leave(ctx, sol)
			got = append(got, time.Until(until).String())
			time.Sleep(time.Minute)
			if again := b.Leave(ctx, sol); !again.Equal(until) || !b.Hold(sol).Equal(until) {
				t.Errorf("another session's leaving changed the hold to %v", again)
			}
			time.Sleep(time.Until(until))
			if h := b.Hold(sol); !h.IsZero() {
				t.Errorf("the hold is over and lasts until %v", h)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Hour)
		got = append(got, time.Until(b.Leave(ctx, sol)).String())
		if want := "5m0s 10m0s 20m0s 30m0s 30m0s 5m0s"; strings.Join(got, " ") != want {
			t.Errorf("holds are %v, want %s", got, want)
		}
	})
}

func TestARecordedFaultIsBounded(t *testing.T) {
	b := board(nil, "")
	b.Failed(ctx, sol, &models.Fault{Kind: models.KindCapacity, Message: strings.Repeat("ä", 5000), Raw: "raw", Err: errors.New("x"), Code: strings.Repeat("c", 5000)})
	f := b.Condition(sol).Fault
	if len(f.Message) > 510 || !strings.HasSuffix(f.Message, "ä…") || f.Raw != "" || f.Err != nil || len(f.Code) > 130 {
		t.Errorf("fault is %+v", f)
	}
}

func FuzzSavedState(f *testing.F) {
	f.Add([]byte(`{"rev":1,"target":{"open":true,"rests":-9,"hold_step":77,"streak":3}}`), []byte(`{"provider":{"limit":-4,"spent":1e300,"slots":[{}]}}`))
	f.Add([]byte(`{"target":{"until":"9999-12-31T23:59:59Z","first":[-1]}}`), []byte(`[]`))
	f.Add([]byte(``), []byte("\x00"))
	f.Fuzz(func(t *testing.T, target, provider []byte) {
		m := &memory{rows: map[string][]byte{"target/p/sol": target, "provider/p": provider, "target/": target, "x": nil}}
		b := board(m, "a")
		b.Refresh(ctx)
		b.Allow(ctx, sol, false)
		b.Failed(ctx, sol, full())
		b.Leave(ctx, sol)
		b.Retry(ctx, "p")
		b.Join(ctx, "p")(false)
		b.Succeeded(ctx, sol, time.Second)
		if n := b.Budget("p"); n < 0 || n > 10 {
			t.Errorf("budget is %d", n)
		}
		if h := b.Status(sol).Health; h < 0 || h > 1 {
			t.Errorf("health is %v", h)
		}
		if got := b.Condition(sol).State; got != models.Ready && got != models.Aside && got != models.Out {
			t.Errorf("after a success it is %s", got)
		}
	})
}

func loaded() *Board {
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

func ExampleBoard_Allow() {
	b := New(Options{})
	for range 3 {
		if _, ok := b.Allow(ctx, sol, false); ok {
			b.Failed(ctx, sol, &models.Fault{Kind: models.KindCapacity})
		}
	}
	c, ok := b.Allow(ctx, sol, false)
	fmt.Println(c.State, ok)
	// Output: resting false
}
