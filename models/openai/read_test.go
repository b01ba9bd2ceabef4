package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"belay/models"
	"belay/models/openai"
)

// canned answers every request with the same bytes.
func canned(contentType string, body []byte) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
		h := http.Header{}
		if contentType != "" {
			h.Set("Content-Type", contentType)
		}
		return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
	})
}

func replay(t testing.TB, api models.API, contentType string, body []byte, tools ...string) result {
	t.Helper()
	req := hello()
	for _, name := range tools {
		req.Tools = append(req.Tools, models.ToolSpec{Name: name})
	}
	return attempt(t, t.Context(), client(canned(contentType, body), provider(api)), req)
}

// brief writes items in a line each.
func brief(items []models.Item) string {
	var b strings.Builder
	for _, it := range items {
		switch it.Kind {
		case models.Call:
			fmt.Fprintf(&b, "call %s %s %s\n", it.CallID, it.Name, it.Arguments)
		default:
			fmt.Fprintf(&b, "%s %q\n", it.Kind, it.Text)
		}
	}
	return b.String()
}

func TestOddReplies(t *testing.T) {
	for _, c := range []struct {
		file  string
		items string
		text  string
		usage models.Usage
	}{
		{"responses-ids-change.sse", "message \"two words\"\ncall c1 ls {\"path\":\".\"}\n", "two words", models.Usage{Input: 10, Cached: 4, Output: 5, Reasoning: 1}},
		{"responses-items-only-at-end.sse", "reasoning \"Hm.\"\nmessage \"Yes.\"\n", "Yes.", models.Usage{Input: 1, Output: 2}},
		{"responses-parallel.sse", "call c_1 ls {\"path\":\"a\"}\ncall c_2 read {}\n", "", models.Usage{}},
		{"chat-bare.sse", "reasoning \"Hm. \"\nmessage \"I look.\"\ncall c1 ls {}\ncall c2 read {\"path\":1}\n", "I look.", models.Usage{Input: 10, Cached: 4, Output: 8, Reasoning: 3}},
		{"chat-same-index.sse", "call c1 ls {}\ncall c2 ls {\"path\":\"a\"}\n", "", models.Usage{Input: 1, Output: 1}},
	} {
		t.Run(c.file, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			api, _, _ := strings.Cut(c.file, "-")
			for _, contentType := range []string{"text/event-stream", "", "text/plain", "application/json"} {
				got := replay(t, models.API(api), contentType, body, "read")
				if got.finished == nil {
					t.Fatalf("%q: fault %v", contentType, got.fault)
				}
				if brief(got.items) != c.items || got.text != c.text || got.finished.Usage != c.usage {
					t.Errorf("%q: got\n%stext %q usage %+v\nwant\n%stext %q usage %+v", contentType, brief(got.items), got.text, got.finished.Usage, c.items, c.text, c.usage)
				}
			}
			crlf := bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n"))
			if got := replay(t, models.API(api), "text/event-stream", crlf, "read"); brief(got.items) != c.items {
				t.Errorf("with CRLF: got\n%s", brief(got.items))
			}
		})
	}
}

func TestAnUnknownToolKeepsTheWrapper(t *testing.T) {
	body, err := os.ReadFile("testdata/responses-parallel.sse")
	if err != nil {
		t.Fatal(err)
	}
	got := replay(t, models.Responses, "text/event-stream", body) // read is not offered
	if len(got.items) != 1 || got.items[0].Name != "multi_tool_use.parallel" {
		t.Errorf("got %s", brief(got.items))
	}
}

func TestCallIDsAreUnique(t *testing.T) {
	body := []byte(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"ls","arguments":"{}"}},{"index":1,"function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n")
	req := hello()
	req.Items = append(req.Items, models.Item{Kind: models.Call, CallID: "call_0", Name: "ls", Arguments: "{}"}, models.Item{Kind: models.Output, CallID: "call_0"})
	got := attempt(t, t.Context(), client(canned("text/event-stream", body), provider(models.Chat)), req)
	if len(got.items) != 2 || got.items[0].CallID == "call_0" || got.items[1].CallID == "" || got.items[0].CallID == got.items[1].CallID {
		t.Errorf("got %s", brief(got.items))
	}
}

func TestThoughtsInsideContentParts(t *testing.T) {
	body := []byte(`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Yes."}]},"finish_reason":"stop"}]}` + "\n\n")
	if got := replay(t, models.Chat, "", body); got.text != "Yes." || got.reasoning != "Hm." {
		t.Errorf("text %q, reasoning %q, fault %v", got.text, got.reasoning, got.fault)
	}
}

func TestEventsOfOtherKindsAreNoFaults(t *testing.T) {
	said := `The log says {"error":{"code":"server_is_overloaded"}}: Selected model is at capacity.`
	text, _ := json.Marshal(said)
	for api, body := range map[models.API]string{
		models.Chat:      `data: {"type":"ping"}` + "\n\n" + `data: {"choices":[{"delta":{"content":` + string(text) + `},"finish_reason":"stop"}]}` + "\n\n",
		models.Responses: `data: {"type":"response.output_text.delta","delta":` + string(text) + `,"error":null}` + "\n\n" + `data: {"type":"response.completed","response":{}}` + "\n\n",
	} {
		if got := replay(t, api, "", []byte(body)); got.text != said || got.finished == nil {
			t.Errorf("%s: text %q, fault %v", api, got.text, got.fault)
		}
	}
}

