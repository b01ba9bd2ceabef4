package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"belay/models"
	"belay/models/ledger"
	"belay/session/store"
	"belay/ui/theme"
)

// lately is how far back a look at how models do goes.
const lately = 7 * 24 * time.Hour

// Past is what the record of the last days says.
type Past struct {
	list []ledger.Attempt
	now  time.Time
}

// Past reads the record of the last seven days.
func (h *House) Past(ctx context.Context, now time.Time) (*Past, error) {
	return readPast(ctx, h.Store, now)
}

func readPast(ctx context.Context, l ledger.Log, now time.Time) (*Past, error) {
	list, err := ledger.Read(ctx, l, now.Add(-lately), time.Time{})
	return &Past{list, now}, err
}

// served is the name under which each target's replies came last.
func (p *Past) served() map[models.Target]string {
	names := map[models.Target]string{}
	for i := range p.list {
		if a := &p.list[i]; a.ServedModel != "" {
			names[a.Target()] = a.ServedModel
		}
	}
	return names
}

// Share is a target's share of successes, and of how many attempts.
func (p *Past) Share(t models.Target) (share float64, attempts int) {
	ok := 0
	for i := range p.list {
		a := &p.list[i]
		if a.Target() != t || !a.Counts() {
			continue
		}
		attempts++
		if a.OK() {
			ok++
		}
	}
	return float64(ok) / float64(max(attempts, 1)), attempts
}

// Week is the share of requests without room for each hour of the week, Monday
// first; below 0 where nothing was asked. It is empty without a record.
func (p *Past) Week() [][24]float64 {
	if len(p.list) == 0 {
		return nil
	}
	var days [][24]float64
	for _, hours := range ledger.Weeks(p.list, time.Local, p.now)[0].Hours {
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

// Says puts what the record says into sentences, the urgent ones first.
func (p *Past) Says() []string {
	if len(p.list) == 0 {
		return []string{"no record yet: it begins with the first request"}
	}
	var says []string
	for _, a := range ledger.Alerts(p.list, p.now, time.Local, ledger.Limits{}) {
		says = append(says, a.String())
	}
	if s := ledger.SizesOf(p.list); s.Threshold > 0 {
		says = append(says, fmt.Sprintf("failures start above %s input (%.0f%% against %.0f%%)", theme.Count(s.Threshold), s.Above*100, s.Below*100))
	}
	if episodes := ledger.Episodes(p.list, p.now); len(episodes) > 0 {
		longest, median := ledger.Lengths(episodes)
		says = append(says, fmt.Sprintf("%s without room, longest %s, median %s", theme.Plural(len(episodes), "episode"), theme.Clock(longest), theme.Clock(median)))
	}
	risk := ledger.Risk{}
	for _, w := range ledger.Weeks(p.list, time.Local, p.now)[1:] {
		if r := ledger.RiskOf(p.list, w.Target, p.now); r.Enough() && r.Score > risk.Score {
			risk = r
		}
	}
	if risk.Enough() {
		says = append(says, fmt.Sprintf("risk %.2f at %s (growth %.1f latency %.1f errors %.1f)", risk.Score, risk.Target, risk.Growth, risk.Latency, risk.Errors))
		if risk.Advise() {
			says = append(says, "a lower tier or smaller steps would be safer for the next quarter of an hour")
		}
	}
	if !ledger.Weeks(p.list, time.Local, p.now)[0].Enough {
		says = append(says, "the hours say little until a whole week is recorded")
	}
	return says
}

// Sizes is the size of a request, in input tokens, from which failures rise
// clearly, with their shares above and below it; from is 0 where none is seen.
func (p *Past) Sizes() (from int64, above, below float64) {
	s := ledger.SizesOf(p.list)
	return s.Threshold, s.Above, s.Below
}

// Standing is a target of a tier and how it does.
type Standing struct {
	models.Condition
	Tried      bool
	Streak     int
	FirstToken time.Duration
}

// Standings lists all targets of all tiers, heavy first.
func (h *House) Standings() []Standing {
	var list []Standing
	for _, tier := range models.Tiers() {
		for _, t := range tiers(h.Settings)[tier] {
			st := h.Board.Status(t)
			list = append(list, Standing{h.Router.Condition(tier, t), st.Tried, st.Streak, st.FirstToken})
		}
	}
	return list
}

// gather looks in the record for what the doctor cannot see now.
func gather(ctx context.Context, now time.Time) (evidence, error) {
	var e evidence
	err := with(ctx, true, func(st *store.Store) error {
		past, err := readPast(ctx, st, now)
		if err != nil {
			return err
		}
		e = past.evidence()
		return nil
	})
	if errors.Is(err, store.ErrOlder) {
		err = nil // nothing is recorded in a database from before there was a record
	}
	return e, err
}

func (p *Past) evidence() evidence {
	e := evidence{Attempts: len(p.list)}
	var alone, aloneFull, several, severalFull int
	for i := range p.list {
		a := &p.list[i]
		if !a.Counts() {
			continue
		}
		full := 0
		if a.Kind == models.KindCapacity || a.Kind == models.KindRate {
			full = 1
		}
		if a.Concurrency > 1 {
			several, severalFull = several+1, severalFull+full
		} else {
			alone, aloneFull = alone+1, aloneFull+full
		}
	}
	e.Several = several
	e.Alone, e.Together = float64(aloneFull)/float64(max(alone, 1)), float64(severalFull)/float64(max(several, 1))
	if s := ledger.SizesOf(p.list); s.Threshold > 0 {
		e.SizeFrom, e.SizeAbove, e.SizeBelow = s.Threshold, s.Above, s.Below
	}
	for _, a := range ledger.Alerts(p.list, p.now, time.Local, ledger.Limits{}) {
		if a.Kind == ledger.AlertHours {
			e.Hours = append(e.Hours, a.String())
		}
	}
	return e
}
