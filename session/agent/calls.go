package agent

import (
	"cmp"
	"context"
	"errors"
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
	repeatTold = 4
	repeatEnds = 8
)

// together bounds how many reading calls run at once.
const together = 8

// prepared is a call that may run.
type prepared struct {
	call models.Item
	job  tools.Call
	args string // canonical, as run
	note string // for the model, before the output
	hash string // of the tool and args, as called
	id   string // of the effect
}

// repeat is how often a call was made since it last gave another result.
type repeat struct {
	n      int
	output string
	writes bool
}

// again counts a call.
func (t *turn) again(hash string) int {
	r := t.repeat[hash]
	if r == nil {
		r = &repeat{}
		t.repeat[hash] = r
	}
	r.n++
	return r.n
}

// learned notes what a call gave. After a change to a file every other call
// may give something else: running the checks after each edit is no loop.
func (t *turn) learned(p prepared, result tools.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.repeat[p.hash]
	if r.output != result.Output {
		r.n, r.output = 1, result.Output
	}
	if r.writes = p.job.Class == session.Write; r.writes && !result.Error {
		maps.DeleteFunc(t.repeat, func(_ string, r *repeat) bool { return !r.writes })
	}
}

// run runs the calls of a reply: neighbouring reads together, the rest one by
// one in order. A non-nil end says that the turn cannot go on.
func (t *turn) run(ctx context.Context, calls []models.Item) *session.TurnEnded {
	var reads []prepared
	flush := func() *session.TurnEnded {
		end := t.carryOut(ctx, reads)
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
		if p.job.Class != session.Read {
			if end := flush(); end != nil {
				return end
			}
		}
	}
	return flush()
}

// admit checks a call and asks for it where that is needed. Before anything
// but a read, before runs the reads that came first.
func (t *turn) admit(ctx context.Context, call models.Item, before func() *session.TurnEnded) (*prepared, *session.TurnEnded) {
	if ctx.Err() != nil {
		end := stopped(ctx)
		return nil, &end
	}
	canonical, hash := tools.Canonical(call.Name, call.Arguments)
	switch n := t.again(hash); {
	case n > repeatEnds:
		return nil, &session.TurnEnded{Outcome: session.OutcomeNeedsPerson,
			Reason: fmt.Sprintf("the model has made the same call %d times: %s", n-1, call.Name)}
	case n > repeatTold:
		return nil, t.refuse(ctx, call, call.Name, fmt.Sprintf("You have made exactly this call %d times in this turn, with the same result. It will not change: do something else, or tell the user what you need.", n-1), false)
	}
	// A write must see what came before it, so its job is made only then.
	if t.Tools.Changes(call.Name) {
		if end := before(); end != nil {
			return nil, end
		}
	}
	effect, begun := t.Unknown[call.CallID]
	job, err := t.Tools.Prepare(call.Name, call.Arguments)
	switch {
	case err != nil && begun:
		return nil, t.settleUnknown(ctx, call, effect)
	case err != nil:
		return nil, t.refuse(ctx, call, call.Name, err.Error(), false)
	}
	p := &prepared{call: call, job: job, args: canonical, hash: hash, id: fmt.Sprintf("%d-%s-%s", t.Turn, call.CallID, hash)}
	if begun {
		return t.unknown(ctx, p, effect)
	}
	d := t.Gate.Judge(t.describe(p))
	switch d.Verdict {
	case permit.Allow:
		return p, nil
	case permit.Deny:
		return nil, t.refuse(ctx, call, job.Title, "This call is not allowed: "+d.Reason+".", true)
	}
	return t.approve(ctx, p, d, session.Approval{Reason: d.Reason, Always: d.Always()})
}

func (t *turn) describe(p *prepared) permit.Call { return p.job.Describe(p.call.Name, t.Root) }

// unknown settles a command that was running when belay ended: it may have
// been carried out, so it never runs again by itself.
func (t *turn) unknown(ctx context.Context, p *prepared, e session.Effect) (*prepared, *session.TurnEnded) {
	if !t.NonInteractive {
		return t.approve(ctx, p, permit.Decision{}, session.Approval{UnknownOutcome: true, Output: e.Output,
			Reason: "belay ended while this ran: it may have been carried out"})
	}
	return nil, t.settleUnknown(ctx, p.call, e)
}

// drop answers a call that a stopped turn left and that is no longer wanted.
func (t *turn) drop(ctx context.Context, call models.Item) *session.TurnEnded {
	if effect, begun := t.Unknown[call.CallID]; begun {
		return t.settleUnknown(ctx, call, effect)
	}
	return t.end(ctx, session.ToolEnded{CallID: call.CallID, Tool: call.Name, Title: call.Name, Denied: true, Summary: "not run",
		Output: "Not run: that turn was ended before this call began."})
}

func (t *turn) settleUnknown(ctx context.Context, call models.Item, e session.Effect) *session.TurnEnded {
	return t.end(ctx, session.ToolEnded{CallID: call.CallID, Tool: call.Name, Title: e.Title, Unknown: true, Summary: "outcome unknown",
		Output: "Interrupted, outcome unknown: belay ended while this ran, and it was not run again. Verify what it did before you go on." + untilThen(e.Output)})
}

// untilThen is what a command had said before it was cut off.
func untilThen(output string) string {
	if output == "" {
		return ""
	}
	return "\nIt had said until then:\n" + output
}