// The same failures as over a real connection.
func TestOverASocket(t *testing.T) {
	for _, c := range []struct {
		fault string
		kind  models.Kind
		phase models.Phase
	}{
		{"how='cut',at='text',after=8", models.KindStream, models.InText},
		{"how='reset',at='text',after=8", models.KindStream, models.InText},
		{"how='close'", models.KindNetwork, models.BeforeHeaders},
		{"how='refuse'", models.KindNetwork, models.BeforeHeaders},
		{"how='html'", models.KindGateway, models.BeforeEvent},
		{"how='error',at='arguments'", models.KindCapacity, models.InArguments},
	} {
		for _, api := range []models.API{models.Responses, models.Chat} {
			server := httptest.NewServer(script(t, "[[reply]]\n"+fullReply+"fault={"+c.fault+"}\n[default]\n"+fullReply))
			p := provider(api)
			p.BaseURL = server.URL + "/v1"
			client := openai.New(openai.Options{Providers: []models.Provider{p}, HTTP: server.Client()})
			if f := attempt(t, t.Context(), client, hello()).fault; f == nil || f.Kind != c.kind || f.Phase != c.phase {
				t.Errorf("%s, %s: got %+v, want %s %s", c.fault, api, f, c.kind, c.phase)
			}
			if got := attempt(t, t.Context(), client, hello()); got.text != "0123456789" || len(got.items) != 3 {
				t.Errorf("%s: after it: %+v", api, got)
			}
			server.Close()
		}
	}
}

func TestAWholeReplyIsTakenForAStream(t *testing.T) {
	server := func(api string) string {
		return "[[reply]]\n" + fullReply + "whole = true\nusage = { input = 9, cached = 3, output = 4, reasoning = 1 }\n"
	}
	for _, api := range []models.API{models.Responses, models.Chat} {
		for _, whole := range []bool{true, false} {
			req := hello()
			req.Whole = whole
			got := attempt(t, t.Context(), client(script(t, server(string(api))), provider(api)), req)
			if got.finished == nil {
				t.Fatalf("%s: %v", api, got.fault)
			}
			if got.text != "0123456789" || got.reasoning != "I think." || len(got.items) != 3 || got.finished.Usage != (models.Usage{Input: 9, Cached: 3, Output: 4, Reasoning: 1}) {
				t.Errorf("%s: %+v", api, got)
			}
		}
	}
}

func TestHeadersSayWhoAsks(t *testing.T) {
	for _, api := range []models.API{models.Responses, models.Chat} {
		var seen []http.Header
		inner := canned("text/event-stream", nil)
		rt := roundTrip(func(r *http.Request) (*http.Response, error) {
			seen = append(seen, r.Header.Clone())
			return inner.RoundTrip(r)
		})
		p := provider(api)
		p.Headers = map[string]string{"X-Project": "p1"}
		c, req := client(rt, p), hello()
		req.Operation = "op-1"
		attempt(t, t.Context(), c, req)
		attempt(t, t.Context(), c, req)
		h := seen[0]
		for k, want := range map[string]string{"User-Agent": "belay/1.2", "Authorization": "Bearer secret-key-1", "X-Project": "p1", "X-Belay-Operation": "op-1", "Content-Type": "application/json", "X-Stainless-Lang": ""} {
			if got := h.Get(k); got != want {
				t.Errorf("%s: %s is %q, want %q", api, k, got, want)
			}
		}
		if a, b := seen[0].Get("X-Client-Request-Id"), seen[1].Get("X-Client-Request-Id"); a == "" || a == b {
			t.Errorf("%s: trace ids %q and %q", api, a, b)
		}
	}
}

