package request

import (
	"testing"

	"belay/models"
)

func TestTheNextShorterRequest(t *testing.T) {
	for _, tt := range []struct {
		name             string
		step             shortenStep
		size             int64 // of the one that was refused
		prunes, smallest int64
		old              bool // there is something to summarise
		want             shortenStep
		ok               bool
	}{
		{"old outputs go first", whole, 100, 60, 20, true, pruned, true},
		{"nothing to prune: a summary", whole, 100, 100, 20, true, summarised, true},
		{"nothing old: as short as it can be", whole, 100, 100, 20, false, smallest, true},
		{"nothing at all", whole, 100, 100, 100, true, whole, false},
		{"after pruning a summary", pruned, 60, 60, 20, true, summarised, true},
		{"pruning is not tried twice", pruned, 60, 50, 20, false, smallest, true},
		{"after the summary as short as it can be", summarised, 40, 40, 20, true, smallest, true},
		{"unless it is that already", summarised, 20, 40, 20, true, summarised, false},
		{"then nothing is left", smallest, 20, 15, 10, true, smallest, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := shortening{step: tt.step, size: tt.size}
			if got, ok := s.next(tt.prunes, tt.smallest, tt.old); got != tt.want || ok != tt.ok {
				t.Errorf("%d, %v, want %d, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestWhatARefusedSizeTeaches(t *testing.T) {
	sol, terra := models.Target{Provider: "p", Model: "sol"}, models.Target{Provider: "p", Model: "terra"}
	s := shortening{size: 1000, target: sol}
	guess := func(when string, want int64) {
		t.Helper()
		if got := s.guess(sol); got != want {
			t.Errorf("%s: %d, want %d", when, got, want)
		}
	}
	guess("nothing was refused", 0)
	s.refuse()
	guess("less than what was refused", 900)
	s.size = 2000
	s.refuse()
	guess("more teaches nothing", 900)
	s.size = 500
	s.refuse()
	guess("less does", 450)
	if got := s.guess(terra); got != 0 {
		t.Errorf("another target is guessed to take %d", got)
	}
	s.step, s.size = smallest, 100
	s.answered(sol)
	guess("a shorter one was answered", 450)
	if s.step != whole {
		t.Errorf("the next request is shortened to step %d", s.step)
	}
	s.size = 600
	s.answered(sol)
	guess("one as long was answered", 0)
}
