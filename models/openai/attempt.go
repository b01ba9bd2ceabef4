package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"belay/models"
	"belay/models/diagnose"
	"belay/models/redact"
)

var (
	errLeft   = errors.New("the caller left") // yield returned false
	errSilent = errors.New("silent")          // the cause with which the watch cancels
)

// apiError is an error that the endpoint itself reported.
type apiError struct {
	event      []byte // inside a stream or a reply with a good status
	body       []byte // of a reply with a bad status, or that is no reply at all
	incomplete string // the reason of an incomplete reply
}

func (t *apiError) Error() string { return "the endpoint reported an error" }

// attempt is one request and the reading of its reply.
type attempt struct {
	c        *Client
	ctx      context.Context // ends with the attempt
	parent   context.Context
	cancel   context.CancelCauseFunc
	provider models.Provider
	target   models.Target
	origin   models.Origin
	dialect  dialect
	tools    map[string]bool   // the names offered
	freeform map[string]string // of those called with text: the parameter that it is the value of
	pictures bool              // the request holds some
	formed   bool              // the request asks for an answer by a schema
	calls    map[string]bool   // ids of calls, those in the history included
	traceID  string
	yield    func(models.Chunk, error) bool

	begin  time.Time
	watch  *time.Timer
	limit  time.Duration // in force, for the message
	phase  models.Phase
	res    *http.Response
	status int
	header http.Header
	bytes  int64
	tally  tally
	items  int // finished

	operation  string
	keepsReply bool  // the provider was asked to keep the reply
	lastEvent  int64 // number of the newest event; below 0 before the first
	resumes    int   // connections taken up again
	ended      bool  // the provider has said how the reply ended

	usage   models.Usage    // as far as the endpoint has stated it
	said    strings.Builder // the words of finished messages
	called  bool            // a finished call was handed over
	torn    []string        // tools of calls that an incomplete reply did not finish
	closing bool            // the reply is over but for its usage

	opened                        bool
	served, requestID, responseID string
	statedModel                   string // as the endpoint wrote it, which may repeat a key
}

func (c *Client) attempt(ctx context.Context, target models.Target) (*attempt, *models.Fault) {
	provider, fault := c.provider(target)
	if fault != nil {
		return nil, fault
	}
	api := provider.API
	if api == "" {
		api = models.Responses
	}
	a := &attempt{
		c: c, parent: ctx, provider: provider, target: target, phase: models.BeforeHeaders,
		begin: c.now(), traceID: c.id(), lastEvent: -1,
		origin:  models.Origin{Provider: provider.Name, API: api, Model: target.Model},
		dialect: findDialect(provider.BaseURL, c.model(target)),
	}
	// Servers on this computer constrain every reply by the schema, also those that
	// should be calls of tools.
	a.dialect.answersInText = provider.Local && api == models.Chat && c.model(target).Dialect == ""
	c.memory.apply(target, &a.dialect)
	a.connect()
	return a, nil
}

// connect makes what one connection needs.
func (a *attempt) connect() {
	ctx, cancel := context.WithCancelCause(a.parent)
	a.ctx, a.cancel = ctx, cancel
	a.watch = time.AfterFunc(time.Hour, func() { cancel(errSilent) })
	a.watch.Stop()
}

// close ends the attempt and frees the connection.
func (a *attempt) close() {
	a.disconnect()
	a.abandon()
}

func (a *attempt) disconnect() {
	a.watch.Stop()
	a.cancel(nil)
	if a.res != nil && a.res.Body != nil {
		_ = a.res.Body.Close()
	}
}

// run sends the request and reads the reply.
func (a *attempt) run(req models.Request) error {
	a.freeform = map[string]string{}
	a.tools, a.calls, a.operation = map[string]bool{}, map[string]bool{}, req.Operation
	for _, t := range req.Tools {
		a.tools[t.Name] = true
		if t.Freeform != nil {
			a.freeform[t.Name] = t.Freeform.Parameter
		}
	}
	for i := range req.Items {
		a.pictures = a.pictures || len(req.Items[i].Images) > 0
		if req.Items[i].Kind == models.Call {
			a.calls[req.Items[i].CallID] = true
		}
	}
	var err error
	a.startClock()
	a.res, err = a.send(req)
	a.stopClock()
	if err != nil {
		return err
	}
	a.phase, a.status, a.header = models.BeforeEvent, a.res.StatusCode, a.res.Header
	a.requestID = diagnose.RequestID(a.header, a.provider.Key)
	in, form, err := a.detectForm()
	if err != nil {
		return err
	}
	switch form {
	case formStream:
		if a.origin.API == models.Chat {
			return a.readChat(in)
		}
		return a.readResponses(in)
	case formJSON:
		return a.readWhole(in)
	}
	return a.readUnexpected(in)
}

