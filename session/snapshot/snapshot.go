// Package snapshot decides what a checkpoint keeps of the working tree, and how
// the tree is put back: in an object store of its own, outside the workspace,
// so that the user's repository is never touched.
//
// The store is git's: files are covered as `git add` would cover them, the
// executable bit and links included, without any conversion. Not covered, and
// named, are files over a size, repositories inside the workspace and what
// cannot be read. Permissions beyond the executable bit and empty folders are
// not kept. Nothing that a repository configures (hooks, filters, attributes,
// a file-system monitor) is ever run or heeded.
package snapshot

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// MaxFile is the size in bytes over which a file is not kept, unless Options
// say otherwise.
const MaxFile = 5 << 20

// Options are what a Store works with.
type Options struct {
	Dir     string           // where stores are kept, one folder a workspace; absolute
	Root    string           // the workspace; absolute
	MaxFile int64            // bytes; 0: MaxFile
	Exclude string           // a folder that is never looked into: belay's own data; absolute, may be empty
	Now     func() time.Time // nil: time.Now
}

// Store keeps the working tree of one workspace at many times. It may be used
// by several goroutines and by several programs at once: who comes second
// waits. A Store holds nothing open between calls.
type Store struct {
	o   Options
	git gitProgram
}

// New returns the store of a workspace. It touches no file: what is missing or
// wrong, a call says.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxFile == 0 {
		o.MaxFile = MaxFile
	}
	return &Store{o: o}
}

// Tree is the working tree as it was at one time.
type Tree struct {
	ID       string // of the content: equal trees have the same
	Files    int    // how many files it holds
	Skipped  []Skip // what it does not hold, though git would
	Duration time.Duration
}

// Skip is something in the workspace that a tree does not hold.
type Skip struct {
	Path   string // relative to the workspace, with slashes; a folder ends in one
	Reason SkipReason
}

// SkipReason says for what reason something is not kept, in words for people.
type SkipReason string

// The reasons.
const (
	TooLarge   SkipReason = "too large"
	Nested     SkipReason = "a repository of its own"
	Unreadable SkipReason = "cannot be read"
	Reserved   SkipReason = "has a name that git keeps to itself"
)

// Take keeps the working tree as it is now, until Prune. It waits for another
// Take, Restore or Prune of the same workspace, and ends early, leaving nothing
// broken, when ctx does. The first one of a workspace reads every file and may
// take seconds; later ones read what has changed, and what one that was cut off
// had read is not read again.
func (s *Store) Take(ctx context.Context) (Tree, error) {
	began := s.o.Now()
	op, err := s.begin(ctx)
	if err != nil {
		return Tree{}, s.wrap("take a snapshot", err)
	}
	defer op.end()
	t, err := op.take(ctx)
	if err == nil {
		err = op.keepTree(t)
	}
	if err != nil {
		return Tree{}, s.wrap("take a snapshot", err)
	}
	t.Duration = s.o.Now().Sub(began)
	return t, nil
}

// take brings the index up to date and makes a tree of it, which no ref keeps
// yet. An index that does not serve, damaged or of objects that are gone, is
// made anew.
func (op *operation) take(ctx context.Context) (Tree, error) {
	t, err := op.writeTree(ctx)
	var said *gitError
	if !errors.As(err, &said) || exitStatus(err) < 0 { // well, or cut off
		return t, err
	}
	if _, kind := classify(err); kind != nil {
		return t, err
	}
	if os.Remove(op.index) != nil {
		return t, err
	}
	return op.writeTree(ctx)
}

func (op *operation) writeTree(ctx context.Context) (Tree, error) {
	found, err := op.findChanges(ctx)
	if err != nil {
		return Tree{}, err
	}
	if err := errors.Join(op.saveRecheck(found.recheck), op.beginReading()); err != nil {
		return Tree{}, err
	}
	if err := op.updateIndex(ctx, &found); err != nil {
		return Tree{}, err
	}
	files, err := countEntries(op.index)
	if err != nil {
		return Tree{}, err
	}
	var out []byte
	switch {
	case files == 0:
		out, err = op.runOnStore(ctx, nil, "mktree")
	case op.repo.prefix != "":
		out, err = op.runInWorkspace(ctx, nil, "write-tree", "--prefix="+op.repo.prefix)
	default:
		out, err = op.runInWorkspace(ctx, nil, "write-tree")
	}
	if err == nil {
		err = op.endReading()
	}
	return Tree{ID: strings.TrimSpace(string(out)), Files: files, Skipped: found.skipped}, err
}

// countEntries reads from the head of an index how many files it lists, see
// gitformat-index.
func countEntries(index string) (int, error) {
	f, err := os.Open(index)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var head [12]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return 0, err
	}
	return int(binary.BigEndian.Uint32(head[8:])), nil
}

// keepTree gives a tree a ref, so that it stays, and writes down what it skipped,
// so that a restore leaves that alone.
func (op *operation) keepTree(t Tree) error {
	list, err := op.skipped(t.ID)
	if err != nil {
		return err
	}
	known := len(list)
	for _, skip := range t.Skipped {
		list = append(list, skip.Path)
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) != known {
		if err := op.replaceFile(filepath.Join(op.dir, "skipped", t.ID), strings.Join(list, "\x00")); err != nil {
			return err
		}
	}
	ref, now := filepath.Join(op.dir, refsDir, t.ID), op.store.o.Now()
	if os.Chtimes(ref, now, now) == nil {
		return nil
	}
	if err := op.replaceFile(ref, t.ID+"\n"); err != nil {
		return err
	}
	return os.Chtimes(ref, now, now)
}

// skipped lists what the kept tree of an id does not hold.
func (op *operation) skipped(id string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(op.dir, "skipped", id))
	if errors.Is(err, os.ErrNotExist) || err == nil && len(b) == 0 {
		return nil, nil
	}
	return strings.Split(string(b), "\x00"), err
}

// replaceFile writes a file in one step, and to the disk.
func (op *operation) replaceFile(name, content string) error {
	temp := name + ".lock" // a name that git never takes for a ref
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err == nil && !relaxed.Load() {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, name)
}
