package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"belay/session"
	"belay/session/recovery"
)

// The kinds of errors, for errors.Is. The texts are for people.
var (
	ErrNotFound    = errors.New("no such session")
	ErrAmbiguous   = errors.New("several sessions begin like that")
	ErrOwned       = errors.New("the session is open elsewhere")
	ErrTakenOver   = errors.New("another belay has taken the session over")
	ErrLocked      = errors.New("the session database is busy")
	ErrReadOnly    = errors.New("the session database cannot be written to")
	ErrFull        = errors.New("the disk is full")
	ErrDisk        = errors.New("the disk does not obey")
	ErrNotDatabase = errors.New("the file is not a session database")
	ErrForeign     = errors.New("the file is another program's database")
	ErrDamaged     = errors.New("the session database is damaged")
	ErrTruncated   = errors.New("the session database is cut short")
	ErrNewer       = errors.New("the session database was written by a newer belay")
	ErrOlder       = errors.New("the session database was written by an older belay")
)

// Error is what went wrong with the store, with a hint for people.
type Error = session.DiskError

// OwnedError says which program may write to the session. It is ErrOwned, or
// ErrTakenOver for one who has lost a lease.
type OwnedError struct {
	ID   session.ID
	By   session.Owner
	Lost bool
}

// Error names the owner.
func (e *OwnedError) Error() string {
	if e.By.PID == 0 { // it took the session over and has left since
		return fmt.Sprintf("session %s: %v", e.ID, e.Unwrap())
	}
	return fmt.Sprintf("session %s: %v: %s, process %d on %s, since %s", e.ID, e.Unwrap(),
		e.By.Program, e.By.PID, e.By.Host, e.By.Since.Local().Format("2006-01-02 15:04"))
}

// Owner is who may write to the session now.
func (e *OwnedError) Owner() session.Owner { return e.By }

// Hint says how to get the session.
func (e *OwnedError) Hint() string {
	if e.Lost {
		return "go on there, or open the session here anew"
	}
	return "close it there, or take it over with belay -r " + string(
		e.ID,
	) + ": the other belay then stops writing to it"
}

// Unwrap gives ErrOwned or ErrTakenOver.
func (e *OwnedError) Unwrap() error {
	if e.Lost {
		return ErrTakenOver
	}
	return ErrOwned
}

const writableHint = "make file and folder writable, or set BELAY_HOME to another folder; lists and exports still work"

const repairHint = "run `belay sessions repair`: it saves what can be read and keeps the old file"

// wrap names the step of an error and finds out what kind it is.
func (s *Store) wrap(step string, err error) error { return wrapError(step, s.path, err) }

func wrapError(step, path string, err error) error {
	if err == nil {
		return nil
	}
	var ours *Error
	var owned *OwnedError
	switch {
	case errors.As(err, &owned):
		return fmt.Errorf("%s: %w", step, err)
	case errors.As(err, &ours):
		if ours.Step == "" {
			return &Error{Step: step, Path: ours.Path, Kind: ours.Kind, Err: ours.Err, Advice: ours.Advice}
		}
		return fmt.Errorf("%s: %w", step, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", step, err)
	}
	hint, kind := classify(err)
	return &Error{Step: step, Path: path, Kind: kind, Err: err, Advice: hint}
}

const fullHint = "free some space and go on: what was saved before is kept"

// IsFull reports whether an error says that there is no room on a disk: one of this
// package, also in words, of SQLite, of the system, or of a program such as git.
func IsFull(err error) bool {
	if err == nil {
		return false
	}
	_, kind := classify(err)
	return kind == ErrFull || errors.Is(err, ErrFull) || strings.Contains(err.Error(), ErrFull.Error()) ||
		strings.Contains(err.Error(), "No space left on device")
}

func classify(err error) (hint string, kind error) {
	if sqliteCode(err) == sqlite3.SQLITE_IOERR_SHMSIZE { // the file of shared memory could not grow
		return fullHint, ErrFull
	}
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return "another program holds it: close that one, or wait a moment and try again", ErrLocked
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return writableHint, ErrReadOnly
	case sqlite3.SQLITE_FULL:
		return fullHint, ErrFull
	case sqlite3.SQLITE_CORRUPT:
		return repairHint, ErrDamaged
	case sqlite3.SQLITE_NOTADB:
		return repairHint, ErrNotDatabase
	case sqlite3.SQLITE_IOERR:
		return "look at the disk, then run `belay sessions repair`", ErrDisk
	case sqlite3.SQLITE_CANTOPEN:
		return "check that file and folder exist and may be read and written", ErrReadOnly
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fullHint, ErrFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return writableHint, ErrReadOnly
	case errors.Is(err, syscall.ENOTDIR):
		return "a file is in the way of the data folder: set BELAY_HOME to another folder", ErrReadOnly
	}
	return "", nil
}

// sqliteCode is SQLite's result code, or 0.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func isDamaged(err error) bool {
	c := sqliteCode(err) & 0xff
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB || c == sqlite3.SQLITE_IOERR && !IsFull(err)
}

func isCannotOpen(err error) bool {
	c := sqliteCode(err) & 0xff
	return c == sqlite3.SQLITE_CANTOPEN || c == sqlite3.SQLITE_READONLY
}

// checkHeader looks at the first bytes of a database file, because SQLite takes
// some ruins for an empty database and names others in riddles.
func checkHeader(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := checkRegular(info, path); err != nil {
		return err
	}
	size := info.Size()
	if size == 0 {
		return nil
	}
	var head [112]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !strings.HasPrefix(string(head[:n]), recovery.Magic) {
		return &Error{Kind: ErrNotDatabase, Path: path, Advice: repairHint}
	}
	page, pages := recovery.Geometry(head[:])
	wal, err := os.Stat(path + "-wal")
	atRest := err != nil || wal.Size() == 0
	if n == len(head) && atRest && isForeign(head[:]) {
		return newForeignError() // before opening it for writing changes it
	}
	if n < len(head) || page > 0 && size < int64(page)*pages && atRest {
		return &Error{
			Kind: ErrTruncated, Path: path, Advice: repairHint,
			Err: fmt.Errorf("%d of %d bytes", size, int64(page)*pages),
		}
	}
	return nil
}

// checkRegular refuses what is no file. Merely opening a pipe would wait for a
// writer for ever.
func checkRegular(info fs.FileInfo, path string) error {
	if info.Mode().IsRegular() {
		return nil
	}
	const advice = "is in the way: move it, or set BELAY_HOME to another folder"
	what := "something that is no file "
	switch {
	case info.IsDir():
		what = "a folder "
	case info.Mode()&fs.ModeNamedPipe != 0:
		what = "a pipe "
	}
	return &Error{Kind: ErrNotDatabase, Path: path, Advice: what + advice}
}

// checkPath is checkRegular for what need not exist.
func checkPath(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // opening it tells
	}
	return checkRegular(info, path)
}
