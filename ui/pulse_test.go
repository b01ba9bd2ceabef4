package ui

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTheTerminalIsLookedAfterAsOftenAsThereAreFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pulse{ticker: time.NewTicker(time.Second / 60)}
		looks := make(chan time.Time, 1000)
		done, began := make(chan bool), time.Now()
		go func() {
			for {
				select {
				case <-p.ticker.C:
					looks <- time.Now()
				case <-done:
					return
				}
			}
		}()
		count := func(d time.Duration) (first time.Duration, n int) {
			time.Sleep(d)
			synctest.Wait()
			for n = len(looks); len(looks) > 0; {
				if at := <-looks; first == 0 {
					first = at.Sub(began)
				}
			}
			return first, n
		}

		p.urgent = true
		p.drawn()
		if first, _ := count(time.Second); first != soonPace {
			t.Errorf("what a person did is drawn after %v, want %v", first, soonPace)
		}
		if _, n := count(time.Minute); n > 61 {
			t.Errorf("at rest the terminal is looked after %d times a minute", n)
		}
		n := 0
		for range 300 {
			p.drawn()
			_, k := count(frameTime)
			n += k
		}
		if n != 300 {
			t.Errorf("300 frames of a reply: %d looks", n)
		}
		p.urgent = true
		p.drawn()
		began = time.Now()
		p.drawn() // a frame of the reply does not put off the key's
		if first, _ := count(time.Second); first != soonPace {
			t.Errorf("a key is drawn after %v, want %v", first, soonPace)
		}
		p.stop()
		if _, n := count(time.Minute); n > 0 {
			t.Errorf("%d looks after the end", n)
		}
		close(done)
	})
}

func TestThisBubbleTeaHasTheTicker(t *testing.T) {
	s := startScreen(t, 80, 24, newFakeEngine().options())
	s.wait("›")
	if tickerOf(s.p) == nil {
		t.Error("it looks sixty times a second, and no other way is known")
	}
}

func TestACountdownMovesAsOftenAsItCanBeRead(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{
		time.Hour: time.Second, 12 * time.Second: time.Second, 9 * time.Second: time.Second / 2,
		2 * time.Second: time.Second / 5, time.Millisecond: time.Second / 5,
	} {
		if got := waitPace(left); got != want {
			t.Errorf("with %v left it moves every %v, want %v", left, got, want)
		}
	}
}
