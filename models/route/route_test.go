package route

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/capacity"
)

var (
	sol   = models.Target{Provider: "openai", Model: "sol"}
	terra = models.Target{Provider: "openai", Model: "terra"}
	luna  = models.Target{Provider: "local", Model: "luna"}
)

// endpoint answers attempts by a list for each target: "" is a good reply,
// "hang" lasts until it is cancelled, anything else is a kind of failure. The
// last entry repeats.
type endpoint struct {
	mu     sync.Mutex
	script map[models.Target][]any
	asked  []string
	began  time.Time
}

func (e *endpoint) Stream(ctx context.Context, t models.Target, _ models.Request) iter.Seq2[models.Chunk, error] {
	return func(yield func(models.Chunk, error) bool) {
		e.mu.Lock()
		e.asked = append(e.asked, fmt.Sprintf("%s@%s", t.Model, time.Since(e.began).Round(time.Second)))
		list := e.script[t]
		if len(list) > 1 {
			e.script[t] = list[1:]
		}
		e.mu.Unlock()
		var next any = ""
		if len(list) > 0 {
			next = list[0]
		}
		switch next := next.(type) {
		case *models.Fault:
			f := *next
			f.Target = t
			yield(nil, &f)
		case models.Kind:
			yield(nil, &models.Fault{Kind: next, Target: t})
		case string:
			if next == "hang" {
				if !yield(models.TextDelta{Text: "half"}, nil) {
					return
				}
				<-ctx.Done()
				yield(nil, &models.Fault{Kind: models.KindCancelled, Target: t, Err: context.Cause(ctx)})
				return
			}
			yield(models.Finished{}, nil)
		}
	}
}

func router(e *endpoint, change func(*Options)) *Router {
	e.began = time.Now()
	tiers := map[models.Tier][]models.Target{models.Heavy: {sol}, models.Medium: {terra}, models.Light: {luna}}
	board := capacity.New(capacity.Options{Tiers: tiers})
	o := Options{Client: e, Breakers: board, RateLimiter: board, Tiers: tiers,
		Model:  func(t models.Target) models.Model { return models.Model{Target: t, Tools: true, Short: t.Model} },
		Policy: Auto, Floor: models.Light, SwitchAfter: 2, Attempts: 4, MaxWait: 30 * time.Second,
		Now: time.Now, Random: func() float64 { return 0.5 }}
	if change != nil {
		change(&o)
	}
	return New(o)
}

// play runs one request and writes what happened as words.
func play(ctx context.Context, r *Router, need Need) (string, error) {
	var words []string
	for chunk, err := range r.Stream(ctx, need, func(models.Model) (models.Request, error) {
		return models.Request{}, nil
	}) {
		if err != nil {
			return strings.Join(words, " "), err
		}
		words = append(words, word(chunk)...)
	}
	return strings.Join(words, " "), nil
}

func word(chunk models.Chunk) []string {
	switch c := chunk.(type) {
	case models.AttemptStarted:
		return []string{fmt.Sprintf("%s(%d/%d)", c.Target.Model, c.Number, c.Of)}
	case models.AttemptFailed:
		return []string{string(c.Next)}
	case models.Waiting:
		return []string{time.Until(c.Until).String()}
	case models.Switched:
		return []string{"→" + c.To.Model}
	case models.Finished:
		return []string{"done"}
	}
	return nil
}

