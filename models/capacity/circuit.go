package capacity

import (
	"math"
	"slices"
	"time"

	"belay/models"
)

// circuit is what is saved of one target. All times are wall times.
type circuit struct {
	Streak int           `json:"streak,omitempty"` // capacity failures in a row
	Since  time.Time     `json:"since,omitzero"`   // the first of them
	Last   time.Time     `json:"last,omitzero"`    // the last of them
	Fault  *models.Fault `json:"fault,omitempty"`  // the last failure of any kind

	Open          bool      `json:"open,omitempty"`
	Trips         int       `json:"rests,omitempty"` // how many times in a row it opened
	CooldownSet   time.Time `json:"set,omitzero"`    // when the rest began
	CooldownUntil time.Time `json:"until,omitzero"`  // and when it ends
	Lease         lease     `json:"lease,omitzero"`

	Disabled bool      `json:"aside,omitempty"`
	Outage   time.Time `json:"outage,omitzero"`
	OutOfUse outage    `json:"out,omitzero"`

	Successes   float64   `json:"good,omitempty"` // successes, each worth half after an hour
	Attempts    float64   `json:"all,omitempty"`  // the same for all attempts that tell something
	ObservedAt  time.Time `json:"weighed,omitzero"`
	FirstTokens []int64   `json:"first,omitempty"` // the last times to the first token, in ms
	Unhealthy   bool      `json:"low,omitempty"`   // tried last in its tier

	Window    int64     `json:"window,omitempty"` // tokens that fit, as the server stated when it refused a request
	WindowSet time.Time `json:"window_set,omitzero"`

	FailbackStep  int       `json:"hold_step,omitempty"`
	FailbackSet   time.Time `json:"hold_set,omitzero"`
	FailbackUntil time.Time `json:"hold_until,omitzero"`
}

