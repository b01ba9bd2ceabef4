package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"belay/models"
)

// AlertKind is what an alert is about.
type AlertKind string

// The kinds of alerts.
const (
	AlertShare     AlertKind = "capacity share" // too many attempts found no capacity in the last hour
	AlertJump      AlertKind = "jump"           // many more did in the last day than in the week before
	AlertHours     AlertKind = "busy hours"     // a target often has no capacity at certain hours
	AlertRetryCost AlertKind = "retry cost"     // retries and fallbacks cost too much
)

// Alert is an anomaly in the record that the user should know of.
type Alert struct {
	Kind   AlertKind     `json:"kind"`
	Target models.Target `json:"target,omitzero"` // zero: all of them
	Now    float64       `json:"now"`             // the share that is too high
	Before float64       `json:"before"`          // what it is compared with; 0: a fixed limit
	Hours  []int         `json:"hours,omitempty"` // of the day, in local time
}

// Key identifies the trouble, so that the user is alerted to it once.
func (a Alert) Key() string { return string(a.Kind) + " " + a.Target.String() }

// String is the alert as a sentence.
func (a Alert) String() string {
	switch a.Kind {
	case AlertShare:
		return fmt.Sprintf("%s had no room for %s of the requests of the last hour", a.Target, percent(a.Now))
	case AlertJump:
		return fmt.Sprintf("%s had no room for %s of the requests of the last day, %s in the week before: "+
			"look at the order of the models, the quota, and what sends more than usual",
			a.Target, percent(a.Now), percent(a.Before))
	case AlertHours:
		return fmt.Sprintf("%s has no room for %s of the requests at %s, %s at other times: plan heavy work around it",
			a.Target, percent(a.Now), hourNames(a.Hours), percent(a.Before))
	case AlertRetryCost:
		return fmt.Sprintf("retries and fallbacks are %s of the cost of the last day, %s in the week before",
			percent(a.Now), percent(a.Before))
	}
	return string(a.Kind)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", share*100) }

// hourNames writes hours as ranges, such as 14–17 h.
func hourNames(hours []int) string {
	var names []string
	for i := 0; i < len(hours); {
		j := i
		for j+1 < len(hours) && hours[j+1] == hours[j]+1 {
			j++
		}
		names = append(names, fmt.Sprintf("%d–%d h", hours[i], hours[j]+1))
		i = j + 1
	}
	return strings.Join(names, ", ")
}

// Limits are the thresholds of alerts. Zero fields take the defaults.
type Limits struct {
	Share       float64 // of the last hour's attempts that found no capacity; 0: 0.2
	RetryCost   float64 // share of retries and fallbacks in the last day's cost; 0: 0.25
	MinCost     float64 // US dollars in the last day without which shares of the cost say nothing; 0: 0.50
	MinAttempts int     // attempts without which there is no alert; 0: 20
}

// What counts as an anomaly.
const (
	jumpFactor     = 5   // a jump is to at least five times the share of the week before
	minJump        = 0.1 // and to at least ten points more
	busyHourFactor = 3   // at busy hours attempts fail three times as often as at others
	retryCostRise  = 2   // the share of retries is twice that of the week before
)

// Alerts finds the anomalies that the user should know of. The list should cover at
// least the last eight days.
func Alerts(list []Attempt, now time.Time, loc *time.Location, limits Limits) []Alert {
	if limits.Share <= 0 {
		limits.Share = 0.2
	}
	if limits.RetryCost <= 0 {
		limits.RetryCost = 0.25
	}
	if limits.MinCost <= 0 {
		limits.MinCost = 0.50
	}
	if limits.MinAttempts <= 0 {
		limits.MinAttempts = 20
	}
	hour, day, week := now.Add(-time.Hour), now.AddDate(0, 0, -1), now.AddDate(0, 0, -8)
	type counts struct{ hour, day, week Hour }
	targets := map[models.Target]*counts{}
	var order []models.Target
	for i := range list {
		attempt := &list[i]
		if !attempt.Counts() || attempt.CreatedAt.Before(week) {
			continue
		}
		count := targets[attempt.Target()]
		if count == nil {
			count = &counts{}
			targets[attempt.Target()] = count
			order = append(order, attempt.Target())
		}
		full := 0
		if attempt.Kind == models.KindCapacity {
			full = 1
		}
		add := func(h *Hour) {
			h.Attempts++
			h.Capacity += full
		}
		if attempt.CreatedAt.Before(day) {
			add(&count.week)
			continue
		}
		add(&count.day)
		if !attempt.CreatedAt.Before(hour) {
			add(&count.hour)
		}
	}
	var found []Alert
	for _, target := range order {
		count := targets[target]
		if count.hour.Attempts >= limits.MinAttempts && count.hour.Share() >= limits.Share {
			found = append(found, Alert{Kind: AlertShare, Target: target, Now: count.hour.Share()})
		}
		now, before := count.day.Share(), count.week.Share()
		if count.day.Attempts >= limits.MinAttempts && count.week.Attempts >= limits.MinAttempts &&
			now >= jumpFactor*before && now-before >= minJump {
			found = append(found, Alert{Kind: AlertJump, Target: target, Now: now, Before: before})
		}
	}
	found = append(found, busyHours(list, now, loc, limits.MinAttempts)...)
	return append(found, retryCostShare(list, week, day, limits)...)
}

// busyHours finds targets that often have no capacity at certain hours of the day.
func busyHours(list []Attempt, now time.Time, loc *time.Location, minAttempts int) []Alert {
	var found []Alert
	for _, week := range Weeks(list, loc, now)[1:] {
		if !week.Enough {
			continue
		}
		clock := week.Clock()
		var all, busy Hour
		var hours []int
		for _, h := range clock {
			all.Attempts += h.Attempts
			all.Capacity += h.Capacity
		}
		for n, h := range clock {
			rest := Hour{all.Attempts - h.Attempts, all.Capacity - h.Capacity}
			if h.Attempts >= minAttempts && h.Share() >= minJump && h.Share() >= busyHourFactor*rest.Share() {
				hours = append(hours, n)
				busy.Attempts += h.Attempts
				busy.Capacity += h.Capacity
			}
		}
		if len(hours) > 0 {
			rest := Hour{all.Attempts - busy.Attempts, all.Capacity - busy.Capacity}
			found = append(found, Alert{
				Kind: AlertHours, Target: week.Target, Now: busy.Share(), Before: rest.Share(), Hours: hours,
			})
		}
	}
	return found
}

// retryCostShare compares the share of retries and fallbacks in the cost of the last
// day with that of the week before.
func retryCostShare(list []Attempt, week, day time.Time, limits Limits) []Alert {
	at := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(list, t, func(a Attempt, t time.Time) int { return a.CreatedAt.Compare(t) })
		return i
	}
	from, middle := at(week), at(day)
	if len(list)-middle < limits.MinAttempts {
		return nil
	}
	costs := CostOfSuccess(list[middle:])
	if costs.Total().Cost < limits.MinCost {
		return nil
	}
	now, before := costs.Extra(), CostOfSuccess(list[from:middle]).Extra()
	if now < limits.RetryCost || now < retryCostRise*before {
		return nil
	}
	return []Alert{{Kind: AlertRetryCost, Now: now, Before: before}}
}
