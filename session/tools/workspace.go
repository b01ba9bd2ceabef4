package tools

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/files"
)

// location is a path that a call names, resolved.
type location struct {
	abs     string // absolute, symbolic links followed as far as the path exists
	rel     string // for people and the model: relative to the workspace when inside
	outside bool
	fault   error // why nothing can be done with it; told once it may be read
}

// resolve follows a path's symbolic links and tells whether it ends inside the
// workspace. A path that does not exist yet is judged by its nearest folder
// that does.
func (s *Set) resolve(path string) (location, error) {
	if strings.ContainsRune(path, 0) {
		return location{}, errors.New("the path holds a NUL byte")
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return location{}, fmt.Errorf("find the home folder: %w", err)
		}
		path = filepath.Join(home, path[1:])
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.o.Root, path)
	}
	abs, fault := follow(filepath.Clean(path))
	if s.isOwnData(abs) {
		return location{}, fmt.Errorf("%s holds belay's own data, which is no part of the workspace", path)
	}
	root, err := follow(s.o.Root)
	if err != nil {
		return location{}, err
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return location{abs: abs, rel: abs, outside: true, fault: fault}, nil
	}
	return location{abs: abs, rel: filepath.ToSlash(rel), fault: fault}, nil
}

// isOwnData reports whether a path is belay's own: its database loses its locks when
// this program opens and closes it a second time, and other sessions' words are
// nobody's business. The outputs that it keeps for the model are not meant.
func (s *Set) isOwnData(abs string) bool {
	within := func(dir string) bool {
		rel, err := filepath.Rel(dir, abs)
		return dir != "" && err == nil && filepath.IsLocal(rel)
	}
	return within(s.o.Data) && !within(s.o.Outputs)
}

// maxLinks bounds how many links to what does not exist lead to one place.
const maxLinks = 40

// follow resolves the links of a path as far as it exists. Links to what does not
// exist are followed as well: where they lead decides who is asked. The path is
// what the rules judge, also when an error says that nothing can be done with it.
func follow(path string) (resolved string, fault error) {
	rest, links := "", 0
	for dir := path; ; {
		found, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(found, rest), fault
		}
		if !errors.Is(err, fs.ErrNotExist) && fault == nil {
			fault = fmt.Errorf("resolve %s: %w", path, err)
		}
		parent := filepath.Dir(dir)
		if target, ok := danglingLink(parent, dir); ok && links < maxLinks {
			links++
			fault = fmt.Errorf("resolve %s: it is a link to something that does not exist", path)
			dir = target
			continue
		}
		if parent == dir {
			return filepath.Join(dir, rest), cmp.Or(fault, fmt.Errorf("resolve %s: %w", path, err))
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

// danglingLink gives what a link in a folder names, if it is one.
func danglingLink(folder, name string) (target string, ok bool) {
	target, err := os.Readlink(name)
	if err != nil {
		return "", false
	}
	if filepath.IsAbs(target) {
		return filepath.Clean(target), true
	}
	folder, err = filepath.EvalSymlinks(folder)
	return filepath.Join(folder, target), err == nil
}

// readFile reads a resolved file. Inside the workspace it goes through a root
// handle, so that a link swapped in meanwhile cannot lead out.
func (s *Set) readFile(p location) ([]byte, error) {
	if p.outside {
		return files.Read(files.At(p.abs), files.MaxSize)
	}
	root, err := os.OpenRoot(s.o.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return files.Read(files.Below(root, filepath.FromSlash(p.rel)), files.MaxSize)
}

// writeFile gives a file its new content; inside the workspace it makes the folders
// on the way.
func (s *Set) writeFile(p location, content []byte) error {
	if p.outside {
		dir, err := os.OpenRoot(filepath.Dir(p.abs))
		if err != nil {
			return err
		}
		defer dir.Close()
		return s.writer().Replace(dir, filepath.Base(p.abs), p.abs, content)
	}
	root, err := os.OpenRoot(s.o.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.FromSlash(p.rel)
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return s.writer().Replace(root, name, p.abs, content)
}

// writer writes files as all tools do.
func (s *Set) writer() files.Writer {
	w := files.Writer{NewID: s.o.NewID}
	if s.o.Data != "" {
		w.Aside = filepath.Join(s.o.Data, "unfinished")
	}
	return w
}

// RestoreUnfinished gives a file back what it held, if a belay was killed while it
// wrote it in place; before is the hash of that.
func (s *Set) RestoreUnfinished(path, before string) (restored bool, err error) {
	return s.writer().RestoreUnfinished(path, before)
}

// seenFiles remembers the content of files as the model knows it.
type seenFiles struct {
	mu     sync.Mutex
	hash   map[string]string
	seenAt map[string]time.Time // of files seen in an earlier run of belay
}

func (s *seenFiles) set(path, hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hash[path] = hash
}

func (s *seenFiles) get(path string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.hash[path]; ok {
		return h, true
	}
	if info, err := os.Stat(path); err == nil && !info.ModTime().After(s.seenAt[path]) {
		h, err := FileHash(path)
		return h, err == nil
	}
	return "", false
}

// Remember returns what takes over from the records of a log which files the model has
// seen, so that a change it was about to make can still be made.
func (s *Set) Remember() func(session.Record) {
	args := map[string]string{} // by call id
	return func(r session.Record) {
		switch e := r.Event.(type) {
		case session.ItemAdded:
			if traits := s.entries[e.Item.Name].traits; traits.ReadsFile || traits.EditsFile {
				args[e.Item.CallID] = e.Item.Arguments
			}
		case session.ToolEnded:
			if !e.Error && !e.Denied && !e.Unknown {
				s.seedKnown(args[e.CallID], r.Time)
			}
		}
	}
}

// seedKnown notes that a call on a file, with these arguments, was done at a time
// in an earlier run of belay: what is not younger the model has seen.
func (s *Set) seedKnown(args string, at time.Time) {
	path := models.CallPath(args)
	if path == "" {
		return
	}
	p, err := s.resolve(path)
	if err != nil {
		return
	}
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	s.seen.seenAt[p.abs] = at
}

// None stands for the hash of a file that does not exist.
const None = "none"

// FileHash is the hash of a file's content now, or None.
func FileHash(path string) (string, error) {
	b, err := files.Read(files.At(path), files.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return None, nil
	}
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", path, err)
	}
	return files.Hash(b), nil
}
