package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"belay/models"
)

// localProvider is a server on this computer.
func localProvider(port string) models.Provider {
	return models.Provider{Name: "acme", BaseURL: "http://127.0.0.1:" + port + "/v1", API: models.Chat, Local: true}
}

// TestRefusalsOfLocalServers has them in the form in which Ollama and llama.cpp
// send them, over the whole client.
func TestRefusalsOfLocalServers(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   models.Kind
		says   string // of the server's own words
		hint   string
		limit  int64
	}{
		{"ollama: the model is not there", 404,
			`{"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`,
			models.KindModel, "try pulling it first", "belay models", 0},
		{"ollama: the same in its own API's form", 404, `{"error":"model 'm' not found"}`,
			models.KindModel, "model 'm' not found", "belay models", 0},
		{"ollama: no tools", 400,
			`{"error":{"message":"registry.ollama.ai/library/m:latest does not support tools","type":"api_error"}}`,
			models.KindRequest, "does not support tools", "does not support tools at this endpoint", 0},
		{"ollama: no thinking", 400, `{"error":{"message":"\"m\" does not support thinking","type":"invalid_request_error"}}`,
			models.KindRequest, "does not support thinking", "without a reasoning effort", 0},
		{"ollama: its queue is full", 503,
			`{"error":{"message":"server busy, please try again.  maximum pending requests exceeded","type":"api_error"}}`,
			models.KindCapacity, "server busy", "no room", 0},
		{"ollama: its runner died", 500,
			`{"error":{"message":"llama runner process has terminated: signal: killed","type":"api_error"}}`,
			models.KindServer, "has terminated", "", 0},
		{"ollama: too little memory", 500,
			`{"error":{"message":"model requires more system memory (20.1 GiB) than is available (7.5 GiB)","type":"api_error"}}`,
			models.KindServer, "more system memory", "", 0},
		{"ollama: no such path", 404, "404 page not found", models.KindRequest, "404 page not found", "Nothing answers", 0},
		{"llama.cpp: the model is being loaded", 503,
			`{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`,
			models.KindCapacity, "Loading model", "still being loaded", 0},
		{"llama.cpp: no such path", 404, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`,
			models.KindRequest, "File Not Found", "Nothing answers at that path", 0},
		{"llama.cpp: started without templates", 500,
			`{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`,
			models.KindRequest, "requires --jinja flag", "as it was started", 0},
		{"llama.cpp: too long", 400,
			`{"error":{"code":400,"message":"request (9012 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9012,"n_ctx":8192}}`,
			models.KindSize, "try increasing it", "9012 tokens, and 8192 fit", 8192},
		{"llama.cpp: a wrong key", 401,
			`{"error":{"code":401,"message":"Invalid API Key","type":"authentication_error"}}`,
			models.KindAuth, "Invalid API Key", "", 0},
		{"llama.cpp: pictures without a projector", 500,
			`{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`,
			models.KindRequest, "mmproj", "pictures", 0},
		{"llama.cpp: a grammar that it cannot make", 400,
			`{"error":{"code":400,"message":"failed to parse grammar","type":"invalid_request_error"}}`,
			models.KindRequest, "failed to parse grammar", "", 0},
		{"llama.cpp: not for a chat", 501,
			`{"error":{"code":501,"message":"This server does not support completions. Start it without --embeddings","type":"not_supported_error"}}`,
			models.KindRequest, "--embeddings", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rt := roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(strings.NewReader(c.body)), Request: r}, nil
			})
			got := attempt(t, t.Context(), client(rt, localProvider("11434")), hello())
			switch f := got.fault; {
			case f == nil:
				t.Error("no fault")
			case f.Kind != c.kind || f.WindowLimit != c.limit:
				t.Errorf("%s with a limit of %d, want %s with %d", f.Kind, f.WindowLimit, c.kind, c.limit)
			case !strings.Contains(f.Message, c.says), !strings.Contains(f.Hint, c.hint):
				t.Errorf("message %q, hint %q, want %q, %q", f.Message, f.Hint, c.says, c.hint)
			}
		})
	}
}

