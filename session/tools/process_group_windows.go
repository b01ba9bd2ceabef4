package tools

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// shellProgram is what a command line is given to. Git for Windows brings a
// bash; without it the command goes to PowerShell.
func shellProgram() (name, flag string) {
	if bash, err := exec.LookPath("bash"); err == nil {
		return bash, "-c"
	}
	return "powershell.exe", "-Command"
}

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func endGroup(pid int) { killGroup(pid) }

func killGroup(pid int) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).Run()
}

func exitCode(e *os.ProcessState) int { return e.ExitCode() }

// startGate lets commands run at once.
func startGate(*exec.Cmd) (open func(run bool) error, err error) {
	return func(bool) error { return nil }, nil
}

// ProcessGroupAlive reports whether a process group has members left; here it is not known.
func ProcessGroupAlive(int) bool { return false }