func TestModelsAreListed(t *testing.T) {
	for body, want := range map[string]string{
		`{"object":"list","data":[{"id":"b"},{"id":"a"},{"id":"b"}]}`: "b a",
		`{"models":[{"name":"x"},{"slug":"y"}]}`:                      "x y",
		`[{"id":"z"}]`:                                                "z",
		`{"data":[]}`:                                                 "",
	} {
		got, err := client(canned("application/json", []byte(body)), provider(models.Chat)).Models(t.Context(), "acme")
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: got %q %v, want %q", body, got, err, want)
		}
	}
	for body, want := range map[string]models.Kind{
		"<html>": models.KindGateway, `{"error":{"code":"invalid_api_key"}}`: models.KindAuth, "{": models.KindGateway,
	} {
		_, err := client(canned("text/html", []byte(body)), provider(models.Chat)).Models(t.Context(), "acme")
		var f *models.Fault
		if !errors.As(err, &f) || f.Kind != want {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}

// expected is what a careful reader finds in a recording, computed without the
// code under test.
type expected struct {
	text, reasoning string
	calls           []string
	input, output   int64
	fault           models.Kind
}

const recordings = "../../../shared/recordings"

func TestRecordings(t *testing.T) {
	files, _ := filepath.Glob(recordings + "/*.*")
	if len(files) == 0 {
		t.Skip("no recordings here")
	}
	for _, file := range files {
		name := filepath.Base(file)
		api, _, _ := strings.Cut(name, "-")
		if api != "responses" && api != "chat" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, events := range split(data) {
			t.Run(fmt.Sprintf("%s %d", name, i), func(t *testing.T) {
				want := survey(t, models.API(api), events)
				var sse strings.Builder
				for _, e := range events {
					fmt.Fprintf(&sse, "data: %s\n\n", e)
				}
				got := replay(t, models.API(api), "text/event-stream", []byte(sse.String()), "weather", "cityAttractions", "calculator", "read_file")
				compare(t, got, want)
			})
		}
	}
}

// split gives the events of each reply in a recording.
func split(data []byte) [][]string {
	var all [][]string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data: "))
		if line == "" || line == "[DONE]" {
			continue
		}
		if !json.Valid([]byte(line)) && json.Valid([]byte(line+"}")) {
			line += "}" // two events of one recording were published without their last brace
		}
		if strings.Contains(line, `"type":"response.created"`) || len(all) == 0 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], line)
	}
	return all
}

func survey(t *testing.T, api models.API, events []string) expected {
	t.Helper()
	var w expected
	arguments := map[string]string{}
	var order []string
	for _, line := range events {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if api == models.Responses {
			w.responses(e)
			continue
		}
		if u, ok := e["usage"].(map[string]any); ok {
			w.input, w.output = int64(u["prompt_tokens"].(float64)), int64(u["total_tokens"].(float64)-u["prompt_tokens"].(float64))
		}
		choices, _ := e["choices"].([]any)
		for _, c := range choices {
			d, _ := c.(map[string]any)["delta"].(map[string]any)
			text, _ := d["content"].(string)
			thought, _ := d["reasoning_content"].(string)
			w.text += text
			w.reasoning += thought
			calls, _ := d["tool_calls"].([]any)
			for _, one := range calls {
				call := one.(map[string]any)
				f, _ := call["function"].(map[string]any)
				index := fmt.Sprint(call["index"])
				if name, ok := f["name"].(string); ok && name != "" {
					order = append(order, index)
					arguments[index] = name + " "
				}
				args, _ := f["arguments"].(string)
				arguments[index] += args
			}
		}
	}
	for _, index := range order {
		w.calls = append(w.calls, arguments[index])
	}
	return w
}

func (w *expected) responses(e map[string]any) {
	delta, _ := e["delta"].(string)
	switch e["type"] {
	case "response.output_text.delta":
		w.text += delta
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		w.reasoning += delta
	case "response.reasoning_summary_part.added":
		if e["summary_index"].(float64) > 0 {
			w.reasoning += "\n\n"
		}
	case "response.output_item.done":
		item := e["item"].(map[string]any)
		if item["type"] == "function_call" && item["name"] != "parallel" {
			w.calls = append(w.calls, fmt.Sprint(item["name"], " ", item["arguments"]))
		} else if item["name"] == "parallel" {
			w.calls = append(w.calls, `weather {"location":"San Francisco"}`, `cityAttractions {"city":"Rome"}`)
		}
	case "error":
		w.fault = models.KindBilling
	case "response.completed":
		u := e["response"].(map[string]any)["usage"].(map[string]any)
		w.input, w.output = int64(u["input_tokens"].(float64)), int64(u["output_tokens"].(float64))
	}
}

func compare(t *testing.T, got result, want expected) {
	t.Helper()
	if want.fault != "" {
		if got.fault == nil || got.fault.Kind != want.fault || got.fault.Code != "insufficient_quota" || got.fault.Phase != models.BeforeEvent {
			t.Errorf("fault %+v, want %s", got.fault, want.fault)
		}
		return
	}
	if got.finished == nil {
		t.Fatalf("fault %v", got.fault)
	}
	if got.text != want.text || got.reasoning != want.reasoning {
		t.Errorf("text %q\nwant %q\nreasoning %q\nwant %q", got.text, want.text, got.reasoning, want.reasoning)
	}
	if u := got.finished.Usage; u.Input != want.input || u.Output != want.output {
		t.Errorf("usage %+v, want %d and %d", u, want.input, want.output)
	}
	var calls []string
	said := ""
	for _, it := range got.items {
		switch it.Kind {
		case models.Call:
			calls = append(calls, it.Name+" "+it.Arguments)
		case models.Message:
			said += it.Text
		}
	}
	if !slices.Equal(calls, want.calls) {
		t.Errorf("calls %q, want %q", calls, want.calls)
	}
	if len(said) < len(want.text) { // some recordings leave out deltas that their items have
		t.Errorf("items say %q, deltas %q", said, want.text)
	}
	if got.opened == nil || got.finished.Served == "" || got.opened.Served != got.finished.Served {
		t.Errorf("served %+v then %q", got.opened, got.finished.Served)
	}
}
