//go:build unix

package store

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
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
