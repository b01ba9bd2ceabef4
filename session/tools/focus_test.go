package tools

import "testing"

func TestAFocusKeepsSearchesToItsFolders(t *testing.T) {
	s := workspace(
		t,
		map[string]string{"orders/a.go": "needle", "orders/b.txt": "needle", "billing/c.go": "needle", "d.go": "needle"},
	)
	search := func(tool, args string) string {
		t.Helper()
		_, r := call(t, s, tool, args)
		return r.Output
	}
	for _, tt := range []struct {
		name  string
		focus []string
		glob  string
		grep  string
	}{
		{"a folder", []string{"orders/"}, "orders/a.go\n", "orders/a.go:1:needle\norders/b.txt:1:needle\n"},
		{"a pattern", []string{"**/*.txt", "d.go"}, "d.go\n", "d.go:1:needle\norders/b.txt:1:needle\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := s.Focus(tt.focus); err != nil {
				t.Fatal(err)
			}
			if got := search("glob", `{"pattern":"**/*.go"}`); got != tt.glob {
				t.Errorf("glob = %q, want %q", got, tt.glob)
			}
			if got := search("grep", `{"pattern":"needle"}`); got != tt.grep {
				t.Errorf("grep = %q, want %q", got, tt.grep)
			}
		})
	}
	if got := search("grep", `{"pattern":"needle","path":"billing"}`); got != "billing/c.go:1:needle\n" {
		t.Errorf("grep in a path = %q, want what was asked for", got)
	}
	for _, bad := range []string{"../x", "/etc", "[", "."} {
		if err := s.Focus([]string{bad}); err == nil {
			t.Errorf("Focus(%q) is allowed", bad)
		}
	}
	if err := s.Focus(nil); err != nil {
		t.Fatal(err)
	}
	if got := search("glob", `{"pattern":"c.go"}`); got != "billing/c.go\n" {
		t.Errorf("after it is over glob = %q", got)
	}
}
