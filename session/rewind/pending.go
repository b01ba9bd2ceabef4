package rewind

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"belay/session"
	"belay/session/files"
	"belay/session/snapshot"
)

// maxPreImage bounds a file that is kept by itself because the snapshot is late.
const maxPreImage = snapshot.MaxFile

// pendingCheckpoint is a checkpoint that is being made in the background.
type pendingCheckpoint struct {
	turn, step int
	after      bool // the turn, which has ended
	title      string
	done       chan struct{}
	preImages  []session.PreImage
}

// pendingCheckpoints are the checkpoints of a session that are being made. The
// sessions of its steps share them: what they write belongs into them.
type pendingCheckpoints struct {
	mu   sync.Mutex
	list []*pendingCheckpoint
}

func (m *pendingCheckpoints) add(p *pendingCheckpoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, p)
}

// remove ends one, and gives the files that were kept for it.
func (m *pendingCheckpoints) remove(p *pendingCheckpoint) []session.PreImage {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(other *pendingCheckpoint) bool { return other == p })
	return p.preImages
}

func (m *pendingCheckpoints) keep(root string, e session.Event) {
	started, ok := e.(session.ToolStarted)
	if !ok || started.Effect.Class != session.Write {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.list) == 0 {
		return
	}
	file, ok := readPreImage(root, started.Effect.Path)
	if !ok {
		return
	}
	known := func(old session.PreImage) bool { return old.Path == file.Path }
	for _, p := range m.list {
		if !slices.ContainsFunc(p.preImages, known) {
			p.preImages = append(p.preImages, file)
		}
	}
}

// readPreImage reads a file of the workspace as it is now, if it can be kept.
func readPreImage(root, path string) (file session.PreImage, ok bool) {
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return file, false
	}
	file.Path = rel
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		file.Missing = true
		return file, true
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPreImage {
		return file, false
	}
	file.Mode = info.Mode().Perm()
	file.Content, err = files.Read(files.At(path), maxPreImage)
	return file, err == nil
}

// restorePreImages writes the files that were kept by themselves, and follows no
// link out of the workspace. It gives the files that it could not write, with
// the reason.
func restorePreImages(workspace string, list []session.PreImage) (failed []string) {
	if len(list) == 0 {
		return nil
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return []string{err.Error()}
	}
	defer root.Close()
	for _, f := range list {
		if err := restorePreImage(root, workspace, f); err != nil {
			failed = append(failed, failure(f.Path, err))
		}
	}
	return failed
}

// restorePreImage makes a file what it was: it stays the same file if it is there.
func restorePreImage(root *os.Root, workspace string, f session.PreImage) error {
	if f.Missing {
		if err := root.Remove(f.Path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
		return err
	}
	w := files.Writer{NewID: func() string { return "rewind" }, Forced: true}
	return w.ReplaceAs(root, f.Path, filepath.Join(workspace, f.Path), f.Content, files.Mode{Bits: f.Mode, Exact: true})
}
