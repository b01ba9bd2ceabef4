package ui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"belay/models"
	"belay/session"
)

var (
	sol   = models.Target{Provider: "openai", Model: "gpt-5.6-sol"}
	terra = models.Target{Provider: "openai", Model: "gpt-5.6-terra"}
	luna  = models.Target{Provider: "openai", Model: "gpt-5.6-luna"}
	noon  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
)

// fakeEngine is an engine and a library in memory. What happens in it is what the
// test emits; commands are noted and answered by reply.
type fakeEngine struct {
	mu        sync.Mutex
	now       time.Time
	sessions  map[session.ID]*session.Session
	logs      map[session.ID][]session.Record
	tiers     []models.Condition
	published chan []session.Record
	commands  chan string
	reply     func(w *fakeEngine, id session.ID, c session.Command)
	openErr   error
	opening   chan struct{} // Open waits until it is closed; nil: it does not
	hits      []session.Hit
	ids       int
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{
		now: noon, sessions: map[session.ID]*session.Session{}, logs: map[session.ID][]session.Record{},
		published: make(chan []session.Record, 256), commands: make(chan string, 64),
		tiers: []models.Condition{
			{Tier: models.Heavy, Target: sol, Short: "sol", State: models.Ready},
			{Tier: models.Medium, Target: terra, Short: "terra", State: models.Ready},
			{Tier: models.Light, Target: luna, Short: "luna", State: models.Ready},
		},
	}
}

func (w *fakeEngine) options() Options {
	return Options{
		Project: "/home/me/shop", Branch: func(context.Context) string { return "main*" }, Version: "0.1.0",
		Theme: "dark", Mode: session.Edits, Engine: w, Library: w,
		Now: w.clock, NewID: func() string { w.mu.Lock(); defer w.mu.Unlock(); w.ids++; return fmt.Sprint("p", w.ids) },
	}
}

func (w *fakeEngine) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fakeEngine) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *fakeEngine) add(id session.ID, title string, events ...session.Event) {
	w.mu.Lock()
	w.sessions[id] = &session.Session{}
	w.mu.Unlock()
	w.record(id, session.Created{Project: "/home/me/shop", Tier: models.Heavy, Mode: session.Edits})
	if title != "" {
		w.record(id, session.Renamed{Title: title})
	}
	w.record(id, events...)
}

// record puts events into a log; emit also publishes them.
func (w *fakeEngine) record(id session.ID, events ...session.Event) []session.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[id]
	var out []session.Record
	for _, e := range events {
		r := session.Record{Session: id, Turn: s.Turn, Time: w.now, Event: e}
		if _, ok := e.(session.TurnStarted); ok {
			r.Turn++
		}
		if _, _, err := session.Encode(e); err == nil { // it is durable
			r.Seq = s.LastSeq + 1
			s.Apply(r)
			w.logs[id] = append(w.logs[id], r)
		}
		out = append(out, r)
	}
	return out
}

func (w *fakeEngine) emit(id session.ID, events ...session.Event) {
	w.published <- w.record(id, events...)
}

func (w *fakeEngine) Start(context.Context, string) (session.Session, error) {
	w.mu.Lock()
	id := session.ID(fmt.Sprint("new", len(w.sessions)+1))
	w.mu.Unlock()
	w.add(id, "")
	return w.Load(context.Background(), id)
}

func (w *fakeEngine) Open(ctx context.Context, id session.ID, takeover bool) (session.Session, error) {
	if w.opening != nil {
		<-w.opening
	}
	if w.openErr != nil && !takeover {
		return session.Session{}, w.openErr
	}
	return w.Load(ctx, id)
}

func (w *fakeEngine) Do(_ context.Context, id session.ID, c session.Command) error {
	w.commands <- strings.TrimPrefix(fmt.Sprintf("%T", c), "session.")
	if w.reply != nil {
		w.reply(w, id, c)
	}
	return nil
}

