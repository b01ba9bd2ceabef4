package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// every lists the fields of each type of JSON line, as programs may rely on.
var every = map[string][]string{
	"turn.started":    {},
	"text":            {"text"},
	"reasoning":       {"text"},
	"tool.started":    {"call_id", "tool", "title", "arguments"},
	"tool.ended":      {"call_id", "tool", "title", "summary", "output", "error", "denied", "unknown", "took_ms"},
	"attempt.started": {"attempt", "of", "tier", "target"},
	"attempt.resumed": {"target"},
	"reply.continued": {"reason", "number", "of"},
	"attempt.failed":  {"fault", "attempt", "of", "tier", "target", "next", "will_retry", "delay_ms"},
	"request": {
		"target",
		"budget",
		"trigger",
		"counted",
		"counts",
		"parts",
		"output",
		"effort",
		"steps",
		"tools",
		"left_out",
		"masked",
	},
	"noted":        {"text"},
	"steps":        {"task", "steps"},
	"step.started": {"number", "title", "state", "session", "fault"},
	"step.ended":   {"number", "title", "state", "session", "fault", "usage", "cost"},
	"step.checked": {"number", "command", "ok", "summary", "output", "took_ms"},
	"checkpoint":   {"step", "tree", "files", "skipped", "took_ms"},
	"rewound":      {"to", "conversation", "files", "written", "removed", "failed"},
	"reduced":      {"by", "before", "after"},
	"compacted":    {"through", "summary", "usage", "cost", "before", "after"},
	"waiting":      {"attempt", "of", "until", "target", "fault"},
	"switched":     {"from", "to", "from_tier", "to_tier", "fault"},
	"parked":       {"until", "rung", "fault"},
	"asked":        {"call_id", "tool", "title"},
	"turn.ended":   {"outcome", "fault", "usage", "cost", "text", "served_model"},
}

var faultFields = []string{
	"kind",
	"scope",
	"phase",
	"status",
	"code",
	"type",
	"message",
	"request_id",
	"retry_after_ms",
	"reset_at",
}

// checkLines returns the types of JSON lines, in order, a run of the same type
// once. What a request is made of comes before each attempt, and is left out.
func checkLines(text string) ([]string, error) {
	var types []string
	last := ""
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var fields map[string]any
		if err := json.Unmarshal([]byte(l), &fields); err != nil {
			return nil, fmt.Errorf("line %d: %w: %s", i+1, err, l)
		}
		kind, err := checkLine(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %s", i+1, err, l)
		}
		if kind != "request" && kind != "checkpoint" { // a checkpoint is made beside what goes on
			types = append(types, kind)
		}
		if kind == "attempt.started" && last != "request" {
			return nil, fmt.Errorf("line %d: nothing says what the request is made of", i+1)
		}
		if kind != "checkpoint" {
			last = kind
		}
	}
	return slices.Compact(types), nil
}

func checkLine(fields map[string]any) (string, error) {
	stamp, _ := fields["time"].(string)
	if _, err := time.Parse(time.RFC3339Nano, stamp); err != nil || !strings.HasSuffix(stamp, "Z") {
		return "", fmt.Errorf("time %q is not UTC by RFC 3339", stamp)
	}
	id, _ := fields["session"].(string)
	if fields["v"] != 1.0 || id == "" || fields["turn"] != float64(1) && fields["turn"] != float64(2) {
		return "", fmt.Errorf("v, session or turn is missing")
	}
	kind, _ := fields["type"].(string)
	wanted, known := every[kind]
	if !known {
		return "", fmt.Errorf("unknown type %q", kind)
	}
	for _, name := range wanted {
		if _, ok := fields[name]; !ok {
			return "", fmt.Errorf("%s has no %q", kind, name)
		}
	}
	fault, _ := fields["fault"].(map[string]any)
	for _, name := range faultFields {
		if _, ok := fault[name]; fault != nil && !ok {
			return "", fmt.Errorf("the fault has no %q", name)
		}
	}
	if kind == "attempt.failed" && fault == nil {
		return "", fmt.Errorf("a failed attempt without a fault")
	}
	return kind, nil
}

func TestCheckLinesRefusesALineThat(t *testing.T) {
	const head = `{"v":1,"time":"2026-01-02T03:04:05Z","session":"s","turn":1,`
	for name, l := range map[string]string{
		"is not JSON":      head + `"type":"text"`,
		"has no such type": head + `"type":"song"}`,
		"lacks a field":    head + `"type":"text"}`,
		"lacks the head":   `{"type":"text","text":""}`,
		"lacks the fault": head + `"type":"attempt.failed","fault":null,"attempt":1,"of":4,"tier":"heavy",` +
			`"target":"a/b","next":"stop","will_retry":false,"delay_ms":0}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := checkLines(l); err == nil {
				t.Errorf("checkLines(%s) found nothing", l)
			}
		})
	}
}
