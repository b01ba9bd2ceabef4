package hold

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// Numbers of the kernel that package syscall has not.
const (
	sysLandlockCreateRuleset = 444
	sysLandlockAddRule       = 445
	sysLandlockRestrictSelf  = 446
	sysMountSetattr          = 442

	prSetNoNewPrivs     = 38
	prSetChildSubreaper = 36
	prCapAmbient        = 47
	prCapAmbientClear   = 4
	prCapbsetDrop       = 24
	seccompFilterMode   = 1
	prSetSeccomp        = 22

	atFdcwd         = -100
	atRecursive     = 0x8000
	mountReadOnly   = 1
	pathBelow       = 1
	openPath        = 0x200000
	noSignal        = syscall.MSG_NOSIGNAL
	capabilityVer3  = 0x20080522
	maxCapabilities = 64
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// prepare makes the place of all commands.
func prepare(s Setup) error {
	if !s.Init {
		return prctl(prSetChildSubreaper, 1, 0)
	}
	if s.Loopback {
		if err := loopbackUp(); err != nil {
			return step("bring up the loopback", err)
		}
	}
	if !s.Private {
		return nil
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return step("have mounts of its own", err)
	}
	var writable []string
	for _, path := range s.Writable {
		// Where that may not be, it is read-only as the rest.
		if syscall.Mount(path, path, "", syscall.MS_BIND|syscall.MS_REC, "") == nil {
			writable = append(writable, path)
		}
	}
	if err := setReadOnly("/", atRecursive, true); err != nil {
		return step("have the rest read-only", err)
	}
	for _, path := range writable {
		if setReadOnly(path, atRecursive, false) != nil {
			_ = setReadOnly(path, 0, false) // a mount below it was read-only before
		}
	}
	if err := pin(s); err != nil {
		return err
	}
	mountSystem()
	for _, path := range s.Closed {
		if err := cover(path); err != nil {
			return step("close "+path, err)
		}
	}
	return nil
}

// pin keeps what is there in its place, or as it is.
func pin(s Setup) error {
	for i, path := range append(append([]string{}, s.InPlace...), s.ReadOnly...) {
		err := syscall.Mount(path, path, "", syscall.MS_BIND|syscall.MS_REC, "")
		if errors.Is(err, syscall.ENOENT) {
			continue
		}
		if err == nil && i >= len(s.InPlace) {
			err = setReadOnly(path, atRecursive, true)
		}
		if err != nil {
			return step("keep "+path, err)
		}
	}
	return nil
}

func step(what string, err error) error { return errors.New(what + ": " + err.Error()) }

// mountSystem gives the namespace its own view of processes, terminals and shared
// memory. Where that may not be, the old view stays, and Landlock holds it.
func mountSystem() {
	const quiet = syscall.MS_NOSUID | syscall.MS_NOEXEC
	_ = syscall.Mount("proc", "/proc", "proc", quiet|syscall.MS_NODEV, "")
	_ = syscall.Mount("tmpfs", "/dev/shm", "tmpfs", quiet|syscall.MS_NODEV, "mode=1777")
	if syscall.Mount("devpts", "/dev/pts", "devpts", quiet, "newinstance,ptmxmode=0666,mode=0620") == nil {
		_ = syscall.Mount("/dev/pts/ptmx", "/dev/ptmx", "", syscall.MS_BIND, "")
	}
}

// cover has a file or folder appear empty. What is not there needs nothing.
func cover(path string) error {
	var stat syscall.Stat_t
	if syscall.Stat(path, &stat) != nil {
		return nil
	}
	switch stat.Mode & syscall.S_IFMT {
	case syscall.S_IFCHR: // it is covered
		return nil
	case syscall.S_IFDIR:
		return syscall.Mount(
			"tmpfs",
			path,
			"tmpfs",
			syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV,
			"mode=0555,size=4k",
		)
	}
	return syscall.Mount("/dev/null", path, "", syscall.MS_BIND, "")
}

// mountAttr is struct mount_attr of mount_setattr(2).
type mountAttr struct{ set, clear, propagation, userNamespace uint64 }

func setReadOnly(path string, flags uintptr, on bool) error {
	attr := mountAttr{clear: mountReadOnly}
	if on {
		attr = mountAttr{set: mountReadOnly}
	}
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	at := atFdcwd
	_, _, errno := syscall.Syscall6(sysMountSetattr, uintptr(at), uintptr(unsafe.Pointer(name)), flags,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	return orNil(errno)
}

func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	request := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	_, _, errno := syscall.Syscall(
		syscall.SYS_IOCTL,
		uintptr(fd),
		syscall.SIOCSIFFLAGS,
		uintptr(unsafe.Pointer(&request)),
	)
	return orNil(errno)
}

func orNil(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

func prctl(option, a, b uintptr) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, a, b, 0, 0, 0)
	return orNil(errno)
}

