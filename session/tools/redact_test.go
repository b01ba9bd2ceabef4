package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/models/redact"
	"belay/session"
	"belay/session/permit"
)

const leakedKey = "sq-0a1b2c3d4e5f6a7b"

// TestOutputShowsNoSecret has each tool come across a key that belay knows.
func TestOutputShowsNoSecret(t *testing.T) {
	s := workspace(t, map[string]string{"conf.txt": "user = me\nkey = " + leakedKey + "\nend = 1\n"})
	s.o.Redact = redact.New(leakedKey)
	for _, tt := range []struct{ name, tool, args string }{
		{"reading", "read", `{"path":"conf.txt"}`},
		{"searching", "grep", `{"pattern":"key"}`},
		{"a command", "shell", `{"command":"cat conf.txt"}`},
		{"a command that writes it in pieces", "shell",
			`{"command":"printf sq-0a1b2c; printf 3d4e5f6a7b; echo; printf sq-0a1b"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			job, err := s.Prepare(tt.tool, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			var live strings.Builder
			got := job.Run(t.Context(), func(piece string) { live.WriteString(piece) })
			if strings.Contains(got.Output+live.String(), leakedKey) || !strings.Contains(got.Output, redact.Mark) {
				t.Errorf("output %q, live %q", got.Output, live.String())
			}
			if tt.tool == "shell" && !strings.HasPrefix(got.Output, strings.TrimRight(live.String(), "\n")) {
				t.Errorf("live %q is not what came at the end: %q", live.String(), got.Output)
			}
		})
	}
	t.Run("an error that quotes the file", func(t *testing.T) {
		_, got := call(t, s, "edit", `{"path":"conf.txt","edits":[{"old":"user = me\nkey = x","new":"y"}]}`)
		if !got.Error || strings.Contains(got.Output, leakedKey) || !strings.Contains(got.Output, redact.Mark) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("the diff of a change beside it", func(t *testing.T) {
		_, got := call(t, s, "edit", `{"path":"conf.txt","edits":[{"old":"end = 1","new":"end = 2"}]}`)
		if got.Error || strings.Contains(got.Diff, leakedKey) {
			t.Errorf("got %+v", got)
		}
		content, _ := os.ReadFile(filepath.Join(s.o.Root, "conf.txt"))
		if !strings.Contains(string(content), leakedKey) {
			t.Errorf("the file lost its key: %q", content)
		}
	})
}

// TestWhatStandsForASecretIsNotWritten has a model write back what it was shown.
func TestWhatStandsForASecretIsNotWritten(t *testing.T) {
	file := "key = " + leakedKey + "\n"
	s := workspace(t, map[string]string{"conf.txt": file, "about.md": "shown as " + redact.Mark + "\n"})
	call(t, s, "read", `{"path":"conf.txt"}`)
	call(t, s, "read", `{"path":"about.md"}`)
	mark := redact.Mark
	for _, tt := range []struct{ tool, args string }{
		{"write", `{"path":"conf.txt","content":"key = ` + mark + `\n"}`},
		{"write", `{"path":"new.txt","content":"key = ` + mark + `\n"}`},
		{"edit", `{"path":"conf.txt","edits":[{"old":"key","new":"# ` + mark + `\nkey"}]}`},
		{"apply_patch", patchArguments("*** Begin Patch\n*** Update File: conf.txt\n@@\n-key = " + leakedKey + "\n+key = " + mark +
			"\n*** End Patch")},
	} {
		if _, got := call(t, s, tt.tool, tt.args); !got.Error || !strings.Contains(got.Output, "in place of a secret") {
			t.Errorf("%s %s: %+v", tt.tool, tt.args, got)
		}
	}
	if content, _ := os.ReadFile(filepath.Join(s.o.Root, "conf.txt")); string(content) != file {
		t.Errorf("the file holds %q", content)
	}
	if _, got := call(t, s, "edit", `{"path":"about.md","edits":[{"old":"shown","new":"seen"}]}`); got.Error {
		t.Errorf("a file that speaks of the mark cannot be changed: %+v", got)
	}
}

func patchArguments(patch string) string {
	args, _ := json.Marshal(map[string]string{"patch": patch})
	return string(args)
}

func TestSearchLeavesSecretFilesOut(t *testing.T) {
	for _, path := range []string{os.Getenv("PATH"), t.TempDir()} { // with and without ripgrep
		t.Setenv("PATH", path)
		s := workspace(t, map[string]string{"home/.ssh/config": "TOKEN=5\n", ".env": "TOKEN=1\n", "deep/id_rsa": "TOKEN=2\n", "a.txt": "TOKEN=3\n", ".env.example": "TOKEN=4\n"})
		t.Setenv("HOME", filepath.Join(s.o.Root, "home"))
		s.sandbox = newSandbox(s.o)
		_, got := call(t, s, "grep", `{"pattern":"TOKEN"}`)
		if strings.Contains(got.Output, "TOKEN=5") || strings.Contains(got.Output, "TOKEN=1") || strings.Contains(got.Output, "TOKEN=2") ||
			!strings.Contains(got.Output, "TOKEN=3") || !strings.Contains(got.Output, "TOKEN=4") {
			t.Errorf("grep gives %q", got.Output)
		}
		if _, got := call(t, s, "grep", `{"pattern":"TOKEN","path":".env"}`); !strings.Contains(got.Output, "TOKEN=1") {
			t.Errorf("named, it gives %q", got.Output)
		}
	}
}

// TestNoReadingCommandReadsSecretFiles has commands come to such files without naming
// them.
func TestNoReadingCommandReadsSecretFiles(t *testing.T) {
	s := workspace(t, map[string]string{
		".env": "TOKEN=HIDDEN\n", "deploy/prod.key": "HIDDEN\n", "deploy/notes.txt": "TOKEN=shown\n", ".env.example": "TOKEN=example\n",
	})
	if s.unavailable != nil {
		t.Skip(s.unavailable)
	}
	for _, line := range []string{
		"grep -rn TOKEN .", "grep -r HIDDEN", "find . -type f -exec cat {} +", "cat deploy/*", "cat .e*", "find . -type f | xargs cat",
		"head -c 100 $(find . -name '.env')", "for f in .env deploy/*; do cat $f; done", "cat < .env", "tail -n +1 .env*",
	} {
		got := s.runUnasked(t, line)
		if strings.Contains(got.Output, "HIDDEN") {
			t.Errorf("%s gives %q", line, got.Output)
		}
	}
	if got := s.runUnasked(t, "grep -rn TOKEN ."); !strings.Contains(got.Output, "shown") || !strings.Contains(got.Output, "example") {
		t.Errorf("grep finds no more: %q", got.Output)
	}
}

// runUnasked runs a line if nobody has to be asked about it.
func (s *Set) runUnasked(t *testing.T, line string) Result {
	t.Helper()
	args, _ := json.Marshal(map[string]string{"command": line})
	call, err := s.Prepare(RunCommand, string(args))
	if err != nil {
		t.Fatal(err)
	}
	decision := permit.Judge(session.Ask, call.Describe(RunCommand, s.o.Root), nil)
	if decision.Verdict != permit.Allow {
		return Result{}
	}
	return call.Runner(decision)(t.Context(), func(string) {})
}
