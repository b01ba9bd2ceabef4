package batch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"belay/context/repository"
	"belay/session/snapshot"
)

// Workspace is where a task works.
type Workspace struct {
	Dir    string `json:"dir"`
	Source string `json:"source,omitempty"` // the repository that the worktree belongs to; empty: it works in place
	Base   string `json:"base,omitempty"`   // the commit that it began at
	Remote bool   `json:"remote,omitempty"` // the source is a copy of a repository elsewhere
}

// Workspaces makes the places where tasks work.
type Workspaces struct{ dir string } // of the worktrees

// NewWorkspaces returns workspaces below a folder, which need not exist yet. It lies
// outside belay's data: the model's tools open nothing there.
func NewWorkspaces(dir string) *Workspaces { return &Workspaces{dir: dir} }

// lock keeps other tasks, also those of other belays, from a repository or a folder:
// git refuses two changes of one at a time.
func (w *Workspaces) lock(ctx context.Context, name string) (unlock func(), err error) {
	dir := filepath.Join(w.dir, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &workspaceError{"wait for " + name, err, ""}
	}
	unlock, err = snapshot.LockFile(ctx, filepath.Join(dir, hashed(name)))
	if err != nil {
		return nil, &workspaceError{"wait for " + name, err, ""}
	}
	return unlock, nil
}

func hashed(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// workspaceError is a place that could not be made, with what to do about it.
type workspaceError struct {
	step string
	err  error
	hint string
}

func (e *workspaceError) Error() string { return e.step + ": " + e.err.Error() }
func (e *workspaceError) Unwrap() error { return e.err }
func (e *workspaceError) Hint() string  { return e.hint }

// Prepare makes the place for a task, or finds the one that it had. A name is
// unique among all tasks, and fit for a folder.
func (w *Workspaces) Prepare(ctx context.Context, task Task, name string) (Workspace, error) {
	if !task.Worktree {
		info, err := os.Stat(task.Folder)
		if err == nil && !info.IsDir() {
			err = errors.New("it is no folder")
		}
		if err != nil {
			return Workspace{}, &workspaceError{"work in " + task.Folder, err, "the task names the folder"}
		}
		return Workspace{Dir: task.Folder}, nil
	}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return Workspace{}, &workspaceError{"make a worktree", err, ""}
	}
	place := Workspace{Dir: filepath.Join(w.dir, name)}
	var err error
	if task.Repository != "" {
		place.Remote = true
		if place.Source, err = w.fetch(ctx, task); err != nil {
			return Workspace{}, err
		}
	} else if place.Source = repository.Root(ctx, task.Folder); place.Source == "" {
		return Workspace{}, &workspaceError{"make a worktree of " + task.Folder, errors.New("it is no git repository"),
			"worktree = false works in the folder itself"}
	}
	unlock, err := w.lock(ctx, place.Source)
	if err != nil {
		return Workspace{}, err
	}
	defer unlock()
	revision := task.Revision
	if revision == "" {
		revision = "HEAD"
	}
	if place.Base, err = baseOf(ctx, place, revision); err != nil {
		return Workspace{}, &workspaceError{"find revision " + revision, err, "git -C " + place.Source + " log " + revision}
	}
	// What an earlier try left there that nobody goes on with.
	if err := w.removeLocked(ctx, place); err != nil {
		return Workspace{}, err
	}
	_, err = git(ctx, place.Source, nil, "worktree", "add", "--quiet", "--detach", place.Dir, place.Base)
	if err != nil {
		return Workspace{}, &workspaceError{"make a worktree", err, ""}
	}
	return place, nil
}

// baseOf is the commit that a revision means. In a copy of a repository elsewhere its
// branches stand below origin.
func baseOf(ctx context.Context, place Workspace, revision string) (string, error) {
	if place.Remote {
		if commit, err := commitOf(ctx, place.Source, "refs/remotes/origin/"+revision); err == nil {
			return commit, nil
		}
	}
	return commitOf(ctx, place.Source, revision)
}

