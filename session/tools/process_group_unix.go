//go:build unix

package tools

import (
	"errors"
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

// ownGroup makes a command the leader of a session, and so of a process group,
// which is what signals are sent to. It has no terminal: it could paint over the
// screen, and what a person types at its prompt would go elsewhere.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// startGate makes a command wait until open(true); after open(false), or without
// either when this program has ended, it ends without having run.
func startGate(cmd *exec.Cmd) (open func(run bool) error, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	const wait = `read -r go <&3 || exit 125; exec 3<&-; exec "$@"`
	cmd.Args = append([]string{"sh", "-c", wait, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = "/bin/sh", []*os.File{r}
	return func(run bool) error {
		err := r.Close()
		if run {
			// Nobody reads any more when the command has been killed: its end
			// tells more than this error.
			_, _ = w.WriteString("go\n")
		}
		return errors.Join(err, w.Close())
	}, nil
}

// ProcessGroupAlive reports whether a process group has members left.
func ProcessGroupAlive(group int) bool { return group > 1 && syscall.Kill(-group, 0) == nil }

func endGroup(pid int)  { _ = syscall.Kill(-pid, syscall.SIGTERM) }
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// exitCode gives a signal the number that shells give it.
func exitCode(e *os.ProcessState) int {
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return e.ExitCode()
}
