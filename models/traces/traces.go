// Package traces decides what OpenTelemetry is told of requests to models, by its
// semantic conventions for generative AI
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/): one span for each attempt, and
// one trace for all attempts at the same request. What was said is never part of it.
//
// The spans go out by OTLP over HTTP in its JSON form, which every collector takes.
// The exporter that OpenTelemetry offers would bring gRPC along, 8 MB of it.
package traces

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
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
		sdk.WithIDGenerator(operationIDs{}),
		sdk.WithSampler(sdk.AlwaysSample()),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("belay", trace.WithInstrumentationVersion(o.Version))}
}

// Stop sends what is left, as far as the context lets it.
func (t *Tracer) Stop(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Attempt tells of a request that was sent to a model. It never waits: what the
// collector does not take is dropped.
func (t *Tracer) Attempt(a models.Attempt) {
	ctx := context.WithValue(context.Background(), operationKey{}, a.Operation)
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

// operationKey is under which a context keeps the operation of an attempt.
type operationKey struct{}

// operationIDs give all attempts at one request the same trace.
type operationIDs struct{}

// NewIDs gives the ids of an attempt.
func (o operationIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	if operation, _ := ctx.Value(operationKey{}).(string); operation != "" {
		sum := sha256.Sum256([]byte(operation))
		copy(id[:], sum[:])
	} else {
		_, _ = rand.Read(id[:]) // never fails, says crypto/rand
	}
	return id, o.NewSpanID(ctx, id)
}

// NewSpanID gives the id of a span.
func (operationIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var id trace.SpanID
	_, _ = rand.Read(id[:])
	return id
}
