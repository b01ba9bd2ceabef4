package repository

import (
	"os/exec"
	"syscall"
)

// EndWithBelay has a git end soon when belay does, however that came about. It is asked
// to, so that it takes its lock files along. Go keeps its threads, one of which is what
// the kernel watches.
func EndWithBelay(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
}
