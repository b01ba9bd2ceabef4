//go:build unix

package snapshot

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of an open file if nobody has it. It ends with the
// last process that has the file open.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// ownProcessGroup keeps a key that interrupts belay from git: belay ends it.
func ownProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// inherit is what a git is given, so that the lock is held until it has ended
// although its belay was killed.
func (l *lock) inherit() []*os.File { return []*os.File{l.f} }
