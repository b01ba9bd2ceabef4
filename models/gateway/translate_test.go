package gateway

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"belay/models/route"
)

const (
	toolsOfResponses = `"tools":[{"type":"function","name":"get","description":"d","strict":true,
		"parameters":{"type":"object","properties":{"a":{"type":"string"}}}},
		{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"regex","definition":"a+"}},
		{"type":"namespace","name":"team","tools":[{"type":"function","name":"ask","parameters":{"type":"object"}}]}]`
	toolsOfChat = `"tools":[{"type":"function","function":{"name":"get","description":"d","strict":true,
		"parameters":{"type":"object","properties":{"a":{"type":"string"}}}}},
		{"type":"custom","custom":{"name":"patch","format":{"type":"grammar","grammar":{"syntax":"regex","definition":"a+"}}}}]`
	pixel = "data:image/png;base64,aGk="
)

// TestWhatAClientSaysReachesTheModel compares fields of the request that the model is
// sent with those that were asked, for each pair of protocols.
func TestWhatAClientSaysReachesTheModel(t *testing.T) {
	for _, tt := range []struct {
		name, path, model, request string
		want                       map[string]string // by field: JSON of its value; "": it is not there
	}{
		{
			"parameters by Responses", "/v1/responses", "p/sol",
			`"input":"x","temperature":0.5,"max_output_tokens":7,"parallel_tool_calls":false,"tool_choice":"required",
			"text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}},"verbosity":"low"},
			"reasoning":{"effort":"high"},"prompt_cache_key":"k",` + toolsOfResponses,
			map[string]string{
				"temperature": "0.5", "max_output_tokens": "7", "parallel_tool_calls": "false", "tool_choice": `"required"`,
				"prompt_cache_key": `"k"`, "reasoning": `{"effort":"high","summary":"auto"}`,
				"text": `{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}},"verbosity":"low"}`,
				"tools": `[{"type":"function","name":"get","description":"d","strict":true,
					"parameters":{"type":"object","properties":{"a":{"type":"string"}}}},
					{"type":"custom","name":"patch","description":"","format":{"type":"grammar","syntax":"regex","definition":"a+"}},
					{"type":"function","name":"team__ask","strict":false,"parameters":{"type":"object"}}]`,
			},
		},
		{
			"the same from Chat Completions", "/v1/chat/completions", "p/sol",
			`"messages":[{"role":"system","content":"be good"},{"role":"user","content":"x"}],"temperature":0.5,
			"max_completion_tokens":7,"parallel_tool_calls":false,"reasoning_effort":"high","verbosity":"low",
			"tool_choice":{"type":"function","function":{"name":"get"}},
			"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}},` +
				toolsOfChat,
			map[string]string{
				"temperature": "0.5", "max_output_tokens": "7", "parallel_tool_calls": "false", "instructions": `"be good"`,
				"tool_choice": `{"type":"function","name":"get"}`, "reasoning": `{"effort":"high","summary":"auto"}`,
				"text": `{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}},"verbosity":"low"}`,
			},
		},
		{
			"from Responses to Chat Completions", "/v1/responses", "c/luna",
			`"instructions":"be good","input":"x","top_p":0.5,"max_output_tokens":7,
			"text":{"format":{"type":"json_object"},"verbosity":"low"},"reasoning":{"effort":"high","summary":"auto"},
			"tool_choice":{"type":"custom","name":"patch"},` + toolsOfResponses,
			map[string]string{
				"top_p": "0.5", "max_completion_tokens": "7", "reasoning_effort": `"high"`, "verbosity": `"low"`,
				"response_format": `{"type":"json_object"}`, "text": "",
				"tool_choice": `{"type":"function","function":{"name":"patch"}}`,
				"messages":    `[{"role":"system","content":"be good"},{"role":"user","content":"x"}]`,
				"tools": `[{"type":"function","function":{"name":"get","description":"d","strict":true,
					"parameters":{"type":"object","properties":{"a":{"type":"string"}}}}},
					{"type":"function","function":{"name":"patch",
					"parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}},
					{"type":"function","function":{"name":"team__ask","parameters":{"type":"object"}}}]`,
			},
		},
		{
			"what only Chat Completions say", "/v1/chat/completions", "c/luna",
			`"messages":[{"role":"user","content":"x"}],"stop":["a"],"seed":3,"logit_bias":{"5":1},"n":1,"user":"u"`,
			map[string]string{"stop": `["a"]`, "seed": "3", "logit_bias": `{"5":1}`, "user": `"u"`},
		},
		{
			"a conversation by Responses", "/v1/responses", "p/sol",
			`"input":[{"role":"developer","content":"note"},
			{"role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"` + pixel +
				`","detail":"low"},{"type":"input_text","text":"and say"}]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"well","annotations":[]}]},
			{"type":"function_call","call_id":"1","name":"get","arguments":"{\"a\":\"b\"}"},
			{"type":"custom_tool_call","call_id":"2","name":"patch","input":"aaa"},
			{"type":"function_call","call_id":"3","namespace":"team","name":"ask","arguments":"{}"},
			{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"so"}]},
			{"type":"custom_tool_call_output","call_id":"2","output":"done"},
			{"type":"function_call_output","call_id":"3","output":"yes"}],` + toolsOfResponses,
			map[string]string{"input": `[{"type":"message","role":"developer","content":[{"type":"input_text","text":"note"}]},
				{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},
					{"type":"input_image","image_url":"` + pixel + `","detail":"low"}]},
				{"type":"message","role":"user","content":[{"type":"input_text","text":"and say"}]},
				{"type":"message","role":"assistant","content":[{"type":"output_text","text":"well"}]},
				{"type":"function_call","call_id":"1","name":"get","arguments":"{\"a\":\"b\"}"},
				{"type":"custom_tool_call","call_id":"2","name":"patch","input":"aaa"},
				{"type":"function_call","call_id":"3","name":"team__ask","arguments":"{}"},
				{"type":"function_call_output","call_id":"1","output":"so"},
				{"type":"custom_tool_call_output","call_id":"2","output":"done"},
				{"type":"function_call_output","call_id":"3","output":"yes"}]`},
		},
		{
			"a conversation by Chat Completions", "/v1/chat/completions", "p/sol",
			`"messages":[{"role":"system","content":"be"},{"role":"developer","content":"good"},
			{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"` + pixel + `"}}]},
			{"role":"assistant","content":null,"tool_calls":[
				{"id":"1","type":"function","function":{"name":"get","arguments":"{}"}},
				{"id":"2","type":"custom","custom":{"name":"patch","input":"aaa"}}]},
			{"role":"tool","tool_call_id":"1","content":"so"},{"role":"tool","tool_call_id":"2","content":"done"},
			{"role":"user","content":"on"}],` + toolsOfChat,
			map[string]string{"instructions": `"be\n\ngood"`, "input": `[
				{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},
					{"type":"input_image","image_url":"` + pixel + `","detail":"auto"}]},
				{"type":"function_call","call_id":"1","name":"get","arguments":"{}"},
				{"type":"custom_tool_call","call_id":"2","name":"patch","input":"aaa"},
				{"type":"function_call_output","call_id":"1","output":"so"},
				{"type":"custom_tool_call_output","call_id":"2","output":"done"},
				{"type":"message","role":"user","content":[{"type":"input_text","text":"on"}]}]`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, hello, func(o *Options, routing *route.Options) { routing.Policy = route.Never })
				status, _, answer := r.post(t, tt.path, `{"model":"`+tt.model+`",`+tt.request+`}`)
				log := r.upstream.Log()
				if status != 200 || len(log) != 1 || log[0].Status != 200 {
					t.Fatalf("status %d: %s\n%+v", status, answer, log)
				}
				sent := map[string]json.RawMessage{}
				if err := json.Unmarshal(log[0].Body, &sent); err != nil {
					t.Fatal(err)
				}
				for field, want := range tt.want {
					if got := sent[field]; !sameJSON(t, string(got), want) {
						t.Errorf("%s is\n%s\nwant\n%s", field, got, want)
					}
				}
			})
		})
	}
}

