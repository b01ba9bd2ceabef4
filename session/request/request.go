// Package request decides what a model is asked: which part of a session's log
// a request holds, which system prompt stands before it, when older work is
// pruned or summarised, and how many tokens all that takes.
package request

import (
	"context"
	"sync/atomic"
	"time"

	"belay/context/systemprompt"
	"belay/context/tokens"
	"belay/context/window"
	"belay/models"
	"belay/models/route"
	"belay/session"
	"belay/session/store"
	"belay/session/tools"
)

// Options are what requests are made with. All but what says so are needed.
type Options struct {
	Store        *store.Store
	Router       *route.Router
	Model        func(models.Target) models.Model
	Counter      func(models.Model) Counter // counts as the model does
	Calibration  Calibration
	Window       func(models.Target) window.Limits
	Tools        func(root string) (*tools.Set, error)
	SystemPrompt func(ctx context.Context, root string) systemprompt.Prompt

	Reply       func(models.Target) Reply // nil: everything is left to the provider
	PrunePolicy PrunePolicy
	// Trigger is the share of the budget from which on the conversation is pruned
	// or summarised; 0: never.
	Trigger float64
	// FailureThreshold tells the size from which on requests fail; nil: nobody knows.
	FailureThreshold func(ctx context.Context) session.FailureThreshold
	// NetworkWait is how long a lost connection is waited out; 0: as long as it takes.
	NetworkWait time.Duration

	NewID func() string
}

// Counter measures requests in tokens.
type Counter interface {
	window.Counter
	Loaded() bool // otherwise it estimates
	Exact() bool  // its encoding is the model's own, and loaded
}

// Calibration learns how each target counts.
type Calibration interface {
	Calibrate(t models.Target, ours, reported int64)
	Factor(t models.Target) float64
	Measured(t models.Target) bool
}

// Factory makes requests for any session.
type Factory struct {
	o Options

	// failing is the size from which on requests fail, as it was read last.
	failing atomic.Pointer[session.FailureThreshold]
}

// NewFactory returns a Factory.
func NewFactory(o Options) *Factory {
	o.Model = o.Router.Model // it knows what an endpoint has stated, too
	return &Factory{o: o}
}

// content is what a request is made of.
type content struct {
	id            session.ID
	system        systemprompt.Prompt
	specs         []models.ToolSpec
	conversation  window.Conversation
	effort        string // that the session asks for; empty: as the settings say
	answerSchema  []byte // that the answer must fit; nil: it is free text
	underPressure bool   // it goes out pruned
	smallest      bool   // it goes out as short as it can be
	guess         int64  // tokens that are thought to be too many; 0: there is no such guess
}

// fit makes a request for a model.
func (f *Factory) fit(m models.Model, c content) (models.Request, window.Account, error) {
	limits := f.limits(m.Target)
	limits.UnderPressure = c.underPressure
	limits.Smallest = c.smallest
	limits.Guess = c.guess
	if len(c.answerSchema) > 0 {
		limits.Reserve += int64(tokens.Estimate(string(c.answerSchema)))
	}
	offered := m.Offered(c.specs)
	req, account, err := window.Fit(m, limits, f.counter(m.Target), c.system.Instructions, offered, c.conversation)
	reply := f.reply(m, c.effort)
	req.CacheKey = string(c.id)
	req.Effort = reply.Effort
	req.AnswerSchema = c.answerSchema
	req.MaxOutput = reply.MaxOutput
	req.Tokens = account.Total()
	return req, account, err
}

// counter counts as a target does.
func (f *Factory) counter(t models.Target) Counter { return f.o.Counter(f.o.Model(t)) }

// budget is how many tokens a request to a target may take.
func (f *Factory) budget(t models.Target) int64 { return f.limits(t).For(f.o.Model(t)) }

// limits bound a request in tokens as we count them: a target that counts more
// gets less.
func (f *Factory) limits(t models.Target) window.Limits {
	limits := f.o.Window(t)
	limits.Factor = f.o.Calibration.Factor(t)
	return limits
}

// Preferred is the target that a session's next request would go to first.
func (f *Factory) Preferred(s session.Session) models.Target {
	if s.PinnedTarget != (models.Target{}) {
		return s.PinnedTarget
	}
	return f.o.Router.First(s.Tier)
}

// fitted is a conversation in the form that requests are made of.
func fitted(c *session.Conversation) window.Conversation {
	t := window.Conversation{Items: c.Items(), Essentials: c.Essentials()}
	for _, h := range c.Head() {
		t.Head = append(t.Head, h.Item)
	}
	return t
}
