package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"belay/context/compact"
	"belay/context/window"
	"belay/models"
	"belay/models/route"
	"belay/session"
)

// slim takes weight off the conversation before a request, when it has grown
// over the trigger: first what no model is needed for, then a summary.
func (a *openSession) slim(ctx context.Context) error {
	a.mu.Lock()
	target := a.e.preferred(a.head)
	keep := a.compactNow
	a.compactNow = nil
	a.mu.Unlock()
	if keep != nil {
		return a.summarise(ctx, *keep, true)
	}
	if a.e.o.Trigger <= 0 {
		return nil
	}
	budget := a.e.budget(target)
	limit := int64(a.e.o.Trigger * float64(budget))
	size := a.size()
	if size <= limit {
		return nil
	}
	// To three quarters of the trigger, so that the next strides are far away.
	freed, err := a.reduce(ctx, size, budget, size-limit*3/4)
	if err != nil || size-freed <= limit {
		return err
	}
	return a.summarise(ctx, "", false)
}

// counter counts as the target does that would be asked first.
func (a *openSession) counter() Counter { return a.e.counter(a.e.preferred(a.session())) }

// size is how many tokens the next request takes by our own count.
func (a *openSession) size() int64 {
	c := a.counter()
	n := int64(c.Text(a.brief().Instructions))
	for _, t := range a.tools.Specs() {
		n += int64(c.Tool(t))
	}
	a.mu.Lock()
	t := fitted(&a.talk)
	a.mu.Unlock()
	for _, it := range slices.Concat(t.Head, t.Items) {
		n += int64(c.Item(it))
	}
	return n
}

// reduce takes out what no model is needed for, and records it.
func (a *openSession) reduce(ctx context.Context, size, budget, want int64) (freed int64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range window.Prune(a.e.counter(a.e.preferred(a.head)), pieces(a.talk.Pieces()), budget, want) {
		event := session.Pruned{By: r.By, Calls: r.Calls, Reasoning: r.Reasoning, Excerpts: r.Excerpts, Before: size - freed, After: size - freed - r.Freed}
		if err := a.append(context.WithoutCancel(ctx), event); err != nil {
			return freed, err
		}
		freed += r.Freed
	}
	return freed, nil
}

func pieces(list []session.Piece) []window.Piece {
	out := make([]window.Piece, len(list))
	for i, p := range list {
		out[i] = window.Piece{Item: p.Item, Turn: p.Turn, Masked: p.Masked}
	}
	return out
}

// What a summary must do to be worth it.
const (
	leastFreed = 0.10 // of the request
	stillFull  = 0.80 // of the trigger, after it
	grown      = 5    // after one that did not help it must have grown by a fifth
)

// summarise lets the light tier write a summary of the older part. It never
// ends the turn: when no model has room, or it would not help, the user is told
// and the request goes out as it is. Asked says that a person wants it.
func (a *openSession) summarise(ctx context.Context, keep string, asked bool) error {
	a.mu.Lock()
	head := a.head
	list := a.talk.Pieces()
	full := a.full
	a.mu.Unlock()
	size := a.size()
	if !asked && full > 0 && size < full+full/grown {
		return nil
	}
	budget := a.e.budget(a.e.preferred(head))
	counter := a.counter()
	n := window.Truncate(counter, pieces(list), budget/4)
	if asked && n == 0 {
		n = window.Truncate(counter, pieces(list), 0)
	}
	if n == 0 {
		return a.fullOf(ctx, size, "there is nothing old enough to summarise")
	}
	through := list[n-1].Seq
	a.mu.Lock()
	previous, items := a.talk.SummaryInput(through)
	task, swallowed := a.talk.Task(through)
	a.mu.Unlock()
	facts := compact.Facts{First: head.FirstPrompt, Task: task, Files: head.ChangedFiles, Keep: keep}
	for _, t := range head.Todos {
		if t.Status != "done" {
			facts.Plan = append(facts.Plan, t.Text)
		}
	}
	event, err := a.write(ctx, compact.Request(previous, items, facts, int(budget)*2), facts)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return a.fullOf(ctx, size, "no summary could be made ("+err.Error()+")")
	}
	var replaced int64
	for _, p := range list[:n] {
		replaced += int64(counter.Item(p.Item))
	}
	event.Through, event.Before = through, size
	if swallowed && head.Status != session.Idle {
		event.Task = task
	}
	event.After = size - replaced + int64(counter.Text(event.Summary))
	if float64(size-event.After) < leastFreed*float64(size) && !asked {
		return a.fullOf(ctx, size, "a summary would free little")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.append(context.WithoutCancel(ctx), event); err != nil {
		return err
	}
	a.full = 0
	if limit := a.e.o.Trigger * float64(budget); float64(event.After) > stillFull*limit && !asked {
		a.full = event.After
		return a.append(context.WithoutCancel(ctx), session.Noted{Text: "the conversation stays long even with a summary: " + a.fills(list[n:])})
	}
	return nil
}

