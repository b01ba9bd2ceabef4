package store

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
)

// processStart tells when a process began, in a form that only compares as equal. It is
// empty when there is no such process, and "?" when that cannot be told.
func processStart(pid int) string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return ""
	}
	if err != nil {
		return "?"
	}
	defer windows.CloseHandle(h) //nolint:errcheck // nothing can be done about it
	var began, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &began, &ended, &kernel, &user); err != nil {
		return "?"
	}
	if ended.Nanoseconds() > 0 {
		return ""
	}
	return fmt.Sprint(began.Nanoseconds())
}

// processStopped is never known here: a process whose threads are suspended looks
// like any other.
func processStopped(int) bool { return false }
