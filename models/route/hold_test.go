package route

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
)

func TestAParkedRequestTriesEveryTargetOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := models.KindCapacity
		e := &endpoint{script: map[models.Target][]any{sol: {full}, terra: {full}, luna: {full}}}
		began := time.Now()
		got, err := play(t.Context(), router(e, nil), Need{Control: NewControl(models.Heavy), ParkRetry: true})
		var p *Parked
		if want := "sol(1/3) switch →terra terra(2/3) switch →luna luna(3/3) park"; got != want ||
			!errors.As(err, &p) ||
			p.Fault.Target != sol {
			t.Errorf("went %s (%v), want %s", got, err, want)
		}
		if time.Since(began) != 0 {
			t.Errorf("took %v, want no wait", time.Since(began))
		}
	})
}

func TestATargetThatRestsIsNotAsked(t *testing.T) {
	full := models.KindCapacity
	open := func(e *endpoint, r *Router) {
		for range 3 {
			r.o.Breakers.Failed(t.Context(), sol, &models.Fault{Kind: full})
		}
	}
	t.Run("the next one serves, and that is said", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := &endpoint{}
			r := router(e, nil)
			open(e, r)
			got, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			if want := "→terra terra(1/4) done"; got != want || err != nil {
				t.Errorf("went %s (%v), want %s", got, err, want)
			}
		})
	})
	t.Run("without switching it is waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := &endpoint{}
			r := router(e, func(o *Options) { o.Policy = Never })
			open(e, r)
			got, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			if want := "30s sol(1/4) done"; got != want || err != nil {
				t.Errorf("went %s (%v), want %s", got, err, want)
			}
		})
	})
	t.Run("a person's word asks it nevertheless", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := &endpoint{}
			r := router(e, nil)
			open(e, r)
			if got, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy), Force: true}); got != "sol(1/4) done" ||
				err != nil {
				t.Errorf("went %s (%v)", got, err)
			}
		})
	})
}

func TestTenSessionsStayWithinTheRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := models.KindCapacity
		e := &endpoint{script: map[models.Target][]any{sol: {full}, terra: {full}, luna: {full}}}
		r := router(e, func(o *Options) { o.Local = func(t models.Target) bool { return t == luna } })
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				_, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
				var p *Parked
				if !errors.As(err, &p) {
					t.Errorf("ended with %v, want parked", err)
				}
			})
		}
		wg.Wait()
		// Ten first requests, and at most ten automatic retries and the switches
		// that the open circuits still allow.
		if n := len(e.asked); n > 30 {
			t.Errorf("%d requests: %v", n, e.asked)
		}
	})
}

func TestWhenAllFailAlikeTheDoctorIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := models.KindServer
		e := &endpoint{script: map[models.Target][]any{sol: {broken}, terra: {broken}, luna: {broken}}}
		_, err := play(t.Context(), router(e, nil), Need{Control: NewControl(models.Heavy), ParkRetry: true})
		var f *models.Fault
		if !errors.As(err, &f) || !strings.Contains(f.Hint, "belay doctor") {
			t.Errorf("ended with %v, hint %q", err, f.Hint)
		}
	})
}

func TestARequestThatIsTooLongIsShortenedAsFarAsItGoes(t *testing.T) {
	size := models.KindSize
	for _, tt := range []struct {
		name   string
		script []any
		steps  int // that make it shorter
		want   string
	}{
		{"the first step is enough", []any{size, ""}, 3, "sol(1/1) retry sol(1/1) done"},
		{"the last is", []any{size, size, size, ""}, 3, "sol(1/1) retry sol(1/1) retry sol(1/1) retry sol(1/1) done"},
		{"none is", []any{size}, 3, "sol(1/1) retry sol(1/1) retry sol(1/1) retry sol(1/1) stop"},
		{"there is none", []any{size}, 0, "sol(1/1) stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{script: map[models.Target][]any{sol: tt.script}}
				r := router(e, func(o *Options) { o.Attempts = 1 })
				need := Need{Control: NewControl(models.Heavy), Shorten: func(*models.Fault) bool {
					tt.steps--
					return tt.steps >= 0
				}}
				if got, _ := play(t.Context(), r, need); got != tt.want {
					t.Errorf("went\n%s, want\n%s", got, tt.want)
				}
			})
		})
	}
}

func TestAStatedWindowIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stated := &models.Fault{Kind: models.KindSize, Status: 400, WindowLimit: 566}
		e := &endpoint{script: map[models.Target][]any{sol: {stated, ""}}}
		r := router(e, func(o *Options) {
			o.Model = func(t models.Target) models.Model { return models.Model{Target: t, Tools: true, Window: 1000} }
		})
		var windows []string
		need := Need{Control: NewControl(models.Heavy), Shorten: func(*models.Fault) bool { return true }}
		for range 2 { // it is remembered for the requests that follow
			for _, err := range r.Stream(t.Context(), need, func(m models.Model) (models.Request, error) {
				windows = append(windows, fmt.Sprint(m.Window))
				return models.Request{}, nil
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := strings.Join(windows, " "); got != "1000 566 566" {
			t.Errorf("built for windows %s, want 1000 566 566", got)
		}
		if got := r.Model(terra).Window; got != 1000 {
			t.Errorf("another target's window is %d", got)
		}
	})
}

func TestEveryAttemptIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{
			script: map[models.Target][]any{
				sol: {
					&models.Fault{
						Kind:      models.KindCapacity,
						Status:    503,
						Code:      "server_is_overloaded",
						RequestID: "r1",
					},
				},
			},
		}
		var rows []models.Attempt
		r := router(e, func(o *Options) {
			o.Record = func(_ context.Context, a models.Attempt) { rows = append(rows, a) }
			o.Endpoint = func(string) string { return "api.example" }
		})
		need := Need{Control: NewControl(models.Heavy), Purpose: models.Purpose{Session: "s1", Project: "/p", Turn: 3}}
		if _, err := play(t.Context(), r, need); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range rows {
			got = append(
				got,
				fmt.Sprintf("%s retry %d kind %q status %d code %q then %q after %dms", a.Model, a.RetryCount, a.Kind,
					a.StatusCode, a.ErrorCode, a.FallbackModel, a.DelayMS),
			)
			if a.Session != "s1" || a.ProjectID != "/p" || a.Turn != 3 || a.Endpoint != "api.example" ||
				a.Concurrency != 1 ||
				a.CreatedAt.IsZero() {
				t.Errorf("row %+v", a)
			}
		}
		want := []string{
			`sol retry 0 kind "capacity" status 503 code "server_is_overloaded" then "" after 0ms`,
			`sol retry 1 kind "capacity" status 503 code "server_is_overloaded" then "openai/terra" after 1500ms`,
			`terra retry 2 kind "" status 200 code "" then "" after 0ms`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if len(rows) != len(e.asked) {
			t.Errorf("%d rows for %d requests", len(rows), len(e.asked))
		}
	})
}

func TestAFailedAttemptCostsWhatItsEndpointStated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := models.Usage{Input: 1_000_000, Cached: 500_000, Output: 100_000, Reasoning: 7}
		e := &endpoint{script: map[models.Target][]any{sol: {&models.Fault{Kind: models.KindServer, Usage: taken}, ""}}}
		var rows []models.Attempt
		r := router(e, func(o *Options) {
			o.Record = func(_ context.Context, a models.Attempt) { rows = append(rows, a) }
			o.Model = func(t models.Target) models.Model {
				return models.Model{Target: t, Tools: true, Price: models.Price{Input: 2, Cached: 1, Output: 10}}
			}
		})
		var failed models.AttemptFailed
		build := func(models.Model) (models.Request, error) { return models.Request{Tokens: 5}, nil }
		for chunk := range r.Stream(t.Context(), Need{Control: NewControl(models.Heavy)}, build) {
			if c, ok := chunk.(models.AttemptFailed); ok {
				failed = c
			}
		}
		if len(rows) != 2 || failed.Cost != 2.5 {
			t.Fatalf("%d rows, cost %v of the failure", len(rows), failed.Cost)
		}
		a := rows[0]
		got := models.Usage{
			Input: a.InputTokens, Cached: a.CachedTokens, Output: a.OutputTokens, Reasoning: a.ReasoningTokens,
		}
		if got != taken || a.Cost != 2.5 || a.Kind != models.KindServer {
			t.Errorf("row %+v, want usage %+v and $2.50", a, taken)
		}
		if rows[1].InputTokens != 5 || rows[1].Cost != 0 {
			t.Errorf("a reply without usage: %+v", rows[1])
		}
	})
}

func TestAPinnedTargetIsTheOnlyOneAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{script: map[models.Target][]any{terra: {models.KindCapacity}}}
		l := NewControl(models.Heavy)
		l.Pin(terra)
		got, err := play(t.Context(), router(e, nil), Need{Control: l})
		var p *Parked
		if want := "terra(1/4) retry 1.5s terra(2/4) retry 2.5s terra(3/4) park"; got != want || !errors.As(err, &p) {
			t.Errorf("went %s (%v), want %s", got, err, want)
		}
		l.Release()
		l.Choose(models.Heavy)
		if got, err := play(t.Context(), router(e, nil), Need{Control: l}); got != "sol(1/4) done" || err != nil {
			t.Errorf("after a tier key it went %s (%v)", got, err)
		}
	})
}

func TestALocalEndpointThatWasAbsentIsAskedAgainByANewRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{script: map[models.Target][]any{luna: {models.KindAbsent, ""}}}
		r := router(e, func(o *Options) {
			o.Tiers = map[models.Tier][]models.Target{models.Heavy: {luna}, models.Medium: {luna}, models.Light: {luna}}
			o.Local = func(models.Target) bool { return true }
		})
		need := Need{Control: NewControl(models.Heavy)}
		if got, err := play(t.Context(), r, need); err == nil {
			t.Fatalf("went %s, want it parked", got)
		}
		if got, err := play(t.Context(), r, need); got != "luna(1/4) done" || err != nil {
			t.Errorf("went %s (%v), want it asked at once", got, err)
		}
	})
}
