package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"belay/session/sandbox/hold"
)

// endsAll: nothing that a command started outlives it, as long as what holds it lives.
const endsAll = true

// namespaces are those of working commands; that of the network comes with them where
// it is not allowed.
const namespaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC

// workingCaps are the capabilities that root keeps in a namespace: over files and
// processes, as far as they reach.
const workingCaps = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_FSETID | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// begin starts a command in its place.
func (s *Sandbox) begin(cmd *exec.Cmd, p Profile) (process, error) {
	if p.Outside || Available() != nil {
		return s.runHeld(cmd, hold.Setup{}, ownSession, hold.Command{})
	}
	closed, writable := s.closedTo(p), s.writable(p)
	c := hold.Command{Held: true, Caps: workingCaps, Handled: handledFiles(), Scoped: scoped(),
		Rules: workingRules(closed, writable), Filter: filterBytes(workingFilter(p))}
	if !spaces() {
		return s.runHeld(cmd, hold.Setup{}, ownSession, c)
	}
	setup := hold.Setup{Init: true, Private: true, Loopback: !p.Network, Writable: writable}
	setup.InPlace, setup.ReadOnly = s.pinned(p, writable)
	for _, secret := range closed {
		// Rules of Landlock add up: one for a folder holds for all below it.
		if slices.ContainsFunc(writable, func(dir string) bool { return below(dir, secret) }) {
			setup.Closed = append(setup.Closed, secret)
		}
	}
	if os.Getuid() != 0 {
		// ssh wants it to belong to root, whom such a namespace does not know.
		setup.Closed = append(setup.Closed, "/etc/ssh/ssh_config.d")
	}
	c.Closed = socketsOutside(p)
	return s.runHeld(cmd, setup, func() *syscall.SysProcAttr { return inNamespaces(p.Network) }, c)
}

// inNamespaces has a process start in namespaces in which it is who it was.
func inNamespaces(network bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	if !network {
		attr.Cloneflags |= syscall.CLONE_NEWNET
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		attr.UidMappings, attr.GidMappings = idMap("uid"), idMap("gid")
		attr.GidMappingsEnableSetgroups = true
		return attr
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	return attr
}

// idMap has everybody be who they are in the namespace of this process.
func idMap(kind string) (list []syscall.SysProcIDMap) {
	b, _ := os.ReadFile("/proc/self/" + kind + "_map")
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		first, err := strconv.Atoi(fields[0])
		size, sizeErr := strconv.Atoi(fields[2])
		if err == nil && sizeErr == nil {
			list = append(list, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
		}
	}
	return list
}

// spaces reports whether this system gives namespaces to whoever asks: many
// containers and some distributions do not.
var spaces = sync.OnceValue(func() bool {
	h, err := startHolder(string(hold.Setup{Init: true, Loopback: true, Private: true}.Pack()), inNamespaces(false))
	if err != nil {
		return false
	}
	h.end()
	return true
})

func handledFiles() uint64 {
	if abi() >= 5 {
		return accessV5
	}
	return accessV3
}

func scoped() uint64 {
	if abi() >= 6 {
		return unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return 0
}

// terminals and shared memory are of the namespace, where there is one.
var ownDevices = []string{"/dev/pts", "/dev/ptmx", "/dev/shm"}

func workingRules(closed, writable []string) []hold.Rule {
	rules := []hold.Rule{{Path: "/", Access: unix.LANDLOCK_ACCESS_FS_READ_DIR}}
	for _, path := range readable(closed) {
		if path != "/dev" {
			rules = append(rules, hold.Rule{Path: path, Access: accessRead | unix.LANDLOCK_ACCESS_FS_READ_DIR})
		}
	}
	handled := handledFiles()
	rules = append(rules, deviceRules()...)
	if spaces() {
		for _, path := range ownDevices {
			rules = append(rules, hold.Rule{Path: path, Access: handled})
		}
	}
	for _, dir := range writable {
		if spaces() || !slices.ContainsFunc(closed, func(secret string) bool { return below(dir, secret) }) {
			rules = append(rules, hold.Rule{Path: dir, Access: handled})
			continue
		}
		// Nothing can cover the secret, so only what is there beside it is writable.
		for _, path := range readableBelow(dir, closed) {
			rules = append(rules, hold.Rule{Path: path, Access: handled})
		}
	}
	return rules
}

// workingFilter allows sockets of some families. Where there is no namespace for the
// network, nothing but refusing all of them keeps a command from it.
func workingFilter(p Profile) []unix.SockFilter {
	refused := refusedCalls
	families := []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	if spaces() || len(p.Sockets) > 0 {
		families = append(families, unix.AF_UNIX)
	}
	if !spaces() && !p.Network {
		refused = append(slices.Clone(refused), unix.SYS_SOCKET)
		families = nil
	}
	return buildFilter(refused, families)
}

func filterBytes(filter []unix.SockFilter) []byte {
	size := len(filter) * int(unsafe.Sizeof(filter[0]))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(filter))), size)
}

// nameServices are the sockets by which names are looked up, for what may use the
// network.
var nameServices = []string{"/run/systemd/resolve", "/run/nscd", "/var/run/nscd", "/run/avahi-daemon"}

// socketsOutside lists the sockets of other programs that a profile does not talk to:
// whoever can reach the one of a container engine or a multiplexer can do anything.
func socketsOutside(p Profile) (list []string) {
	allowed := slices.Clone(p.Sockets)
	if p.Network {
		allowed = append(allowed, nameServices...)
	}
	allowed = append(allowed, resolveAll(allowed)...)
	b, _ := os.ReadFile("/proc/net/unix")
	for line := range bytes.Lines(b) {
		_, path, named := bytes.Cut(line, []byte(" /"))
		if !named {
			continue
		}
		name := "/" + strings.TrimRight(string(path), "\n")
		if !slices.ContainsFunc(allowed, func(a string) bool { return below(a, name) }) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// endMarked ends what carries a mark in its environment.
func endMarked(mark string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil &&
			slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == mark }) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// Detect says how well commands are held. The first time takes a moment.
func Detect() Grip {
	switch {
	case Available() != nil:
		return None
	case !spaces():
		return Parts
	}
	return Full
}

// partText is what is missing without namespaces.
const partText = "this system gives no namespaces, so without the network they cannot use the loopback either, " +
	"and what they change of files outside is bound by Landlock alone (modes and times are not)"
