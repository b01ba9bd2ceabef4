package store

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

func connect(path, mode, pragma string) (*sql.DB, error) {
	return sql.Open("sqlite", dataSource(path, mode+pragma))
}

// dataSource is a file's name as SQLite takes it, whatever signs are in it.
func dataSource(path, query string) string {
	at := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: query}
	return at.String()
}

func pragmas(list ...string) string {
	var query string
	for _, p := range list {
		query += "&_pragma=" + url.QueryEscape(p)
	}
	return query
}

// A new database is turned to its write-ahead log by whoever opens it first.
// SQLite refuses that at once to all others, whatever their busy_timeout.
const (
	openTimeout = 5 * time.Second
	openPause   = 20 * time.Millisecond
)

// waitUntilOpen makes the first connection, again while another belay holds the
// database for a moment.
func waitUntilOpen(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if code := sqliteCode(err) & 0xff; code != sqlite3.SQLITE_BUSY {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(openPause):
		}
	}
}
