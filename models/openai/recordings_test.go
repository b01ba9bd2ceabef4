package openai_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"belay/models"
)

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
				got := replay(t, models.API(api), "text/event-stream", []byte(sse.String()), "weather",
					"cityAttractions", "calculator", "read_file")
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
			w.input, w.output = int64(u["prompt_tokens"].(float64)), int64(
				u["total_tokens"].(float64)-u["prompt_tokens"].(float64),
			)
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
		if got.fault == nil || got.fault.Kind != want.fault || got.fault.Code != "insufficient_quota" ||
			got.fault.Phase != models.BeforeEvent {
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
