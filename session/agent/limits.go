package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"belay/session"
)

// Limits end a task that takes more than its user wants to spend; 0 is none.
// At 80 % they are told, and at 95 % no further request goes out, so that the
// limit itself is kept.
type Limits struct {
	Requests int     // requests
	Retries  int     // automatic retries and switches; lost connections cost none
	Cost     float64 // US dollars
	Tokens   int64
	Wait     time.Duration // being parked, in all; the engine keeps to it

	// Budget is how much of what the user wants to spend in a day or a month is
	// spent, 1 being all of it, and that in words; nil: there is none. From 95 %
	// on only a person's word goes on, from 100 % on nothing does.
	Budget func(ctx context.Context) (share float64, words string)
}

// The shares of a limit at which something happens.
const (
	limitWarn = 0.80
	limitStop = 0.95
)

// Spent is what a task has taken, over all the retries of a parked turn.
type Spent struct {
	Requests, Retries int
	Tokens            int64

	warned map[string]bool // by the name of the limit
}

// limit is one of the limits and what is spent of it.
type limit struct {
	name      string
	used, max float64
	text      string // both, with their unit
	stopEarly bool   // before it is reached: a request takes an unknown part of it
	retries   bool   // it stops retries, not requests
}

func (t *turn) limits() []limit {
	spent, most, cost := t.Spent, t.Limits, t.Cost()
	return []limit{
		{
			name: "requests", used: float64(spent.Requests), max: float64(most.Requests),
			text: fmt.Sprintf("%d of %d requests", spent.Requests, most.Requests),
		},
		t.retryLimit(),
		{
			name: "cost", used: cost, max: most.Cost, stopEarly: true,
			text: fmt.Sprintf("$%.2f of $%.2f", cost, most.Cost),
		},
		{
			name: "tokens", used: float64(spent.Tokens), max: float64(most.Tokens), stopEarly: true,
			text: fmt.Sprintf("%d of %d tokens", spent.Tokens, most.Tokens),
		},
	}
}

func (t *turn) retryLimit() limit {
	return limit{
		name: "retries", used: float64(t.Spent.Retries), max: float64(t.Limits.Retries), retries: true,
		text: fmt.Sprintf("%d of %d retries", t.Spent.Retries, t.Limits.Retries),
	}
}

// takeRetry takes an automatic retry out of the limit.
func (t *turn) takeRetry() bool {
	if t.Limits.Retries > 0 && t.Spent.Retries >= t.Limits.Retries {
		return false
	}
	t.Spent.Retries++
	return true
}

// outOfRetries ends a turn that may not try again.
func (t *turn) outOfRetries(err error) session.TurnEnded {
	end := t.retryLimit().reached()
	errors.As(err, &end.Fault)
	return end
}

func (l limit) reached() session.TurnEnded {
	return session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Limit: true,
		Reason: fmt.Sprintf("the limit of %s is reached (%s). Take over: write what is next, or go on with it",
			l.name, l.text)}
}

// checkLimits looks at what is spent before another request goes out.
func (t *turn) checkLimits(ctx context.Context) *session.TurnEnded {
	if t.Limits.Budget != nil {
		share, words := t.Limits.Budget(ctx)
		if share >= 1 || share >= limitStop && !t.Force {
			return &session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Limit: true,
				Reason: words + ". Raise it in [budget] to go on"}
		}
	}
	for _, l := range t.limits() {
		if l.max <= 0 {
			continue
		}
		share := l.used / l.max
		if !l.retries && (share >= 1 || l.stopEarly && share >= limitStop) {
			end := l.reached()
			return &end
		}
		if share >= limitWarn && !t.Spent.warned[l.name] {
			if err := t.warn(ctx, l, share); err != nil {
				return t.unstorable(ctx, err)
			}
		}
	}
	return nil
}

// warn tells the user, once, how much of a limit is spent.
func (t *turn) warn(ctx context.Context, l limit, share float64) error {
	if t.Spent.warned == nil {
		t.Spent.warned = map[string]bool{}
	}
	t.Spent.warned[l.name] = true
	return t.Log.Append(ctx, session.Noted{
		Text: fmt.Sprintf("%.0f %% of this task's limit of %s are spent (%s)", share*100, l.name, l.text),
	})
}
