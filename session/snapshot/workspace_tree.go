package snapshot

import (
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

// tempPrefix begins the names of files that are being restored. A snapshot
// never covers one, and a restore that is repeated replaces it.
const tempPrefix = ".belay-restore-"

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

// put writes what an entry was, beside its place first.
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
	temp := tempPrefix + digest(e.path)
	if err := dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if e.mode == linkMode {
		err = putLink(dir, temp, content)
	} else {
		mode, exact := permissions(e, info)
		err = t.putFile(dir, temp, content, mode, exact)
	}
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		err = errors.Join(err, ignore(dir.Remove(temp), fs.ErrNotExist))
	}
	return err
}

func putLink(dir *os.Root, name string, content io.Reader) error {
	var target bytes.Buffer
	if _, err := target.ReadFrom(io.LimitReader(content, 64<<10)); err != nil {
		return err
	}
	return dir.Symlink(target.String(), name)
}

// permissions are those that a file gets which is replaced: its own, but for the
// right to run it. One that is not there gets what the umask leaves.
func permissions(e entry, old fs.FileInfo) (mode fs.FileMode, exact bool) {
	mode, exact = 0o666, old != nil && old.Mode().IsRegular()
	if exact {
		mode = old.Mode().Perm() &^ 0o111
	}
	if e.mode == runMode {
		mode |= mode & 0o444 >> 2
	}
	return mode, exact
}

func (t *workspaceTree) putFile(dir *os.Root, name string, content io.Reader, mode fs.FileMode, exact bool) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil && exact {
		err = f.Chmod(mode) // whatever the umask is
	}
	if err == nil && !relaxed.Load() {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
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
