package engine

import (
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
	steps := 0
	for _, p := range a.talk.Pieces() {
		if p.Item.Kind == models.Call && p.Turn == head.Turn {
			steps++
		}
	}
	a.mu.Unlock() // counting may take a while; what was copied does not change
	m := e.o.Model(e.preferred(head))
	// What does not fit is weighed here nevertheless.
	req, account, _ := e.request(m, order{id: id, brief: brief, set: a.tools, talk: talk, effort: head.Effort})
	budget := e.o.Window(m.Target).For(m)
	w := session.Weight{Target: m.Target, Budget: budget, Trigger: int64(e.o.Trigger * float64(budget)),
		Output: req.MaxOutput, Effort: req.Effort, Steps: steps, LeftOut: account.LeftOut, Through: through}
	if w.Output == 0 {
		w.Output = m.MaxOutput
	}
	sums := map[session.Origin]int64{session.OfTools: account.Tools}
	sums[session.OfBriefing], sums[session.OfAgents] = split(brief, account.Briefing)
	for _, h := range first {
		sums[h.Origin] += int64(e.o.Counter.Item(h.Item))
	}
	for _, it := range window.Mend(talk.Items, m.Target) {
		sums[session.OriginOf(it)] += int64(e.o.Counter.Item(it))
	}
	for _, origin := range session.Origins() {
		if n := int64(float64(sums[origin]) * e.o.Counter.Factor(m.Target)); n > 0 {
			w.Parts = append(w.Parts, session.Part{Origin: origin, Tokens: n})
			w.Counted += n
		}
	}
	return w, nil
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
