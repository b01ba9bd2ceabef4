package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestWhatStaysInTheTerminalAfterLeaving(t *testing.T) {
	left := Talk{
		ID: "s1", Answer: "The answer\x1b]52;c;eA==\x07 is " + strings.Repeat("long ", 20), Whole: "› why?\n\nThe answer",
	}
	for _, tt := range []struct {
		name, what, begins string
	}{
		{"the last answer", "answer", "The answer is long"},
		{"the whole talk says where the rest is", "all", "… the beginning: belay sessions show s1\n\n› why?\n\nThe answer\n"},
		{"nothing", "nothing", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := left.Farewell(tt.what, 40)
			if !strings.HasPrefix(got, tt.begins) || tt.begins == "" && got != "" {
				t.Errorf("printed %q, want it to begin with %q", got, tt.begins)
			}
			for line := range strings.SplitSeq(got, "\n") {
				if ansi.StringWidth(line) > 40 || strings.Contains(line, "\x1b") {
					t.Errorf("a line is %q", line)
				}
			}
		})
	}
	if got := (Talk{ID: "s1"}).Farewell("answer", 40); got != "" {
		t.Errorf("without an answer it prints %q", got)
	}
}
