// Package gateway decides how other programs ask models through belay: as an
// OpenAI-compatible endpoint it takes Responses and Chat Completions, has the
// router wait, switch and pace for them, and answers in the protocol that was
// asked in.
//
// What holds of a reply:
//   - Nothing is sent to the client until the reply has really begun: with a word, a
//     summary of reasoning that was asked for, or a whole call. Whatever fails before
//     that is tried again, at other targets as well, for as long as [Options].Hold
//     says. A stream is kept open meanwhile by comments; a client that wants the reply
//     in one piece just waits, and for it a reply that breaks off in its middle is
//     written again as well.
//   - A call is sent when it is whole, never piece by piece: until then it can be
//     written again, and half of one is of no use to anybody.
//   - What breaks after the beginning is passed on as the API's own error: two halves
//     of two replies are not one.
//   - What a request says and belay cannot carry to the model is refused by its name,
//     never left out, unless it means nothing to the reply.
//   - Nothing is kept of a conversation: there is no previous_response_id. Reasoning
//     that only its maker can read goes to the client, sealed together with who made
//     it, and comes back with the next request.
//
// The package reads models/route's Need and Parked, for it is a second user of the one
// retry loop beside the agent; it has none of its own.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"belay/models"
	"belay/models/route"
)

// Router asks models for one reply, with all the waiting and switching that it takes.
type Router interface {
	Stream(ctx context.Context, need route.Need, build route.Build) iter.Seq2[models.Chunk, error]
}

// Options are what a Gateway works with. Router, Tiers, Now and NewID are needed.
type Options struct {
	Router  Router
	Tiers   func() map[models.Tier][]models.Target
	Offered func() []models.Target                                // other targets that may be asked by name; nil: none
	Known   func(provider string) bool                            // any model of it may be asked; nil: none
	Count   func(m models.Model, r models.Request) (tokens int64) // nil: nothing is counted

	Metrics http.Handler // what is told at /metrics; nil: nothing

	Token string // that every request must carry; empty: none, and only this computer is served

	Hold       time.Duration   // how long a beginning is waited for; 0: 4 min
	Ladder     []time.Duration // between tries, when the models gave way; empty: there is one try
	Comments   time.Duration   // of silence, after which a comment is sent; 0: 10 s
	WriteLimit time.Duration   // for a client to take what is written; 0: 30 s
	ReadLimit  time.Duration   // for a client to send its request; 0: 60 s
	MaxBody    int64           // bytes of a request; 0: 32 MiB
	MaxStreams int             // requests at once; 0: 256

	Now   func() time.Time
	NewID func() string
	Done  func(Exchange) // hears of every request to a model; nil: nobody does
}

// Exchange is a request to a model and what became of it.
type Exchange struct {
	API     models.API
	Asked   string        // the model as the client named it
	Target  models.Target // that answered, or was asked last
	Stream  bool
	Status  int           // HTTP
	Outcome Outcome       //
	Held    time.Duration // until the reply began
	Took    time.Duration
	Usage   models.Usage
	Code    string // of the error
}

// Outcome is how a request to the gateway ended.
type Outcome string

// The outcomes of requests.
const (
	Answered Outcome = "answered"
	Refused  Outcome = "refused" // before the reply began
	Broken   Outcome = "broken"  // after it began
	Left     Outcome = "left"    // the client went away
)

// Gateway is an OpenAI-compatible endpoint.
type Gateway struct {
	o        Options
	running  atomic.Int64 // requests to models
	waiting  atomic.Int64 // of them, those whose reply has not begun
	bodies   atomic.Int64 // bytes of requests that are being read or answered
	drain    chan struct{}
	drainOne sync.Once
}

const (
	defaultHold       = 4 * time.Minute
	defaultComments   = 10 * time.Second
	defaultWriteLimit = 30 * time.Second
	defaultReadLimit  = time.Minute
	defaultMaxBody    = 32 << 20
	defaultMaxStreams = 256
	maxBodies         = 16 // as many of the largest size may be in memory at once
)

