package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	writerPatience = time.Minute // how long a writer waits for its turn

	hurryPatience = time.Second           // and once somebody wants to leave
	hurryRest     = 20 * time.Millisecond // when that is over
	hurryTime     = 10 * time.Second      // for so long
)

// patience bounds how long writers wait.
type patience struct {
	limit time.Duration

	mu      sync.Mutex
	hurried time.Time // since when; zero: nobody is in a hurry
	waiting map[*time.Timer]bool
}

var errPatience = errors.New("waited long enough")

// limited runs what waits, with a context that ends with the patience.
func (p *patience) limited(ctx context.Context, wait func(context.Context) error) (outlasted bool, err error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := p.start(func() { cancel(errPatience) })
	defer p.stop(timer)
	err = wait(limited)
	return err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), errPatience), err
}

func (p *patience) start(end func()) *time.Timer {
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := p.limit
	if hurried := time.Since(p.hurried); !p.hurried.IsZero() && hurried < hurryTime {
		limit = min(limit, max(hurryPatience-hurried, hurryRest))
	}
	timer := time.AfterFunc(limit, end)
	if p.waiting == nil {
		p.waiting = map[*time.Timer]bool{}
	}
	p.waiting[timer] = true
	return timer
}

func (p *patience) stop(timer *time.Timer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	timer.Stop()
	delete(p.waiting, timer)
}

// hurry shortens the waits there are, and those that begin soon.
func (p *patience) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.hurried) < hurryTime {
		return // already
	}
	p.hurried = time.Now()
	for timer := range p.waiting {
		if timer.Stop() { // not over yet
			timer.Reset(min(hurryPatience, p.limit))
		}
	}
}

// Hurry makes writers give up within a second, for a little while: somebody wants to
// stop what runs, or to leave. What is not written then is as after a crash.
func (s *Store) Hurry() { s.lock.patience.hurry() }
