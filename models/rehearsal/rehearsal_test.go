package rehearsal_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"belay/models/rehearsal"
)

func script(t testing.TB, text string) *rehearsal.Script {
	t.Helper()
	s, err := rehearsal.Parse("test.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(ctx context.Context, rt http.RoundTripper, path, body string) (int, string, error) {
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://rehearsal/v1/"+path, strings.NewReader(body))
	res, err := rt.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

const (
	responsesHi = `{"model":"m","input":"hi","stream":true}`
	chatHi      = `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`
)

func TestRepliesComeInOrderAndByCondition(t *testing.T) {
	s := rehearsal.New(script(t, `
[[reply]]
user = "second"
text = "B"
[[reply]]
model = "other"
text = "C"
[[reply]]
text = "A"
times = 2
[default]
text = "D"
`), rehearsal.Options{})
	var got []string
	for _, q := range []string{
		`{"model":"m","input":"first"}`, `{"model":"m","input":"the second"}`, `{"model":"other","input":"first"}`,
		`{"model":"m","input":"first"}`, `{"model":"m","input":"first"}`,
	} {
		_, body, err := ask(t.Context(), s, "responses", q)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Output []struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(body), &doc); err != nil {
			t.Fatal(err)
		}
		got = append(got, doc.Output[0].Content[0].Text)
	}
	if got, want := strings.Join(got, ""), "ABCAD"; got != want {
		t.Errorf("order = %s, want %s", got, want)
	}
	if s.Unused() != 0 {
		t.Errorf("%d replies left, want 0", s.Unused())
	}
	if log := s.Log(); len(log) != 5 || log[4].Reply != "default" || log[4].Outcome != "done" {
		t.Errorf("log = %+v", log)
	}
}

func TestAModelIsFullForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := rehearsal.New(script(t, `
[[reply]]
for = "60s"
fault = { how = "status", status = 503, code = "server_is_overloaded" }
[default]
text = "ok"
`), rehearsal.Options{})
		for _, c := range []struct {
			wait   time.Duration
			status int
		}{{0, 503}, {59 * time.Second, 503}, {time.Second, 200}, {time.Hour, 200}} {
			time.Sleep(c.wait)
			if status, _, _ := ask(t.Context(), s, "responses", responsesHi); status != c.status {
				t.Errorf("after %v: status %d, want %d", c.wait, status, c.status)
			}
		}
	})
}

func TestHistoriesAreChecked(t *testing.T) {
	s := rehearsal.New(script(t, `models = ["m"]`), rehearsal.Options{})
	call := `{"type":"function_call","call_id":"c1","name":"ls","arguments":"{}"}`
	output := `{"type":"function_call_output","call_id":"c1","output":"x"}`
	user := `{"role":"user","content":[{"type":"input_text","text":"hi"}]}`
	reasoning := `{"type":"reasoning","id":"rs_1","summary":[]}`
	in := func(items ...string) string { return `{"model":"m","input":[` + strings.Join(items, ",") + `]}` }
	chat := func(messages ...string) string {
		return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
	}
	asks := `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
	tool := `{"role":"tool","tool_call_id":"c1","content":"x"}`
	say := `{"role":"user","content":"hi"}`
	for _, c := range []struct {
		name, path, body string
		status           int
		says             string
	}{
		{"good", "responses", in(user, reasoning, call, output), 200, ""},
		{"call without output", "responses", in(user, call), 400, "No tool output found for function call c1."},
		{"output without call", "responses", in(user, output), 400,
			"No tool call found for function call output with call_id c1."},
		{"call twice", "responses", in(user, call, output, call), 400, "Duplicate"},
		{"reasoning at the end", "responses", in(user, reasoning), 400, "without its required following item"},
		{"reasoning before user", "responses", in(reasoning, user), 400, "without its required following item"},
		{"reasoning of another model", "responses",
			in(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"Zm9v"}`, call, output), 400,
			"invalid_encrypted_content"},
		{"unknown model", "responses", `{"model":"nope","input":"hi"}`, 404, "model_not_found"},
		{"no model", "responses", `{"input":"hi"}`, 400, "model parameter"},
		{"not JSON", "responses", `{`, 400, "could not parse"},
		{"good chat", "chat/completions", chat(say, asks, tool), 200, ""},
		{"chat call without output", "chat/completions", chat(say, asks, say), 400, "did not have response messages: c1"},
		{"chat call at the end", "chat/completions", chat(say, asks), 400, "did not have response messages: c1"},
		{"chat output without call", "chat/completions", chat(say, tool), 400, "must be a response to a preceeding message"},
		{"chat call twice", "chat/completions", chat(say, asks, tool, asks, tool), 400, "Duplicate"},
		{"chat without messages", "chat/completions", chat(), 400, "empty array"},
		{"unknown path", "nowhere", "{}", 404, "Invalid URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, err := ask(t.Context(), s, c.path, c.body)
			if err != nil || status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("got %d %s %v, want %d with %q", status, body, err, c.status, c.says)
			}
		})
	}
}