// New makes a gateway. It starts nothing.
func New(o Options) *Gateway {
	for _, d := range []struct {
		to    *time.Duration
		usual time.Duration
	}{
		{&o.Hold, defaultHold}, {&o.Comments, defaultComments},
		{&o.WriteLimit, defaultWriteLimit}, {&o.ReadLimit, defaultReadLimit},
	} {
		if *d.to <= 0 {
			*d.to = d.usual
		}
	}
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.MaxStreams <= 0 {
		o.MaxStreams = defaultMaxStreams
	}
	if o.Offered == nil {
		o.Offered = func() []models.Target { return nil }
	}
	if o.Known == nil {
		o.Known = func(string) bool { return false }
	}
	if o.Done == nil {
		o.Done = func(Exchange) {}
	}
	return &Gateway{o: o, drain: make(chan struct{})}
}

// Drain lets replies that have begun come to their end, and refuses all others from
// now on.
func (g *Gateway) Drain() { g.drainOne.Do(func() { close(g.drain) }) }

func (g *Gateway) draining() bool {
	select {
	case <-g.drain:
		return true
	default:
		return false
	}
}

// Load is how busy the gateway is.
type Load struct {
	Streams int64 `json:"streams"` // requests to models
	Waiting int64 `json:"waiting"` // of them, those whose reply has not begun
}

// Load gives the requests under way.
func (g *Gateway) Load() Load { return Load{Streams: g.running.Load(), Waiting: g.waiting.Load()} }

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	now := g.o.Now()
	if r.ContentLength != 0 { // also of what is refused unread: net/http reads it before it answers
		_ = control.SetReadDeadline(now.Add(g.o.ReadLimit)) // one that cannot is not on a socket
	}
	_ = control.SetWriteDeadline(now.Add(g.o.ReadLimit + g.o.WriteLimit))
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == "/healthz" {
		g.health(w)
		return
	}
	if bad := g.admit(r); bad != nil {
		bad.write(w)
		return
	}
	path = strings.TrimPrefix(path, "/v1")
	name, one := strings.CutPrefix(path, "/models/")
	wanted := http.MethodPost
	if one || path == "/models" || path == "/metrics" && g.o.Metrics != nil {
		wanted = http.MethodGet
	}
	api := map[string]models.API{"/responses": models.Responses, "/chat/completions": models.Chat}[path]
	switch {
	case api == "" && wanted == http.MethodPost:
		invalidURL(r).write(w)
	case r.Method != wanted:
		w.Header().Set("Allow", wanted)
		(&refusal{
			status: http.StatusMethodNotAllowed, kind: invalidRequest, code: "method_not_supported",
			message: "Not allowed to " + r.Method + " on " + r.URL.Path + ".",
		}).write(w)
	case path == "/metrics":
		g.o.Metrics.ServeHTTP(w, r)
	case one:
		g.describeModel(w, name)
	case path == "/models":
		g.listModels(w)
	default:
		g.ask(w, r, api)
	}
}

func (g *Gateway) health(w http.ResponseWriter) {
	status, code := "ok", http.StatusOK
	if g.draining() {
		status, code = "draining", http.StatusServiceUnavailable
	}
	_ = writeJSON(w, code, struct { // whoever has gone needs no answer
		Status string `json:"status"`
		Load
	}{status, g.Load()})
}

// ask reads a request to a model and answers it.
func (g *Gateway) ask(w http.ResponseWriter, r *http.Request, api models.API) {
	if n := g.running.Add(1); n > int64(g.o.MaxStreams) || g.draining() {
		g.running.Add(-1)
		overloaded("the gateway answers as many requests as it may").write(w)
		return
	}
	defer g.running.Add(-1)
	g.waiting.Add(1)
	body, release, bad := g.readBody(w, r)
	defer release()
	var q *question
	if bad == nil {
		q, bad = parse(api, body)
	}
	var control *route.Control
	if bad == nil {
		control, bad = g.control(q.model)
	}
	if bad != nil {
		g.waiting.Add(-1)
		bad.write(w)
		return
	}
	g.answer(w, r, q, control)
}

