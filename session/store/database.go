package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
)

// OpenDatabase opens another database of belay's beside the sessions, made if it is
// missing, with one connection: SQLite has one writer at a time, and who waits for
// it waits here. Before a write begins, it waits for those of other processes.
func OpenDatabase(ctx context.Context, path string) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	db, err := connect(path, "_txlock=immediate", pragmas(
		"busy_timeout(30000)", "journal_mode(wal)", "synchronous("+synchronous()+")", "foreign_keys(1)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// ReadDatabase opens such a database to read it. It is not made.
func ReadDatabase(path string) (*sql.DB, error) {
	return connect(path, "mode=ro", pragmas("busy_timeout(1000)"))
}

// ProcessStart tells when a process began, in a form that only compares as equal: with
// its number it names the process. It is empty when there is no such process, and "?"
// when that cannot be told.
func ProcessStart(pid int) string { return processStart(pid) }