// What clients other than belay send, and expect to be understood.
func TestRepliesAreKeptUnlessTheRequestSaysNo(t *testing.T) {
	s := rehearsal.New(script(t, `
models = ["m"]
[[reply]]
text = "One moment."
calls = [{ id = "c1", name = "ls", arguments = {} }]
[[reply]]
output = "a.go"
text = "It is a.go."
[[reply]]
user = "again"
times = -1
text = "Again."
`), rehearsal.Options{ID: func() string { return "1" }})
	for _, row := range []struct {
		name, body string
		status     int
		says       string
	}{
		{"a hosted tool", `{"model":"m","input":"hi","tools":[{"type":"web_search"},{"type":"function","name":"ls"}]}`, 200,
			"resp_1"},
		{"going on", `{"model":"m","previous_response_id":"resp_1",
			"input":[{"type":"function_call_output","call_id":"c1","output":"a.go"}]}`, 200, "It is a.go."},
		{"named items", `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"item_reference","id":"msg_1"},
			{"role":"user","content":"again"}]}`, 200, "Again."},
		{"nothing to go on from", `{"model":"m","previous_response_id":"resp_2","input":"hi"}`, 400,
			"previous_response_not_found"},
		{"an item that is not kept", `{"model":"m","input":[{"type":"item_reference","id":"msg_9"}]}`, 404,
			"not persisted when `store` is set to false"},
		{"a tool without a name", `{"model":"m","input":"hi","tools":[{"type":"function"}]}`, 400, "tools[0].name"},
	} {
		status, body, err := ask(t.Context(), s, "responses", row.body)
		if err != nil || status != row.status || !strings.Contains(body, row.says) {
			t.Errorf("%s: %d %s %v, want %d with %q", row.name, status, body, err, row.status, row.says)
		}
	}
	never := rehearsal.New(script(t, "[default]\ntext = \"x\""), rehearsal.Options{ID: func() string { return "1" }})
	for i, want := range []int{200, 400} {
		body := []string{`{"model":"m","store":false,"input":"hi"}`, `{"model":"m","previous_response_id":"resp_1","input":"hi"}`}[i]
		if status, got, _ := ask(t.Context(), never, "responses", body); status != want {
			t.Errorf("without a store, request %d: %d %s", i+1, status, got)
		}
	}
}

