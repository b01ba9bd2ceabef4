package traces

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"belay/models"
)

// collector keeps the spans that it is sent.
type collector struct {
	mu     sync.Mutex
	header http.Header
	paths  []string
	spans  []otlpSpan
	names  []otlpAttribute // of the resource
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []otlpAttribute }
			ScopeSpans []struct{ Spans []otlpSpan }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header, c.paths = r.Header, append(c.paths, r.URL.Path)
	for _, rs := range sent.ResourceSpans {
		c.names = rs.Resource.Attributes
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	w.WriteHeader(http.StatusOK)
}

func text(list []otlpAttribute, key string) string {
	for _, a := range list {
		switch {
		case a.Key != key:
		case a.Value.String != nil:
			return *a.Value.String
		case a.Value.Int != nil:
			return *a.Value.Int
		case a.Value.Array != nil:
			return *a.Value.Array.Values[0].String
		}
	}
	return ""
}

func TestACollectorIsToldOfEachAttempt(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	tracer := Start(Options{
		Endpoint: server.URL + "/", Headers: map[string]string{"X-Team": "a"}, HTTP: http.DefaultTransport, Version: "1",
	})
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	tracer.Attempt(models.Attempt{
		Operation: "op", Provider: "openai", Model: "sol", Tier: models.Heavy, Kind: models.KindCapacity, InputTokens: 99,
		ErrorCode: "server_is_overloaded", CreatedAt: at, LatencyMS: 500, FallbackModel: "openai/terra",
	})
	tracer.Attempt(models.Attempt{
		Operation: "op", Provider: "openai", Model: "terra", ServedModel: "terra-1", Session: "s", RetryCount: 1,
		Endpoint: "https://api.example.com/v1", InputTokens: 100, CachedTokens: 40, OutputTokens: 10, Finish: "stop",
		CreatedAt: at.Add(time.Second), LatencyMS: 2000,
	})
	tracer.Attempt(models.Attempt{Operation: "other", Provider: "openai", Model: "sol", CreatedAt: at})
	if err := tracer.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) != 3 || c.paths[0] != "/v1/traces" || c.header.Get("X-Team") != "a" ||
		text(c.names, "service.name") != "belay" {
		t.Fatalf("got %+v at %v with %v as %v", c.spans, c.paths, c.header, c.names)
	}
	full, done, other := c.spans[0], c.spans[1], c.spans[2]
	if full.TraceID != done.TraceID || full.TraceID == other.TraceID || full.SpanID == done.SpanID ||
		len(full.TraceID) != 32 {
		t.Errorf("ids %+v", c.spans)
	}
	if full.Name != "chat sol" || full.Kind != 3 || full.Status.Code != 2 || done.Status.Code != 0 {
		t.Errorf("got %+v", full)
	}
	if done.Start != "1796126401000000000" || done.End != "1796126403000000000" {
		t.Errorf("from %s to %s", done.Start, done.End)
	}
	for _, want := range []struct {
		span       otlpSpan
		key, value string
	}{
		{full, "error.type", "server_is_overloaded"}, {full, "gen_ai.usage.input_tokens", ""},
		{full, "belay.fallback_model", "openai/terra"}, {full, "belay.tier", "heavy"},
		{done, "gen_ai.operation.name", "chat"}, {done, "gen_ai.provider.name", "openai"},
		{done, "gen_ai.request.model", "terra"}, {done, "gen_ai.response.model", "terra-1"},
		{done, "gen_ai.usage.input_tokens", "100"}, {done, "gen_ai.usage.output_tokens", "10"},
		{done, "gen_ai.response.finish_reasons", "stop"}, {done, "gen_ai.conversation.id", "s"},
		{done, "server.address", "api.example.com"}, {done, "error.type", ""}, {done, "belay.retry_count", "1"},
	} {
		if got := text(want.span.Attributes, want.key); got != want.value {
			t.Errorf("%s of %s is %q, want %q", want.key, want.span.Name, got, want.value)
		}
	}
}

func TestATurnIsTheRootOfItsAttempts(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	tracer := Start(Options{Endpoint: server.URL, HTTP: http.DefaultTransport})
	began := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	again := began.Add(time.Hour)
	full := &models.Fault{Kind: models.KindCapacity, Code: "server_is_overloaded"}
	for _, turn := range []models.Turn{
		{Ended: began.Add(time.Minute), Outcome: "parked", Fault: full, Purpose: models.Purpose{TurnBegan: began}},
		{Ended: again.Add(time.Minute), Outcome: "done", Purpose: models.Purpose{TurnBegan: again}},
	} {
		for _, operation := range []string{"a", "b"} {
			tracer.Attempt(models.Attempt{
				Operation: operation, Model: "sol", Session: "s", Turn: 3, TurnBegan: turn.TurnBegan, CreatedAt: turn.TurnBegan,
			})
		}
		turn.Session, turn.Turn = "s", 3
		tracer.Turn(turn)
	}
	if err := tracer.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) != 6 {
		t.Fatalf("%d spans", len(c.spans))
	}
	for _, part := range [][]otlpSpan{c.spans[:3], c.spans[3:]} {
		root := part[2]
		for _, attempt := range part[:2] {
			if attempt.TraceID != root.TraceID || attempt.ParentID != root.SpanID || attempt.SpanID == root.SpanID {
				t.Errorf("an attempt %+v is not below its turn %+v", attempt, root)
			}
		}
		if root.Name != "invoke_agent belay" || root.Kind != 1 || root.ParentID != "" || root.SpanID == part[0].SpanID {
			t.Errorf("%+v", root)
		}
	}
	parked, done := c.spans[2], c.spans[5]
	if parked.TraceID == done.TraceID || parked.SpanID == done.SpanID {
		t.Error("a turn that goes on has the ids that it had")
	}
	for _, want := range []struct {
		span       otlpSpan
		key, value string
	}{
		{parked, "gen_ai.operation.name", "invoke_agent"}, {parked, "gen_ai.agent.name", "belay"},
		{parked, "gen_ai.conversation.id", "s"}, {parked, "belay.turn", "3"}, {parked, "belay.outcome", "parked"},
		{parked, "error.type", "server_is_overloaded"}, {done, "error.type", ""}, {done, "belay.outcome", "done"},
	} {
		if got := text(want.span.Attributes, want.key); got != want.value {
			t.Errorf("%s of %s is %q, want %q", want.key, want.span.Name, got, want.value)
		}
	}
	if parked.Start != "1796126400000000000" || parked.End != "1796126460000000000" || parked.Status.Code != 2 {
		t.Errorf("%+v", parked)
	}
}

func TestACollectorThatIsNotThereIsNoTrouble(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	tracer := Start(Options{Endpoint: server.URL, HTTP: http.DefaultTransport})
	for range 10_000 {
		tracer.Attempt(models.Attempt{Model: "sol"})
	}
	_ = tracer.Stop(t.Context()) // what fails is dropped
}
