package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// refs is where the store's refs to trees are: each is named by what it keeps.
const refs = "refs/belay"

// work is one change of the store, under its lock.
type work struct {
	s      *Store
	root   string // the workspace, links followed
	home   string // the store of this workspace: a git folder
	index  string // the file that knows what was read already
	around around
	lock   *lock
}

// begin takes the lock and sees to it that the store is there. Call end.
func (s *Store) begin(ctx context.Context) (*work, error) {
	info, err := os.Stat(s.o.Root)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err != nil {
		return nil, &Error{Kind: ErrNoWorkspace, Err: err, Path: s.o.Root, Advice: "if it was moved, start belay in its new place"}
	}
	if err := s.git.find(ctx); err != nil {
		return nil, err
	}
	w := &work{s: s, root: s.root(), home: s.home()}
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		return nil, err
	}
	if w.lock, err = acquire(ctx, filepath.Join(w.home, "lock")); err != nil {
		return nil, err
	}
	if err := w.ready(ctx); err != nil {
		w.end()
		return nil, err
	}
	return w, nil
}

func (w *work) end() { w.lock.release() }

// ready looks at what is around the workspace and writes the files of the store
// that are missing or not as they should be.
func (w *work) ready(ctx context.Context) error {
	for _, dir := range []string{refs, "objects/pack", "info", "skipped"} {
		if err := os.MkdirAll(filepath.Join(w.home, filepath.FromSlash(dir)), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{
		"HEAD":            "ref: refs/heads/none\n",
		"config":          config(),
		"info/attributes": attributes,
		"workspace":       w.root + "\n", // for people who look at the folder
	}
	for name, content := range files {
		if err := w.put(name, []byte(content)); err != nil {
			return err
		}
	}
	found, exclude := w.s.look(ctx, w.root, w.home)
	w.around = found
	if err := w.put("info/exclude", exclude); err != nil {
		return err
	}
	w.index = filepath.Join(w.home, "index")
	if found.prefix != "" {
		w.index += "-" + digest(found.prefix)
	}
	// Whoever made it is dead, for we have the lock.
	if err := os.Remove(w.index + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (w *work) put(name string, content []byte) error {
	name = filepath.Join(w.home, filepath.FromSlash(name))
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return os.WriteFile(name, content, 0o600)
}

// attributes go before those of the workspace: every byte is kept as it is, and
// no driver has a name.
const attributes = "* -text -ident !eol !crlf !filter !working-tree-encoding !diff !merge !whitespace !conflict-marker-size\n"

// config is all that the store's git is told, beside what a call says.
func config() string {
	lines := []string{
		"[core]", "repositoryFormatVersion = 0", "bare = true", "logAllRefUpdates = false",
		"autoCRLF = false", "safeCRLF = false", "fsmonitor = false", "hooksPath = /dev/null", "attributesFile =",
		"quotePath = true", "preloadIndex = true", "untrackedCache = false", "splitIndex = false", "compression = 1",
		"fsync = objects", "fsyncMethod = batch", "trustCTime = true", "precomposeUnicode = false",
	}
	switch runtime.GOOS {
	case "windows":
		lines = append(lines, "fileMode = false", "ignoreCase = true", "longPaths = true")
	case "darwin":
		lines = append(lines, "fileMode = true", "symlinks = true", "ignoreCase = true")
	default: // names that only other systems mind are kept
		lines = append(lines, "fileMode = true", "symlinks = true", "protectNTFS = false", "protectHFS = false")
	}
	lines = append(lines, "[gc]", "auto = 2000", "autoPackLimit = 20", "autoDetach = false", "packRefs = false", "pruneExpire = now", "[maintenance]", "auto = false", "[index]", "threads = true")
	return strings.Join(lines, "\n") + "\n"
}

// root is the workspace, links followed as long as it is there.
func (s *Store) root() string {
	if root, err := filepath.EvalSymlinks(s.o.Root); err == nil {
		return root
	}
	return filepath.Clean(s.o.Root)
}

// home is the folder of this workspace's store.
func (s *Store) home() string { return filepath.Join(s.o.Dir, digest(s.root())) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Has reports whether a tree is kept here. It is false as well when git is
// missing.
func (s *Store) Has(ctx context.Context, id string) bool { return s.known(ctx, id) == nil }

// known is nil when a tree is kept here.
func (s *Store) known(ctx context.Context, id string) error {
	if !valid(id) {
		return s.gone()
	}
	if err := s.git.find(ctx); err != nil {
		return err
	}
	home := s.home()
	if _, err := os.Stat(filepath.Join(home, filepath.FromSlash(refs), id)); err != nil {
		return s.gone()
	}
	_, err := run(ctx, s.git.bare(ctx, home, "cat-file", "-e", id+"^{tree}"))
	if err != nil && ctx.Err() == nil {
		return s.gone()
	}
	return err
}

// valid tells an id from anything else that git would understand.
func valid(id string) bool {
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
