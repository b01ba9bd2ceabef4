package ledger

import (
	"slices"
	"time"

	"belay/models"
)

// Risk says how likely it is that a target gives way soon: advice, never a
// reason to act by itself. The terms run from 0 to 1.
type Risk struct {
	Target   models.Target `json:"target"`
	Growth   float64       `json:"growth"`  // of requests, this hour against the one before
	Latency  float64       `json:"latency"` // this hour's mean above the target's own median
	Errors   float64       `json:"errors"`  // share of failures in this hour
	Score    float64       `json:"score"`   // 0.4 growth + 0.3 latency + 0.3 errors
	Requests int           `json:"requests"`
}

const (
	minRequests   = 20 // an hour, for the score to mean anything
	riskThreshold = 0.65
)

// Enough reports whether there were enough requests for the score to mean
// anything.
func (r Risk) Enough() bool { return r.Requests >= minRequests }

// Advise reports whether a lower tier or smaller steps should be suggested.
func (r Risk) Advise() bool { return r.Enough() && r.Score > riskThreshold }

// RiskOf computes the risk of a target from its record.
func RiskOf(list []Attempt, t models.Target, now time.Time) Risk {
	r := Risk{Target: t}
	hour, before := now.Add(-time.Hour), now.Add(-2*time.Hour)
	var last, failed, good int
	var sum int64
	var usual []int64
	for i := range list {
		a := &list[i]
		if a.Provider != t.Provider || a.Model != t.Model || !a.Counts() || a.CreatedAt.After(now) {
			continue
		}
		recent := a.CreatedAt.After(hour)
		switch {
		case recent:
			r.Requests++
		case a.CreatedAt.After(before):
			last++
		}
		switch {
		case !a.OK():
			if recent {
				failed++
			}
		case recent:
			good++
			sum += a.LatencyMS
		default:
			usual = append(usual, a.LatencyMS)
		}
	}
	r.Growth = clamp(float64(r.Requests-last) / float64(max(1, last)))
	slices.Sort(usual)
	if own := quantile(usual, 0.5); own > 0 && good > 0 {
		r.Latency = clamp((float64(sum)/float64(good) - float64(own)) / float64(own))
	}
	r.Errors = clamp(share(failed, r.Requests))
	r.Score = 0.4*r.Growth + 0.3*r.Latency + 0.3*r.Errors
	return r
}

func clamp(x float64) float64 { return min(max(x, 0), 1) }