// restrict holds this thread, and what it starts, to the rules of a command.
func restrict(c Command) error {
	for _, path := range c.Closed {
		if err := cover(path); err != nil {
			return step("close "+path, err)
		}
	}
	if !c.Held {
		return nil
	}
	ruleset, err := landlock(c)
	if err != nil {
		return err
	}
	defer syscall.Close(ruleset) //nolint:errcheck // nothing was written
	if err := keepCapabilities(c.Caps); err != nil {
		return step("drop capabilities", err)
	}
	if err := prctl(prSetNoNewPrivs, 1, 0); err != nil {
		return step("rule out new privileges", err)
	}
	if _, _, errno := syscall.RawSyscall(sysLandlockRestrictSelf, uintptr(ruleset), 0, 0); errno != 0 {
		return step("restrict", errno)
	}
	const instruction = 8
	program := struct {
		length uint16
		filter unsafe.Pointer
	}{uint16(len(c.Filter) / instruction), unsafe.Pointer(unsafe.SliceData(c.Filter))}
	if err := prctl(prSetSeccomp, 2, uintptr(unsafe.Pointer(&program))); err != nil {
		return step("refuse system calls", err)
	}
	return nil
}

// landlock makes the rules.
func landlock(c Command) (fd int, err error) {
	attr := struct{ files, network, scoped uint64 }{files: c.Handled, scoped: c.Scoped}
	size := unsafe.Sizeof(attr)
	if c.Scoped == 0 { // an older kernel knows the first only
		size = unsafe.Sizeof(attr.files)
	}
	r, _, errno := syscall.Syscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return 0, step("make rules", errno)
	}
	for _, rule := range c.Rules {
		if err := allow(int(r), rule); err != nil {
			_ = syscall.Close(int(r))
			return 0, step("allow "+rule.Path, err)
		}
	}
	return int(r), nil
}

// forFiles is what a rule of Landlock for a file may hold.
const forFiles = 1<<0 | 1<<1 | 1<<2 | 1<<14 | 1<<15 // execute, write, read, truncate, ioctl

// allow adds a rule. A place that is not there needs none.
func allow(ruleset int, rule Rule) error {
	fd, err := syscall.Open(rule.Path, openPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rule.Access &= forFiles
	}
	var attr [12]byte // struct landlock_path_beneath_attr, which is packed
	*(*uint64)(unsafe.Pointer(&attr[0])) = rule.Access
	*(*int32)(unsafe.Pointer(&attr[8])) = int32(fd)
	_, _, errno := syscall.Syscall6(
		sysLandlockAddRule,
		uintptr(ruleset),
		pathBelow,
		uintptr(unsafe.Pointer(&attr)),
		0,
		0,
		0,
	)
	return orNil(errno)
}

// keepCapabilities leaves this thread no more than those capabilities.
func keepCapabilities(keep uint64) error {
	for c := range uintptr(maxCapabilities) {
		if keep&(1<<c) == 0 && prctl(prCapbsetDrop, c, 0) != nil {
			break // there are no more, or none may be dropped, as there are none
		}
	}
	_ = prctl(prCapAmbient, prCapAmbientClear, 0)
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVer3}
	var data [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&data)), 0); errno != 0 {
		return errno
	}
	for i := range data {
		mask := uint32(keep >> (32 * i))
		data[i].effective &= mask
		data[i].permitted &= mask
		data[i].inheritable = 0
	}
	_, _, errno := syscall.RawSyscall(
		syscall.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&data)),
		0,
	)
	return orNil(errno)
}

// maxEnding is how many milliseconds a process gets to be gone after a kill. What a
// command started as another user (sudo) may not be killed at all.
const maxEnding = 2000

// endRest ends all that is left of commands.
func (s *server) endRest(int) {
	for range maxEnding {
		if s.setup.Init {
			_ = syscall.Kill(-1, syscall.SIGKILL)
		} else {
			for _, pid := range descendants(os.Getpid()) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if reap() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// descendants lists the processes that a process started, and theirs, the ended ones
// left out.
func descendants(of int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	children := map[int][]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, ok := parentOf(name); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var list []int
	next := []int{of}
	for len(next) > 0 {
		found := children[next[0]]
		next = append(next[1:], found...)
		list = append(list, found...)
	}
	return list
}

// parentOf reads the parent of a process that has not ended.
func parentOf(pid string) (parent int, ok bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, false
	}
	// The name, in parentheses, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
