package batch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// The numbers of the pace, as those of the requests in models/capacity.
const (
	firstLimit = 2
	growAfter  = 20 // tasks' requests in a row that found room
	minGap     = 500 * time.Millisecond
	maxGap     = 2 * time.Second
)

// Pace decides how many tasks work at once and when the next may begin: two to begin
// with, one more after a clean while, half as many when a model is full; and a
// random gap between two beginnings. An interactive task does not wait for it.
type Pace struct {
	most   int
	now    func() time.Time
	random func() float64
	sleep  func(ctx context.Context, until time.Time) error

	mu      sync.Mutex
	limit   int
	clean   int
	working int
	next    time.Time // before it nothing begins
	waiting []*waiter // the most urgent first
	seq     int
}

type waiter struct {
	lane  Lane
	seq   int
	ready chan struct{}
}

// NewPace returns a pace of at most so many tasks at once.
func NewPace(
	most int, now func() time.Time, random func() float64, sleep func(context.Context, time.Time) error,
) *Pace {
	return &Pace{most: max(1, most), now: now, random: random, sleep: sleep, limit: min(firstLimit, max(1, most))}
}

// Enter waits until a task of a lane may work. Leave must be called when it does no
// longer.
func (p *Pace) Enter(ctx context.Context, lane Lane) error {
	p.mu.Lock()
	if lane == Interactive || p.working < p.limit && len(p.waiting) == 0 {
		p.working++
	} else if err := p.queueLocked(ctx, lane); err != nil {
		return err
	} else {
		p.mu.Lock()
	}
	if lane == Interactive {
		p.mu.Unlock()
		return nil
	}
	begin := p.next
	if now := p.now(); begin.Before(now) {
		begin = now
	}
	p.next = begin.Add(minGap + time.Duration(p.random()*float64(maxGap-minGap)))
	p.mu.Unlock()
	if err := p.sleep(ctx, begin); err != nil {
		p.Leave()
		return err
	}
	return nil
}

// queueLocked waits for a place, without the lock. With an error there is none.
func (p *Pace) queueLocked(ctx context.Context, lane Lane) error {
	p.seq++
	w := &waiter{lane, p.seq, make(chan struct{})}
	at, _ := slices.BinarySearchFunc(p.waiting, w, func(a, b *waiter) int {
		if d := slices.Index(Lanes(), a.lane) - slices.Index(Lanes(), b.lane); d != 0 {
			return d
		}
		return a.seq - b.seq
	})
	p.waiting = slices.Insert(p.waiting, at, w)
	p.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else { // the place came at the same moment
		p.leaveLocked()
	}
	return context.Cause(ctx)
}

// Leave gives the place of a task back.
func (p *Pace) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaveLocked()
}

func (p *Pace) leaveLocked() {
	p.working--
	p.admitLocked()
}

func (p *Pace) admitLocked() {
	for p.working < p.limit && len(p.waiting) > 0 {
		w := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.working++
		close(w.ready)
	}
}

// Clean notes a request that found room.
func (p *Pace) Clean() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clean++; p.clean >= growAfter {
		p.limit, p.clean = min(p.limit+1, p.most), 0
		p.admitLocked()
	}
}

// Full notes a request that found none.
func (p *Pace) Full() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit, p.clean = max(1, p.limit/2), 0
}

// Limit is how many tasks may work at once now, and how many do.
func (p *Pace) Limit() (limit, working int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit, p.working
}
