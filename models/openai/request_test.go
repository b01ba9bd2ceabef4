package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"belay/models"
	"belay/models/openai"
)

// sent makes an attempt and returns the body that went out.
func sent(t testing.TB, p models.Provider, req models.Request) map[string]any {
	t.Helper()
	var body []byte
	rt := roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(r.Body)
		return &http.Response{StatusCode: 500, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	attempt(t, t.Context(), client(rt, p), req)
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

func compact(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func equalJSON(t *testing.T, what string, got any, want string) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, w) {
		t.Errorf("%s is\n%s\nwant\n%s", what, compact(t, got), compact(t, w))
	}
}

func conversation() []models.Item {
	mine := models.Origin{Provider: "acme", API: models.Responses, Model: "m"}
	other := models.Origin{Provider: "acme", API: models.Responses, Model: "n"}
	return []models.Item{
		models.NewMessage(models.Developer, "Be brief."),
		{
			Kind:   models.Message,
			Role:   models.User,
			Text:   "What is <this>?",
			Images: []models.Image{{MIME: "image/png", Data: []byte("png")}},
		},
		{
			Kind:   models.Reasoning,
			Text:   "t",
			Origin: mine,
			Raw:    json.RawMessage(`{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e","extra":1}`),
		},
		{
			Kind:      models.Call,
			CallID:    "c1",
			Name:      "ls",
			Arguments: `{}`,
			Origin:    mine,
			Raw: json.RawMessage(
				`{"type":"function_call","id":"fc","call_id":"c1","name":"ls","arguments":"{}","extra":[1, 2]}`,
			),
		},
		{Kind: models.Output, CallID: "c1", Text: "a.go"},
		{
			Kind:   models.Reasoning,
			Text:   "foreign",
			Origin: other,
			Raw:    json.RawMessage(`{"type":"reasoning","id":"r2","summary":[],"encrypted_content":"f"}`),
		},
		{
			Kind:   models.Message,
			Role:   models.Assistant,
			Text:   "A file.",
			Origin: other,
			Raw:    json.RawMessage(`{"type":"message","id":"m2"}`),
		},
		{
			Kind:   models.Reasoning,
			Text:   "led nowhere",
			Origin: mine,
			Raw:    json.RawMessage(`{"type":"reasoning","id":"r3","summary":[],"encrypted_content":"e"}`),
		},
		models.NewMessage(models.User, "Thanks."),
		{
			Kind:   models.Reasoning,
			Text:   "open",
			Origin: mine,
			Raw:    json.RawMessage(`{"type":"reasoning","id":"r4","summary":[]}`),
		},
		{Kind: models.Call, CallID: "c2", Name: "shot", Arguments: `{"a":1}`, Origin: other},
		{
			Kind:   models.Output,
			CallID: "c2",
			Text:   "a picture",
			Images: []models.Image{{MIME: "image/png", Data: []byte("png")}},
		},
	}
}

func TestResponsesBody(t *testing.T) {
	got := sent(t, provider(models.Responses), models.Request{
		Instructions: "You are belay.", Items: conversation(), MaxOutput: 100, Effort: "high", CacheKey: "s1",
		Tools: []models.ToolSpec{{Name: "ls", Description: "Lists.", Schema: []byte(`{"type":"object"}`)}},
	})
	equalJSON(t, "input", got["input"], `[
		{"type":"message","role":"user","content":[{"type":"input_text","text":"<system-reminder>\nBe brief.\n</system-reminder>\n\nWhat is <this>?"},{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"}]},
		{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e","extra":1},
		{"type":"function_call","id":"fc","call_id":"c1","name":"ls","arguments":"{}","extra":[1,2]},
		{"type":"function_call_output","call_id":"c1","output":"a.go"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A file."}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"Thanks."}]},
		{"type":"function_call","call_id":"c2","name":"shot","arguments":"{\"a\":1}"},
		{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"a picture"},{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"}]}
	]`)
	delete(got, "input")
	equalJSON(
		t,
		"the rest",
		map[string]any(got),
		`{"model":"m","instructions":"You are belay.","store":false,"stream":true,"include":["reasoning.encrypted_content"],
		"prompt_cache_key":"s1","max_output_tokens":100,"reasoning":{"effort":"high","summary":"auto"},
		"tools":[{"type":"function","name":"ls","description":"Lists.","parameters":{"type":"object"},"strict":false}]}`,
	)
}

func TestChatBody(t *testing.T) {
	items := conversation()
	mine := models.Origin{Provider: "acme", API: models.Chat, Model: "m"}
	items[2].Origin, items[2].Raw = mine, json.RawMessage(`{"reasoning_content":"t"}`)
	items = append(items,
		models.Item{Kind: models.Call, CallID: "c3", Name: "ls", Arguments: "{half"},
		models.Item{Kind: models.Call, CallID: "c4", Name: "ls", Arguments: "{}"},
		models.NewMessage(models.Developer, "A note between."),
		models.Item{Kind: models.Output, CallID: "c3", Text: "no"},
		models.Item{Kind: models.Output, CallID: "c4", Text: "yes"},
	)
	got := sent(t, provider(models.Chat), models.Request{
		Instructions: "You are belay.",
		Items:        items,
		MaxOutput:    100,
		CacheKey:     "s1",
		Effort:       "low",
		Tools:        []models.ToolSpec{{Name: "ls"}},
	})
	equalJSON(t, "messages", got["messages"], `[
		{"role":"system","content":"You are belay."},
		{"role":"user","content":[{"type":"text","text":"<system-reminder>\nBe brief.\n</system-reminder>"},{"type":"text","text":"What is <this>?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}],"reasoning_content":"t"},
		{"role":"tool","tool_call_id":"c1","content":"a.go"},
		{"role":"assistant","content":"A file."},
		{"role":"user","content":"Thanks."},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"shot","arguments":"{\"a\":1}"}}]},
		{"role":"tool","tool_call_id":"c2","content":"a picture"},
		{"role":"user","content":[{"type":"text","text":"The picture that the tool returned:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]},
		{"role":"assistant","content":null,"tool_calls":[
			{"id":"c3","type":"function","function":{"name":"ls","arguments":"{\"invalid_arguments\":\"{half\"}"}},
			{"id":"c4","type":"function","function":{"name":"ls","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c3","content":"no"},
		{"role":"tool","tool_call_id":"c4","content":"yes"},
		{"role":"user","content":"<system-reminder>\nA note between.\n</system-reminder>"}
	]`)
	delete(got, "messages")
	equalJSON(
		t,
		"the rest",
		map[string]any(got),
		`{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,"reasoning_effort":"low",
		"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}}]}`,
	)
}

func TestWholeRequestsAskForNoStream(t *testing.T) {
	for _, api := range []models.API{models.Responses, models.Chat} {
		req := hello()
		req.NoStream = true
		got := sent(t, provider(api), req)
		if got["stream"] != nil || got["stream_options"] != nil {
			t.Errorf("%s: %s", api, compact(t, got))
		}
	}
}

func TestOpenAIsOwnChatGetsItsOwnFields(t *testing.T) {
	p := provider(models.Chat)
	p.BaseURL = "https://api.openai.com/v1"
	req := hello()
	req.MaxOutput, req.CacheKey = 5, "k"
	got := sent(t, p, req)
	if got["max_completion_tokens"] != 5.0 || got["prompt_cache_key"] != "k" || got["max_tokens"] != nil {
		t.Errorf("%s", compact(t, got))
	}
}

func TestAQueryInTheBaseURLStays(t *testing.T) {
	for _, api := range []models.API{models.Responses, models.Chat} {
		p := provider(api)
		p.BaseURL = "http://rehearsal/openai/v1?api-version=2"
		var got string
		rt := roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return nil, io.EOF
		})
		attempt(t, t.Context(), client(rt, p), hello())
		if want := map[models.API]string{models.Responses: "responses",
			models.Chat: "chat/completions"}[api]; got != "http://rehearsal/openai/v1/"+want+"?api-version=2" {
			t.Errorf("%s: %s", api, got)
		}
	}
}

