package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"belay/models"
)

// sse makes a stream of events.
func sse(events ...string) []byte {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return []byte(b.String())
}

// chatEvent is a chunk with that delta and reason; "": null.
func chatEvent(delta, reason string) string {
	if reason == "" {
		return `{"choices":[{"delta":` + delta + `,"finish_reason":null}]}`
	}
	return `{"choices":[{"delta":` + delta + `,"finish_reason":"` + reason + `"}]}`
}

const done = "[DONE]"

// outcome says in a line how an attempt ended.
func outcome(r result) string {
	if r.finished != nil {
		return "finished"
	}
	return strings.TrimSpace(string(r.fault.Kind) + " " + r.fault.Code)
}

const (
	greeting = `{"content":"Hello."}`
	wholeLs  = `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":"{}"}}]}`
	tornLs   = `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":"{\"pa"}}]}`
	thinking = `{"reasoning_content":"Hm."}`
)

func TestHowAChatReplyEnds(t *testing.T) {
	for _, c := range []struct {
		reasons string // one of them ends the reply
		deltas  []string
		want    string
		items   int
	}{
		{"stop STOP end_turn eos eos_token stop_sequence complete completed finish finished FINISH_REASON_STOP",
			[]string{greeting}, "finished", 1},
		{"tool_calls function_call tool_use stop", []string{greeting, wholeLs}, "finished", 2},
		{"length max_tokens MAX_TOKENS model_length max_output_tokens", []string{greeting},
			"incomplete max_output_tokens", 1},
		{"length", []string{greeting, tornLs}, "incomplete max_output_tokens", 1},
		{"length", []string{greeting, wholeLs}, "incomplete max_output_tokens", 2},
		{"length", []string{thinking}, "incomplete max_output_tokens", 0},
		{"content_filter SAFETY RECITATION prohibited_content refusal", []string{greeting}, "incomplete content_filter", 1},
		{"content_filter", nil, "incomplete content_filter", 0},
		{"abort", []string{greeting}, "server abort", 0},
		{"cancelled", []string{greeting}, "server cancelled", 0},
		{"error", []string{greeting}, "server error", 0},
		{"MALFORMED_FUNCTION_CALL", []string{greeting}, "malformed malformed_function_call", 0},
		{"function_call_filter: MALFORMED_FUNCTION_CALL", nil, "malformed malformed_function_call", 0},
		{"malformed_tool_call", nil, "malformed malformed_tool_call", 0},
		{"unexpected-tool-call", nil, "malformed unexpected_tool_call", 0},
		{"something_new", []string{greeting}, "finished", 1},
		{"something_new", []string{tornLs}, "server something_new", 0},
		{"something_new", nil, "stream", 0},
		{"stop", nil, "stream", 0},
		{"stop", []string{`{"content":" \n"}`}, "stream", 0},
		{"stop", []string{thinking}, "stream", 1},
		{"stop", []string{`{"content":"<think>Hm."}`}, "stream", 1},
	} {
		for _, reason := range strings.Split(c.reasons, " ") {
			if strings.Contains(c.reasons, ":") {
				reason = c.reasons
			}
			t.Run(fmt.Sprintf("%s after %d pieces", reason, len(c.deltas)), func(t *testing.T) {
				var events []string
				for _, d := range c.deltas {
					events = append(events, chatEvent(d, ""))
				}
				events = append(events, chatEvent("{}", reason), done)
				got := replay(t, models.Chat, "", sse(events...))
				if outcome(got) != c.want || len(got.items) != c.items {
					t.Errorf("%s with %d items, want %s with %d", outcome(got), len(got.items), c.want, c.items)
				}
			})
			if strings.Contains(c.reasons, ":") {
				break
			}
		}
	}
}

