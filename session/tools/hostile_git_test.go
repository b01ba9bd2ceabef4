//go:build unix

package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"belay/session"
	"belay/session/permit"
)

// TestGitRunsNoProgramOfTheRepository lets each way of looking through without a
// question, in a repository whose settings name a program wherever git takes one. The
// program would say so.
func TestGitRunsNoProgramOfTheRepository(t *testing.T) {
	s := workspace(t, map[string]string{"a.txt": "a\n", ".gitattributes": "*.txt diff=d\n", "program.sh": "#!/bin/sh\necho HOSTILE\n"})
	if s.unavailable != nil {
		t.Skip(s.unavailable)
	}
	program := filepath.Join(s.o.Root, "program.sh")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", s.o.Root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	run("init", "-q")
	run("add", "a.txt", ".gitattributes")
	run("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first")
	if err := os.WriteFile(filepath.Join(s.o.Root, "a.txt"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("-c", "user.name=a", "-c", "user.email=a@example.com", "stash", "-q")
	run("stash", "apply", "-q")
	for _, setting := range []string{
		"core.fsmonitor", "core.pager", "core.editor", "diff.external", "diff.d.textconv", "diff.d.command", "gpg.program",
		"pager.log", "pager.diff", "man.viewer", "core.sshCommand", "core.alternateRefsCommand",
	} {
		run("config", setting, program)
	}
	run("config", "core.hooksPath", s.o.Root)
	if out, _ := exec.Command("git", "-C", s.o.Root, "diff").CombinedOutput(); !strings.Contains(string(out), "HOSTILE") {
		t.Fatalf("the repository is not hostile at all: %s", out)
	}
	for _, line := range []string{
		"git status", "git diff", "git diff --stat", "git diff HEAD -- a.txt", "git show", "git show HEAD:a.txt", "git log -p -1",
		"git blame a.txt", "git stash list", "git stash show -p", "git reflog", "git reflog show", "git whatchanged -p -1",
		"git diff-index -p HEAD", "git diff-files -p", "git diff-tree -p HEAD", "git log --oneline -1", "git -C . diff", "git ls-files",
		"git describe --always --dirty", "git shortlog -sn HEAD", "git grep b", "git branch", "git --no-pager diff",
	} {
		call, err := s.Prepare(RunCommand, fmt.Sprintf(`{"command":%q}`, line))
		if err != nil {
			t.Fatal(err)
		}
		decision := permit.Judge(session.Ask, call.Describe(RunCommand, s.o.Root), nil)
		if !decision.Held {
			t.Errorf("%s: %+v, want it to run", line, decision)
			continue
		}
		got := call.Runner(decision)(t.Context(), func(string) {})
		if strings.Contains(got.Output, "HOSTILE") || got.Error && !strings.Contains(line, "whatchanged") {
			t.Errorf("%s: %q", line, got.Output)
		}
	}
}
