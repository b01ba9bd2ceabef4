package agent

import (
	"context"
	"fmt"

	"belay/session"
)

// Limits end a task that takes more than its user wants to spend; 0 is none.
// At 80 % they are told, and at 95 % no further request goes out, so that the
// limit itself is kept.
type Limits struct {
	Steps   int     // requests
	Retries int     // failed attempts that were followed by another
	Cost    float64 // US dollars
	Tokens  int64
}

// The shares of a limit at which something happens.
const (
	limitTold = 0.80
	limitStop = 0.95
)

// spent is what a turn has taken since it began or was resumed.
type spent struct {
	steps, retries int
	tokens         int64
	cost           float64
	told           map[string]bool
}

// limit looks at what is spent before another request goes out.
func (t *turn) limit(ctx context.Context) *session.TurnEnded {
	for _, l := range []struct {
		name  string
		used  float64
		limit float64
		words string
	}{
		{"steps", float64(t.spent.steps), float64(t.Limits.Steps), fmt.Sprintf("%d of %d requests", t.spent.steps, t.Limits.Steps)},
		{"retries", float64(t.spent.retries), float64(t.Limits.Retries), fmt.Sprintf("%d of %d retries", t.spent.retries, t.Limits.Retries)},
		{"cost", t.spent.cost, t.Limits.Cost, fmt.Sprintf("$%.2f of $%.2f", t.spent.cost, t.Limits.Cost)},
		{"tokens", float64(t.spent.tokens), float64(t.Limits.Tokens), fmt.Sprintf("%d of %d tokens", t.spent.tokens, t.Limits.Tokens)},
	} {
		switch share := l.used / l.limit; {
		case l.limit <= 0:
		case share >= limitStop && (l.name == "cost" || l.name == "tokens") || share >= 1:
			return &session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Limit: true,
				Reason: fmt.Sprintf("the limit of %s is reached (%s). Take over: write what is next, or go on with it", l.name, l.words)}
		case share >= limitTold && !t.spent.told[l.name]:
			if t.spent.told == nil {
				t.spent.told = map[string]bool{}
			}
			t.spent.told[l.name] = true
			if err := t.Log.Append(ctx, session.Noted{Text: fmt.Sprintf("%s of this task are spent (%s)", percent(share), l.words)}); err != nil {
				return t.broken(ctx, err)
			}
		}
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", share*100) }
