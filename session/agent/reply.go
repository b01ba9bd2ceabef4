package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"belay/models"
	"belay/models/route"
	"belay/session"
)

// ask makes one request. It reports whether the model is done: it has said
// its words and called nothing.
func (t *turn) ask(ctx context.Context) (done bool, err error) {
	reply := &reply{t: t, drafts: &draftSaver{log: t.Log, turn: t.Turn}}
	defer reply.drafts.stop()
	build := func(m models.Model) (models.Request, error) {
		req, leftOut, err := t.Build(ctx, m, reply.noRoom >= pressureAttempts && reply.tokens > minPressureTokens)
		reply.leftOut = leftOut
		reply.tokens = req.Tokens
		return req, err
	}
	need := route.Need{
		Control:     t.Control,
		Images:      hasImages(t.Log.Items()),
		Wrote:       t.wrote,
		Operation:   t.NewID(),
		NetworkWait: t.NetworkWait,
		Purpose:     t.Purpose,
		ParkRetry:   t.ParkRetry,
		Force:       t.Force,
		Committed:   func() bool { return reply.committed > 0 },
		TakeRetry:   t.takeRetry,
		Shorten:     t.Shorten,
		SwitchAfter: t.SwitchAfter,
	}
	t.Spent.Requests++
	for chunk, err := range t.Router.Stream(ctx, need, build) {
		if err != nil {
			// What was said before a stop is kept as well.
			return false, errors.Join(err, reply.stop(ctx, err))
		}
		restart, err := reply.take(ctx, chunk)
		if err != nil || restart {
			return false, err
		}
	}
	if reply.written != "" {
		return false, t.correct(ctx, reply.target, reply.written)
	}
	return reply.done, nil
}

// After so many attempts that found no room, a request of more than so many
// tokens goes out shorter.
const (
	pressureAttempts  = 2
	minPressureTokens = 64_000
)

func hasImages(items []models.Item) bool {
	for _, it := range items {
		if len(it.Images) > 0 {
			return true
		}
	}
	return false
}

// reply is what one request brings, over all its attempts.
type reply struct {
	t      *turn
	drafts *draftSaver

	target    models.Target
	tier      models.Tier
	held      []models.Item   // finished, not committed
	committed int             // calls committed in this attempt
	calls     int             // calls in the whole reply
	known     map[string]bool // ids of all calls of the conversation; nil: not looked up yet
	text      strings.Builder
	reasoning strings.Builder
	call      string // the tool whose arguments are being written
	argBytes  int    // of them so far
	done      bool
	written   string // the tool of a call that was written as text
	tokens    int64  // of the request by our own count
	leftOut   int    // items that did not go in
	noRoom    int    // attempts that found no room
}

// take handles a chunk. Restart means that the caller should begin anew: the
// attempt failed, but calls of it are committed and can be run.
func (r *reply) take(ctx context.Context, chunk models.Chunk) (restart bool, err error) {
	log := r.t.Log
	switch c := chunk.(type) {
	case models.AttemptStarted:
		r.start(c)
		log.Publish(session.AttemptStarted(c))
	case models.Opened:
		log.Publish(session.ReplyOpened{Target: r.target, Served: c.Served, RequestID: c.RequestID})
	case models.Resumed:
		log.Publish(session.ReplyResumed{Target: r.target})
	case models.TextDelta:
		r.text.WriteString(c.Text)
		r.saveDraft()
		log.Publish(session.TextDelta(c))
	case models.ReasoningDelta:
		r.reasoning.WriteString(c.Text)
		r.saveDraft()
		log.Publish(session.ReasoningDelta(c))
	case models.CallDelta:
		if c.CallID != "" && c.Name != "" {
			r.call = c.Name
		}
		r.argBytes += len(c.Arguments)
		log.Publish(session.CallDelta{CallID: c.CallID, Name: c.Name, Bytes: r.argBytes})
	case models.ItemDone:
		return false, r.takeItem(ctx, c.Item)
	case models.Finished:
		return false, r.finish(ctx, c)
	case models.AttemptFailed:
		r.spend(c.Fault.Usage)
		if c.Fault.Kind == models.KindCapacity {
			r.noRoom++
		}
		if c.Fault.AtLengthLimit() {
			if err := r.keep(ctx); err != nil {
				return false, err
			}
		}
		failed := session.AttemptFailed(c)
		err := r.cut(ctx, session.CutOff{}, &failed)
		// After a choice of another tier as well: the next request must hold the
		// results of what was finished. When parked or stopped they wait.
		return r.committed > 0 && (c.Next == models.NextRetry || c.Next == models.NextSwitch), err
	case models.Waiting:
		log.Publish(session.Waiting(c))
	case models.Switched:
		return false, log.Append(ctx, session.Switched(c))
	default:
		return false, fmt.Errorf("take reply: unexpected %T", chunk)
	}
	return false, nil
}

// start forgets the attempt before.
func (r *reply) start(c models.AttemptStarted) {
	r.t.Force = false // a person's word is for one attempt
	r.target = c.Target
	r.tier = c.Tier
	r.committed = 0
	r.calls = 0
	r.held = nil
	r.known = nil
}

