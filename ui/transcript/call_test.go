package transcript

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/session"
)

// numberedLines is so many lines, each with its number.
func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestWhatIsKeptOfACall(t *testing.T) {
	change := "--- a/x\n+++ b/x\n@@ -0,0 +1,20 @@\n" + strings.ReplaceAll("\n"+numberedLines(20), "\nl", "\n+l")[1:]
	small := "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"
	for name, tt := range map[string]struct {
		call       session.ToolEnded
		want, lack []string
	}{
		"a short output is whole": {session.ToolEnded{Tool: "shell", Title: "make", Summary: "exit 0", Output: numberedLines(5)},
			[]string{"line 1", "line 5"}, []string{"exit 0", "0.0s", "+"}},
		"a longer one keeps its end": {session.ToolEnded{Tool: "shell", Title: "make", Summary: "exit 0", Output: numberedLines(13)},
			[]string{"+9 lines", "line 10", "line 13"}, []string{"line 9", "exit 0"}},
		"so does that of a foreign tool": {session.ToolEnded{Tool: "tracker_list", Title: "x", Output: numberedLines(6)},
			[]string{"+2 lines", "line 6"}, nil},
		"a time is told when it was long": {session.ToolEnded{Tool: "shell", Title: "make", Summary: "exit 0",
			Duration: 3 * time.Second}, []string{"3.0s"}, []string{"exit 0"}},
		"a reading says what it found": {session.ToolEnded{Tool: "read", Title: "x.go", Summary: "212 lines", Output: "package x"},
			[]string{"212 lines"}, []string{"package x", "0.0s"}},
		"a small change is whole":     {session.ToolEnded{Tool: "edit", Title: "x", Diff: small}, []string{"old", "new"}, []string{"+1 line"}},
		"a large one is folded":       {session.ToolEnded{Tool: "write", Title: "x", Diff: change}, []string{"line 11", "+9 lines"}, []string{"line 12"}},
		"a refused call has its path": {session.ToolEnded{Tool: "edit", Title: "edit", Denied: true}, []string{"a/b.go", "refused"}, nil},
		"another exit code stays": {session.ToolEnded{Tool: "shell", Title: "make", Summary: "exit 2", Error: true, Output: "no"},
			[]string{"exit 2", "no"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := pane(80, 40)
			tt.call.CallID = "c"
			p.Apply(session.Record{Event: session.ToolStarted{Effect: session.Effect{CallID: "c", Tool: tt.call.Tool,
				Args: `{"edits":[],"path":"a/b.go"}`}}})
			p.Apply(session.Record{Event: tt.call})
			view := shown(p)
			for _, want := range tt.want {
				if !strings.Contains(view, want) {
					t.Errorf("%q is missing:\n%s", want, view)
				}
			}
			for _, lack := range tt.lack {
				if strings.Contains(view, lack) {
					t.Errorf("%q is there:\n%s", lack, view)
				}
			}
		})
	}
}

func TestACallKeepsWhatItIsAbout(t *testing.T) {
	long := "cd internal/storage && go test -run 'TestUpgradeOrders|TestDowngrade' -count=1 -race ./versioned/... | tail -20"
	call := func(tool, title, args string) session.Event {
		return session.ToolStarted{Effect: session.Effect{CallID: "c", Tool: tool, Title: title, Args: args}}
	}
	command := func(words string) session.Event { return call("shell", words, fmt.Sprintf(`{"command":%q}`, words)) }
	for name, tt := range map[string]struct {
		event session.Event
		width int
		want  string
	}{
		"a short command is a row": {command("go vet ./..."), 60, "   ▸ shell  go vet ./..."},
		"a long one goes on below, between its words": {command(long), 80, "   ▸ shell  cd internal/storage && go test -run\n" +
			"            'TestUpgradeOrders|TestDowngrade' -count=1 -race ./versioned/... |\n            tail -20"},
		"of a very long one the end is there": {command(long + " " + long), 60, "   ▸ shell  cd internal/storage && go test -run\n" +
			"            'TestUpgradeOrders|TestDowngrade' -count=1\n" +
			"            …ade' -count=1 -race ./versioned/... | tail -20"},
		"a word without end": {command(strings.Repeat("x", 300)), 60, "   ▸ shell  " + strings.Repeat("x", 43) + "\n" +
			"            " + strings.Repeat("x", 47) + "\n            …" + strings.Repeat("x", 46)},
		"a path keeps its end": {call("read", strings.Repeat("deep/", 20)+"end.go", "{}"), 60, "deep/deep/end.go"},
		"with spaces too": {call("read", strings.Repeat("a deep/", 20)+"end.go:1-9",
			fmt.Sprintf(`{"path":%q}`, strings.Repeat("a deep/", 20)+"end.go")), 60, "a deep/a deep/end.go:1-9"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pane(tt.width, 20)
			p.Apply(session.Record{Event: tt.event, Time: start})
			view := shown(p)
			head, rest, _ := strings.Cut(view, "\n")
			got := strings.TrimRight(strings.TrimSuffix(head, "0s"), " ") + "\n" + rest
			if !strings.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			for line := range strings.SplitSeq(view, "\n") {
				if len([]rune(line)) > tt.width {
					t.Errorf("too wide: %q", line)
				}
			}
		})
	}
}

func TestAFailedCallSaysItOnce(t *testing.T) {
	p := pane(80, 20)
	p.Apply(session.Record{Event: session.ToolEnded{CallID: "a", Tool: "read", Title: "x/y.go", Error: true,
		Summary: "x/y.go does not exist", Output: "x/y.go does not exist\n"}})
	p.Apply(session.Record{Event: session.ToolEnded{CallID: "b", Tool: "shell", Title: "make", Error: true,
		Summary: "exit 2", Output: numberedLines(13)}})
	view := shown(p)
	if strings.Count(view, "does not exist") != 1 || !strings.Contains(view, "failed") {
		t.Errorf("%s", view)
	}
	if !strings.Contains(view, "exit 2") || !strings.Contains(view, "+9 lines") || !strings.Contains(view, "line 13") {
		t.Errorf("%s", view)
	}
}
