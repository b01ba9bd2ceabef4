package tools

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
)

// The bounds of a search side by side.
const (
	batchFiles   = 32 // files that are searched by one and the same goroutine
	batchesAhead = 4  // for each of them, before what was found is taken
)

// hitLine is a line that matches.
type hitLine struct {
	number int // from 1
	text   []byte
}

// foundIn is what was found in a file.
type foundIn struct {
	file  string
	lines []hitLine
}

// goGrep searches without ripgrep, on all cores. What it finds comes in the order of
// the files.
func (s *Set) goGrep(ctx context.Context, target location, glob string, re *regexp.Regexp, hits *hits) error {
	info, err := os.Stat(target.abs)
	if err != nil {
		return err
	}
	names := []string{filepath.Base(target.abs)}
	if !info.IsDir() {
		target.abs, target.rel = filepath.Dir(target.abs), path.Dir(target.rel)
	} else if names, err = listFiles(ctx, target.abs); err != nil {
		return err
	}
	// A repository may hold links, and a folder may have become one: nothing
	// below this one leads out of it.
	root, err := os.OpenRoot(target.abs)
	if err != nil {
		return err
	}
	defer root.Close()
	var wanted []string
	for _, name := range names {
		if matchesGlob(glob, name) && hits.wants(s.name(target, name)) {
			wanted = append(wanted, name)
		}
	}
	find := newFinder(re)
	begin := func() *fileSearch { return &fileSearch{set: s, root: root, target: target, find: find} }
	return inBatches(ctx, wanted, begin, func(found foundIn) error {
		for _, line := range found.lines {
			if err := hits.add(s.name(target, found.file), line.number, line.text); err != nil {
				return err
			}
		}
		return nil
	})
}

// inBatches has batches of files searched side by side, and takes what was found in
// the order of the files. An error of take ends it.
func inBatches(
	ctx context.Context, names []string, begin func() *fileSearch, take func(foundIn) error,
) error {
	type job struct {
		names []string
		found chan []foundIn
	}
	whole := ctx
	ctx, cancel := context.WithCancel(ctx)
	workers := max(1, min(runtime.GOMAXPROCS(0), (len(names)+batchFiles-1)/batchFiles))
	jobs := make(chan job)
	ordered := make(chan job, workers*batchesAhead)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for range workers {
		running.Go(func() {
			w := begin()
			defer w.close()
			for j := range jobs {
				j.found <- w.batch(ctx, j.names)
			}
		})
	}
	running.Go(func() {
		defer close(ordered)
		defer close(jobs)
		for len(names) > 0 && ctx.Err() == nil {
			n := min(batchFiles, len(names))
			next := job{names[:n], make(chan []foundIn, 1)}
			names = names[n:]
			select {
			case ordered <- next:
			case <-ctx.Done():
				return
			}
			jobs <- next // somebody takes it: those who do end after this
		}
	})
	for j := range ordered {
		for _, found := range <-j.found {
			if err := take(found); err != nil {
				return err
			}
		}
	}
	return whole.Err()
}

// fileSearch searches files one after another, and keeps what it needs for each.
type fileSearch struct {
	set    *Set
	root   *os.Root
	target location
	find   finder

	dir     *folder // of the last file
	dirName string
	content []byte
}

func (w *fileSearch) close() {
	if w.dir != nil {
		_ = w.dir.Close() // nothing was written
	}
}

func (w *fileSearch) batch(ctx context.Context, names []string) []foundIn {
	var list []foundIn
	total := 0
	for _, name := range names {
		if ctx.Err() != nil || total > maxHits {
			break
		}
		content, ok := w.read(name)
		if !ok {
			continue
		}
		if lines := w.find.lines(ctx, content, maxHits+1); len(lines) > 0 {
			list = append(list, foundIn{name, lines})
			total += len(lines)
		}
	}
	return list
}

// read gives a file below the root, if it is one that grep looks into. It is valid
// until the next.
func (w *fileSearch) read(name string) ([]byte, bool) {
	file := filepath.FromSlash(name)
	if w.set.isOwnData(filepath.Join(w.target.abs, file)) {
		return nil, false
	}
	if dir := filepath.Dir(file); w.dir == nil || w.dirName != dir {
		opened, err := openFolder(w.root, dir)
		if err != nil {
			return nil, false
		}
		w.close()
		w.dir, w.dirName = &opened, dir
	}
	content, err := w.dir.read(filepath.Base(file), maxGrepFile, w.content)
	if err != nil {
		return nil, false
	}
	w.content = content[:0]
	return content, !binary(content)
}

// sized is a buffer of a length, the given one if it is large enough.
func sized(buffer []byte, length int64) []byte {
	if int64(cap(buffer)) < length {
		return make([]byte, length, length*2)
	}
	return buffer[:length]
}

// lines gives the lines of a text that match, up to a number of them.
func (f finder) lines(ctx context.Context, content []byte, most int) []hitLine {
	var found []hitLine
	number := 1
	next := f.candidates(content)
	for rest := 0; rest < len(content) && len(found) < most; {
		at := next(rest)
		if at < 0 || ctx.Err() != nil {
			break
		}
		start := rest + bytes.LastIndexByte(content[rest:at], '\n') + 1
		number += bytes.Count(content[rest:start], []byte{'\n'})
		end := len(content)
		if n := bytes.IndexByte(content[at:], '\n'); n >= 0 {
			end = at + n
		}
		if line := content[start:end]; f.match(ctx, bytes.TrimRight(line, "\r")) {
			found = append(found, hitLine{number, bytes.Clone(line[:min(len(line), maxGrepLine+1)])})
		}
		rest = end + 1
		number++
	}
	return found
}
