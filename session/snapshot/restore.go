package snapshot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// RestoreResult is what a restore did. Its paths are relative to the workspace.
type RestoreResult struct {
	ID      string // of the tree that is there now, not kept; the one asked for if all could be done
	Written []string
	Removed []string
	Kept    []string // came later, but would have been ignored or skipped at the checkpoint: left as they are
	Failed  []Failure
}

// Failure is a file that could not be restored, and why.
type Failure struct {
	Path string
	Err  error
}

// errUncovered tells that a file would be lost without a way back.
var errUncovered = errors.New("it is there now but no snapshot can keep it (ignored, too large or not readable): " +
	"move it away and rewind again")

// Restore makes the files of the workspace what they were in a kept tree: it
// writes what changed and removes what came later. Files that no tree holds
// stay as they are. Each file is replaced in one step, and a restore that was
// cut off can be repeated.
//
// Expect is the tree that the caller compared with and which it can go back
// to; when the workspace is not like it any more, nothing is done and the error
// is a *ChangedError. When it is empty, what is there now is overwritten.
//
// What could not be restored is named in Done, and the rest is done.
func (s *Store) Restore(ctx context.Context, id, expect string) (RestoreResult, error) {
	done, err := s.restore(ctx, id, expect)
	return done, s.wrap("restore the files", err)
}

func (s *Store) restore(ctx context.Context, id, expect string) (RestoreResult, error) {
	if err := s.checkKept(ctx, id); err != nil {
		return RestoreResult{}, err
	}
	if expect != "" {
		if err := s.checkKept(ctx, expect); err != nil {
			return RestoreResult{}, err
		}
	}
	op, err := s.begin(ctx)
	if err != nil {
		return RestoreResult{}, err
	}
	defer op.end()
	now, err := op.take(ctx)
	if err != nil {
		return RestoreResult{}, err
	}
	if expect != "" && expect != now.ID {
		entries, err := op.compare(ctx, expect, now.ID)
		if err != nil {
			return RestoreResult{}, err
		}
		changed := &ChangedError{}
		for _, e := range entries {
			changed.Paths = append(changed.Paths, e.path)
		}
		return RestoreResult{}, changed
	}
	entries, err := op.compare(ctx, now.ID, id)
	if err != nil {
		return RestoreResult{}, err
	}
	skipped, err := op.skipped(id)
	if err != nil {
		return RestoreResult{}, err
	}
	done, err := op.apply(ctx, entries, skipped)
	if err != nil {
		return done, err
	}
	if after, err := op.take(ctx); err == nil { // the index knows the files again
		done.ID = after.ID
	}
	return done, nil
}

func (op *operation) compare(ctx context.Context, from, to string) ([]entry, error) {
	out, err := op.runOnStore(ctx, nil, append(diffTree, "--raw", "-z", from, to)...)
	entries, _ := parseRaw(out)
	return entries, err
}

// apply does what the entries say. Files come first that are in the way of
// others; then files are written, the ignore rules among them; then those are
// removed that the rules, as they now are, do not ignore.
func (op *operation) apply(ctx context.Context, entries []entry, skipped []string) (RestoreResult, error) {
	var done RestoreResult
	tree, err := openTree(op.root)
	if err != nil {
		return done, err
	}
	defer tree.close()
	first, write, last := orderRestore(entries)
	remove := func(list []string) {
		for _, p := range list {
			if err := tree.remove(p); err != nil {
				done.Failed = append(done.Failed, Failure{Path: p, Err: withoutPath(err)})
			} else {
				done.Removed = append(done.Removed, p)
			}
		}
	}
	remove(first)
	if err := op.write(ctx, tree, write, &done); err != nil {
		return done, err
	}
	last, done.Kept, err = op.keepIgnored(ctx, last, skipped)
	if err != nil {
		return done, err
	}
	remove(last)
	if len(done.Kept) > 0 { // or the next Take would go on covering them
		err = op.removeFromIndex(ctx, done.Kept)
	}
	return done, err
}

