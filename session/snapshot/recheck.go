package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Git tells a change by whole seconds, and protects against a file that is
// changed again within the second by its time of modification. A program that
// sets that time back (cp -p, tar, touch -d) defeats it: the same second, the
// same size, an old time. Such files are written down, and read again by the next
// snapshot whatever git believes.

// unnoticeable reports whether another change to a file within this second would
// leave it looking the same.
func unnoticeable(name string, info fs.FileInfo, now time.Time) bool {
	if info.ModTime().Unix() >= now.Unix() {
		return false // git reads it again
	}
	return statusChanged(name).Unix() >= now.Unix()
}

func (op *operation) recheckFile() string { return op.index + ".recheck" }

// forgetRecheck makes the index forget the files that were written down, so that
// they are read.
func (op *operation) forgetRecheck(ctx context.Context) error {
	b, err := os.ReadFile(op.recheckFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return op.removeFromIndex(ctx, splitNUL(b))
}

// saveRecheck writes down which files the next snapshot reads in any case.
func (op *operation) saveRecheck(paths []string) error {
	if len(paths) > 0 {
		return op.replaceFile(op.recheckFile(), strings.Join(paths, "\x00"))
	}
	return ignore(os.Remove(op.recheckFile()), fs.ErrNotExist)
}
