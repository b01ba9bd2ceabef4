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

func (g *grouping) add(a *Attempt) {
	g.Attempts++
	if a.Counts() {
		g.Outcomes++
	}
	if a.OK() {
		g.Succeeded++
		g.latency = append(g.latency, a.LatencyMS)
	}
	if a.Kind == models.KindCapacity {
		g.Capacity++
	}
	if a.RetryCount > 0 {
		g.Retries++
	}
	if a.FallbackModel != "" {
		g.Fallbacks++
	}
	if a.FirstTokenMS > 0 {
		g.first = append(g.first, a.FirstTokenMS)
	}
	g.Input, g.Output, g.Cached = g.Input+a.InputTokens, g.Output+a.OutputTokens, g.Cached+a.CachedTokens
	g.Cost += a.Cost
	g.WaitedMS += a.DelayMS
}

func (g *grouping) row() Row {
	slices.Sort(g.first)
	slices.Sort(g.latency)
	g.FirstTokenMS, g.LatencyMS, g.Latency95MS = quantile(g.first, 0.5), quantile(g.latency, 0.5), quantile(g.latency, 0.95)
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
		g := &grouping{Row: Row{Key: key}, order: order}
		groups = append(groups, g)
		return g
	}
	targets, projects, numbers := map[models.Target]*grouping{}, map[string]*grouping{}, map[int]*grouping{}
	for i := range list {
		a := &list[i]
		var g *grouping
		switch by {
		case ByProject:
			if g = projects[a.ProjectID]; g == nil {
				g = begin(a.ProjectID, 0)
				projects[a.ProjectID] = g
			}
		case ByHour:
			n := a.CreatedAt.In(loc).Hour()
			if g = numbers[n]; g == nil {
				g = begin(fmt.Sprintf("%02d–%02d h", n, n+1), n)
				numbers[n] = g
			}
		case BySize:
			n := -1
			if a.InputTokens > 0 {
				n = bucket(a.InputTokens)
			}
			if g = numbers[n]; g == nil {
				g = begin(sizeName(n), n)
				numbers[n] = g
			}
		default:
			if g = targets[a.Target()]; g == nil {
				g = begin(a.Target().String(), 0)
				targets[a.Target()] = g
			}
		}
		g.add(a)
	}
	return groups
}
