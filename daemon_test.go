//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"belay/models/rehearsal"
	"belay/session/sandbox"
	"belay/session/sandbox/hold"
)

// The command leaves a daemon that ignores what it can, and both hold the pipe.
const daemonScript = `
[[reply]]
output = "the daemon is up"
text = "It is up."
[[reply]]
output = "killed from outside"
text = "I see."
[[reply]]
[[reply.calls]]
name = "shell"
arguments = { command = "exec 9>lives; (trap '' TERM HUP; setsid sleep 300 &); echo up >&9; %s" }
`

// startDaemon starts belay with a command that leaves a daemon, and gives what reads to
// its end when all of the command is gone.
func startDaemon(t *testing.T, rest string) (belay *exec.Cmd, said *bytes.Buffer, lives *os.File) {
	t.Helper()
	if sandbox.Detect() == sandbox.None {
		t.Skip("nothing holds commands here")
	}
	script, err := rehearsal.Parse("daemon.toml", []byte(fmt.Sprintf(daemonScript, rest)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(rehearsal.New(script, rehearsal.Options{}))
	t.Cleanup(server.Close)
	k := newKilled(t, server.URL)
	pipe := filepath.Join(k.dir, "work", "lives")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	said = &bytes.Buffer{}
	belay = exec.Command("belay", "run", "--approve", "all", "start it")
	belay.Dir, belay.Env, belay.Stdout, belay.Stderr = filepath.Dir(pipe), k.env, said, said
	if err := belay.Start(); err != nil {
		t.Fatal(err)
	}
	if lives, err = os.Open(pipe); err != nil { // the command has opened it too
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lives.Close() })
	if _, err := io.ReadFull(lives, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err, said)
	}
	return belay, said, lives
}

func TestADaemonEndsWithAKilledBelay(t *testing.T) {
	belay, said, lives := startDaemon(t, "sleep 300")
	if err := belay.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(lives); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	_ = belay.Wait()
	if belay.ProcessState.Success() {
		t.Errorf("it was not killed: %s", said)
	}
}

func TestADaemonEndsWithItsCommand(t *testing.T) {
	belay, said, lives := startDaemon(t, "echo the daemon is up")
	if rest, err := io.ReadAll(lives); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if err := belay.Wait(); err != nil || !strings.Contains(said.String(), "It is up.") {
		t.Errorf("%v: %s", err, said)
	}
}

func TestARunFinishesWithoutItsHolder(t *testing.T) {
	belay, said, lives := startDaemon(t, "sleep 300")
	killed := 0
	for _, pid := range childrenOf(t, belay.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed++
	}
	if killed == 0 {
		t.Fatal("nothing holds the command")
	}
	if rest, err := io.ReadAll(lives); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if err := belay.Wait(); err != nil || !strings.Contains(said.String(), "I see.") {
		t.Errorf("%v: %s", err, said)
	}
}

// childrenOf lists the holders that a process has started.
func childrenOf(t *testing.T, parent int) (list []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		name, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", parent)) &&
			strings.TrimRight(string(name), "\x00") == hold.Name {
			list = append(list, pid)
		}
	}
	return list
}
