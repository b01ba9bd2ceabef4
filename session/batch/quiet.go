package batch

import (
	"time"

	"belay/models/ledger"
)

const (
	quietWindow = 2 * time.Hour // over which tasks are spread from the beginning of quiet hours
	fewAttempts = 3             // in an hour of the day, below which it says nothing
)

// QuietTime is when a task may begin that waits for quiet hours: the first hour of the
// next day in which, by the record, the model had room, and a random offset into the
// quiet hours from there, so that not all begin at once. Known is false while the
// record does not cover a week; then it is now.
func QuietTime(week *ledger.Week, now time.Time, random func() float64) (at time.Time, known bool) {
	if week == nil || !week.Enough {
		return now, false
	}
	clock := week.Clock()
	var all ledger.Hour
	for _, h := range clock {
		all.Attempts += h.Attempts
		all.Capacity += h.Capacity
	}
	mean := all.Share()
	share := func(hour int) float64 {
		if h := clock[hour%24]; h.Attempts >= fewAttempts {
			return h.Share()
		}
		return mean
	}
	limit := mean / 2
	best := now.Hour()
	for i := range 24 {
		if hour := now.Hour() + i; share(hour) < share(best) {
			best = hour
		}
	}
	limit = max(limit, share(best)) // where none is quiet, the quietest
	first := 0
	for share(now.Hour()+first) > limit {
		first++
	}
	begin := now
	if first > 0 {
		begin = time.Date(now.Year(), now.Month(), now.Day(), now.Hour()+first, 0, 0, 0, now.Location())
	}
	end := time.Date(begin.Year(), begin.Month(), begin.Day(), begin.Hour()+1, 0, 0, 0, begin.Location())
	for i := 1; end.Sub(begin) < quietWindow && i < 24 && share(begin.Hour()+i) <= limit; i++ {
		end = end.Add(time.Hour)
	}
	span := min(end.Sub(begin), quietWindow)
	return begin.Add(time.Duration(random() * float64(span))), true
}
