package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"belay/session"
)

func TestAnOlderSchemaIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	add(t, s, id, prompt("kept"))
	next := append(migrations[:len(migrations):len(migrations)], "CREATE TABLE later (x); INSERT INTO later VALUES (1)")
	for range 2 { // the second time there is nothing to do
		if err := migrate(ctx, s.writer, next); err != nil {
			t.Fatal(err)
		}
	}
	var version, rows int
	const query = "SELECT user_version, (SELECT count(*) FROM later) FROM pragma_user_version"
	if err := s.writer.QueryRow(query).Scan(&version, &rows); err != nil ||
		version != len(next) ||
		rows != 1 {
		t.Errorf("version = %d with %d rows, %v; want %d with 1", version, rows, err, len(next))
	}
	if head, err := s.Load(ctx, id); err != nil || head.LastSeq != 2 {
		t.Errorf("Load() = %+v, %v", head, err)
	}
	if _, err := Open(ctx, dir, Options{}); !errors.Is(err, ErrNewer) ||
		!strings.Contains(err.(interface{ Hint() string }).Hint(), "update belay") {
		t.Errorf("Open() of a newer schema = %v, want ErrNewer with a hint", err)
	}
	if _, err := Open(ctx, dir, Options{ReadOnly: true}); !errors.Is(err, ErrNewer) {
		t.Errorf("Open(ReadOnly) of a newer schema = %v, want ErrNewer", err)
	}
}

func TestAFailedStepChangesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	bad := append(migrations[:len(migrations):len(migrations)], "CREATE TABLE later (x); SELECT nonsense")
	if err := migrate(ctx, s.writer, bad); err == nil {
		t.Fatal("migrate() succeeded")
	}
	if v, err := schemaVersion(ctx, s.writer); err != nil || v != len(migrations) {
		t.Errorf("version = %d, %v; want %d", v, err, len(migrations))
	}
	if err := migrate(ctx, s.writer,
		append(migrations[:len(migrations):len(migrations)], "CREATE TABLE later (x)")); err != nil {
		t.Errorf("the good step after the bad = %v", err)
	}
}

func TestAFullDiskLosesNothingThatWasSaved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	if _, err := s.writer.Exec("PRAGMA max_page_count = 60"); err != nil {
		t.Fatal(err)
	}
	var err error
	saved := int64(1)
	for err == nil {
		var head session.Session
		if _, head, err = s.Append(ctx, id, 1, session.Noted{Text: strings.Repeat("x", 5000)}); err == nil {
			saved = head.LastSeq
		}
	}
	var e *Error
	if !errors.Is(err, ErrFull) || !errors.As(err, &e) || e.Hint() == "" {
		t.Fatalf("Append() = %v, want ErrFull with a hint", err)
	}
	if _, err := s.writer.Exec("PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if head := add(t, s, id, prompt("room again")); head.LastSeq != saved+1 {
		t.Errorf("Events = %d, want %d", head.LastSeq, saved+1)
	}
}

func TestABusyDatabaseIsNamed(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	id := create(t, a, "/p").ID
	tx, err := a.writer.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // only to free it
	b.lock.patience.limit = time.Millisecond
	_, _, err = b.Append(ctx, id, 1, prompt("x"))
	var e *Error
	if !errors.Is(err, ErrLocked) || !errors.As(err, &e) || e.Hint() == "" {
		t.Errorf("Append() = %v, want ErrLocked with a hint", err)
	}
	if _, err := b.Load(ctx, id); err != nil {
		t.Errorf("Load() beside a writer = %v", err)
	}
}

func TestWhatIsInTheWayIsNamed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, []byte("x"))
	if _, err := Open(ctx, file, Options{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Open(a file as folder) = %v, want ErrReadOnly", err)
	}
	if err := os.Mkdir(filepath.Join(dir, File), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, dir, Options{}); err == nil {
		t.Error("Open(a folder as database) succeeded")
	}
}

func TestAVersionThatCannotBeIsDamage(t *testing.T) {
	for version, want := range map[int]error{-1: ErrDamaged, -1 << 31: ErrDamaged, 1<<31 - 1: ErrNewer} {
		dir := t.TempDir()
		s := open(t, dir)
		if _, err := s.writer.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {ReadOnly: true}} {
			if s, err := Open(ctx, dir, o); !errors.Is(err, want) {
				t.Errorf("Open(version %d, %+v) = %v, %v, want %v", version, o, s, err, want)
			}
		}
	}
}
