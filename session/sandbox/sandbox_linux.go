package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"belay/session/sandbox/hold"
)

// minABI is the first version of Landlock that also holds truncation.
const minABI = 3

// Access to files that Landlock knows, by the version that brought it.
const (
	accessV3 = 1<<15 - 1 // up to truncation
	accessV5 = accessV3 | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	accessRead = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
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
func Mechanism() string {
	if spaces() {
		return fmt.Sprintf("Landlock %d, seccomp and namespaces", abi())
	}
	return fmt.Sprintf("Landlock %d and seccomp", abi())
}

// beginReading starts a command that reads what is not closed, writes to folders of
// its own, and changes nothing else.
func (s *Sandbox) beginReading(cmd *exec.Cmd, own, closed []string) (process, error) {
	const readFolder = unix.LANDLOCK_ACCESS_FS_READ_DIR
	// Names can be seen everywhere: a rule for a folder holds for all below it.
	rules := []hold.Rule{{Path: "/", Access: readFolder}}
	for _, path := range own {
		rules = append(rules, hold.Rule{Path: path, Access: handledFiles()})
	}
	for _, path := range readable(closed) {
		if path != "/dev" {
			rules = append(rules, hold.Rule{Path: path, Access: accessRead | readFolder})
		}
	}
	rules = append(rules, deviceRules()...)
	return s.runHeld(cmd, hold.Setup{}, ownSession, hold.Command{Held: true, Caps: 1 << unix.CAP_DAC_READ_SEARCH,
		Handled: handledFiles(), Scoped: scoped(), Rules: rules, Filter: filterBytes(readingFilter())})
}

func deviceRules() (rules []hold.Rule) {
	for _, path := range devices {
		rules = append(rules, hold.Rule{Path: path, Access: unix.LANDLOCK_ACCESS_FS_READ_FILE |
			unix.LANDLOCK_ACCESS_FS_WRITE_FILE})
	}
	return rules
}

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

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
