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
		{"responses-ids-change.sse", "message \"two words\"\ncall c1 ls {\"path\":\".\"}\n", "two words",
			models.Usage{Input: 10, Cached: 4, Output: 5, Reasoning: 1}},
		{"responses-items-only-at-end.sse", "reasoning \"Hm.\"\nmessage \"Yes.\"\n", "Yes.",
			models.Usage{Input: 1, Output: 2}},
		{"responses-parallel.sse", "call c_1 ls {\"path\":\"a\"}\ncall c_2 read {}\n", "", models.Usage{}},
		{"responses-phases.sse", "reasoning \"One.\\n\\nTwo.\"\nmessage \"I look.\"\nmessage \"Done.\"\n", "I look.Done.",
			models.Usage{}},
		{"chat-bare.sse", "reasoning \"Hm. \"\nmessage \"I look.\"\ncall c1 ls {}\ncall c2 read {\"path\":1}\n", "I look.",
			models.Usage{Input: 10, Cached: 4, Output: 8, Reasoning: 3}},
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
					t.Errorf("%q: got\n%stext %q usage %+v\nwant\n%stext %q usage %+v", contentType, brief(got.items),
						got.text, got.finished.Usage, c.items, c.text, c.usage)
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
	body := []byte(
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"ls","arguments":"{}"}},{"index":1,"function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n",
	)
	req := hello()
	req.Items = append(req.Items, models.Item{Kind: models.Call, CallID: "call_0", Name: "ls", Arguments: "{}"},
		models.Item{Kind: models.Output, CallID: "call_0"})
	got := attempt(t, t.Context(), client(canned("text/event-stream", body), provider(models.Chat)), req)
	if len(got.items) != 2 || got.items[0].CallID == "call_0" || got.items[1].CallID == "" ||
		got.items[0].CallID == got.items[1].CallID {
		t.Errorf("got %s", brief(got.items))
	}
}

func TestThoughtsInsideContentParts(t *testing.T) {
	body := []byte(
		`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Yes."}]},"finish_reason":"stop"}]}` + "\n\n",
	)
	if got := replay(t, models.Chat, "", body); got.text != "Yes." || got.reasoning != "Hm." {
		t.Errorf("text %q, reasoning %q, fault %v", got.text, got.reasoning, got.fault)
	}
}

func TestAnErrorThatOnlyTheEventNames(t *testing.T) {
	body := []byte("event: error\ndata: {\"code\":\"slow_down\",\"message\":\"m\"}\n\n")
	for _, api := range []models.API{models.Responses, models.Chat} {
		if f := replay(t, api, "text/event-stream", body).fault; f == nil || f.Kind != models.KindCapacity ||
			f.Code != "slow_down" {
			t.Errorf("%s: %+v", api, f)
		}
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
			server := httptest.NewServer(
				script(t, "[speed]\nchunk=4\n[[reply]]\n"+fullReply+"fault={"+c.fault+"}\n[default]\n"+fullReply),
			)
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

func TestNothingRunsThere(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	for _, api := range []models.API{models.Responses, models.Chat} {
		p := provider(api)
		p.BaseURL, p.Local = server.URL+"/v1", true
		client := openai.New(openai.Options{Providers: []models.Provider{p}})
		if f := attempt(t, t.Context(), client, hello()).fault; f == nil || f.Kind != models.KindAbsent {
			t.Errorf("%s: got %v, want absent", api, f)
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
			req.NoStream = whole
			got := attempt(t, t.Context(), client(script(t, server(string(api))), provider(api)), req)
			if got.finished == nil {
				t.Fatalf("%s: %v", api, got.fault)
			}
			if got.text != "0123456789" || got.reasoning != "I think." || len(got.items) != 3 ||
				got.finished.Usage != (models.Usage{Input: 9, Cached: 3, Output: 4, Reasoning: 1}) {
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
		for k, want := range map[string]string{"User-Agent": "belay/1.2", "Authorization": "Bearer secret-key-1",
			"X-Project": "p1", "X-Belay-Operation": "op-1", "Content-Type": "application/json", "X-Stainless-Lang": ""} {
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

func TestAnItemThatNobodyKnowsHidesNoOther(t *testing.T) {
	body := `{"id":"r","status":"completed","output":[1,null,{"type":"new_thing","a":[1]},
		{"type":"message","content":[{"type":"output_text","text":"Here."}]}],"usage":{"input_tokens":"12"}}`
	got := replay(t, models.Responses, "application/json", []byte(body))
	if got.text != "Here." || len(got.items) != 1 || got.finished == nil {
		t.Errorf("text %q, %d items, fault %v", got.text, len(got.items), got.fault)
	}
}
