package capacity

import (
	"cmp"
	"slices"
	"time"

	"belay/models"
)

const (
	maxFirstTokens = 31  // times to the first token that are kept
	unhealthyBelow = 0.5 // below it a target is tried last in its tier
	recoverAbove   = 0.7 // above it, it is back

	// priorSuccesses is the number of successes every target is credited with. Without
	// it one failure would be a share of 0, and a target that is not asked any
	// more would keep a bad share for ever instead of being forgiven in time.
	priorSuccesses = 2
)

// successShare is the share of successes, recent ones counting more.
func (c *circuit) successShare(now time.Time) float64 {
	fade := decay(now, c.ObservedAt)
	return (c.Successes*fade + priorSuccesses) / (c.Attempts*fade + priorSuccesses)
}

// health is the share of successes, lowered for a target that is slower to
// begin than the others of its tier.
func (c *circuit) health(now time.Time, own, tier time.Duration) float64 {
	h := c.successShare(now)
	if own > 0 && tier > 0 {
		h *= min(1, float64(tier)/float64(own))
	}
	return h
}

// isUnhealthy tells whether a target is tried last, given that it was or was not.
func isUnhealthy(was bool, health float64) bool {
	if was {
		return health <= recoverAbove
	}
	return health < unhealthyBelow
}

func median(ms []int64) time.Duration {
	if len(ms) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(ms))
	return time.Duration(s[(len(s)-1)/2]+s[len(s)/2]) * time.Millisecond / 2
}

// medianFirstToken is the median of what the targets of a tier take to their first token.
func (b *Breakers) medianFirstToken(tier []models.Target) time.Duration {
	var buffer [8]int64
	list := buffer[:0]
	for _, t := range tier {
		if first := b.entry(id{t}).firstToken; first > 0 {
			list = append(list, first.Milliseconds())
		}
	}
	return median(list)
}

// tierOf is the first tier that a target is in, or nil.
func (b *Breakers) tierOf(t models.Target) []models.Target {
	for _, tier := range models.Tiers() {
		if targets := (*b.tiers.Load())[tier]; slices.Contains(targets, t) {
			return targets
		}
	}
	return nil
}

// The order in which the targets of a tier are asked.
const (
	classReady = iota
	classUnhealthy
	classResting
	classUnusable
	classDisabled
)

// Order returns a tier's targets, the one to ask first in front: those that
// can be asked, in the order of the settings; the unhealthy ones; those that
// rest, the first to be rested in front; the unusable; and those that the user
// set aside. It does not change its argument.
func (b *Breakers) Order(tier []models.Target) []models.Target {
	type place struct {
		models.Target
		class int
		until time.Time
	}
	now := b.clock.read()
	var buffer [8]place
	places := buffer[:0]
	pace := b.medianFirstToken(tier)
	for _, t := range tier {
		known := b.entry(id{t})
		condition := b.condition(t, known, now)
		position := place{Target: t}
		switch condition.State {
		case models.Disabled:
			position.class = classDisabled
		case models.Unusable:
			position.class, position.until = classUnusable, condition.Until
		case models.Resting:
			position.class, position.until = classResting, condition.Until
		default:
			if isUnhealthy(known.Target.Unhealthy, known.Target.health(now.wall, known.firstToken, pace)) {
				position.class = classUnhealthy
			}
		}
		places = append(places, position)
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.class, b.class), a.until.Compare(b.until))
	})
	list := make([]models.Target, len(places))
	for i, position := range places {
		list[i] = position.Target
	}
	return list
}

// Status is everything that is known of a target, for a person to see.
type Status struct {
	models.Condition
	Tried      bool          // this or another belay has asked it before
	Streak     int           // capacity failures in a row
	Since      time.Time     // the first of them
	Outage     time.Time     // since when it is taken to be down; zero: it is not
	FailbackAt time.Time     // until when requests that left it do not come back; zero: they may
	Share      float64       // of successes, 0 to 1
	Health     float64       // 0 to 1
	Unhealthy  bool          // tried last in its tier
	FirstToken time.Duration // median time to the first token; 0: unknown
}

// Status describes a target.
func (b *Breakers) Status(t models.Target) Status {
	now := b.clock.read()
	e := b.entry(id{t})
	state := &e.Target
	status := Status{
		Condition:  b.condition(t, e, now),
		Tried:      !state.ObservedAt.IsZero(),
		Streak:     state.Streak,
		Since:      state.Since,
		Outage:     state.Outage,
		FailbackAt: e.failback.at(now),
		Share:      state.successShare(now.wall),
		Health:     state.health(now.wall, e.firstToken, b.medianFirstToken(b.tierOf(t))),
		FirstToken: e.firstToken,
	}
	status.Unhealthy = isUnhealthy(state.Unhealthy, status.Health)
	// Nobody looked while the computer slept.
	if woke := b.clock.wokeAt.Load(); woke != 0 && !state.Outage.IsZero() && state.Outage.UnixNano() < woke {
		status.Outage = time.Time{}
	}
	return status
}