// TestStreamsOfLocalServers has replies in the form in which they send them.
func TestStreamsOfLocalServers(t *testing.T) {
	const (
		ollama = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp_ollama",`
		cpp    = `{"created":1,"id":"chatcmpl-x","model":"m.gguf","system_fingerprint":"b6000-0","object":"chat.completion.chunk",`
	)
	for _, c := range []struct {
		name      string
		body      []byte
		text      string
		reasoning string
		items     string
		usage     models.Usage
		kind      models.Kind // of the fault; empty: none
	}{
		{"ollama: thinking, then text", sse(
			ollama+`"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Hm."},"finish_reason":null}]}`,
			ollama+`"choices":[{"index":0,"delta":{"role":"assistant","content":"Yes."},"finish_reason":null}]}`,
			ollama+`"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
			ollama+`"choices":[],"usage":{"prompt_tokens":26,"completion_tokens":9,"total_tokens":35}}`, done),
			"Yes.", "Hm.", "reasoning \"Hm.\"\nmessage \"Yes.\"\n", models.Usage{Input: 26, Output: 9}, ""},
		{"ollama: a call in one piece, and stop", sse(
			ollama+`"choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]},"finish_reason":null}]}`,
			ollama+`"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
			ollama+`"choices":[],"usage":{"prompt_tokens":26,"completion_tokens":9,"total_tokens":35}}`, done),
			"", "", "call call_1 ls {\"path\":\".\"}\n", models.Usage{Input: 26, Output: 9}, ""},
		{"ollama: it dies in mid-stream", sse(
			ollama+`"choices":[{"index":0,"delta":{"role":"assistant","content":"Ye"},"finish_reason":null}]}`,
			`{"error":{"message":"an error was encountered while running the model: unexpected EOF","type":"api_error"}}`),
			"Ye", "", "", models.Usage{}, models.KindServer},
		{"llama.cpp: usage and timings in the last chunk", sse(
			cpp+`"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}]}`,
			cpp+`"choices":[{"finish_reason":null,"index":0,"delta":{"reasoning_content":"Hm."}}]}`,
			cpp+`"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Yes."}}]}`,
			cpp+`"choices":[{"finish_reason":"stop","index":0,"delta":{}}]}`,
			cpp+`"choices":[],"usage":{"completion_tokens":9,"prompt_tokens":26,"total_tokens":35},"timings":{"cache_n":20,"prompt_n":6,"predicted_n":9,"predicted_ms":50.5}}`, done),
			"Yes.", "Hm.", "reasoning \"Hm.\"\nmessage \"Yes.\"\n", models.Usage{Input: 26, Output: 9}, ""},
		{"llama.cpp: without usage", sse(
			cpp+`"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Yes."}}]}`,
			cpp+`"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"timings":{"prompt_n":26,"predicted_n":9}}`, done),
			"Yes.", "", "message \"Yes.\"\n", models.Usage{}, ""},
		{"llama.cpp: a call in pieces, its name first", sse(
			cpp+`"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"abcdefghi","type":"function","function":{"name":"ls","arguments":"{"}}]}}]}`,
			cpp+`"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"path\":\".\"}"}}]}}]}`,
			cpp+`"choices":[{"finish_reason":"tool_calls","index":0,"delta":{}}]}`, done),
			"", "", "call abcdefghi ls {\"path\":\".\"}\n", models.Usage{}, ""},
		{"llama.cpp: the window is full", sse(
			cpp+`"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Ye"}}]}`,
			cpp+`"choices":[{"finish_reason":"length","index":0,"delta":{}}]}`,
			cpp+`"choices":[],"usage":{"completion_tokens":9,"prompt_tokens":26,"total_tokens":35}}`, done),
			"Ye", "", "message \"Ye\"\n", models.Usage{Input: 26, Output: 9}, models.KindIncomplete},
		{"llama.cpp: an error in an event of its own", append(sse(
			cpp+`"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Ye"}}]}`),
			"error: {\"code\":500,\"message\":\"context shift is disabled\",\"type\":\"server_error\"}\n\n"...),
			"Ye", "", "", models.Usage{}, models.KindServer},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := attempt(t, t.Context(), client(canned("text/event-stream", c.body), localProvider("8080")), hello())
			if got.text != c.text || got.reasoning != c.reasoning || brief(got.items) != c.items {
				t.Errorf("%q, %q, %q, want %q, %q, %q", got.text, got.reasoning, brief(got.items), c.text, c.reasoning, c.items)
			}
			var usage models.Usage
			var kind models.Kind
			if got.fault != nil {
				kind, usage = got.fault.Kind, got.fault.Usage
			} else {
				usage = got.finished.Usage
			}
			if kind != c.kind || usage != c.usage {
				t.Errorf("%q with %+v, want %q with %+v", kind, usage, c.kind, c.usage)
			}
		})
	}
}
