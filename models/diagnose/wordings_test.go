package diagnose_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/models/diagnose"
)

// failed is an error object: its message, and pairs of other fields.
func failed(message string, fields ...string) string {
	object := map[string]string{"message": message}
	for i := 0; i < len(fields); i += 2 {
		object[fields[i]] = fields[i+1]
	}
	b, err := json.Marshal(map[string]any{"error": object})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// relayed is what a relay says of the provider behind it.
func relayed(raw string) string {
	b, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": 502, "message": "Provider returned error", "metadata": map[string]string{"raw": raw},
	}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

type reply struct {
	status int
	body   string
}

// The wordings of the field, by the kind that a person gives them.
func TestWordings(t *testing.T) {
	for kind, replies := range map[models.Kind][]reply{
		models.KindSize: {
			{400, failed("The maximum context length is 8000 tokens, you asked for 9000.")},
			{400, failed("prompt is too long: 9000 tokens > 8000 maximum")},
			{400, failed("The input token count (9000) exceeds the maximum of 8000.", "status", "INVALID_ARGUMENT")},
			{400, failed("Your request exceeded model token limit: 8000")},
			{400, failed("prompt token count of 9000 exceeds the limit of 8000")},
			{400, failed("Too long.", "code", "model_max_prompt_tokens_exceeded")},
			{400, failed("Too long.", "type", "too_many_prompt_tokens")},
			{400, failed("Range of input length should be [1, 8000]", "code", "invalid_parameter_error")},
			{400, failed("Prompt exceeds max length", "code", "1261")},
			{400, failed("model max length exceeded, max length:8000")},
			{400, failed("max_tokens must be at least 1, got -905.")},
			{400, failed("max_completion_tokens must be positive, got -3")},
			{400, failed("The number of input tokens 9000 cannot exceed the total tokens limit 8000.")},
			{400, failed("The prompt (length 9000) is longer than the maximum model length of 8000.")},
			{400, failed("Please reduce the length of the messages.")},
			{400, failed("The total length of all messages is too long.")},
			{500, failed("Context size has been exceeded.", "type", "server_error")},
			{400, `{"error":"n_keep: 900 >= n_ctx: 800: greater than the context length"}`},
			{413, failed("Larger than we take.", "code", "tokens_limit_reached")},
			{429, failed("Request too large on tokens per min: Limit 100, Requested 200. See https://h/billing",
				"code", "rate_limit_exceeded")},
			{502, relayed(`{"error":{"message":"prompt is too long"}}`)},
		},
		models.KindRate: {
			{429, failed("Too many tokens, please wait.")},
			{429, failed("Limit: 3 / min. Add a payment method to increase it.", "type", "requests")},
			{429, failed("High concurrency usage of this API", "code", "1302")},
			{429, failed("Rate limit on tokens per minute. More at https://h/settings/billing",
				"code", "rate_limit_exceeded")},
			{429, `{"error":{"message":"Exceeded your current quota, see plan and billing details.",` +
				`"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"CallsPerMinute"}]}]}}`},
			{429, `{"error":{"message":"You exceeded your current quota, see your plan.",` +
				`"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"30s"}]}}`},
			{429, failed("Requests rate limit exceeded", "code", "Throttling.RateQuota")},
			{429, failed("Too fast.", "code", "RateLimitExceeded.EndpointRPMExceeded")},
			{502, relayed(`{"error":{"message":"slower, please","code":429}}`)},
			{200, `{"base_resp":{"status_code":1002,"status_msg":"rate limit"},"choices":null}`},
		},
		models.KindUsage: {
			{429, failed("Rate limit exceeded: free-models-per-day. Add 10 credits for more.")},
			{429, failed("You have reached your session usage limit, please wait or upgrade")},
			{429, failed("You have reached your weekly limit.")},
			{403, failed("You've reached your usage limit for this billing cycle.")},
			{429, failed("hour allocated quota exceeded", "code", "insufficient_quota")},
			{400, failed("You're out of extra usage. Add more and keep going.")},
			{429, `{"error":{"message":"quota","status":"RESOURCE_EXHAUSTED",` +
				`"details":[{"violations":[{"quotaId":"CallsPerDay"},{"quotaId":"CallsPerMinute"}]}]}}`},
		},
		models.KindBilling: {
			{403, failed("Your team has used all available credits.", "code", "permission-denied")},
			{403, `{"code":"x","error":"You have run out of credits, or need a Plus subscription."}`},
			{401, failed("Insufficient balance.", "type", "CreditsError")},
			{500, failed("insufficient credits for this user")},
			{429, failed("The team has used all available credits or reached its monthly spending limit")},
			{402, failed("Credit limit exceeded")},
			{400, failed("Make sure your account is in good standing.", "code", "Arrearage")},
			{412, failed("The account is suspended: monthly spending limit")},
			{403, failed("It requires billing to be enabled.", "status", "PERMISSION_DENIED")},
			{429, failed("Your prepayment credits are depleted.", "status", "RESOURCE_EXHAUSTED")},
			{429, failed("Quota exceeded, limit: 0", "status", "RESOURCE_EXHAUSTED")},
			{200, `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`},
		},
		models.KindCapacity: {
			{429, relayed("the model is temporarily rate-limited upstream")},
			{429, failed("No capacity available", "status", "RESOURCE_EXHAUSTED")},
			{503, failed("Full.", "code", "MODEL_CAPACITY_EXHAUSTED")},
			{400, `{"title":"Bad Request","detail":"Function id 'f': DEGRADED function cannot be invoked"}`},
			{500, `{"detail":"Worker local total request limit reached (33/32)"}`},
			{429, failed("We're experiencing high traffic", "code", "queue_exceeded")},
			{500, `{"error":"Model is too busy, try again"}`},
			{429, `{"errors":[{"code":3040,"message":"Capacity temporarily exceeded"}]}`},
		},
		models.KindModel: {
			{400, failed("The model 'nope' does not exist.", "code", "invalid_value", "param", "model")},
			{400, failed("Model a/nope does not exist")},
			{400, failed("Model Not Exist", "code", "invalid_request_error")},
			{400, failed("a/nope is not a valid model ID")},
			{400, `{"message":"The provided model identifier is invalid."}`},
			{400, failed("The model `nope` has been decommissioned.")},
			{400, `{"detail":"The 'nope' model is not supported when used so."}`},
			{404, failed("Not found the model nope or Permission denied")},
			{404, failed("model: nope", "type", "not_found_error")},
			{404, `{"title":"Not Found","detail":"Function 'f': Not found for account 'a'"}`},
			{404, failed("Gone.", "code", "InvalidEndpointOrModel.NotFound")},
			{404, failed("Could not find fine tune: f")},
			{403, failed("No access for this project", "code", "model_not_found")},
		},
		models.KindAuth: {
			{400, failed("Your organization must be verified to see this.", "code", "unsupported_value")},
			{404, failed("Your organization must be verified for this model.", "code", "model_not_found")},
			{400, failed("User location is not supported.", "status", "FAILED_PRECONDITION")},
			{400, failed("The API key is missing api key")},
			{403, failed("Blocked by the policy of your network")},
		},
		models.KindMalformed: {
			{400, failed("Tool call validation failed", "code", "tool_use_failed")},
			{400, failed("See there.", "failed_generation", "{")},
			{500, failed("error parsing tool call: raw='{'")},
			{500, failed("The model produced invalid content.", "type", "model_error")},
			{400, failed("Not JSON.", "code", "json_validate_failed")},
		},
		models.KindRequest: {
			{400, failed("string too long: maximum length 64", "code", "string_above_max_length")},
			{400, failed("max_tokens must be at most 16384, less than the `context_window`")},
			{400, failed("max_tokens: 9000 > 8000, the maximum of output tokens")},
			{400, failed("'size' is not supported with this model.", "code", "unsupported_parameter")},
			{400, failed("a/gemma does not support tools. Try a different model.")},
			{403, `{"error":{"message":"no","metadata":{"reasons":["x"],"flagged_input":"y"}}}`},
			{403, failed("Your input was flagged.")},
			{500, failed("this needs another start: requires --jinja", "type", "server_error")},
			{500, failed("Cannot use both a and b", "type", "server_error")},
			{404, failed("Item with id 'rs_1' not found.")},
			{404, failed("This model is only supported in v1/responses.")},
			{400, `{"error":"TypeError","message":"x is undefined"}`},

			{404, failed("File Not Found", "type", "not_found_error")},
			{404, `<html><title>Error</title><body><pre>Cannot POST /v1/responses</pre>`},
			{200, `{"error":"Unexpected endpoint or method. (POST /responses)"}`},
			{404, `{"detail":"Not Found"}`},
			{404, `{"message":"Route POST:/x not found","error":"Not Found","statusCode":404}`},
			{404, `{"status":404,"error":"Not Found","path":"/x"}`},
			{404, `{"success":false,"errors":[{"code":7000,"message":"No route for that URI"}]}`},
			{404, failed("Invalid URL (POST /v1/v1/x)")},
			{404, failed("Resource not found", "code", "404")},
			{404, "default backend - 404"},
			{405, `{"detail":"Method Not Allowed"}`},
			{405, "<html><title>405 Not Allowed</title>"},
			{410, "<html><title>410 Gone</title>"},
			{501, "<html><title>501</title>"},
			{302, "<html><title>302 Found</title>"},
			{308, ""},
			{400, "Client sent an HTTP request to an HTTPS server.\n"},
		},
		models.KindNetwork: {
			{502, failed("Network connection lost.", "code", "502")},
			{500, failed("fetch failed")},
			{500, failed("read: connection reset by peer")},
			{502, relayed("socket hang up")},
		},
		models.KindGateway: {
			{502, "error code: 502"},
			{504, failed("upstream request timeout")},
			{503, "upstream connect error or disconnect/reset before headers"},
		},
		models.KindServer: {
			{500, failed("Something broke", "code", "500")},
			{400, `{"error":"The model has crashed without a reason"}`},
			{500, "<html><title>500 Internal Server Error</title>"},
			{500, `{"error":true,"message":{"reason":"boom"}}`},
		},
	} {
		for _, r := range replies {
			f := diagnose.Fault(diagnose.Evidence{Status: r.status, Body: []byte(r.body)})
			if f.Kind != kind || f.Message == "" || f.Hint == "" {
				t.Errorf("%s, want %s: %d %s: message %q, hint %q", f.Kind, kind, r.status, r.body, f.Message, f.Hint)
			}
		}
	}
	html := "<html><head><title>413 Too Large</title></head>"
	for status, want := range map[int]models.Kind{413: models.KindSize, 429: models.KindRate, 401: models.KindAuth} {
		if f := diagnose.Fault(diagnose.Evidence{Status: status, Body: []byte(html)}); f.Kind != want {
			t.Errorf("a page with %d: %s, want %s", status, f.Kind, want)
		}
	}
}

func TestTheProvidersWordsAreShown(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"nothing", 502, "", "502 Bad Gateway"},
		{"a status without a name", 599, "", "599"},
		{"a page", 413, "<html><head><title>Too Large</title></head><body><h1>Too Large</h1>proxy/1</body>", "Too Large: proxy/1"},
		{"a page of many words", 403, "<html><title>No</title><body>" + strings.Repeat("word ", 90), "No"},
		{"a page without a title", 404, "<html><body><p>Not&nbsp;here</p><script>x()</script>", "Not here"},
		{"XML", 403, "<?xml version='1.0'?><Error><Message>Denied</Message></Error>", "Denied"},
		{"an object", 422, `{"error":{"message":{"detail":[{"loc":["body","n",1],"msg":"is missing"}]}}}`, "body.n.1: is missing"},
		{"a list", 422, `{"detail":[{"msg":"one"},{"msg":"two"}]}`, "one; two"},
		{"a list of words", 400, `{"error":["one","two"]}`, "one"},
		{"an unknown object", 400, `{"error":{"message":{"a":1}}}`, `{"a":1}`},
		{"a name and a message", 500, `{"error":"TypeError","message":"x is undefined"}`, "x is undefined"},
		{"capitals", 400, `{"Code":"Bad","Message":"No."}`, "No."},
		{"an object in a string", 400, `{"error":"{\"error\":{\"message\":\"inner\"}}"}`, "inner"},
		{"an object after words", 400, failed(`Upstream: {"error":{"message":"inner"}}`), "Upstream: inner"},
		{"a relay", 429, relayed("no room upstream"), "Provider returned error: no room upstream"},
		{"a relay with an object", 429, relayed(`{"error":{"message":"inner"}}`), "Provider returned error: inner"},
		{"a stream", 429, "event: error\ndata: {\"error\":{\"message\":\"inner\"}}\n\n", "inner"},
		{"a schema in the words", 400, failed(`Invalid schema {"type":"object","description":"at capacity"}`),
			`Invalid schema {"type":"object","description":"at capacity"}`},
	} {
		f := diagnose.Fault(diagnose.Evidence{Status: c.status, Body: []byte(c.body)})
		if f.Message != c.want {
			t.Errorf("%s: %q, want %q", c.name, f.Message, c.want)
		}
	}
	moved := diagnose.Fault(diagnose.Evidence{Status: 308, Header: header("Location", "https://new.example/v1/responses")})
	if !strings.Contains(moved.Message, "308") || !strings.Contains(moved.Message, "https://new.example/v1") ||
		!strings.Contains(moved.Hint, "https://new.example/v1") {
		t.Errorf("a redirect: message %q, hint %q", moved.Message, moved.Hint)
	}
}