func TestABadBaseURLIsASettingsFault(t *testing.T) {
	for _, api := range []models.API{models.Responses, models.Chat} {
		p := provider(api)
		p.BaseURL = "http://[::1"
		if f := attempt(t, t.Context(), client(nil, p), hello()).fault; f == nil || f.Kind != models.KindRequest {
			t.Errorf("%s: %v", api, f)
		}
	}
}

// A whole turn goes through the rehearsal, which refuses broken histories.
func TestWhatCameGoesBack(t *testing.T) {
	for _, api := range []models.API{models.Responses, models.Chat} {
		for _, whole := range []bool{false, true} {
			server := script(
				t,
				"models=['m']\nkey='secret-key-1'\n[[reply]]\n"+fullReply+"\n[[reply]]\noutput='a.go'\ntext='One file.'\n",
			)
			c := client(server, provider(api))
			req := hello()
			req.NoStream = whole
			first := attempt(t, t.Context(), c, req)
			if first.finished == nil || len(first.items) != 3 {
				t.Fatalf("%s: %+v", api, first)
			}
			req.Items = append(req.Items, first.items...)
			req.Items = append(req.Items, models.Item{Kind: models.Output, CallID: first.items[2].CallID, Text: "a.go"})
			if second := attempt(t, t.Context(), c, req); second.text != "One file." {
				t.Errorf("%s: %q, fault %v", api, second.text, second.fault)
			}
			// Another model of the same provider must not be shown the first one's thoughts.
			server = script(t, "[[reply]]\ntext='fine'\n")
			elsewhere := models.Target{Provider: "acme", Model: "n"}
			for _, err := range client(server, provider(api)).Stream(t.Context(), elsewhere, req) {
				if err != nil {
					t.Errorf("%s: %v", api, err)
				}
			}
			if body := string(server.Log()[0].Body); strings.Contains(body, "I think.") {
				t.Errorf("%s: the thoughts went to another model", api)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n",
		"data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"name\":\"parallel\",\"arguments\":\"{\\\"tool_uses\\\":[{\\\"recipient_name\\\":\\\"functions.ls\\\"}]}\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]",
		"data: {\"choices\":[{\"delta\":{\"reasoning\":\"a\",\"reasoning_details\":[1]}},{\"delta\":null}]}\n\n",
		"{\"output\":[{\"type\":\"message\",\"content\":[{\"text\":\"x\"}]}],\"status\":\"incomplete\"}",
		"{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"length\"}]}",
		"data: {\"choices\":[{\"delta\":{\"content\":\"<think>a\\ud83d\"}}]}\r\rdata: {\"choices\":[{\"delta\":{\"content\":\"\\ude00</think>b\"}}]}\r\rdata: [DONE]\r\r",
		"data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"type\":\"t\",\"index\":0,\"text\":\"a\",\"signature\":\"s\"}],\"tool_calls\":[{\"index\":\"0\",\"x\":{\"a\":[1,\"}\"]},\"function\":{\"name\":\"ls\",\"arguments\":{\"a\":1}}}]},\"finish_reason\":\"length\",\"native_finish_reason\":\"MAX_TOKENS\"}],\"usage\":{\"prompt_tokens\":-1,\"total_tokens\":\"9\"}}\n\n",
		"data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"text\":\"a\"}],\"signature\":\"s\"},{\"text\":\"b\"}]},\"finish_reason\":\"stop\"}]}\n\n{\n\"error\": {}\n}\n",
		"data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"message\"}}\n\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"\\udc00\\ud800\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"incomplete\"}}\n\n",
		"{\"choices\":[{\"message\":{\"content\":\"<tool_call>{\\\"name\\\":\\\"ls\\\",\\\"arguments\\\":{}}</tool_call>\"}}]}",
		"<html>", "[]", ":\n\n", "data: {\"type\":\"response.failed\"}\n\n", "data: {\"error\":{\"code\":503}}\n\n",
	} {
		f.Add([]byte(seed), "text/event-stream")
	}
	f.Add([]byte("{}"), "application/json")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		for _, api := range []models.API{models.Responses, models.Chat} {
			got := replay(t, api, contentType, body) // reports anything but one proper end
			for _, it := range got.items {
				if it.Kind == models.Call && it.CallID == "" || it.Kind == "" || it.Origin.Model != "m" {
					t.Errorf("item %+v", it)
				}
				if len(it.Raw) > 0 && !json.Valid(it.Raw) {
					t.Errorf("raw is not JSON: %q", it.Raw)
				}
				if !utf8.ValidString(it.Text + it.Arguments) {
					t.Errorf("torn characters in %+v", it)
				}
			}
			if said := saidIn(got); !utf8.ValidString(said) {
				t.Errorf("torn characters in %q", said)
			}
		}
	})
}

