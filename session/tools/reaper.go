package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// reaper runs commands in groups that can be ended whole, and sees to it that
// none outlives belay: a small process of its own holds the other end of a
// pipe, knows the groups that run, and kills them when the pipe closes,
// however belay came to its end.
type reaper struct {
	command []string
	grace   time.Duration // between asking a command to end and killing it

	mu   sync.Mutex
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// run starts a command, waits for it, and leaves nothing of it behind. A
// command that was ended from outside by ctx gives no error.
func (r *reaper) run(
	ctx context.Context, cmd *exec.Cmd, start func() error, group *atomic.Int64,
) (code int, err error) {
	ownGroup(cmd)
	if err := r.start(cmd, start); err != nil {
		return 0, err
	}
	group.Store(int64(cmd.Process.Pid))
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-ctx.Done():
		endGroup(cmd.Process.Pid)
		timer := time.NewTimer(r.grace)
		select {
		case err = <-done:
		case <-timer.C:
			killGroup(cmd.Process.Pid)
			err = <-done
		}
		timer.Stop()
	}
	killGroup(cmd.Process.Pid) // what it left in the background
	r.tell("-", cmd.Process.Pid)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitCode(exit.ProcessState), nil
	}
	if errors.Is(err, exec.ErrWaitDelay) || ctx.Err() != nil {
		err = nil // a child held the output open; it has been killed
	}
	return 0, err
}

// start starts a command that does nothing before the watching process knows
// its number: if belay ends in between, so does the command.
func (r *reaper) start(cmd *exec.Cmd, start func() error) error {
	r.watch()
	open, err := startGate(cmd)
	if err != nil {
		return err
	}
	if err := start(); err != nil {
		return errors.Join(err, open(false))
	}
	r.tell("+", cmd.Process.Pid)
	return open(true)
}

// watch starts the watching process before the first command. Without it
// commands still run: they only lose their safety net.
func (r *reaper) watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.command) == 0 || r.cmd != nil {
		return
	}
	cmd := exec.Command(r.command[0], r.command[1:]...)
	ownGroup(cmd) // ctrl+c at the terminal must not end it before us
	pipe, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		r.command = nil
		return
	}
	r.cmd, r.pipe = cmd, pipe
}

// tell writes to the watching process, if there is one.
func (r *reaper) tell(sign string, pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		fmt.Fprintf(r.pipe, "%s%d\n", sign, pid)
	}
}

func (r *reaper) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil {
		return nil
	}
	err := errors.Join(r.pipe.Close(), r.cmd.Wait())
	r.cmd, r.pipe, r.command = nil, nil, nil
	return err
}

// Reap is the body of the watching process: it reads which groups run until
// the other end is gone, then kills those that are left.
func Reap(in io.Reader) {
	running := map[int]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		sign, rest := "", strings.TrimSpace(lines.Text())
		if rest != "" {
			sign, rest = rest[:1], rest[1:]
		}
		pid, err := strconv.Atoi(rest)
		if err != nil || pid <= 1 {
			continue
		}
		if sign == "+" {
			running[pid] = true
		} else {
			delete(running, pid)
		}
	}
	for pid := range running {
		killGroup(pid)
	}
}