// approve asks the person about a call.
func (t *turn) approve(ctx context.Context, p *prepared, d permit.Decision, a session.Approval) (*prepared, *session.TurnEnded) {
	interrupted := d.Verdict == ""
	a.CallID, a.Tool, a.Class, a.Title, a.Preview, a.Args = p.call.CallID, p.call.Name, p.job.Class, p.job.Title, p.job.Detail, p.call.Arguments
	if err := t.Log.Append(ctx, session.ApprovalAsked{Approval: a}); err != nil {
		return nil, t.broken(ctx, err)
	}
	answer, err := t.Gate.Ask(ctx, a)
	if errors.Is(err, ErrNonInteractive) {
		return nil, &session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: fmt.Sprintf("approval needed for %s: %s (%s)", a.Tool, a.Title, a.Reason)}
	}
	if err != nil {
		end := t.failed(ctx, err)
		return nil, &end
	}
	if err := t.Log.Append(ctx, session.ApprovalAnswered{Answer: answer}); err != nil {
		return nil, t.broken(ctx, err)
	}
	if !answer.Allow {
		switch {
		case interrupted && answer.Outcome:
			return nil, t.end(ctx, session.ToolEnded{CallID: p.call.CallID, Tool: p.call.Name, Title: p.job.Title, Summary: "done, as you say",
				Output: "The user says that this was carried out before belay ended." + untilThen(a.Output)})
		case interrupted && answer.Message == "":
			return nil, t.settleUnknown(ctx, p.call, session.Effect{Title: p.job.Title, Output: a.Output})
		}
		words := "The user denied this call."
		if answer.Message != "" {
			words += " They say: " + answer.Message
		}
		return nil, t.refuse(ctx, p.call, p.job.Title, words, true)
	}
	if answer.Args != "" && answer.Args != p.call.Arguments {
		job, err := t.Tools.Prepare(p.call.Name, answer.Args)
		if err != nil {
			return nil, t.refuse(ctx, p.call, p.job.Title, "The user changed this call, but it cannot run so: "+err.Error(), false)
		}
		p.job, p.note = job, "The user changed the arguments to "+answer.Args+"\n"
		p.args, _ = tools.Canonical(p.call.Name, answer.Args)
		// What is forbidden stays so, and "always" means what runs now.
		if d = t.Gate.Judge(t.describe(p)); d.Verdict == permit.Deny {
			return nil, t.refuse(ctx, p.call, p.job.Title, "The user changed this call to one that is not allowed: "+d.Reason+".", true)
		}
	}
	if answer.Always && len(d.Grants) > 0 {
		if err := t.Gate.Grant(ctx, d.Grants); err != nil {
			return nil, t.broken(ctx, err)
		}
	}
	return p, nil
}

// carryOut runs admitted calls, together if they are more than one.
func (t *turn) carryOut(ctx context.Context, list []prepared) *session.TurnEnded {
	if len(list) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		end := stopped(ctx)
		return &end
	}
	var started []session.Event
	for _, p := range list {
		if p.job.Class != session.Read {
			if t.Ready != nil {
				t.Ready(ctx)
				t.Ready = nil
			}
			t.wrote = true
		}
		started = append(started, session.ToolStarted{Effect: session.Effect{ID: p.id, CallID: p.call.CallID, Tool: p.call.Name, Class: p.job.Class,
			Args: p.args, Title: p.job.Title, Path: p.job.Path, Before: p.job.Before, After: p.job.After}})
	}
	if err := t.Log.Append(ctx, started...); err != nil {
		return t.broken(ctx, err)
	}
	ends := make([]*session.TurnEnded, len(list))
	var wg sync.WaitGroup
	slots := make(chan struct{}, together)
	for i, p := range list {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ends[i] = t.perform(ctx, p)
		})
	}
	wg.Wait()
	return cmp.Or(ends...)
}

// perform runs one call and records its result, also when it was stopped.
func (t *turn) perform(ctx context.Context, p prepared) *session.TurnEnded {
	began := t.Now()
	said := &said{t: t, p: p}
	said.begin()
	result := p.job.Run(ctx, func(text string) {
		t.Log.Publish(session.ToolOutput{CallID: p.call.CallID, Text: text})
		said.add(text)
	})
	said.stop()
	t.learned(p, result)
	ended := session.ToolEnded{CallID: p.call.CallID, Tool: p.call.Name, Title: p.job.Title, Output: p.note + result.Output, Images: result.Images,
		Summary: result.Summary, Diff: result.Diff, Error: result.Error, Duration: t.Now().Sub(began), File: result.File}
	if p.job.Todos != nil && !result.Error {
		return t.end(ctx, ended, session.TodosChanged{Todos: p.job.Todos})
	}
	return t.end(ctx, ended)
}

// refuse answers a call that is not run.
func (t *turn) refuse(ctx context.Context, call models.Item, title, words string, denied bool) *session.TurnEnded {
	summary := "refused"
	if denied {
		summary = "denied"
	}
	return t.end(ctx, session.ToolEnded{CallID: call.CallID, Tool: call.Name, Title: title, Output: words, Summary: summary, Error: !denied, Denied: denied})
}

func (t *turn) end(ctx context.Context, ended session.ToolEnded, more ...session.Event) *session.TurnEnded {
	// The result of something that happened is recorded even while stopping.
	if err := t.Log.Append(context.WithoutCancel(ctx), append([]session.Event{ended}, more...)...); err != nil {
		return t.broken(ctx, err)
	}
	return nil
}

// broken ends a turn whose events cannot be stored: going on would do things
// that nobody could account for.
func (t *turn) broken(ctx context.Context, err error) *session.TurnEnded {
	end := t.failed(ctx, err)
	return &end
}
