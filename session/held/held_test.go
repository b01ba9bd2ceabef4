//go:build unix

package held

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"belay/session/permit"
)

// sink is an output that several write to.
type sink struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func workspace(t *testing.T, env ...string) (Options, *sink) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"list": "b\na\n", "bin/ls": "#!/bin/sh\necho mine\n", "names": "list\n'two words'\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out := &sink{}
	return Options{
		Root: root, Dir: root, Out: out,
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "GREETING=hi"}, env...),
		Program: func(ctx context.Context, cmd *exec.Cmd) (int, error) {
			if err := cmd.Start(); err != nil {
				return 0, err
			}
			stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
			defer stop()
			err := cmd.Wait()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return exit.ExitCode(), nil
			}
			return 0, err
		},
		Open: os.Open,
	}, out
}

func TestWhatALineGives(t *testing.T) {
	for line, want := range map[string]struct {
		out  string
		code int
	}{
		"echo a; exit 3":                {"a\n", 3},
		"false":                         {"", 1},
		"false | true":                  {"", 0},
		"set -o pipefail; false | true": {"", 1},
		"cat list | sort | head -1":     {"a\n", 0},
		"sort < list 2>&1":              {"a\nb\n", 0},
		"nosuchprogram=1; cat nosuchfile 2>/dev/null":       {"", 1},
		"echo one; cat list; echo two":                      {"one\nb\na\ntwo\n", 0},
		"for x in $(sort list); do echo $x-; done":          {"a-\nb-\n", 0},
		"x=$(cat list | wc -l); echo $((x + 1))":            {"3\n", 0},
		"while read -r x; do echo \"<$x>\"; done < list":    {"<b>\n<a>\n", 0},
		"cat list | xargs -n1 echo x":                       {"x b\nx a\n", 0},
		"xargs -I{} echo '[{}]' < list":                     {"[b]\n[a]\n", 0},
		"printf 'a b\\0c\\0' | xargs -0 -n1 echo":           {"a b\nc\n", 0},
		"printf '%s\\n' 'a\\ b' '\"c d\"' | xargs -n1 echo": {"a b\nc d\n", 0},
		"echo a,b | xargs -d, -n1 echo":                     {"a\nb\n\n", 0},
		"true | xargs -r cat nosuchfile":                    {"", 0},
		"cat list | xargs -n1 test -f":                      {"", 123},
		"cat names | head -1 | xargs cat":                   {"b\na\n", 0},
		"echo list | xargs cat; cat":                        {"b\na\n", 0},
		"bash -c 'echo $1; exit 4' name arg":                {"arg\n", 4},
		"bash -ec 'false; echo no'":                         {"", 1},
		"timeout 0.2 sleep 30":                              {"", 124},
		"timeout 20 echo quick":                             {"quick\n", 0},
		"printf '%03d|%.1f\\n' 7 2.5":                       {"007|2.5\n", 0},
		"echo -ne 'a\\tb\\n'":                               {"a\tb\n", 0},
		"LC_ALL=C sort list":                                {"a\nb\n", 0},
		"echo $GREETING $NOTHING.":                          {"hi .\n", 0},
		"seq 40000 | while read x; do :; done; echo done":   {"done\n", 0},
		"seq 3 | while read x; do echo $x; break; done":     {"1\n", 0},
		"yes=1; seq 100000 | while read x; do break; done":  {"", 0},
		"read x; echo \"[$x]\"":                             {"[]\n", 0},
	} {
		o, out := workspace(t)
		code, err := Run(t.Context(), line, o)
		if code != want.code || err != nil || out.text() != want.out {
			t.Errorf("%s: %q, %d, %v; want %q, %d", line, out.text(), code, err, want.out, want.code)
		}
	}
}

