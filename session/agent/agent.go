// Package agent decides how a turn goes on: it asks the model, keeps what the
// model finished, runs the tools it called, and asks again until there is
// nothing left to do or only a person can go on.
package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"belay/models"
	"belay/models/route"
	"belay/session"
	"belay/session/permit"
	"belay/session/tools"
)

// Router makes a request and keeps at it.
type Router interface {
	Stream(ctx context.Context, need route.Need, build route.Build) iter.Seq2[models.Chunk, error]
}

// Log is where a turn's events go.
type Log interface {
	// Append stores events, all or none, before it publishes them.
	Append(ctx context.Context, events ...session.Event) error
	// Publish shows an event that is not stored.
	Publish(e session.Event)
	// SaveDraft stores what the model has said so far.
	SaveDraft(ctx context.Context, d session.Draft) error
	// Items is the conversation as it stands in the log.
	Items() []models.Item
}

// Gate decides which calls run, and asks the person.
type Gate interface {
	// Judge decides about a call by rules.
	Judge(c permit.Call) permit.Decision
	// Ask waits for a person's answer; ErrNobody means that there is no one.
	Ask(ctx context.Context, a session.Approval) (session.Answer, error)
	// Grant remembers rules for the project.
	Grant(ctx context.Context, rules []string) error
}

// ErrNonInteractive says that a question cannot be answered because nobody is there.
var ErrNonInteractive = errors.New("nobody is there to answer")

// Causes with which a turn's context is ended.
var (
	ErrStopped = errors.New("stopped by the user")
	ErrClosing = errors.New("belay is closing")
)

// Options are what a turn works with.
type Options struct {
	Router  Router
	Log     Log
	Gate    Gate
	Tools   *tools.Set
	Control *route.Control
	// Build makes the request for a model out of the conversation, and says how
	// many items it left out. Pressed asks for a slim one: heavy requests are the
	// first to find no room.
	Build func(m models.Model, pressed bool) (models.Request, int, error)
	// Prune takes weight off the conversation when it has grown too long; nil:
	// nothing does.
	Prune func(ctx context.Context) error
	Model func(models.Target) models.Model
	// Measured hears how many tokens a request took by our own count and by the
	// provider's; nil: nobody does.
	Measured func(t models.Target, ours, reported int64)
	// Ready is called before a call changes something, and may take a moment; nil:
	// nothing is to be waited for.
	Ready          func(ctx context.Context)
	Root           string // the workspace, links resolved
	Turn           int
	Purpose        models.Purpose // whose the requests are, for the record
	ParkRetry      bool           // the first request is a try of a parked turn by itself
	Force          bool           // the first request is a person's word
	Limits         Limits
	Wrote          bool                      // the turn has changed something before
	Spent          *Spent                    // what the task has taken so far; nil: nothing
	Unknown        map[string]session.Effect // by call id: begun before a crash, outcome not recorded
	NonInteractive bool                      // nobody watches: unknown outcomes are told to the model
	NetworkWait    time.Duration             // how long a lost connection is waited out; 0: as long as it takes
	Now            func() time.Time
	NewID          func() string
}

// turn is one run of the loop.
type turn struct {
	Options
	wrote  bool // this turn has changed something
	repeat map[string]*repeat

	mu sync.Mutex // guards repeat while calls run together
}

// Run carries a turn to its end. The conversation in the log says where it
// stands: calls without an output are run first, so a turn that was parked or
// cut short goes on from the last thing that was done.
func Run(ctx context.Context, o Options) session.TurnEnded {
	if o.Spent == nil {
		o.Spent = &Spent{}
	}
	t := &turn{Options: o, wrote: o.Wrote, repeat: map[string]*repeat{}}
	for {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		calls, old := open(o.Log.Items())
		for _, call := range old {
			if end := t.drop(ctx, call); end != nil {
				return *end
			}
		}
		if len(calls) > 0 {
			if end := t.run(ctx, calls); end != nil {
				return *end
			}
			continue
		}
		if end := t.limit(ctx); end != nil {
			return *end
		}
		if t.Prune != nil {
			if err := t.Prune(ctx); err != nil {
				return t.failed(ctx, err)
			}
		}
		done, err := t.ask(ctx)
		if err != nil {
			return t.failed(ctx, err)
		}
		if done {
			return session.TurnEnded{Outcome: session.OutcomeDone}
		}
	}
}

