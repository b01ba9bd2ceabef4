package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// Writer writes files.
type Writer struct {
	NewID func() string // of the files that are written beside others
	// Aside is a folder of belay's own: what a file held lies there while it is written
	// in place. Empty: it lies nowhere.
	Aside string
	// Relaxed does not wait for the disk: for tests whose subject is not durability.
	Relaxed bool
	// Forced writes files as well that are protected against it.
	Forced bool
}

// Mode are the permissions that a file gets.
type Mode struct {
	Bits  fs.FileMode
	Exact bool // whatever the umask is; or what it leaves
}

// Replace gives a file its new content in one step: a reader sees the old content or
// the new, never a part, and a full disk leaves the old. Where that would lose
// something of the file, or the folder cannot be written, it is written in place.
// Path is the whole of the name.
func (w Writer) Replace(root *os.Root, name, path string, content []byte) error {
	return w.replace(file{root: root, name: name, path: path, content: content}, nil)
}

// ReplaceAs is Replace, and gives the file permissions of its own.
func (w Writer) ReplaceAs(root *os.Root, name, path string, content []byte, mode Mode) error {
	return w.replace(file{root: root, name: name, path: path, content: content}, &mode)
}

// file is a file that is written.
type file struct {
	root    *os.Root // a folder on its path, which no link leads out of
	name    string   // below that
	path    string
	content []byte
	old     fs.FileInfo // nil: there is none
	mode    Mode
}

func (w Writer) replace(f file, mode *Mode) error {
	old, err := w.lookAt(f)
	f.mode = Mode{Bits: 0o666}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		f.old, f.mode = old, Mode{Bits: modeOf(old), Exact: true}
	}
	if mode != nil {
		f.mode = *mode
	}
	temp := filepath.Join(filepath.Dir(f.name), TempName(filepath.Base(f.name), w.NewID()))
	if err := f.root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of one that was killed
		return err
	}
	err = w.replaceBy(temp, f)
	if err != nil {
		f.root.Remove(temp)
	}
	if err == nil || f.old == nil || errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return w.writeInPlace(f)
}

// lookAt looks at the file that is there, if any, and whether it may be written. A link
// is not followed, but replaced.
func (w Writer) lookAt(f file) (fs.FileInfo, error) {
	old, err := f.root.Lstat(f.name)
	switch {
	case err != nil:
		return nil, err
	case !old.Mode().IsRegular():
		return nil, fs.ErrNotExist
	case w.Forced && old.Mode()&0o600 != 0o600:
		return old, f.root.Chmod(f.name, old.Mode().Perm()|0o600) // its own come back when it is written
	case old.Mode()&0o200 == 0:
		return nil, fmt.Errorf("%s is write-protected", filepath.Base(f.name))
	}
	return old, nil
}

// errLoses says that another file in the place of the old would not be all it was.
var errLoses = errors.New("a new file would lose what the old one has")

// replaceBy puts a new file in the place of an old one, if nothing is lost by it.
func (w Writer) replaceBy(temp string, to file) error {
	f, err := to.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, to.mode.Bits.Perm())
	if err != nil {
		return err
	}
	if to.old != nil {
		err = takeOver(f, to)
	}
	if err == nil {
		_, err = f.Write(to.content)
	}
	if err == nil && to.mode.Exact {
		err = f.Chmod(to.mode.Bits) // the umask must not narrow it, nor a write take its special bits
	}
	if err = errors.Join(err, w.sync(f), f.Close()); err != nil {
		return err
	}
	return to.root.Rename(temp, to.name)
}

func (w Writer) sync(f *os.File) error {
	if w.Relaxed {
		return nil
	}
	return f.Sync()
}

// takeOver makes a new file all that the old one is but its content, or says that
// it cannot.
func takeOver(f *os.File, to file) error {
	was, err := to.root.OpenFile(to.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer was.Close()
	if err := f.Chmod(modeOf(to.old)); err != nil { // before the attributes: an ACL shows in both
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
func (w Writer) writeInPlace(to file) error {
	before, err := Read(Below(to.root, to.name), MaxSize)
	if err != nil {
		return err
	}
	f, err := to.root.OpenFile(to.name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(to.old, now) {
		return errors.Join(errors.New("it became another file meanwhile"), err, f.Close())
	}
	done, err := w.keepAside(to.path, before, to.content)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	defer done()
	if err = overwrite(f, to.content); err != nil {
		err = errors.Join(err, overwrite(f, before))
	}
	if now, statErr := f.Stat(); statErr == nil && modeOf(now) != to.mode.Bits {
		err = errors.Join(err, f.Chmod(to.mode.Bits)) // a write takes special bits away
	}
	return errors.Join(err, w.sync(f), f.Close())
}

func overwrite(f *os.File, content []byte) error {
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(content)))
}

// TempName names what a file's new content is written to, before it takes the place
// of the old. Its length does not depend on the file's: a name may be as long as
// the system allows.
func TempName(name, id string) string {
	return tempPrefix(name) + shortHash(id) + ".tmp"
}

func tempPrefix(name string) string { return ".belay-" + shortHash(name) + "-" }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

var temporary = regexp.MustCompile(`^\.belay-[0-9a-f]{16}-[0-9a-f]{16}\.tmp$`)

// IsTemp reports whether a file's name is one that TempName gives.
func IsTemp(name string) bool { return temporary.MatchString(name) }

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

// quoted is a path that filepath.Glob takes as it stands.
func quoted(path string) string {
	if filepath.Separator == '\\' { // there it cannot be quoted, and brackets are all that could matter
		return strings.ReplaceAll(path, "[", "?")
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
