package route

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
)

// twins puts a second target into the heavy tier.
func twins(o *Options) {
	o.Tiers[models.Heavy] = []models.Target{sol, spare}
}

func full(r *Router, targets ...models.Target) {
	for _, t := range targets {
		for range 3 {
			r.o.Breakers.Failed(context.Background(), t, &models.Fault{Kind: models.KindCapacity, Target: t})
		}
	}
}

// in plays one request in fake time.
func in(
	t *testing.T,
	script map[models.Target][]any,
	change func(*Options),
	test func(t *testing.T, r *Router, e *endpoint),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{script: script}
		test(t, router(e, change), e)
	})
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("went\n%s, want\n%s", got, want)
	}
}

func TestAParkedRequestBeginsAtThePreferredTarget(t *testing.T) {
	busy := models.KindCapacity
	in(
		t,
		map[models.Target][]any{sol: {busy}, terra: {busy}, luna: {busy}},
		nil,
		func(t *testing.T, r *Router, _ *endpoint) {
			l := NewControl(models.Heavy)
			_, _ = play(t.Context(), r, Need{Control: l}) // ends away, at terra
			l.Release()
			time.Sleep(30 * time.Second)
			got, _ := play(t.Context(), r, Need{Control: l, ParkRetry: true})
			check(t, got, "→sol sol(1/3) switch →terra terra(2/3) switch →luna luna(3/3) park")
		},
	)
}

func TestAParkedRequestKeepsToAStatedDelay(t *testing.T) {
	hour := &models.Fault{Kind: models.KindCapacity, Delayed: true, RetryAfter: time.Hour}
	in(
		t,
		map[models.Target][]any{sol: {hour}, terra: {models.KindCapacity}, luna: {models.KindCapacity}},
		nil,
		func(t *testing.T, r *Router, e *endpoint) {
			l := NewControl(models.Heavy)
			_, err := play(t.Context(), r, Need{Control: l})
			var p *Parked
			if !errors.As(err, &p) || !p.Until.IsZero() {
				t.Fatalf("ended with %v until %v, want parked without a time: the others may be asked", err, p.Until)
			}
			l.Release()
			e.asked = nil
			_, _ = play(t.Context(), r, Need{Control: l, ParkRetry: true})
			if asked := strings.Join(e.asked, " "); strings.Contains(asked, "sol") ||
				!strings.Contains(asked, "terra") {
				t.Errorf("asked %s", asked)
			}
		},
	)
	in(
		t,
		map[models.Target][]any{sol: {hour}},
		func(o *Options) { o.Policy = Never },
		func(t *testing.T, r *Router, e *endpoint) {
			_, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			var p *Parked
			if !errors.As(err, &p) || time.Until(p.Until) != time.Hour {
				t.Errorf("ended with %v, want parked for an hour", err)
			}
		},
	)
}

func TestAParkEndsWhenTheFirstCandidateIsFree(t *testing.T) {
	day := &models.Fault{Kind: models.KindUsage, Scope: models.ScopeModel, Delayed: true, RetryAfter: 24 * time.Hour}
	long := &models.Fault{Kind: models.KindCapacity, Delayed: true, RetryAfter: 10 * time.Minute}
	in(
		t,
		map[models.Target][]any{sol: {long}, luna: {day}},
		func(o *Options) { o.Tiers[models.Medium] = nil },
		func(t *testing.T, r *Router, _ *endpoint) {
			_, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			var p *Parked
			if !errors.As(err, &p) || time.Until(p.Until).Round(time.Second) != 10*time.Minute ||
				p.Fault.Target != sol {
				t.Errorf("ended with %v until %v, want sol's ten minutes and not luna's day", err, p.Until)
			}
		},
	)
}

func TestWhoMayNotSwitchWaitsForOneTarget(t *testing.T) {
	busy := models.KindCapacity
	for _, policy := range []Policy{Never, Confirm} {
		in(
			t,
			map[models.Target][]any{sol: {busy, busy, ""}},
			func(o *Options) { twins(o); o.Policy = policy },
			func(t *testing.T, r *Router, _ *endpoint) {
				got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
				check(t, got, "sol(1/4) retry 1.5s sol(2/4) retry 2.5s sol(3/4) done")
			},
		)
		in(t, nil, func(o *Options) { twins(o); o.Policy = policy }, func(t *testing.T, r *Router, _ *endpoint) {
			full(r, sol)
			got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			check(t, got, "30s sol(1/4) done")
		})
	}
	in(
		t,
		map[models.Target][]any{sol: {models.KindAbsent}},
		func(o *Options) { twins(o); o.Policy = Never },
		func(t *testing.T, r *Router, _ *endpoint) {
			got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			check(t, got, "sol(1/4) switch →spare spare(2/4) done") // nothing runs there: it is skipped
		},
	)
}

