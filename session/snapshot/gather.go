package snapshot

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// gathered is what has changed in the workspace since the index was written.
type gathered struct {
	changed []string // to be read, or found missing
	dropped []string // to be taken from the index, whatever is on the disk
	skipped []Skip
}

// gather finds out what has changed. Git compares; what may be read is decided
// here.
func (w *work) gather(ctx context.Context) (gathered, error) {
	var out bytes.Buffer
	var forced []byte
	var warned string
	var err error
	var wait sync.WaitGroup
	wait.Go(func() {
		cmd := w.command(ctx, nil, "ls-files", "-z", "-t", "-m", "-d", "-o", "--exclude-standard")
		cmd.Stdout = &out
		warned, err = runTo(ctx, cmd)
	})
	wait.Go(func() { forced = w.trackedThoughIgnored(ctx) })
	wait.Wait()
	if err != nil {
		return gathered{}, err
	}
	g := gathering{w: w, seen: map[string]bool{}, dirs: map[string]bool{".": true}}
	for _, rest := range split(out.Bytes()) {
		tag, path, _ := strings.Cut(rest, " ")
		g.add(path, tag != "?")
	}
	for _, path := range split(forced) {
		g.add(path, false)
	}
	for line := range strings.Lines(warned) {
		if rest, ok := strings.CutPrefix(line, "warning: could not open directory '"); ok {
			if end := strings.LastIndex(rest, "': "); end >= 0 {
				g.skip(strings.TrimPrefix(rest[:end], w.around.prefix), Unreadable)
			}
		}
	}
	return g.found, nil
}

// trackedThoughIgnored lists the files that the user's repository tracks
// against its own rules, as `git add -f` does. An index that cannot be read
// here, such as a split one, is passed over.
func (w *work) trackedThoughIgnored(ctx context.Context) []byte {
	if w.around.index == "" {
		return nil
	}
	if _, err := os.Stat(w.around.index); err != nil {
		return nil
	}
	cmd := w.command(ctx, nil, "ls-files", "-z", "-c", "-i", "--exclude-standard")
	cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+w.around.index, "GIT_OPTIONAL_LOCKS=0")
	out, err := run(ctx, cmd)
	if err != nil {
		return nil
	}
	return out
}

func split(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// gathering sorts the paths that git names.
type gathering struct {
	w     *work
	found gathered
	seen  map[string]bool
	dirs  map[string]bool // of folders: whether they are that, and all above them
}

func (g *gathering) skip(path string, why Why) {
	g.found.skipped = append(g.found.skipped, Skip{Path: path, Reason: why})
}

// add judges one path. Tracked ones are in the store's index.
func (g *gathering) add(path string, tracked bool) {
	if g.seen[path] {
		return
	}
	g.seen[path] = true
	if strings.HasSuffix(path, "/") {
		g.skip(path, Nested)
		return
	}
	if g.w.apart(path) {
		return
	}
	if strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], tempPrefix) {
		return
	}
	if reserved(path) {
		g.skip(path, Reserved)
		return
	}
	name := filepath.Join(g.w.root, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	switch {
	case absent && !tracked:
	case absent, err == nil && !g.below(filepath.Dir(path)):
		if absent && g.below(filepath.Dir(path)) {
			g.found.changed = append(g.found.changed, path)
		} else if tracked {
			g.found.dropped = append(g.found.dropped, path)
		}
	case err != nil:
		g.skip(path, Unreadable)
	default:
		g.judge(path, name, info, tracked)
	}
}

func (g *gathering) judge(path, name string, info fs.FileInfo, tracked bool) {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		g.found.changed = append(g.found.changed, path)
	case !mode.IsRegular():
		if tracked {
			g.found.dropped = append(g.found.dropped, path)
		}
	case info.Size() > g.w.s.o.MaxFile:
		g.skip(path, TooLarge)
		if tracked {
			g.found.dropped = append(g.found.dropped, path)
		}
	case !canRead(name):
		g.skip(path, Unreadable)
	default:
		g.found.changed = append(g.found.changed, path)
	}
}

// below reports whether a folder of the workspace is one, reached by no link.
func (g *gathering) below(dir string) bool {
	ok, known := g.dirs[dir]
	if !known {
		info, err := os.Lstat(filepath.Join(g.w.root, dir))
		ok = g.below(filepath.Dir(dir)) && err == nil && info.IsDir()
		g.dirs[dir] = ok
	}
	return ok
}

// apart reports whether a path is in the folder that stays apart. Not even
// opening a file there is safe: the locks of a database that this program has
// open are lost when it closes any other handle of it.
func (w *work) apart(path string) bool {
	if w.s.o.Exclude == "" {
		return false
	}
	rel, err := filepath.Rel(w.s.o.Exclude, filepath.Join(w.root, filepath.FromSlash(path)))
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

// reserved reports whether git refuses a path: it would be a part of a
// repository.
func reserved(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// manyFiles is from how many files on a pack is written, instead of a file for
// each: three times as fast for 20,000, and a twentieth of the space.
const manyFiles = 200

// update brings the index up to date. A file that git cannot read after all,
// because it changes under its eyes, is skipped.
func (w *work) update(ctx context.Context, found *gathered) error {
	if len(found.dropped) > 0 {
		if err := w.forget(ctx, found.dropped); err != nil {
			return err
		}
	}
	for tries := 0; len(found.changed) > 0; tries++ {
		var args []string
		if len(found.changed) >= manyFiles && w.s.git.minor >= packing {
			args = []string{"-c", "core.bigFileThreshold=0", "-c", "core.fsyncMethod=fsync"} // git 2.39 mixes up packs and batches
		}
		args = append(args, "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
		_, err := w.inTree(ctx, list(found.changed), args...)
		bad := w.refused(err)
		if err == nil || bad == "" || tries == 20 {
			return err
		}
		rest := found.changed[:0:0]
		for _, path := range found.changed {
			if path != bad {
				rest = append(rest, path)
			}
		}
		if len(rest) == len(found.changed) {
			return err
		}
		found.changed = rest
		found.skipped = append(found.skipped, Skip{Path: bad, Reason: Unreadable})
	}
	return nil
}

// refused is the path that git could not read, by what it said.
func (w *work) refused(err error) string {
	var said *gitError
	if !errors.As(err, &said) {
		return ""
	}
	if _, kind := classify(&gitError{stderr: strings.ReplaceAll(said.stderr, "Permission denied", "")}); kind != nil {
		return ""
	}
	_, path, _ := strings.Cut(said.stderr, "fatal: Unable to process path ")
	return strings.TrimPrefix(strings.TrimSuffix(path, "\n"), w.around.prefix)
}

// forget takes paths from the index.
func (w *work) forget(ctx context.Context, paths []string) error {
	_, err := w.inTree(ctx, list(paths), "update-index", "-z", "--force-remove", "--stdin")
	return err
}

func list(paths []string) *strings.Reader {
	return strings.NewReader(strings.Join(paths, "\x00") + "\x00")
}