func TestTheMoveAfterAFailure(t *testing.T) {
	full, off := models.KindCapacity, models.KindNetwork
	stated := &models.Fault{Kind: models.KindRate, Delayed: true, RetryAfter: 7 * time.Second}
	far := &models.Fault{Kind: models.KindCapacity, Delayed: true, RetryAfter: time.Hour}
	no := false
	for _, tt := range []struct {
		name   string
		script map[models.Target][]any
		change func(*Options)
		want   string
		kind   models.Kind // of the fault at the end
		parked bool
	}{
		{"a good reply needs one attempt", nil, nil, "sol(1/4) done", "", false},
		{"capacity is retried with a growing delay", map[models.Target][]any{sol: {full, ""}}, nil,
			"sol(1/4) retry 1.5s sol(2/4) done", "", false},
		{"after two failures the next tier serves", map[models.Target][]any{sol: {full}}, nil,
			"sol(1/4) retry 1.5s sol(2/4) switch →terra terra(3/4) done", "", false},
		{"without switching it waits, then parks", map[models.Target][]any{sol: {full}}, func(o *Options) {
			o.Policy = Never
		}, "sol(1/4) retry 1.5s sol(2/4) retry 2.5s sol(3/4) park", full, true},
		{"all full parks after four attempts", map[models.Target][]any{sol: {full}, terra: {full}, luna: {full}}, nil,
			"sol(1/4) retry 1.5s sol(2/4) switch →terra terra(3/4) retry 1.5s terra(4/4) park", full, true},
		{"a stated delay is kept exactly", map[models.Target][]any{sol: {stated, ""}}, nil,
			"sol(1/4) retry 7s sol(2/4) done", "", false},
		{"a delay that is too long switches", map[models.Target][]any{sol: {far}}, nil,
			"sol(1/4) switch →terra terra(2/4) done", "", false},
		{"or parks when nobody else may", map[models.Target][]any{sol: {far}}, func(o *Options) {
			o.Policy = Never
		}, "sol(1/4) park", full, true},
		{"the floor holds", map[models.Target][]any{sol: {far}}, func(o *Options) {
			o.Floor = models.Heavy
		}, "sol(1/4) park", full, true},
		{"a rate limit switches only to another account",
			map[models.Target][]any{sol: {&models.Fault{Kind: models.KindRate, Delayed: true,
				RetryAfter: time.Minute}}}, func(o *Options) {
				o.SwitchLocal = true
			}, "sol(1/4) switch →luna luna(2/4) done", "", false},
		{"a key that is refused stops at once", map[models.Target][]any{sol: {models.KindAuth}}, nil, "sol(1/4) stop",
			models.KindAuth, false},
		{"a refused request is not shopped around", map[models.Target][]any{sol: {models.KindRequest}}, nil,
			"sol(1/4) stop", models.KindRequest, false},
		{"an unknown name is not replaced", map[models.Target][]any{sol: {models.KindModel}}, nil, "sol(1/4) stop",
			models.KindModel, false},
		{"lost connections use up no attempts", map[models.Target][]any{sol: {off, off, off, off, off, off, ""}}, nil,
			"sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(1/4) done", "", false},
		{"a broken stream is retried, then switched", map[models.Target][]any{sol: {models.KindStream}}, nil,
			"sol(1/4) retry 1.5s sol(2/4) switch →terra terra(3/4) done", "", false},
		{"a gateway is asked again, never switched", map[models.Target][]any{sol: {models.KindGateway}}, nil,
			"sol(1/4) retry 1.5s sol(2/4) retry 1.5s sol(3/4) retry 1.5s sol(4/4) park", models.KindGateway, true},
		{"the server's word against a retry is kept",
			map[models.Target][]any{sol: {&models.Fault{Kind: full, ShouldRetry: &no}}}, nil, "sol(1/4) stop", full, false},
		{"a local model of the tier stands in after three failures, whichever models they were at",
			map[models.Target][]any{sol: {full}, terra: {full}}, func(o *Options) {
				o.Tiers = map[models.Tier][]models.Target{models.Heavy: {sol, luna}, models.Medium: {terra}}
			}, "sol(1/4) retry 1.5s sol(2/4) switch →terra terra(3/4) switch →luna luna(4/4) done", "", false},
		{"a local model is no automatic refuge", map[models.Target][]any{sol: {full}, terra: {full}}, func(o *Options) {
			o.Attempts = 8
		}, "sol(1/8) retry 1.5s sol(2/8) switch →terra terra(3/8) retry 1.5s terra(4/8) retry 2.5s terra(5/8) park", full, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{script: tt.script}
				r := router(e, func(o *Options) {
					o.Local = func(t models.Target) bool { return t == luna }
					if tt.change != nil {
						tt.change(o)
					}
				})
				got, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy)})
				if got != tt.want {
					t.Errorf("went\n%s, want\n%s", got, tt.want)
				}
				var f *models.Fault
				var p *Parked
				errors.As(err, &f)
				if tt.kind == "" && err != nil || tt.kind != "" && (f == nil || f.Kind != tt.kind || f.Target != sol) {
					t.Errorf("ended with %v, want %q at sol", err, tt.kind)
				}
				if errors.As(err, &p) != tt.parked {
					t.Errorf("parked is %v, want %v", !tt.parked, tt.parked)
				}
			})
		})
	}
}