func TestAChosenTierThatRestsIsWaitedForWithoutASwitch(t *testing.T) {
	in(t, nil, nil, func(t *testing.T, r *Router, _ *endpoint) {
		l := NewControl(models.Light)
		if _, err := play(t.Context(), r, Need{Control: l}); err != nil {
			t.Fatal(err)
		}
		l.Choose(models.Heavy) // in the middle of a turn: a pin
		full(r, sol)
		got, err := play(t.Context(), r, Need{Control: l})
		check(t, got, "30s sol(1/4) done")
		if err != nil {
			t.Error(err)
		}
	})
}

func TestTheControlReachesTheWaitForARestingTarget(t *testing.T) {
	for _, tt := range []struct {
		name string
		pull func(*Control)
		want string
	}{
		{"now asks it at once", func(l *Control) { l.Now() }, "30s sol(1/4) done"},
		{"another tier serves", func(l *Control) { l.Choose(models.Light) }, "30s →luna luna(1/4) done"},
		{"park gives up", func(l *Control) { l.Park() }, "30s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, nil, func(o *Options) { o.Policy = Never }, func(t *testing.T, r *Router, _ *endpoint) {
				full(r, sol)
				l := NewControl(models.Heavy)
				time.AfterFunc(time.Second, func() { tt.pull(l) })
				began := time.Now()
				got, _ := play(t.Context(), r, Need{Control: l})
				check(t, got, tt.want)
				if took := time.Since(began); took != time.Second {
					t.Errorf("took %v, want a second", took)
				}
			})
		})
	}
}

func TestParkBetweenTwoRequestsIsHeardBeforeAnyWait(t *testing.T) {
	in(
		t,
		map[models.Target][]any{
			sol: {&models.Fault{Kind: models.KindCapacity, Delayed: true, RetryAfter: 20 * time.Second}},
		},
		nil,
		func(t *testing.T, r *Router, _ *endpoint) {
			l := NewControl(models.Heavy)
			for chunk := range r.Stream(t.Context(), Need{Control: l}, whole) {
				if _, failed := chunk.(models.AttemptFailed); failed {
					break
				}
			}
			l.Park() // while the tools run
			got, err := play(t.Context(), r, Need{Control: l})
			var p *Parked
			if got != "" || !errors.As(err, &p) || !p.UserInitiated {
				t.Errorf("went %s, %v", got, err)
			}
		},
	)
}

func whole(models.Model) (models.Request, error) { return models.Request{}, nil }

// leaving plays a request whose caller leaves at the first failure because it
// keeps something of the attempt, and tells what was announced.
func leaving(ctx context.Context, r *Router, l *Control) (next models.Next) {
	for chunk := range r.Stream(ctx, Need{Control: l, Committed: func() bool { return true }}, whole) {
		if f, failed := chunk.(models.AttemptFailed); failed {
			return f.Next
		}
	}
	return ""
}

func TestWhatIsAnnouncedHappensAlsoWhenTheCallerBeginsAnew(t *testing.T) {
	in(
		t,
		map[models.Target][]any{sol: {models.KindCapacity}},
		func(o *Options) { o.SwitchAfter = 1 },
		func(t *testing.T, r *Router, _ *endpoint) {
			l := NewControl(models.Heavy)
			if next := leaving(t.Context(), r, l); next != models.NextSwitch {
				t.Fatalf("announced %s, want a switch", next)
			}
			got, _ := play(t.Context(), r, Need{Control: l})
			check(t, got, "→terra terra(1/4) done")
			if hold := r.o.RateLimiter.FailbackAt(sol); time.Until(hold) != 5*time.Minute {
				t.Errorf("sol is held until %v", hold)
			}
		},
	)
	in(
		t,
		map[models.Target][]any{sol: {models.KindCapacity}},
		func(o *Options) { o.Attempts, o.SwitchAfter = 1, 9 },
		func(t *testing.T, r *Router, _ *endpoint) {
			if next := leaving(t.Context(), r, NewControl(models.Heavy)); next != models.NextRetry {
				t.Errorf("announced %s, want a retry: what was kept makes it a new request", next)
			}
		},
	)
}

func TestWithinATurnItNeverGoesUpAgain(t *testing.T) {
	busy := models.KindCapacity
	in(t, map[models.Target][]any{sol: {busy, busy, ""}}, nil, func(t *testing.T, r *Router, _ *endpoint) {
		l := NewControl(models.Heavy)
		_, _ = play(t.Context(), r, Need{Control: l})
		time.Sleep(10 * time.Minute)
		full(r, terra)
		got, _ := play(t.Context(), r, Need{Control: l})
		check(t, got, "→luna luna(1/4) done")
		l.Release()
		got, _ = play(t.Context(), r, Need{Control: l})
		check(t, got, "→sol sol(1/4) done")
	})
}