func TestHowOtherRepliesEnd(t *testing.T) {
	said := `{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"Hello."}`
	message := `{"type":"message","id":"m","status":"completed","content":[{"type":"output_text","text":"Hello."}]}`
	for _, c := range []struct {
		name  string
		api   models.API
		body  string
		want  string
		items string
	}{
		{"chat, done without a reason", models.Chat, string(sse(chatEvent(greeting, ""), done)), "finished",
			"message \"Hello.\"\n"},
		{"chat, done with an empty reason", models.Chat,
			string(sse(`{"choices":[{"delta":{"content":"Hello."},"finish_reason":""}]}`, done)), "finished",
			"message \"Hello.\"\n"},
		{"chat, done within a call", models.Chat, string(sse(chatEvent(tornLs, ""), done)), "stream", ""},
		{"chat, done after a call", models.Chat, string(sse(chatEvent(wholeLs, ""), done)), "finished", "call c1 ls {}\n"},
		{"chat, no reason and no end", models.Chat, string(sse(chatEvent(greeting, ""))), "stream", ""},
		{"chat, done and nothing else", models.Chat, string(sse(done)), "stream", ""},
		{"chat, a document without a reason", models.Chat, `{"choices":[{"message":{"content":"Hello."},"finish_reason":null}]}`,
			"finished", "message \"Hello.\"\n"},
		{"chat, an empty document", models.Chat, `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`, "stream", ""},
		{"chat, a document in a stream", models.Chat,
			string(sse(`{"choices":[{"message":{"content":"Hello."},"finish_reason":"stop"}]}`)), "finished",
			"message \"Hello.\"\n"},
		{"chat, the words once more at the end", models.Chat,
			string(sse(chatEvent(greeting, ""), `{"choices":[{"message":{"content":"Hello."},"finish_reason":"stop"}]}`)),
			"finished", "message \"Hello.\"\n"},
		{"chat, cut behind the relay, within a call", models.Chat,
			string(sse(chatEvent(greeting, ""), chatEvent(tornLs, ""),
				`{"choices":[{"delta":{},"finish_reason":"tool_calls","native_finish_reason":"MAX_TOKENS"}]}`)),
			"incomplete max_output_tokens", "message \"Hello.\"\n"},
		{"chat, cut behind the relay, after a call", models.Chat,
			string(sse(chatEvent(wholeLs, ""),
				`{"choices":[{"delta":{},"finish_reason":"tool_calls","native_finish_reason":"length"}]}`)),
			"finished", "call c1 ls {}\n"},
		{"chat, cut behind the relay, in words", models.Chat,
			string(sse(chatEvent(greeting, ""),
				`{"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"max_tokens"}]}`)),
			"incomplete max_output_tokens", "message \"Hello.\"\n"},
		{"chat, filtered behind the relay, after a call", models.Chat,
			string(sse(chatEvent(wholeLs, ""),
				`{"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"SAFETY"}]}`)),
			"incomplete content_filter", "call c1 ls {}\n"},
		{"chat, malformed behind the relay", models.Chat,
			string(sse(`{"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"MALFORMED_FUNCTION_CALL"}]}`)),
			"malformed malformed_function_call", ""},
		{"chat, an error of the choice", models.Chat,
			string(sse(chatEvent(greeting, ""), `{"choices":[{"delta":{},"finish_reason":"error","error":{"code":429,"message":"slow"}}]}`)),
			"rate 429", ""},
		{"chat, an error after the end", models.Chat,
			string(sse(chatEvent(greeting, "stop"), `{"error":{"message":"x"}}`)), "finished", "message \"Hello.\"\n"},

		{"responses, completed but incomplete", models.Responses,
			string(sse(said, `{"type":"response.completed","response":{"status":"incomplete"}}`)),
			"incomplete max_output_tokens", "message \"Hello.\"\n"},
		{"responses, incomplete with the item", models.Responses,
			string(sse(said, `{"type":"response.output_item.done","output_index":0,"item":`+
				strings.Replace(message, "completed", "incomplete", 1)+`}`,
				`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`)),
			"incomplete content_filter", "message \"Hello.\"\n"},
		{"responses, completed but failed", models.Responses,
			string(sse(`{"type":"response.completed","response":{"status":"failed","error":{"code":"slow_down","message":"m"}}}`)),
			"capacity slow_down", ""},
		{"responses, empty", models.Responses, string(sse(`{"type":"response.completed","response":{"output":[]}}`)),
			"stream", ""},
		{"responses, words without an item", models.Responses,
			string(sse(said, `{"type":"response.completed","response":{"output":[]}}`)), "finished", "message \"Hello.\"\n"},
		{"responses, still in progress by its word", models.Responses,
			string(sse(`{"type":"response.completed","response":{"status":"in_progress","output":[` + message + `]}}`)),
			"finished", "message \"Hello.\"\n"},
		{"responses, done without a last event", models.Responses,
			string(sse(`{"type":"response.output_item.done","output_index":0,"item":`+message+`}`, done)), "finished",
			"message \"Hello.\"\n"},
		{"responses, done within an item", models.Responses, string(sse(said, done)), "stream", ""},
		{"responses, a document in a stream", models.Responses,
			": hold on\n\n" + string(sse(`{"object":"response","status":"completed","output":[`+message+`]}`)), "finished",
			"message \"Hello.\"\n"},
		{"responses, a queued document in a stream", models.Responses,
			string(sse(`{"object":"response","status":"queued","output":[]}`)), "stream", ""},
		{"responses, a queued document", models.Responses, `{"id":"r","status":"queued","output":[]}`, "stream", ""},
		{"responses, an unfinished document", models.Responses, `{"id":"r","status":"in_progress","output":[` + message + `]}`,
			"stream", ""},
		{"responses, a document without a status", models.Responses, `{"id":"r","output":[` + message + `]}`, "finished",
			"message \"Hello.\"\n"},
		{"responses, cancelled", models.Responses, `{"id":"r","status":"cancelled","output":[]}`, "server", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := replay(t, c.api, "", []byte(c.body))
			if outcome(got) != c.want || brief(got.items) != c.items {
				t.Errorf("got %s (%v)\n%swant %s\n%s", outcome(got), got.fault, brief(got.items), c.want, c.items)
			}
			if got.fault != nil && got.fault.Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

func TestTornCallsAreNamed(t *testing.T) {
	chat := sse(
		chatEvent(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"read","arguments":"{\"p"}}]}`, ""),
		chatEvent(`{"tool_calls":[{"index":2,"id":"c","function":{"name":"edit","arguments":""}}]}`, "length"), done)
	whole := `{"type":"function_call","call_id":"a","name":"ls","arguments":"{}","status":"completed"}`
	torn := `{"type":"function_call","call_id":"b","name":"read","arguments":"{\"p","status":"incomplete"}`
	responses := sse(
		`{"type":"response.output_item.done","output_index":0,"item":`+whole+`}`,
		`{"type":"response.output_item.done","output_index":1,"item":`+torn+`}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c","name":"edit"}}`,
		`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`)
	for api, body := range map[models.API][]byte{models.Chat: chat, models.Responses: responses} {
		got := replay(t, api, "", body)
		if outcome(got) != "incomplete max_output_tokens" || strings.Join(got.fault.Torn, " ") != "read edit" ||
			brief(got.items) != "call a ls {}\n" {
			t.Errorf("%s: %s, torn %q, items\n%s", api, outcome(got), got.fault.Torn, brief(got.items))
		}
	}
}

