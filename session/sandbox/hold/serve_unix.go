//go:build unix

package hold

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

func init() {
	if len(os.Args) == 1 && os.Args[0] == Name {
		serve()
	}
}

// server is this process.
type server struct {
	setup Setup

	mu      sync.Mutex
	running int // the process that runs; 0: none
}

// serve does what it is told until the other end is gone. It does not return.
func serve() {
	syscall.CloseOnExec(Control)
	var s server
	for {
		kind, body, files, err := Receive(Control)
		if err != nil {
			s.endAll()
			os.Exit(0)
		}
		switch kind {
		case Prepare:
			s.setup = unpackSetup(body)
			s.answer(Ready, text(prepare(s.setup)))
		case Run:
			s.run(unpackCommand(body), files)
		case Terminate:
			s.terminate()
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// answer tells the other end, if it is there still: if not, the next Receive says so.
func (s *server) answer(kind byte, text string) { _ = Send(Control, kind, []byte(text)) }

// run starts a command, and tells when it has ended with all that it started.
func (s *server) run(c Command, files []int) {
	pid, ended, err := spawn(c, files)
	for _, fd := range files {
		_ = syscall.Close(fd) // they are the command's
	}
	if err != nil {
		s.answer(Started, err.Error())
		return
	}
	s.mu.Lock()
	s.running = pid
	s.mu.Unlock()
	s.answer(Started, "")
	go func() {
		code := waitFor(pid)
		s.mu.Lock()
		s.running = 0
		s.mu.Unlock()
		s.endRest(pid)
		close(ended)
		s.answer(Ended, strconv.Itoa(code))
	}()
}

// spawn starts a command on a thread of its own: what the kernel holds it to belongs
// to a thread and to what it starts. The thread lasts until ended is closed, because
// the command is killed with it.
func spawn(c Command, files []int) (pid int, ended chan struct{}, err error) {
	type result struct {
		pid int
		err error
	}
	started := make(chan result)
	ended = make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		if err := restrict(c); err != nil {
			started <- result{err: err}
			return
		}
		attr := syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Sys: attributes()}
		for _, fd := range files {
			attr.Files = append(attr.Files, uintptr(fd))
		}
		pid, err := syscall.ForkExec(c.Path, c.Args, &attr)
		started <- result{pid, err}
		if err == nil {
			<-ended
		}
	}()
	r := <-started
	return r.pid, ended, r.err
}

// waitFor waits until a child has ended, and gives its exit code as shells do.
func waitFor(pid int) int {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 255 // there is no child: nobody knows
		case got != pid:
		case status.Signaled():
			return 128 + int(status.Signal())
		case status.Exited():
			return status.ExitStatus()
		}
	}
}

// reap takes note of all children that have ended. It reports whether none is left.
func reap() (none bool) {
	for {
		got, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return true
		case got == 0:
			return false
		}
	}
}

// terminate asks what runs to end.
func (s *server) terminate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.running == 0:
	case s.setup.Init:
		_ = syscall.Kill(-1, syscall.SIGTERM)
	default:
		_ = syscall.Kill(-s.running, syscall.SIGTERM)
	}
}

// endAll ends what runs, and all that it started.
func (s *server) endAll() {
	s.mu.Lock()
	pid := s.running
	s.mu.Unlock()
	if !s.setup.Init { // with the first process of a namespace the kernel ends all others
		s.endRest(pid)
	}
}
