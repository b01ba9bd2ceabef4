package store

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// processStart tells when a process began, in a form that only compares as equal. It is
// empty when there is no such process, and "?" when that cannot be told.
func processStart(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return ""
		}
		return "?"
	}
	began := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", began.Sec, began.Usec)
}

// processStopped reports whether a process was stopped by a signal or a debugger.
func processStopped(pid int) bool {
	const stopped = 4 // SSTOP of <sys/proc.h>
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && info.Proc.P_stat == stopped
}
