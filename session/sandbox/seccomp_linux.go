package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Landlock knows files. What else reaches out of a command is refused by system
// call: sockets of every kind, other processes, the settings of files, the kernel.

// refusedCalls fail as if permission were missing, whatever the command is held to.
var refusedCalls = append([]uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}, archCalls...)

// readingCalls are refused to commands that are held to reading: they change files,
// or reach other processes.
var readingCalls = append([]uint32{
	unix.SYS_SOCKET,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_OPEN, unix.SYS_KCMP,
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET, unix.SYS_SEMGET,
}, archReadingCalls...)

// signalCalls are refused where Landlock does not hold signals.
var signalCalls = []uint32{
	unix.SYS_KILL, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
}

// newNamespaces are the flags of clone that make a process its own little root.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Offsets in what a filter sees of a system call.
const (
	callNumber = 0
	callArch   = 4
	callFirst  = 16 // the first argument, its lower half
)

// readingFilter is that of commands that are held to reading.
func readingFilter() []unix.SockFilter {
	refused := slices.Concat(refusedCalls, readingCalls)
	if abi() < 6 {
		refused = append(refused, signalCalls...)
	}
	return buildFilter(refused, nil)
}

const (
	loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	isEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	isAbove  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	hasBits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	give     = unix.BPF_RET | unix.BPF_K

	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	noProto = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
)

// buildFilter refuses system calls, new namespaces, and sockets of other families
// than those given; without any all calls for a socket that are not refused pass.
func buildFilter(refused, families []uint32) []unix.SockFilter {
	filter := []unix.SockFilter{
		{Code: loadWord, K: callArch},
		{Code: isEqual, K: filterArch, Jt: 1}, // calls of another architecture have other numbers
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: loadWord, K: callNumber},
		{Code: isAbove, K: firstForeignCall, Jf: 1},
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS},
		// Its flags lie in memory, where a filter cannot look; programs fall back to clone.
		{Code: isEqual, K: unix.SYS_CLONE3, Jf: 1},
		{Code: give, K: unknown},
	}
	for _, call := range refused {
		filter = append(filter, unix.SockFilter{Code: isEqual, K: call, Jf: 1}, unix.SockFilter{Code: give, K: refuse})
	}
	if len(families) > 0 {
		// load, the families, and the refusal
		filter = append(filter, unix.SockFilter{Code: isEqual, K: unix.SYS_SOCKET, Jf: uint8(2 + 2*len(families))},
			unix.SockFilter{Code: loadWord, K: callFirst})
		for _, family := range families {
			filter = append(filter, unix.SockFilter{Code: isEqual, K: family, Jf: 1},
				unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW})
		}
		filter = append(filter, unix.SockFilter{Code: give, K: noProto})
	}
	return append(filter,
		unix.SockFilter{Code: isEqual, K: unix.SYS_CLONE, Jf: 3},
		unix.SockFilter{Code: loadWord, K: callFirst},
		unix.SockFilter{Code: hasBits, K: newNamespaces, Jf: 1},
		unix.SockFilter{Code: give, K: refuse},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW},
	)
}
