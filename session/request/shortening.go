package request

import (
	"context"

	"belay/context/window"
	"belay/models"
)

// shortenStep is how far the requests of a turn have been made shorter, because
// one was refused as too long.
type shortenStep int

const (
	whole      shortenStep = iota
	pruned                 // without old outputs and reasoning
	summarised             // the same, and a summary stands for what is old
	smallest               // the task, what stands for the rest, and what the last calls gave
)

// shortening is what refusals have taught: a size that was refused is too much,
// but nobody has said how much would fit.
type shortening struct {
	step     shortenStep
	compacts bool                    // a summary is to be made before the next request
	size     int64                   // of the last request, in tokens as we count them
	target   models.Target           // that it was made for
	refused  map[models.Target]int64 // the smallest size that each has refused
}

// guessShare is the part of a refused size that later requests are made to fit.
const guessShare = 0.9

// apply says what of a request is left out.
func (s *shortening) apply(t models.Target, c *content) {
	switch s.step {
	case whole:
		c.guess = s.guess(t)
	case pruned, summarised:
		c.underPressure = true
	case smallest:
		c.smallest = true
	}
}

// guess is a size that a target may take, as far as its refusals tell; 0: they
// tell nothing.
func (s *shortening) guess(t models.Target) int64 { return int64(float64(s.refused[t]) * guessShare) }

// answered notes that the last request was not too long.
func (s *shortening) answered(t models.Target) {
	if t == s.target && s.size >= s.refused[t] {
		delete(s.refused, t)
	}
	s.step, s.compacts = whole, false
}

// refuse notes that the last request was too long.
func (s *shortening) refuse() {
	if s.refused == nil {
		s.refused = map[models.Target]int64{}
	}
	if old := s.refused[s.target]; s.size > 0 && (old == 0 || s.size < old) {
		s.refused[s.target] = s.size
	}
}

// next is the step that makes a request shorter than its last size: pruning, if
// that takes anything out; a summary, if there is something old; or as short as
// it can be. It reports false when there is none.
func (s *shortening) next(pruneSize, smallestSize int64, old bool) (shortenStep, bool) {
	switch {
	case s.step < pruned && pruneSize < s.size:
		return pruned, true
	case s.step < summarised && old && smallestSize < s.size:
		return summarised, true
	case s.step < smallest && smallestSize < s.size:
		return smallest, true
	}
	return s.step, false
}

// Shorten makes the requests of the turn that are built from now on shorter, one
// step further, because the last was refused as too long. It reports false when
// they are as short as they can be.
func (b *Builder) Shorten(refused *models.Fault) bool {
	state, conversation := b.log.State(), b.log.Conversation()
	model := b.factory.o.Model(refused.Target)
	size := func(prune, smallest bool) int64 {
		wanted := b.content(state, &conversation)
		wanted.underPressure, wanted.smallest = prune, smallest
		_, account, err := b.factory.fit(model, wanted)
		if err != nil {
			return 0 // more than was stated: the next build says so
		}
		return account.Total()
	}
	pruneSize, smallestSize := size(true, false), size(false, true)
	counter, list := b.factory.counter(refused.Target), pieces(conversation.Pieces())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.short.refuse()
	old := window.Truncate(counter, list, b.short.size/4) > 0
	step, ok := b.short.next(pruneSize, smallestSize, old)
	b.short.step, b.short.compacts = step, ok && step == summarised
	return ok
}

// compactRefused makes the summary that a refusal has asked for. Without one the
// request goes out as short as it can be.
func (b *Builder) compactRefused(ctx context.Context) error {
	b.mu.Lock()
	wanted, size := b.short.compacts, b.short.size
	b.short.compacts = false
	b.mu.Unlock()
	if !wanted {
		return nil
	}
	before := b.size()
	if err := b.summarise(ctx, summaryOrder{userAsked: true, budget: size}); err != nil {
		return err
	}
	if b.size() >= before {
		b.mu.Lock()
		b.short.step = smallest
		b.mu.Unlock()
	}
	return nil
}

// guessed is a budget, or what a target's refusals leave of it.
func (b *Builder) guessed(t models.Target, budget int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if guess := b.short.guess(t); guess > 0 {
		return min(budget, guess)
	}
	return budget
}

// built notes what a request takes, and tells whether one was refused before it.
func (b *Builder) built(t models.Target, size int64) (refused bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.short.size, b.short.target = size, t
	return b.short.step != whole || b.short.refused[t] > 0
}
