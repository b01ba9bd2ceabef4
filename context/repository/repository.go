// Package repository asks git about a folder that may be hostile: no program that
// the folder's settings name is run, and nothing that a hook's environment says is
// believed.
package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// Tracked lists those of some files, by their absolute paths, that the repository around
// a folder keeps.
func Tracked(ctx context.Context, dir string, files []string) []string {
	args := []string{"--literal-pathspecs", "ls-files", "-z", "--full-name", "--"}
	out, err := ask(ctx, dir, append(args, files...)...)
	if err != nil {
		return nil
	}
	top := Root(ctx, dir)
	var tracked []string
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if name != "" {
			tracked = append(tracked, filepath.Join(top, filepath.FromSlash(name)))
		}
	}
	return tracked
}

// Changes is the patch from the last commit to a folder, with the files that the
// repository does not know yet named at its beginning.
func Changes(ctx context.Context, dir string) (string, error) {
	if Root(ctx, dir) == "" {
		return "", errors.New("this folder is in no git repository")
	}
	args := append([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative"}, "HEAD")
	if _, err := ask(ctx, dir, "rev-parse", "--verify", "-q", "HEAD"); err != nil {
		args[len(args)-1] = emptyTree // before the first commit
	}
	patch, err := askWithoutFilters(ctx, dir, args...)
	if err != nil {
		return "", fmt.Errorf("compare with the last commit: %w", err)
	}
	unknown, err := ask(ctx, dir, "ls-files", "-o", "--exclude-standard")
	if err != nil {
		return "", fmt.Errorf("list new files: %w", err)
	}
	var b strings.Builder
	for name := range strings.Lines(string(unknown)) {
		fmt.Fprintf(&b, "diff --git a/%[1]s b/%[1]s\n(new, and not known to git)\n", strings.TrimSpace(name))
	}
	return b.String() + string(patch), nil
}

// emptyTree is git's name for a tree without files.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// askWithoutFilters asks a question for which git reads the files of the working tree,
// with the filters switched off that the repository's settings name.
func askWithoutFilters(ctx context.Context, dir string, args ...string) ([]byte, error) {
	out, err := ask(ctx, dir, "config", "--name-only", "-z", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`)
	if err != nil {
		out = nil // there are none
	}
	var off []string
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		switch {
		case strings.HasSuffix(name, ".required"):
			off = append(off, "-c", name+"=false")
		case name != "":
			off = append(off, "-c", name+"=")
		}
	}
	return ask(ctx, dir, append(off, args...)...)
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