// fullOf remembers that a conversation of a size cannot be made shorter, and
// says why.
func (a *openSession) fullOf(ctx context.Context, size int64, why string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.full = size
	return a.append(context.WithoutCancel(ctx), session.Noted{Text: why + "; the window is filled by " + a.fills(a.talk.Pieces()) + ". Begin a new session, /trim, or /drop pinned notes"})
}

// fills says what takes most of the room. a.mu is held.
func (a *openSession) fills(list []session.Piece) string {
	sums := map[session.Source]int64{}
	counter := a.e.counter(a.e.preferred(a.head))
	for _, h := range a.talk.Head() {
		sums[h.Source] += int64(counter.Item(h.Item))
	}
	for _, p := range list {
		for _, at := range p.Item.Attachments {
			sums[session.SourceAttachments] += int64(counter.Text(at.Text))
		}
		p.Item.Attachments = nil
		sums[session.SourceOf(p.Item)] += int64(counter.Item(p.Item))
	}
	var words []string
	for _, o := range session.Sources() {
		if sums[o] > 0 {
			words = append(words, fmt.Sprintf("%s (%d tokens)", o, sums[o]))
		}
	}
	return strings.Join(words, ", ")
}

// write asks for a summary through the same loop as every request, on the
// light tier, so that it never waits for the model that is full.
func (a *openSession) write(ctx context.Context, req models.Request, f compact.Facts) (session.Compacted, error) {
	var event session.Compacted
	var text strings.Builder
	need := route.Need{Control: route.NewControl(models.Light), Operation: a.e.o.NewID(), NetworkWait: a.e.o.NetworkWait,
		Purpose: models.Purpose{Session: string(a.id), Project: a.session().Project, Turn: a.session().Turn, Step: "summary"}}
	for chunk, err := range a.e.o.Router.Stream(ctx, need, func(models.Model) (models.Request, error) { return req, nil }) {
		if err != nil {
			return event, err
		}
		switch c := chunk.(type) {
		case models.AttemptStarted:
			text.Reset()
			event.By = c.Target
			a.Publish(session.AttemptStarted{Number: c.Number, Of: c.Of, Tier: c.Tier, Target: c.Target})
		case models.AttemptFailed:
			a.Publish(session.AttemptFailed{Number: c.Number, Of: c.Of, Tier: c.Tier, Target: c.Target, Fault: c.Fault, Next: c.Next, Delay: c.Delay})
		case models.Waiting:
			a.Publish(session.Waiting{Number: c.Number, Of: c.Of, Until: c.Until, Target: c.Target, Fault: c.Fault})
		case models.Switched:
			a.Publish(session.Switched{From: c.From, To: c.To, FromTier: c.FromTier, ToTier: c.ToTier, Fault: c.Fault, Failback: c.Failback, FailbackDelay: c.FailbackDelay})
		case models.ItemDone:
			text.WriteString(c.Item.Text)
		case models.Finished:
			event.Usage, event.Cost = c.Usage, a.e.o.Model(event.By).Cost(c.Usage)
		}
	}
	var err error
	event.Summary, err = compact.Check(text.String(), f)
	return event, err
}

// compactSoon makes a summary now if nothing runs, else before the next
// request of the running turn. a.mu is held.
func (a *openSession) compactSoon(keep string) error {
	if a.closed {
		return errors.New("the session is closed")
	}
	if a.cancel != nil {
		a.compactNow = &keep
		return nil
	}
	ctx, free := a.occupy(context.Background())
	a.e.work.Go(func() {
		defer free()
		if err := a.summarise(ctx, keep, true); err != nil {
			a.Publish(session.Noted{Text: "no summary was made: " + err.Error()})
		}
	})
	return nil
}

// trim takes out what no model is needed for, on a person's word. a.mu is not
// held.
func (a *openSession) trim(ctx context.Context) error {
	size := a.size()
	budget := a.e.budget(a.e.preferred(a.session()))
	// Half of what is there is what a person expects of a word like this.
	freed, err := a.reduce(ctx, size, min(budget, size), size/2)
	if err == nil && freed == 0 {
		a.Publish(session.Noted{Text: "there is nothing to take out yet"})
	}
	return err
}
