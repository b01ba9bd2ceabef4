//go:build unix

package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"belay/session/sandbox"
)

// lives makes a pipe in the workspace. Gone waits until every process that opened it
// for writing has ended; one that was ended before it came so far is gone as well.
func lives(t *testing.T, s *Set) (gone func()) {
	t.Helper()
	path := filepath.Join(s.o.Root, "lives")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	end := make(chan []byte, 1)
	go func() {
		b, _ := os.ReadFile(path)
		end <- b
	}()
	return func() {
		if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
		<-end
	}
}

func TestAStopKillsTheWholeGroup(t *testing.T) {
	s := workspace(t, nil)
	s.sandbox = sandbox.New(sandbox.Options{Root: s.o.Root, Grace: 20 * time.Millisecond})
	gone := lives(t, s)
	job, err := s.Prepare("shell",
		`{"command":"exec 9>lives; (trap '' TERM; sleep 300) & trap '' TERM; echo up; sleep 300"}`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := job.Run(ctx, func(string) { cancel() })
	if !strings.Contains(r.Output, "stopped by the user") {
		t.Errorf("shell = %q", r.Output)
	}
	gone()
}

func TestACommandThatLeavesAChildBehindReturns(t *testing.T) {
	s := workspace(t, nil)
	gone := lives(t, s)
	if _, r := call(t, s, "shell", `{"command":"exec 9>lives; sleep 300 & echo started"}`); r.Error ||
		r.Output != "started\n" {
		t.Errorf("shell = %+v", r)
	}
	gone()
}

func TestATimeoutEndsACommand(t *testing.T) {
	s := workspace(t, nil)
	gone := lives(t, s)
	r := s.shell(t.Context(), shellJob{
		dir: s.o.Root, words: []string{"sh", "-c", "exec 9>lives; echo up; sleep 300"},
		limit: 200 * time.Millisecond, group: new(atomic.Int64),
	}, nil)
	if !r.Error || !strings.Contains(r.Output, "stopped after 200ms") {
		t.Errorf("shell = %+v", r)
	}
	gone()
}
