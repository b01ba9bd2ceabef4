//go:build unix

package tools

import (
	"os"
	"os/exec"
	"syscall"
)

// shellProgram is what a command line is given to.
func shellProgram() (name, flag string) {
	if bash, err := exec.LookPath("bash"); err == nil {
		return bash, "-c"
	}
	return "/bin/sh", "-c"
}

// ownGroup makes a command the leader of a process group, which is what
// signals are sent to. It has no terminal: reading from one would stop it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func endGroup(pid int)  { _ = syscall.Kill(-pid, syscall.SIGTERM) }
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// exitCode gives a signal the number that shells give it.
func exitCode(e *os.ProcessState) int {
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return e.ExitCode()
}
