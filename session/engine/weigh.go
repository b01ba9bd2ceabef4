package engine

import (
	"cmp"
	"context"
	"fmt"

	"belay/context/systemprompt"
	"belay/context/window"
	"belay/models"
	"belay/session"
)

// ContextUsage says what the next request of an open session would be made of. It
// asks nobody: all sizes are belay's own counts, scaled to how the target has
// counted so far.
func (e *Engine) ContextUsage(ctx context.Context, id session.ID) (session.ContextUsage, error) {
	a := e.openSession(id)
	if a == nil {
		return session.ContextUsage{}, fmt.Errorf("weigh session %s: %w", id, ErrNotOpen)
	}
	if err := ctx.Err(); err != nil {
		return session.ContextUsage{}, context.Cause(ctx)
	}
	brief := a.brief() // reads files: not under the lock
	a.mu.Lock()
	head, talk, first := a.head, fitted(&a.talk), a.talk.Head()
	through := a.talk.SummarizedTurn()
	steps := a.talk.LastToolCalls()
	a.mu.Unlock() // counting may take a while; what was copied does not change
	m := e.o.Model(e.preferred(head))
	o := order{id: id, brief: brief, set: a.tools, talk: talk, effort: head.Effort}
	// What does not fit is weighed here nevertheless.
	req, account, _ := e.request(m, o)
	req.Items = append(talk.Head, window.Repair(talk.Items, m.Target)...)
	if e.o.FailureThreshold != nil {
		failing := e.o.FailureThreshold(ctx)
		e.failing.Store(&failing)
	}
	w := e.contextUsage(m, o, req, account, first)
	w.ToolCalls, w.SummaryThrough = steps, through
	return w, nil
}

// contextUsage says what a request is made of. The first items are the head.
func (e *Engine) contextUsage(m models.Model, o order, req models.Request, account window.Account, head []session.HeadItem) session.ContextUsage {
	budget := e.o.Window(m.Target).For(m)
	counter, factor := e.counter(m.Target), e.o.Calibration.Factor(m.Target)
	w := session.ContextUsage{Target: m.Target, Budget: budget, Trigger: int64(e.o.Trigger * float64(budget)),
		Accuracy: session.CountAccuracy{Exact: counter.Exact(), Measured: e.o.Calibration.Measured(m.Target), Factor: factor},
		Output:   req.MaxOutput, Effort: req.Effort, Tools: len(o.set.Specs()), LeftOut: account.LeftOut, Masked: account.Truncated + account.Pruned}
	if f := e.failing.Load(); f != nil {
		w.Failures = *f
	}
	if counter.Loaded() {
		w.Accuracy.Encoding = cmp.Or(m.Encoding, models.O200k)
	}
	if w.Output == 0 {
		w.Output = m.MaxOutput
	}
	sums := map[session.Source]int64{session.SourceTools: account.Tools}
	sums[session.SourceSystemPrompt], sums[session.SourceAgentsFile] = split(o.brief, account.Briefing)
	reads := map[string]bool{}
	for i, it := range req.Items {
		origin, n := session.SourceOf(it), int64(counter.Item(it))
		switch {
		case i < len(head):
			origin = head[i].Source
		case it.Kind == models.Call && it.Name == "read":
			reads[it.CallID] = true
		case it.Kind == models.Output && reads[it.CallID]:
			origin = session.SourceFiles
		case len(it.Attachments) > 0:
			it.Attachments = nil
			words := int64(counter.Item(it))
			sums[session.SourceAttachments] += n - words
			n = words
		}
		sums[origin] += n
	}
	for _, origin := range session.Sources() {
		if n := int64(float64(sums[origin]) * factor); n > 0 {
			w.Parts = append(w.Parts, session.Part{Source: origin, Tokens: n})
			w.Counted += n
		}
	}
	return w
}

// split shares the tokens of a briefing between belay's words and those of the
// AGENTS.md files in it, by their bytes.
func split(b systemprompt.Prompt, tokens int64) (own, agents int64) {
	files := 0
	for _, s := range b.Sources {
		files += s.Bytes
	}
	if whole := len(b.Instructions); whole > 0 {
		agents = tokens * int64(min(files, whole)) / int64(whole)
	}
	return tokens - agents, agents
}