func TestALineEndsBeforeWhatNeedsAQuestion(t *testing.T) {
	for line, want := range map[string]string{
		"echo before; x=rm; for f in list; do cat ../$f; echo after; done":         "`cat ../list`",
		"echo before; (cat $HOME/x) || echo after":                                 "`cat /nowhere/x`",
		"echo before; cat $HOME/x | cat; echo after":                               "`cat /nowhere/x`",
		"echo before; echo $(cat $HOME/x); echo after":                             "`cat /nowhere/x`",
		"echo before; bash -c 'cat $HOME/x; echo after'; echo after":               "`cat /nowhere/x`",
		"echo before; echo -o | xargs sort; echo after":                            "`sort -o`",
		"echo before; [ -f $HOME/x ]; echo after":                                  "/nowhere/x",
		"echo before; cat < $HOME/x; echo after":                                   "`/nowhere/x`",
		"echo before; for a in {1..9000}; do for b in {1..9000}; do :; done; done": "too many commands",
		"echo before; x=$(yes yes | head -100000); echo after":                     "more than a line can hold",
		"echo before; x=$(for i in {1..9000}; do echo $GREETING$GREETING$GREETING$GREETING$GREETING$GREETING; " +
			"echo $GREETING$GREETING$GREETING$GREETING$GREETING$GREETING$GREETING$GREETING$GREETING; done); echo after": "more than a line can hold",
		"echo before; head -c 900000 /dev/null; tr '\\n' x < big | while read x; do echo after; done": "line that is too long",
	} {
		line = strings.Replace(line, "yes yes | head -100000", "seq 100000", 1)
		o, out := workspace(t)
		if err := os.WriteFile(filepath.Join(o.Root, "big"), bytes.Repeat([]byte("y\n"), 1<<19), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Run(t.Context(), line, o)
		var refused *Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
		if got := out.text(); got != "before\n" {
			t.Errorf("%s printed %q", line, got)
		}
	}
}

func TestProgramsOfTheWorkspaceAreNotThoseOfTheSystem(t *testing.T) {
	o, out := workspace(t)
	for _, place := range []string{filepath.Join(o.Root, "bin"), "bin", "./bin"} {
		o.Env[0] = "PATH=" + place + ":" + os.Getenv("PATH")
		if _, err := Run(t.Context(), "ls", o); err == nil || strings.Contains(out.text(), "mine") {
			t.Errorf("with %s: %v, %q", place, err, out.text())
		}
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	o, out := workspace(t)
	o.Env[0] = "PATH=/nowhere"
	if code, err := Run(t.Context(), "ls", o); code != exitNotFound || err != nil || out.text() != "ls: command not found\n" {
		t.Errorf("%d, %v, %q", code, err, out.text())
	}
}

// The line is stopped while a program runs, while it waits for one, and while it does
// nothing but compute.
func TestALineIsStopped(t *testing.T) {
	for _, line := range []string{
		"echo ready; sleep 600", "echo ready; sleep 600 | cat", "x=$(echo ready >&2; sleep 600)",
		"echo ready; for i in {1..9000}; do sleep 600; done", "echo ready; sleep 600 | xargs echo", "bash -c 'echo ready; sleep 600'",
	} {
		o, out := workspace(t)
		ctx, cancel := context.WithCancel(t.Context())
		o.Out = writerFunc(func(p []byte) (int, error) {
			if strings.Contains(string(p), "ready") {
				cancel()
			}
			return out.Write(p)
		})
		if code, err := Run(ctx, line, o); code != 0 || err != nil {
			t.Errorf("%s: %d, %v", line, code, err)
		}
		cancel()
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// What the interpreter is given is what was looked at: no other shell has a say.
func TestEveryProgramWasJudged(t *testing.T) {
	o, _ := workspace(t)
	run := o.Program
	o.Program = func(ctx context.Context, cmd *exec.Cmd) (int, error) {
		words := append([]string{filepath.Base(cmd.Args[0])}, cmd.Args[1:]...)
		if reason := permit.Refuse(words, permit.Place{Dir: cmd.Dir, Root: o.Root}); reason != "" || words[0] == "bash" {
			t.Errorf("%q was started: %s", words, reason)
		}
		return run(ctx, cmd)
	}
	for _, line := range []string{
		"env LC_ALL=C timeout 5 nice bash -c 'ls | xargs -n1 timeout 5 wc -c'", "command sort list | stdbuf -oL head -1",
		"bash -lc \"bash -c 'cat list'\" | xargs -I% env echo %",
	} {
		if code, err := Run(t.Context(), line, o); code != 0 && code != 123 || err != nil {
			t.Errorf("%s: %d, %v", line, code, err)
		}
	}
}
