package ledger

import (
	"time"

	"belay/models"
)

// Spent is what some attempts took.
type Spent struct {
	Attempts int     `json:"attempts"`
	Input    int64   `json:"input_tokens"`
	Output   int64   `json:"output_tokens"`
	Cost     float64 `json:"cost"` // US dollars, as far as prices are known
}

func (s *Spent) add(a *Attempt) {
	s.Attempts++
	s.Input += a.InputTokens
	s.Output += a.OutputTokens
	s.Cost += a.Cost
}

// Plus is the sum.
func (s Spent) Plus(o Spent) Spent {
	return Spent{s.Attempts + o.Attempts, s.Input + o.Input, s.Output + o.Output, s.Cost + o.Cost}
}

// Wait is time that a turn took beside its requests.
type Wait struct {
	Tools  time.Duration // commands and other tools ran
	Person time.Duration // the turn waited for an answer
}

// Costs is what successes cost with everything around them.
type Costs struct {
	Successes int   `json:"successes"` // requests that were answered in the end
	Calls     Spent `json:"calls"`     // first attempts
	Retries   Spent `json:"retries"`   // further attempts at the same target
	Fallbacks Spent `json:"fallbacks"` // attempts at a target that took over
	ToolsMS   int64 `json:"tools_ms"`
	WaitedMS  int64 `json:"waited_ms"` // by people: delays, attempts that failed, and questions; counted, not priced
}

// Total adds calls, retries and fallbacks up.
func (c Costs) Total() Spent { return c.Calls.Plus(c.Retries).Plus(c.Fallbacks) }

// PerSuccess is the cost of one success in US dollars; 0 without any.
func (c Costs) PerSuccess() float64 {
	if c.Successes == 0 {
		return 0
	}
	return c.Total().Cost / float64(c.Successes)
}

// Extra is the share of retries and fallbacks in the whole cost, or in the
// tokens where no price is known.
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

// CostOfSuccess adds up what successes cost: the calls, their retries and
// fallbacks, the tools and the minutes that people waited.
func CostOfSuccess(list []Attempt, waits ...Wait) Costs {
	type turn struct {
		session, step string
		turn          int
	}
	taken := map[turn]string{} // who took over
	var costs Costs
	for i := range list {
		attempt := &list[i]
		key := turn{attempt.Session, attempt.Step, attempt.Turn}
		by, over := taken[key]
		switch {
		case over && by == attempt.Target().String():
			costs.Fallbacks.add(attempt)
		case attempt.RetryCount > 0:
			costs.Retries.add(attempt)
		default:
			costs.Calls.add(attempt)
			if over {
				delete(taken, key) // back at the preferred target
			}
		}
		if attempt.FallbackModel != "" {
			taken[key] = attempt.FallbackModel
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

// Level is how near a limit of the user's is.
type Level string

// The levels of a budget.
const (
	WithinBudget Level = ""       // below 80 %, or no limit
	Notice       Level = "notice" // from 80 %: said
	Soft         Level = "soft"   // from 95 %: nothing new begins
	Full         Level = "full"   // from 100 %: what runs ends
)

// Budget is a limit that the user set, in dollars, tokens, steps or whatever.
type Budget struct {
	Limit float64 // 0 or less: none
	Spent float64
}

// Share is the part that is spent; 0 without a limit.
func (b Budget) Share() float64 {
	if b.Limit <= 0 {
		return 0
	}
	return b.Spent / b.Limit
}

// Level tells how near the limit is.
func (b Budget) Level() Level {
	const dust = 1e-9 // of adding many small costs
	switch s := b.Share() + dust; {
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
	Tier    models.Tier `json:"tier"` // that was left, or stayed in
	From    string      `json:"from"` // provider/model
	To      string      `json:"to"`
	Kind    models.Kind `json:"kind"`
	Code    string      `json:"code,omitempty"`
	Tries   int         `json:"tries"` // attempts before it
}

// Failovers lists every switch that belay made by itself, the first in front:
// for a look once a week.
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
