package route

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
)

func TestTheTasksOwnLimitOfRetriesIsKept(t *testing.T) {
	in(
		t,
		map[models.Target][]any{sol: {&models.Fault{Kind: models.KindNetwork}, models.KindCapacity}},
		nil,
		func(t *testing.T, r *Router, _ *endpoint) {
			left := 1
			got, err := play(t.Context(), r,
				Need{Control: NewControl(models.Heavy), TakeRetry: func() bool { left--; return left >= 0 }})
			check(t, got, "sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(2/4) stop")
			var f *models.Fault
			if !errors.Is(err, ErrRetries) || !errors.As(err, &f) || f.Target != sol {
				t.Errorf("ended with %v", err)
			}
		},
	)
}

func TestASuspendedComputerIsNoFailureOfTheTarget(t *testing.T) {
	var wall time.Duration // that the computer was asleep
	change := func(o *Options) {
		began := time.Now()
		o.Elapsed = func() time.Duration { return time.Since(began) }
		o.Now = func() time.Time { return time.Now().Add(wall) }
	}
	in(t, map[models.Target][]any{sol: {models.KindStream, ""}}, change, func(t *testing.T, r *Router, _ *endpoint) {
		var words []string
		for chunk, err := range r.Stream(t.Context(), Need{Control: NewControl(models.Heavy)}, whole) {
			if err != nil {
				t.Error(err)
			}
			if _, started := chunk.(models.AttemptStarted); started && wall == 0 {
				wall = time.Hour
			}
			words = append(words, word(chunk)[:1]...)
		}
		check(t, strings.Join(words, " "), "sol(1/4) retry 1h0m1.5s sol(1/4) done")
	})
}

func TestAWaitEndsWhenTheComputerWakesAfterIt(t *testing.T) {
	var asleep atomic.Int64
	in(
		t,
		map[models.Target][]any{
			sol: {&models.Fault{Kind: models.KindCapacity, Delayed: true, RetryAfter: 30 * time.Second}, ""},
		},
		func(o *Options) {
			o.Now = func() time.Time { return time.Now().Round(0).Add(time.Duration(asleep.Load())) }
		},
		func(t *testing.T, r *Router, _ *endpoint) {
			began := time.Now()
			time.AfterFunc(2*time.Second, func() { asleep.Store(int64(time.Hour)) })
			_, _ = play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %v of waking time", took)
			}
		},
	)
}

func TestTheRetryProfiles(t *testing.T) {
	busy := models.KindCapacity
	in(
		t,
		map[models.Target][]any{sol: {models.KindStream}},
		func(o *Options) { o.SwitchAfter = 1 },
		func(t *testing.T, r *Router, _ *endpoint) {
			got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			check(t, got, "sol(1/4) switch →terra terra(2/4) done") // switch-early
		},
	)
	in(t, map[models.Target][]any{sol: {busy}}, nil, func(t *testing.T, r *Router, _ *endpoint) {
		got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy), SwitchAfter: 1})
		check(t, got, "sol(1/4) switch →terra terra(2/4) done") // a request of its own mind
	})
	in(
		t,
		map[models.Target][]any{sol: {busy, busy, ""}},
		func(o *Options) { o.Policy, o.SwitchAfter = Never, 1<<30 },
		func(t *testing.T, r *Router, _ *endpoint) {
			got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			check(t, got, "sol(1/4) retry 1.5s sol(2/4) retry 2.5s sol(3/4) done") // patient
		},
	)
}

func TestOthersWaitForTheOneWhoTriesARestedTarget(t *testing.T) {
	in(
		t,
		map[models.Target][]any{sol: {"hang"}},
		func(o *Options) { o.Policy = Never },
		func(t *testing.T, r *Router, _ *endpoint) {
			full(r, sol)
			time.Sleep(31 * time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { _, _ = play(ctx, r, Need{Control: NewControl(models.Heavy)}) }()
			synctest.Wait()
			r.o.Client.(*endpoint).script = nil
			time.AfterFunc(7*time.Second, func() { r.o.Breakers.Succeeded(ctx, sol, 0); cancel() })
			began := time.Now()
			got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
			check(t, got, "5s 5s sol(1/4) done")
			if took := time.Since(began); took != 10*time.Second {
				t.Errorf("took %v", took)
			}
		},
	)
}

func TestTheSameTierBringsItBackToTheFirstTargetAndStaysThere(t *testing.T) {
	busy := models.KindCapacity
	in(t, map[models.Target][]any{sol: {busy, busy, ""}}, twins, func(t *testing.T, r *Router, _ *endpoint) {
		l := NewControl(models.Heavy)
		got, _ := play(t.Context(), r, Need{Control: l})
		check(t, got, "sol(1/4) retry 1.5s sol(2/4) switch →spare spare(3/4) done")
		l.Choose(models.Heavy)
		got, _ = play(t.Context(), r, Need{Control: l})
		check(t, got, "→sol sol(1/4) done")
		full(r, sol)
		got, _ = play(t.Context(), r, Need{Control: l})
		check(t, got, "30s sol(1/4) done")
	})
}
