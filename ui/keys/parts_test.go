package keys

import (
	"os"
	"strings"
	"testing"
)

// parts lists every part.
func parts() []Part {
	var all []Part
	for _, named := range namedParts {
		all = append(all, *named.part)
	}
	return all
}

func TestEveryPartIsTested(t *testing.T) {
	source, err := os.ReadFile("parts.go")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(parts()), strings.Count(string(source), "= part("); got != want {
		t.Errorf("parts() has %d parts, want the %d of parts.go", got, want)
	}
}

func TestLabels(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Label(TryNow), "F8"}, {Label(Heavy), "F2"}, {Label(PageDown), "pgdn"}, {Label(Previous), "alt+←"},
		{Label(TakeBack), "↑"}, {Label(Compact), "/compact"}, {Label(Handoff), "/handoff"}, {Label(Find), "ctrl+f"},
		{PlanPanel.Label(MoveUp), "K"}, {PlanPanel.Label(Steps), "/steps"}, {CapacityPanel.Label(Up), "↑"},
		{RetryBox.Hint("tier", Heavy, Medium, Light)[0], "2 3 4"}, {Hint("now", TryNow)[1], "now"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
