package request

import (
	"context"

	"belay/context/window"
	"belay/models"
	"belay/session"
)

// setFullAt remembers at which size a conversation could not be made shorter.
func (b *Builder) setFullAt(size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullAt = size
}

// Prune makes the conversation shorter before a request, when it has grown over
// the trigger: first by what no model is needed for, then by a summary.
func (b *Builder) Prune(ctx context.Context) error {
	b.mu.Lock()
	wanted := b.summaryWanted
	b.summaryWanted = nil
	b.mu.Unlock()
	if wanted != nil {
		return b.Summarise(ctx, *wanted)
	}
	trigger := b.factory.o.Trigger
	if trigger <= 0 {
		return nil
	}
	budget := b.guessed(b.preferred(), b.factory.budget(b.preferred()))
	limit := int64(trigger * float64(budget))
	size := b.size()
	if size <= limit {
		return nil
	}
	// To three quarters of the trigger, so that it is not reached again at once.
	freed, err := b.pruneOutputs(ctx, size, budget, size-limit*3/4)
	if err != nil || size-freed <= limit {
		return err
	}
	return b.summarise(ctx, summaryOrder{})
}

// PruneOutputs takes out what no model is needed for because a person wants it.
func (b *Builder) PruneOutputs(ctx context.Context) error {
	size := b.size()
	budget := b.factory.budget(b.preferred())
	// Half of what is there is what a person expects of a word like this.
	freed, err := b.pruneOutputs(ctx, size, min(budget, size), size/2)
	if err == nil && freed == 0 {
		b.log.Publish(session.Noted{Text: "there is nothing to take out yet"})
	}
	return err
}

// pruneOutputs takes out what no model is needed for, and records it. All sizes
// are tokens.
func (b *Builder) pruneOutputs(ctx context.Context, size, budget, want int64) (freed int64, err error) {
	b.pruning.Lock()
	defer b.pruning.Unlock()
	conversation := b.log.Conversation()
	for _, r := range window.Prune(b.counter(), b.tools.Specs(), pieces(conversation.Pieces()), budget, want) {
		event := session.Pruned{
			By: r.By, Calls: r.Calls, Reasoning: r.Reasoning, Excerpts: r.Excerpts,
			Before: size - freed, After: size - freed - r.Freed,
		}
		if err := b.log.Append(context.WithoutCancel(ctx), event); err != nil {
			return freed, err
		}
		freed += r.Freed
	}
	return freed, nil
}

func traitsByName(specs []models.ToolSpec) map[string]models.ToolTraits {
	traits := map[string]models.ToolTraits{}
	for _, spec := range specs {
		traits[spec.Name] = spec.Traits
	}
	return traits
}

func pieces(list []session.Piece) []window.Piece {
	out := make([]window.Piece, len(list))
	for i, p := range list {
		out[i] = window.Piece{Item: p.Item, Turn: p.Turn, Masked: p.Masked, Whole: p.Whole}
	}
	return out
}

func (b *Builder) preferred() models.Target { return b.factory.Preferred(b.log.State()) }

// counter counts as the target does that would be asked first.
func (b *Builder) counter() Counter { return b.factory.counter(b.preferred()) }

// size is how many tokens the next request takes by our own count.
func (b *Builder) size() int64 {
	counter := b.counter()
	n := int64(counter.Text(b.system.current().Instructions))
	for _, spec := range b.tools.Specs() {
		n += int64(counter.Tool(spec))
	}
	conversation := b.log.Conversation()
	for _, h := range conversation.Head() {
		n += int64(counter.Item(h.Item))
	}
	for _, item := range conversation.Items() {
		n += int64(counter.Item(item))
	}
	return n
}
