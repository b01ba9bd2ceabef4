package ledger

import (
	"cmp"
	"slices"
	"time"

	"belay/models"
)

// Hour counts the attempts that started in one hour.
type Hour struct {
	Attempts int `json:"attempts"` // that say something about the target
	Capacity int `json:"capacity"` // those of them that found no capacity
}

// Share is the share of attempts that found no capacity.
func (h Hour) Share() float64 { return share(h.Capacity, h.Attempts) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Week is when in the week a target has no capacity, according to this record alone:
// no peak hours are assumed.
type Week struct {
	Target models.Target `json:"target,omitzero"` // zero: all targets together
	Hours  [7][24]Hour   `json:"hours"`           // Monday first, in local time
	Since  time.Time     `json:"since"`           // the first attempt
	Enough bool          `json:"enough"`          // the record covers a whole week; otherwise the hours say little
}

// Slot is one hour of the week.
type Slot struct {
	Day  time.Weekday `json:"day"`
	Hour int          `json:"hour"`
	In   Hour         `json:"in"`
}

// Weeks counts attempts by weekday and hour: for all targets together, then for each
// target, those with most attempts first.
func Weeks(list []Attempt, loc *time.Location, now time.Time) []Week {
	all := &Week{}
	each := map[models.Target]*Week{}
	counts := map[models.Target]int{}
	for i := range list {
		attempt := &list[i]
		if !attempt.Counts() {
			continue
		}
		target := attempt.Target()
		week := each[target]
		if week == nil {
			week = &Week{Target: target, Since: attempt.CreatedAt}
			each[target] = week
		}
		if all.Since.IsZero() {
			all.Since = attempt.CreatedAt
		}
		counts[target]++
		at := attempt.CreatedAt.In(loc)
		day, hour := (int(at.Weekday())+6)%7, at.Hour()
		for _, week := range []*Week{all, week} {
			week.Hours[day][hour].Attempts++
			if attempt.Kind == models.KindCapacity {
				week.Hours[day][hour].Capacity++
			}
		}
	}
	weeks := make([]Week, 0, len(each)+1)
	for _, week := range each {
		weeks = append(weeks, *week)
	}
	slices.SortFunc(weeks, func(a, b Week) int {
		return cmp.Or(
			cmp.Compare(counts[b.Target], counts[a.Target]),
			cmp.Compare(a.Target.String(), b.Target.String()),
		)
	})
	weeks = slices.Insert(weeks, 0, *all)
	for i := range weeks {
		week := &weeks[i]
		week.Enough = !week.Since.IsZero() && now.Sub(week.Since) >= 7*24*time.Hour
	}
	return weeks
}

// Any reports whether any attempt found no capacity.
func (w *Week) Any() bool {
	for _, h := range w.Clock() {
		if h.Capacity > 0 {
			return true
		}
	}
	return false
}

// Worst returns up to n hours with the highest share of attempts that found no
// capacity, among hours with at least five attempts.
func (w *Week) Worst(n int) []Slot {
	var list []Slot
	for day := range w.Hours {
		for hour, h := range w.Hours[day] {
			if h.Attempts >= 5 && h.Capacity > 0 {
				list = append(list, Slot{time.Weekday((day + 1) % 7), hour, h})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Slot) int {
		return cmp.Or(cmp.Compare(b.In.Share(), a.In.Share()), cmp.Compare(b.In.Capacity, a.In.Capacity))
	})
	return list[:min(n, len(list))]
}

// Clock sums the days of the week for each hour of the day.
func (w *Week) Clock() [24]Hour {
	var hours [24]Hour
	for day := range w.Hours {
		for hour, h := range w.Hours[day] {
			hours[hour].Attempts += h.Attempts
			hours[hour].Capacity += h.Capacity
		}
	}
	return hours
}
