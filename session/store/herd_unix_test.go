//go:build unix

package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"belay/session"
)

func TestAStoppedWriterIsToldHowItGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	holder := holdLock(t, dir)
	if err := holder.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for !processStopped(holder.Pid) { // it is stopped as soon as the system comes to it
	}
	for _, text := range []string{s.lock.reason(), s.lock.advice()} {
		if want := fmt.Sprintf("kill -CONT %d", holder.Pid); !strings.Contains(text, want) {
			t.Errorf("it is said %q, want %q in it", text, want)
		}
	}
}

func TestAPipeInPlaceOfTheDatabaseIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, File), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"for writing": func() error { _, err := Open(ctx, dir, Options{}); return err },
		"for reading": func() error { _, err := Open(ctx, dir, Options{ReadOnly: true}); return err },
		"repair":      func() error { _, err := Repair(ctx, dir); return err },
	} {
		if err := try(); !errors.Is(err, ErrNotDatabase) || !strings.Contains(session.ErrorHint(err), "a pipe") {
			t.Errorf("%s: %v, want ErrNotDatabase and a word on the pipe", name, err)
		}
	}
}
