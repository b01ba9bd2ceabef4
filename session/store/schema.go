package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// applicationID marks our files, so that another program's database is told from
// an old one of ours: "blay".
const applicationID = 0x626c6179

// migrations bring the schema from each version to the next. They have run on
// users' disks: never change one, only add.
//
// Rows of events are never changed. The columns of sessions beside head repeat
// what is in it, for the indexes. Search keeps no text, only which event holds
// which three letters (detail=none): a third of the size, at the price that a
// hit must be checked against the event.
var migrations = []string{`
	CREATE TABLE sessions (
		id       TEXT PRIMARY KEY,
		project  TEXT NOT NULL,
		updated  INTEGER NOT NULL, -- nanoseconds since 1970, like all times here
		archived INTEGER NOT NULL,
		deleted  INTEGER NOT NULL, -- 0: not deleted
		events   INTEGER NOT NULL, -- sequence number of the last event
		indexed  INTEGER NOT NULL, -- of the last event that search knows
		head     BLOB NOT NULL     -- session.Session as JSON
	);
	CREATE INDEX sessions_all ON sessions (deleted, archived, updated);
	CREATE INDEX sessions_project ON sessions (project, deleted, archived, updated);
	CREATE INDEX sessions_unindexed ON sessions (id) WHERE indexed < events;
	CREATE TABLE events (
		id      INTEGER PRIMARY KEY,
		session TEXT NOT NULL,
		seq     INTEGER NOT NULL,
		turn    INTEGER NOT NULL,
		time    INTEGER NOT NULL,
		type    TEXT NOT NULL,
		data    BLOB NOT NULL,     -- the event as JSON
		UNIQUE (session, seq)
	);
	CREATE INDEX events_prompts ON events (time) WHERE type = 'turn.started';
	CREATE VIRTUAL TABLE search USING fts5 (text, content='', contentless_delete=1, tokenize='trigram', detail=none);
	CREATE TABLE drafts (
		session TEXT PRIMARY KEY,
		data    BLOB NOT NULL      -- session.Draft as JSON
	);
	CREATE TABLE owners (
		session TEXT PRIMARY KEY,
		token   TEXT NOT NULL,     -- of the lease
		born    TEXT NOT NULL,     -- when the owning process began, as its system tells it
		beat    INTEGER NOT NULL,
		owner   BLOB NOT NULL      -- session.Owner as JSON
	);
	CREATE TABLE grants (
		project TEXT NOT NULL,
		rule    TEXT NOT NULL,
		time    INTEGER NOT NULL,
		PRIMARY KEY (project, rule)
	);
	CREATE TABLE trust (
		project TEXT PRIMARY KEY,
		trusted INTEGER NOT NULL,
		time    INTEGER NOT NULL
	);`,
	// 2: what is known of the models. Attempts are never changed, only deleted
	// when they are old. Repair tells events, sessions and drafts by their
	// number of columns (7, 8 and 2), so no other table may have as many.
	`
	CREATE TABLE capacity (
		key     TEXT PRIMARY KEY,  -- as package capacity names it
		value   BLOB NOT NULL,     -- its own
		updated INTEGER NOT NULL
	);
	CREATE TABLE attempts (
		id               INTEGER PRIMARY KEY,
		request_id       TEXT NOT NULL,
		project_id       TEXT NOT NULL,
		team_id          TEXT NOT NULL,
		environment      TEXT NOT NULL,
		model            TEXT NOT NULL,
		endpoint         TEXT NOT NULL,
		stream           INTEGER NOT NULL,
		input_tokens     INTEGER NOT NULL,
		output_tokens    INTEGER NOT NULL,
		concurrency      INTEGER NOT NULL,
		retry_count      INTEGER NOT NULL,
		fallback_model   TEXT NOT NULL,
		status_code      INTEGER NOT NULL,
		error_code       TEXT NOT NULL,
		latency_ms       INTEGER NOT NULL,
		created_at       INTEGER NOT NULL,
		session          TEXT NOT NULL,
		turn             INTEGER NOT NULL,
		step             TEXT NOT NULL,
		provider         TEXT NOT NULL,
		tier             TEXT NOT NULL,
		kind             TEXT NOT NULL, -- empty: it succeeded
		phase            TEXT NOT NULL,
		served_model     TEXT NOT NULL,
		first_token_ms   INTEGER NOT NULL,
		cached_tokens    INTEGER NOT NULL,
		reasoning_tokens INTEGER NOT NULL,
		cost             REAL NOT NULL,
		delay_ms         INTEGER NOT NULL
	);
	CREATE INDEX attempts_created ON attempts (created_at);`,
	// 3: sessions that carry out a step of another one, and are not listed.
	`
	CREATE TABLE parts (
		session TEXT PRIMARY KEY,
		whole   TEXT NOT NULL,     -- the session whose step it is
		step    INTEGER NOT NULL
	);
	CREATE INDEX parts_whole ON parts (whole);
	CREATE INDEX events_trees ON events (session) WHERE type IN ('checkpoint', 'rewinding');`,
	// 4: checksums (package recovery) tell what a disk altered. Rows from before have
	// none, and nobody can tell. Events then have 8 columns and drafts 3, the last of
	// them a number, by which recovery knows them from sessions.
	`
	ALTER TABLE events ADD COLUMN sum INTEGER;
	ALTER TABLE drafts ADD COLUMN sum INTEGER;
	ALTER TABLE grants ADD COLUMN sum INTEGER;
	ALTER TABLE trust ADD COLUMN sum INTEGER;`,
	// 5: prompts that a turn took while it ran, and what a person was writing.
	`
	CREATE INDEX events_taken ON events (time) WHERE type = 'prompt.taken';
	CREATE TABLE unsent (
		session TEXT NOT NULL,     -- empty: of a session that is not there yet
		project TEXT NOT NULL,
		updated INTEGER NOT NULL,
		data    BLOB NOT NULL,     -- session.Unsent as JSON
		sum     INTEGER NOT NULL,
		PRIMARY KEY (session, project)
	);`,
}

