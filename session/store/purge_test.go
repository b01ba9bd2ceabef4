package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"belay/session"
)

func TestOutputsGoWithTheirSession(t *testing.T) {
	outputs, elsewhere := t.TempDir(), t.TempDir()
	file := func(dir, name string) string {
		write(t, filepath.Join(dir, name), []byte("output"))
		return filepath.Join(dir, name)
	}
	s, err := Open(ctx, t.TempDir(), Options{Now: func() time.Time { return time.Unix(1500, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ran := func(file string) session.Event { return session.ToolEnded{Tool: "shell", Output: "…", File: file} }
	gone, stays := create(t, s, "/p"), create(t, s, "/p")
	add(t, s, gone.ID, prompt("x"), ran(file(outputs, "gone")), ran(file(elsewhere, "other")),
		session.TurnEnded{Outcome: session.OutcomeDone}, ran(filepath.Join(outputs, "missing")))
	add(t, s, stays.ID, ran(file(outputs, "stays")))
	step, err := s.Create(ctx, session.Created{Project: "/p", PartOf: gone.ID, Step: 1})
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, step.ID, ran(file(outputs, "step")))

	forked := create(t, s, "/p")
	add(t, s, forked.ID, prompt("y"), ran(file(outputs, "shared")), session.TurnEnded{Outcome: session.OutcomeDone})
	if _, err := s.Fork(ctx, forked.ID, 0); err != nil {
		t.Fatal(err)
	}
	for _, id := range []session.ID{gone.ID, forked.ID} {
		add(t, s, id, session.ArchiveChanged{Deleted: time.Unix(1500, 0)})
	}
	if n, err := s.Purge(ctx, time.Unix(2000, 0), outputs); n != 2 || err != nil {
		t.Fatalf("Purge() = %d, %v, want 2", n, err)
	}
	var left []string
	for _, dir := range []string{outputs, elsewhere} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			left = append(left, e.Name())
		}
	}
	if got, want := strings.Join(left, " "), "shared stays other"; got != want {
		t.Errorf("left are %q, want %q", got, want)
	}
}