func TestErrorsInMidStream(t *testing.T) {
	begin := map[models.API]string{
		models.Chat:      string(sse(chatEvent(greeting, ""))),
		models.Responses: string(sse(`{"type":"response.output_text.delta","delta":"Hello."}`)),
	}
	for _, c := range []struct{ name, rest, want string }{
		{"an object", "data: {\"error\":{\"message\":\"m\",\"code\":\"slow_down\"}}\n\n", "capacity slow_down"},
		{"a string", "data: {\"error\":\"The model is overloaded\"}\n\n", "capacity"},
		{"a number as code", "data: {\"error\":{\"message\":\"m\",\"code\":429}}\n\n", "rate 429"},
		{"flat", "data: {\"object\":\"error\",\"message\":\"m\",\"code\":503}\n\n", "capacity 503"},
		{"only a message", "data: {\"message\":\"m\",\"code\":\"slow_down\"}\n\n", "capacity slow_down"},
		{"without a field", "{\"error\":{\"message\":\"m\",\"code\":\"slow_down\"}}\n", "capacity slow_down"},
		{"without a field or an end", "{\"error\":{\"message\":\"m\",\"code\":\"slow_down\"}}", "capacity slow_down"},
		{"over several lines", "{\n  \"error\": {\n\n    \"code\": \"slow_down\"\n  }\n}\n", "capacity slow_down"},
		{"torn", "{\"error\":{\"mess", "stream"},
		{"empty ones are none", "data: {\"error\":{},\"choices\":[]}\n\ndata: {\"error\":\"\",\"choices\":[]}\n\n", "stream"},
	} {
		for api, first := range begin {
			got := replay(t, api, "text/event-stream", []byte(first+c.rest))
			if outcome(got) != c.want || got.text != "Hello." {
				t.Errorf("%s, %s: %s after %q (%v), want %s", c.name, api, outcome(got), got.text, got.fault, c.want)
			}
		}
	}
}

func TestACutInTheFirstBytes(t *testing.T) {
	for _, api := range []models.API{models.Chat, models.Responses} {
		for body, want := range map[string]string{
			"": "stream", "d": "stream", "data": "stream", "eve": "stream", ":": "stream", "id": "stream", "\n\nre": "stream",
			"{": "stream", "[": "stream", "<": "gateway", "ok": "gateway",
		} {
			if got := replay(t, api, "", []byte(body)); outcome(got) != want {
				t.Errorf("%s, %q: %s, want %s", api, body, outcome(got), want)
			}
		}
		broken := roundTrip(func(r *http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader("dat"), iotest.ErrReader(io.ErrUnexpectedEOF))
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
		})
		if got := attempt(t, t.Context(), client(broken, provider(api)), hello()); outcome(got) != "stream" {
			t.Errorf("%s, broken: %s, want stream", api, outcome(got))
		}
	}
}

