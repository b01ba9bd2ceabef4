package snapshot

import (
	"belay/session/files"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// changes is what has changed in the workspace since the index was written.
type changes struct {
	changed []changed // to be read, or found missing
	dropped []string  // to be taken from the index, whatever is on the disk
	skipped []Skip
	recheck []string // of changed: the index would not notice another change to them
}

// changed is one path, and how many bytes there are to be read of it.
type changed struct {
	path string
	size int64
}

// findChanges finds out what has changed. Git compares; what may be read is decided
// here.
func (op *operation) findChanges(ctx context.Context) (changes, error) {
	now := time.Now() // by the clock that stamps files
	if err := op.forgetRecheck(ctx); err != nil {
		return changes{}, err
	}
	var out bytes.Buffer
	var forced []byte
	var warned string
	var err error
	var wait sync.WaitGroup
	wait.Go(func() {
		cmd := op.workspaceGit(ctx, nil, "ls-files", "-z", "-t", "-m", "-d", "-o", "--exclude-standard")
		cmd.Stdout = &out
		warned, err = runTo(ctx, cmd)
	})
	wait.Go(func() { forced = op.trackedThoughIgnored(ctx) })
	wait.Wait()
	if err != nil {
		return changes{}, err
	}
	g := changeScanner{op: op, now: now, seen: map[string]bool{}, folders: map[string]bool{".": true}}
	for _, rest := range splitNUL(out.Bytes()) {
		tag, path, _ := strings.Cut(rest, " ")
		g.add(path, tag != "?")
	}
	for _, path := range splitNUL(forced) {
		g.add(path, false)
	}
	for line := range strings.Lines(warned) {
		if rest, ok := strings.CutPrefix(line, "warning: could not open directory '"); ok {
			if end := strings.LastIndex(rest, "': "); end >= 0 {
				g.skip(strings.TrimPrefix(rest[:end], op.repo.prefix), Unreadable)
			}
		}
	}
	return g.found, nil
}

// trackedThoughIgnored lists the files that the user's repository tracks
// against its own rules, as `git add -f` does. An index that cannot be read
// here, such as a split one, is passed over.
func (op *operation) trackedThoughIgnored(ctx context.Context) []byte {
	if op.repo.index == "" {
		return nil
	}
	if _, err := os.Stat(op.repo.index); err != nil {
		return nil
	}
	cmd := op.workspaceGit(ctx, nil, "ls-files", "-z", "-c", "-i", "--exclude-standard")
	cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+op.repo.index, "GIT_OPTIONAL_LOCKS=0")
	out, err := run(ctx, cmd)
	if err != nil {
		return nil
	}
	return out
}

func splitNUL(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// changeScanner sorts the paths that git names.
type changeScanner struct {
	op      *operation
	now     time.Time // when the scan began
	found   changes
	seen    map[string]bool
	folders map[string]bool // of folders: whether they are that, and all above them
}

func (g *changeScanner) skip(path string, why SkipReason) {
	g.found.skipped = append(g.found.skipped, Skip{Path: path, Reason: why})
}

// add judges one path. Tracked ones are in the store's index.
func (g *changeScanner) add(path string, tracked bool) {
	if g.seen[path] {
		return
	}
	g.seen[path] = true
	if strings.HasSuffix(path, "/") {
		g.skip(path, Nested)
		return
	}
	if g.op.excluded(path) {
		return
	}
	if files.IsTemp(path[strings.LastIndexByte(path, '/')+1:]) { // being written
		return
	}
	if isReserved(path) {
		g.skip(path, Reserved)
		return
	}
	name := filepath.Join(g.op.root, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	switch {
	case absent && !tracked:
	case absent, err == nil && !g.isFolder(filepath.Dir(path)):
		if absent && g.isFolder(filepath.Dir(path)) {
			g.found.changed = append(g.found.changed, changed{path: path})
		} else if tracked {
			g.found.dropped = append(g.found.dropped, path)
		}
	case err != nil:
		g.skip(path, Unreadable)
	default:
		g.addFile(path, name, info, tracked)
	}
}

func (g *changeScanner) addFile(path, name string, info fs.FileInfo, tracked bool) {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		g.found.changed = append(g.found.changed, changed{path: path})
	case !mode.IsRegular():
		if tracked {
			g.found.dropped = append(g.found.dropped, path)
		}
	case info.Size() > g.op.store.o.MaxFile:
		g.skip(path, TooLarge)
		if tracked {
			g.found.dropped = append(g.found.dropped, path)
		}
	case !canRead(name):
		g.skip(path, Unreadable)
	default:
		g.found.changed = append(g.found.changed, changed{path: path, size: info.Size()})
		if unnoticeable(name, info, g.now) {
			g.found.recheck = append(g.found.recheck, path)
		}
	}
}

// isFolder reports whether a folder of the workspace is one, reached by no link.
func (g *changeScanner) isFolder(dir string) bool {
	ok, known := g.folders[dir]
	if !known {
		info, err := os.Lstat(filepath.Join(g.op.root, dir))
		ok = g.isFolder(filepath.Dir(dir)) && err == nil && info.IsDir()
		g.folders[dir] = ok
	}
	return ok
}

// excluded reports whether a path is in the folder that stays apart. Not even
// opening a file there is safe: the locks of a database that this program has
// open are lost when it closes any other handle of it.
func (op *operation) excluded(path string) bool {
	if op.store.o.Exclude == "" {
		return false
	}
	rel, err := filepath.Rel(op.store.o.Exclude, filepath.Join(op.root, filepath.FromSlash(path)))
	return err == nil && filepath.IsLocal(rel)
}

func canRead(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// isReserved reports whether git refuses a path: it would be a part of a
// repository.
func isReserved(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}
