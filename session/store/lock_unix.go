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

// tryLockFile takes the lock of an open file if nobody has it. Where a file
// system knows no locks, everybody has it at once.
func tryLockFile(f *os.File) bool {
	return !errors.Is(flock(f, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// lockFileWait waits for the lock of an open file, asleep in the kernel.
func lockFileWait(f *os.File) { _ = flock(f, unix.LOCK_EX) }

func unlockFile(f *os.File) { _ = flock(f, unix.LOCK_UN) }

// flock goes through the file's own count of users, so that closing it meanwhile
// cannot hit another file with the same number.
func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locking error
	err = raw.Control(func(fd uintptr) {
		for {
			if locking = unix.Flock(int(fd), how); !errors.Is(locking, unix.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, locking)
}
