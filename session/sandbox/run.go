package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// grace is the time between asking a command to end and killing it.
const grace = 2 * time.Second

// drain is for output that is still on its way after the end of a command.
const drain = 500 * time.Millisecond

// ErrHolderKilled says that something outside killed the process that holds
// commands, and so the command.
var ErrHolderKilled = errors.New("the process that held the command was killed from outside, and the command with it")

// process is a command that runs.
type process interface {
	pid() int // of the process group that lives as long as the command
	wait() (code int, err error)
	terminate() // asks it to end
	kill()      // ends it with all that it started
}

// Run starts a command as a profile says, waits for it, and leaves nothing of it
// behind. Cmd says what is run and is not started itself; started gets the number of
// a process group that is there as long as the command is. A command that ctx ended
// gives no error.
func (s *Sandbox) Run(ctx context.Context, cmd *exec.Cmd, p Profile, started func(group int)) (code int, err error) {
	if cmd.Err != nil {
		return 0, cmd.Err
	}
	running, done, err := s.start(cmd, p)
	defer done()
	if err != nil {
		return 0, err
	}
	started(running.pid())
	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		code, err := running.wait()
		ended <- end{code, err}
	}()
	select {
	case e := <-ended:
		return e.code, e.err
	case <-ctx.Done():
	}
	running.terminate()
	timer := time.NewTimer(s.grace())
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		running.kill()
		<-ended
	}
	return 0, nil
}

// start starts a command in its place. Done is to be called when it has ended.
func (s *Sandbox) start(cmd *exec.Cmd, p Profile) (running process, done func(), err error) {
	done = func() {}
	if p.Reading {
		if err := Available(); err != nil {
			return nil, done, err
		}
		var own []string
		if own, done, err = s.ownFolders(cmd); err != nil {
			return nil, done, err
		}
		running, err = s.beginReading(cmd, own, slices.Concat(s.secrets, resolveAll(p.Closed)))
		return running, done, err
	}
	if !p.Outside {
		for _, dir := range p.Caches {
			_ = os.MkdirAll(dir, 0o755) // without it the program says what it misses
		}
	}
	running, err = s.begin(cmd, p)
	return running, done, err
}

// ownFolders gives a reading command folders to write to: one that goes with it, and
// one for what go compiles, which takes too long to do anew for each.
func (s *Sandbox) ownFolders(cmd *exec.Cmd) (own []string, done func(), err error) {
	temp, err := os.MkdirTemp("", "belay-")
	if err != nil {
		return nil, func() {}, err
	}
	done = func() { _ = os.RemoveAll(temp) }
	if resolved, err := filepath.EvalSymlinks(temp); err == nil {
		temp = resolved
	}
	own = []string{temp}
	compiled := filepath.Join(temp, "go-build")
	if kept := s.keptFolder("go-build"); kept != "" {
		own, compiled = append(own, kept), kept
	}
	cmd.Env = append(cmd.Environ(), "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp, "GIT_OPTIONAL_LOCKS=0",
		// go fails where it cannot write to its cache, and would fetch what is missing.
		"GOCACHE="+compiled, "GOPROXY=off", "GOTOOLCHAIN=local")
	return own, done, nil
}

// keptFolder is a folder of the cache; empty: there is none.
func (s *Sandbox) keptFolder(name string) string {
	path := filepath.Join(s.o.Cache, name)
	if s.o.Cache == "" || below(s.o.Root, path) || s.IsSecret(path) {
		return ""
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return ""
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil || s.IsSecret(resolved) || below(s.o.Root, resolved) {
		return ""
	}
	return resolved
}

func (s *Sandbox) grace() time.Duration {
	if s.o.Grace > 0 {
		return s.o.Grace
	}
	return grace
}