func commitOf(ctx context.Context, dir, revision string) (string, error) {
	out, err := git(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", errors.New("there is no such commit")
	}
	return strings.TrimSpace(string(out)), nil
}

// fetch brings a copy of a task's repository up to date, one for all its tasks.
func (w *Workspaces) fetch(ctx context.Context, task Task) (string, error) {
	dir := filepath.Join(w.dir, "repositories", hashed(task.Repository))
	unlock, err := w.lock(ctx, dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) {
		half := dir + ".half" // a killed clone is not taken for a whole one
		if err := errors.Join(os.RemoveAll(half), os.MkdirAll(filepath.Dir(dir), 0o700)); err != nil {
			return "", &workspaceError{"fetch " + task.Repository, err, ""}
		}
		_, err := git(ctx, w.dir, nil, "clone", "--quiet", "--no-checkout", "--", task.Repository, half)
		if err == nil {
			err = os.Rename(half, dir)
		}
		if err != nil {
			return "", &workspaceError{"fetch " + task.Repository, err, "git clone " + task.Repository + " tells more"}
		}
	}
	if task.Revision != "" && len(task.Revision) == 40 { // a commit does not move
		if _, err := commitOf(ctx, dir, task.Revision); err == nil {
			return dir, nil
		}
	}
	if _, err := git(ctx, dir, nil, "fetch", "--quiet", "--tags", "--force", "origin"); err != nil {
		return "", &workspaceError{"fetch " + task.Repository, err, "git fetch there tells more"}
	}
	_, _ = git(ctx, dir, nil, "remote", "set-head", "origin", "--auto") // HEAD alone follows it
	return dir, nil
}

// maxPatch bounds what is kept of a task's changes.
const maxPatch = 16 << 20

// Outcome is what a task has changed.
type Outcome struct {
	Patch  []byte
	Commit string // of the branch; empty: nothing was to be set
}

// Collect gives the changes in a place as a patch, and sets the branch of the task
// to them if it names one. It may be called again.
func (w *Workspaces) Collect(ctx context.Context, task Task, place Workspace) (Outcome, error) {
	if place.Source == "" {
		return Outcome{}, nil
	}
	const step = "collect the changes"
	// An index of its own: what the model did to the real one is not what counts. It lies
	// in a folder of its own, as a git that was killed leaves a lock beside it.
	scratch, err := w.scratch(place)
	if err != nil {
		return Outcome{}, &workspaceError{step, err, ""}
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // the next one does it again
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(scratch, "index")}
	for _, args := range [][]string{{"read-tree", place.Base}, {"add", "--all", "."}} {
		if _, err := git(ctx, place.Dir, env, args...); err != nil {
			return Outcome{}, &workspaceError{step, err, ""}
		}
	}
	out, err := git(ctx, place.Dir, env, "write-tree")
	if err != nil {
		return Outcome{}, &workspaceError{step, err, ""}
	}
	tree := strings.TrimSpace(string(out))
	patch, err := git(ctx, place.Dir, nil, "diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv",
		"--full-index", place.Base, tree)
	if err != nil {
		return Outcome{}, &workspaceError{step, err, ""}
	}
	if len(patch) > maxPatch {
		return Outcome{}, &workspaceError{step, fmt.Errorf("the patch is longer than %d MB", maxPatch>>20),
			"the changes are in " + place.Dir}
	}
	outcome := Outcome{Patch: patch}
	if task.Branch != "" {
		outcome.Commit, err = w.setBranch(ctx, task, place, tree)
	}
	return outcome, err
}

// scratch makes an empty folder for the work on a place, without those of tries before
// that were cut off.
func (w *Workspaces) scratch(place Workspace) (string, error) {
	name := filepath.Base(place.Dir) + ".scratch-"
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name) {
			_ = os.RemoveAll(filepath.Join(w.dir, e.Name())) // one that stays is in nobody's way
		}
	}
	return os.MkdirTemp(w.dir, name)
}

