//go:build !unix

package sandbox

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"
)

// holders start nothing here.
type holders struct{}

func (h *holders) close() {}

// groupProcess is a command that runs in a process group of its own.
type groupProcess struct{ cmd *exec.Cmd }

func (s *Sandbox) begin(cmd *exec.Cmd, _ Profile) (process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	cmd.WaitDelay = drain
	return groupProcess{cmd}, cmd.Start()
}

func (p groupProcess) pid() int { return p.cmd.Process.Pid }

func (p groupProcess) wait() (code int, err error) {
	err = p.cmd.Wait()
	p.kill() // what it left in the background
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case errors.Is(err, exec.ErrWaitDelay): // a child held the output open; it has been ended
		return 0, nil
	}
	return 0, err
}

func (p groupProcess) terminate() { p.kill() }

func (p groupProcess) kill() {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.pid())).Run()
}

// Detect says that nothing holds commands.
func Detect() Grip { return None }

const partText = ""
