package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A thread is restricted, never this program: the rules of Landlock and seccomp
// belong to a thread and to what it starts. The command is started from a thread
// of its own, which ends then. A library for Landlock would restrict all threads.

// minABI is the first version of Landlock that also holds truncation.
const minABI = 3

// Access to files that Landlock knows, by the version that brought it.
const (
	accessV3 = 1<<15 - 1 // up to truncation
	accessV5 = accessV3 | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	accessRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	accessFiles = accessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // what a rule for a file may hold
)

// devices are those that are read and written without harm.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// abi is the version of Landlock that the kernel has; below 1: none.
var abi = sync.OnceValue(func() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
})

// Available says why commands cannot be held on this system; nil: they can.
func Available() error {
	if abi() < minABI || filterArch == 0 {
		return fmt.Errorf("%w: the kernel has no Landlock (version %d or newer)", ErrUnavailable, minABI)
	}
	return nil
}

// Mechanism names what holds commands on this system.
func Mechanism() string { return fmt.Sprintf("Landlock %d and seccomp", abi()) }

func (s *Sandbox) start(cmd *exec.Cmd, temp string) error {
	ruleset, err := s.ruleset(temp)
	if err != nil {
		return err
	}
	defer unix.Close(ruleset) //nolint:errcheck // nothing was written
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		if err := restrictThread(ruleset); err != nil {
			started <- fmt.Errorf("hold the command: %w", err)
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}

func restrictThread(ruleset int) error {
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return errno
	}
	return applyFilter()
}

// dropCapabilities leaves root nothing but reading: with the rest it could look
// into other processes, whatever Landlock says.
func dropCapabilities() error {
	for capability := uintptr(0); capability <= unix.CAP_LAST_CAP; capability++ {
		if capability == unix.CAP_DAC_READ_SEARCH {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		switch {
		case errors.Is(err, unix.EINVAL): // an older kernel has fewer
			return nil
		case errors.Is(err, unix.EPERM): // there are none to drop
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// ruleset makes the rules of one command.
func (s *Sandbox) ruleset(temp string) (fd int, err error) {
	handled := uint64(accessV3)
	if abi() >= 5 {
		handled = accessV5
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi() >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return 0, fmt.Errorf("make the rules: %w", errno)
	}
	fd = int(r)
	rules := map[string]uint64{
		// Names can be seen everywhere: a rule for a folder holds for all below it.
		"/":  unix.LANDLOCK_ACCESS_FS_READ_DIR,
		temp: handled,
	}
	for _, path := range s.readable() {
		if path != "/dev" {
			rules[path] |= accessRead
		}
	}
	for _, path := range devices {
		rules[path] = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	}
	for path, access := range rules {
		if err := allow(fd, path, access&handled); err != nil {
			return 0, errors.Join(fmt.Errorf("allow %s: %w", path, err), unix.Close(fd))
		}
	}
	return fd, nil
}

// allow adds a rule. A place that is not there needs none.
func allow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// otherHomes are the home folders of other people, where permissions may be lax.
func otherHomes(home string) []string {
	var homes []string
	entries, _ := os.ReadDir("/home")
	for _, e := range entries {
		if path := filepath.Join("/home", e.Name()); path != home {
			homes = append(homes, path)
		}
	}
	if home != "/root" {
		homes = append(homes, "/root")
	}
	return homes
}
