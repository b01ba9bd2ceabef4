package snapshot

import (
	"belay/session/files"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// workspaceTree is the workspace as a restore changes it: one folder deep at a time, by
// handles, so that no link leads a write anywhere else.
type workspaceTree struct {
	root   *os.Root
	dir    string   // the folder that was opened last
	folder *os.Root // and its handle
}

func openTree(root string) (*workspaceTree, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	return &workspaceTree{root: r, dir: ".", folder: r}, nil
}

func (t *workspaceTree) close() {
	t.closeFolder()
	t.root.Close()
}

func (t *workspaceTree) closeFolder() {
	if t.folder != t.root {
		t.folder.Close()
	}
	t.dir, t.folder = ".", t.root
}

// openFolder opens the folder of a path, and makes it if it should.
func (t *workspaceTree) openFolder(dir string, mk bool) (*os.Root, error) {
	if dir == t.dir {
		return t.folder, nil
	}
	t.closeFolder()
	at := t.root
	for part := range strings.SplitSeq(dir, "/") {
		if dir == "." {
			break
		}
		next, err := openChild(at, part, mk)
		if at != t.root {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	t.dir, t.folder = dir, at
	return at, nil
}

func openChild(at *os.Root, part string, mk bool) (*os.Root, error) {
	info, err := at.Lstat(part)
	if mk && errors.Is(err, fs.ErrNotExist) {
		if err := at.Mkdir(part, 0o777); err != nil {
			return nil, err
		}
		info, err = at.Lstat(part)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is in the way: it is not a folder", part)
	}
	next, err := at.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) {
		next.Close()
		return nil, fmt.Errorf("%s was replaced meanwhile", part)
	}
	return next, nil
}

// locate parts a path into its folder, opened, and its name.
func (t *workspaceTree) locate(p string, mk bool) (*os.Root, string, error) {
	if isReserved(p) || !filepath.IsLocal(filepath.FromSlash(p)) {
		return nil, "", errors.New("it is not a path of the workspace")
	}
	dir, err := t.openFolder(path.Dir(p), mk)
	return dir, path.Base(p), err
}

// put makes a file what an entry says.
func (t *workspaceTree) put(e entry, content io.Reader) error {
	dir, name, err := t.locate(e.path, true)
	if err != nil {
		return err
	}
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("a folder with files that no snapshot keeps is in the way")
	case e.oldMode == absentMode: // not covered now, so nobody could bring it back
		return errUncovered
	}
	if e.mode == linkMode {
		return putLink(dir, name, content)
	}
	all, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	w := files.Writer{NewID: tempID, Relaxed: relaxed.Load(), Forced: true}
	return w.ReplaceAs(dir, name, filepath.Join(t.root.Name(), e.path), all, permissions(e, info))
}

// tempID makes the names of files that are being restored: a restore that is repeated
// replaces them.
func tempID() string { return "restore" }

func putLink(dir *os.Root, name string, content io.Reader) error {
	var target bytes.Buffer
	if _, err := target.ReadFrom(io.LimitReader(content, 64<<10)); err != nil {
		return err
	}
	temp := files.TempName(name, tempID())
	if err := dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := dir.Symlink(target.String(), temp)
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		err = errors.Join(err, ignore(dir.Remove(temp), fs.ErrNotExist))
	}
	return err
}

// permissions are those that a file gets which is replaced: its own, but for the
// right to run it. One that is not there gets what the umask leaves.
func permissions(e entry, old fs.FileInfo) files.Mode {
	mode := files.Mode{Bits: 0o666, Exact: old != nil && old.Mode().IsRegular()}
	if mode.Exact {
		const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
		mode.Bits = old.Mode() & (fs.ModePerm | special) &^ 0o111
	}
	if e.mode == runMode {
		mode.Bits |= mode.Bits & 0o444 >> 2
	}
	return mode
}

// remove takes a file away, and the folders that are empty then.
func (t *workspaceTree) remove(p string) error {
	dir, name, err := t.locate(p, false)
	if err == nil {
		err = removeFile(dir, name)
	}
	if err := ignore(err, fs.ErrNotExist); err != nil {
		return err
	}
	for p = path.Dir(p); p != "."; p = path.Dir(p) {
		dir, name, err := t.locate(p, false)
		if err != nil || dir.Remove(name) != nil {
			break
		}
	}
	return nil
}

func removeFile(dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	if err == nil && info.IsDir() {
		err = errors.New("it is a folder now")
	}
	if err != nil {
		return err
	}
	return dir.Remove(name)
}

func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
