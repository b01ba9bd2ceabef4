// Package openai decides how a request goes over the wire to an
// OpenAI-compatible endpoint, and what of the reply can be relied on.
//
// It makes exactly one attempt: it never retries, waits for capacity or
// switches. A reply counts only when its terminal event has come. Until then its
// text is shown as deltas, and an item is handed over as done only when the
// endpoint has finished it. One that is cut by a limit hands over what was
// finished, its words so far included, before its fault.
//
// What the reason of an end means is one table, in ending.go. A reply that says
// nothing has not ended well whatever its reason.
//
// The phase of a fault is "before first event" until the reply's contents
// begin: the events that merely acknowledge a request do not count.
//
// # Dialects
//
// Endpoints differ in what they accept back: as whom notes travel, which call ids
// and roles they take, whether calls need reasoning. Each target is written to in
// its dialect, from one table; one that nobody knows gets the form that everybody
// takes. What a refusal teaches is remembered for its target, and the fault says so
// ([models.Fault].Adjusted): asking again then helps.
//
// # What the SDK carries
//
// Requests to the Responses API are openai-go's typed params, sent through its
// service: new replies, those taken up again, and their cancelling. Replies are
// taken raw by its WithResponseBodyInto.
//
// Not carried by it, and why:
//   - Streams are split into events in sse.go: the SDK's decoder does not know lines
//     that end with CR alone, nor errors that stand in a stream without a field.
//   - Events are read with a struct of a few fields: the SDK's union of all events
//     takes five times as long for a delta, and halves of a character that stand in
//     two of them are lost.
//   - Errors are read from the body by package diagnose. The SDK knows only errors
//     that are JSON objects, takes a stream that just ends for a whole one, and
//     response.failed for a success.
//   - Items of a whole reply are read from its raw JSON: one item that the SDK
//     does not know would hide all others.
//   - Chat Completions and the list of models live in its root package, which costs
//     minutes of building; they are plain net/http.
package openai

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"belay/models"
)

// Timeouts on silence. Each runs from one decoded event to the next; comments
// and unfinished lines do not extend it. A field of 0 takes the default.
type Timeouts struct {
	FirstEvent time.Duration // until the headers, and from there until the first event; 300 s
	Reasoning  time.Duration // while the model reasons; 300 s
	Text       time.Duration // between any other events; 120 s
	Local      time.Duration // the least First of a local endpoint, which may have to load the model; 120 s
}

// Options for New. Only Providers is needed.
type Options struct {
	Providers []models.Provider
	HTTP      *http.Client     // nil: one without a total time limit, for streams may last
	ID        func() string    // makes trace ids and missing call ids; nil: random UUIDs
	Now       func() time.Time // nil: time.Now
	Version   string           // of belay, for the User-Agent
	Timeouts  Timeouts

	// Lookup finds a provider that is not among Providers; nil: there are no others.
	Lookup func(name string) (models.Provider, bool)

	// Model tells what is known of a target; nil: nothing.
	Model func(models.Target) models.Model

	// Learned hears of everything that a refusal teaches of a target, as
	// [Client.Remember] takes it; nil: nobody keeps it.
	Learned func(target models.Target, name string)
}

// Client makes single attempts. It may be used by many goroutines.
type Client struct {
	providers atomic.Pointer[endpoints]
	lookup    func(name string) (models.Provider, bool) // may be nil
	http      *http.Client
	id        func() string
	now       func() time.Time
	userAgent string
	timeouts  Timeouts
	model     func(models.Target) models.Model
	learned   func(models.Target, string)
	memory    *memory
	work      sync.WaitGroup // requests that tell a provider to stop
}

var _ models.Client = (*Client)(nil)

// New makes a client for the given providers. It opens no connection.
func New(options Options) *Client {
	client := &Client{
		id:        options.ID,
		now:       options.Now,
		lookup:    options.Lookup,
		model:     options.Model,
		learned:   options.Learned,
		memory:    &memory{},
		userAgent: "belay/" + options.Version,
		timeouts: Timeouts{
			FirstEvent: 300 * time.Second,
			Reasoning:  300 * time.Second,
			Text:       120 * time.Second,
			Local:      120 * time.Second,
		},
	}
	client.SetProviders(options.Providers)
	if client.id == nil {
		client.id = uuid
	}
	if client.model == nil {
		client.model = func(t models.Target) models.Model { return models.Model{Target: t} }
	}
	if client.now == nil {
		client.now = time.Now
	}
	if options.Version == "" {
		client.userAgent = "belay"
	}
	for _, l := range []struct {
		to   *time.Duration
		from time.Duration
	}{
		{&client.timeouts.FirstEvent, options.Timeouts.FirstEvent},
		{&client.timeouts.Reasoning, options.Timeouts.Reasoning},
		{&client.timeouts.Text, options.Timeouts.Text},
		{&client.timeouts.Local, options.Timeouts.Local},
	} {
		if l.from > 0 {
			*l.to = l.from
		}
	}
	client.http = &http.Client{Transport: transport()}
	if options.HTTP != nil {
		own := *options.HTTP
		client.http = &own
	}
	if client.http.CheckRedirect == nil {
		// A redirected model endpoint is a mistake or a sign-in page; the key
		// does not go there.
		client.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return client
}

// endpoints are the providers that a client knows.
type endpoints struct {
	byName map[string]models.Provider
	names  []string
}

// SetProviders replaces the providers. Attempts under way keep theirs.
func (c *Client) SetProviders(list []models.Provider) {
	known := &endpoints{byName: map[string]models.Provider{}}
	for _, p := range list {
		known.byName[p.Name] = p
		known.names = append(known.names, p.Name)
	}
	c.providers.Store(known)
}

// Close waits for what abandoned requests still have to say, a few seconds at
// most.
func (c *Client) Close() { c.work.Wait() }

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Stream makes one attempt; see [models.Client]. The error of the last pair is
// always a *models.Fault.
func (c *Client) Stream(ctx context.Context, target models.Target, req models.Request) iter.Seq2[models.Chunk, error] {
	return func(yield func(models.Chunk, error) bool) {
		try, fault := c.attempt(ctx, target)
		if fault != nil {
			yield(nil, fault)
			return
		}
		defer try.close()
		try.yield = yield
		if err := try.run(req); err != nil && !errors.Is(err, errLeft) {
			yield(nil, try.fault(err))
		}
	}
}

// provider finds the target's provider or says what is wrong with it.
func (c *Client) provider(target models.Target) (models.Provider, *models.Fault) {
	known := c.providers.Load()
	p, ok := known.byName[target.Provider]
	if !ok && c.lookup != nil {
		p, ok = c.lookup(target.Provider)
	}
	if ok {
		return p, nil
	}
	return p, &models.Fault{
		Kind: models.KindModel, Scope: models.ScopeRequest, Phase: models.BeforeHeaders, Target: target,
		Code: "unknown_provider", Message: fmt.Sprintf("there is no provider %q in the settings", target.Provider),
		Hint:    fmt.Sprintf("Add [providers.%s] to the settings, or correct the name before the slash.", target.Provider),
		Nearest: models.Nearest(target.Provider, known.names),
	}
}
