package sandbox

import "golang.org/x/sys/unix"

const (
	filterArch       = unix.AUDIT_ARCH_AARCH64
	firstForeignCall = 0x40000000 // none
)

// Calls that only this architecture has.
var archCalls, archReadingCalls []uint32