func sameJSON(t *testing.T, got, want string) bool {
	t.Helper()
	if got == "" || want == "" {
		return got == want
	}
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		t.Fatalf("not JSON: %s or %s", got, want)
	}
	return reflect.DeepEqual(a, b)
}

// TestWhatAModelSaysReachesTheClient plays a reply with reasoning, words and calls, for
// each pair of protocols.
func TestWhatAModelSaysReachesTheClient(t *testing.T) {
	const script = "[default]\nreasoning = \"Let me think.\"\ntext = \"I will call.\"\nusage = { input = 9, cached = 2, output = 5, reasoning = 1 }\n" +
		"calls = [{ id = \"1\", name = \"get\", arguments = { a = \"b\" } }, { id = \"2\", name = \"patch\", arguments = { input = \"a\\na\" } }, { id = \"3\", name = \"team__ask\" }]\n"
	responses := `"input":"x","reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],` + toolsOfResponses
	chat := `"messages":[{"role":"user","content":"x"}],"stream_options":{"include_usage":true},` + toolsOfChat
	wantResponses := []string{
		`"type":"summary_text"`, `"text":"Let me think."`, `"encrypted_content":"belay1.`, `"text":"I will call."`,
		`"arguments":"{\"a\":\"b\"}"`, `"input":"a\na"`, `"type":"custom_tool_call"`, `"name":"ask","namespace":"team"`,
		`"cached_tokens":2`, `"output_tokens":5`,
	}
	wantChat := []string{
		`"finish_reason":"tool_calls"`, `"arguments":"{\"a\":\"b\"}"`, `"custom":{"input":"a\na","name":"patch"}`,
		`"type":"custom"`, `"completion_tokens":5`, `"cached_tokens":2`,
	}
	for _, tt := range []struct {
		path, request string
		want          []string
	}{{"/v1/responses", responses, wantResponses}, {"/v1/chat/completions", chat, wantChat}} {
		for _, model := range []string{"p/sol", "c/luna"} {
			for _, stream := range []string{"true", "false"} {
				t.Run(tt.path+" "+model+" "+stream, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := newRig(t, script, nil)
						request := tt.request
						if stream == "false" {
							request = strings.Replace(request, `"stream_options":{"include_usage":true},`, "", 1)
						}
						_, _, answer := r.post(t, tt.path, `{"model":"`+model+`","stream":`+stream+`,`+request+`}`)
						for _, want := range tt.want {
							// Chat Completions of strangers tell no reasoning, and their calls no text.
							thought := strings.Contains(want, "summary") || strings.Contains(want, "think") ||
								strings.Contains(want, "encrypted")
							if model == "c/luna" && thought {
								continue
							}
							if !strings.Contains(answer, want) {
								t.Errorf("no %s in\n%s", want, answer)
							}
						}
					})
				})
			}
		}
	}
}

func TestReasoningComesBackToItsMaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "[default]\nreasoning = \"Let me think.\"\ntext = \"Well.\"\n", nil)
		_, _, answer := r.post(t, "/v1/responses",
			`{"model":"p/sol","input":"x","include":["reasoning.encrypted_content"]}`)
		var first struct{ Output []json.RawMessage }
		if err := json.Unmarshal([]byte(answer), &first); err != nil || len(first.Output) != 2 {
			t.Fatalf("%v: %s", err, answer)
		}
		again := func(model string) string {
			request, err := json.Marshal(map[string]any{"model": model, "input": append(append([]json.RawMessage{
				json.RawMessage(`{"role":"user","content":"x"}`),
			}, first.Output...), json.RawMessage(`{"role":"user","content":"go on"}`))})
			if err != nil {
				t.Fatal(err)
			}
			if status, _, answer := r.post(t, "/v1/responses", string(request)); status != 200 {
				t.Fatalf("status %d: %s", status, answer)
			}
			log := r.upstream.Log()
			return string(log[len(log)-1].Body)
		}
		// The rehearsal checks that what it encrypted comes back as it was.
		if body := again("p/sol"); !strings.Contains(body, `"type":"reasoning"`) || strings.Contains(body, "belay1.") {
			t.Errorf("its maker is sent %s", body)
		}
		if body := again("p/terra"); strings.Contains(body, "reasoning\"") && strings.Contains(body, "encrypted_content\":") {
			t.Errorf("another model is sent %s", body)
		}
	})
}

