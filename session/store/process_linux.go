package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// processStart tells when a process began, in a form that only compares as equal: the
// boot and the clock ticks since then. It is empty when there is no such process,
// and "?" when that cannot be told.
func processStart(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat("/proc/self/stat"); err == nil {
			return ""
		}
	}
	if err != nil {
		return "?"
	}
	fields := statFields(stat)
	if len(fields) < 20 {
		return "?"
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return "" // dead, only not yet buried
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "?"
	}
	return string(bytes.TrimSpace(boot)) + " " + string(fields[19])
}

// statFields are the fields of a process's state, from its third on. The name, in
// parentheses, may hold anything; what follows is regular.
func statFields(stat []byte) [][]byte { return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) }

// processStopped reports whether a process was stopped by a signal or a debugger.
func processStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := statFields(stat)
	return len(fields) > 0 && (string(fields[0]) == "T" || string(fields[0]) == "t")
}
