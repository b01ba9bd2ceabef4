package route

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/capacity"
)

// counting are breakers that counts what it lets through and what comes back.
type counting struct {
	*capacity.Breakers
	out int
}

func (c *counting) Allow(ctx context.Context, t models.Target, force bool) (models.Condition, bool) {
	cond, ok := c.Breakers.Allow(ctx, t, force)
	if ok {
		c.out++
	}
	return cond, ok
}

func (c *counting) Succeeded(ctx context.Context, t models.Target, d time.Duration) {
	c.out--
	c.Breakers.Succeeded(ctx, t, d)
}

func (c *counting) Failed(ctx context.Context, t models.Target, f *models.Fault) {
	c.out--
	c.Breakers.Failed(ctx, t, f)
}

func (c *counting) Release(ctx context.Context, t models.Target) {
	c.out--
	c.Breakers.Release(ctx, t)
}

// chance makes a router on an endpoint that fails at random.
func chance(rnd *rand.Rand, e *endpoint) (*Router, *counting, *[]models.Attempt) {
	kinds := []any{
		"",
		"",
		"hang",
		models.KindCapacity,
		models.KindCapacity,
		models.KindRate,
		models.KindUsage,
		models.KindSize,
		models.KindServer,
		models.KindGateway,
		models.KindNetwork,
		models.KindAbsent,
		models.KindStream,
		models.KindAuth,
		models.KindModel,
		models.KindRequest,
		models.KindBilling,
		&models.Fault{
			Kind:       models.KindCapacity,
			Delayed:    true,
			RetryAfter: 4 * time.Second,
		},
		&models.Fault{Kind: models.KindCapacity, Delayed: true, RetryAfter: time.Hour},
		&models.Fault{Kind: models.KindRate, Delayed: true, RetryAfter: 20 * time.Second},
	}
	e.script = map[models.Target][]any{}
	for _, t := range []models.Target{sol, terra, luna, spare} {
		for range 1 + rnd.IntN(6) {
			e.script[t] = append(e.script[t], kinds[rnd.IntN(len(kinds))])
		}
	}
	rows := new([]models.Attempt)
	var board *counting
	r := router(e, func(o *Options) {
		o.Tiers = map[models.Tier][]models.Target{
			models.Heavy:  {sol, spare},
			models.Medium: {terra},
			models.Light:  {luna},
		}
		if rnd.IntN(4) == 0 {
			o.Tiers[models.Tiers()[rnd.IntN(3)]] = nil
		}
		board = &counting{Breakers: capacity.New(capacity.Options{Tiers: o.Tiers})}
		o.Breakers, o.RateLimiter = board, board
		o.Policy = []Policy{Auto, Auto, Auto, Never, Confirm}[rnd.IntN(5)]
		o.SwitchLocal = rnd.IntN(2) == 0
		o.Local = func(t models.Target) bool { return t == luna }
		o.Record = func(_ context.Context, a models.Attempt) { *rows = append(*rows, a) }
	})
	return r, board, rows
}

var spare = models.Target{Provider: "other", Model: "spare"}

// pull does one of the things that a person can do, or nothing.
func pull(rnd *rand.Rand, l *Control, stop func()) {
	switch rnd.IntN(24) {
	case 0:
		l.Choose(models.Tiers()[rnd.IntN(3)])
	case 1:
		l.Now()
	case 2:
		l.Park()
	case 3:
		l.Pin([]models.Target{sol, terra, spare, {}}[rnd.IntN(4)])
	case 4:
		stop()
	}
}

// chosen is what a person has chosen so far.
func (l *Control) chosen() string { return fmt.Sprint(l.Tier(), l.state().only, l.servedBefore()) }

// servedBefore is empty after a person's choice.
func (l *Control) servedBefore() bool {
	return l.state().lastTarget != (candidate{})
}

// TestEveryLeaseIsReturnedAndEveryAttemptRecorded plays sessions at random: failures of
// every kind, the control used at every moment, callers that leave.
func TestEveryLeaseIsReturnedAndEveryAttemptRecorded(t *testing.T) {
	for seed := range uint64(400) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			e := &endpoint{}
			r, board, rows := chance(rnd, e)
			l := NewControl(models.Heavy)
			var words []string
			for i := range uint64(6) {
				ctx, cancel := context.WithCancel(t.Context())
				need := Need{
					Control:     l,
					Wrote:       rnd.IntN(4) == 0,
					ParkRetry:   rnd.IntN(4) == 0,
					Force:       rnd.IntN(6) == 0,
					NetworkWait: time.Minute,
					Committed:   func() bool { return rnd.IntN(5) == 0 },
				}
				began, before := time.Now(), len(e.asked)
				by := l.state().lastTarget
				chosen := l.chosen()
				target := by.Target // that was announced
				hand := time.AfterFunc(time.Duration(rnd.IntN(int(20*time.Second))),
					func() { pull(rand.New(rand.NewPCG(seed, 2+i)), l, cancel); l.Park() })
				for chunk, err := range r.Stream(ctx, need, func(models.Model) (models.Request, error) {
					pull(rnd, l, cancel)
					return models.Request{Tokens: 10}, nil
				}) {
					words = append(words, word(chunk)...)
					switch c := chunk.(type) {
					case models.Switched:
						target = c.To
					case models.AttemptStarted:
						if target != (models.Target{}) && c.Target != target && chosen == l.chosen() {
							t.Errorf("seed %d: a silent switch to %s\n%s", seed, c.Target, strings.Join(words, " "))
						}
						chosen = l.chosen()
						if target = c.Target; c.Number < 1 || c.Number > c.Of {
							t.Errorf("seed %d: attempt %d of %d\n%s", seed, c.Number, c.Of, strings.Join(words, " "))
						}
					}
					if err != nil {
						words = append(words, fmt.Sprintf("[%v]", err))
						var p *Parked
						if errors.As(err, &p) && !p.Until.IsZero() && !p.Until.After(time.Now()) {
							t.Errorf("seed %d: parked until %v ago", seed, time.Since(p.Until))
						}
					}
					pull(rnd, l, cancel)
					if rnd.IntN(12) == 0 {
						break
					}
				}
				hand.Stop()
				cancel()
				if n := len(e.asked) - before; time.Since(began) > 3*time.Minute || n > 80 {
					t.Errorf("seed %d: %d attempts in %v\n%s", seed, n, time.Since(began), strings.Join(words, " "))
				}
				if rnd.IntN(2) == 0 {
					l.Release()
					time.Sleep(time.Duration(rnd.IntN(int(10 * time.Minute))))
				}
			}
			if board.out != 0 {
				t.Errorf("seed %d: %d leases were not given back\n%s", seed, board.out, strings.Join(words, " "))
			}
			var recorded []string
			for _, a := range *rows {
				recorded = append(recorded, a.Model)
			}
			var asked []string
			for _, a := range e.asked {
				name, _, _ := strings.Cut(a, "@")
				asked = append(asked, name)
			}
			if got, want := strings.Join(recorded, " "), strings.Join(asked, " "); got != want {
				t.Errorf("seed %d: recorded %s\nbut asked %s", seed, got, want)
			}
		})
	}
}
