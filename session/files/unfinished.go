package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A file that is written in place is neither old nor new while that lasts. What it
// held and what it is to hold are kept aside in belay's own data until it is done, so
// that a belay that was killed in the midst of it leaves no torn file.
type unfinished struct{ old, new string } // where they are kept

// unfinishedWrite names what is kept aside of a file.
func (w Writer) unfinishedWrite(path string) unfinished {
	name := filepath.Join(w.Aside, shortHash(path))
	return unfinished{old: name + ".old", new: name + ".new"}
}

// keepAside puts a file's contents aside. Without a folder for that nothing is kept.
func (w Writer) keepAside(path string, before, after []byte) (done func(), err error) {
	if w.Aside == "" {
		return func() {}, nil
	}
	u := w.unfinishedWrite(path)
	if err := os.MkdirAll(filepath.Dir(u.old), 0o700); err != nil {
		return nil, err
	}
	if err := errors.Join(w.writeNew(u.new, after), w.writeNew(u.old, before)); err != nil {
		u.forget()
		return nil, fmt.Errorf("keep what it holds until it is written: %w", err)
	}
	return u.forget, nil
}

func (u unfinished) forget() {
	_ = errors.Join(os.Remove(u.old), os.Remove(u.new)) // what stays is taken for what it is
}

func (w Writer) writeNew(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, w.sync(f), f.Close())
}

// RestoreUnfinished gives a file back what it held, if a belay was killed while it
// wrote it in place; before is the hash of that. A file that anybody has changed
// since stays as it is.
func (w Writer) RestoreUnfinished(path, before string) (restored bool, err error) {
	if w.Aside == "" {
		return false, nil
	}
	u := w.unfinishedWrite(path)
	old, err := Read(At(u.old), MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	defer u.forget()
	written, newErr := Read(At(u.new), MaxSize)
	now, nowErr := Read(At(path), 2*MaxSize)
	if err := errors.Join(err, newErr, nowErr); err != nil {
		return false, fmt.Errorf("look at %s, which was being written: %w", path, err)
	}
	if Hash(old) != before || bytes.Equal(now, old) || !isPartOf(now, old, written) {
		return false, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false, err
	}
	if err := errors.Join(overwrite(f, old), w.sync(f), f.Close()); err != nil {
		return false, fmt.Errorf("give %s back what it held: %w", path, err)
	}
	return true, nil
}

// isPartOf says whether a content is what a write leaves that was cut off: the
// beginning of the new content, and behind it the old.
func isPartOf(now, old, written []byte) bool {
	n := 0
	for n < min(len(now), len(written)) && now[n] == written[n] {
		n++
	}
	if bytes.Equal(now, written) {
		return false // it is done
	}
	return len(now) == max(len(old), n) && (n >= len(old) || bytes.Equal(now[n:], old[n:]))
}
