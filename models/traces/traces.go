// Package traces decides what OpenTelemetry is told of requests to models, by its
// semantic conventions for generative AI
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/): one span for each attempt, below
// one for the turn that it is a part of. Attempts outside of turns are in one trace with
// those at the same request. What was said is never part of it.
//
// The spans go out by OTLP over HTTP in its JSON form, which every collector takes.
// The exporter that OpenTelemetry offers would bring gRPC along, 8 MB of it.
package traces

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"belay/models"
)

// Options are where spans go, and as whose.
type Options struct {
	Endpoint string            // of a collector, such as http://127.0.0.1:4318
	Headers  map[string]string // of each export
	HTTP     http.RoundTripper
	Version  string // of belay
}

// Tracer tells of attempts. It may be used by many goroutines.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Start makes a tracer and begins to send spans in the background; Stop ends that.
func Start(o Options) *Tracer {
	// By default the library prints what fails, across the screen.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(&exporter{o: o}, sdk.WithBatchTimeout(5*time.Second), sdk.WithExportTimeout(exportTimeout)),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "belay"), attribute.String("service.version", o.Version),
		)),
		sdk.WithIDGenerator(knownIDs{}),
		sdk.WithSampler(sdk.AlwaysSample()),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("belay", trace.WithInstrumentationVersion(o.Version))}
}

// Stop sends what is left, as far as the context lets it.
func (t *Tracer) Stop(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Attempt tells of a request that was sent to a model. It never waits: what the
// collector does not take is dropped.
func (t *Tracer) Attempt(a models.Attempt) {
	ctx := context.WithValue(context.Background(), idsKey{}, ids{trace: a.Operation})
	if turn := turnIDs(a.Session, a.Turn, a.TurnBegan); turn != (ids{}) {
		ctx = trace.ContextWithSpanContext(ctx, turn.context())
	}
	const operation = "chat"
	_, span := t.tracer.Start(ctx, operation+" "+a.Model,
		trace.WithTimestamp(a.CreatedAt), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("gen_ai.operation.name", operation),
			attribute.String("gen_ai.provider.name", a.Provider),
			attribute.String("gen_ai.request.model", a.Model),
			attribute.Int("belay.retry_count", a.RetryCount),
		))
	for _, text := range []struct{ key, value string }{
		{"gen_ai.response.model", a.ServedModel},
		{"gen_ai.conversation.id", a.Session},
		{"belay.tier", string(a.Tier)},
		{"belay.fallback_model", a.FallbackModel},
	} {
		if text.value != "" {
			span.SetAttributes(attribute.String(text.key, text.value))
		}
	}
	if u, err := url.Parse(a.Endpoint); err == nil && u.Hostname() != "" {
		span.SetAttributes(attribute.String("server.address", u.Hostname()))
	}
	if a.Kind == "" || a.OutputTokens > 0 || a.Cost > 0 { // others are our own estimate
		span.SetAttributes(
			attribute.Int64("gen_ai.usage.input_tokens", a.InputTokens),
			attribute.Int64("gen_ai.usage.output_tokens", a.OutputTokens),
			attribute.Int64("gen_ai.usage.cache_read.input_tokens", a.CachedTokens),
		)
	}
	if a.Finish != "" {
		span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{a.Finish}))
	}
	if a.Kind != "" {
		span.SetAttributes(attribute.String("error.type", cmp.Or(a.ErrorCode, string(a.Kind))))
		span.SetStatus(codes.Error, a.Kind.Policy().Text)
	}
	span.End(trace.WithTimestamp(a.CreatedAt.Add(time.Duration(a.LatencyMS) * time.Millisecond)))
}

// Turn tells of a turn that has ended: the root of its attempts.
func (t *Tracer) Turn(turn models.Turn) {
	const operation, agent = "invoke_agent", "belay"
	root := turnIDs(turn.Session, turn.Turn, turn.TurnBegan)
	_, span := t.tracer.Start(context.WithValue(context.Background(), idsKey{}, root), operation+" "+agent,
		trace.WithTimestamp(turn.TurnBegan), trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(
			attribute.String("gen_ai.operation.name", operation),
			attribute.String("gen_ai.agent.name", agent),
			attribute.String("gen_ai.conversation.id", turn.Session),
			attribute.Int("belay.turn", turn.Turn),
			attribute.String("belay.outcome", turn.Outcome),
		))
	if f := turn.Fault; f != nil {
		span.SetAttributes(attribute.String("error.type", cmp.Or(f.Code, string(f.Kind))))
		span.SetStatus(codes.Error, f.Kind.Policy().Text)
	}
	span.End(trace.WithTimestamp(turn.Ended))
}

// ids are what the ids of a span are made of: the same gives the same. An empty one
// stands for chance.
type ids struct{ trace, span string }

// turnIDs are those of a turn; empty: it is none. A turn that goes on after it was parked
// has a trace of its own for each time.
func turnIDs(session string, number int, began time.Time) ids {
	if began.IsZero() {
		return ids{}
	}
	name := fmt.Sprint(session, "/", number, "/", began.UnixNano())
	return ids{trace: "turn " + name, span: "span " + name}
}

func (i ids) context() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: i.traceID(), SpanID: i.spanID(), TraceFlags: trace.FlagsSampled,
	})
}

func (i ids) traceID() (id trace.TraceID) {
	fill(id[:], i.trace)
	return id
}

func (i ids) spanID() (id trace.SpanID) {
	fill(id[:], i.span)
	return id
}

// fill makes an id of a name, or of chance.
func fill(id []byte, name string) {
	if name == "" {
		_, _ = rand.Read(id) // never fails, says crypto/rand
		return
	}
	sum := sha256.Sum256([]byte(name))
	copy(id, sum[:])
}

// idsKey is under which a context keeps the ids of a span.
type idsKey struct{}

// knownIDs give a span the ids that its context names.
type knownIDs struct{}

// NewIDs gives the ids of a span without a parent.
func (knownIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	i, _ := ctx.Value(idsKey{}).(ids)
	return i.traceID(), i.spanID()
}

// NewSpanID gives the id of a span with one.
func (knownIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return ids{}.spanID() }
