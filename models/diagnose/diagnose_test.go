package diagnose_test

import (
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"belay/models"
	"belay/models/diagnose"
)

const noCapacity = `{"error":{"message":"The system is currently experiencing high demand and cannot process your request. Your request exceeds the maximum usage size allowed during peak load. For improved capacity reliability, consider switching to Provisioned Throughput.","type":"","param":"","code":"no_capacity"}}`

func header(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestKind(t *testing.T) {
	html := header("Content-Type", "text/html")
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		event  string
		want   models.Kind
	}{
		{name: "no_capacity without a status", event: noCapacity, status: 200, want: models.KindCapacity},
		{name: "no_capacity with 429", body: noCapacity, status: 429, want: models.KindCapacity},
		{name: "nested error event", status: 200,
			event: `{"type":"error","sequence_number":2,"error":{"type":"service_unavailable_error","code":"server_is_overloaded","message":"m"}}`, want: models.KindCapacity},
		{name: "flat error event", status: 200, event: `{"type":"error","code":"slow_down","message":"m","param":null}`,
			want: models.KindCapacity},
		{name: "response.failed", status: 200,
			event: `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_is_overloaded","message":"m"}}}`, want: models.KindCapacity},
		{name: "response.failed without a code", status: 200,
			event: `{"type":"response.failed","response":{"status":"failed","error":null}}`, want: models.KindServer},
		{name: "response.failed with an unknown code", status: 200,
			event: `{"type":"response.failed","response":{"status":"failed","error":{"code":"vortex","message":"m"}}}`,
			want:  models.KindServer},
		{name: "anthropic overloaded", status: 529,
			body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`,
			want: models.KindCapacity},
		{name: "529 alone", status: 529, want: models.KindCapacity},
		{name: "503 alone", status: 503, want: models.KindCapacity},
		{name: "503 server_error", status: 503,
			body: `{"error":{"message":"The server is overloaded","type":"server_error","code":null}}`,
			want: models.KindCapacity},
		{name: "429 with peak load", status: 429,
			body: `{"error":{"message":"Too many requests during peak load","type":"too_many_requests"}}`,
			want: models.KindCapacity},
		{name: "gemini unavailable", status: 503,
			body: `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`, want: models.KindCapacity},
		{name: "gemini per minute", status: 429,
			body: `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`, want: models.KindRate},
		{name: "gemini per day", status: 429,
			body: `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`, want: models.KindUsage},
		{name: "openrouter number in a 200", status: 200,
			event: `{"error":{"code":503,"message":"Provider returned error","metadata":{"raw":"no room"}},"choices":[{"finish_reason":"error"}]}`, want: models.KindCapacity},
		{name: "openrouter rate in a 200", status: 200, event: `{"error":{"code":429,"message":"Provider returned error"}}`,
			want: models.KindRate},
		{name: "openrouter inner code", status: 502,
			body: `{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"code\":\"server_overloaded\"}}"}}}`, want: models.KindCapacity},
		{name: "ollama queue", status: 503,
			body: `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, want: models.KindCapacity},
		{name: "ollama model", status: 404, body: `{"error":"model 'nope' not found, try pulling it first"}`,
			want: models.KindModel},
		{name: "llama.cpp loading", status: 503,
			body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, want: models.KindCapacity},
		{name: "llama.cpp context", status: 400,
			body: `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size","type":"invalid_request_error"}}`, want: models.KindSize},
		{name: "detail at capacity", status: 400,
			body: `{"detail":"Selected model is at capacity. Please try a different model."}`, want: models.KindCapacity},
		{name: "plain text at capacity", status: 500, body: `Selected model is at capacity. Please try a different model.`,
			header: header("Content-Type", "text/plain"), want: models.KindCapacity},
		{name: "auth in capacity text", status: 401, body: `{"error":{"message":"Selected model is at capacity"}}`,
			want: models.KindAuth},
		{name: "expired token inside 503", status: 503,
			body: `{"error":{"message":"model at capacity: upstream says token expired"}}`, want: models.KindAuth},
		{name: "403 html", status: 403, header: html, body: "<!DOCTYPE html><html><title>Blocked</title>",
			want: models.KindAuth},
		{name: "gemini bad key in a 400", status: 400,
			body: `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`, want: models.KindAuth},
		{name: "rate", status: 429,
			body: `{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}`,
			want: models.KindRate},
		{name: "rate a day", status: 429,
			body: `{"error":{"message":"Rate limit reached on requests per day (RPD): Limit 200. Please try again in 7m12s.","type":"requests","code":"rate_limit_exceeded"}}`, want: models.KindUsage},
		{name: "larger than a minute's allowance", status: 429,
			body: `{"error":{"message":"Request too large for m on tokens per min (TPM)","type":"tokens","code":"rate_limit_exceeded"}}`, want: models.KindSize},
		{name: "429 alone", status: 429, want: models.KindRate},
		{name: "usage", status: 429,
			body: `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_in_seconds":3600}}`, want: models.KindUsage},
		{name: "quota", status: 429,
			body: `{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota"}}`, want: models.KindBilling},
		{name: "402", status: 402, body: `{"error":{"message":"Insufficient Balance"}}`, want: models.KindBilling},
		{name: "model not found", status: 404,
			body: `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, want: models.KindModel},
		{name: "404 without words", status: 404, want: models.KindModel},
		{name: "404 of another path", status: 404, body: "404 page not found\n",
			header: header("Content-Type", "text/plain"), want: models.KindRequest},
		{name: "size by code", status: 400, body: `{"error":{"message":"too long","code":"context_length_exceeded"}}`,
			want: models.KindSize},
		{name: "413", status: 413, want: models.KindSize},
		{name: "bad request", status: 400,
			body: `{"error":{"message":"Unknown parameter: 'x'.","type":"invalid_request_error"}}`, want: models.KindRequest},
		{name: "policy", status: 200,
			event: `{"type":"response.failed","response":{"error":{"code":"cyber_policy","message":"m"}}}`,
			want:  models.KindRequest},
		{name: "validation list", status: 422, body: `{"detail":[{"loc":["body"],"msg":"field required"}]}`,
			want: models.KindRequest},
		{name: "500", status: 500, body: `{"error":"boom"}`, want: models.KindServer},
		{name: "digits in an id are no status", status: 500, body: `{"error":{"message":"trace 429 req_503529 failed"}}`,
			want: models.KindServer},
		{name: "502 html", status: 502, header: html, body: "<html><head><title>502 Bad Gateway</title></head>",
			want: models.KindGateway},
		{name: "503 html", status: 503, header: html, body: "<html>", want: models.KindGateway},
		{name: "captive portal", status: 200, header: html, body: "<html><title>Sign in</title>", want: models.KindGateway},
		{name: "local relay", status: 500, body: "cc switch local proxy failed while handling codex endpoint /responses",
			want: models.KindGateway},
		{name: "local relay in JSON", status: 503,
			body: `{"error":{"message":"cc switch local proxy failed while handling codex endpoint /responses: model at capacity"}}`, want: models.KindGateway},
		{name: "redirect", status: 301, want: models.KindRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := c.header
			if h == nil {
				h = header()
			}
			f := diagnose.Fault(diagnose.Evidence{
				Status: c.status,
				Header: h,
				Body:   []byte(c.body),
				Event:  []byte(c.event),
				KeyEnv: "K",
			})
			if f.Kind != c.want {
				t.Errorf("kind %s, want %s (code %q type %q message %q)", f.Kind, c.want, f.Code, f.Type, f.Message)
			}
			if f.Hint == "" || f.Scope == "" {
				t.Errorf("hint %q, scope %q: both are needed", f.Hint, f.Scope)
			}
		})
	}
}

func TestKindOfBrokenConnections(t *testing.T) {
	refused := &url.Error{Op: "Post", URL: "http://h", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	stream := http.Header{"Content-Type": {"text/event-stream"}}
	for _, c := range []struct {
		name  string
		ev    diagnose.Evidence
		want  models.Kind
		scope models.Scope
	}{
		{"refused", diagnose.Evidence{Err: refused}, models.KindNetwork, models.ScopeNetwork},
		{"refused at home", diagnose.Evidence{Err: refused, Local: true}, models.KindAbsent, models.ScopeLocal},
		{"no such host", diagnose.Evidence{Err: &net.DNSError{}}, models.KindNetwork, models.ScopeNetwork},
		{"closed before headers", diagnose.Evidence{Err: io.EOF}, models.KindNetwork, models.ScopeNetwork},
		{"silent before headers", diagnose.Evidence{Err: diagnose.ErrSilent}, models.KindStream, models.ScopeModel},
		{"silent", diagnose.Evidence{Err: diagnose.ErrSilent, Status: 200, Header: stream}, models.KindStream,
			models.ScopeModel},
		{"unended", diagnose.Evidence{Err: diagnose.ErrUnended, Status: 200, Header: stream}, models.KindStream,
			models.ScopeModel},
		{"cut", diagnose.Evidence{Err: io.ErrUnexpectedEOF, Status: 200, Header: stream}, models.KindStream,
			models.ScopeNetwork},
		{"malformed", diagnose.Evidence{Err: diagnose.ErrMalformed, Status: 200, Header: stream}, models.KindStream,
			models.ScopeModel},
		{"short", diagnose.Evidence{Incomplete: "max_output_tokens", Status: 200, Header: stream}, models.KindIncomplete,
			models.ScopeRequest},
		{"cancelled", diagnose.Evidence{Cancel: errors.New("esc"), Err: io.EOF}, models.KindCancelled, models.ScopeRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := diagnose.Fault(c.ev)
			if f.Kind != c.want || f.Scope != c.scope {
				t.Errorf("got %s %s, want %s %s", f.Kind, f.Scope, c.want, c.scope)
			}
			if c.ev.Err != nil && c.ev.Cancel == nil && !errors.Is(f, c.ev.Err) {
				t.Errorf("the cause %v is lost", c.ev.Err)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		name    string
		header  []string
		message string
		fields  string
		stated  bool
		want    time.Duration
	}{
		{name: "nothing"},
		{name: "seconds", header: []string{"Retry-After", "7"}, stated: true, want: 7 * time.Second},
		{name: "decimal", header: []string{"Retry-After", "0.25"}, stated: true, want: 250 * time.Millisecond},
		{name: "milliseconds first", header: []string{"Retry-After", "7", "Retry-After-Ms", "1500"}, stated: true,
			want: 1500 * time.Millisecond},
		{name: "date", header: []string{"Retry-After", date(90 * time.Second)}, stated: true, want: 90 * time.Second},
		{name: "date by the server's clock",
			header: []string{"Retry-After", date(time.Hour + time.Minute), "Date", date(time.Hour)}, stated: true,
			want: time.Minute},
		{name: "date that has passed", header: []string{"Retry-After", date(-time.Hour)}, stated: true},
		{name: "zero", header: []string{"Retry-After", "0"}, stated: true},
		{name: "NaN", header: []string{"Retry-After", "NaN"}},
		{name: "infinite", header: []string{"Retry-After", "Inf"}},
		{name: "negative", header: []string{"Retry-After", "-3"}},
		{name: "overflow", header: []string{"Retry-After", "1e300"}},
		{name: "words", header: []string{"Retry-After", "soon"}},
		{name: "malformed before good", header: []string{"Retry-After-Ms", "x", "Retry-After", "2"}, stated: true,
			want: 2 * time.Second},
		{name: "malformed before text", header: []string{"Retry-After", "NaN"}, message: "Please try again in 1.2s.",
			stated: true, want: 1200 * time.Millisecond},
		{name: "text of OpenAI", message: "Please try again in 350ms. Visit …", stated: true, want: 350 * time.Millisecond},
		{name: "text of Azure", message: "Please retry after 20 seconds.", stated: true, want: 20 * time.Second},
		{name: "minutes", message: "try again in 6m0s", stated: true, want: 6 * time.Minute},
		{name: "hours", message: "Please try again in 1h12m3.5s", stated: true,
			want: time.Hour + 12*time.Minute + 3500*time.Millisecond},
		{name: "long words", message: "Try again in 4 days 3 hours and 2 minutes.", stated: true,
			want: 99*time.Hour + 2*time.Minute},
		{name: "text without a time", message: "try again later, error 20 seconds"},
		{name: "retry_after_seconds", fields: `"retry_after_seconds":3.5`, stated: true, want: 3500 * time.Millisecond},
		{name: "resets_in_seconds", fields: `"resets_in_seconds":3600`, stated: true, want: time.Hour},
		{name: "resets_at", fields: `"resets_at":1793534460`, stated: true, want: time.Minute},
		{name: "resets_at as date", fields: `"resets_at":"2026-11-01T12:05:00Z"`, stated: true, want: 5 * time.Minute},
		{name: "resets_at in the past", fields: `"resets_at":1793530800`, stated: true},
		{name: "resets_at overflow", fields: `"resets_at":1e99`},
		{name: "negative field", fields: `"retry_after_seconds":-1`},
		{name: "retryDelay", fields: `"details":[{"retryDelay":"34.5s"}]`, stated: true, want: 34500 * time.Millisecond},
		{name: "limits of -1 are unknown",
			header: []string{"X-Ratelimit-Remaining-Requests", "-1", "X-Ratelimit-Reset-Requests", "-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fields := c.fields
			if fields == "" {
				fields = `"x":1`
			}
			f := diagnose.Fault(diagnose.Evidence{
				Status: 429, Header: header(c.header...), Now: now,
				Body: []byte(`{"error":{"message":"` + c.message + `",` + fields + `}}`),
			})
			if f.Delayed != c.stated || f.RetryAfter != c.want {
				t.Errorf("got %v %v, want %v %v", f.Delayed, f.RetryAfter, c.stated, c.want)
			}
			if want := now.Add(c.want); c.stated && !f.ResetAt.Equal(want) {
				t.Errorf("reset at %v, want %v", f.ResetAt, want)
			}
		})
	}
}

func TestEvidenceIsKept(t *testing.T) {
	f := diagnose.Fault(diagnose.Evidence{
		Status: 503, Header: header("X-Request-Id", "req_1", "Cf-Ray", "ray", "X-Should-Retry", "false"),
		Body:   []byte(`{"error":{"message":"m","type":"t","code":"brand_new","param":"p"}}`),
		Served: "m-1", Phase: models.BeforeHeaders, Bytes: 3, Events: 2, Elapsed: time.Second,
	})
	if f.Code != "brand_new" || f.Type != "t" || f.Param != "p" || f.Message != "m" || f.RequestID != "req_1" ||
		f.ShouldRetry == nil || *f.ShouldRetry ||
		f.ServedModel != "m-1" ||
		f.Bytes != 3 ||
		f.Events != 2 ||
		f.Elapsed != time.Second ||
		f.Phase != models.BeforeHeaders ||
		!strings.Contains(f.Raw, "brand_new") {
		t.Errorf("got %+v", f)
	}
	f = diagnose.Fault(
		diagnose.Evidence{Status: 529, Body: []byte(`{"type":"error","error":{"message":"m"},"request_id":"req_2"}`)},
	)
	if f.RequestID != "req_2" {
		t.Errorf("request id %q, want req_2", f.RequestID)
	}
	for _, name := range []string{"Request-Id", "Apim-Request-Id", "Cf-Ray"} {
		if f := diagnose.Fault(diagnose.Evidence{Status: 500, Header: header(name, "x")}); f.RequestID != "x" {
			t.Errorf("%s is not kept", name)
		}
	}
}

func TestHintNamesTheKey(t *testing.T) {
	with := diagnose.Fault(diagnose.Evidence{Status: 401, Key: "secret-key", KeyEnv: "ACME_API_KEY"})
	without := diagnose.Fault(diagnose.Evidence{Status: 401, KeyEnv: "ACME_API_KEY"})
	if !strings.Contains(with.Hint, "ACME_API_KEY") || !strings.Contains(without.Hint, "Set ACME_API_KEY") {
		t.Errorf("hints %q and %q", with.Hint, without.Hint)
	}
}

func TestSecretsStayOut(t *testing.T) {
	const key = "mykey1234567"
	for _, secret := range []string{key, "sk-proj-abcdefghijkl_mno", "sk-abcde***********wxyz", "Bearer abc.def.ghi123",
		"AIzaSyA1234567890123456789012345678", "gsk_abcdefghijklmnop"} {
		for _, body := range []string{`{"error":{"message":"Incorrect API key provided: ` + secret + `."}}`,
			"oops " + secret + " oops"} {
			f := diagnose.Fault(
				diagnose.Evidence{Status: 401, Key: key, Body: []byte(body), Err: errors.New("post " + secret)},
			)
			bare := strings.TrimPrefix(secret, "Bearer ")
			for field, got := range map[string]string{"raw": f.Raw, "message": f.Message, "err": f.Err.Error(),
				"error": f.Error()} {
				if strings.Contains(got, bare) {
					t.Errorf("%s holds the secret: %q", field, got)
				}
			}
		}
	}
}

func TestRawIsBounded(t *testing.T) {
	f := diagnose.Fault(diagnose.Evidence{Status: 500, Body: []byte(strings.Repeat("ü", 1<<20))})
	if len(f.Raw) > 9000 || !utf8.ValidString(f.Raw) || len(f.Message) > 3000 {
		t.Errorf("raw %d bytes, message %d bytes", len(f.Raw), len(f.Message))
	}
}

func TestSpell(t *testing.T) {
	for _, c := range []struct{ got, want, says string }{
		{"a", "a", ""}, {"gpt-Sol", "gpt-sol", `character 5: "gpt-Sol" has a capital "S", "gpt-sol" has "s"`},
		{"sol ", "sol", "has a space"}, {"s\u200bol", "sol", "U+200B"}, {"so", "sol", `"so" ends`},
	} {
		if got := diagnose.Spell(c.got, c.want); !strings.Contains(got, c.says) || (c.says == "") != (got == "") {
			t.Errorf("Spell(%q, %q) = %q, want %q", c.got, c.want, got, c.says)
		}
	}
}

func FuzzFault(f *testing.F) {
	f.Add(429, noCapacity, "", "7")
	f.Add(200, "", `{"type":"error","error":{"code":503,"metadata":{"raw":"{}"}}}`, "NaN")
	f.Add(400, `{"detail":[{"msg":"x"}]}`, "", "Mon, 01 Jan 2024 00:00:00 GMT")
	f.Add(500, `[{"error":{"details":[{"violations":[{"quotaId":"PerDay"}],"retryDelay":"9s"}]}}]`, "", "1e99")
	f.Add(403, "<html><title>x</title>", "", "-1")
	f.Add(401, `{"error":"{\"error\":{\"message\":\"sk-abcdefghijklmnop\"}}"}`, "", "")
	f.Add(429, relayed(`{"error":{"message":"x","code":429}}`), "", "6m0s")
	f.Add(400, failed(`Upstream: {"error":{"message":"prompt is too long: 9 > 8k"}}`), "", "1793534460000")
	f.Add(422, `{"detail":[{"loc":["body",1],"msg":{"a":[]}}]}`, "", "2026-11-01T12:05:00Z")
	f.Add(404, "<html><title>Error</title><pre>Cannot POST /x</pre>", "", "")
	f.Add(403, "<?xml?><Error><Message>m</Message></Error>", "", "")
	f.Add(500, "event: error\ndata: {\"error\":[\"a\",{\"b\":1}]}\n\n", "", "")
	f.Add(200, `{"base_resp":{"status_code":1039,"status_msg":"token limit exceeded: 5"}}`, "", "")
	f.Fuzz(func(t *testing.T, status int, body, event, after string) {
		fault := diagnose.Fault(diagnose.Evidence{
			Status: status, Body: []byte(body), Event: []byte(event),
			Header: http.Header{"Retry-After": {after}, "X-Ratelimit-Reset": {after}, "Location": {after}},
			Now:    time.Unix(1e9, 0), Key: "s3cr3t-k3y",
		})
		if fault.Kind == "" || fault.Scope == "" {
			t.Errorf("kind %q, scope %q", fault.Kind, fault.Scope)
		}
		if fault.RetryAfter < 0 || fault.RetryAfter > math.MaxInt64/2 || !fault.Delayed && fault.RetryAfter != 0 {
			t.Errorf("delay %v", fault.RetryAfter)
		}
		if fault.WindowLimit < 0 || fault.RequestTokens < 0 || fault.RequestTokens > 0 && fault.WindowLimit == 0 {
			t.Errorf("%d tokens where %d fit", fault.RequestTokens, fault.WindowLimit)
		}
		if strings.Contains(fault.Raw+fault.Message+fault.Code, "s3cr3t-k3y") {
			t.Error("the key is in the fault")
		}
		if !utf8.ValidString(fault.Raw) || len(fault.Raw) > 9<<10 {
			t.Errorf("raw of %d bytes", len(fault.Raw))
		}
	})
}
