package capacity_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/models/capacity"
)

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
			{"full", "failing"}, {"full", "failing"}, {"full", "resting 30s"}, {"ask", "no resting 30s"},
			{"wait 29s", "resting 1s"}, {"wait 1s", "untried"},
		}},
		{"a success between them starts anew",
			[]step{{"full", "failing"}, {"full", "failing"}, {"ok", "has room"}, {"full", "failing"}, {"full", "failing"}}},
		{"other failures do not open it", []step{
			{"server", "failing"}, {"stream", "failing"}, {"gateway", "failing"}, {"network", "failing"},
			{"request", "failing"}, {"size", "failing"},
			{"cancelled", "failing"}, {"incomplete", "failing"}, {"rate", "failing"}, {"ask", "yes failing"},
		}},
		{"half open lets one request through", []step{
			{"full", "failing"}, {"full", "failing"}, {"full", "resting 30s"}, {"wait 30s", "untried"},
			{"ask", "yes untried 2m0s"}, {"ask", "no untried 2m0s"}, {"ok", "has room"}, {"ask", "yes has room"},
		}},
		{"a failed trial rests twice as long, up to 10 minutes", []step{
			{"full", "failing"}, {"full", "failing"}, {"full", "resting 30s"},
			{"wait 30s", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 1m0s"},
			{"wait 1m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 2m0s"},
			{"wait 2m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 4m0s"},
			{"wait 4m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 8m0s"},
			{"wait 8m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 10m0s"},
			{"wait 10m", "untried"}, {"ask", "yes untried 2m0s"}, {"full", "resting 10m0s"},
			{"wait 10m", "untried"}, {"ask", "yes untried 2m0s"}, {"ok", "has room"},
			{"full", "failing"}, {"full", "failing"}, {"full", "resting 30s"},
		}},
		{"a lease that nobody gives back expires", []step{
			{"full", "failing"}, {"full", "failing"}, {"full", "resting 30s"}, {"wait 30s", "untried"},
			{"ask", "yes untried 2m0s"}, {"wait 119s", "untried 1s"}, {"ask", "no untried 1s"}, {"wait 1s", "untried"},
			{"ask", "yes untried 2m0s"},
		}},
		{"a stopped trial gives the lease back", []step{
			{"full", "failing"}, {"full", "failing"}, {"full", "resting 30s"}, {"wait 30s", "untried"},
			{"ask", "yes untried 2m0s"}, {"left", "untried"}, {"ask", "yes untried 2m0s"}, {"network", "untried"},
			{"ask", "yes untried 2m0s"}, {"size", "untried"},
		}},
		{"failures of requests sent before it opened add nothing", []step{
			{"full", "failing"}, {"full", "failing"}, {"full", "resting 30s"}, {"wait 10s", "resting 20s"},
			{"full", "resting 20s"}, {"full", "resting 20s"},
		}},
		{"a stated delay is kept exactly, and others wait too",
			[]step{{"stated 7s", "resting 7s"}, {"ask", "no resting 7s"}, {"wait 7s", "failing"}, {"ask", "yes failing"}}},
		{"an open circuit rests as long as stated",
			[]step{{"full", "failing"}, {"full", "failing"}, {"stated 12m", "resting 12m0s"}, {"stated 5m", "resting 12m0s"},
				{"stated 1h", "resting 1h0m0s"}}},
		{"a stated year is a day", []step{{"stated 8760h", "resting 24h0m0s"}}},
		{"an old streak does not count",
			[]step{{"full", "failing"}, {"full", "failing"}, {"wait 61m", "unknown"}, {"full", "failing"}}},
		{"who insists is let through, as long as it is not set aside", []step{
			{"full", "failing"}, {"full", "failing"}, {"full", "resting 30s"}, {"insist", "yes resting 30s"},
			{"full", "resting 30s"},
			{"aside", "set aside"}, {"ask", "no set aside"}, {"insist", "no set aside"}, {"wait 1h", "set aside"},
			{"back", "untried"},
		}},
		{"nothing at a local address rests a minute", []step{{"absent", "resting 1m0s"}, {"wait 1m", "unknown"}}},
		{"a refused key is out for a while",
			[]step{{"auth", "out 10m0s"}, {"ask", "no out 10m0s"}, {"insist", "yes out 10m0s"}, {"wait 10m", "unknown"}}},
		{"until it works", []step{{"billing", "out 10m0s"}, {"ok", "has room"}}},
		{"or the settings change", []step{{"model", "out 10m0s"}, {"forget", "unknown"}}},
		{"a used-up allowance is out until its reset",
			[]step{{"usage 3h", "out 3h0m0s"}, {"wait 2h", "out 1h0m0s"}, {"wait 1h", "unknown"}}},
		{"without a reset it is tried again", []step{{"usage", "out 10m0s"}, {"wait 10m", "unknown"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			under(t, func(t *testing.T, shared capacity.Shared) {
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
						b.Release(ctx, sol)
					case "aside", "back":
						b.SetDisabled(ctx, sol, word == "aside")
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

func TestHealthDecidesTheOrderInATier(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
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
				t.Errorf("%s: %s, want %s (sol %.2f terra %.2f luna %.2f)", when, got, want, b.Status(sol).Health,
					b.Status(terra).Health, b.Status(luna).Health)
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
		b.SetDisabled(ctx, sol, true)
		want("one set aside is the last", "tls")
		if !slices.Equal(tier, []models.Target{sol, terra, luna}) {
			t.Error("Order changed its argument")
		}
		if s := b.Status(luna); s.FirstToken != time.Second || s.Share != 1 {
			t.Errorf("Status() = %+v", s)
		}
	})
}

func TestARelapseDoublesTheFailbackDelay(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		b := board(shared, "a")
		var got []string
		for range 5 {
			until := b.StartFailback(ctx, sol)
			got = append(got, time.Until(until).String())
			time.Sleep(time.Minute)
			if again := b.StartFailback(ctx, sol); !again.Equal(until) || !b.FailbackAt(sol).Equal(until) {
				t.Errorf("another session's leaving changed the hold to %v", again)
			}
			time.Sleep(time.Until(until))
			if h := b.FailbackAt(sol); !h.IsZero() {
				t.Errorf("the hold is over and lasts until %v", h)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Hour)
		got = append(got, time.Until(b.StartFailback(ctx, sol)).String())
		if want := "5m0s 10m0s 20m0s 30m0s 30m0s 5m0s"; strings.Join(got, " ") != want {
			t.Errorf("holds are %v, want %s", got, want)
		}
	})
}

func TestAnEndpointThatHasAnsweredIsKnownToAllBelays(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault *models.Fault // nil: a reply
		want  bool
	}{
		{"a reply", nil, true},
		{"a refusal", &models.Fault{Kind: models.KindAuth, Scope: models.ScopeAccount, Status: 401}, true},
		{"no capacity", &models.Fault{Kind: models.KindCapacity, Status: 529}, true},
		{"a proxy's page", &models.Fault{Kind: models.KindGateway, Status: 502}, false},
		{"no connection", &models.Fault{Kind: models.KindNetwork}, false},
		{"a connection that is closed", &models.Fault{Kind: models.KindServer}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			under(t, func(t *testing.T, shared capacity.Shared) {
				mine, other := board(shared, "me"), board(shared, "other")
				if tt.fault == nil {
					mine.Succeeded(t.Context(), sol, time.Second)
				} else {
					mine.Failed(t.Context(), sol, tt.fault)
				}
				other.Refresh(t.Context())
				for who, b := range map[string]*capacity.Breakers{"me": mine, "other": other} {
					if shared == nil && who == "other" {
						continue
					}
					if got := b.Condition(sol).Answered; got != tt.want {
						t.Errorf("%s: answered is %v, want %v", who, got, tt.want)
					}
				}
			})
		})
	}
}

func TestAConnectionThatIsClosedLowersNoHealth(t *testing.T) {
	for _, contact := range []models.Contact{models.ContactClosed, ""} {
		b := board(nil, "me")
		for range 20 {
			b.Failed(t.Context(), sol, &models.Fault{Kind: models.KindServer, Contact: contact})
		}
		if got := b.Status(sol).Unhealthy; got != (contact == "") {
			t.Errorf("contact %q: unhealthy is %v", contact, got)
		}
	}
}

func TestAStatedWindowIsBelievedForADay(t *testing.T) {
	under(t, func(t *testing.T, shared capacity.Shared) {
		b := board(shared, "me")
		size := &models.Fault{Kind: models.KindSize, Status: 400}
		b.Failed(t.Context(), sol, size)
		if got := b.Condition(sol).Window; got != 0 {
			t.Errorf("nothing was stated, got %d", got)
		}
		size.WindowLimit = 8192
		b.Failed(t.Context(), sol, size)
		b.Succeeded(t.Context(), sol, time.Second)
		if got := b.Condition(sol).Window; got != 8192 {
			t.Errorf("got %d, want 8192", got)
		}
		if got := b.Condition(terra).Window; got != 0 {
			t.Errorf("another target has %d", got)
		}
		time.Sleep(25 * time.Hour)
		if got := b.Condition(sol).Window; got != 0 {
			t.Errorf("a day later: %d", got)
		}
	})
}
