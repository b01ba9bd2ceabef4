package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// refsDir is where the store's refs to trees are: each is named by what it keeps.
const refsDir = "refs/belay"

// operation is one change of the store, under its lock.
type operation struct {
	store *Store
	root  string // the workspace, links followed
	dir   string // the store of this workspace: a git folder
	index string // the file that knows what was read already
	repo  repoInfo
	lock  *lock
}

// begin takes the lock and makes the store if it is missing. Call end.
func (s *Store) begin(ctx context.Context) (*operation, error) {
	info, err := os.Stat(s.o.Root)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err != nil {
		const advice = "if it was moved, start belay in its new place"
		return nil, &Error{Kind: ErrNoWorkspace, Err: err, Path: s.o.Root, Advice: advice}
	}
	if err := s.git.locate(ctx); err != nil {
		return nil, err
	}
	op := &operation{store: s, root: s.root(), dir: s.storeDir()}
	if err := os.MkdirAll(op.dir, 0o700); err != nil {
		return nil, err
	}
	if op.lock, err = acquire(ctx, filepath.Join(op.dir, "lock")); err != nil {
		return nil, err
	}
	if err := op.prepare(ctx); err != nil {
		op.end()
		return nil, err
	}
	return op, nil
}

func (op *operation) end() { op.lock.release() }

// prepare looks at what is around the workspace and writes the files of the store
// that are missing or not as they should be.
func (op *operation) prepare(ctx context.Context) error {
	for _, dir := range []string{refsDir, "objects/pack", "info", "skipped"} {
		if err := os.MkdirAll(filepath.Join(op.dir, filepath.FromSlash(dir)), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{
		"HEAD":            "ref: refs/heads/none\n",
		"config":          gitConfig(relaxed.Load()),
		"info/attributes": gitAttributes,
		"workspace":       op.root + "\n", // for people who look at the folder
	}
	for name, content := range files {
		if err := op.writeFile(name, []byte(content)); err != nil {
			return err
		}
	}
	found, exclude := op.store.inspectRepository(ctx, op.root, op.dir)
	op.repo = found
	if err := op.writeFile("info/exclude", exclude); err != nil {
		return err
	}
	op.index = filepath.Join(op.dir, "index")
	if found.prefix != "" {
		op.index += "-" + digest(found.prefix)
	}
	// Whoever made it is dead, for we have the lock.
	if err := os.Remove(op.index + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return op.clearUp()
}

func (op *operation) writeFile(name string, content []byte) error {
	name = filepath.Join(op.dir, filepath.FromSlash(name))
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return os.WriteFile(name, content, 0o600)
}

// gitAttributes go before those of the workspace: every byte is kept as it is, and
// no driver has a name.
const gitAttributes = "* -text -ident !eol !crlf !filter !working-tree-encoding " +
	"!diff !merge !whitespace !conflict-marker-size\n"

// gitConfig is all that the store's git is told, beside what a call says.
func gitConfig(relaxed bool) string {
	lines := []string{
		"[core]", "repositoryFormatVersion = 0", "bare = true", "logAllRefUpdates = false",
		"autoCRLF = false", "safeCRLF = false", "fsmonitor = false", "hooksPath = /dev/null", "attributesFile =",
		"quotePath = true", "preloadIndex = true", "untrackedCache = false", "splitIndex = false", "compression = 1",
		"fsync = objects", "fsyncMethod = batch", "trustCTime = true", "precomposeUnicode = false",
	}
	if relaxed {
		lines = append(lines, "fsync = none")
	}
	switch runtime.GOOS {
	case "windows":
		lines = append(lines, "fileMode = false", "ignoreCase = true", "longPaths = true")
	case "darwin":
		lines = append(lines, "fileMode = true", "symlinks = true", "ignoreCase = true")
	default: // names that only other systems mind are kept
		lines = append(lines, "fileMode = true", "symlinks = true", "protectNTFS = false", "protectHFS = false")
	}
	lines = append(lines,
		"[gc]", "auto = 2000", "autoPackLimit = 20", "autoDetach = false", "packRefs = false", "pruneExpire = now",
		"[maintenance]", "auto = false",
		"[index]", "threads = true")
	return strings.Join(lines, "\n") + "\n"
}

// root is the workspace, links followed as long as it is there.
func (s *Store) root() string { return resolved(s.o.Root) }

// resolved is a path without links, as far as it is there.
func resolved(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(parent, filepath.Base(path))
	}
	return filepath.Clean(path)
}

// storeDir is the folder of this workspace's store.
func (s *Store) storeDir() string { return filepath.Join(s.o.Dir, digest(s.root())) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// checkKept is nil when a tree is kept here.
func (s *Store) checkKept(ctx context.Context, id string) error {
	if !isObjectID(id) {
		return s.newGoneError()
	}
	if err := s.git.locate(ctx); err != nil {
		return err
	}
	home := s.storeDir()
	if _, err := os.Stat(filepath.Join(home, filepath.FromSlash(refsDir), id)); err != nil {
		return s.newGoneError()
	}
	_, err := run(ctx, s.git.storeGit(ctx, home, "cat-file", "-e", id+"^{tree}"))
	if err != nil && ctx.Err() == nil {
		return s.newGoneError()
	}
	return err
}

// isObjectID tells an id from anything else that git would understand.
func isObjectID(id string) bool {
	if len(id) != 40 && len(id) != 64 {
		return false
	}
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Follow lets the trees of a workspace that was moved be found at its new path. Dir is
// where all trees are kept.
func Follow(dir, from, to string) error {
	old := filepath.Join(dir, digest(resolved(from)))
	next := filepath.Join(dir, digest(resolved(to)))
	if _, err := os.Stat(next); err == nil {
		return fmt.Errorf("there are trees of %s already", to)
	}
	if err := os.Rename(old, next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("move the trees of %s: %w", from, err)
	}
	return nil
}
