package store

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/session"
)

func TestOnlyTheHolderWrites(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	id := create(t, a, "/p").ID
	lease, err := a.Acquire(ctx, id, "screen", false)
	if err != nil {
		t.Fatal(err)
	}
	add(t, a, id, prompt("mine"))
	var owned *OwnedError
	if _, err := b.Acquire(ctx, id, "run", false); !errors.As(err, &owned) || !errors.Is(err, ErrOwned) {
		t.Fatalf("Acquire() of a held session = %v, want an *OwnedError", err)
	}
	if owned.By.PID != os.Getpid() || owned.By.Program != "screen" || owned.By.Since.IsZero() || owned.Hint() == "" {
		t.Errorf("Owner = %+v, want this process, screen and a time", owned.By)
	}
	if _, _, err := b.Append(ctx, id, 1, says("yours")); !errors.Is(err, ErrOwned) {
		t.Errorf("Append() by another = %v, want ErrOwned", err)
	}
	if err := b.SaveDraft(ctx, id, session.Draft{}); !errors.Is(err, ErrOwned) {
		t.Errorf("SaveDraft() by another = %v, want ErrOwned", err)
	}
	if owners, err := b.Owners(ctx); err != nil || len(owners) != 1 || owners[id] != lease.Owner() {
		t.Errorf("Owners() = %v, %v; want this one", owners, err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Errorf("Release() again = %v", err)
	}
	if _, found, err := b.Owner(ctx, id); err != nil || found {
		t.Errorf("Owner() after Release = %v, %v; want none", found, err)
	}
	add(t, b, id, says("free"))
}

func TestALeaseTakenOverCannotWrite(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	id := create(t, a, "/p").ID
	old, err := a.Acquire(ctx, id, "screen", false)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := b.Acquire(ctx, id, "run", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Append(ctx, id, 1, prompt("late")); !errors.Is(err, ErrTakenOver) {
		t.Errorf("Append() after a takeover = %v, want ErrTakenOver", err)
	}
	select {
	case <-old.Lost():
	default:
		t.Error("Lost() is open after a failed Append")
	}
	if err := old.Release(); err != nil {
		t.Fatal(err)
	}
	if owner, found, err := a.Owner(ctx, id); err != nil || !found || owner != taken.Owner() {
		t.Errorf("Owner() = %+v %v %v; releasing a lost lease must not free the session", owner, found, err)
	}
	add(t, b, id, prompt("mine now"))
}

// own writes an owner by hand, as another process would have.
func own(t *testing.T, s *Store, id session.ID, o session.Owner, born string, beat time.Time) {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.writer.Exec("INSERT OR REPLACE INTO owners VALUES (?, 'theirs', ?, ?, ?)", id, born, nanos(beat),
		data); err != nil {
		t.Fatal(err)
	}
}

func TestADeadOwnerIsReplaced(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	gone := child.Process.Pid
	me := os.Getpid()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		owner session.Owner
		born  string
		beat  time.Time
		dead  bool
	}{
		{"a process that is gone is dead", session.Owner{PID: gone, Host: host}, "?", now, true},
		{"a number used by a younger process is dead", session.Owner{PID: me, Host: host}, "earlier", now, true},
		{"a running process lives", session.Owner{PID: me, Host: host}, processStart(me), now, false},
		{"another machine with a fresh beat lives", session.Owner{PID: gone, Host: "else"}, "", now.Add(-30 * time.Second),
			false},
		{"another machine long silent is dead", session.Owner{PID: me, Host: "else"}, "", now.Add(-5 * time.Minute), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			id := create(t, s, "/p").ID
			own(t, s, id, tt.owner, tt.born, tt.beat)
			_, _, err := s.Append(ctx, id, 1, prompt("x"))
			if got := err == nil; got != tt.dead {
				t.Errorf("Append() beside it = %v, want success: %v", err, tt.dead)
			}
			_, err = s.Acquire(ctx, id, "run", false)
			if got := err == nil; got != tt.dead {
				t.Errorf("Acquire() = %v, want success: %v", err, tt.dead)
			}
		})
	}
}

func TestTheStoreRunsInABubble(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		head, err := s.Create(ctx, session.Created{Project: "/p", Tier: models.Heavy})
		if err != nil {
			t.Fatal(err)
		}
		lease, err := s.Acquire(ctx, head.ID, "run", false)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		time.Sleep(4 * time.Hour)
		head = add(t, s, head.ID, prompt("later"))
		if got := head.Updated.Sub(begun); got != 4*time.Hour {
			t.Errorf("Updated after %v, want 4h", got)
		}
		other, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.Acquire(ctx, head.ID, "run", true); err != nil {
			t.Fatal(err)
		}
		<-lease.Lost() // the heartbeat notices
	})
}

func TestASessionWhoseProgramDiedIsListedAsInterrupted(t *testing.T) {
	s := open(t, t.TempDir())
	head, err := s.Create(t.Context(), session.Created{Project: "/p"})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), head.ID, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Append(t.Context(), head.ID, 1,
		session.TurnStarted{Prompt: session.Prompt{ID: "a", Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	status := func() session.Status {
		list, err := s.List(t.Context(), session.Filter{})
		if err != nil || len(list) != 1 {
			t.Fatalf("List = %v, %v", list, err)
		}
		return list[0].Status
	}
	if got := status(); got != session.Running {
		t.Errorf("Status = %s while its program lives, want running", got)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if got := status(); got != session.Interrupted {
		t.Errorf("Status = %s when it is gone, want interrupted", got)
	}
}
