package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"belay/session"
)

// Purge removes for good the sessions that were deleted before a time and that
// no living program holds, and returns how many those were. Their words are
// overwritten in the file. Outputs is the folder with the outputs of commands that
// the sessions name; those go with them.
func (s *Store) Purge(ctx context.Context, before time.Time, outputs string) (int, error) {
	const step = "purge sessions"
	states, err := s.states(ctx, "WHERE deleted > 0 AND deleted < ?", nanos(before))
	if err != nil {
		return 0, s.wrap(step, err)
	}
	count := 0
	var files []string
	for _, h := range states {
		gone := false
		named, err := outputFiles(ctx, s.reader, h.ID)
		if err != nil {
			return count, s.wrap(step, err)
		}
		err = s.write(ctx, step, func(tx *sql.Tx) error {
			var err error
			gone, err = s.purgeSession(ctx, tx, h.ID, before)
			return err
		})
		if err != nil {
			return count, err
		}
		if gone {
			count++
			files = append(files, named...)
		}
	}
	if count == 0 {
		return 0, nil
	}
	err = errors.Join(s.removeOutputs(ctx, outputs, files), s.vacuum(ctx))
	return count, s.wrap(step, err)
}

// outputFiles lists the files that keep outputs of a session and its steps; of all
// sessions, if the id is empty.
func outputFiles(ctx context.Context, q querier, id session.ID) (files []string, err error) {
	const query = `SELECT DISTINCT json_extract(CAST(data AS TEXT), '$.file') AS file FROM events
		WHERE type = 'tool.ended' AND json_valid(CAST(data AS TEXT)) AND file IS NOT NULL`
	const ofSession = " AND session IN (SELECT ?1 UNION SELECT session FROM parts WHERE whole = ?1)"
	which, args := "", []any(nil)
	if id != "" {
		which, args = ofSession, []any{id}
	}
	rows, err := q.QueryContext(ctx, query+which, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var file string
		if err := rows.Scan(&file); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, rows.Err()
}

// removeOutputs removes the files that no session names any more; a fork names those
// of its original.
func (s *Store) removeOutputs(ctx context.Context, dir string, files []string) error {
	files = slices.DeleteFunc(files, func(file string) bool { return filepath.Dir(file) != dir })
	if len(files) == 0 {
		return nil
	}
	named, err := outputFiles(ctx, s.reader, "")
	if err != nil {
		return err
	}
	for _, file := range files {
		if slices.Contains(named, file) {
			continue
		}
		if failed := os.Remove(file); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (s *Store) purgeSession(ctx context.Context, tx *sql.Tx, id session.ID, before time.Time) (bool, error) {
	if s.checkOwner(ctx, tx, id) != nil {
		return false, nil // in use: another time
	}
	if _, err := tx.ExecContext(ctx, "PRAGMA secure_delete = on"); err != nil {
		return false, err
	}
	// It may have been taken out of the bin meanwhile.
	res, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ? AND deleted > 0 AND deleted < ?",
		id, nanos(before))
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	var parts []session.ID
	rows, err := tx.QueryContext(ctx, "SELECT session FROM parts WHERE whole = ?", id)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var part session.ID
		if err := rows.Scan(&part); err != nil {
			return false, err
		}
		parts = append(parts, part)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return false, err
	}
	for _, gone := range append(parts, id) {
		if err := deleteSession(ctx, tx, gone); err != nil {
			return false, err
		}
	}
	return true, nil
}

// deleteSession removes all rows of a session.
func deleteSession(ctx context.Context, tx *sql.Tx, id session.ID) error {
	for _, query := range []string{
		"DELETE FROM search WHERE rowid IN (SELECT id FROM events WHERE session = ?)",
		"DELETE FROM events WHERE session = ?",
		"DELETE FROM drafts WHERE session = ?",
		"DELETE FROM unsent WHERE session = ?",
		"DELETE FROM owners WHERE session = ?",
		"DELETE FROM parts WHERE session = ?",
		"DELETE FROM sessions WHERE id = ?",
	} {
		if _, err := tx.ExecContext(ctx, query, id); err != nil {
			return err
		}
	}
	return nil
}

// vacuum drops the index's memory of deleted rows, gives free pages back to the
// disk and empties the log, where the words would live on.
func (s *Store) vacuum(ctx context.Context) error {
	release, err := s.lock.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	for _, query := range []string{
		"INSERT INTO search (search) VALUES ('optimize')",
		"PRAGMA incremental_vacuum",
		"PRAGMA wal_checkpoint(truncate)",
		"PRAGMA secure_delete = fast",
	} {
		rows, err := s.writer.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		for rows.Next() { // incremental_vacuum frees a page at each step
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}
