package route

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"belay/models"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// afterFailures is the situation of a request for the heavy tier whose target
// has failed so often in a row. Every other target has capacity; luna is local.
func afterFailures(failures int) *situation {
	tiers := map[models.Tier][]models.Target{models.Heavy: {sol}, models.Medium: {terra}, models.Light: {spare, luna}}
	s := &situation{
		now:    noon,
		random: 0.5,
		rules: &rules{
			tiers: tiers, policy: Auto, floor: models.Light, switchAfter: 2, attempts: 4, maxWait: 30 * time.Second,
		},
		control: controlState{tier: models.Heavy},
		history: &history{
			began:    noon,
			attempts: failures,
			sent:     failures > 0,
			failures: map[models.Target]int{sol: failures},
			left:     map[models.Target]bool{},
			tried:    map[models.Target]models.Kind{},
		},
		target:  candidate{sol, models.Heavy},
		order:   tiers,
		targets: map[models.Target]targetState{},
	}
	for _, t := range []models.Target{sol, terra, spare, luna} {
		s.targets[t] = targetState{
			model:     models.Model{Target: t, Known: true, Tools: true, Window: 200_000},
			local:     t == luna,
			condition: models.Condition{Target: t, State: models.Ready},
		}
	}
	return s
}

func (s *situation) set(t models.Target, state models.State, until time.Duration, f *models.Fault) {
	target := s.targets[t]
	target.condition = models.Condition{Target: t, State: state, Fault: f}
	if until > 0 {
		target.condition.Until = s.now.Add(until)
	}
	s.targets[t] = target
}

// withImages makes a request with pictures, which these targets alone see.
func (s *situation) withImages(seeing ...models.Target) {
	s.request.images = true
	for _, t := range seeing {
		target := s.targets[t]
		target.model.Images = true
		s.targets[t] = target
	}
}

// localInTier puts luna, which is local, behind sol in the heavy tier.
func (s *situation) localInTier() {
	s.rules.tiers = map[models.Tier][]models.Target{
		models.Heavy: {sol, luna}, models.Medium: {terra}, models.Light: {spare},
	}
	s.order = s.rules.tiers
}

func (s *situation) window(t models.Target, tokens int64) {
	target := s.targets[t]
	target.model.Window = tokens
	s.targets[t] = target
}

// String is what was decided, in a few words.
func (d decision) String() string {
	var b strings.Builder
	b.WriteString(string(d.next))
	switch {
	case d.measure:
		return "measure"
	case d.next == models.NextRetry:
		fmt.Fprintf(&b, " %v", d.delay)
	case d.next == models.NextSwitch && !d.userInitiated:
		fmt.Fprintf(&b, " %s", d.to.Model)
	case d.next == models.NextPark && !d.until.IsZero():
		fmt.Fprintf(&b, " %v", d.until.Sub(noon))
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{d.shorter, "shorter"}, {d.uncounted, "uncounted"}, {d.retryLimit, "limit"}, {d.userInitiated, "by the user"}} {
		if flag.set {
			b.WriteString(" " + flag.name)
		}
	}
	return b.String()
}

// failing decides what follows a failure at the situation's target.
func failing(s *situation, f *models.Fault) decision {
	f.Target = s.target.Target
	if s.history.first == nil {
		s.history.first = f
	}
	s.history.tried[s.target.Target] = f.Kind
	return decide(s, f)
}

