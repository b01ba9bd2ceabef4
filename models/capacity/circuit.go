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

	Open  bool      `json:"open,omitempty"`
	Rests int       `json:"rests,omitempty"` // how many times in a row it opened
	Set   time.Time `json:"set,omitzero"`    // when the rest began
	Until time.Time `json:"until,omitzero"`  // and when it ends
	Lease lease     `json:"lease,omitzero"`

	Aside  bool      `json:"aside,omitempty"`
	Outage time.Time `json:"outage,omitzero"`
	Out    out       `json:"out,omitzero"`

	Good    float64   `json:"good,omitempty"` // successes, each worth half after an hour
	All     float64   `json:"all,omitempty"`  // the same for all attempts that tell something
	Weighed time.Time `json:"weighed,omitzero"`
	First   []int64   `json:"first,omitempty"` // the last times to the first token, in ms
	Low     bool      `json:"low,omitempty"`   // tried last in its tier

	HoldStep  int       `json:"hold_step,omitempty"`
	HoldSet   time.Time `json:"hold_set,omitzero"`
	HoldUntil time.Time `json:"hold_until,omitzero"`
}

// lease lets one request try a rested target.
type lease struct {
	Owner string    `json:"owner,omitempty"`
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// live reports whether a lease still counts. One from the future was made
// before the clock was set back.
func (l lease) live(now time.Time) bool {
	return now.Before(l.Until) && !l.From.After(now.Add(leaseTime))
}

// out says until when an allowance is used up.
type out struct {
	Set   time.Time     `json:"set,omitzero"`
	Until time.Time     `json:"until,omitzero"`
	Fault *models.Fault `json:"fault,omitempty"`
}

func (k *kept) out() out {
	if !k.Provider.Out.Until.IsZero() {
		return k.Provider.Out
	}
	return k.Target.Out
}

// full records a capacity failure. Probe says that it is the answer to the one
// request that a rested target was tried with.
func (c *circuit) full(now time.Time, f *models.Fault, probe bool) {
	if last := latest(c.Last, c.Until); !last.IsZero() && now.Sub(last) > forgetting {
		c.Streak, c.Rests, c.Open = 0, 0, false
	}
	if c.Streak == 0 {
		c.Since = now
	}
	c.Streak++
	c.Last, c.Fault = now, f
	stated := stated(now, f)
	switch {
	case c.Open && now.Before(c.Until) && !probe:
		// It was sent before the circuit opened, so it is no news; a longer
		// word of the server is.
		if end := now.Add(stated); end.After(c.Until) {
			c.Set, c.Until = now, end
		}
	case c.Open || c.Streak >= openAfter:
		rest := longRest
		if c.Rests < 5 {
			rest = min(firstRest<<c.Rests, longRest)
		}
		if stated > 0 {
			rest = stated
		}
		c.Open, c.Rests = true, c.Rests+1
		c.Set, c.Until = now, now.Add(rest)
	case stated > 0:
		c.Set, c.Until = now, now.Add(stated)
	}
}

// pause lets a target rest without opening its circuit.
func (c *circuit) pause(now time.Time, d time.Duration) {
	if end := now.Add(d); d > 0 && end.After(c.Until) {
		c.Set, c.Until = now, end
	}
}

// close records a reply that came to its end.
func (c *circuit) close() {
	c.Streak, c.Rests, c.Open = 0, 0, false
	c.Since, c.Last, c.Set, c.Until, c.Outage = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	c.Fault, c.Lease, c.Out = nil, lease{}, out{}
}

// weigh adds one attempt to the health.
func (c *circuit) weigh(now time.Time, good bool) {
	fade := fade(now, c.Weighed)
	c.Good, c.All, c.Weighed = c.Good*fade, c.All*fade+1, now
	if good {
		c.Good++
	}
}

// timed adds a time to the first token.
func (c *circuit) timed(d time.Duration) {
	if ms := d.Milliseconds(); d > 0 {
		keep := c.First[max(0, len(c.First)-samples+1):]
		c.First = append(slices.Clone(keep), ms)
	}
}

// leave begins a hold, or a longer one when the last is over only shortly: a
// relapse. Who leaves during a hold adds nothing; it is the same trouble.
func (c *circuit) leave(now time.Time, first time.Duration) bool {
	if now.Before(c.HoldUntil) && !c.HoldSet.After(now) {
		return false
	}
	steps := []time.Duration{first, 2 * first, 4 * first, 6 * first}
	if over := now.Sub(c.HoldUntil); !c.HoldUntil.IsZero() && over >= 0 && over <= steps[len(steps)-1] {
		c.HoldStep = min(c.HoldStep+1, len(steps)-1) // the longest stays the longest
	} else {
		c.HoldStep = 0
	}
	c.HoldSet, c.HoldUntil = now, now.Add(steps[c.HoldStep])
	return true
}

// stated is how long the server itself asks to wait; 0 when it does not say.
func stated(now time.Time, f *models.Fault) time.Duration {
	d := f.RetryAfter
	if !f.Delayed || d <= 0 {
		d = 0
	}
	if d == 0 && !f.ResetAt.IsZero() {
		d = max(f.ResetAt.Sub(now), 0)
	}
	return min(d, longStated)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fade is what an observation is still worth.
func fade(now, then time.Time) float64 {
	age := max(now.Sub(then), 0)
	return math.Exp2(-age.Hours() / forgetting.Hours())
}

// bounded is a copy of a fault that can be saved: what a person needs to see,
// short, and nothing of the reply itself.
func bounded(f *models.Fault) *models.Fault {
	c := *f
	c.Raw, c.Err, c.Nearest = "", nil, nil
	for _, s := range []*string{&c.Code, &c.Type, &c.Param, &c.RequestID, &c.ServedModel} {
		*s = cut(*s, 120)
	}
	c.Message, c.Hint = cut(c.Message, 500), cut(c.Hint, 300)
	return &c
}

func cut(s string, limit int) string {
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
