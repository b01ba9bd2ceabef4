//go:build unix

package tools

import (
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

// ProcessGroupAlive reports whether a process group has members left.
func ProcessGroupAlive(group int) bool { return group > 1 && syscall.Kill(-group, 0) == nil }