func TestRefusalsAndModelsHaveWhatClientsLookFor(t *testing.T) {
	s := rehearsal.New(script(t, `models = ["m"]`), rehearsal.Options{})
	for path, want := range map[string]string{
		"/v1/models/m": `"id":"m"`, "/v1/models/n": "model_not_found", "/v1/nowhere": "Invalid URL",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://rehearsal"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %v, want %s", path, body, err, want)
		}
		if res.StatusCode >= 400 && !strings.HasPrefix(res.Header.Get("X-Request-Id"), "req_") {
			t.Errorf("%s: no request id in %v", path, res.Header)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	status, body, err := ask(t.Context(), s, "chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":null,"function_call":{"name":"ls","arguments":"{}"}},
		{"role":"function","name":"ls","content":"a.go"}]}`)
	if err != nil || status != http.StatusOK {
		t.Errorf("a function's output: %d %s %v", status, body, err)
	}
}

func TestKeyIsRequired(t *testing.T) {
	s := rehearsal.New(script(t, `key = "open sesame"`), rehearsal.Options{})
	req, _ := http.NewRequest("GET", "http://rehearsal/v1/models", nil)
	res, err := s.RoundTrip(req)
	if err != nil || res.StatusCode != 401 {
		t.Fatalf("without key: %v %v, want 401", res, err)
	}
	req.Header.Set("Authorization", "Bearer open sesame")
	if res, err = s.RoundTrip(req); err != nil || res.StatusCode != 200 {
		t.Fatalf("with key: %v %v, want 200", res, err)
	}
}

func TestFaultsInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		how, at string
		has     string
		err     error
	}{
		{"cut", "text", `"delta":"0123"`, io.ErrUnexpectedEOF},
		{"reset", "text", `"delta":"0123"`, syscall.ECONNRESET},
		{"end", "text", `"delta":"0123"`, nil},
		{"malformed", "text", "\"delta\":\"ha\n", nil},
		{"error", "text", `"code":"server_is_overloaded"`, nil},
		{"error-flat", "start", `"code":"server_is_overloaded"`, nil},
		{"failed", "arguments", `"status":"failed"`, nil},
		{"incomplete", "text", `"reason":"max_output_tokens"`, nil},
		{"cut", "item", `"type":"response.output_item.done"`, io.ErrUnexpectedEOF},
		{"cut", "end", `"type":"response.output_item.done"`, io.ErrUnexpectedEOF},
	} {
		t.Run(c.how+" at "+c.at, func(t *testing.T) {
			s := rehearsal.New(script(t, `
[[reply]]
text = "0123456789"
calls = [{ name = "ls", arguments = { path = "." } }]
fault = { how = "`+c.how+`", at = "`+c.at+`" }
speed = { chunk = 4 }
`), rehearsal.Options{})
			_, body, err := ask(t.Context(), s, "responses", responsesHi)
			if !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if !strings.Contains(body, c.has) {
				t.Errorf("body has no %q:\n%s", c.has, body)
			}
			if strings.Contains(body, "response.completed") {
				t.Errorf("the reply is complete:\n%s", body)
			}
			if got := s.Log()[0].Outcome; got != c.how {
				t.Errorf("outcome %q, want %q", got, c.how)
			}
		})
	}
}

func TestSilenceLastsUntilTheClientLeaves(t *testing.T) {
	for _, how := range []string{"stall", "comments"} {
		for _, api := range []string{"responses", "chat/completions"} {
			t.Run(how+" "+api, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := rehearsal.New(script(t, "[[reply]]\ntext='hello'\nfault={how='"+how+"',at='text'}"),
						rehearsal.Options{})
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					body := map[string]string{"responses": responsesHi, "chat/completions": chatHi}[api]
					begin := time.Now()
					_, text, err := ask(ctx, s, api, body)
					if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Hour {
						t.Errorf("ended with %v after %v", err, time.Since(begin))
					}
					if got, want := strings.Contains(text, ": keepalive"), how == "comments"; got != want {
						t.Errorf("comments %v, want %v", got, want)
					}
				})
			})
		}
	}
}

func TestClosingTheBodyEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := rehearsal.New(script(t, "[[reply]]\ntext='hello'\nfault={how='stall'}"), rehearsal.Options{})
		req, _ := http.NewRequest("POST", "http://rehearsal/v1/responses", strings.NewReader(responsesHi))
		res, err := s.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { _ = res.Body.Close() })
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("read ended without an error")
		}
	})
}

func TestASocketShowsTheSame(t *testing.T) {
	s := rehearsal.New(script(t, `
