package ui

import (
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Between a frame and its way to the terminal. Bubble Tea looks sixty times a second for
// a frame to draw: that alone is one percent of a core, and a key waits for the look.
const (
	soonPace   = 2 * time.Millisecond  // what a person did is drawn at once
	soonTime   = 9 * time.Millisecond  // some looks: one comes to nothing while a frame is on its way
	steadyPace = 25 * time.Millisecond // what happens by itself: one look in each frameTime
	steadyTime = 60 * time.Millisecond // one more look, at a frame that was made late
	restPace   = time.Second           // nothing happens
)

// pulse sets when Bubble Tea looks for a frame to draw, by its own ticker, for which it
// has no option but a constant pace. Without that ticker the pace stays the constant one.
type pulse struct {
	program *tea.Program
	urgent  bool // the next frame shows what a person did

	mu     sync.Mutex // for calm, which runs beside the program
	ticker *time.Ticker
	calmer *time.Timer
	pace   time.Duration
}

// drawn says that there is a new frame. Only the program's own goroutine may.
func (p *pulse) drawn() {
	urgent := p.urgent
	p.urgent = false
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ticker == nil && p.program != nil {
		p.ticker = tickerOf(p.program)
	}
	switch {
	case p.ticker == nil:
	case urgent:
		p.set(soonPace, soonTime)
	case p.pace != soonPace: // else the look that comes soon is followed by others
		p.set(steadyPace, steadyTime)
	}
}

// set begins a pace, which lasts for a time. The lock is held.
func (p *pulse) set(pace, lasts time.Duration) {
	p.pace = pace
	p.ticker.Reset(pace)
	if p.calmer == nil {
		p.calmer = time.AfterFunc(lasts, p.calm)
		return
	}
	p.calmer.Reset(lasts)
}

// calm slows down.
func (p *pulse) calm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pace == soonPace {
		p.set(steadyPace, steadyTime)
		return
	}
	p.pace = restPace
	p.ticker.Reset(restPace)
}

// stop leaves nothing behind that runs.
func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calmer != nil {
		p.calmer.Stop()
		p.ticker.Stop()
	}
}

// tickerOf is the ticker of a program that runs; nil: this Bubble Tea has none.
func tickerOf(program *tea.Program) *time.Ticker {
	field := reflect.ValueOf(program).Elem().FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return nil
	}
	return *(**time.Ticker)(field.Addr().UnsafePointer())
}