// finish commits a reply that has ended well.
func (r *reply) finish(ctx context.Context, finished models.Finished) error {
	r.done = r.calls == 0
	r.written = finished.WrittenCall
	if r.done && !hasText(r.held) {
		return &models.Fault{
			Kind: models.KindStream, Scope: models.ScopeModel, Target: r.target, ServedModel: finished.Served,
			RequestID: finished.RequestID, Phase: models.AfterLastItem,
			Message: "the model ended its reply without a word", Hint: "try again, or choose another tier",
		}
	}
	model := r.t.Model(r.target)
	cost := model.Cost(finished.Usage)
	if r.t.Measured != nil {
		r.t.Measured(r.target, r.tokens, finished.Usage.Input)
	}
	r.t.ParkRetry = false
	r.spend(finished.Usage)
	return r.commit(ctx, session.ReplyEnded{
		Tier: r.tier, Target: r.target, Served: finished.Served, RequestID: finished.RequestID,
		Usage: finished.Usage, Cost: cost, Window: model.Window, LeftOut: r.leftOut,
	})
}

// spend counts against the limits what a request took; the log tells what it cost.
func (r *reply) spend(usage models.Usage) { r.t.Spent.Tokens += usage.Input + usage.Output }

// takeItem holds a finished item back until a finished call, or the end of the
// reply, commits it.
func (r *reply) takeItem(ctx context.Context, it models.Item) error {
	r.argBytes = 0
	r.call = ""
	if it.Kind == models.Call && r.knowsCall(it.CallID) {
		// Some servers count anew in every reply; two calls of one id would
		// count as one, and the second never run.
		it.CallID = "call_" + r.t.NewID()
		if it.Origin.API != models.Chat { // there, what is kept of a call has no id
			it.Raw = nil
		}
	}
	r.held = append(r.held, it)
	if it.Kind != models.Call {
		return nil
	}
	r.known[it.CallID] = true
	r.calls++
	if r.t.Tools.Check(it.Name, it.Arguments) != nil {
		return nil
	}
	r.committed++
	r.t.ParkRetry = false // it has gone on: what fails from here is a new trouble
	return r.commit(ctx)
}

func (r *reply) commit(ctx context.Context, more ...session.Event) error {
	var events []session.Event
	for _, it := range r.held {
		events = append(events, session.ItemAdded{Item: it})
	}
	r.forget()
	if events = append(events, more...); len(events) == 0 {
		return nil
	}
	return r.t.Log.Append(context.WithoutCancel(ctx), events...)
}

// keep commits what a reply had finished that was cut by its length limit: its
// words stand. A call that is not whole is not part of it.
func (r *reply) keep(ctx context.Context) error {
	r.held = slices.DeleteFunc(r.held, func(it models.Item) bool {
		return it.Kind == models.Call && r.t.Tools.Check(it.Name, it.Arguments) != nil
	})
	for len(r.held) > 0 && r.held[len(r.held)-1].Kind == models.Reasoning {
		r.held = r.held[:len(r.held)-1] // it led to nothing
	}
	if len(r.held) == 0 {
		return nil
	}
	return r.commit(ctx)
}

// stop records what a request that is given up had said, and taken if it was
// stopped within an attempt: of one that failed, AttemptFailed has told.
func (r *reply) stop(ctx context.Context, err error) error {
	var taken session.CutOff
	var fault *models.Fault
	if errors.As(err, &fault) && fault.Kind == models.KindCancelled {
		taken.Usage = fault.Usage
		taken.Cost = r.t.Model(r.target).Cost(fault.Usage)
		r.spend(taken.Usage)
	}
	return r.cut(ctx, taken, nil)
}

// cut records what an attempt that ended badly had said. Taken has what it took,
// if failed does not tell.
func (r *reply) cut(ctx context.Context, taken session.CutOff, failed *session.AttemptFailed) error {
	r.drafts.stop()
	var events []session.Event
	if d := r.draft(); d.Text != "" || d.Reasoning != "" || d.Call != "" {
		taken.Text, taken.Reasoning, taken.Tool = d.Text, d.Reasoning, d.Call
		taken.Stopped = errors.Is(context.Cause(ctx), ErrStopped)
		events = append(events, taken)
	}
	if failed != nil {
		events = append(events, *failed)
	}
	r.forget()
	if len(events) == 0 {
		return nil
	}
	return r.t.Log.Append(context.WithoutCancel(ctx), events...)
}

func (r *reply) saveDraft() {
	d := r.draft()
	r.drafts.save(func() session.Draft { return d })
}

func (r *reply) draft() session.Draft {
	return session.Draft{Text: r.text.String(), Reasoning: r.reasoning.String(), Call: r.call}
}

// forget drops what was said once it is recorded, or will be said again.
func (r *reply) forget() {
	r.drafts.stop()
	r.text.Reset()
	r.reasoning.Reset()
	r.held = nil
	r.call = ""
	r.argBytes = 0
}

// knowsCall reports whether the conversation has a call of this id already.
func (r *reply) knowsCall(id string) bool {
	if r.known == nil {
		r.known = map[string]bool{"": true}
		for _, it := range r.t.Log.Items() {
			if it.Kind == models.Call {
				r.known[it.CallID] = true
			}
		}
	}
	return r.known[id]
}

func hasText(items []models.Item) bool {
	for _, it := range items {
		if it.Kind == models.Message && it.Text != "" {
			return true
		}
	}
	return false
}