// setBranch lets a new branch stand at the changes. One that is there already is left
// alone, unless it is what an earlier try of this task has made.
func (w *Workspaces) setBranch(ctx context.Context, task Task, place Workspace, tree string) (string, error) {
	step := "set branch " + task.Branch
	unlock, err := w.lock(ctx, place.Source)
	if err != nil {
		return "", err
	}
	defer unlock()
	ref := "refs/heads/" + task.Branch
	title, _, _ := strings.Cut(strings.TrimSpace(task.Prompt), "\n")
	if len(title) > 72 {
		title = strings.ToValidUTF8(title[:71], "") + "…"
	}
	if there, err := commitOf(ctx, place.Source, ref); err == nil {
		what, err := git(ctx, place.Source, nil, "show", "--no-patch", "--format=%T %P", there)
		if err == nil && strings.TrimSpace(string(what)) == tree+" "+place.Base {
			return there, w.push(ctx, task, place, there, ref)
		}
		return "", &workspaceError{step, errors.New("there is a branch of that name"), "the changes are in the patch"}
	}
	var who []string
	if _, err := git(ctx, place.Source, nil, "var", "GIT_COMMITTER_IDENT"); err != nil {
		who = []string{"-c", "user.name=belay", "-c", "user.email=belay@localhost"}
	}
	out, err := git(ctx, place.Source, nil, append(who, "commit-tree", tree, "-p", place.Base, "-m", title)...)
	if err != nil {
		return "", &workspaceError{step, err, "the changes are in the patch"}
	}
	commit := strings.TrimSpace(string(out))
	if _, err := git(ctx, place.Source, nil, "update-ref", ref, commit, ""); err != nil {
		return "", &workspaceError{step, err, "the changes are in the patch"}
	}
	return commit, w.push(ctx, task, place, commit, ref)
}

func (w *Workspaces) push(ctx context.Context, task Task, place Workspace, commit, ref string) error {
	if !place.Remote {
		return nil
	}
	if _, err := git(ctx, place.Source, nil, "push", "--quiet", "origin", commit+":"+ref); err != nil {
		return &workspaceError{"push branch " + task.Branch, err, "the changes are in the patch"}
	}
	return nil
}

// Remove deletes a worktree; a folder that was worked on in place stays.
func (w *Workspaces) Remove(ctx context.Context, place Workspace) error {
	if place.Source == "" {
		return nil
	}
	unlock, err := w.lock(ctx, place.Source)
	if err != nil {
		return err
	}
	defer unlock()
	return w.removeLocked(ctx, place)
}

func (w *Workspaces) removeLocked(ctx context.Context, place Workspace) error {
	if filepath.Dir(place.Dir) != w.dir {
		return nil // not one of ours
	}
	if err := os.RemoveAll(place.Dir); err != nil {
		return &workspaceError{"remove the worktree", err, ""}
	}
	_, err := git(ctx, place.Source, nil, "worktree", "prune")
	if err != nil {
		return &workspaceError{"remove the worktree", err, ""}
	}
	return nil
}

// git runs git without hooks and without questions. Its filters run: whoever names a
// repository in a task wants its files as they are meant.
func git(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := repository.Command(ctx, "git", dir, args...)
	cmd.Env = append(cmd.Env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	for _, variable := range os.Environ() { // who commits is no other repository
		if strings.HasPrefix(variable, "GIT_AUTHOR_") || strings.HasPrefix(variable, "GIT_COMMITTER_") ||
			strings.HasPrefix(variable, "GIT_CONFIG_") || strings.HasPrefix(variable, "GIT_SSL_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		if lines := strings.Split(strings.TrimSpace(said.String()), "\n"); lines[len(lines)-1] != "" {
			err = errors.New(lines[len(lines)-1])
		}
		err = fmt.Errorf("git: %w", err)
	}
	return out, err
}
