package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// inUse cannot tell here; replacing a file that is open fails by itself.
func inUse(string) (bool, error) { return false, nil }

// lockRegion is the byte that is locked, far behind what is written: a locked
// region cannot be read by others.
func lockRegion() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1} }

// tryLockFile takes the lock of an open file if nobody has it. Where a file
// system knows no locks, everybody has it at once.
func tryLockFile(f *os.File) bool {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return !errors.Is(lockFileEx(f, flags), windows.ERROR_LOCK_VIOLATION)
}

// lockFileWait waits for the lock of an open file, asleep in the kernel.
func lockFileWait(f *os.File) { _ = lockFileEx(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func unlockFile(f *os.File) {
	_ = withHandle(f, func(h windows.Handle) error { return windows.UnlockFileEx(h, 0, 1, 0, lockRegion()) })
}

func lockFileEx(f *os.File, flags uint32) error {
	return withHandle(f, func(h windows.Handle) error { return windows.LockFileEx(h, flags, 0, 1, 0, lockRegion()) })
}

func withHandle(f *os.File, do func(windows.Handle) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var doing error
	err = raw.Control(func(fd uintptr) { doing = do(windows.Handle(fd)) })
	return errors.Join(err, doing)
}
