package ledger

import (
	"time"

	"belay/models"
)

// Spent is what a number of attempts used, as far as they were billed.
type Spent struct {
	Attempts int     `json:"attempts"`
	Input    int64   `json:"input_tokens"`
	Output   int64   `json:"output_tokens"`
	Cost     float64 `json:"cost"` // US dollars, where prices are known
}

func (s *Spent) add(a *Attempt) {
	s.Attempts++
	if !a.Billed() {
		return
	}
	s.Input += a.InputTokens
	s.Output += a.OutputTokens
	s.Cost += a.Cost
}

// Plus returns the sum of both.
func (s Spent) Plus(o Spent) Spent {
	return Spent{s.Attempts + o.Attempts, s.Input + o.Input, s.Output + o.Output, s.Cost + o.Cost}
}

// Wait is the time that a turn took beside its requests.
type Wait struct {
	Tools  time.Duration // while tools ran
	Person time.Duration // while the turn waited for an answer
}

// Costs is what successful requests cost, everything included.
type Costs struct {
	Successes int   `json:"successes"` // requests that succeeded in the end
	Calls     Spent `json:"calls"`     // first attempts
	Retries   Spent `json:"retries"`   // further attempts at the same target
	Fallbacks Spent `json:"fallbacks"` // attempts at a fallback target
	ToolsMS   int64 `json:"tools_ms"`
	// WaitedMS is how long people waited: for delays, for failed attempts, and to answer
	// questions. It has no price.
	WaitedMS int64 `json:"waited_ms"`
}

// Total is the sum of calls, retries and fallbacks.
func (c Costs) Total() Spent { return c.Calls.Plus(c.Retries).Plus(c.Fallbacks) }

// PerSuccess is the cost of one success in US dollars, or 0 if there was none.
func (c Costs) PerSuccess() float64 {
	if c.Successes == 0 {
		return 0
	}
	return c.Total().Cost / float64(c.Successes)
}

// Extra is the share of retries and fallbacks in the total cost, or in the tokens if
// no price is known.
func (c Costs) Extra() float64 {
	total, extra := c.Total(), c.Retries.Plus(c.Fallbacks)
	if total.Cost > 0 {
		return extra.Cost / total.Cost
	}
	if tokens := total.Input + total.Output; tokens > 0 {
		return float64(extra.Input+extra.Output) / float64(tokens)
	}
	return 0
}

// CostOfSuccess adds up what successful requests cost: calls, retries, fallbacks, the
// time that tools took and the time that people waited.
func CostOfSuccess(list []Attempt, waits ...Wait) Costs {
	type turn struct {
		session, step string
		turn          int
	}
	fallbacks := map[turn]string{} // the target that took over
	var costs Costs
	for i := range list {
		attempt := &list[i]
		key := turn{attempt.Session, attempt.Step, attempt.Turn}
		fallback, fellBack := fallbacks[key]
		switch {
		case fellBack && fallback == attempt.Target().String():
			costs.Fallbacks.add(attempt)
		case attempt.RetryCount > 0:
			costs.Retries.add(attempt)
		default:
			costs.Calls.add(attempt)
			if fellBack {
				delete(fallbacks, key) // back at the preferred target
			}
		}
		if attempt.FallbackModel != "" {
			fallbacks[key] = attempt.FallbackModel
		}
		costs.WaitedMS += attempt.DelayMS
		switch {
		case attempt.OK():
			costs.Successes++
		case attempt.Kind != models.KindCancelled:
			costs.WaitedMS += attempt.LatencyMS
		}
	}
	for _, w := range waits {
		costs.ToolsMS += w.Tools.Milliseconds()
		costs.WaitedMS += w.Person.Milliseconds()
	}
	return costs
}

// Level is how much of a budget is spent.
type Level string

// The levels of a budget.
const (
	WithinBudget Level = ""       // below 80 %, or no limit
	Notice       Level = "notice" // from 80 %: the user is told
	Soft         Level = "soft"   // from 95 %: nothing new starts
	Full         Level = "full"   // from 100 %: what is running stops
)

// Budget is a limit that the user set, in any unit: dollars, tokens, steps.
type Budget struct {
	Limit float64 // 0 or less: no limit
	Spent float64
}

// Share is the part that is spent, or 0 without a limit.
func (b Budget) Share() float64 {
	if b.Limit <= 0 {
		return 0
	}
	return b.Spent / b.Limit
}

// Level returns how much of the budget is spent.
func (b Budget) Level() Level {
	const rounding = 1e-9 // error of adding many small costs
	switch s := b.Share() + rounding; {
	case s >= 1:
		return Full
	case s >= 0.95:
		return Soft
	case s >= 0.8:
		return Notice
	}
	return WithinBudget
}

// Failover is a switch that belay made by itself.
type Failover struct {
	Time    time.Time   `json:"time"`
	Session string      `json:"session"`
	Turn    int         `json:"turn"`
	Step    string      `json:"step,omitempty"`
	Project string      `json:"project,omitempty"`
	Tier    models.Tier `json:"tier"` // of the failed attempt
	From    string      `json:"from"` // provider/model
	To      string      `json:"to"`
	Kind    models.Kind `json:"kind"`
	Code    string      `json:"code,omitempty"`
	Tries   int         `json:"tries"` // attempts before the switch
}

// Failovers lists every switch that belay made by itself, oldest first.
func Failovers(list []Attempt) []Failover {
	var found []Failover
	for i := range list {
		a := &list[i]
		if a.FallbackModel == "" || a.OK() || a.Kind == models.KindCancelled {
			continue
		}
		found = append(found, Failover{
			Time: a.CreatedAt, Session: a.Session, Turn: a.Turn, Step: a.Step, Project: a.ProjectID, Tier: a.Tier,
			From: a.Target().String(), To: a.FallbackModel, Kind: a.Kind, Code: a.ErrorCode, Tries: a.RetryCount + 1,
		})
	}
	return found
}
