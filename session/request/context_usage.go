package request

import (
	"cmp"
	"context"

	"belay/context/systemprompt"
	"belay/context/window"
	"belay/models"
	"belay/session"
)

// measure says what a session's next request would be made of.
func (f *Factory) measure(
	ctx context.Context, c content, s session.Session, conversation *session.Conversation,
) session.ContextUsage {
	m := f.o.Model(f.Preferred(s))
	// What does not fit is measured here nevertheless.
	req, account, _ := f.fit(m, c)
	req.Items = c.conversation.Complete(m.Target)
	if f.o.FailureThreshold != nil {
		failing := f.o.FailureThreshold(ctx)
		f.failing.Store(&failing)
	}
	return f.usage(m, c, req, account, conversation)
}

// usage says what a request is made of.
func (f *Factory) usage(
	model models.Model, made content, req models.Request, account window.Account, conversation *session.Conversation,
) session.ContextUsage {
	budget := f.o.Window(model.Target).For(model)
	counter := f.counter(model.Target)
	factor := f.o.Calibration.Factor(model.Target)
	usage := session.ContextUsage{
		Target:  model.Target,
		Budget:  budget,
		Trigger: int64(f.o.Trigger * float64(budget)),
		Accuracy: session.CountAccuracy{
			Exact: counter.Exact(), Measured: f.o.Calibration.Measured(model.Target), Factor: factor,
		},
		Output:         cmp.Or(req.MaxOutput, model.MaxOutput),
		Effort:         req.Effort,
		Tools:          len(req.Tools),
		ToolCalls:      conversation.LastToolCalls(),
		LeftOut:        account.OmittedItems,
		Masked:         account.PrunedOutputs + account.TruncatedAttachments,
		SummaryThrough: conversation.SummarizedTurn(),
	}
	if failing := f.failing.Load(); failing != nil {
		usage.Failures = *failing
	}
	if counter.Loaded() {
		usage.Accuracy.Encoding = cmp.Or(model.Encoding, models.O200k)
	}
	sums := itemTokens(counter, made.specs, req.Items, conversation.Head())
	sums[session.SourceTools] += account.Tools
	system, agents := split(made.system, account.SystemPrompt)
	sums[session.SourceSystemPrompt] += system
	sums[session.SourceAgentsFile] += agents
	for _, source := range session.Sources() {
		if n := int64(float64(sums[source]) * factor); n > 0 {
			usage.Parts = append(usage.Parts, session.Part{Source: source, Tokens: n})
			usage.Counted += n
		}
	}
	return usage
}

// itemTokens counts items by where they come from. The first ones are the head.
func itemTokens(
	counter Counter, specs []models.ToolSpec, items []models.Item, head []session.HeadItem,
) map[session.Source]int64 {
	traits := traitsByName(specs)
	sums := map[session.Source]int64{}
	reads := map[string]bool{}
	for i, item := range items {
		source := session.SourceOf(item)
		tokens := int64(counter.Item(item))
		switch {
		case i < len(head):
			source = head[i].Source
		case item.Kind == models.Call && traits[item.Name].ReadsFile:
			reads[item.CallID] = true
		case item.Kind == models.Output && reads[item.CallID]:
			source = session.SourceFiles
		case len(item.Attachments) > 0:
			item.Attachments = nil
			text := int64(counter.Item(item))
			sums[session.SourceAttachments] += tokens - text
			tokens = text
		}
		sums[source] += tokens
	}
	return sums
}

// split shares the tokens of a system prompt between belay's words and those of
// the AGENTS.md files in it, by their bytes.
func split(p systemprompt.Prompt, tokens int64) (own, agents int64) {
	files := 0
	for _, s := range p.Sources {
		files += s.Bytes
	}
	if whole := len(p.Instructions); whole > 0 {
		agents = tokens * int64(min(files, whole)) / int64(whole)
	}
	return tokens - agents, agents
}