func (w *fakeEngine) Next(ctx context.Context) ([]session.Record, error) {
	select {
	case r := <-w.published:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *fakeEngine) Tiers(session.ID) []models.Condition {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.tiers)
}

func (w *fakeEngine) Load(_ context.Context, id session.ID) (session.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sessions[id]
	if s == nil {
		return session.Session{}, fmt.Errorf("open session %s: there is none", id)
	}
	return *s, nil
}

func (w *fakeEngine) List(_ context.Context, f session.Filter) ([]session.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []session.Session
	for _, s := range w.sessions {
		if s.Archived == f.Archived && !s.Deleted.IsZero() == f.Deleted {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b session.Session) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out, nil
}

func (w *fakeEngine) Records(_ context.Context, id session.ID, before int64, limit, _ int) ([]session.Record, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.logs[id]
	end := min(int(before)-1, len(log))
	return slices.Clone(log[max(0, end-limit):end]), nil
}

func (w *fakeEngine) Search(_ context.Context, q string, _ session.Filter) ([]session.Hit, error) {
	return w.hits, nil
}

func (w *fakeEngine) Fork(_ context.Context, id session.ID, at int64) (session.Session, error) {
	w.add("fork", fmt.Sprintf("a fork at %d", at))
	return w.Load(context.Background(), "fork")
}

// Events of a usual turn.

func said(text string) session.Event {
	it := models.NewMessage(models.Assistant, text)
	it.Origin = models.Origin{Provider: "openai", Model: sol.Model}
	return session.ItemAdded{Item: it}
}

func calls(id, tool, args string) session.Event {
	return session.ItemAdded{Item: models.Item{Kind: models.Call, CallID: id, Name: tool, Arguments: args}}
}

func turn(text string) session.Event {
	return session.TurnStarted{Prompt: session.Prompt{ID: "x" + text, Text: text}}
}

const orderDiff = `--- a/orders/service.go
+++ b/orders/service.go
@@ -114,5 +114,5 @@
 	if err := o.Validate(); err != nil {
 		return 0, err
 	}
-	sum := round(l.Price)
-	return sum, nil
+	sum, err := PriceOf(o)
+	return sum, err
`

func usualTurn() []session.Event {
	return []session.Event{
		turn("refactor the orders module and cover it with tests"),
		said("The module mixes **pricing** and `storage`. I will read it first.\n\n- one rule lives twice\n- 端数は二回丸められる 👍\n"),
		calls("c1", "read", `{"path":"orders/service.go"}`),
		session.ToolStarted{Effect: session.Effect{CallID: "c1", Tool: "read", Title: "orders/service.go"}},
		session.ToolEnded{CallID: "c1", Tool: "read", Title: "orders/service.go", Summary: "212 lines",
			Output: "package orders", Duration: 4 * time.Millisecond},
		session.ToolEnded{CallID: "c2", Tool: "grep", Title: `"PriceOf("`, Summary: "14 hits",
			Duration: 110 * time.Millisecond},
		session.ToolEnded{CallID: "c3", Tool: "edit", Title: "orders/service.go", Summary: "1 edit", Diff: orderDiff,
			Duration: 12 * time.Millisecond},
		session.ToolEnded{CallID: "c4", Tool: "shell", Title: "go test ./orders/...", Summary: "exit 1", Error: true,
			Output: "--- FAIL: TestTotal\n    got 1299, want 1300\nFAIL", Duration: 3200 * time.Millisecond},
		session.ReplyEnded{Target: sol, Usage: models.Usage{Input: 41_210, Cached: 30_000, Output: 830}, Cost: 0.41,
			Window: 272_000},
	}
}

func capacityFault() *models.Fault {
	return &models.Fault{Kind: models.KindCapacity, Code: "server_is_overloaded", Phase: models.InText,
		RequestID: "req_8f2c", Target: sol,
		Message: "Selected model is at capacity. Please try a different model.", Hint: "It is full, not broken."}
}
