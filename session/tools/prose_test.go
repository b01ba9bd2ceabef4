package tools

import (
	"strings"
	"testing"

	"belay/session/sandbox"
)

func TestTheModelLearnsWhatHoldsCommands(t *testing.T) {
	for name, tt := range map[string]struct {
		grip    sandbox.Grip
		open    bool
		network string
		has     string
		hasNot  string
	}{
		"all is held":              {sandbox.Full, false, "ask", "network only for programs that use it", "only files"},
		"as a set says by itself":  {sandbox.Full, false, "", "network only for programs that use it", "only files"},
		"a part is held":           {sandbox.Parts, false, "ask", "holds only files and the network", "Nothing on this system"},
		"with the network":         {sandbox.Full, false, "allow", "and has the network.", "only for programs"},
		"without it":               {sandbox.Full, false, "deny", "no network, which the user's settings deny", "curl"},
		"it is off":                {sandbox.Full, true, "deny", "the sandbox is off", "in a sandbox"},
		"nothing can hold them":    {sandbox.None, false, "deny", "Nothing on this system holds", "sandbox"},
		"nor would it if it could": {sandbox.None, true, "ask", "Nothing on this system holds", "sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sandboxProse(tt.grip, tt.open, tt.network)
			if !strings.Contains(got, tt.has) || strings.Contains(got, tt.hasNot) {
				t.Errorf("got %q, want %q and not %q", got, tt.has, tt.hasNot)
			}
		})
	}
	for _, spec := range workspace(t, nil).Specs() {
		if strings.Contains(spec.Description, "{{") {
			t.Errorf("%s says %q", spec.Name, spec.Description)
		}
	}
}
