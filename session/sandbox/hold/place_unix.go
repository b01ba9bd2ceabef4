//go:build unix && !linux

package hold

import "syscall"

const noSignal = 0

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func prepare(Setup) error { return nil }

func restrict(Command) error { return nil }

// endRest ends the process group of a command. What left the group is for the other
// end to find.
func (s *server) endRest(pid int) {
	if pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	_ = reap()
}