func TestWhatCannotBeCarriedIsRefusedByName(t *testing.T) {
	const chat, responses = "/v1/chat/completions", "/v1/responses"
	said := `"messages":[{"role":"user","content":"x"}]`
	for _, tt := range []struct{ path, request, param, code string }{
		{responses, `"input":"x","previous_response_id":"resp_1"`, "previous_response_id", "unsupported_parameter"},
		{responses, `"input":"x","background":true`, "background", "unsupported_parameter"},
		{responses, `"input":"x","truncation":"auto"`, "truncation", "unsupported_parameter"},
		{responses, `"input":"x","sparkle":1`, "sparkle", "unknown_parameter"},
		{responses, `"input":"x","tools":[{"type":"web_search"}]`, "tools[0].type", "unsupported_parameter"},
		{responses, `"input":"x","tools":[{"type":"function"}]`, "tools[0].name", "invalid_value"},
		{responses, `"input":"x","tool_choice":{"type":"function","name":"f"}`, "tool_choice", "invalid_value"},
		{responses, `"input":"x","text":{"format":{"type":"xml"}}`, "text.format", "invalid_value"},
		{responses, `"input":"x","max_output_tokens":0`, "max_output_tokens", "invalid_value"},
		{responses, `"input":[]`, "input", "invalid_value"},
		{responses, `"input":[{"type":"item_reference","id":"a"}]`, "input[0].type", "invalid_value"},
		{responses, `"input":[{"role":"user","content":[{"type":"input_file"}]}]`, "input[0].content[0].type", "invalid_value"},
		{responses, `"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://h/a.png"}]}]`,
			"input[0].content[0]", "invalid_value"},
		{responses, `"input":[{"type":"function_call_output","call_id":"1","output":"x"}]`, "input", "invalid_value"},
		{responses, `"input":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}]`, "input", "invalid_value"},
		{responses, `"input":[{"role":"robot","content":"x"}]`, "input[0].role", "invalid_value"},
		{responses, `"input":"x","stream":"yes"`, "stream", "invalid_value"},
		{chat, said + `,"n":2`, "n", "unsupported_parameter"},
		{chat, said + `,"logprobs":true`, "logprobs", "unsupported_parameter"},
		{chat, said + `,"functions":[{"name":"f"}]`, "functions", "unsupported_parameter"},
		{chat, said + `,"modalities":["text","audio"]`, "modalities", "unsupported_parameter"},
		{chat, said + `,"model":"sol"`, "", ""}, // and what can be is not
		{chat, `"messages":[{"role":"user","name":"Ann","content":"x"}]`, "messages[0].name", "unsupported_parameter"},
		{chat, `"messages":[{"role":"tool","tool_call_id":"1","content":"x"}]`, "messages", "invalid_value"},
		{chat, `"messages":[]`, "messages", "invalid_value"},
		{chat, `"messages":"x"`, "messages", "invalid_value"},
		// Only the target knows that it speaks another API.
		{chat, said + `,"stop":["a"]`, "stop", "unsupported_parameter"},
		{chat, said + `,"seed":1`, "seed", "unsupported_parameter"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, hello, pinned)
				status, _, answer := r.post(t, tt.path, `{"model":"heavy",`+tt.request+`}`)
				var doc struct {
					Error struct{ Param, Code, Type, Message string }
				}
				if err := json.Unmarshal([]byte(answer), &doc); err != nil {
					t.Fatal(err)
				}
				e := doc.Error
				unlike := status != 400 || e.Type != invalidRequest || e.Message == ""
				if e.Param != tt.param || e.Code != tt.code || tt.code != "" && unlike {
					t.Errorf("status %d: %s", status, answer)
				}
				if n := len(r.upstream.Log()); tt.code != "" && n > 0 {
					t.Errorf("the model was asked %d times", n)
				}
			})
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(true, []byte(`{"model":"heavy","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]}],`+toolsOfResponses+`}`))
	f.Add(false, []byte(`{"model":"heavy","messages":[{"role":"user","content":"x"}],`+toolsOfChat+`}`))
	f.Add(true, []byte(`{"model":"m","input":[{"type":"reasoning","encrypted_content":"belay1.e30"}]}`))
	f.Add(false, []byte(`{"messages":[{"content":[null]}],"tools":[{}],"tool_choice":{}}`))
	f.Fuzz(func(t *testing.T, responses bool, body []byte) {
		api, path := apiOf(responses)
		q, bad := parse(api, body)
		if (q == nil) == (bad == nil) {
			t.Fatalf("%s: question %v, refusal %v", path, q, bad)
		}
		if bad != nil {
			if bad.status < 400 || bad.status > 499 || bad.message == "" {
				t.Errorf("refusal %+v", bad)
			}
			return
		}
		if q.model == "" {
			t.Error("no model")
		}
		for _, p := range q.req.Parameters {
			for _, field := range p.Wire {
				if field.Name != "" && !json.Valid(field.Value) {
					t.Errorf("%s is %q", p.Name, field.Value)
				}
			}
		}
	})
}