// Lines end with LF, CR or both, events come in any pieces, and the last may
// lack its empty line.
func TestEventsComeInAnyForm(t *testing.T) {
	bodies := map[models.API]string{
		models.Chat: string(sse(chatEvent(`{"content":"Grüße 😀"}`, ""), chatEvent("{}", "stop"), done)) + ": bye\n\n",
		models.Responses: "event: response.output_text.delta\ndata: {\"delta\":\ndata: \"Grüße 😀\"}\n\ndata:\n\n" +
			"data: {\"type\":\"response.completed\",\"response\":{}}",
	}
	for api, body := range bodies {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			for _, size := range []int{1, 7, 1 << 20} {
				piecewise := roundTrip(func(r *http.Request) (*http.Response, error) {
					in := &slowReader{data: []byte(strings.ReplaceAll(body, "\n", end)), size: size}
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(in), Request: r}, nil
				})
				got := attempt(t, t.Context(), client(piecewise, provider(api)), hello())
				if outcome(got) != "finished" || got.text != "Grüße 😀" {
					t.Errorf("%s, %q, %d bytes at once: %s, %q (%v)", api, end, size, outcome(got), got.text, got.fault)
				}
			}
		}
	}
}

// slowReader gives a few bytes at once.
type slowReader struct {
	data []byte
	size int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.data[:min(r.size, len(r.data))])
	r.data = r.data[n:]
	return n, nil
}

func TestItemsComeInTheOrderOfTheirPlaces(t *testing.T) {
	added := func(i int, kind string) string {
		return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":%q}}`, i, kind)
	}
	doneEvent := func(i int, item string) string {
		return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item)
	}
	thought := `{"type":"reasoning","summary":[{"text":"Hm."}]}`
	message := `{"type":"message","content":[{"text":"Look."}]}`
	call := `{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}`
	events := []string{added(0, "reasoning"), added(1, "message"), added(2, "function_call"),
		doneEvent(2, call), doneEvent(1, message), doneEvent(0, thought)}
	want := "reasoning \"Hm.\"\nmessage \"Look.\"\ncall c ls {}\n"
	completed := `{"type":"response.completed","response":{}}`
	if got := replay(t, models.Responses, "", sse(append(events, completed)...)); brief(got.items) != want {
		t.Errorf("got\n%swant\n%s", brief(got.items), want)
	}
	// What was finished is handed over although the reply breaks off.
	if got := replay(t, models.Responses, "", sse(events[:5]...)); brief(got.items) != "message \"Look.\"\ncall c ls {}\n" ||
		outcome(got) != "stream" {
		t.Errorf("broken: %s\n%s", outcome(got), brief(got.items))
	}
	// So are items that no event ended, in their order.
	deltas := []string{
		`{"type":"response.output_text.delta","output_index":1,"delta":"Two."}`,
		`{"type":"response.output_text.delta","output_index":0,"delta":"One."}`, completed}
	if got := replay(t, models.Responses, "", sse(deltas...)); brief(got.items) != "message \"One.\"\nmessage \"Two.\"\n" {
		t.Errorf("unended:\n%s", brief(got.items))
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		stated string
		want   models.Usage
	}{
		{`{"prompt_tokens":10,"completion_tokens":4,"total_tokens":17}`, models.Usage{Input: 10, Output: 7, Reasoning: 3}},
		{`{"prompt_tokens":10,"completion_tokens":4,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":3}}`,
			models.Usage{Input: 10, Output: 7, Reasoning: 3}},
		{`{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14,"completion_tokens_details":{"reasoning_tokens":3}}`,
			models.Usage{Input: 10, Output: 4, Reasoning: 3}},
		{`{"prompt_tokens":10,"completion_tokens":4,"thoughtsTokenCount":3}`, models.Usage{Input: 10, Output: 7, Reasoning: 3}},
		{`{"prompt_tokens":10,"completion_tokens":4,"cached_tokens":6}`, models.Usage{Input: 10, Cached: 6, Output: 4}},
		{`{"prompt_tokens":10,"completion_tokens":4,"prompt_cache_hit_tokens":6,"prompt_cache_miss_tokens":4}`,
			models.Usage{Input: 10, Cached: 6, Output: 4}},
		{`{"prompt_tokens":10,"completion_tokens":4,"prompt_tokens_details":{"audio_tokens":9},"completion_tokens_details":{"audio_tokens":2}}`,
			models.Usage{Input: 10, Output: 4}},
		{`{"prompt_tokens":-1,"completion_tokens":1e30,"total_tokens":"x"}`, models.Usage{}},
		{`{"prompt_tokens":"10","completion_tokens":4.0,"prompt_tokens_details":null}`, models.Usage{Input: 10, Output: 4}},
		{`{"prompt_tokens":10,"completion_tokens":4,"cached_tokens":99}`, models.Usage{Input: 10, Cached: 10, Output: 4}},
	} {
		asResponses := strings.NewReplacer("prompt_tokens", "input_tokens", "completion_tokens", "output_tokens").Replace(c.stated)
		for api, body := range map[models.API][]byte{
			models.Chat: sse(chatEvent(greeting, "stop"), `{"choices":[],"usage":`+c.stated+`}`, done),
			models.Responses: sse(`{"type":"response.output_text.delta","delta":"Hello."}`,
				`{"type":"response.completed","response":{"usage":`+asResponses+`}}`),
		} {
			got := replay(t, api, "", body)
			if got.finished == nil || got.finished.Usage != c.want {
				t.Errorf("%s: %s: %+v (%v), want %+v", api, c.stated, got.finished, got.fault, c.want)
			}
		}
	}
	moonshot := sse(`{"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":1}}]}`)
	if got := replay(t, models.Chat, "", moonshot); got.finished.Usage != (models.Usage{Input: 3, Output: 1}) {
		t.Errorf("in the choice: %+v", got.finished.Usage)
	}
}

