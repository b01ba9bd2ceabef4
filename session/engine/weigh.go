package engine

import (
	"cmp"
	"context"
	"fmt"

	"belay/context/briefing"
	"belay/context/window"
	"belay/models"
	"belay/session"
)

// Weigh says what the next request of an open session would be made of. It
// asks nobody: all sizes are belay's own counts, scaled to how the target has
// counted so far.
func (e *Engine) Weigh(ctx context.Context, id session.ID) (session.Weight, error) {
	a := e.active(id)
	if a == nil {
		return session.Weight{}, fmt.Errorf("weigh session %s: %w", id, ErrNotOpen)
	}
	if err := ctx.Err(); err != nil {
		return session.Weight{}, context.Cause(ctx)
	}
	brief := a.brief() // reads files: not under the lock
	a.mu.Lock()
	head, talk, first := a.head, fitted(&a.talk), a.talk.Head()
	through := a.talk.Through()
	steps := a.talk.Steps()
	a.mu.Unlock() // counting may take a while; what was copied does not change
	m := e.o.Model(e.preferred(head))
	o := order{id: id, brief: brief, set: a.tools, talk: talk, effort: head.Effort}
	// What does not fit is weighed here nevertheless.
	req, account, _ := e.request(m, o)
	req.Items = append(talk.Head, window.Mend(talk.Items, m.Target)...)
	if e.o.Failing != nil {
		failing := e.o.Failing(ctx)
		e.failing.Store(&failing)
	}
	w := e.weight(m, o, req, account, first)
	w.Steps, w.Through = steps, through
	return w, nil
}

// weight says what a request is made of. The first items are the head.
func (e *Engine) weight(m models.Model, o order, req models.Request, account window.Account, head []session.Headed) session.Weight {
	budget := e.o.Window(m.Target).For(m)
	counter, factor := e.counter(m.Target), e.o.Scales.Factor(m.Target)
	w := session.Weight{Target: m.Target, Budget: budget, Trigger: int64(e.o.Trigger * float64(budget)),
		Counts: session.Counts{Own: counter.Exact(), Measured: e.o.Scales.Measured(m.Target), Factor: factor},
		Output: req.MaxOutput, Effort: req.Effort, Tools: len(o.set.Specs()), LeftOut: account.LeftOut, Masked: account.Masked + account.Trimmed}
	if f := e.failing.Load(); f != nil {
		w.Failing = *f
	}
	if counter.Loaded() {
		w.Counts.Encoding = cmp.Or(m.Encoding, models.O200k)
	}
	if w.Output == 0 {
		w.Output = m.MaxOutput
	}
	sums := map[session.Origin]int64{session.OfTools: account.Tools}
	sums[session.OfBriefing], sums[session.OfAgents] = split(o.brief, account.Briefing)
	reads := map[string]bool{}
	for i, it := range req.Items {
		origin, n := session.OriginOf(it), int64(counter.Item(it))
		switch {
		case i < len(head):
			origin = head[i].Origin
		case it.Kind == models.Call && it.Name == "read":
			reads[it.CallID] = true
		case it.Kind == models.Output && reads[it.CallID]:
			origin = session.OfFiles
		case len(it.Attached) > 0:
			it.Attached = nil
			words := int64(counter.Item(it))
			sums[session.OfAttached] += n - words
			n = words
		}
		sums[origin] += n
	}
	for _, origin := range session.Origins() {
		if n := int64(float64(sums[origin]) * factor); n > 0 {
			w.Parts = append(w.Parts, session.Part{Origin: origin, Tokens: n})
			w.Counted += n
		}
	}
	return w
}

// split shares the tokens of a briefing between belay's words and those of the
// AGENTS.md files in it, by their bytes.
func split(b briefing.Briefing, tokens int64) (own, agents int64) {
	files := 0
	for _, s := range b.Sources {
		files += s.Bytes
	}
	if whole := len(b.Instructions); whole > 0 {
		agents = tokens * int64(min(files, whole)) / int64(whole)
	}
	return tokens - agents, agents
}
