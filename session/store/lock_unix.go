//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// inUse reports whether another program has a database open: it then holds a
// shared lock on the bytes that https://www.sqlite.org/lockingv3.html names.
func inUse(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	const pending, length = 0x40000000, 512
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: pending, Len: length}
	err = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock)
	return lock.Type != unix.F_UNLCK, errors.Join(err, f.Close())
}