func TestWhatFollowsEachKindOfFailure(t *testing.T) {
	no, yes := false, true
	rows := []struct {
		kind models.Kind

		first   string // the first failure of a request
		second  string // the second in a row
		last    string // the last attempt has failed, and nobody else may be asked
		refused string // the server says that a retry is of no use
		wanted  string // the server says that a retry is of use
		parked  string // a parked request tries again by itself
		local   string // the only other target is on this computer, and allowed
	}{
		{models.KindCapacity, "retry 1.5s", "switch terra", "park", "stop", "retry 1.5s", "switch terra", "retry 1.5s"},
		{models.KindRate, "retry 1.5s", "switch spare", "park", "stop", "retry 1.5s", "switch spare", "retry 1.5s"},
		{
			models.KindUsage,
			"switch spare",
			"switch spare",
			"park",
			"stop",
			"switch spare",
			"switch spare",
			"switch luna",
		},
		{models.KindBilling, "stop", "stop", "stop", "stop", "retry 1.5s", "stop", "stop"},
		{models.KindAuth, "stop", "stop", "stop", "stop", "retry 1.5s", "stop", "stop"},
		{models.KindModel, "stop", "stop", "stop", "stop", "retry 1.5s", "stop", "stop"},
		{models.KindRequest, "stop", "stop", "stop", "stop", "retry 1.5s", "stop", "stop"},
		{
			models.KindSize,
			"retry 0s shorter",
			"retry 0s shorter",
			"retry 0s shorter",
			"retry 0s shorter",
			"retry 0s shorter",
			"retry 0s shorter",
			"retry 0s shorter",
		},
		{models.KindServer, "retry 1.5s", "switch terra", "park", "stop", "retry 1.5s", "switch terra", "retry 1.5s"},
		{models.KindGateway, "retry 1.5s", "retry 1.5s", "park", "stop", "retry 1.5s", "park", "retry 1.5s"},
		{
			models.KindNetwork,
			"retry 1.5s uncounted",
			"retry 1.5s uncounted",
			"retry 1.5s uncounted",
			"stop",
			"retry 1.5s uncounted",
			"retry 1.5s uncounted",
			"retry 1.5s uncounted",
		},
		{
			models.KindAbsent,
			"switch terra",
			"switch terra",
			"park",
			"stop",
			"switch terra",
			"switch terra",
			"switch luna",
		},
		{models.KindStream, "retry 1.5s", "switch terra", "park", "stop", "retry 1.5s", "switch terra", "retry 1.5s"},
		{models.KindMalformed, "retry 1.5s", "switch terra", "park", "stop", "retry 1.5s", "switch terra", "retry 1.5s"},
		{models.KindIncomplete, "stop", "stop", "stop", "stop", "retry 1.5s", "stop", "stop"},
		{models.KindCancelled, "stop", "stop", "stop", "stop", "retry 1.5s", "stop", "stop"},
	}
	var kinds []models.Kind
	for _, row := range rows {
		kinds = append(kinds, row.kind)
		t.Run(string(row.kind), func(t *testing.T) {
			check := func(when, want string, s *situation, f *models.Fault) {
				t.Helper()
				f.Kind = row.kind
				if got := failing(s, f).String(); got != want {
					t.Errorf("%s: %s, want %s", when, got, want)
				}
			}
			check("first", row.first, afterFailures(1), &models.Fault{})
			check("second", row.second, afterFailures(2), &models.Fault{})
			check("no retry, says the server", row.refused, afterFailures(1), &models.Fault{ShouldRetry: &no})
			check("retry, says the server", row.wanted, afterFailures(1), &models.Fault{ShouldRetry: &yes})

			s := afterFailures(4)
			s.rules.policy = Never
			check("last", row.last, s, &models.Fault{})

			s = afterFailures(1)
			s.request.parkRetry = true
			check("parked", row.parked, s, &models.Fault{})

			s = afterFailures(1)
			s.rules.tiers = map[models.Tier][]models.Target{models.Heavy: {sol, luna}}
			s.order = s.rules.tiers
			check("local", row.local, s, &models.Fault{})
		})
	}
	for _, k := range models.Kinds() {
		if !slices.Contains(kinds, k) {
			t.Errorf("there is no row for %s", k)
		}
	}
}

