//go:build linux && !amd64 && !arm64

package sandbox

// No filter was written for this architecture.
const (
	filterArch       = 0
	firstForeignCall = 0x40000000
)

var archCalls, archReadingCalls []uint32