[[reply]]
text = "0123456789"
[[reply]]
text = "0123456789"
fault = { how = "cut", at = "text" }
[[reply]]
text = "0123456789"
fault = { how = "reset", at = "text" }
[[reply]]
fault = { how = "close" }
[[reply]]
content_type = "none"
text = "x"
`), rehearsal.Options{})
	server := httptest.NewServer(s)
	defer server.Close()
	get := func() (string, string, error) {
		res, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(chatHi))
		if err != nil {
			return "", "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return res.Header.Get("Content-Type"), string(b), err
	}
	if kind, body, err := get(); err != nil || !strings.HasSuffix(body, "data: [DONE]\n\n") ||
		!strings.HasPrefix(kind, "text/event-stream") {
		t.Errorf("good reply: %q %v\n%s", kind, err, body)
	}
	if _, _, err := get(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v, want unexpected EOF", err)
	}
	if _, _, err := get(); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("reset: %v", err)
	}
	if _, _, err := get(); err == nil {
		t.Error("close: no error")
	}
	if kind, _, err := get(); kind != "" || err != nil {
		t.Errorf("content type %q %v, want none", kind, err)
	}
}

func TestParseNamesEveryFaultAndItsLine(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"unknown keys", "color = 1\n[[reply]]\ntext='a'\nsize = 2\n",
			"x:1:1: unknown key color\nx:4:1: unknown key reply.size"},
		{"form", "[[reply]\n", "x:1:"},
		{"duration", "[speed]\ndelay = \"soon\"\n", `x:2:9: duration "soon"`},
		{"meaning", "models=['m']\n\n[[reply]]\nmodel='n'\ntext='a'\n[[reply]]\nfault={how='x'}\n",
			"x:3: reply 1: model \"n\" is not in models\nx:6: reply 2: fault: how \"x\": use one of"},
		{"empty reply", "[[reply]]\n", "x:1: reply 1: it has neither"},
		{"place without part", "[[reply]]\nfault={how='cut',at='text'}", `x:1: reply 1: fault: at "text", but there is none`},
		{"JSON", "{\"models\":[],\n\"reply\":[{\"text\":1}]}", "x:2:"},
		{"JSON key", "{\"nope\":1}", "nope"},
		{"JSON rest", "{} {}", "follows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := rehearsal.Parse("x", []byte(c.script))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestExampleParses(t *testing.T) {
	s, err := rehearsal.Parse("example.toml", rehearsal.Example())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Replies) < 5 || s.Default == nil {
		t.Errorf("example has %d replies and default %v", len(s.Replies), s.Default)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(rehearsal.Example())
	f.Add([]byte(`{"reply":[{"text":"a","fault":{"how":"cut","at":"text"}}]}`))
	f.Add([]byte("[[reply]]\ncalls=[{name='a',arguments='{'}]\nfault={how='huge',size=3,at='arguments'}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := rehearsal.Parse("x", data)
		if err != nil {
			return
		}
		for i := range s.Replies { // silence is for clients that leave
			s.Replies[i].Speed, s.Replies[i].Model = nil, ""
			if fault := s.Replies[i].Fault; fault != nil &&
				(fault.How == "stall" || fault.How == "comments" || fault.Size > 1000) {
				s.Replies[i].Fault = nil
			}
		}
		if d := s.Default; d != nil {
			d.Speed, d.Fault = nil, nil
		}
		s.Speed, s.Key, s.Models = rehearsal.Speed{}, "", nil
		server := rehearsal.New(s, rehearsal.Options{})
		for _, q := range []struct{ path, body string }{{"responses", responsesHi}, {"chat/completions", chatHi}} {
			_, body, err := ask(t.Context(), server, q.path, q.body)
			if e := server.Log()[0]; err != nil && e.Outcome == "done" {
				t.Errorf("a good reply of %s ends with %v", q.path, err)
			}
			for line := range strings.Lines(body) {
				data, ok := strings.CutPrefix(line, "data: {")
				if ok && !json.Valid([]byte("{"+data)) && server.Log()[0].Outcome == "done" {
					t.Errorf("not JSON: %q", line)
				}
			}
		}
	})
}
