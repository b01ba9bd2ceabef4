package rehearsal_test

import (
	"fmt"
	"strings"
	"testing"

	"belay/models/rehearsal"
)

func TestAScriptRefusesWhatTheEndpointRefuses(t *testing.T) {
	const (
		system = `{"role":"system","content":"be good"}`
		hi     = `{"role":"user","content":"hi"}`
		note   = `{"role":"system","content":"a note"}`
		said   = `{"role":"assistant","content":"yes"}`
		seen   = `{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"x"}}]}`
		empty  = `{"role":"user","content":[{"type":"text","text":" "}]}`
	)
	calls := func(id, more string) string {
		call := `{"id":"` + id + `","type":"function","function":{"name":"ls","arguments":"{}"}` + more + `}`
		return `{"role":"assistant","content":null,"tool_calls":[` + call + `]}`
	}
	thinking := func(id string) string {
		return strings.Replace(calls(id, ""), `"content"`, `"reasoning_content":"hm","content"`, 1)
	}
	result := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"x"}` }
	const dummy = `,"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`
	details := `{"role":"assistant","content":"x","reasoning_details":[{"type":"reasoning.text","index":0,"signature":"%s"}]}`
	long := strings.Repeat("x", 65)
	for _, row := range []struct {
		like, more string
		messages   []string
		status     int
		says       string
	}{
		{"openai-chat", "", []string{system, hi, note, calls("c", ""), result("c")}, 200, ""},
		{"openai-chat", `,"max_tokens":5`, []string{hi}, 400, "'max_tokens' is not supported"},
		{"openai-chat", "", []string{hi, calls(long, ""), result(long)}, 400, "string_above_max_length"},
		{"openai-responses", "", []string{hi}, 404, "Not Found"},
		{"deepseek", "", []string{hi, thinking("c"), result("c")}, 200, ""},
		{"deepseek", "", []string{hi, calls("c", ""), result("c")}, 400, "Missing `reasoning_content`"},
		{"deepseek", "", []string{seen}, 400, "unknown variant `image_url`"},
		{"google", "", []string{hi, calls("c", dummy), result("c")}, 200, ""},
		{"google", "", []string{hi, calls("c", ""), result("c")}, 400, "missing a thought_signature"},
		{"google", "", []string{hi, calls("c", strings.Replace(dummy, "skip", "x", 1)), result("c")}, 400, "INVALID_ARGUMENT"},
		{"google", `,"store":false`, []string{hi}, 400, "INVALID_ARGUMENT"},
		{"mistral", "", []string{system, hi, calls("abcdef123", ""), result("abcdef123"), said, hi}, 200, ""},
		{"mistral", "", []string{hi, calls("c", ""), result("c")}, 400, "length of 9"},
		{"mistral", "", []string{hi, calls("abcdef123", ""), result("abcdef123"), hi}, 400, "'user' after role 'tool'"},
		{"mistral", "", []string{hi, said}, 400, "Expected last role"},
		{"mistral", "", []string{hi, thinking("abcdef123"), result("abcdef123")}, 422, "extra_forbidden"},
		{"mistral", `,"stream_options":{}`, []string{hi}, 400, "stream_options"},
		{"qwen", "", []string{system, hi, hi}, 200, ""},
		{"qwen", "", []string{system, hi, note}, 500, "System message must be at the beginning"},
		{"openrouter", "", []string{system, hi, note, said}, 200, ""},
		{"openrouter", "", []string{hi, calls("a:b", ""), result("a:b")}, 400, "Provider returned error"},
		{"openrouter", "", []string{hi, fmt.Sprintf(details, "Zm9v")}, 400, "Invalid `signature`"},
		{"openrouter", "", []string{empty}, 400, "non-whitespace"},
		{"llamacpp", "", []string{system, hi, thinking("c"), result("c"), said, hi}, 200, ""},
		{"llamacpp", "", []string{hi, hi}, 500, "must alternate"},
		{"llamacpp", "", []string{seen}, 500, "mmproj"},
	} {
		t.Run(row.like+" "+row.says, func(t *testing.T) {
			s := rehearsal.New(script(t, fmt.Sprintf("like = %q", row.like)), rehearsal.Options{})
			body := `{"model":"m"` + row.more + `,"messages":[` + strings.Join(row.messages, ",") + `]}`
			status, got, err := ask(t.Context(), s, "chat/completions", body)
			if err != nil || status != row.status || !strings.Contains(got, row.says) {
				t.Errorf("got %d %s %v, want %d with %q", status, got, err, row.status, row.says)
			}
		})
	}
	if _, err := rehearsal.Parse("x", []byte(`like = "nobody"`)); err == nil || !strings.Contains(err.Error(), "mistral") {
		t.Errorf("an unknown endpoint: %v", err)
	}
}