// schemaVersion reads the version of a database of ours; 0 is an empty one.
func schemaVersion(ctx context.Context, q querier) (int, error) {
	var version, owner, tables int
	err := q.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`).
		Scan(&version, &owner, &tables)
	if err != nil {
		return 0, fmt.Errorf("read schema: %w", err)
	}
	if owner != applicationID && (version != 0 || tables != 0) {
		return 0, newForeignError()
	}
	if version < 0 {
		return 0, &Error{Kind: ErrDamaged, Err: fmt.Errorf("its version is %d", version), Advice: repairHint}
	}
	return version, nil
}

func newForeignError() error {
	return &Error{Kind: ErrForeign, Advice: "move the file away, or set BELAY_HOME to another folder"}
}

// migrate takes the steps that are still missing, all in one transaction.
func migrate(ctx context.Context, db *sql.DB, steps []string) error {
	if version, err := schemaVersion(ctx, db); err != nil || version == len(steps) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer rollback(tx) //nolint:errcheck // after a commit there is nothing to undo
	// Another belay may have been faster.
	version, err := schemaVersion(ctx, tx)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return newNewerError(version)
	}
	for n, step := range steps[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("bring schema to version %d: %w", version+n+1, err)
		}
	}
	mark := fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", len(steps), applicationID)
	if _, err := tx.ExecContext(ctx, mark); err != nil {
		return err
	}
	return tx.Commit()
}

// openOlder reads a database that an older belay wrote: brought up to date
// where it lies, else as a copy. A command that only lists things is often the
// first one after an update.
func (s *Store) openOlder(ctx context.Context, older error) error {
	path := s.path
	if s.tempDir != "" {
		path = filepath.Join(s.tempDir, File)
	}
	if s.tempDir != "" || migrateFile(ctx, path) != nil {
		if s.tempDir == "" {
			var err error
			if path, err = s.copyAside(); err != nil {
				return older
			}
		}
		if err := migrateFile(ctx, path); err != nil {
			return errors.Join(older, err)
		}
		return s.openReader(ctx, path, "mode=rw")
	}
	return s.openReader(ctx, path, "mode=ro")
}

// readerPatience is how long a reader waits until it may bring a database up to
// date; afterwards a copy does as well.
const readerPatience = 5 * time.Second

func migrateFile(ctx context.Context, path string) error {
	db, err := connect(path, "mode=rw&_txlock=immediate", pragmas(busyTimeout))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	lock := newWriterLock(filepath.Dir(path), nil)
	lock.patience.limit = readerPatience
	err = lock.exclusively(ctx, func() error { return migrate(ctx, db, migrations) })
	return errors.Join(err, db.Close(), lock.close())
}

func newNewerError(version int) error {
	return &Error{
		Kind:   ErrNewer,
		Err:    fmt.Errorf("version %d, this belay knows up to %d", version, len(migrations)),
		Advice: "update belay, or set BELAY_HOME to another folder",
	}
}