// open lists the calls of the conversation that have no output, and apart from
// them the old ones: those from before the user's last message. That message
// came after a stop, so they are no longer wanted.
func open(items []models.Item) (calls, old []models.Item) {
	answered := map[string]bool{}
	for _, it := range items {
		if it.Kind == models.Output {
			answered[it.CallID] = true
		}
	}
	for _, it := range items {
		if it.Kind == models.Message && it.Role == models.User {
			old, calls = append(old, calls...), nil
		}
		if it.Kind == models.Call && it.CallID != "" && !answered[it.CallID] {
			answered[it.CallID] = true
			calls = append(calls, it)
		}
	}
	return calls, old
}

// failed turns an error into the way the turn ends.
func (t *turn) failed(ctx context.Context, err error) session.TurnEnded {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	if errors.Is(err, route.ErrRetries) {
		return t.retried(err)
	}
	var parked *route.Parked
	if errors.As(err, &parked) {
		return session.TurnEnded{Outcome: session.OutcomeParked, Fault: parked.Fault, RetryAt: parked.Until, UserInitiated: parked.UserInitiated}
	}
	var fault *models.Fault
	if errors.As(err, &fault) {
		return session.TurnEnded{Outcome: session.OutcomeFailed, Fault: fault}
	}
	return session.TurnEnded{Outcome: session.OutcomeFailed, Reason: err.Error()}
}

func stopped(ctx context.Context) session.TurnEnded {
	cause := context.Cause(ctx)
	return session.TurnEnded{Outcome: session.OutcomeStopped, Reason: cause.Error(), Interrupted: errors.Is(cause, ErrClosing)}
}

// ask makes one request. It reports whether the model is done: it has said
// its words and called nothing.
func (t *turn) ask(ctx context.Context) (done bool, err error) {
	r := &reply{t: t, drafts: newDrafts(t.Log, t.Turn, t.Now)}
	defer r.drafts.stop()
	leftOut := 0
	build := func(m models.Model) (models.Request, error) {
		req, left, err := t.Build(m, r.full >= pressedAfter && r.ours > pressedAbove)
		leftOut, r.ours = left, req.Tokens
		return req, err
	}
	need := route.Need{Control: t.Control, Images: pictures(t.Log.Items()), Wrote: t.wrote, Operation: t.NewID(), NetworkWait: t.NetworkWait,
		Purpose: t.Purpose, ParkRetry: t.ParkRetry, Force: t.Force, Committed: func() bool { return r.committed > 0 }, TakeRetry: t.retry}
	t.Spent.Requests++
	for chunk, err := range t.Router.Stream(ctx, need, build) {
		if err != nil {
			// What was said before a stop is kept as well.
			return false, errors.Join(err, r.cut(ctx, nil))
		}
		again, err := r.take(ctx, chunk, leftOut)
		if err != nil {
			return false, err
		}
		if again {
			return false, nil
		}
	}
	return r.done, nil
}

// Under pressure, after so many attempts without room, a request of more than
// so many tokens goes out slim.
const (
	pressedAfter = 2
	pressedAbove = 64_000
)

func pictures(items []models.Item) bool {
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
	drafts *drafts

	target    models.Target
	tier      models.Tier
	held      []models.Item // finished, not committed
	committed int           // calls committed in this attempt
	calls     int           // calls in the whole reply
	text      strings.Builder
	reasoning strings.Builder
	call      string // the tool whose arguments are being written
	args      int    // their bytes so far
	done      bool
	ours      int64 // tokens of the request by our own count
	full      int   // attempts that found no room
}