func TestUsageOfRepliesThatDoNotEndWell(t *testing.T) {
	usage := `{"prompt_tokens":10,"completion_tokens":4}`
	responses := `{"input_tokens":10,"output_tokens":4}`
	for _, c := range []struct {
		name string
		api  models.API
		body []byte
		want string
	}{
		{"at the limit, in the same chunk", models.Chat,
			sse(`{"choices":[{"delta":{"content":"Hello."},"finish_reason":"length"}],"usage":` + usage + `}`),
			"incomplete max_output_tokens"},
		{"at the limit, later", models.Chat,
			sse(chatEvent(greeting, ""), chatEvent("{}", "length"), `{"choices":[]}`, `{"choices":[],"usage":`+usage+`}`, done),
			"incomplete max_output_tokens"},
		{"at the limit, in one piece", models.Chat,
			[]byte(`{"choices":[{"message":{"content":"Hello."},"finish_reason":"length"}],"usage":` + usage + `}`),
			"incomplete max_output_tokens"},
		{"in an error", models.Chat, sse(chatEvent(greeting, ""), `{"error":{"code":"slow_down"},"usage":`+usage+`}`),
			"capacity slow_down"},
		{"so far, of a broken stream", models.Chat,
			sse(`{"choices":[{"delta":{"content":"Hello."}}],"usage":` + usage + `}`), "stream"},
		{"incomplete", models.Responses,
			sse(`{"type":"response.incomplete","response":{"usage":` + responses + `}}`), "incomplete max_output_tokens"},
		{"failed", models.Responses,
			sse(`{"type":"response.failed","response":{"error":{"code":"slow_down"},"usage":` + responses + `}}`),
			"capacity slow_down"},
		{"failed, in one piece", models.Responses,
			[]byte(`{"status":"failed","output":[],"error":{"code":"slow_down"},"usage":` + responses + `}`),
			"capacity slow_down"},
	} {
		got := replay(t, c.api, "", c.body)
		if outcome(got) != c.want || got.fault.Usage != (models.Usage{Input: 10, Output: 4}) {
			t.Errorf("%s: %s, %+v, want %s", c.name, outcome(got), got.fault.Usage, c.want)
		}
	}
}

// An endpoint that never states the usage of an incomplete reply is not waited for.
func TestUsageIsWaitedForInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := roundTrip(func(r *http.Request) (*http.Response, error) {
			body := io.MultiReader(bytes.NewReader(sse(chatEvent(greeting, "length"))), stuck{r.Context()})
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
		})
		begin := time.Now()
		got := attempt(t, t.Context(), client(rt, provider(models.Chat)), hello())
		if outcome(got) != "incomplete max_output_tokens" || time.Since(begin) != 10*time.Second {
			t.Errorf("%s after %v", outcome(got), time.Since(begin))
		}
	})
}

