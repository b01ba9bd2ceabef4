package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"belay/models"
)

// By is what a summary is divided by.
type By string

// What a summary can be divided by.
const (
	ByModel   By = "model"
	ByProject By = "project"
	ByHour    By = "hour" // of the day, local
	BySize    By = "size" // of the input
)

// ParseBy reads what to divide by.
func ParseBy(s string) (By, error) {
	switch b := By(strings.ToLower(strings.TrimSpace(s))); b {
	case ByModel, ByProject, ByHour, BySize:
		return b, nil
	}
	return "", fmt.Errorf("unknown division %q: use model, project, hour or size", s)
}

// Row is one line of a summary.
type Row struct {
	Key       string  `json:"key"`
	Attempts  int     `json:"attempts"`
	Outcomes  int     `json:"told"` // attempts that tell something about the target
	Succeeded int     `json:"succeeded"`
	Capacity  int     `json:"capacity"` // found no capacity
	Retries   int     `json:"retries"`  // were not the first at their request
	Fallbacks int     `json:"fallbacks"`
	Input     int64   `json:"input_tokens"`
	Output    int64   `json:"output_tokens"`
	Cached    int64   `json:"cached_tokens"`
	Cost      float64 `json:"cost"`

	FirstTokenMS int64 `json:"first_token_ms"` // median of those that came; 0: none did
	LatencyMS    int64 `json:"latency_ms"`     // median of the successes
	Latency95MS  int64 `json:"latency_p95_ms"` // slower than 95 % of them
	WaitedMS     int64 `json:"waited_ms"`      // before attempts, all together
}

// OK is the share of successes among the attempts that tell something.
func (r Row) OK() float64 { return share(r.Succeeded, r.Outcomes) }

// Full is the share that found no capacity.
func (r Row) Full() float64 { return share(r.Capacity, r.Outcomes) }

type grouping struct {
	Row
	order          int
	first, latency []int64
}

func (g *grouping) add(attempt *Attempt) {
	g.Attempts++
	if attempt.Counts() {
		g.Outcomes++
	}
	if attempt.OK() {
		g.Succeeded++
		g.latency = append(g.latency, attempt.LatencyMS)
	}
	if attempt.Kind == models.KindCapacity {
		g.Capacity++
	}
	if attempt.RetryCount > 0 {
		g.Retries++
	}
	if attempt.FallbackModel != "" {
		g.Fallbacks++
	}
	if attempt.FirstTokenMS > 0 {
		g.first = append(g.first, attempt.FirstTokenMS)
	}
	g.Input += attempt.InputTokens
	g.Output += attempt.OutputTokens
	g.Cached += attempt.CachedTokens
	g.Cost += attempt.Cost
	g.WaitedMS += attempt.DelayMS
}

func (g *grouping) row() Row {
	slices.Sort(g.first)
	slices.Sort(g.latency)
	g.FirstTokenMS, g.LatencyMS, g.Latency95MS = quantile(g.first, 0.5), quantile(
		g.latency,
		0.5,
	), quantile(g.latency, 0.95)
	return g.Row
}

// Summary divides the record. Models and projects come with the most attempts
// first, hours and sizes in their own order.
func Summary(list []Attempt, by By, loc *time.Location) []Row {
	groups := divide(list, by, loc)
	slices.SortFunc(groups, func(a, b *grouping) int {
		if by == ByHour || by == BySize {
			return cmp.Compare(a.order, b.order)
		}
		return cmp.Or(cmp.Compare(b.Attempts, a.Attempts), cmp.Compare(a.Key, b.Key))
	})
	rows := make([]Row, len(groups))
	for i, g := range groups {
		rows[i] = g.row()
	}
	return rows
}

// Total is the whole record as one line.
func Total(list []Attempt) Row {
	g := grouping{Row: Row{Key: "total"}}
	for i := range list {
		g.add(&list[i])
	}
	return g.row()
}

func divide(list []Attempt, by By, loc *time.Location) []*grouping {
	var groups []*grouping
	begin := func(key string, order int) *grouping {
		group := &grouping{Row: Row{Key: key}, order: order}
		groups = append(groups, group)
		return group
	}
	targets, projects, numbers := map[models.Target]*grouping{}, map[string]*grouping{}, map[int]*grouping{}
	for i := range list {
		attempt := &list[i]
		var group *grouping
		switch by {
		case ByProject:
			if group = projects[attempt.ProjectID]; group == nil {
				group = begin(attempt.ProjectID, 0)
				projects[attempt.ProjectID] = group
			}
		case ByHour:
			n := attempt.CreatedAt.In(loc).Hour()
			if group = numbers[n]; group == nil {
				group = begin(fmt.Sprintf("%02d–%02d h", n, n+1), n)
				numbers[n] = group
			}
		case BySize:
			n := -1
			if attempt.InputTokens > 0 {
				n = bucket(attempt.InputTokens)
			}
			if group = numbers[n]; group == nil {
				group = begin(sizeName(n), n)
				numbers[n] = group
			}
		default:
			if group = targets[attempt.Target()]; group == nil {
				group = begin(attempt.Target().String(), 0)
				targets[attempt.Target()] = group
			}
		}
		group.add(attempt)
	}
	return groups
}
