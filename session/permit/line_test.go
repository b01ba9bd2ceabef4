package permit

import (
	"strings"
	"testing"

	"belay/session"
)

// A line is bytes of the other side: it must be judged in a moment, whatever it is
// made of, and without filling the memory or the stack.
func TestHostileLinesAreJudgedQuickly(t *testing.T) {
	root := workspace(t)
	doubled := "a=;"
	for i := range 60 {
		from, to := string(rune('A'+i)), string(rune('A'+i+1))
		doubled += "v" + to + "=$v" + from + "$v" + from + ";"
	}
	for name, tt := range map[string]struct {
		line string
		want Verdict
	}{
		"nested commands":           {strings.Repeat("$(", 1<<19), Ask},
		"nested groups":             {strings.Repeat("{ ", 1<<19), Ask},
		"nested commands that end":  {strings.Repeat("$(", 1<<12) + strings.Repeat(")", 1<<12), Ask},
		"nested within the bound":   {"echo " + strings.Repeat("$(echo ", 5) + strings.Repeat(")", 5), Allow},
		"runners of runners":        {strings.Repeat("sudo ", 5000) + "ls", Ask},
		"lines within lines":        {strings.Repeat("eval ", 5000) + "ls", Deny},
		"a variable made of itself": {doubled + "echo $vZ", Ask},
		"many braces":               {"echo " + strings.Repeat("{a,b}", 40), Ask},
		"many brace ranges":         {"echo {1..99}{1..99}{1..99}", Ask},
		"a range without an end":    {"echo {1..9999999999}", Ask},
		"a long line":               {"echo " + strings.Repeat("x", 1<<20), Ask},
		"what it hides":             {"echo " + strings.Repeat("x", 1<<20) + "\nrm -rf /", Deny},
	} {
		got := Judge(session.Edits, Call{Class: session.Run, Command: tt.line, Path: root, Root: root}, nil)
		if got.Verdict != tt.want {
			t.Errorf("%s: %s (%s), want %s", name, got.Verdict, got.Reason, tt.want)
		}
	}
}

// Bash runs a line that a person's rule covers, so that what bash could take for
// something else than was judged asks all the same.
func TestARuleCoversOnlyWhatEachShellReadsAlike(t *testing.T) {
	root := workspace(t)
	grants := []string{"prefix:go test"}
	for line, want := range map[string]Verdict{
		"go test ./... | tail -5":            Allow,
		"go test ./... && cat 'a.go'":        Allow,
		"go test ./... && cat $x":            Ask,
		"go test ./... && cat $(ls)":         Ask,
		"go test ./... && cat a\\.go":        Ask,
		"go test ./... && cat $'a.go'":       Ask,
		"go test ./... && cat [a].go":        Ask,
		"go test ./... && cat {a,b}.go":      Ask,
		"go test ./... && cat ~/x":           Ask,
		"go test ./... # x":                  Ask,
		"go test ./... \\\n -run X":          Ask,
		"go test ./... && cat <<'X'\nX":      Ask,
		"go test ./... && x=1":               Ask,
		"go test ./... && bash -c ls":        Ask,
		"for f in a; do go test ./...; done": Ask,
	} {
		got := Judge(session.Edits, Call{Class: session.Run, Command: line, Path: root, Root: root}, grants)
		if got.Verdict != want || got.Held {
			t.Errorf("%s: %s (%s, held: %v), want %s unheld", line, got.Verdict, got.Reason, got.Held, want)
		}
	}
}

// What reads the project and could tell others of it runs only where nothing reaches
// the network: held. That `edits` lets more through changes nothing about it.
func TestNothingThatCouldCarryDataOutRunsUnheld(t *testing.T) {
	root := workspace(t)
	for _, mode := range []session.Mode{session.Ask, session.Edits} {
		for _, line := range []string{
			"go list ./...", "go list -m all", "go doc fmt", "go mod graph", "go vet ./...", "git log", "git ls-remote", "npm ls",
			"pip list", "cargo tree", "curl x", "cat a.go | xargs echo", "ls; go version",
		} {
			call := Call{Class: session.Run, Command: line, Path: root, Root: root, Unheld: "nothing holds it", Direct: true}
			if got := Judge(mode, call, nil); got.Verdict != Ask {
				t.Errorf("%s in %s: %+v", line, mode, got)
			}
		}
	}
}