// startClock starts the clock on the endpoint's silence, rest stops it: the time that
// the caller takes for a chunk is not the endpoint's.
func (a *attempt) startClock() {
	timeouts := a.c.timeouts
	if a.closing {
		a.limit = min(timeouts.Text, usageTimeout)
		a.watch.Reset(a.limit)
		return
	}
	switch a.phase {
	case models.BeforeHeaders, models.BeforeEvent:
		a.limit = timeouts.FirstEvent
		if a.provider.Local {
			a.limit = max(timeouts.FirstEvent, timeouts.Local)
		}
	case models.InReasoning:
		a.limit = timeouts.Reasoning
	default:
		a.limit = timeouts.Text
	}
	a.watch.Reset(a.limit)
}

func (a *attempt) stopClock() { a.watch.Stop() }

// usageTimeout is how long a Chat reply that is over may take to state its usage.
const usageTimeout = 10 * time.Second

// emit hands a chunk over.
func (a *attempt) emit(c models.Chunk) error {
	if !a.yield(c, nil) {
		return errLeft
	}
	return nil
}

// takeServed takes the name of the model that answers. Most events repeat it.
func (a *attempt) takeServed(name string) {
	if name == "" || name == a.statedModel {
		return
	}
	a.statedModel = name
	a.served = redact.New(a.provider.Key).Text(name)
}

// emitOpened says once that the reply begins.
func (a *attempt) emitOpened() error {
	if a.opened {
		return nil
	}
	a.opened = true
	return a.emit(models.Opened{Served: a.served, RequestID: a.requestID, ResponseID: a.responseID})
}

// emitItem hands a finished item over.
func (a *attempt) emitItem(it models.Item) error {
	if a.items++; a.items > bounds[items].limit {
		return within(items, a.items)
	}
	it.Origin = a.origin
	switch it.Kind {
	case models.Message:
		a.said.WriteString(it.Text)
	case models.Call:
		a.called = true
	}
	return a.emit(models.ItemDone{Item: it})
}

// emitFinished ends a reply that came to its proper end, if it says anything.
func (a *attempt) emitFinished() error {
	said := a.said.String()
	if strings.TrimSpace(said) == "" && !a.called {
		return diagnose.ErrEmpty
	}
	if err := a.emitOpened(); err != nil {
		return err
	}
	finished := models.Finished{
		Usage: a.usage, Served: a.served, RequestID: a.requestID, ResponseID: a.responseID,
	}
	if !a.called {
		finished.WrittenCall, _ = writtenCall(said, a.tools)
	}
	return a.emit(finished)
}

// fault turns what ended the attempt into a Fault.
func (a *attempt) fault(err error) *models.Fault {
	ev := diagnose.Evidence{
		Target: a.target, Host: a.host(), Local: a.provider.Local, Key: a.provider.Key, KeyEnv: a.provider.KeyEnv,
		Status: a.status, Header: a.header, Phase: a.phase, Served: a.served,
		Bytes: a.bytes, Events: int64(a.tally[events]), Now: a.c.now(), API: a.origin.API, Path: a.basePath(),
	}
	ev.Elapsed = ev.Now.Sub(a.begin)
	var t *apiError
	switch {
	case a.parent.Err() != nil:
		ev.Cancel = context.Cause(a.parent)
	case errors.As(err, &t):
		ev.Event, ev.Body, ev.Incomplete = t.event, t.body, t.incomplete
	case errors.Is(context.Cause(a.ctx), errSilent):
		ev.Err = fmt.Errorf("%w: nothing for %v", diagnose.ErrSilent, a.limit)
	default:
		ev.Err = err
	}
	fault := diagnose.Fault(ev)
	fault.Usage = a.usage
	if fault.Kind == models.KindIncomplete {
		fault.Torn = a.torn
	}
	a.adjust(fault)
	return fault
}

func (a *attempt) host() string { return a.baseURL().Host }

func (a *attempt) basePath() string { return a.baseURL().Path }

func (a *attempt) baseURL() *url.URL {
	u, err := url.Parse(a.provider.BaseURL)
	if err != nil {
		return &url.URL{}
	}
	return u
}