func TestAStatedLimitIsRead(t *testing.T) {
	for _, c := range []struct {
		body           string
		limit, request int64
	}{
		{failed("maximum context length is 8000 tokens. However, your messages resulted in 9000 tokens"), 8000, 9000},
		{failed("maximum context length is 8,000 tokens, however you requested 9,000 tokens (8,500 in it)"), 8000, 9000},
		{failed("prompt is too long: 9000 tokens > 8000 maximum"), 8000, 9000},
		{failed("input length exceeds context limit: 7000 + 2000 > 8000"), 8000, 0},
		{failed("The input token count (9000) exceeds the maximum number of tokens allowed (8000)."), 8000, 9000},
		{failed("prompt token count of 9000 exceeds the limit of 8000"), 8000, 9000},
		{failed("maximum prompt length is 8000 but the request contains 9000 tokens"), 8000, 9000},
		{failed("exceeded model token limit: 8000 (requested: 9000)"), 8000, 9000},
		{failed("too large for model with 8000 maximum context length: prompt contains 9000 tokens"), 8000, 9000},
		{failed("The input (9000 tokens) is longer than the model's context length (8000 tokens)."), 8000, 9000},
		{failed("n_keep: 9000>= n_ctx: 8000: greater than the context length"), 8000, 9000},
		{failed("Range of input length should be [1, 8000]"), 8000, 0},
		{failed("model max length exceeded, max length:8000"), 8000, 0},
		{failed("Request too large for it: Limit 8000, Requested 9000", "code", "rate_limit_exceeded"), 8000, 9000},
		{failed("maximum context length is 8k tokens"), 8000, 0},
		{`{"error":{"message":"context size","n_ctx":8000,"n_prompt_tokens":9000}}`, 8000, 9000},
		{failed("prompt too long; exceeded max context length by 4 tokens"), 0, 0},
		{failed("context window exceeds limit (2013)"), 0, 0},
		{failed("payload size exceeds the limit: 8000 bytes"), 0, 0},
		{failed("max_tokens: 9000 > 8000"), 0, 0}, // about the reply, not the window
	} {
		f := diagnose.Fault(diagnose.Evidence{Status: 400, Body: []byte(c.body)})
		if f.WindowLimit != c.limit || f.RequestTokens != c.request {
			t.Errorf("%s: %s, %d and %d, want %d and %d", c.body, f.Kind, f.WindowLimit, f.RequestTokens, c.limit, c.request)
		}
	}
}