func TestATargetThatWasFoundRestingIsHeldAsWell(t *testing.T) {
	in(t, nil, nil, func(t *testing.T, r *Router, _ *endpoint) {
		full(r, sol)
		l := NewControl(models.Heavy)
		var words []string
		for range 3 {
			got, _ := play(t.Context(), r, Need{Control: l})
			words = append(words, got)
			l.Release()
			time.Sleep(150 * time.Second)
		}
		check(t, strings.Join(words, " | "), "→terra terra(1/4) done | terra(1/4) done | →sol sol(1/4) done")
	})
}

func TestALocalTargetTakesOverAfterThreeFailures(t *testing.T) {
	here := models.Target{Provider: "local", Model: "here"}
	change := func(o *Options) {
		o.Tiers[models.Heavy] = []models.Target{sol, here}
		o.Local = func(t models.Target) bool { return t == here }
		o.Floor = models.Heavy
	}
	in(t, map[models.Target][]any{sol: {models.KindCapacity}}, change, func(t *testing.T, r *Router, _ *endpoint) {
		l := NewControl(models.Heavy)
		got, _ := play(t.Context(), r, Need{Control: l})
		check(t, got, "sol(1/4) retry 1.5s sol(2/4) retry 2.5s sol(3/4) switch →here here(4/4) done")
	})
}

func TestWhoIsLocalAlreadySwitchesToLocalTargets(t *testing.T) {
	in(
		t,
		map[models.Target][]any{sol: {models.KindCapacity}},
		func(o *Options) { o.Local = func(models.Target) bool { return true } },
		func(t *testing.T, r *Router, _ *endpoint) {
			got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			check(t, got, "sol(1/4) retry 1.5s sol(2/4) switch →terra terra(3/4) done") // a relay on this computer
		},
	)
}

func TestASwitchMeasuresTheWindow(t *testing.T) {
	change := func(o *Options) {
		o.Model = func(t models.Target) models.Model {
			return models.Model{
				Target: t,
				Tools:  true,
				Window: map[models.Target]int64{sol: 400_000, terra: 100_000, luna: 200_000}[t],
			}
		}
	}
	in(t, map[models.Target][]any{sol: {models.KindCapacity}}, change, func(t *testing.T, r *Router, _ *endpoint) {
		var words []string
		for chunk, err := range r.Stream(t.Context(), Need{Control: NewControl(models.Heavy)},
			func(models.Model) (models.Request, error) {
				return models.Request{Tokens: 150_000}, nil
			}) {
			if err != nil {
				t.Error(err)
			}
			words = append(words, word(chunk)...)
		}
		check(t, strings.Join(words, " "), "sol(1/4) retry 1.5s sol(2/4) switch →luna luna(3/4) done")
	})
}

func TestAStandInThatIsRefusedEndsNothing(t *testing.T) {
	in(
		t,
		map[models.Target][]any{sol: {models.KindCapacity}, terra: {models.KindModel}},
		func(o *Options) { o.Tiers[models.Light] = nil },
		func(t *testing.T, r *Router, _ *endpoint) {
			_, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			var p *Parked
			if !errors.As(err, &p) || p.Fault.Target != sol || p.Fault.Kind != models.KindCapacity ||
				!strings.Contains(p.Fault.Hint, "openai/terra (model)") {
				t.Errorf("ended with %v, want parked for sol's capacity, terra named", err)
			}
		},
	)
}

func TestARefusedNameIsNoReasonToGoDownATier(t *testing.T) {
	in(
		t,
		map[models.Target][]any{sol: {&models.Fault{Kind: models.KindModel, Scope: models.ScopeModel}}},
		nil,
		func(t *testing.T, r *Router, _ *endpoint) {
			l := NewControl(models.Heavy)
			for range 2 {
				got, _ := play(t.Context(), r, Need{Control: l})
				check(t, got, "sol(1/4) stop")
				l.Release()
			}
		},
	)
}

func TestAShortStatedRestIsWaitedForByOthersToo(t *testing.T) {
	for _, f := range []*models.Fault{
		{Kind: models.KindCapacity, Delayed: true, RetryAfter: 5 * time.Second},
		{Kind: models.KindRate, Delayed: true, RetryAfter: 20 * time.Second},
	} {
		in(t, nil, nil, func(t *testing.T, r *Router, _ *endpoint) {
			r.o.Breakers.Failed(t.Context(), sol, f)
			got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			check(t, got, f.RetryAfter.String()+" sol(1/4) done")
		})
	}
}
