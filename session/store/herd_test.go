package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"belay/session"
)

// herdWrites is how often each process of a herd writes.
const herdWrites = 20

// childOfHerd opens what may not be there yet, and writes as a belay does.
func childOfHerd() {
	err := runChildOfHerd()
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runChildOfHerd() error {
	dir := os.Getenv("DIR")
	reading, err := Open(ctx, dir, Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if _, _, err := reading.Trusted(ctx, "/p"); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if err := reading.Close(); err != nil {
		return err
	}
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	created, err := s.Create(ctx, session.Created{Project: "/p"})
	if err != nil {
		return err
	}
	for range herdWrites {
		if _, _, err := s.Append(ctx, created.ID, 1, prompt("one more")); err != nil {
			return err
		}
		count := func(old []byte) ([]byte, error) { return append(old, 'x'), nil }
		if err := s.UpdateShared(ctx, "count", count); err != nil {
			return err
		}
		if _, err := s.SharedStates(ctx); err != nil {
			return err
		}
	}
	return s.Close()
}

func TestManyProcessesBeginAtOnceAndNoneFails(t *testing.T) {
	rounds, size := 4, 50
	if testing.Short() {
		rounds, size = 1, 12
	}
	for round := range rounds {
		dir := t.TempDir() // an empty one
		if round%2 == 1 {
			if err := open(t, dir).Close(); err != nil {
				t.Fatal(err)
			}
		}
		var herd []*exec.Cmd
		var outputs []*strings.Builder
		for range size {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "STORE_TEST_CHILD=herd", "DIR="+dir)
			var out strings.Builder
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			herd, outputs = append(herd, cmd), append(outputs, &out)
		}
		for i, cmd := range herd {
			if err := cmd.Wait(); err != nil {
				t.Errorf("round %d, process %d: %v: %s", round, i, err, outputs[i])
			}
		}
		s := open(t, dir)
		sessions, err := s.List(ctx, session.Filter{})
		if err != nil || len(sessions) != size {
			t.Fatalf("round %d: %d sessions, %v, want %d", round, len(sessions), err, size)
		}
		for _, one := range sessions {
			if one.LastSeq != 1+herdWrites {
				t.Errorf("round %d: session %s has %d events, want %d", round, one.ID, one.LastSeq, 1+herdWrites)
			}
		}
		states, err := s.SharedStates(ctx)
		if got := len(states["count"]); err != nil || got != size*herdWrites {
			t.Errorf("round %d: %d shared changes, %v, want %d", round, got, err, size*herdWrites)
		}
	}
}

// childHoldsTheLock is a writer that does not come to its end.
func childHoldsTheLock() {
	s, err := Open(ctx, os.Getenv("DIR"), Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	_ = s.write(ctx, "hold", func(*sql.Tx) error {
		fmt.Println("held")
		time.Sleep(time.Hour) // until it is killed
		return nil
	})
}

// holdLock starts a process that has the lock of a folder.
func holdLock(t *testing.T, dir string) *os.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD=hold", "DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil || line != "held" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	return cmd.Process
}

func TestAWriterThatDoesNotEndIsNamed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	holder := holdLock(t, dir)
	told := make(chan string, 8)
	s.lock.notice = func(text string) { told <- text }
	s.lock.patience.limit, s.lock.noticeDelay = 50*time.Millisecond, time.Millisecond

	_, _, err := s.Append(ctx, id, 1, prompt("x"))
	want := fmt.Sprintf("process %d", holder.Pid)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), want) {
		t.Errorf("Append() = %v, want ErrLocked with %q", err, want)
	}
	if got := <-told; !strings.Contains(got, want) {
		t.Errorf("told %q, want %q in it", got, want)
	}

	// What gave up keeps nothing: when the holder has gone, writing goes on.
	s.lock.patience.limit = writerPatience
	if err := holder.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Append(ctx, id, 1, prompt("y")); err != nil {
		t.Errorf("Append() after the holder = %v", err)
	}
}

func TestOpeningAndReadingDoNotWaitForAWriter(t *testing.T) {
	dir := t.TempDir()
	id := create(t, open(t, dir), "/p").ID
	holdLock(t, dir)
	for _, o := range []Options{{}, {ReadOnly: true}} {
		s, err := Open(ctx, dir, o)
		if err != nil {
			t.Fatalf("Open(%+v) beside a writer = %v", o, err)
		}
		if _, err := s.Load(ctx, id); err != nil {
			t.Errorf("Load() beside a writer = %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhoIsInAHurryDoesNotWaitForAnotherWriter(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	id := create(t, a, "/p").ID
	release, err := a.lock.acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan error)
	began := make(chan struct{})
	b.lock.noticeDelay = time.Millisecond
	b.lock.notice = func(string) { close(began) }
	go func() {
		_, _, err := b.Append(ctx, id, 1, prompt("x"))
		waits <- err
	}()
	<-began
	b.Hurry()
	b.Hurry() // which does not begin anew
	if err := <-waits; !errors.Is(err, ErrLocked) {
		t.Errorf("Append() = %v, want ErrLocked", err)
	}
	if _, _, err := b.Append(ctx, id, 1, prompt("y")); !errors.Is(err, ErrLocked) {
		t.Errorf("Append() soon after = %v, want ErrLocked", err)
	}
	release()
	b.lock.patience.hurried = time.Time{}
	if _, _, err := b.Append(ctx, id, 1, prompt("z")); err != nil {
		t.Errorf("Append() of a free database = %v", err)
	}
}
