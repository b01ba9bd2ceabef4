package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxReadWait bounds the wait for a file that only looks like one, as some of
// /proc do.
const maxReadWait = 10 * time.Second

// errNotFile says that a path is a pipe, a device or a socket.
var errNotFile = errors.New("it is neither a file nor a folder")

// readBytes reads a file that is one, and never more than a bound. Opening does not
// wait for the other end of a pipe, and what was opened is what is judged.
func readBytes(open func(flag int) (*os.File, error), limit int64) ([]byte, error) {
	f, err := openRegular(open)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(maxReadWait)) // most files know none, and do not wait
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("it has more than %d MB", limit>>20)
	}
	return content, err
}

// openRegular opens a file that is one, without waiting for the other end of a pipe.
func openRegular(open func(flag int) (*os.File, error)) (*os.File, error) {
	f, err := open(os.O_RDONLY | syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotFile
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openPath opens a path for readBytes.
func openPath(path string) func(flag int) (*os.File, error) {
	return func(flag int) (*os.File, error) { return os.OpenFile(path, flag, 0) }
}

// openBelow opens a file below a folder, and follows no link out of it.
func openBelow(root *os.Root, name string) func(flag int) (*os.File, error) {
	return func(flag int) (*os.File, error) { return root.OpenFile(name, flag, 0) }
}

// replace gives a file its new content in one step: a reader sees the old content or
// the new, never a part, and a full disk leaves the old. Where that would lose
// something of the file, or the folder cannot be written, it is written in place.
// Path is the whole of the name.
func (s *Set) replace(root *os.Root, name, path string, content []byte) error {
	old, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		old = nil
	} else if err != nil {
		return err
	}
	if old != nil && old.Mode()&0o200 == 0 {
		return fmt.Errorf("%s is write-protected", filepath.Base(name))
	}
	temp := filepath.Join(filepath.Dir(name), tempName(filepath.Base(name), s.o.NewID()))
	err = s.replaceBy(root, temp, name, old, content)
	if err != nil {
		root.Remove(temp)
	}
	if err == nil || old == nil || errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return s.writeInPlace(root, name, path, old, content)
}

// errLoses says that another file in the place of the old would not be all it was.
var errLoses = errors.New("a new file would lose what the old one has")

// replaceBy puts a new file in the place of an old one, if nothing is lost by it.
func (s *Set) replaceBy(root *os.Root, temp, name string, old fs.FileInfo, content []byte) error {
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if old != nil {
		err = takeOver(root, f, name, old)
	}
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil && old != nil {
		err = f.Chmod(modeOf(old)) // the umask must not narrow it, nor a write take its special bits
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return root.Rename(temp, name)
}

// takeOver makes a new file all that the old one is but its content, or says that
// it cannot.
func takeOver(root *os.Root, f *os.File, name string, old fs.FileInfo) error {
	was, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer was.Close()
	if err := f.Chmod(modeOf(old)); err != nil { // before the attributes: an ACL shows in both
		return err
	}
	if !replaceable(was, f) {
		return errLoses
	}
	return nil
}

func modeOf(info fs.FileInfo) fs.FileMode {
	return info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
}

// writeInPlace writes over a file's content. What it held comes back if that fails.
func (s *Set) writeInPlace(root *os.Root, name, path string, old fs.FileInfo, content []byte) error {
	before, err := readBytes(openBelow(root, name), maxReadFile)
	if err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(old, now) {
		return errors.Join(errors.New("it became another file meanwhile"), err, f.Close())
	}
	done, err := s.keepAside(path, before, content)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	defer done()
	if err = overwrite(f, content); err != nil {
		err = errors.Join(err, overwrite(f, before))
	}
	if now, statErr := f.Stat(); statErr == nil && modeOf(now) != modeOf(old) {
		err = errors.Join(err, f.Chmod(modeOf(old))) // a write takes special bits away
	}
	return errors.Join(err, f.Sync(), f.Close())
}

func overwrite(f *os.File, content []byte) error {
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(content)))
}

// tempName names what a file's new content is written to, before it takes the place
// of the old. Its length does not depend on the file's: a name may be as long as
// the system allows.
func tempName(name, id string) string {
	return tempPrefix(name) + shortHash(id) + ".tmp"
}

func tempPrefix(name string) string { return ".belay-" + shortHash(name) + "-" }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Sweep removes what a belay that was killed while it wrote a file has left
// beside it.
func Sweep(path string) error {
	left, err := filepath.Glob(filepath.Join(quoted(filepath.Dir(path)), tempPrefix(filepath.Base(path))+"*.tmp"))
	if err != nil {
		return fmt.Errorf("sweep beside %s: %w", path, err)
	}
	var errs []error
	for _, name := range left {
		errs = append(errs, os.Remove(name))
	}
	return errors.Join(errs...)
}

// sameAttributes compares what extended attributes two files have.
func sameAttributes(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		if other, ok := b[name]; !ok || !bytes.Equal(value, other) {
			return false
		}
	}
	return true
}