func TestDecide(t *testing.T) {
	full := func() *models.Fault { return &models.Fault{Kind: models.KindCapacity} }
	after := func(d time.Duration) *models.Fault {
		return &models.Fault{Kind: models.KindCapacity, Delayed: true, RetryAfter: d}
	}
	size := func() *models.Fault { return &models.Fault{Kind: models.KindSize} }
	offline := func() *models.Fault { return &models.Fault{Kind: models.KindNetwork} }
	for _, tt := range []struct {
		name     string
		failures int
		change   func(*situation)
		fault    *models.Fault
		want     string
	}{
		// The same target again.
		{"the delay grows", 2, func(s *situation) { s.rules.policy = Never }, full(), "retry 2.5s"},
		{"up to eight seconds", 3, func(s *situation) {
			s.rules.policy = Never
			s.rules.attempts = 9
			s.history.failures[sol] = 7
		}, full(), "retry 8.5s"},
		{"jitter is up to a second", 1, func(s *situation) { s.random = 0.25 }, full(), "retry 1.25s"},
		{"a stated delay is kept exactly", 1, nil, after(7 * time.Second), "retry 7s"},
		{"a stated date that has passed is jitter", 1, nil, after(0), "retry 500ms"},
		{"the last of four attempts", 4, func(s *situation) { s.rules.policy = Never }, full(), "park"},
		{"attempts are counted over all targets", 4, func(s *situation) {
			s.history.failures[sol] = 1
		}, full(), "park"},
		{"the waiting time is used up", 2, func(s *situation) {
			s.rules.policy = Never
			s.history.waited = 29 * time.Second
		}, full(), "park"},
		{"what was kept makes a new request", 4, func(s *situation) {
			s.rules.policy = Never
			s.history.kept = true
		}, full(), "retry 8.5s"},
		{"a resting target is waited for", 1, func(s *situation) {
			s.rules.policy = Never
			s.set(sol, models.Resting, 20*time.Second, after(20*time.Second))
		}, full(), "retry 20s"},
		{"a lost connection is asked for less often later", 1, func(s *situation) {
			s.history.began = noon.Add(-time.Minute)
		}, offline(), "retry 10.5s uncounted"},
		{"and as long as it was asked for", 1, func(s *situation) {
			s.history.began = noon.Add(-time.Minute)
			s.request.networkWait = time.Minute
		}, offline(), "park"},
		{"a suspended computer is no failure of the target", 4, func(s *situation) {
			s.history.slept = true
		}, full(), "retry 1.5s uncounted"},

		// The limits of retries.
		{"the task's own limit ends it", 1, func(s *situation) { s.taskSpent = true }, full(), "stop limit"},
		{"also where another target would serve", 2, func(s *situation) { s.taskSpent = true }, full(), "stop limit"},
		{"a lost connection takes nothing from it", 1, func(s *situation) {
			s.taskSpent = true
		}, offline(), "retry 1.5s uncounted"},
		{"an empty budget parks", 1, func(s *situation) { s.budgetSpent = true }, full(), "park"},
		{"a stated delay takes nothing from it", 1, func(s *situation) {
			s.budgetSpent = true
		}, after(7 * time.Second), "retry 7s"},
		{"nor does a shorter request", 1, func(s *situation) { s.budgetSpent = true }, size(), "retry 0s shorter"},

		// Another target.
		{"switch early: one failure", 1, func(s *situation) { s.rules.switchAfter = 1 }, full(), "switch terra"},
		{"patient: never", 3, func(s *situation) { s.rules.switchAfter = 1 << 30 }, full(), "retry 4.5s"},
		{"a stated delay longer than what is left", 1, nil, after(time.Hour), "switch terra"},
		{"or parks until then when nobody else may be asked", 1, func(s *situation) {
			s.rules.policy = Never
		}, after(time.Hour), "park 1h0m0s"},
		{"ask: the user decides", 2, func(s *situation) { s.rules.policy = Confirm }, full(), "retry 2.5s"},
		{"a tier chosen in this turn is a pin", 2, func(s *situation) {
			s.control.chosen = true
		}, full(), "retry 2.5s"},
		{"a step that must not be degraded", 2, func(s *situation) {
			s.control.noFailover = true
		}, full(), "retry 2.5s"},
		{"a pinned target", 2, func(s *situation) { s.control.only = sol }, full(), "retry 2.5s"},
		{"but where nothing runs the next of the tier serves", 1, func(s *situation) {
			s.rules.policy = Never
			s.rules.tiers = map[models.Tier][]models.Target{models.Heavy: {sol, spare}}
			s.order = s.rules.tiers
		}, &models.Fault{Kind: models.KindAbsent}, "switch spare"},
		{"the floor holds", 2, func(s *situation) { s.rules.floor = models.Heavy }, full(), "retry 2.5s"},
		{"after a write one tier down at most", 2, func(s *situation) {
			s.request.wrote = true
			s.set(terra, models.Resting, time.Minute, nil)
		}, full(), "retry 2.5s"},
		{"without one also two", 2, func(s *situation) {
			s.set(terra, models.Resting, time.Minute, nil)
		}, full(), "switch spare"},
		{"the circuit is open by the failures of others", 1, func(s *situation) {
			s.set(sol, models.Resting, 20*time.Second, full())
		}, full(), "switch terra"},
		{"never up again", 2, func(s *situation) {
			s.target = candidate{terra, models.Medium}
			s.history.failures[terra] = 2
		}, full(), "switch spare"},
		{"never to a target that was left", 2, func(s *situation) {
			s.history.left[terra] = true
		}, full(), "switch spare"},
		{"never to one without tools", 2, func(s *situation) {
			s.targets[terra] = targetState{}
		}, full(), "switch spare"},
		{"with pictures rather to one that sees them", 2, func(s *situation) {
			s.withImages(spare)
		}, full(), "switch spare"},
		{"but also to one that does not", 2, func(s *situation) { s.withImages(sol) }, full(), "switch terra"},
		{"also up, where one was passed over for the pictures alone", 2, func(s *situation) {
			s.withImages(terra)
			s.target = candidate{terra, models.Medium}
			s.history.failures[terra] = 2
		}, full(), "switch sol"},
		{"one that refused just now is passed over", 2, func(s *situation) {
			state := s.targets[terra]
			state.refused = true
			s.targets[terra] = state
		}, full(), "switch spare"},

		// Local targets.
		{"no local target without leave", 2, func(s *situation) {
			s.rules.tiers[models.Light] = []models.Target{luna}
			s.set(terra, models.Disabled, 0, nil)
		}, full(), "retry 2.5s"},
		{"with leave after three failures", 3, func(s *situation) {
			s.rules.switchLocal = true
			s.rules.tiers[models.Light] = []models.Target{luna}
			s.set(terra, models.Disabled, 0, nil)
		}, full(), "switch luna"},
		{"not after two", 2, func(s *situation) {
			s.rules.switchLocal = true
			s.rules.tiers[models.Light] = []models.Target{luna}
			s.set(terra, models.Disabled, 0, nil)
		}, full(), "retry 2.5s"},

		{"one of the tier after three failures, before lower tiers", 3, (*situation).localInTier, full(), "switch luna"},
		{"not after two", 2, (*situation).localInTier, full(), "switch terra"},
		{"whichever targets they were at", 2, func(s *situation) {
			s.localInTier()
			s.target = candidate{terra, models.Medium}
			s.history.left[sol] = true
			s.history.failures[terra] = 1
			s.history.attempts = 3
		}, full(), "switch luna"},
		{"whatever kind the last one was", 3, (*situation).localInTier,
			&models.Fault{Kind: models.KindServer}, "switch luna"},
		{"not for a failure that another target does not cure", 3, (*situation).localInTier,
			&models.Fault{Kind: models.KindGateway}, "retry 1.5s"},
		{"nor for a lost connection", 3, (*situation).localInTier, offline(), "retry 1.5s uncounted"},
		{"not twice", 3, func(s *situation) {
			s.localInTier()
			s.history.left[luna] = true
		}, full(), "switch terra"},
		{"not while it rests", 3, func(s *situation) {
			s.localInTier()
			s.set(luna, models.Resting, time.Minute, nil)
		}, full(), "switch terra"},
		{"not when switching is off", 3, func(s *situation) {
			s.localInTier()
			s.rules.policy = Never
		}, full(), "retry 4.5s"},
		{"not after the last attempt", 4, (*situation).localInTier, full(), "park"},
		{"one that stands in is left as any other", 2, func(s *situation) {
			s.localInTier()
			s.target = candidate{luna, models.Heavy}
			s.history.failures[luna] = 1
			s.history.attempts = 3
		}, full(), "retry 1.5s"},

		// The size of the request.
		{"too long again: a larger window serves", 2, func(s *situation) {
			s.shortest = true
			s.window(spare, 400_000)
		}, size(), "switch spare"},
		{"or nobody", 2, func(s *situation) { s.shortest = true }, size(), "stop"},
		{"a shorter request is no attempt more", 4, nil, size(), "retry 0s shorter"},
		{"a smaller window is measured first", 2, func(s *situation) { s.window(terra, 100_000) }, full(), "measure"},
		{"it holds the request", 2, func(s *situation) {
			s.window(terra, 100_000)
			s.history.size = 90_000
		}, full(), "switch terra"},
		{"it does not", 2, func(s *situation) {
			s.window(terra, 100_000)
			s.history.size = 150_000
		}, full(), "switch spare"},

		// Parking.
		{"a parked request tries every target once", 1, func(s *situation) {
			s.request.parkRetry = true
			s.history.left = map[models.Target]bool{terra: true, spare: true, luna: true}
		}, full(), "park"},
		{"until the first of the candidates is free", 4, func(s *situation) {
			s.rules.tiers[models.Light] = nil
			s.set(sol, models.Resting, 10*time.Minute, full())
			s.set(terra, models.Unusable, 3*time.Hour, &models.Fault{Kind: models.KindUsage})
		}, full(), "park 10m0s"},
		{"a refused stand-in parks for the preferred one", 1, func(s *situation) {
			s.target = candidate{terra, models.Medium}
			s.history.first = &models.Fault{Kind: models.KindCapacity, Target: sol}
		}, &models.Fault{Kind: models.KindAuth}, "park"},

		// The user's hand.
		{"a stop", 1, func(s *situation) { s.cancelled = errors.New("stop") }, full(), "stop by the user"},
		{"park", 1, func(s *situation) { s.control.parking = true }, full(), "park by the user"},
		{"another tier", 1, func(s *situation) {
			s.control.tier, s.control.chosen = models.Light, true
		}, full(), "switch by the user"},
		{"another target", 1, func(s *situation) { s.control.only = spare }, full(), "switch by the user"},
		{"another tier while it streamed", 1, nil, &models.Fault{Kind: models.KindCancelled, Err: errTier},
			"switch by the user"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := afterFailures(tt.failures)
			if tt.change != nil {
				tt.change(s)
			}
			if got := failing(s, tt.fault).String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheFaultOfThePreferredTargetIsReported(t *testing.T) {
	s := afterFailures(4)
	s.rules.policy = Never
	s.target = candidate{terra, models.Medium}
	s.history.first = &models.Fault{Kind: models.KindServer, Target: sol}
	s.history.tried[sol] = models.KindServer
	d := failing(s, &models.Fault{Kind: models.KindCapacity})
	if d.fault.Target != sol || !strings.Contains(d.fault.Hint, "openai/terra (capacity)") {
		t.Errorf("reported %v, hint %q", d.fault, d.fault.Hint)
	}
}

func TestARefusalThatTaughtHowToAskIsAskedAgainAtOnce(t *testing.T) {
	for _, failures := range []int{1, 4} {
		s := afterFailures(failures)
		s.history.attempts = failures
		got := failing(s, &models.Fault{Kind: models.KindRequest, Adjusted: "without store"})
		if got.String() != "retry 0s uncounted" {
			t.Errorf("after %d: %v", failures, got)
		}
		if got := failing(s, &models.Fault{Kind: models.KindRequest}); got.next != models.NextStop {
			t.Errorf("after %d, unchanged: %v", failures, got)
		}
	}
}
