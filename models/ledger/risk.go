package ledger

import (
	"slices"
	"time"

	"belay/models"
)

// Risk is how likely a target is to run out of capacity soon. It is advice to the user;
// belay never acts on it. Its terms are between 0 and 1.
type Risk struct {
	Target   models.Target `json:"target"`
	Growth   float64       `json:"growth"`  // of requests in the last hour over the hour before
	Latency  float64       `json:"latency"` // of the last hour's mean over the target's median
	Errors   float64       `json:"errors"`  // share of failures in the last hour
	Score    float64       `json:"score"`   // 0.4 growth + 0.3 latency + 0.3 errors
	Requests int           `json:"requests"`
}

const (
	minRequests   = 20 // in the last hour, for the score to be meaningful
	riskThreshold = 0.65
)

// Enough reports whether there were enough requests for a meaningful score.
func (r Risk) Enough() bool { return r.Requests >= minRequests }

// Advise reports whether to suggest a lower tier or smaller steps.
func (r Risk) Advise() bool { return r.Enough() && r.Score > riskThreshold }

// RiskOf computes the risk of a target.
func RiskOf(list []Attempt, target models.Target, now time.Time) Risk {
	risk := Risk{Target: target}
	hour, before := now.Add(-time.Hour), now.Add(-2*time.Hour)
	var last, failed, good int
	var sum int64
	var usual []int64
	for i := range list {
		attempt := &list[i]
		if attempt.Provider != target.Provider || attempt.Model != target.Model || !attempt.Counts() ||
			attempt.CreatedAt.After(now) {
			continue
		}
		recent := attempt.CreatedAt.After(hour)
		switch {
		case recent:
			risk.Requests++
		case attempt.CreatedAt.After(before):
			last++
		}
		switch {
		case !attempt.OK():
			if recent {
				failed++
			}
		case recent:
			good++
			sum += attempt.LatencyMS
		default:
			usual = append(usual, attempt.LatencyMS)
		}
	}
	risk.Growth = clamp(float64(risk.Requests-last) / float64(max(1, last)))
	slices.Sort(usual)
	if own := quantile(usual, 0.5); own > 0 && good > 0 {
		risk.Latency = clamp((float64(sum)/float64(good) - float64(own)) / float64(own))
	}
	risk.Errors = clamp(share(failed, risk.Requests))
	risk.Score = 0.4*risk.Growth + 0.3*risk.Latency + 0.3*risk.Errors
	return risk
}

func clamp(x float64) float64 { return min(max(x, 0), 1) }
