package capacity

import (
	"sync"
	"sync/atomic"
	"time"
)

// suspendGap is how far wall time may run ahead of the monotonic clock between two
// looks before the computer is taken to have been suspended.
const suspendGap = 5 * time.Second

// instant is one moment on both clocks.
type instant struct {
	wall time.Time     // survives this program, but can be set
	mono time.Duration // always goes on, but stands still in a suspended computer
}

// clock reads both clocks and notices when the computer was suspended.
type clock struct {
	now     func() time.Time
	elapsed func() time.Duration

	startOnce sync.Once
	start     time.Time

	mu         sync.Mutex
	last       instant
	observed   bool
	awakeSince time.Duration // since when it has been awake without a break

	wokeAt atomic.Int64 // the same in wall time, nanoseconds; 0: it never slept
}

// read looks at the clocks and remembers nothing.
func (c *clock) read() instant {
	now := c.now()
	c.startOnce.Do(func() { c.start = now })
	i := instant{wall: now.Round(0).UTC()}
	if c.elapsed != nil {
		i.mono = c.elapsed()
	} else {
		i.mono = now.Sub(c.start)
	}
	return i
}

// observe reads the clocks and compares them with the last look.
func (c *clock) observe() instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.read()
	if c.observed && i.wall.Sub(c.last.wall)-(i.mono-c.last.mono) > suspendGap {
		c.awakeSince = i.mono
		c.wokeAt.Store(i.wall.UnixNano())
	}
	c.last, c.observed = i, true
	return i
}

// slept reports whether the computer was suspended in the last d of its
// waking time.
func (c *clock) slept(now instant, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wokeAt.Load() != 0 && d > 0 && now.mono-d < c.awakeSince
}

// deadline is a time that is waited for: it has come when either clock says so.
// Wall time alone would wait for hours after being set back; monotonic time
// alone would go on waiting after a night in which the computer slept.
type deadline struct {
	until time.Time
	due   time.Duration
}

// movedTo is the deadline for a span that was saved as wall time. An unchanged
// one keeps its place on the monotonic clock.
func (d deadline) movedTo(now instant, set, until time.Time) deadline {
	if until.Equal(d.until) {
		return d
	}
	left := min(until.Sub(now.wall), until.Sub(set))
	return deadline{until: until, due: now.mono + max(left, 0)}
}

// remaining is how long there is to wait.
func (d deadline) remaining(now instant) time.Duration {
	if d.until.IsZero() {
		return 0
	}
	return max(0, min(d.until.Sub(now.wall), d.due-now.mono))
}

// at is the deadline in wall time as it is now, zero when it has come.
func (d deadline) at(now instant) time.Time {
	left := d.remaining(now)
	switch left {
	case 0:
		return time.Time{}
	case d.until.Sub(now.wall):
		return d.until
	}
	return now.wall.Add(left)
}
