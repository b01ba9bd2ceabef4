package route

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/capacity"
)

// told is an outlook in words: "sol failing 5m0s →terra, terra unknown answers, …".
func told(conditions []models.Condition) string {
	words := make([]string, len(conditions))
	for i, c := range conditions {
		words[i] = c.Target.Model + " " + string(c.State)
		if !c.Until.IsZero() {
			words[i] += " " + time.Until(c.Until).String()
		}
		if c.StandIn != (models.Target{}) {
			words[i] += " →" + c.StandIn.Model
		}
		if c.Answers {
			words[i] += " answers"
		}
	}
	return strings.Join(words, ", ")
}

func TestTheOutlookIsWhatTheNextRequestMeets(t *testing.T) {
	ctx := context.Background()
	full := models.KindCapacity
	limit := &models.Fault{Kind: models.KindRate, Delayed: true, RetryAfter: time.Minute}
	local := func(o *Options) { o.SwitchLocal = true }
	for _, tt := range []struct {
		name   string
		script map[models.Target][]any
		change func(*Options)
		after  func(r *Router, l *Control)
		want   string
	}{
		{"nobody was asked", nil, nil, nil, "sol unknown answers, terra unknown, luna unknown"},
		{"a good reply", map[models.Target][]any{}, nil, func(r *Router, l *Control) { ask(ctx, r, l) },
			"sol has room answers, terra unknown, luna unknown"},
		{"two refusals and a switch", map[models.Target][]any{sol: {full}}, nil,
			func(r *Router, l *Control) { ask(ctx, r, l) },
			"sol failing 5m0s →terra, terra has room answers, luna unknown"},
		{"an hour later", map[models.Target][]any{sol: {full}}, nil,
			func(r *Router, l *Control) { ask(ctx, r, l); time.Sleep(61 * time.Minute) },
			"sol unknown answers, terra unknown, luna unknown"},
		{"it has room again, and it is too early to go back", map[models.Target][]any{sol: {full, full, ""}}, nil,
			func(r *Router, l *Control) { ask(ctx, r, l); ask(ctx, r, NewControl(models.Heavy)) },
			"sol has room 5m0s →terra, terra has room answers, luna unknown"},
		{"an account's limit holds for the provider's others", map[models.Target][]any{sol: {limit}}, local,
			func(r *Router, l *Control) { ask(ctx, r, l) },
			"sol resting 1m0s →luna, terra resting 1m0s, luna has room answers"},
		{"but not for who is chosen by hand", map[models.Target][]any{sol: {limit}}, local,
			func(r *Router, l *Control) { ask(ctx, r, l); l.Choose(models.Medium) },
			"sol resting 1m0s, terra unknown answers, luna has room"},
		{"set aside", nil, nil, func(r *Router, l *Control) {
			r.o.Breakers.(*capacity.Breakers).SetDisabled(ctx, sol, true)
		}, "sol set aside →terra, terra unknown answers, luna unknown"},
		{"a pin", nil, nil, func(r *Router, l *Control) { l.Pin(luna) },
			"sol unknown, terra unknown, luna unknown answers"},
		{"nobody may answer", nil, nil, func(r *Router, l *Control) {
			for _, target := range []models.Target{sol, terra, luna} {
				r.o.Breakers.(*capacity.Breakers).SetDisabled(ctx, target, true)
			}
		}, "sol set aside, terra set aside, luna set aside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{script: tt.script}
				r, l := router(e, tt.change), NewControl(models.Heavy)
				if tt.after != nil {
					tt.after(r, l)
				}
				if got := told(r.Outlook(l)); got != tt.want {
					t.Errorf("the outlook is\n%s, want\n%s", got, tt.want)
				}
				if got := told(r.Conditions(l)); got != tt.want {
					t.Errorf("the tiers are\n%s, want\n%s", got, tt.want)
				}
				promised := ""
				for _, c := range r.Outlook(l) {
					if c.Answers {
						promised = c.Target.Model
					}
				}
				asked := len(e.asked)
				ask(ctx, r, l)
				if promised == "" {
					if len(e.asked) > asked {
						t.Errorf("%s was asked, though nobody was to answer", e.asked[asked])
					}
					return
				}
				if got, _, _ := strings.Cut(e.asked[asked], "@"); got != promised {
					t.Errorf("%s was asked, though %s was to answer", got, promised)
				}
			})
		})
	}
}

// ask makes one request, and ends its turn.
func ask(ctx context.Context, r *Router, l *Control) {
	_, _ = play(ctx, r, Need{Control: l})
	l.Release()
}

// A tier of two shows the one that it would rather ask, and who answers in its place.
func TestAStandInOfTheSameTierIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{script: map[models.Target][]any{sol: {models.KindCapacity}}}
		r, l := router(e, func(o *Options) {
			o.Tiers = map[models.Tier][]models.Target{models.Heavy: {sol, spare}, models.Medium: {terra}}
		}), NewControl(models.Heavy)
		ask(t.Context(), r, l)
		if got, want := told(r.Conditions(l)), "sol failing 5m0s →spare, terra unknown"; got != want {
			t.Errorf("the tiers are %s, want %s", got, want)
		}
	})
}

func TestAWaitPromisesOnlyTheSwitchThatWillHappen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   models.Kind
		change func(*situation)
		want   string
	}{
		{"full", models.KindCapacity, nil, "terra"},
		{"your rate limit", models.KindRate, nil, "spare"},
		{"your rate limit, and only the same account", models.KindRate, func(s *situation) {
			s.set(spare, models.Disabled, 0, nil)
		}, ""},
		{"no connection", models.KindNetwork, nil, ""},
		{"broken at the provider", models.KindServer, nil, "terra"},
		{"switching is off", models.KindCapacity, func(s *situation) { s.rules.policy = Never }, ""},
		{"a pinned model", models.KindCapacity, func(s *situation) { s.control.only = sol }, ""},
		{"the last attempt", models.KindCapacity, func(s *situation) { s.history.attempts = 3 }, ""},
		{"nobody else has room", models.KindCapacity, func(s *situation) {
			for _, target := range []models.Target{terra, spare, luna} {
				s.set(target, models.Resting, time.Hour, nil)
			}
		}, ""},
	} {
		s := afterFailures(1)
		if tt.change != nil {
			tt.change(s)
		}
		before := fmt.Sprint(*s.history)
		fault := &models.Fault{Kind: tt.kind, Target: sol}
		if got := s.successor(fault); got.Model != tt.want {
			t.Errorf("%s: then %q, want %q", tt.name, got.Model, tt.want)
		}
		if after := fmt.Sprint(*s.history); after != before {
			t.Errorf("%s: the history became %s, was %s", tt.name, after, before)
		}
	}
}