// orderRestore parts the entries: what must go before anything can be written, what is
// to be written, and what is to be removed.
func orderRestore(entries []entry) (first []string, write []entry, last []string) {
	targets, above := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		if e.mode == absentMode {
			continue
		}
		write = append(write, e)
		targets[strings.ToLower(e.path)] = true
		for dir := path.Dir(e.path); dir != "."; dir = path.Dir(dir) {
			above[strings.ToLower(dir)] = true
		}
	}
	for _, e := range entries {
		if e.mode != absentMode {
			continue
		}
		folded := strings.ToLower(e.path) // some file systems know but one of README and Readme
		blocks := targets[folded] || above[folded]
		for dir := path.Dir(folded); dir != "." && !blocks; dir = path.Dir(dir) {
			blocks = targets[dir]
		}
		if blocks {
			first = append(first, e.path)
		} else {
			last = append(last, e.path)
		}
	}
	return first, write, last
}

// keepIgnored parts files that came later from those that the checkpoint did not
// cover: it may have been there, so it is left.
func (op *operation) keepIgnored(ctx context.Context, paths, skipped []string) (remove, keep []string, err error) {
	if len(paths) == 0 {
		return nil, nil, nil
	}
	var asked strings.Builder
	for _, p := range paths {
		asked.WriteString("./" + p + "\x00") // so that none begins with a sign that means something
	}
	cmd := op.workspaceGit(ctx, strings.NewReader(asked.String()), "check-ignore", "-z", "--no-index", "--stdin")
	cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=0") // which it does not know
	out, err := run(ctx, cmd)
	if err != nil && exitStatus(err) != 1 {
		return nil, nil, err
	}
	uncovered := map[string]bool{}
	for _, p := range splitNUL(out) {
		uncovered[strings.TrimPrefix(p, "./")] = true
	}
	for _, p := range skipped {
		uncovered[p] = true
	}
	for _, p := range paths {
		spared := uncovered[p]
		for dir := path.Dir(p); dir != "." && !spared; dir = path.Dir(dir) {
			spared = uncovered[dir+"/"]
		}
		if spared {
			keep = append(keep, p)
		} else {
			remove = append(remove, p)
		}
	}
	return remove, keep, nil
}

// write fetches the content of entries from the store and writes each.
func (op *operation) write(ctx context.Context, tree *workspaceTree, entries []entry, done *RestoreResult) error {
	if len(entries) == 0 {
		return nil
	}
	var want strings.Builder
	for _, e := range entries {
		want.WriteString(e.blob + "\n")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := op.store.git.storeGit(ctx, op.dir, "cat-file", "--batch")
	cmd.Stdin, cmd.ExtraFiles = strings.NewReader(want.String()), op.lock.inherit()
	endGently(cmd)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = receiveFiles(ctx, bufio.NewReaderSize(pipe, 64<<10), tree, entries, done)
	if err != nil {
		stop()
	}
	if waited := cmd.Wait(); err == nil && waited != nil {
		err = &gitError{step: "cat-file", err: waited}
	}
	return err
}

// receiveFiles reads what `git cat-file --batch` prints.
func receiveFiles(
	ctx context.Context,
	from *bufio.Reader,
	tree *workspaceTree,
	entries []entry,
	done *RestoreResult,
) error {
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		head, err := from.ReadString('\n')
		if err != nil {
			return preferContextError(ctx, fmt.Errorf("read from the store: %w", err))
		}
		fields := strings.Fields(head)
		if len(fields) != 3 {
			done.Failed = append(done.Failed, Failure{Path: e.path, Err: ErrGone})
			continue
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return fmt.Errorf("read from the store: %w", err)
		}
		content := &io.LimitedReader{R: from, N: size}
		err = tree.put(e, content)
		if errors.Is(err, syscall.ENOSPC) {
			return err
		}
		if err != nil {
			done.Failed = append(done.Failed, Failure{Path: e.path, Err: withoutPath(err)})
		} else {
			done.Written = append(done.Written, e.path)
		}
		if _, err := io.CopyN(io.Discard, from, content.N+1); err != nil {
			return preferContextError(ctx, fmt.Errorf("read from the store: %w", err))
		}
	}
	return nil
}

// withoutPath leaves out the names within an error: they are of temporary files, or
// say again what the failure says.
func withoutPath(err error) error {
	var named *fs.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &named):
		return named.Err
	case errors.As(err, &two):
		return two.Err
	}
	return err
}

// preferContextError prefers the end of a context to what followed from it.
func preferContextError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