func TestTheControl(t *testing.T) {
	full := models.KindCapacity
	for _, tt := range []struct {
		name   string
		script map[models.Target][]any
		pull   func(*Control)
		want   string
		err    bool
	}{
		{"another tier during a wait changes the waiting request", map[models.Target][]any{sol: {full}}, func(l *Control) {
			l.Choose(models.Medium)
		}, "sol(1/4) retry 1.5s →terra terra(1/4) done", false},
		{"another tier while streaming begins again there", map[models.Target][]any{sol: {"hang"}}, func(l *Control) {
			l.Choose(models.Medium)
		}, "sol(1/4) switch →terra terra(1/4) done", false},
		{"a chosen tier is not left by itself", map[models.Target][]any{sol: {"hang"}, terra: {full}}, func(l *Control) {
			l.Choose(models.Medium)
		}, "sol(1/4) switch →terra terra(1/4) retry 1.5s terra(2/4) retry 2.5s terra(3/4) park", true},
		{"the same tier does nothing", map[models.Target][]any{sol: {full, ""}}, func(l *Control) {
			l.Choose(models.Heavy)
		}, "sol(1/4) retry 1.5s sol(2/4) done", false},
		{"now ends the wait", map[models.Target][]any{sol: {full, ""}}, func(l *Control) {
			l.Now()
		}, "sol(1/4) retry 1.5s sol(2/4) done", false},
		{"park ends the wait", map[models.Target][]any{sol: {full}}, func(l *Control) {
			l.Park()
		}, "sol(1/4) retry 1.5s", true},
		{"park ends a stream", map[models.Target][]any{sol: {"hang"}}, func(l *Control) {
			l.Park()
		}, "sol(1/4) park", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{script: tt.script}
				l := NewControl(models.Heavy)
				go func() {
					time.Sleep(100 * time.Millisecond)
					tt.pull(l)
				}()
				got, err := play(t.Context(), router(e, nil), Need{Control: l})
				if got != tt.want || (err != nil) != tt.err {
					t.Errorf("went\n%s (%v), want\n%s", got, err, tt.want)
				}
			})
		})
	}
}

// TestTheControlIsNeverMissed uses it at moments that are no wait and no stream.
func TestTheControlIsNeverMissed(t *testing.T) {
	light := func(l *Control) { l.Choose(models.Light) }
	park := func(l *Control) { l.Park() }
	for _, tt := range []struct {
		name   string
		moment string // "build", "started", "failed" or "between" requests
		pull   func(*Control)
		want   string
		parked bool
	}{
		{"a tier while the request is built", "build", light, "→luna luna(1/4) done", false},
		{"a tier as the attempt starts", "started", light, "sol(1/4) switch →luna luna(1/4) done", false},
		{"a tier as the attempt fails", "failed", light, "sol(1/4) retry 1.5s →luna luna(1/4) done", false},
		{"a tier between two requests", "between", light, "luna(1/4) done", false},
		{"park while the request is built", "build", park, "", true},
		{"park as the attempt starts", "started", park, "sol(1/4) park", true},
		{"park as the attempt fails", "failed", park, "sol(1/4) retry 1.5s", true},
		{"park while a tool runs between two requests", "between", park, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{script: map[models.Target][]any{sol: {models.KindCapacity}}}
				r, l := router(e, nil), NewControl(models.Heavy)
				pull := sync.OnceFunc(func() { tt.pull(l) })
				at := func(moment string) {
					if tt.moment == moment {
						pull()
					}
				}
				if tt.moment == "between" {
					e.script = nil
					if _, err := play(t.Context(), r, Need{Control: l}); err != nil {
						t.Fatal(err)
					}
					pull()
				}
				var words []string
				var end error
				for chunk, err := range r.Stream(t.Context(), Need{Control: l}, func(models.Model) (models.Request, error) {
					at("build")
					return models.Request{}, nil
				}) {
					end = err
					switch chunk.(type) {
					case models.AttemptStarted:
						at("started")
					case models.AttemptFailed:
						at("failed")
					}
					words = append(words, word(chunk)...)
				}
				var parked *Parked
				if errors.As(end, &parked) != tt.parked || tt.parked && !parked.UserInitiated {
					t.Errorf("ended with %v, want parked %v", end, tt.parked)
				}
				if got := strings.Join(words, " "); got != tt.want {
					t.Errorf("went\n%s, want\n%s", got, tt.want)
				}
			})
		})
	}
}

func TestTheSameTierBringsASwitchedSessionBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{script: map[models.Target][]any{sol: {models.KindCapacity, models.KindCapacity, ""}}}
		r, l := router(e, nil), NewControl(models.Heavy)
		if _, err := play(t.Context(), r, Need{Control: l}); err != nil {
			t.Fatal(err)
		}
		l.Choose(models.Heavy)
		if got, err := play(t.Context(), r, Need{Control: l}); got != "→sol sol(1/4) done" || err != nil {
			t.Errorf("went %s (%v), want back to sol", got, err)
		}
	})
}

func TestAStopEndsAWaitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		go func() {
			time.Sleep(time.Second)
			cancel(stop)
		}()
		began := time.Now()
		_, err := play(ctx, router(&endpoint{script: map[models.Target][]any{sol: {models.KindCapacity}}}, nil),
			Need{Control: NewControl(models.Heavy)})
		if !errors.Is(err, stop) || time.Since(began) != time.Second {
			t.Errorf("ended with %v after %v", err, time.Since(began))
		}
	})
}

func TestASwitchLastsUntilItIsTimeToGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{script: map[models.Target][]any{sol: {models.KindCapacity, models.KindCapacity, ""}}}
		r, l := router(e, nil), NewControl(models.Heavy)
		var got []string
		for _, rest := range []time.Duration{time.Minute, 5 * time.Minute, 0} {
			went, err := play(t.Context(), r, Need{Control: l})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, went)
			l.Release()
			time.Sleep(rest)
		}
		want := "sol(1/4) retry 1.5s sol(2/4) switch →terra terra(3/4) done | terra(1/4) done | →sol sol(1/4) done"
		if s := strings.Join(got, " | "); s != want {
			t.Errorf("went\n%s, want\n%s", s, want)
		}
	})
}

func TestAfterAWriteASwitchGoesOneTierDownAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := models.KindCapacity
		e := &endpoint{script: map[models.Target][]any{sol: {full}, terra: {full}}}
		r := router(e, func(o *Options) { o.Attempts = 6 })
		got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy), Wrote: true})
		if strings.Contains(got, "luna") || !strings.Contains(got, "terra") {
			t.Errorf("went %s", got)
		}
	})
}

func TestALostConnectionIsWaitedOutAsLongAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{script: map[models.Target][]any{sol: {models.KindNetwork}}}
		began := time.Now()
		_, err := play(t.Context(), router(e, nil),
			Need{Control: NewControl(models.Heavy), NetworkWait: 10 * time.Minute})
		var p *Parked
		if !errors.As(err, &p) || time.Since(began) < 9*time.Minute || time.Since(began) > 10*time.Minute {
			t.Errorf("ended with %v after %v", err, time.Since(began))
		}
	})
}

func TestAFailureThatWasLeftIsStillRestedFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{
			script: map[models.Target][]any{
				sol: {&models.Fault{Kind: models.KindCapacity, Delayed: true, RetryAfter: 20 * time.Second}, ""},
			},
		}
		r, need := router(e, nil), Need{Control: NewControl(models.Heavy)}
		for chunk := range r.Stream(t.Context(), need, func(models.Model) (models.Request, error) {
			return models.Request{}, nil
		}) {
			if _, failed := chunk.(models.AttemptFailed); failed {
				break
			}
		}
		time.Sleep(5 * time.Second) // the tools that were called run meanwhile
		got, err := play(t.Context(), r, need)
		if want := "15s sol(1/4) done"; got != want || err != nil {
			t.Errorf("went %s (%v), want %s", got, err, want)
		}
	})
}
