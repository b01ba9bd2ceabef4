//go:build !linux && !darwin && !windows

package store

import (
	"errors"
	"syscall"
)

// born tells whether a process lives: empty when there is no such process, "?"
// when it may be any that has the number.
func born(pid int) string {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return ""
	}
	return "?"
}