// readBody reads a request within the bounds of its size and time.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), bad *refusal) {
	size := g.o.MaxBody
	if r.ContentLength >= 0 {
		size = min(r.ContentLength, g.o.MaxBody+1)
	}
	release = func() { g.bodies.Add(-size) }
	total := g.bodies.Add(size)
	if size > g.o.MaxBody {
		return nil, release, tooLarge(g.o.MaxBody)
	}
	if total > maxBodies*g.o.MaxBody {
		return nil, release, overloaded("the gateway holds as many bytes of requests as it may")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.o.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, release, tooLarge(g.o.MaxBody)
	case err != nil:
		return nil, release, &refusal{
			status: http.StatusRequestTimeout, kind: invalidRequest, message: "The request did not come to its end.",
		}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it would end the wait for a reply
	return body, release, nil
}

// control is a hand on the requests to what a name means: a tier, one target, or a
// model that is known.
func (g *Gateway) control(name string) (*route.Control, *refusal) {
	if tier, err := models.ParseTier(name); err == nil {
		return route.NewControl(tier), nil
	}
	target, ok := g.find(name)
	if !ok {
		return nil, g.unknownModel(name)
	}
	tiers := g.o.Tiers()
	at := max(slices.IndexFunc(models.Tiers(), func(t models.Tier) bool { return slices.Contains(tiers[t], target) }), 0)
	control := route.NewControl(models.Tiers()[at])
	control.Pin(target)
	return control, nil
}

// find is the target that a name means.
func (g *Gateway) find(name string) (models.Target, bool) {
	all := g.targets()
	target, err := models.ParseTarget(name)
	if err == nil && (slices.Contains(all, target) || g.o.Known(target.Provider)) {
		return target, true
	}
	for _, t := range all {
		if t.Model == name {
			return t, true
		}
	}
	return models.Target{}, false
}

// targets are those of the tiers, heavy first, and the others that are offered.
func (g *Gateway) targets() []models.Target {
	var list []models.Target
	tiers := g.o.Tiers()
	for _, tier := range models.Tiers() {
		list = append(list, tiers[tier]...)
	}
	var unique []models.Target
	for _, t := range append(list, g.o.Offered()...) {
		if !slices.Contains(unique, t) {
			unique = append(unique, t)
		}
	}
	return unique
}

// names are all that a request may name as its model.
func (g *Gateway) names() []string {
	var names []string
	for _, tier := range models.Tiers() {
		if len(g.o.Tiers()[tier]) > 0 {
			names = append(names, string(tier))
		}
	}
	for _, t := range g.targets() {
		names = append(names, t.String())
	}
	return names
}

type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func newModelObject(name string) modelObject {
	owner := "belay"
	if t, err := models.ParseTarget(name); err == nil {
		owner = t.Provider
	}
	return modelObject{ID: name, Object: "model", OwnedBy: owner}
}

func (g *Gateway) listModels(w http.ResponseWriter) {
	data := []modelObject{}
	for _, name := range g.names() {
		data = append(data, newModelObject(name))
	}
	_ = writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

func (g *Gateway) describeModel(w http.ResponseWriter, name string) {
	if _, bad := g.control(name); bad != nil {
		bad.write(w)
		return
	}
	_ = writeJSON(w, http.StatusOK, newModelObject(name))
}

func (g *Gateway) unknownModel(name string) *refusal {
	message := "The model '" + bounded(name) + "' does not exist here: name a tier (heavy, medium, light) or provider/model."
	known := g.names()
	for _, t := range g.targets() {
		known = append(known, t.Model)
	}
	if near := models.Nearest(name, known); len(near) > 0 {
		message += " Near it: " + strings.Join(near, ", ") + "."
	}
	return &refusal{
		status: http.StatusNotFound, kind: invalidRequest, code: "model_not_found", param: "model", message: message,
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil { // only foreign raw JSON could be at fault
		status, b = http.StatusInternalServerError, []byte(`{"error":{"message":"the reply cannot be written"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(append(b, '\n'))
	return err
}
