package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"

	"belay/models"
	"belay/session"
	"belay/session/permit"
	"belay/session/tools"
)

// The loop guard: a model that makes the same call over and over is told so,
// then stopped.
const (
	maxRepeats     = 4 // then the model is told
	maxRepeatsEver = 8 // then the turn ends
)

// maxParallelReads bounds how many reading calls run at once, maxAdmittedReads how
// many are begun together: each that has begun is recorded as ended, even when the
// turn is stopped.
const (
	maxParallelReads = 8
	maxAdmittedReads = 4 * maxParallelReads
)

// preparedCall is a call that may run.
type preparedCall struct {
	item   models.Item // as the model made it
	call   tools.Call
	args   string // canonical, as run
	edited string // the arguments, where a person changed them
	note   string // for the model, before the output
	hash   string // of the tool and args, as the model made it
	id     string // of the effect

	looking  bool            // only reading the file that it would change is being decided
	decision permit.Decision // by rules; zero: a person's
}

// repeats is how often a call was made since it last gave another result.
type repeats struct {
	count  int
	output string
	writes bool
}

// countCall counts how often a call was made.
func (t *turn) countCall(hash string) int {
	r := t.repeats[hash]
	if r == nil {
		r = &repeats{}
		t.repeats[hash] = r
	}
	r.count++
	return r.count
}

// recordResult notes what a call gave. After a change to a file every other call
// may give something else: running the checks after each edit is no loop.
func (t *turn) recordResult(p preparedCall, result tools.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.repeats[p.hash]
	if r.output != result.Output {
		r.count = 1
		r.output = result.Output
	}
	r.writes = p.call.Class == session.Write
	if r.writes && !result.Error {
		maps.DeleteFunc(t.repeats, func(_ string, r *repeats) bool { return !r.writes })
	}
}

// runCalls runs the calls of a reply: neighbouring reads in parallel, the rest
// one by one in order. A non-nil end says that the turn cannot go on.
func (t *turn) runCalls(ctx context.Context, calls []models.Item) *session.TurnEnded {
	var reads []preparedCall
	flush := func() *session.TurnEnded {
		end := t.execute(ctx, reads)
		reads = nil
		return end
	}
	for _, call := range calls {
		p, end := t.admit(ctx, call, flush)
		if end != nil {
			return end
		}
		if p == nil {
			continue // answered without running
		}
		reads = append(reads, *p)
		if p.call.Class != session.Read || len(reads) == maxAdmittedReads {
			if end := flush(); end != nil {
				return end
			}
		}
	}
	return flush()
}

// admit checks a call and asks for it where that is needed. Before a call that
// may change something, before runs the reads that came first.
func (t *turn) admit(
	ctx context.Context, item models.Item, before func() *session.TurnEnded,
) (*preparedCall, *session.TurnEnded) {
	if ctx.Err() != nil {
		end := stopped(ctx)
		return nil, &end
	}
	canonical, hash := tools.Canonical(item.Name, item.Arguments)
	switch n := t.countCall(hash); {
	case n > maxRepeatsEver:
		return nil, &session.TurnEnded{Outcome: session.OutcomeNeedsPerson,
			Reason: fmt.Sprintf("the model has made the same call %d times: %s", n-1, item.Name)}
	case n > maxRepeats:
		return nil, t.refuse(ctx, item, item.Name, fmt.Sprintf("You have made exactly this call %d times in this turn, "+
			"with the same result. It will not change: do something else, or tell the user what you need.", n-1))
	}
	// A write must see what came before it, so it is prepared only then.
	if t.Tools.Changes(item.Name) {
		if end := before(); end != nil {
			return nil, end
		}
	}
	effect, interrupted := t.Unknown[item.CallID]
	call, err := t.Tools.Prepare(item.Name, item.Arguments)
	switch {
	case err != nil && interrupted:
		return nil, t.settleUnknown(ctx, item, effect)
	case err != nil:
		return nil, t.refuse(ctx, item, item.Name, err.Error())
	}
	id := fmt.Sprintf("%d-%s-%s", t.Turn, item.CallID, hash)
	prepared := &preparedCall{item: item, call: call, args: canonical, hash: hash, id: id}
	if interrupted {
		return t.askUnknown(ctx, prepared, effect)
	}
	prepared, end := t.look(ctx, prepared)
	if prepared == nil {
		return nil, end
	}
	return t.permit(ctx, prepared)
}

// permit lets a call run by the rules, or asks for it.
func (t *turn) permit(ctx context.Context, prepared *preparedCall) (*preparedCall, *session.TurnEnded) {
	decision := t.judge(prepared)
	switch decision.Verdict {
	case permit.Allow:
		prepared.decision = decision
		return prepared, nil
	case permit.Deny:
		return nil, t.forbid(ctx, prepared, decision)
	}
	return t.approve(ctx, prepared, decision, session.Approval{
		Reason: decision.Reason, Danger: decision.Danger, Always: decision.Always(),
	})
}

