package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"belay/models"
	"belay/models/openai"
)

// refusing is an endpoint that refuses every request until its body is right.
type refusing struct {
	status  int
	refusal string
	right   func(body string) bool
	bodies  []string
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.bodies = append(r.bodies, string(body))
	status, text := r.status, r.refusal
	if r.right(string(body)) {
		status, text = http.StatusServiceUnavailable, `{"error":{"message":"overloaded"}}`
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(text)), Request: req,
	}, nil
}

func TestARefusalTeachesHowToAsk(t *testing.T) {
	message := func(s string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error"}}`, s)
	}
	without := func(s string) func(string) bool { return func(b string) bool { return !strings.Contains(b, s) } }
	with := func(s string) func(string) bool { return func(b string) bool { return strings.Contains(b, s) } }
	for name, row := range map[string]struct {
		api     models.API
		dialect string
		status  int
		refusal string
		right   func(string) bool
		words   string
	}{
		"a parameter by its name": {
			models.Chat, "", 400,
			`{"error":{"message":"no","type":"invalid_request_error","param":"stream_options","code":"unsupported_parameter"}}`,
			nil, "",
		},
		"a parameter in the text": {
			models.Chat, "", 400, message("Unrecognized request argument supplied: stream_options"),
			without("stream_options"), "without stream_options",
		},
		"pydantic's list": {
			models.Chat, "", 422,
			`{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`,
			without("stream_options"), "without stream_options",
		},
		"an effort": {
			models.Responses, "", 400,
			`{"error":{"message":"Unsupported parameter: 'reasoning.effort' is not supported with this model.",` +
				`"type":"invalid_request_error","param":"reasoning.effort","code":"unsupported_parameter"}}`,
			without(`"reasoning":`), "without reasoning",
		},
		"encrypted content": {
			models.Responses, "", 400,
			`{"error":{"message":"Encrypted content is not supported with this model.","param":"include"}}`,
			without(`"include"`), "without include",
		},
		"strict tools": {
			models.Responses, "", 400, message("Unknown parameter: 'tools[0].strict'."),
			without(`"strict"`), "without strict",
		},
		"the new name of a limit": {
			models.Chat, "", 400,
			`{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. ` +
				`Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`,
			with("max_completion_tokens"), "with max_completion_tokens",
		},
		"the old name of a limit": {
			models.Chat, "openai", 400, message("Extra inputs are not permitted: 'max_completion_tokens'"),
			with(`"max_tokens"`), "with max_tokens",
		},
		"pictures": {
			models.Chat, "", 400, message("No endpoints found that support image input"),
			without("image_url"), "without pictures",
		},
		"a template": {
			models.Chat, "openai", 500, message("Jinja Exception: System message must be at the beginning."),
			without(`"developer"`), "with one system message, and roles that take turns",
		},
		"a role": {
			models.Chat, "openai", 400, message("developer is not one of ['system', 'assistant', 'user'] - role is invalid"),
			without(`"developer"`), "with one system message, and roles that take turns",
		},
		"thoughts wanted": {
			models.Chat, "", 400,
			message("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"),
			with("reasoning_content"), "with reasoning beside every call",
		},
		"thoughts unwanted": {
			models.Chat, "deepseek", 400, message("messages.2: property 'reasoning_content' is unsupported"),
			without("reasoning_content"), "without earlier reasoning",
		},
		"short ids": {
			models.Chat, "", 400, message("Tool call id was c1 but must be a-z, A-Z, 0-9, with a length of 9."),
			without(`"c1"`), "with call ids of nine characters",
		},
		"signatures": {
			models.Chat, "", 400, message("Function call is missing a thought_signature in functionCall parts."),
			with("thought_signature"), "with a stand-in for thought signatures",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if row.right == nil {
				row.right, row.words = without("stream_options"), "without stream_options"
			}
			endpoint := &refusing{status: row.status, refusal: row.refusal, right: row.right}
			var learned []string
			options := openai.Options{
				Providers: []models.Provider{provider(row.api)},
				HTTP:      &http.Client{Transport: endpoint},
				Model: func(target models.Target) models.Model {
					return models.Model{Target: target, Dialect: row.dialect}
				},
				Learned: func(_ models.Target, name string) { learned = append(learned, name) },
			}
			c := openai.New(options)
			req := models.Request{
				Effort: "high", MaxOutput: 10,
				Items: []models.Item{
					models.NewMessage(models.User, "hi"),
					{Kind: models.Call, CallID: "c1", Name: "ls", Arguments: "{}"},
					{
						Kind: models.Output, CallID: "c1", Text: "x",
						Images: []models.Image{{MIME: "image/png", Data: []byte("x")}},
					},
					models.NewMessage(models.Developer, "a note"),
				},
				Tools: []models.ToolSpec{{Name: "ls"}},
			}
			fault := attempt(t, t.Context(), c, req).fault
			if fault.Adjusted != row.words || !strings.Contains(fault.Hint, row.words) || fault.Message == "" {
				t.Errorf("%q, hint %q, message %q; want %q", fault.Adjusted, fault.Hint, fault.Message, row.words)
			}
			if fault := attempt(t, t.Context(), c, req).fault; fault.Status != http.StatusServiceUnavailable {
				t.Errorf("the second request was refused: %v\n%s", fault, endpoint.bodies[1])
			}
			again := openai.New(options)
			for _, name := range learned {
				again.Remember(models.Target{Provider: "acme", Model: "m"}, name)
			}
			if fault := attempt(t, t.Context(), again, req).fault; fault.Status != http.StatusServiceUnavailable {
				t.Errorf("after a restart: %v", fault)
			}
		})
	}
}

// An endpoint that is never content is not asked without end.
func TestARefusalTeachesOnce(t *testing.T) {
	endpoint := &refusing{
		status: 400, right: func(string) bool { return false },
		refusal: `{"error":{"message":"Unsupported parameter","param":"stream_options"}}`,
	}
	c := client(endpoint, provider(models.Chat))
	for i, want := range []string{"without stream_options", "", ""} {
		if got := attempt(t, t.Context(), c, hello()).fault.Adjusted; got != want {
			t.Errorf("attempt %d: %q, want %q", i+1, got, want)
		}
	}
	endpoint.status = http.StatusOK
	endpoint.refusal = "data: {\"type\":\"response.failed\",\"response\":{\"store\":false,\"include\":[]," +
		"\"error\":{\"code\":\"invalid_prompt\",\"message\":\"Not allowed.\"}}}\n\n"
	whole := client(endpoint, provider(models.Responses))
	if got := attempt(t, t.Context(), whole, hello()).fault; got.Adjusted != "" || got.Kind != models.KindRequest {
		t.Errorf("a failed reply taught %q: %v", got.Adjusted, got)
	}
	endpoint.status = http.StatusBadRequest
	for _, other := range []string{"The store is closed.", "Your include path is invalid.", "bad request"} {
		endpoint.refusal = fmt.Sprintf(`{"error":{"message":%q}}`, other)
		if got := attempt(t, t.Context(), c, hello()).fault.Adjusted; got != "" {
			t.Errorf("%s: %q", other, got)
		}
	}
}