func TestHeadersThatSayWhenALimitResets(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		header []string
		want   time.Duration
	}{
		{"seconds", []string{"X-RateLimit-Reset", "30"}, 30 * time.Second},
		{"decimal", []string{"X-RateLimit-Reset", "1.5"}, 1500 * time.Millisecond},
		{"milliseconds", []string{"X-RateLimit-Reset-Ms", "1500"}, 1500 * time.Millisecond},
		{"a Unix time", []string{"X-RateLimit-Reset", "1793534460"}, time.Minute},
		{"a Unix time in milliseconds", []string{"X-RateLimit-Reset", "1793534460000"}, time.Minute},
		{"a date", []string{"X-RateLimit-Reset", "2026-11-01T12:05:00Z"}, 5 * time.Minute},
		{"a length of time", []string{"X-RateLimit-Reset", "6m0s"}, 6 * time.Minute},
		{"a time that has passed", []string{"X-RateLimit-Reset", "1793530000"}, 0},
		{"of requests", []string{"X-RateLimit-Reset-Requests", "6m0s"}, 6 * time.Minute},
		{"of the one that is used up", []string{
			"X-RateLimit-Reset-Requests", "6m0s", "X-RateLimit-Remaining-Requests", "3",
			"X-RateLimit-Reset-Tokens", "120ms", "X-RateLimit-Remaining-Tokens", "0",
		}, 120 * time.Millisecond},
		{"the later of two", []string{
			"X-RateLimit-Reset-Requests", "1s", "X-RateLimit-Remaining-Requests", "0",
			"X-RateLimit-Reset-Tokens", "2s", "X-RateLimit-Remaining-Tokens", "0",
		}, 2 * time.Second},
		{"Anthropic's", []string{"Anthropic-Ratelimit-Tokens-Reset", "2026-11-01T12:01:00Z"}, time.Minute},
		{"the draft's", []string{"RateLimit-Reset", "50"}, 50 * time.Second},
		{"Retry-After first", []string{"X-RateLimit-Reset", "30", "Retry-After", "2"}, 2 * time.Second},
		{"malformed", []string{"X-RateLimit-Reset", "soon"}, -1},
		{"negative", []string{"X-RateLimit-Reset", "-5"}, -1},
	} {
		f := diagnose.Fault(diagnose.Evidence{Status: 429, Header: header(c.header...), Now: now})
		if got := f.RetryAfter; f.Delayed != (c.want >= 0) || f.Delayed && got != c.want {
			t.Errorf("%s: %v %v, want %v", c.name, f.Delayed, got, c.want)
		}
	}
	relay := `{"error":{"message":"m","metadata":{"headers":{"X-RateLimit-Reset":"1793534460000"}}}}`
	if f := diagnose.Fault(diagnose.Evidence{Status: 429, Body: []byte(relay), Now: now}); f.RetryAfter != time.Minute {
		t.Errorf("the header that a relay repeats: %v, want 1m", f.RetryAfter)
	}
	other := diagnose.Evidence{Status: 500, Header: header("X-RateLimit-Reset", "30"), Now: now}
	if f := diagnose.Fault(other); f.Delayed {
		t.Errorf("a failure that is no limit waits %v for one", f.RetryAfter)
	}
}

