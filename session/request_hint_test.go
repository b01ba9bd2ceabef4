package session

import (
	"fmt"
	"testing"
)

func TestHeavyRequestsGetAHint(t *testing.T) {
	calm := ContextUsage{Counted: 20_000, Tools: 7, Effort: "medium", Output: 128_000}
	with := func(change func(*ContextUsage)) ContextUsage {
		w := calm
		change(&w)
		return w
	}
	for _, tt := range []struct {
		name   string
		weight ContextUsage
		words  string
		added  int64
		others int
		want   string
	}{
		{"an ordinary one gets none", calm, "mend the price of all items in cart.go", 100, 1, ""},
		{"over the size", calm, "go on", 110_000, 0, "size!"},
		{"of a session that is nearly full", with(func(w *ContextUsage) { w.Counted = 128_001 }), "go on", 0, 0, "size!"},
		{"for the whole repository", calm, "Refactor the entire code base", 0, 0, "whole repository!"},
		{"for all the files", calm, "read all the files first", 0, 0, "whole repository!"},
		{"with the workspace mentioned", calm, "look at @. and say what it does", 0, 0, "whole repository!"},
		{"in another language", calm, "重构整个项目", 0, 0, "whole repository!"},
		{"with many tools", with(func(w *ContextUsage) { w.Tools = 24 }), "go on", 0, 0, "many tools"},
		{"with high effort and long output", with(func(w *ContextUsage) { w.Effort = "high" }), "go on", 0, 0,
			"high effort, long output"},
		{"not with high effort alone", with(func(w *ContextUsage) { w.Effort, w.Output = "high", 16_000 }), "go on", 0, 0,
			""},
		{"beside two others", calm, "go on", 0, 2, "parallel streams"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, h := range tt.weight.Hints(tt.words, tt.added, tt.others, 128_000) {
				if got += string(h.Kind); h.Confirm {
					got += "!"
				}
				if h.Text == "" {
					t.Errorf("the hint about %s has no words", h.Kind)
				}
			}
			if got != tt.want {
				t.Errorf("Hints = %q, want %q", got, tt.want)
			}
		})
	}
	if got := calm.Hints("go on", 1e9, 0, 0); len(got) != 0 {
		t.Errorf("without a limit: %s, want none", fmt.Sprint(got))
	}
}