// look has a call read the file that it would change, once the file may be read:
// what comes of it says what the file holds.
func (t *turn) look(ctx context.Context, prepared *preparedCall) (*preparedCall, *session.TurnEnded) {
	if prepared.call.Look == nil {
		return prepared, nil
	}
	if decision := t.judge(prepared); decision.Verdict == permit.Deny {
		return nil, t.forbid(ctx, prepared, decision) // not even looked at
	}
	prepared.looking = true
	allowed, end := t.permit(ctx, prepared)
	if allowed == nil {
		return nil, end
	}
	allowed.looking = false
	if allowed.call.Look == nil {
		return allowed, nil // changed by the person, and looked at then
	}
	call, err := allowed.call.Look()
	if err != nil {
		return nil, t.refuse(ctx, allowed.item, allowed.call.Title, allowed.note+err.Error())
	}
	allowed.call, allowed.decision = call, permit.Decision{}
	return allowed, nil
}

// judge asks the rules about a call, or about reading the file that it would
// change.
func (t *turn) judge(p *preparedCall) permit.Decision {
	described := p.call.Describe(p.item.Name, t.Root)
	if p.looking {
		described.Tool, described.Class = tools.ReadFile, session.Read
	}
	return t.Gate.Judge(described)
}

func (t *turn) forbid(ctx context.Context, p *preparedCall, decision permit.Decision) *session.TurnEnded {
	return t.deny(ctx, p.item, p.call.Title, "This call is not allowed: "+decision.Reason+".")
}

// execute runs admitted calls, in parallel if they are more than one.
func (t *turn) execute(ctx context.Context, list []preparedCall) *session.TurnEnded {
	if len(list) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		end := stopped(ctx)
		return &end
	}
	var started []session.Event
	for _, prepared := range list {
		if prepared.call.Class != session.Read {
			if t.Ready != nil {
				t.Ready(ctx)
				t.Ready = nil
			}
			t.wrote = true
		}
		started = append(started, session.ToolStarted{Effect: session.Effect{
			ID:     prepared.id,
			CallID: prepared.item.CallID,
			Tool:   prepared.item.Name,
			Class:  prepared.call.Class,
			Args:   prepared.args,
			Title:  prepared.call.Title,
			Path:   prepared.call.Path,
			Before: prepared.call.Before,
			After:  prepared.call.After,
		}})
	}
	if err := t.Log.Append(ctx, started...); err != nil {
		return t.unstorable(ctx, err)
	}
	ends := make([]*session.TurnEnded, len(list))
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallelReads)
	for i, prepared := range list {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ends[i] = t.runCall(ctx, prepared)
		})
	}
	wg.Wait()
	return cmp.Or(ends...)
}

// runCall runs one call and records its result, also when it was stopped.
func (t *turn) runCall(ctx context.Context, prepared preparedCall) *session.TurnEnded {
	began := t.Now()
	drafts := &draftSaver{log: t.Log, turn: t.Turn}
	output := &runningOutput{drafts: drafts, callID: prepared.item.CallID, group: prepared.call.Group}
	output.add("")
	result := prepared.call.Runner(prepared.decision)(ctx, func(text string) {
		t.Log.Publish(session.ToolOutput{CallID: prepared.item.CallID, Text: text})
		output.add(text)
	})
	drafts.stop()
	t.recordResult(prepared, result)
	ended := session.ToolEnded{
		CallID:   prepared.item.CallID,
		Tool:     prepared.item.Name,
		Title:    prepared.call.Title,
		Output:   prepared.note + result.Output,
		Images:   result.Images,
		Summary:  result.Summary,
		Diff:     result.Diff,
		Error:    result.Error,
		Duration: t.Now().Sub(began),
		File:     result.File,
	}
	if prepared.call.Todos != nil && !result.Error {
		return t.end(ctx, ended, session.TodosChanged{Todos: prepared.call.Todos})
	}
	return t.end(ctx, ended)
}

// refuse answers a call that cannot be run.
func (t *turn) refuse(ctx context.Context, item models.Item, title, reason string) *session.TurnEnded {
	return t.end(ctx, session.ToolEnded{
		CallID: item.CallID, Tool: item.Name, Title: title, Output: reason, Summary: "refused", Error: true,
	})
}

// deny answers a call that may not be run.
func (t *turn) deny(ctx context.Context, item models.Item, title, reason string) *session.TurnEnded {
	return t.end(ctx, session.ToolEnded{
		CallID: item.CallID, Tool: item.Name, Title: title, Output: reason, Summary: "denied", Denied: true,
	})
}

func (t *turn) end(ctx context.Context, ended session.ToolEnded, more ...session.Event) *session.TurnEnded {
	// The result of something that happened is recorded even while stopping.
	events := append([]session.Event{ended}, more...)
	if err := t.Log.Append(context.WithoutCancel(ctx), events...); err != nil {
		return t.unstorable(ctx, err)
	}
	return nil
}

// unstorable ends a turn whose events cannot be stored: going on would do things
// that nobody could account for.
func (t *turn) unstorable(ctx context.Context, err error) *session.TurnEnded {
	end := t.failed(ctx, err)
	return &end
}
