package request

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"belay/context/compact"
	"belay/context/window"
	"belay/session"
)

// What a summary must do to be worth it.
const (
	minFreed     = 0.10 // of the request
	maxRemaining = 0.80 // of the trigger, after it
	minGrowth    = 5    // after one that did not help it must have grown by a fifth
)

// SummariseNext makes a summary before the next request of the running turn,
// which keeps what keep says.
func (b *Builder) SummariseNext(keep string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.summaryWanted = &keep
}

// Summarise makes a summary because a person wants it.
func (b *Builder) Summarise(ctx context.Context, keep string) error {
	return b.summarise(ctx, summaryOrder{keep: keep, userAsked: true})
}

// summaryOrder says what kind of summary is wanted.
type summaryOrder struct {
	keep      string // what it must not lose, in a person's words
	userAsked bool
	budget    int64 // tokens that the conversation may take; 0: those of the preferred target
}

// summarise lets the light tier write a summary of the older part. It never ends
// the turn: when no model has room, or it would not help, the user is told and
// the request goes out as it is.
func (b *Builder) summarise(ctx context.Context, order summaryOrder) error {
	state, conversation := b.log.State(), b.log.Conversation()
	b.mu.Lock()
	fullAt := b.fullAt
	b.mu.Unlock()
	size := b.size()
	if !order.userAsked && fullAt > 0 && size < fullAt+fullAt/minGrowth {
		return nil
	}
	counter := b.counter()
	budget := cmp.Or(order.budget, b.factory.budget(b.factory.Preferred(state)))
	list := conversation.Pieces()
	oldest := window.Truncate(counter, pieces(list), budget/4)
	if order.userAsked && oldest == 0 {
		oldest = window.Truncate(counter, pieces(list), 0)
	}
	if oldest == 0 {
		return b.tellFull(ctx, size, "there is nothing old enough to summarise")
	}
	event, err := b.writeSummary(ctx, state, &conversation, list[:oldest], order.keep, budget)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return b.tellFull(ctx, size, "no summary could be made ("+err.Error()+")")
	}
	event.Before = size
	event.After = size - pieceTokens(counter, list[:oldest]) + int64(counter.Text(event.Summary))
	if float64(size-event.After) < minFreed*float64(size) && !order.userAsked {
		return b.tellFull(ctx, size, "a summary would free little")
	}
	if err := b.log.Append(context.WithoutCancel(ctx), event); err != nil {
		return err
	}
	b.setFullAt(0)
	limit := b.factory.o.Trigger * float64(budget)
	if order.userAsked || float64(event.After) <= maxRemaining*limit {
		return nil
	}
	b.setFullAt(event.After)
	conversation = b.log.Conversation()
	note := "the conversation stays long even with a summary: " + largestParts(counter, conversation.Head(), list[oldest:])
	return b.log.Append(context.WithoutCancel(ctx), session.Noted{Text: note})
}

func pieceTokens(counter Counter, list []session.Piece) int64 {
	var n int64
	for _, p := range list {
		n += int64(counter.Item(p.Item))
	}
	return n
}

// tellFull remembers that a conversation of a size cannot be made shorter, and
// says why.
func (b *Builder) tellFull(ctx context.Context, size int64, why string) error {
	b.setFullAt(size)
	conversation := b.log.Conversation()
	parts := largestParts(b.counter(), conversation.Head(), conversation.Pieces())
	note := why + "; the window is filled by " + parts + ". Begin a new session, /trim, or /drop pinned notes"
	return b.log.Append(context.WithoutCancel(ctx), session.Noted{Text: note})
}

// largestParts says what takes the room of a conversation.
func largestParts(counter Counter, head []session.HeadItem, list []session.Piece) string {
	sums := map[session.Source]int64{}
	for _, h := range head {
		sums[h.Source] += int64(counter.Item(h.Item))
	}
	for _, p := range list {
		for _, at := range p.Item.Attachments {
			sums[session.SourceAttachments] += int64(counter.Text(at.Text))
		}
		p.Item.Attachments = nil
		sums[session.SourceOf(p.Item)] += int64(counter.Item(p.Item))
	}
	var parts []string
	for _, source := range session.Sources() {
		if sums[source] > 0 {
			parts = append(parts, fmt.Sprintf("%s (%d tokens)", source, sums[source]))
		}
	}
	return strings.Join(parts, ", ")
}

// writeSummary asks for a summary of the oldest pieces through the same loop as
// every request, on the light tier, so that it never waits for the model that is
// full.
func (b *Builder) writeSummary(
	ctx context.Context, s session.Session, conversation *session.Conversation, oldest []session.Piece,
	keep string, budget int64,
) (session.Compacted, error) {
	event := session.Compacted{Through: oldest[len(oldest)-1].Seq}
	previous, items := conversation.SummaryInput(event.Through)
	task, swallowed := conversation.Task(event.Through)
	if s.Status != session.Idle {
		event.Task = swallowed
	}
	facts := compact.Facts{First: s.FirstPrompt, Task: task, Files: s.ChangedFiles, Keep: keep}
	for _, t := range s.Todos {
		if t.Status != "done" {
			facts.Plan = append(facts.Plan, t.Text)
		}
	}
	answer, err := b.ask(ctx, s, errand{
		step: "summary", tell: b.log.Publish, request: compact.Request(previous, items, facts, int(budget)*2),
	})
	event.By, event.Usage, event.Cost = answer.by, answer.usage, answer.cost
	if err != nil {
		return event, err
	}
	event.Summary, err = compact.Check(answer.text, facts)
	return event, err
}
