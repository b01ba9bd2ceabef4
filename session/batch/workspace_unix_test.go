//go:build unix

package batch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestChangesAreCollectedAfterAGitThatWasKilled(t *testing.T) {
	source, dir := t.TempDir(), t.TempDir()
	gate := filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	// git calls it in the middle of its work: it says so, and waits.
	wait := "if test -p " + gate + "; then : > " + gate + "; read -r x < " + gate + "; fi; cat"
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "filter.slow.clean", wait},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "begin"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = source
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	w := NewWorkspaces(filepath.Join(dir, "places"))
	task := Task{Folder: source, Worktree: true}
	place, err := w.Prepare(t.Context(), task, "one")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".gitattributes": "a filter=slow\n", "a": "changed\n"} {
		if err := os.WriteFile(filepath.Join(place.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dying, kill := context.WithCancel(t.Context())
	killed := make(chan error, 1)
	go func() {
		_, err := w.Collect(dying, task, place)
		killed <- err
	}()
	if _, err := os.ReadFile(gate); err != nil { // git is at it
		t.Fatal(err)
	}
	kill()
	if err := os.WriteFile(gate, []byte("\n"), 0); err != nil { // what git has called may end
		t.Fatal(err)
	}
	if err := <-killed; err == nil {
		t.Fatal("the first git was not killed")
	}
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	outcome, err := w.Collect(t.Context(), task, place)
	if err != nil || !strings.Contains(string(outcome.Patch), "+changed") {
		t.Errorf("%v, the patch is:\n%s", err, outcome.Patch)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "places", "one.*")); len(left) > 0 || err != nil {
		t.Errorf("left: %q, %v", left, err)
	}
}
