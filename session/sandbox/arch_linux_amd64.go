package sandbox

import "golang.org/x/sys/unix"

const (
	filterArch       = unix.AUDIT_ARCH_X86_64
	firstForeignCall = 0x40000000 // from here on they are calls of x32
)

// Calls that only this architecture has: those refused to all, and those refused to
// commands that are held to reading.
var (
	archCalls        = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB}
	archReadingCalls = []uint32{
		unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
	}
)