// take handles a chunk. again means that the caller should begin anew: the
// attempt failed, but calls of it are committed and can be run.
func (r *reply) take(ctx context.Context, chunk models.Chunk, leftOut int) (again bool, err error) {
	log := r.t.Log
	switch c := chunk.(type) {
	case models.AttemptStarted:
		r.t.Force = false // a person's word is for one attempt
		r.target, r.tier, r.committed, r.calls, r.held = c.Target, c.Tier, 0, 0, nil
		log.Publish(session.AttemptStarted{Number: c.Number, Of: c.Of, Tier: c.Tier, Target: c.Target})
	case models.Opened:
		log.Publish(session.ReplyOpened{Target: r.target, Served: c.Served, RequestID: c.RequestID})
	case models.Resumed:
		log.Publish(session.ReplyResumed{Target: r.target})
	case models.TextDelta:
		r.text.WriteString(c.Text)
		r.drafts.save(r.draft())
		log.Publish(session.TextDelta{Text: c.Text})
	case models.ReasoningDelta:
		r.reasoning.WriteString(c.Text)
		r.drafts.save(r.draft())
		log.Publish(session.ReasoningDelta{Text: c.Text})
	case models.CallDelta:
		if c.CallID != "" && c.Name != "" {
			r.call = c.Name
		}
		r.args += len(c.Arguments)
		log.Publish(session.CallDelta{CallID: c.CallID, Name: c.Name, Bytes: r.args})
	case models.ItemDone:
		return false, r.item(ctx, c.Item)
	case models.Finished:
		r.done = r.calls == 0
		if r.done && !spoke(r.held) {
			return false, &models.Fault{Kind: models.KindStream, Scope: models.ScopeModel, Target: r.target, ServedModel: c.Served, RequestID: c.RequestID,
				Phase: models.AfterLastItem, Message: "the model ended its reply without a word", Hint: "try again, or choose another tier"}
		}
		model := r.t.Model(r.target)
		if r.t.Measured != nil {
			r.t.Measured(r.target, r.ours, c.Usage.Input)
		}
		r.t.ParkRetry = false
		r.t.Spent.Tokens += c.Usage.Input + c.Usage.Output
		r.t.Spent.Cost += model.Cost(c.Usage)
		return false, r.commit(ctx, session.ReplyEnded{Tier: r.tier, Target: r.target, Served: c.Served, RequestID: c.RequestID,
			Usage: c.Usage, Cost: model.Cost(c.Usage), Window: model.Window, LeftOut: leftOut})
	case models.AttemptFailed:
		if c.Fault.Kind == models.KindCapacity {
			r.full++
		}
		err := r.cut(ctx, &session.AttemptFailed{Number: c.Number, Of: c.Of, Tier: c.Tier, Target: c.Target, Fault: c.Fault, Next: c.Next, Delay: c.Delay})
		// After a choice of another tier as well: the next request must hold the
		// results of what was finished. When parked or stopped they wait.
		return r.committed > 0 && (c.Next == models.NextRetry || c.Next == models.NextSwitch), err
	case models.Waiting:
		log.Publish(session.Waiting{Number: c.Number, Of: c.Of, Until: c.Until, Target: c.Target, Fault: c.Fault})
	case models.Switched:
		return false, log.Append(ctx, session.Switched{From: c.From, To: c.To, FromTier: c.FromTier, ToTier: c.ToTier, Fault: c.Fault, Failback: c.Failback, FailbackDelay: c.FailbackDelay})
	default:
		return false, fmt.Errorf("take reply: unexpected %T", chunk)
	}
	return false, nil
}

// item holds a finished item back until a finished call, or the end of the
// reply, commits it.
func (r *reply) item(ctx context.Context, it models.Item) error {
	r.args, r.call = 0, ""
	if it.Kind == models.Call && r.t.used(it.CallID) {
		// Some servers count anew in every reply; two calls of one id would
		// count as one, and the second never run.
		it.CallID, it.Raw = "call_"+r.t.NewID(), nil
	}
	r.held = append(r.held, it)
	if it.Kind != models.Call {
		return nil
	}
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

// cut records what an attempt that ended badly had said.
func (r *reply) cut(ctx context.Context, failed *session.AttemptFailed) error {
	r.drafts.stop()
	var events []session.Event
	if d := r.draft(); d.Text != "" || d.Reasoning != "" || d.Call != "" {
		stop := errors.Is(context.Cause(ctx), ErrStopped)
		events = append(events, session.CutOff{Text: d.Text, Reasoning: d.Reasoning, Tool: d.Call, Stopped: stop})
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

func (r *reply) draft() session.Draft {
	return session.Draft{Text: r.text.String(), Reasoning: r.reasoning.String(), Call: r.call}
}

// forget drops what was said once it is recorded, or will be said again.
func (r *reply) forget() {
	r.drafts.stop()
	r.text.Reset()
	r.reasoning.Reset()
	r.held, r.call, r.args = nil, "", 0
}

// used reports whether the conversation has a call of this id already.
func (t *turn) used(id string) bool {
	return id == "" || slices.ContainsFunc(t.Log.Items(), func(it models.Item) bool { return it.Kind == models.Call && it.CallID == id })
}

func spoke(items []models.Item) bool {
	for _, it := range items {
		if it.Kind == models.Message && it.Text != "" {
			return true
		}
	}
	return false
}
