// Package agent decides how a turn goes on: it asks the model, keeps what the
// model finished, runs the tools it called, and asks again until there is
// nothing left to do or only a person can go on.
package agent

import (
	"context"
	"errors"
	"iter"
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
	// Ask waits for a person's answer; ErrNonInteractive means that there is nobody.
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
	// many items it left out. Under pressure it makes a shorter one: large requests
	// are the first to find no room.
	Build func(ctx context.Context, m models.Model, underPressure bool) (models.Request, int, error)
	// Shorten makes the requests that are built from now on shorter, because one was
	// refused as too long; false: they are as short as they can be. Nil: they are.
	Shorten func(refused *models.Fault) bool
	// Prune makes the conversation shorter when it has grown too long; nil: nothing
	// does.
	Prune func(ctx context.Context) error
	// Steer adds to the conversation, before a request, what a person wants to say
	// while the turn runs. It reports whether there was something; nil: there never is.
	Steer func(ctx context.Context) (bool, error)
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
	SwitchAfter    int            // capacity failures in a row before a target is left; 0: the router's own number
	ParkRetry      bool           // the first request is the automatic retry of a parked turn
	Force          bool           // a person wants the first request to go out, whatever is known of the target
	Limits         Limits
	Cost           func() float64            // what the task has cost so far, in US dollars: all of it, summaries too
	Failed         *models.Fault             // why a turn that goes on had ended; nil: it is new, or nobody knows
	Wrote          bool                      // the turn has changed something before
	Spent          *Spent                    // what the task has taken so far; nil: nothing
	Unknown        map[string]session.Effect // by call id: begun before a crash, outcome not recorded
	NonInteractive bool                      // nobody watches: the model is told of unknown outcomes
	NetworkWait    time.Duration             // how long a lost connection is waited out; 0: as long as it takes
	Now            func() time.Time
	NewID          func() string
}

// turn is one run of the loop.
type turn struct {
	Options
	wrote bool // this turn has changed something

	continuations int  // after replies that were cut by their length limit
	corrected     bool // the model was told that it wrote a call as text

	mu      sync.Mutex // guards repeats while calls run in parallel
	repeats map[string]*repeats
}

// Run carries a turn to its end. The conversation in the log says where it
// stands: calls without an output are run first, so a turn that was parked or
// cut short goes on from the last thing that was done.
func Run(ctx context.Context, options Options) session.TurnEnded {
	if options.Spent == nil {
		options.Spent = &Spent{}
	}
	t := &turn{Options: options, wrote: options.Wrote, repeats: map[string]*repeats{}}
	if options.Failed != nil {
		if _, end := t.goOn(ctx, options.Failed); end != nil {
			return *end
		}
	}
	for {
		if end := t.advance(ctx); end != nil {
			return *end
		}
	}
}

// advance does the next thing: the calls that are open, else a request. It
// returns nil while the turn goes on.
func (t *turn) advance(ctx context.Context) *session.TurnEnded {
	if ctx.Err() != nil {
		end := stopped(ctx)
		return &end
	}
	calls, old := openCalls(t.Log.Items())
	for _, call := range old {
		if end := t.drop(ctx, call); end != nil {
			return end
		}
	}
	if len(calls) > 0 {
		return t.runCalls(ctx, calls)
	}
	if end := t.checkLimits(ctx); end != nil {
		return end
	}
	if end := t.steer(ctx); end != nil {
		return end
	}
	done, err := t.pruneAndAsk(ctx)
	switch {
	case err != nil:
		goesOn, end := t.goOn(ctx, err)
		if end != nil || goesOn {
			return end
		}
		failed := t.failed(ctx, err)
		return &failed
	case done:
		return &session.TurnEnded{Outcome: session.OutcomeDone}
	}
	return nil
}

// steer takes in what a person says while the turn runs. After that the same calls may
// be made again.
func (t *turn) steer(ctx context.Context) *session.TurnEnded {
	if t.Steer == nil {
		return nil
	}
	steered, err := t.Steer(ctx)
	if err != nil {
		return t.unstorable(ctx, err)
	}
	if steered {
		clear(t.repeats)
	}
	return nil
}

func (t *turn) pruneAndAsk(ctx context.Context) (done bool, err error) {
	if t.Prune != nil {
		if err := t.Prune(ctx); err != nil {
			return false, err
		}
	}
	return t.ask(ctx)
}

// openCalls lists the calls of the conversation that have no output, and apart
// from them the old ones: those from before the user's last message. That
// message came after a stop, so they are no longer wanted.
func openCalls(items []models.Item) (calls, old []models.Item) {
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
		return t.outOfRetries(err)
	}
	var parked *route.Parked
	if errors.As(err, &parked) {
		return session.TurnEnded{
			Outcome: session.OutcomeParked, Fault: parked.Fault, RetryAt: parked.Until,
			UserInitiated: parked.UserInitiated,
		}
	}
	var fault *models.Fault
	if errors.As(err, &fault) {
		return session.TurnEnded{Outcome: session.OutcomeFailed, Fault: fault}
	}
	return session.TurnEnded{Outcome: session.OutcomeFailed, Reason: err.Error()}
}

func stopped(ctx context.Context) session.TurnEnded {
	cause := context.Cause(ctx)
	return session.TurnEnded{
		Outcome: session.OutcomeStopped, Reason: cause.Error(), Interrupted: errors.Is(cause, ErrClosing),
	}
}
