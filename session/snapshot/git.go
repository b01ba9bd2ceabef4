package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"belay/context/repository"
)

// gitProgram is the git of this machine, once it was found.
type gitProgram struct {
	mu    sync.Mutex
	path  string
	minor int // of version 2
}

// The versions, all of 2, that are needed: to work at all, and to write many
// files into one pack.
const (
	minMinor     = 20
	packingMinor = 38
)

// locate looks for git and asks it for its version, once.
func (p *gitProgram) locate(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path != "" {
		return nil
	}
	path, err := exec.LookPath("git")
	if err != nil {
		hint, kind := classify(err)
		return &Error{Kind: kind, Advice: hint}
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	out, err := run(ctx, exec.CommandContext(ctx, path, "--version"))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	major, minor := parseVersion(string(out))
	switch {
	case err != nil || major == 0: // such as the placeholder that macOS puts there
		hint, kind := classify(exec.ErrNotFound)
		return &Error{Kind: kind, Path: path, Err: err, Advice: hint}
	case major < 2 || major == 2 && minor < minMinor:
		return &Error{
			Kind: ErrOldGit, Path: path, Err: errors.New(strings.TrimSpace(string(out))),
			Advice: fmt.Sprintf("install git 2.%d or later to keep the files of checkpoints; %s", minMinor,
				withoutFiles),
		}
	case major > 2:
		minor += 1000
	}
	p.path, p.minor = path, minor
	return nil
}

// parseVersion reads what `git --version` prints; 0 when it is something else.
func parseVersion(text string) (major, minor int) {
	text, ok := strings.CutPrefix(text, "git version ")
	parts := strings.SplitN(text, ".", 3)
	if !ok || len(parts) < 2 {
		return 0, 0
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, 0
	}
	minor, err = strconv.Atoi(strings.TrimSpace(parts[1]))
	if err != nil {
		return 0, 0
	}
	return major, minor
}

// gitError is a git that ended badly, and what it said.
type gitError struct {
	step   string // the name of its command
	err    error
	stderr string
}

func (e *gitError) Error() string {
	if said := strings.TrimSpace(e.stderr); said != "" {
		lines := strings.Split(said, "\n")
		return fmt.Sprintf("git %s: %s", e.step, lines[len(lines)-1])
	}
	return fmt.Sprintf("git %s: %v", e.step, e.err)
}

func (e *gitError) Unwrap() error { return e.err }

// exitStatus is the exit code of a git that ended badly, or -1.
func exitStatus(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// run runs a command to its end and returns what it printed.
func run(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout = &out
	_, err := runTo(ctx, cmd)
	return out.Bytes(), err
}

// runTo runs a command whose output goes elsewhere, and returns what it warned
// of.
func runTo(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var said tailBuffer
	cmd.Stderr = &said
	endGently(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		err = &gitError{step: subcommand(cmd.Args[1:]), err: err, stderr: said.b.String()}
	}
	return said.b.String(), err
}

// endGently makes a command end gently with its context, so that it takes its own
// lock files away.
func endGently(cmd *exec.Cmd) {
	ownProcessGroup(cmd)
	cmd.WaitDelay = 2 * time.Second
	cmd.Cancel = func() error {
		if cmd.Process.Signal(syscall.SIGTERM) == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}

// subcommand is the name of the command among git's arguments.
func subcommand(args []string) string {
	for i := 0; i < len(args); i++ {
		if args[i] == "-c" {
			i++
		} else {
			return args[i]
		}
	}
	return ""
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct{ b bytes.Buffer }

func (t *tailBuffer) Write(p []byte) (int, error) {
	const enough = 64 << 10
	if t.b.Len() > enough {
		t.b.Next(t.b.Len() - enough/2)
	}
	return t.b.Write(p)
}

// storeEnv is the environment of every git that works on the store: nothing of
// the caller's git, and no settings but the store's.
func storeEnv(home string) []string {
	env := []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "LC_ALL=C",
		"GIT_DIR=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_LITERAL_PATHSPECS=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
	}
	pass := []string{"PATH", "TMPDIR"}
	if runtime.GOOS == "windows" {
		pass = append(pass, "SYSTEMROOT", "TEMP", "TMP")
	}
	for _, name := range pass {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// storeGit runs git on the store alone.
func (p *gitProgram) storeGit(ctx context.Context, home string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir, cmd.Env = home, storeEnv(home)
	repository.EndWithBelay(cmd)
	return cmd
}

func (op *operation) runOnStore(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	cmd := op.store.git.storeGit(ctx, op.dir, args...)
	cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+op.index)
	cmd.Stdin, cmd.ExtraFiles = in, op.lock.inherit()
	return run(ctx, cmd)
}

// workspaceGit is a git that works on the workspace with the store's index.
func (op *operation) workspaceGit(ctx context.Context, in io.Reader, args ...string) *exec.Cmd {
	cmd := op.store.git.storeGit(
		ctx,
		op.dir,
		append([]string{"-c", "core.excludesFile=" + op.repo.excludes}, args...)...)
	cmd.Dir = op.root
	cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+op.repo.root, "GIT_INDEX_FILE="+op.index)
	cmd.Stdin, cmd.ExtraFiles = in, op.lock.inherit()
	return cmd
}

func (op *operation) runInWorkspace(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	return run(ctx, op.workspaceGit(ctx, in, args...))
}