// lease lets one request try a rested target.
type lease struct {
	Owner string    `json:"owner,omitempty"`
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// isLive reports whether a lease still counts. One from the future was made
// before the clock was set back.
func (l lease) isLive(now time.Time) bool {
	return now.Before(l.Until) && !l.From.After(now.Add(leaseTime))
}

// outage says until when an allowance is used up.
type outage struct {
	Set   time.Time     `json:"set,omitzero"`
	Until time.Time     `json:"until,omitzero"`
	Fault *models.Fault `json:"fault,omitempty"`
}

func (k *saved) unusable() outage {
	if !k.Provider.OutOfUse.Until.IsZero() {
		return k.Provider.OutOfUse
	}
	return k.Target.OutOfUse
}

// recordCapacity records a capacity failure. Probe says that it is the answer to the one
// request that a rested target was tried with.
func (c *circuit) recordCapacity(now time.Time, fault *models.Fault, probe bool) {
	if last := latest(c.Last, c.CooldownUntil); !last.IsZero() && now.Sub(last) > halfLife {
		c.Streak, c.Trips, c.Open = 0, 0, false
	}
	if c.Streak == 0 {
		c.Since = now
	}
	c.Streak++
	c.Last, c.Fault = now, fault
	stated := statedDelay(now, fault)
	switch {
	case c.Open && now.Before(c.CooldownUntil) && !probe:
		// It was sent before the circuit opened, so it is no news; a longer
		// word of the server is.
		if end := now.Add(stated); end.After(c.CooldownUntil) {
			c.CooldownSet, c.CooldownUntil = now, end
		}
	case c.Open || c.Streak >= openAfter:
		rest := maxCooldown
		if c.Trips < 5 {
			rest = min(minCooldown<<c.Trips, maxCooldown)
		}
		if stated > 0 {
			rest = stated
		}
		c.Open, c.Trips = true, c.Trips+1
		c.CooldownSet, c.CooldownUntil = now, now.Add(rest)
	case stated > 0:
		c.CooldownSet, c.CooldownUntil = now, now.Add(stated)
	}
}

// cooldown lets a target rest without opening its circuit.
func (c *circuit) cooldown(now time.Time, d time.Duration) {
	if end := now.Add(d); d > 0 && end.After(c.CooldownUntil) {
		c.CooldownSet, c.CooldownUntil = now, end
	}
}

// closeCircuit records a reply that came to its end.
func (c *circuit) closeCircuit() {
	c.Streak, c.Trips, c.Open = 0, 0, false
	c.Since = time.Time{}
	c.Last = time.Time{}
	c.CooldownSet = time.Time{}
	c.CooldownUntil = time.Time{}
	c.Outage = time.Time{}
	c.Fault, c.Lease, c.OutOfUse = nil, lease{}, outage{}
}

// observedState is what the last attempt says, as long as it is news.
func (c *circuit) observedState(now time.Time) models.State {
	switch {
	case c.ObservedAt.IsZero(), now.Sub(c.ObservedAt) > halfLife:
		return models.Unknown
	case c.Fault != nil:
		return models.Failing
	}
	return models.Ready
}

// observe adds one attempt to the health.
func (c *circuit) observe(now time.Time, good bool) {
	fade := decay(now, c.ObservedAt)
	c.Successes, c.Attempts, c.ObservedAt = c.Successes*fade, c.Attempts*fade+1, now
	if good {
		c.Successes++
	}
}

// addFirstToken adds a time to the first token.
func (c *circuit) addFirstToken(d time.Duration) {
	if ms := d.Milliseconds(); d > 0 {
		keep := c.FirstTokens[max(0, len(c.FirstTokens)-maxFirstTokens+1):]
		c.FirstTokens = append(slices.Clone(keep), ms)
	}
}

// statedWindow is how many tokens fit, by the server's own word; 0 when it has said
// nothing lately: a server may have been started anew with a larger window.
func (c *circuit) statedWindow(now time.Time) int64 {
	if age := now.Sub(c.WindowSet); age < 0 || age > maxStated {
		return 0
	}
	return c.Window
}

// startFailbackDelay keeps requests away from the target for a while, and for
// longer when the last time is over only shortly: a relapse. Leaving again
// meanwhile adds nothing; it is the same trouble.
func (c *circuit) startFailbackDelay(now time.Time, first time.Duration) bool {
	if now.Before(c.FailbackUntil) && !c.FailbackSet.After(now) {
		return false
	}
	steps := []time.Duration{first, 2 * first, 4 * first, 6 * first}
	if over := now.Sub(c.FailbackUntil); !c.FailbackUntil.IsZero() && over >= 0 && over <= steps[len(steps)-1] {
		c.FailbackStep = min(c.FailbackStep+1, len(steps)-1) // the longest stays the longest
	} else {
		c.FailbackStep = 0
	}
	c.FailbackSet, c.FailbackUntil = now, now.Add(steps[c.FailbackStep])
	return true
}

// statedDelay is how long the server itself asks to wait; 0 when it does not say.
func statedDelay(now time.Time, f *models.Fault) time.Duration {
	d := f.RetryAfter
	if !f.Delayed || d <= 0 {
		d = 0
	}
	if d == 0 && !f.ResetAt.IsZero() {
		d = max(f.ResetAt.Sub(now), 0)
	}
	return min(d, maxStated)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// decay is what an observation is still worth.
func decay(now, then time.Time) float64 {
	age := max(now.Sub(then), 0)
	return math.Exp2(-age.Hours() / halfLife.Hours())
}

// boundedCopy is a copy of a fault that can be saved: what a person needs to see,
// short, and nothing of the reply itself.
func boundedCopy(f *models.Fault) *models.Fault {
	c := *f
	c.Raw, c.Err, c.Nearest = "", nil, nil
	for _, s := range []*string{&c.Code, &c.Type, &c.Param, &c.RequestID, &c.ServedModel} {
		*s = truncate(*s, 120)
	}
	c.Message, c.Hint = truncate(c.Message, 500), truncate(c.Hint, 300)
	return &c
}

func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	runes := 0
	for i := range s {
		if i > limit {
			break
		}
		runes = i
	}
	return s[:runes] + "…"
}
