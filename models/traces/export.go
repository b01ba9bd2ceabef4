package traces

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exportTimeout is how long a collector may take for one export.
const exportTimeout = 10 * time.Second

// exporter sends spans by OTLP over HTTP in JSON; see
// https://opentelemetry.io/docs/specs/otlp/#otlphttp
type exporter struct{ o Options }

type otlpValue struct {
	String *string    `json:"stringValue,omitempty"`
	Int    *string    `json:"intValue,omitempty"` // 64 bits are text in JSON
	Array  *otlpArray `json:"arrayValue,omitempty"`
}

type otlpArray struct {
	Values []otlpValue `json:"values"`
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	ParentID   string          `json:"parentSpanId,omitempty"`
	Name       string          `json:"name"`
	Kind       int             `json:"kind"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes"`
	Status     otlpStatus      `json:"status"`
}

type otlpStatus struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type object = map[string]any

// ExportSpans sends spans; one try.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	var list []otlpSpan
	for _, s := range spans {
		list = append(list, otlp(s))
	}
	first := spans[0]
	scope := first.InstrumentationScope()
	body, err := json.Marshal(object{"resourceSpans": []object{{
		"resource": object{"attributes": attributes(first.Resource().Attributes())},
		"scopeSpans": []object{{
			"scope": object{"name": scope.Name, "version": scope.Version}, "spans": list,
		}},
	}}})
	if err != nil {
		return fmt.Errorf("write the spans: %w", err)
	}
	address := strings.TrimSuffix(e.o.Endpoint, "/") + "/v1/traces"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send the spans: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "belay/"+e.o.Version)
	for name, value := range e.o.Headers {
		request.Header.Set(name, value)
	}
	response, err := e.o.HTTP.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("send the spans: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	if response.StatusCode >= 300 {
		return fmt.Errorf("send the spans: HTTP status %d", response.StatusCode)
	}
	return nil
}

// Shutdown has nothing to end.
func (e *exporter) Shutdown(context.Context) error { return nil }

func otlp(s sdk.ReadOnlySpan) otlpSpan {
	status := otlpStatus{Message: s.Status().Description}
	if s.Status().Code == codes.Error {
		status.Code = 2 // STATUS_CODE_ERROR
	}
	parent := ""
	if s.Parent().HasSpanID() {
		parent = s.Parent().SpanID().String()
	}
	return otlpSpan{
		ParentID: parent, TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(),
		Name: s.Name(), Kind: int(s.SpanKind()), Status: status, Attributes: attributes(s.Attributes()),
		Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
	}
}

func attributes(list []attribute.KeyValue) []otlpAttribute {
	all := []otlpAttribute{}
	for _, kv := range list {
		var value otlpValue
		switch kv.Value.Type() {
		case attribute.INT64:
			value.Int = new(strconv.FormatInt(kv.Value.AsInt64(), 10))
		case attribute.STRINGSLICE:
			value.Array = &otlpArray{}
			for _, s := range kv.Value.AsStringSlice() {
				value.Array.Values = append(value.Array.Values, otlpValue{String: &s})
			}
		default:
			value.String = new(kv.Value.String())
		}
		all = append(all, otlpAttribute{Key: string(kv.Key), Value: value})
	}
	return all
}
