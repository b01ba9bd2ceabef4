//go:build unix

package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"belay/session"
	"belay/session/permit"
	"belay/session/sandbox"
)

// judged runs a command as the rules say, or gives the question.
func judged(t *testing.T, s *Set, command string) (permit.Decision, Result) {
	t.Helper()
	job, err := s.Prepare("shell", `{"command":`+quote(command)+`}`)
	if err != nil {
		t.Fatal(err)
	}
	decision := permit.Judge(session.Ask, job.Describe("shell", s.o.Root), nil)
	if decision.Verdict != permit.Allow {
		return decision, Result{}
	}
	return decision, job.Runner(decision)(t.Context(), func(string) {})
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// What is let through without a question runs as before, whatever it reads.
func TestHarmlessCommandsRunHeld(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	s := workspace(t, map[string]string{"a.go": "package a\n// one\n", "go.mod": "module a\n\ngo 1.20\n", "sub/b.txt": "two\n"})
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = s.o.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(string(out), err)
		}
	}
	for command, want := range map[string]string{
		"ls -la":                              "a.go",
		"cat a.go | head -1":                  "package a",
		"grep -rn one .":                      "a.go:2",
		"find . -name '*.txt'":                "./sub/b.txt",
		"git status --short && echo clean":    "clean",
		"git log --oneline":                   "first",
		"git show --stat HEAD":                "a.go",
		"git diff HEAD && echo same":          "same",
		"git grep -n one":                     "a.go:2",
		"git blame a.go":                      "// one",
		"wc -l a.go":                          "2 a.go",
		"sort a.go":                           "// one",
		"stat a.go":                           "a.go",
		"du -s . && df . > /dev/null":         ".",
		"file a.go || true":                   "",
		"go list ./...":                       "a",
		"go version":                          "go version",
		"cd sub && cat b.txt":                 "two",
		"cat a.go > /dev/null; echo $?":       "",
		"which sh":                            "sh",
		"date +%Y && uname && id > /dev/null": "20",
	} {
		decision, r := judged(t, s, command)
		if strings.Contains(command, "$?") {
			continue // a variable: it asks, as before
		}
		if decision.Verdict != permit.Allow || !decision.Held || r.Error || !strings.Contains(r.Output, want) {
			t.Errorf("%s: %+v, %+v; want %q", command, decision, r, want)
		}
	}
}

// A line that the rules take for something else than the shell does is refused by
// the kernel, and asks when it comes again.
func TestAWrongGuessHasNoEffect(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	s := workspace(t, map[string]string{"a.txt": "mine\n"})
	secret := filepath.Join(filepath.Dir(s.o.Outputs), "secret")
	if err := os.WriteFile(secret, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sandbox = sandbox.New(sandbox.Options{Secrets: []string{secret}, Root: s.o.Root})
	job, err := s.Prepare("shell", `{"command":"echo lost > a.txt; cat `+secret+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	wrong := permit.Decision{Verdict: permit.Allow, Held: true}
	r := job.Runner(wrong)(t.Context(), func(string) {})
	if !r.Error || strings.Contains(r.Output, "SECRET") || !strings.Contains(r.Output, "make exactly the same call again") {
		t.Errorf("%+v", r)
	}
	if b, err := os.ReadFile(filepath.Join(s.o.Root, "a.txt")); err != nil || string(b) != "mine\n" {
		t.Errorf("a.txt is %q, %v", b, err)
	}
	again, err := s.Prepare("shell", `{"command":"echo lost > a.txt; cat `+secret+`"}`)
	if err != nil || again.RunHeld != nil || again.Unheld == "" {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestARefusedReadingCommandAsksWhenItComesAgain(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	s := workspace(t, map[string]string{"a.txt": "mine\n"})
	locked := filepath.Join(s.o.Root, "locked")
	if err := os.WriteFile(locked, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sandbox = sandbox.New(sandbox.Options{Secrets: []string{locked}, Root: s.o.Root})
	first, r := judged(t, s, "cat locked")
	second, _ := judged(t, s, "cat locked")
	if !first.Held || !r.Error || second.Verdict != permit.Ask || !strings.Contains(second.Reason, "refused") {
		t.Errorf("%+v %+v, then %+v", first, r, second)
	}
}

func TestCommandsHaveNoTerminal(t *testing.T) {
	s := workspace(t, nil)
	_, r := call(t, s, "shell", `{"command":"exec 2>&1; echo painted > /dev/tty"}`)
	if !r.Error || !strings.Contains(r.Output, "/dev/tty") {
		t.Errorf("%+v", r)
	}
	_, r = call(t, s, "shell", `{"command":"echo 'sudo: a terminal is required to read the password' >&2; exit 1"}`)
	if !strings.Contains(r.Output, "Commands have no terminal") {
		t.Errorf("%+v", r)
	}
	_, r = call(t, s, "shell", `{"command":"read x || echo nobody types"}`)
	if !strings.Contains(r.Output, "nobody types") {
		t.Errorf("%+v", r)
	}
}

// Where nothing holds a command, a few that run no other program go without a shell,
// and all others ask.
func TestWithoutASandboxWhatIsJudgedRunsWithoutAShell(t *testing.T) {
	s := workspace(t, map[string]string{"a.txt": "mine\n", "b.txt": "yours\n"})
	s.unavailable = sandbox.ErrUnavailable
	for command, want := range map[string]string{
		"cat a.txt":              "mine",
		"cat *.txt":              "mine\nyours",
		"grep -n 'mine' 'a.txt'": "1:mine",
		"ls":                     "a.txt\nb.txt",
	} {
		decision, r := judged(t, s, command)
		if decision.Direct == nil || decision.Held || r.Error || !strings.Contains(r.Output, want) {
			t.Errorf("%s: %+v, %+v; want %q", command, decision, r, want)
		}
	}
	for _, command := range []string{
		"git status", "cat a.txt | head", "cat a.txt; ls", "cat < a.txt", "find .", "rg mine", "sort a.txt", "cat a.txt > /dev/null",
	} {
		if decision, _ := judged(t, s, command); decision.Verdict != permit.Ask {
			t.Errorf("%s: %+v, want a question", command, decision)
		}
	}
}
