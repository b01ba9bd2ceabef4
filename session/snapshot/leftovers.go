package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A git that is ended leaves half of what it was writing in the store, under names
// that nothing ever reads again. While files are read into the store, a file says so;
// who finds it when the lock is free clears up, so that a snapshot that is cut off
// again and again takes no more space than one.

func (op *operation) readingFile() string { return filepath.Join(op.dir, "reading") }

func (op *operation) beginReading() error { return op.writeFile("reading", nil) }

func (op *operation) endReading() error { return os.Remove(op.readingFile()) }

// clearUp removes what a git has left that was ended while it read files.
func (op *operation) clearUp() error {
	if _, err := os.Stat(op.readingFile()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := filepath.WalkDir(filepath.Join(op.dir, "objects"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(d.Name(), "tmp_") {
			return err
		}
		if err := os.RemoveAll(name); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
	return errors.Join(err, op.endReading())
}
