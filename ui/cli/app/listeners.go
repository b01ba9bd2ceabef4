package app

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"belay/models"
	"belay/models/metrics"
	"belay/models/traces"
)

// listeners are told of requests to models, and of turns, beside the record.
type listeners struct {
	metrics *metrics.Metrics // nil: nobody looks
	tracer  *traces.Tracer   // nil: no collector is named
}

func (l listeners) attempt(a models.Attempt) {
	if l.metrics != nil {
		l.metrics.Attempt(a)
	}
	if l.tracer != nil {
		l.tracer.Attempt(a)
	}
}

func (l listeners) turn(t models.Turn) {
	if l.tracer != nil {
		l.tracer.Turn(t)
	}
}

// tracesLimit is how long a collector may take at the end.
const tracesLimit = 3 * time.Second

// close sends what is left. A collector that is not there must not fail the work.
func (l listeners) close() {
	if l.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracesLimit)
	defer cancel()
	_ = l.tracer.Stop(ctx)
}

// tracer tells the collector of the settings; nil: there is none. What scripts play is
// told to nobody.
func (b *builder) tracer() *traces.Tracer {
	if b.settings.Telemetry.OTLP == "" || b.options.Rehearsal != "" {
		return nil
	}
	roundTripper, err := networkTransport(os.Getenv)
	if err != nil {
		return nil // what is wrong was said when the way to the models was opened
	}
	return traces.Start(traces.Options{
		Endpoint: b.settings.Telemetry.OTLP,
		Headers:  exportHeaders(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")),
		HTTP:     roundTripper,
		Version:  b.env.Version,
	})
}

// exportHeaders reads headers as OpenTelemetry writes them in its variable: a=b,c=d.
func exportHeaders(text string) map[string]string {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return headers
}

// MetricsHandler tells Prometheus of the app's requests; nil unless the app was opened
// with Metrics.
func (a *App) MetricsHandler() http.Handler {
	if a.listeners.metrics == nil {
		return nil
	}
	return a.listeners.metrics.Handler()
}
