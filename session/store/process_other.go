//go:build !linux && !darwin && !windows

package store

import (
	"errors"
	"syscall"
)

// processStart tells whether a process lives: empty when there is no such process,
// "?" when it may be any that has the number.
func processStart(pid int) string {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return ""
	}
	return "?"
}

// processStopped cannot be told here.
func processStopped(int) bool { return false }
