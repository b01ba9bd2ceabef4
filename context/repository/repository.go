// Package repository asks git about a folder that may be hostile: no program that
// the folder's settings name is run, and nothing that a hook's environment says is
// believed.
package repository

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The bounds of one question: git waits for ever for rules or settings that are a
// pipe.
const (
	maxWait    = 10 * time.Second
	maxListing = 30 * time.Second
)

// harmless are settings that take the place of the repository's. The repository may
// belong to somebody else, for nothing of it is run.
var harmless = []string{
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.quotePath=false",
	"-c", "core.alternateRefsCommand=", "-c", "safe.directory=*", "-c", "safe.bareRepository=explicit",
}

// Command is a git that answers a question about a folder. It is for commands that
// run neither filters nor drivers for diffs, and reach no other computer.
func Command(ctx context.Context, program, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, append(append([]string{}, harmless...), args...)...)
	cmd.Dir = dir
	for _, variable := range os.Environ() {
		// Those of a hook speak of another repository, or of another index.
		if !strings.HasPrefix(strings.ToUpper(variable), "GIT_") && !strings.HasPrefix(variable, "LC_ALL=") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
		"GIT_NO_LAZY_FETCH=1")
	EndWithBelay(cmd)
	return cmd
}

func ask(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	return Command(ctx, "git", dir, args...).Output()
}

// Root is the top folder of the repository around a folder; empty: there is none.
func Root(ctx context.Context, dir string) string {
	out, err := ask(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return ""
	}
	root := filepath.FromSlash(strings.TrimSpace(string(out)))
	// The repository's settings may name any folder.
	if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil {
		return ""
	}
	return root
}

// Branch is the name of the checked-out branch, "a detached commit" if there
// is none, and empty outside a repository.
func Branch(ctx context.Context, dir string) string {
	branch, err := ask(ctx, dir, "symbolic-ref", "--short", "-q", "HEAD")
	if err == nil {
		return strings.TrimSpace(string(branch))
	}
	if _, err := ask(ctx, dir, "rev-parse", "--git-dir"); err != nil {
		return ""
	}
	return "a detached commit"
}

// Files lists what is below a folder, without what the repository's rules leave out,
// as slash-separated relative paths; with patterns, what matches one of them.
func Files(ctx context.Context, dir string, patterns ...string) ([]string, error) {
	args := []string{"ls-files", "-co", "--exclude-standard", "--deduplicate", "-z", "--"}
	ctx, cancel := context.WithTimeout(ctx, maxListing)
	defer cancel()
	out, err := Command(ctx, "git", dir, append(args, patterns...)...).Output()
	if err != nil {
		return nil, err
	}
	var files []string
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if len(name) > 0 {
			files = append(files, string(name))
		}
	}
	return files, nil
}