func TestWhatIsKeptOfAChatReply(t *testing.T) {
	call := func(rest string) string {
		return `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}` + rest + `}]}`
	}
	for _, c := range []struct {
		name   string
		deltas []string
		shown  string // of the reasoning
		raws   string // of the items, in order
	}{
		{"nothing of a plain call", []string{call("")}, "", "-"},
		{"what is added to a call", []string{call(`,"extra_content":{"google":{"thought_signature":"s"}},"other":null`)}, "",
			`{"extra_content":{"google":{"thought_signature":"s"}}}`},
		{"what is added in a later chunk",
			[]string{call(`,"a":1,"b":2`), `{"tool_calls":[{"index":0,"a":null,"b":3,"extra_content":{"k":[1]}}]}`}, "",
			`{"a":1,"b":3,"extra_content":{"k":[1]}}`},
		{"reasoning_content", []string{`{"reasoning_content":"One "}`, `{"reasoning_content":"two."}`, call("")}, "One two.",
			`{"reasoning_content":"One two."} -`},
		{"reasoning", []string{`{"reasoning":"One "}`, `{"reasoning":"two."}`, call("")}, "One two.",
			`{"reasoning":"One two."} -`},
		{"both fields say the same", []string{`{"reasoning_content":"One.","reasoning":"One."}`, call("")}, "One.",
			`{"reasoning_content":"One."} -`},
		{"parts of the content",
			[]string{`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"One "}]}]}`,
				`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"two."}],"closed":true,"signature":"s"}]}`,
				call("")}, "One two.",
			`{"content":[{"closed":true,"signature":"s","thinking":[{"text":"One two.","type":"text"}],"type":"thinking"}]} -`},
		{"details in pieces",
			[]string{`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"One ","format":"f"}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"two.","signature":null}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"s"}]}`, call("")}, "One two.",
			`{"reasoning_details":[{"format":"f","index":0,"signature":"s","text":"One two.","type":"reasoning.text"}]} -`},
		{"details of several kinds",
			[]string{`{"reasoning_details":[{"type":"reasoning.summary","index":0,"summary":"One"},{"type":"reasoning.encrypted","index":0,"data":"d1","id":"r"}]}`,
				`{"reasoning_details":[{"type":"reasoning.summary","index":0,"summary":"."},{"type":"reasoning.summary","index":1,"summary":"Two."}]}`,
				call("")}, "One.\n\nTwo.",
			`{"reasoning_details":[{"index":0,"summary":"One.","type":"reasoning.summary"},{"data":"d1","id":"r","index":0,"type":"reasoning.encrypted"},{"index":1,"summary":"Two.","type":"reasoning.summary"}]} -`},
		{"details whose id changes",
			[]string{`{"reasoning_details":[{"type":"reasoning.text","index":0,"id":"a","text":"One "}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","index":0,"id":"b","text":"two."}]}`, call("")}, "One two.",
			`{"reasoning_details":[{"id":"b","index":0,"text":"One two.","type":"reasoning.text"}]} -`},
		{"details without an index",
			[]string{`{"reasoning_details":[{"type":"reasoning.text","id":"a","text":"One "},{"type":"reasoning.text","id":"b","text":"B."}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","id":"a","text":"two."},{"type":"reasoning.encrypted","data":"d"},{"type":"reasoning.encrypted","data":"e"}]}`,
				call("")}, "One \n\nB.two.",
			`{"reasoning_details":[{"id":"a","text":"One two.","type":"reasoning.text"},{"id":"b","text":"B.","type":"reasoning.text"},{"data":"d","type":"reasoning.encrypted"},{"data":"e","type":"reasoning.encrypted"}]} -`},
		{"details beside the field are shown once",
			[]string{`{"reasoning":"One.","reasoning_details":[{"type":"reasoning.text","index":0,"text":"One."}]}`, call("")},
			"One.", `{"reasoning":"One.","reasoning_details":[{"index":0,"text":"One.","type":"reasoning.text"}]} -`},
		{"tags", []string{`{"content":"<think>One.</think>Look."}`, call("")}, "One.", "- - -"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []string
			for _, d := range c.deltas {
				events = append(events, chatEvent(d, ""))
			}
			got := replay(t, models.Chat, "", sse(append(events, chatEvent("{}", "tool_calls"), done)...))
			var raws []string
			text := ""
			for _, it := range got.items {
				raw := "-"
				if it.Raw != nil {
					raw = canonical(t, it.Raw)
				}
				raws = append(raws, raw)
				if it.Kind == models.Reasoning {
					text += it.Text
				}
			}
			if outcome(got) != "finished" || strings.Join(raws, " ") != c.raws {
				t.Errorf("%s: raws\n%s\nwant\n%s", outcome(got), strings.Join(raws, " "), c.raws)
			}
			if got.reasoning != c.shown || text != c.shown {
				t.Errorf("shown %q, item %q, want %q", got.reasoning, text, c.shown)
			}
		})
	}
}

