package sandbox

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eachProfile runs a test with each way to hold a command, also without namespaces.
func eachProfile(t *testing.T, test func(t *testing.T, p place, profile Profile)) {
	t.Helper()
	for name, profile := range map[string]Profile{
		"reading": {Reading: true}, "working": {}, "with the network": {Network: true}, "outside": {Outside: true},
	} {
		t.Run(name, func(t *testing.T) { test(t, newPlace(t), profile) })
	}
	t.Run("working without namespaces", func(t *testing.T) {
		withoutNamespaces(t)
		test(t, newPlace(t), Profile{})
	})
}

func withoutNamespaces(t *testing.T) {
	t.Helper()
	given := spaces
	spaces = func() bool { return false }
	t.Cleanup(func() { spaces = given })
}

// watched is a command whose output reads to its end only when all that it started is
// gone.
func (p place) watched(t *testing.T, line string) (cmd *exec.Cmd, output *os.File) {
	t.Helper()
	output, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = output.Close() })
	cmd = exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Stdout = p.root, theirs
	return cmd, output
}

func closeOutput(cmd *exec.Cmd) { _ = cmd.Stdout.(*os.File).Close() }

func TestWhatACommandStartedEndsWithIt(t *testing.T) {
	eachProfile(t, func(t *testing.T, p place, profile Profile) {
		for name, line := range map[string]string{
			"in the background": "sleep 300 & echo up",
			"nohup":             "nohup sleep 300 2>&1 & echo up",
			"a session":         "setsid sleep 300 & echo up",
			"a double fork":     "(setsid sh -c 'sleep 300 & sleep 300' & ) ; echo up",
			"ignored signals":   "(trap '' TERM HUP INT; sleep 300; sleep 300) & echo up",
			"without its mark":  "env -i setsid sleep 300 & echo up",
			"children of those": "sh -c 'while :; do sleep 0.01 & wait; done' & echo up",
			"a stopped one":     "sleep 300 & kill -STOP $!; echo up",
		} {
			cmd, output := p.watched(t, line)
			code, err := p.Run(t.Context(), cmd, profile, func(int) {})
			closeOutput(cmd)
			if err != nil || code != 0 {
				t.Fatalf("%s: %d, %v", name, code, err)
			}
			if said, err := io.ReadAll(output); err != nil || string(said) != "up\n" {
				t.Errorf("%s: %q, %v", name, said, err)
			}
		}
	})
}

func TestWhoeverKillsTheHolderEndsTheCommandAlone(t *testing.T) {
	eachProfile(t, func(t *testing.T, p place, profile Profile) {
		cmd, output := p.watched(t, "setsid sleep 300 & echo up; sleep 300")
		in := bufio.NewReader(output)
		group := make(chan int, 1)
		ended := make(chan error, 1)
		go func() {
			_, err := p.Run(t.Context(), cmd, profile, func(pid int) { group <- pid })
			closeOutput(cmd)
			ended <- err
		}()
		pid := <-group
		if line, err := in.ReadString('\n'); err != nil || line != "up\n" {
			t.Fatal(line, err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, ErrHolderKilled) {
			t.Errorf("it ended with %v", err)
		}
		if _, err := io.ReadAll(in); err != nil { // what it had started is gone too
			t.Error(err)
		}
		if out, code := p.work(t, profile, "echo next"); code != 0 || out != "next\n" {
			t.Errorf("the next one: %q, %d", out, code)
		}
	})
}

func TestAHolderThatWasKilledWhileItWaitedIsReplaced(t *testing.T) {
	p := newPlace(t)
	cmd := exec.Command("/bin/true")
	var holder int
	if _, err := p.Run(t.Context(), cmd, Profile{}, func(pid int) { holder = pid }); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(holder, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if out, code := p.work(t, Profile{}, "echo next"); code != 0 || out != "next\n" {
		t.Errorf("the next one: %q, %d", out, code)
	}
}

// fakeBelay is the variable that makes this test a program that runs one command.
const fakeBelay = "FAKE_BELAY"

func TestWhatRunsEndsWithBelay(t *testing.T) {
	if os.Getenv(fakeBelay) != "" {
		profile := Profile{Reading: os.Getenv(fakeBelay) == "reading", Outside: os.Getenv(fakeBelay) == "outside"}
		cmd := exec.Command("/bin/sh", "-c", "(trap '' TERM; setsid sleep 300 &) ; trap '' TERM; echo up; sleep 300")
		cmd.Stdout = os.Stdout
		_, err := New(Options{}).Run(t.Context(), cmd, profile, func(int) {})
		t.Fatal("it was not killed", err)
	}
	newPlace(t)
	for _, name := range []string{"reading", "working", "outside"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWhatRunsEndsWithBelay$")
		cmd.Env = append(os.Environ(), fakeBelay+"="+name)
		output, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(output)
		if line, err := in.ReadString('\n'); err != nil || line != "up\n" {
			t.Fatal(name, line, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 { // all are gone
			t.Errorf("%s: %q, %v", name, rest, err)
		}
		_ = cmd.Wait()
	}
}

// Without namespaces the network cannot be divided: a command has none at all then.
func TestWithoutNamespacesLandlockAndSeccompHold(t *testing.T) {
	withoutNamespaces(t)
	p := newPlace(t)
	for line, want := range map[string]bool{
		"echo x > a.txt && cat a.txt":      true,
		"echo x > $OUTSIDE/b.txt":          false,
		"cat $SECRET_PLACE/id":             false,
		"cat /proc/$PPID/environ":          false,
		"kill -0 $PPID":                    false,
		"mkdir d && mv a.txt d && rm -r d": true,
	} {
		if out, code := p.work(t, Profile{}, line); (code == 0) != want || strings.Contains(out, "SECRET") {
			t.Errorf("%s: %d, %q", line, code, out)
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to open sockets with")
	}
	for family, want := range map[string][2]bool{ // without and with the network
		"AF_INET": {false, true}, "AF_INET6": {false, true}, "AF_UNIX": {false, false}, "AF_PACKET": {false, false},
	} {
		for i, profile := range []Profile{{}, {Network: true}} {
			line := python + " -c 'import socket; socket.socket(socket." + family + ", socket.SOCK_STREAM)'"
			if out, code := p.work(t, profile, line); (code == 0) != want[i] {
				t.Errorf("%s, network %v: %d, %s", family, profile.Network, code, out)
			}
		}
	}
}

func TestAnEndIsAskedForBeforeItIsMade(t *testing.T) {
	p := newPlace(t)
	p.o.Grace = time.Minute
	for _, profile := range []Profile{{}, {Outside: true}} {
		cmd, output := p.watched(t, "trap 'echo asked; exit' TERM; echo up; while :; do sleep 0.01; done")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := p.Run(ctx, cmd, profile, func(int) {})
			closeOutput(cmd)
			ended <- err
		}()
		in := bufio.NewReader(output)
		if line, err := in.ReadString('\n'); err != nil || line != "up\n" {
			t.Fatal(line, err)
		}
		cancel()
		if rest, err := io.ReadAll(in); err != nil || string(rest) != "asked\n" {
			t.Errorf("%q, %v", rest, err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
