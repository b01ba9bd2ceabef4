package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"belay/models"
)

// By is what a summary is grouped by.
type By string

// What a summary can be grouped by.
const (
	ByModel   By = "model"
	ByProject By = "project"
	ByHour    By = "hour" // of the day, in local time
	BySize    By = "size" // of the input
)

// ParseBy parses what to group by.
func ParseBy(s string) (By, error) {
	switch b := By(strings.ToLower(strings.TrimSpace(s))); b {
	case ByModel, ByProject, ByHour, BySize:
		return b, nil
	}
	return "", fmt.Errorf("unknown division %q: use model, project, hour or size", s)
}

// Row is one row of a summary.
type Row struct {
	Key       string  `json:"key"`
	Attempts  int     `json:"attempts"`
	Outcomes  int     `json:"told"` // attempts that say something about the target
	Succeeded int     `json:"succeeded"`
	Capacity  int     `json:"capacity"` // found no capacity
	Lost      int     `json:"lost"`     // the network or a closed connection took them; not among Outcomes
	Retries   int     `json:"retries"`  // not the first attempt at their request
	Fallbacks int     `json:"fallbacks"`
	Input     int64   `json:"input_tokens"`
	Output    int64   `json:"output_tokens"`
	Cached    int64   `json:"cached_tokens"`
	Cost      float64 `json:"cost"`

	FirstTokenMS int64 `json:"first_token_ms"` // median; 0: no attempt had a first token
	LatencyMS    int64 `json:"latency_ms"`     // median of the successes
	Latency95MS  int64 `json:"latency_p95_ms"` // 95th percentile of the successes
	WaitedMS     int64 `json:"waited_ms"`      // total delay before attempts
}

// Asked is how many attempts an answer was to be expected of.
func (r Row) Asked() int { return r.Outcomes + r.Lost }

// OK is the share of successes among those asked.
func (r Row) OK() float64 { return share(r.Succeeded, r.Asked()) }

// Full is the share of those asked that found no capacity.
func (r Row) Full() float64 { return share(r.Capacity, r.Asked()) }

type group struct {
	Row
	order          int
	first, latency []int64
}

func (g *group) add(attempt *Attempt) {
	g.Attempts++
	if attempt.Counts() {
		g.Outcomes++
	}
	if attempt.Lost() {
		g.Lost++
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

func (g *group) row() Row {
	slices.Sort(g.first)
	slices.Sort(g.latency)
	g.FirstTokenMS = quantile(g.first, 0.5)
	g.LatencyMS = quantile(g.latency, 0.5)
	g.Latency95MS = quantile(g.latency, 0.95)
	return g.Row
}

// Summary groups the record into rows. Models and projects are sorted by attempts,
// most first; hours and sizes are in natural order.
func Summary(list []Attempt, by By, loc *time.Location) []Row {
	groups := groupBy(list, by, loc)
	slices.SortFunc(groups, func(a, b *group) int {
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

// Total is the whole record as one row.
func Total(list []Attempt) Row {
	g := group{Row: Row{Key: "total"}}
	for i := range list {
		g.add(&list[i])
	}
	return g.row()
}

func groupBy(list []Attempt, by By, loc *time.Location) []*group {
	var groups []*group
	begin := func(key string, order int) *group {
		group := &group{Row: Row{Key: key}, order: order}
		groups = append(groups, group)
		return group
	}
	targets, projects, numbers := map[models.Target]*group{}, map[string]*group{}, map[int]*group{}
	for i := range list {
		attempt := &list[i]
		var group *group
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
