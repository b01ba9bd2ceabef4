package store

import (
	"context"
	"database/sql"
	"errors"
)

// Trusted reports whether the user trusts the settings and instructions in a
// folder, and whether that was ever decided.
func (s *Store) Trusted(ctx context.Context, project string) (trusted, known bool, err error) {
	err = s.reader.QueryRowContext(ctx, "SELECT trusted FROM trust WHERE project = ?", project).Scan(&trusted)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, s.wrap("read trust", err)
	}
	return trusted, true, nil
}

// SetTrusted keeps the user's word about a folder.
func (s *Store) SetTrusted(ctx context.Context, project string, trusted bool) error {
	return s.write(ctx, "save trust", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO trust VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET trusted = excluded.trusted, time = excluded.time`,
			project, trusted, nanos(s.now()))
		return err
	})
}