func TestHintsNameTheCure(t *testing.T) {
	gone := http.StatusNotFound
	for _, c := range []struct {
		name string
		ev   diagnose.Evidence
		want string
	}{
		{"another API", diagnose.Evidence{Status: gone, Body: []byte("404 page not found"), API: models.Responses}, `api = "chat"`},
		{"with the version", diagnose.Evidence{Status: gone, Body: []byte("404 page not found")}, "ends in /v1"},
		{"without the version", diagnose.Evidence{Status: gone, Body: []byte("404"), Path: "/v1/"}, "without /v1"},
		{"the Responses API", diagnose.Evidence{Status: gone, Body: []byte(failed("only supported in v1/responses"))},
			`api = "responses"`},
		{"an ability", diagnose.Evidence{Status: 400, Body: []byte(failed("a does not support tools"))}, "does not support tools"},
		{"an option of the server", diagnose.Evidence{Status: 400, Body: []byte(failed("this choice requires --with-tools"))},
			"as it was started"},
		{"no such route, whatever the status", diagnose.Evidence{Status: 400,
			Body: []byte(`{"success":false,"errors":[{"code":7003,"message":"Could not route to /v1/x, is it right?"}]}`)},
			"Nothing answers at that path"},
		{"https", diagnose.Evidence{Status: 400, Body: []byte("Client sent an HTTP request to an HTTPS server.")}, "https://"},
		{"an account", diagnose.Evidence{Status: 403, Key: "k", Body: []byte(failed("Your organization must be verified"))},
			"not verified"},
		{"how much fits", diagnose.Evidence{Status: 400, Body: []byte(failed("prompt is too long: 9000 tokens > 8000"))},
			"9000 tokens, and 8000 fit"},
	} {
		if f := diagnose.Fault(c.ev); !strings.Contains(f.Hint, c.want) {
			t.Errorf("%s: %q, want %q", c.name, f.Hint, c.want)
		}
	}
}

func TestA404ThatNamesNothingLeavesThePathInDoubt(t *testing.T) {
	for body, want := range map[string]bool{
		"":                                     true,
		failed("It is not there."):             true,
		failed("model x not found"):            false,
		failed("No such model"):                false,
		failed("", "code", "not_found"):        true,
		failed("x", "code", "model_not_found"): false,
	} {
		f := diagnose.Fault(diagnose.Evidence{Status: 404, Body: []byte(body)})
		if f.Kind != models.KindModel || f.PathInDoubt != want {
			t.Errorf("%s: %s, in doubt %v, want %v", body, f.Kind, f.PathInDoubt, want)
		}
	}
}

func TestHintsOfWhatStandsBetween(t *testing.T) {
	for want, ev := range map[string]diagnose.Evidence{
		`base_url = "https://new.example/v1"`: {Status: 308, Header: header("Location", "https://new.example/v1/chat/completions")},
		"the proxy's limit":                   {Status: 413, Body: []byte("<html><title>413</title>")},
	} {
		if f := diagnose.Fault(ev); !strings.Contains(f.Hint, want) {
			t.Errorf("%q, want %q", f.Hint, want)
		}
	}
}
