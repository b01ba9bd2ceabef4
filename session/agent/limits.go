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
	limitTold = 0.80
	limitStop = 0.95
)

// Spent is what a task has taken, over all the tries of a parked turn.
type Spent struct {
	Requests, Retries int
	Tokens            int64
	Cost              float64

	told map[string]bool
}

// limited is one of the limits and what is spent of it.
type limited struct {
	name        string
	used, limit float64
	words       string
	early       bool // stop before it is reached: a request takes an unknown part of it
}

func (t *turn) limits() []limited {
	return []limited{
		{"requests", float64(t.Spent.Requests), float64(t.Limits.Requests), fmt.Sprintf("%d of %d requests", t.Spent.Requests, t.Limits.Requests), false},
		t.retries(),
		{"cost", t.Spent.Cost, t.Limits.Cost, fmt.Sprintf("$%.2f of $%.2f", t.Spent.Cost, t.Limits.Cost), true},
		{"tokens", float64(t.Spent.Tokens), float64(t.Limits.Tokens), fmt.Sprintf("%d of %d tokens", t.Spent.Tokens, t.Limits.Tokens), true},
	}
}

func (t *turn) retries() limited {
	return limited{"retries", float64(t.Spent.Retries), float64(t.Limits.Retries), fmt.Sprintf("%d of %d retries", t.Spent.Retries, t.Limits.Retries), false}
}

// retry takes an automatic retry out of the limit.
func (t *turn) retry() bool {
	if t.Limits.Retries > 0 && t.Spent.Retries >= t.Limits.Retries {
		return false
	}
	t.Spent.Retries++
	return true
}

// retried ends a turn that may not try again.
func (t *turn) retried(err error) session.TurnEnded {
	end := reached(t.retries())
	errors.As(err, &end.Fault)
	return end
}

func reached(l limited) session.TurnEnded {
	return session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Limit: true,
		Reason: fmt.Sprintf("the limit of %s is reached (%s). Take over: write what is next, or go on with it", l.name, l.words)}
}

// limit looks at what is spent before another request goes out.
func (t *turn) limit(ctx context.Context) *session.TurnEnded {
	if t.Limits.Budget != nil {
		if share, words := t.Limits.Budget(ctx); share >= 1 || share >= limitStop && !t.Force {
			return &session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Limit: true, Reason: words + ". Raise it in [budget] to go on"}
		}
	}
	for _, l := range t.limits() {
		switch share := l.used / l.limit; {
		case l.limit <= 0:
		case l.name != "retries" && (share >= 1 || l.early && share >= limitStop):
			end := reached(l)
			return &end
		case share >= limitTold && !t.Spent.told[l.name]:
			if t.Spent.told == nil {
				t.Spent.told = map[string]bool{}
			}
			t.Spent.told[l.name] = true
			if err := t.Log.Append(ctx, session.Noted{Text: fmt.Sprintf("%.0f %% of this task's limit of %s are spent (%s)", share*100, l.name, l.words)}); err != nil {
				return t.broken(ctx, err)
			}
		}
	}
	return nil
}
