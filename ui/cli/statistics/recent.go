package statistics

import (
	"context"
	"time"

	"belay/models"
	"belay/models/ledger"
	"belay/ui/locale"
	"belay/ui/theme"
)

// recentWindow is how far back a look at how models do goes.
const recentWindow = 7 * 24 * time.Hour

// Recent is what the record of the last seven days says.
type Recent struct {
	attempts []ledger.Attempt
	now      time.Time
}

// ReadRecent reads the record of the last seven days.
func ReadRecent(ctx context.Context, log ledger.Log, now time.Time) (*Recent, error) {
	list, err := ledger.Read(ctx, log, now.Add(-recentWindow), time.Time{})
	return &Recent{list, now}, err
}

// ServedNames is the name under which each target's replies came last.
func (r *Recent) ServedNames() map[models.Target]string {
	names := map[models.Target]string{}
	for i := range r.attempts {
		if a := &r.attempts[i]; a.ServedModel != "" {
			names[a.Target()] = a.ServedModel
		}
	}
	return names
}

// SuccessShare is a target's share of successes, and of how many attempts.
func (r *Recent) SuccessShare(t models.Target) (share float64, attempts int) {
	ok := 0
	for i := range r.attempts {
		a := &r.attempts[i]
		if a.Target() != t || !a.Asked() {
			continue
		}
		attempts++
		if a.OK() {
			ok++
		}
	}
	return float64(ok) / float64(max(attempts, 1)), attempts
}

// CapacityByHour is the share of requests without room for each hour of the
// week, Monday first; below 0 where nothing was asked. It is empty without a
// record.
func (r *Recent) CapacityByHour() [][24]float64 {
	if len(r.attempts) == 0 {
		return nil
	}
	var days [][24]float64
	for _, hours := range ledger.Weeks(r.attempts, time.Local, r.now)[0].Hours {
		var day [24]float64
		for i, h := range hours {
			day[i] = -1
			if h.Attempts > 0 {
				day[i] = h.Share()
			}
		}
		days = append(days, day)
	}
	return days
}

// Sentences puts what the record says into sentences, the urgent ones first.
func (r *Recent) Sentences() []string {
	if len(r.attempts) == 0 {
		return []string{locale.T("no record yet: it begins with the first request")}
	}
	var list []string
	for _, a := range ledger.Alerts(r.attempts, r.now, time.Local, ledger.Limits{}) {
		list = append(list, locale.Said(a.String()))
	}
	if s := ledger.SizesOf(r.attempts); s.Threshold > 0 {
		list = append(list, locale.T("failures start above %s input (%.0f%% against %.0f%%)",
			theme.Count(s.Threshold), s.Above*100, s.Below*100))
	}
	if episodes := ledger.Episodes(r.attempts, r.now); len(episodes) > 0 {
		longest, median := ledger.Lengths(episodes)
		list = append(list, locale.T("%s without room, longest %s, median %s",
			theme.Plural(len(episodes), "episode"), theme.Clock(longest), theme.Clock(median)))
	}
	weeks := ledger.Weeks(r.attempts, time.Local, r.now)
	if risk := r.highestRisk(weeks[1:]); risk.Enough() {
		list = append(list, locale.T("risk %.2f at %s (growth %.1f latency %.1f errors %.1f)",
			risk.Score, risk.Target, risk.Growth, risk.Latency, risk.Errors))
		if risk.Advise() {
			list = append(list, locale.T("a lower tier or smaller steps would be safer for the next quarter of an hour"))
		}
	}
	if !weeks[0].Enough {
		list = append(list, locale.T("the hours say little until a whole week is recorded"))
	}
	return list
}

// highestRisk is that of the target which is most likely to give way.
func (r *Recent) highestRisk(weeks []ledger.Week) ledger.Risk {
	var highest ledger.Risk
	for _, w := range weeks {
		if risk := ledger.RiskOf(r.attempts, w.Target, r.now); risk.Enough() && risk.Score > highest.Score {
			highest = risk
		}
	}
	return highest
}