func deltas(api models.API, n int) []byte {
	var b bytes.Buffer
	for range n {
		if api == models.Chat {
			b.WriteString(
				`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"some words "},"logprobs":null,"finish_reason":null}]}` + "\n\n",
			)
		} else {
			b.WriteString(`event: response.output_text.delta` + "\n" + `data: {"type":"response.output_text.delta","sequence_number":9,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"some words ","logprobs":[],"obfuscation":"abcdef"}` + "\n\n")
		}
	}
	if api == models.Chat {
		b.WriteString(`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	} else {
		b.WriteString(`data: {"type":"response.completed","response":{"id":"r","output":[]}}` + "\n\n")
	}
	return b.Bytes()
}

func BenchmarkRead20000Deltas(b *testing.B) {
	for _, api := range []models.API{models.Responses, models.Chat} {
		b.Run(string(api), func(b *testing.B) {
			c := client(canned("text/event-stream", deltas(api, 20000)), provider(api))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range c.Stream(b.Context(), target, models.Request{}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkSend1000Items(b *testing.B) {
	for _, api := range []models.API{models.Responses, models.Chat} {
		b.Run(string(api), func(b *testing.B) {
			origin := models.Origin{Provider: "acme", API: api, Model: "m"}
			var req models.Request
			for i := range 500 {
				id := string(rune('a'+i%26)) + strings.Repeat("x", i/26)
				raw, _ := json.Marshal(map[string]any{
					"type":      "function_call",
					"call_id":   id,
					"name":      "ls",
					"arguments": `{"path":"` + strings.Repeat("p", 500) + `"}`,
				})
				req.Items = append(
					req.Items,
					models.Item{
						Kind:      models.Call,
						CallID:    id,
						Name:      "ls",
						Arguments: `{"path":"` + strings.Repeat("p", 500) + `"}`,
						Origin:    origin,
						Raw:       raw,
					},
					models.Item{Kind: models.Output, CallID: id, Text: strings.Repeat("line of output\n", 250)},
				)
			}
			c := openai.New(openai.Options{
				Providers: []models.Provider{provider(api)},
				HTTP:      &http.Client{Transport: canned("", []byte("{}"))},
			})
			b.ReportAllocs()
			for b.Loop() {
				for range c.Stream(b.Context(), target, req) {
				}
			}
		})
	}
}
