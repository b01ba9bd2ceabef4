//go:build unix

package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// lives makes a pipe in the workspace that reads to its end only when every
// process that opened it for writing is gone.
func lives(t *testing.T, s *Set) (gone <-chan []byte) {
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
	return end
}

func TestAStopKillsTheWholeGroup(t *testing.T) {
	s := workspace(t, nil)
	s.reaper.grace = 20 * time.Millisecond
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
	<-gone
}

func TestACommandThatLeavesAChildBehindReturns(t *testing.T) {
	s := workspace(t, nil)
	gone := lives(t, s)
	if _, r := call(t, s, "shell", `{"command":"exec 9>lives; sleep 300 & echo started"}`); r.Error ||
		r.Output != "started\n" {
		t.Errorf("shell = %+v", r)
	}
	<-gone
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
	<-gone
}

func TestTheReaperEndsWhatOutlivesBelay(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := exec.Command("true")
	ownGroup(done)
	if err := done.Run(); err != nil {
		t.Fatal(err)
	}
	Reap(
		strings.NewReader(
			fmt.Sprintf("+%d\n+%d\n-%d\nnonsense\n-1\n+1\n", cmd.Process.Pid, done.Process.Pid, done.Process.Pid),
		),
	)
	if err := cmd.Wait(); err == nil || exitCode(cmd.ProcessState) != 137 {
		t.Errorf("the command ended with %v, want a kill", err)
	}
}

func TestACommandWaitsAtItsGate(t *testing.T) {
	for name, tt := range map[string]struct {
		run  bool
		want int
	}{"runs when the gate opens": {true, 7}, "ends without having run when belay is gone": {false, 125}} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/bin/sh", "-c", `exit "$0"`, "7")
			open, err := startGate(cmd)
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := open(tt.run); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != tt.want {
				t.Errorf("the command ended with %v, want exit status %d", err, tt.want)
			}
		})
	}
}