// canonical writes JSON with sorted names.
func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// Another id for a call takes nothing from what its maker wants back.
func TestANewCallIDKeepsWhatWasAdded(t *testing.T) {
	body := sse(chatEvent(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"{}"},"x":1}]}`, "stop"))
	req := hello()
	req.Items = append(req.Items, models.Item{Kind: models.Call, CallID: "c", Name: "ls", Arguments: "{}"},
		models.Item{Kind: models.Output, CallID: "c"})
	got := attempt(t, t.Context(), client(canned("", body), provider(models.Chat)), req)
	if len(got.items) != 1 || got.items[0].CallID == "c" || string(got.items[0].Raw) != `{"x":1}` {
		t.Errorf("got %+v", got.items)
	}
}

func TestTagsAroundThoughts(t *testing.T) {
	for content, want := range map[string][2]string{
		"<think>Hm.</think>\n\nYes.":                 {"Hm.", "Yes."},
		"\n <thinking>Hm. <b></thinking> Yes.":       {"Hm. <b>", "Yes."},
		"<thought>Hm.</think></thought>Yes. <think>": {"Hm.</think>", "Yes. <think>"},
		"<think>\n\n</think>\n\nYes.":                {"\n\n", "Yes."},
		"<thin":                                      {"", "<thin"},
		"<thinker> is a tag.":                        {"", "<thinker> is a tag."},
		"  Yes: <think>no</think>":                   {"", "  Yes: <think>no</think>"},
		"<think></think>Yes.":                        {"", "Yes."},
	} {
		for _, size := range []int{1, 2, 5, 100} {
			var events []string
			for rest := content; rest != ""; {
				piece := rest[:min(size, len(rest))]
				rest = rest[len(piece):]
				b, _ := json.Marshal(map[string]string{"content": piece})
				events = append(events, chatEvent(string(b), ""))
			}
			got := replay(t, models.Chat, "", sse(append(events, chatEvent("{}", "stop"))...))
			if got.reasoning != want[0] || got.text != want[1] || outcome(got) != "finished" {
				t.Errorf("%q by %d: reasoning %q, text %q, %s, want %q", content, size, got.reasoning, got.text, outcome(got), want)
			}
		}
	}
}

func TestCharactersSplitOverEvents(t *testing.T) {
	for name, pieces := range map[string][]string{
		"escaped halves":          {`a\ud83d`, `\ude00b`},
		"upper case":              {`a\uD83D`, ``, `\uDE00b`},
		"bytes":                   {"a\xf0\x9f", "\x98", "\x80b"},
		"a half before an escape": {`a\ud83d`, "\\ude00\\u0062"},
	} {
		for field, event := range map[string]func(string) string{
			"content":           func(s string) string { return chatEvent(`{"content":"`+s+`"}`, "") },
			"reasoning":         func(s string) string { return chatEvent(`{"reasoning":"`+s+`"}`, "") },
			"reasoning_content": func(s string) string { return chatEvent(`{"reasoning_content":"`+s+`"}`, "") },
			"reasoning_details": func(s string) string {
				return chatEvent(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"`+s+`"}]}`, "")
			},
			"arguments": func(s string) string {
				return chatEvent(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"`+s+`"}}]}`, "")
			},
			"output_text": func(s string) string { return `{"type":"response.output_text.delta","delta":"` + s + `"}` },
			"summary": func(s string) string {
				return `{"type":"response.reasoning_summary_text.delta","delta":"` + s + `"}`
			},
			"function_call_arguments": func(s string) string {
				return `{"type":"response.function_call_arguments.delta","item_id":"c","delta":"` + s + `"}`
			},
		} {
			api := models.Chat
			last := chatEvent("{}", "stop")
			if strings.Contains(event(""), "response.") {
				api = models.Responses
				last = `{"type":"response.completed","response":{"output":[]}}`
			}
			var events []string
			for _, p := range pieces {
				events = append(events, event(p))
			}
			got := replay(t, api, "", sse(append(events, last)...))
			if said := saidIn(got); said != "a😀b" {
				t.Errorf("%s in %s: %q", name, field, said)
			}
		}
	}
	// What never comes is one replacement character.
	got := replay(t, models.Chat, "", sse(chatEvent(`{"content":"a\ud83d"}`, ""), chatEvent("{}", "stop")))
	if got.text != "a\uFFFD" || got.items[0].Text != "a\uFFFD" {
		t.Errorf("a lone half: %q, %+v", got.text, got.items)
	}
	got = replay(t, models.Chat, "", sse(chatEvent(`{"content":"\ude00b\ud83dc"}`, "stop")))
	if got.text != "\uFFFDb\uFFFDc" {
		t.Errorf("lone halves within: %q", got.text)
	}
}

// What is sent back must be readable by those who cut it within a character.
func TestHalvesThatGoBackAreReplaced(t *testing.T) {
	item := `{"type":"message","id":"m","content":[{"type":"output_text","text":"\ud83d\ude00 \\ud83d a\ud83d"}]}`
	got := replay(t, models.Responses, "", sse(`{"type":"response.output_item.done","item":`+item+`}`,
		`{"type":"response.completed","response":{}}`))
	want := strings.Replace(item, `a\ud83d`, `a\ufffd`, 1)
	if raw := string(got.items[0].Raw); raw != want || got.text != "😀 \\ud83d a\uFFFD" {
		t.Errorf("raw %s, want %s; text %q", raw, want, got.text)
	}
}

// saidIn is all that was handed over in pieces.
func saidIn(r result) string {
	said := ""
	for _, c := range r.chunks {
		switch c := c.(type) {
		case models.TextDelta:
			said += c.Text
		case models.ReasoningDelta:
			said += c.Text
		case models.CallDelta:
			said += c.Arguments
		}
	}
	return said
}

func TestArgumentsAsAnObject(t *testing.T) {
	for api, body := range map[models.API][]byte{
		models.Chat: sse(chatEvent(`{"tool_calls":[{"id":"c","function":{"name":"ls","arguments":{"path": "a"}}}]}`, "stop")),
		models.Responses: sse(`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"ls","arguments":{"path": "a"}}}`,
			`{"type":"response.completed","response":{}}`),
	} {
		if got := replay(t, api, "", body); brief(got.items) != "call c ls {\"path\":\"a\"}\n" {
			t.Errorf("%s: %s", api, brief(got.items))
		}
	}
}

func TestCallsWrittenAsText(t *testing.T) {
	for text, want := range map[string]string{
		"<tool_call>\n{\"name\":\"ls\",\"arguments\":{}}\n</tool_call>":                           "ls",
		"<function=read><parameter=path>a</parameter></function>":                                 "read",
		"[TOOL_CALLS][{\"name\":\"ls\",\"arguments\":{}}]":                                        "ls",
		"[TOOL_CALLS]ls{\"path\":\".\"}":                                                          "ls",
		"<function=other></function>":                                                             "other",
		"<tool_call>???</tool_call>":                                                              "unknown",
		"{\"name\":\"ls\",\"arguments\":{\"path\":\".\"}}":                                        "ls",
		"```json\n{\"name\": \"ls\", \"parameters\": {}}\n```":                                    "ls",
		"{\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}":           "read",
		"{\"function\":\"functions.ls\",\"arguments\":{}}":                                        "ls",
		"{\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]}": "read",
		"{\"name\":\"ls\",\"arguments\":{}}\n{\"name\":\"read\",\"arguments\":{}}":                "ls",

		"{\"name\":\"ls\"}":                              "",
		"{\"name\":\"rm\",\"arguments\":{}}":             "",
		"{\"name\":\"ls\",\"arguments\":{},\"price\":1}": "",
		"I call {\"name\":\"ls\",\"arguments\":{}}":      "",
		"{\"name\":\"ls\",\"arguments\":{}} is a call":   "",
		"<tool_call> is what some models write.":         "",
		"Write <tool_call>{}</tool_call>":                "",
		"[]":                                             "", "{}": "", "[TOOL_CALLS] is a token": "", "Hello.": "",
	} {
		b, _ := json.Marshal(map[string]string{"content": text})
		got := replay(t, models.Chat, "", sse(chatEvent(string(b), "stop")), "read")
		if got.finished == nil || got.finished.WrittenCall != want || got.text != text {
			t.Errorf("%s: %+v, want %q", text, got.finished, want)
		}
	}
	both := sse(chatEvent(`{"content":"{\"name\":\"ls\",\"arguments\":{}}"}`, ""), chatEvent(wholeLs, "stop"))
	if got := replay(t, models.Chat, "", both); got.finished.WrittenCall != "" {
		t.Errorf("beside a call: %q", got.finished.WrittenCall)
	}
}
