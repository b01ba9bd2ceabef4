package store

import (
	"context"
	"database/sql"
	"errors"

	"belay/session/recovery"
)

// Trusted reports whether the user trusts the settings and instructions in a
// folder, and whether that was ever decided.
func (s *Store) Trusted(ctx context.Context, project string) (trusted, known bool, err error) {
	var sum sql.NullInt64
	err = s.reader.QueryRowContext(ctx, "SELECT trusted, sum FROM trust WHERE project = ?", project).
		Scan(&trusted, &sum)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, s.wrap("read trust", err)
	}
	if isAltered(sum, trustSum(project, trusted)) {
		return false, false, nil // ask again
	}
	return trusted, true, nil
}

func trustSum(project string, trusted bool) int64 {
	word := int64(0)
	if trusted {
		word = 1
	}
	return recovery.Sum(project, word)
}

// TrustedFolders lists the folders whose settings and instructions the user trusts.
func (s *Store) TrustedFolders(ctx context.Context) ([]string, error) {
	const step = "read trust"
	rows, err := s.reader.QueryContext(ctx, "SELECT project FROM trust WHERE trusted ORDER BY project")
	if err != nil {
		return nil, s.wrap(step, err)
	}
	defer rows.Close()
	var folders []string
	for rows.Next() {
		var folder string
		if err := rows.Scan(&folder); err != nil {
			return nil, s.wrap(step, err)
		}
		folders = append(folders, folder)
	}
	return folders, s.wrap(step, rows.Err())
}

// SetTrusted keeps the user's word about a folder.
func (s *Store) SetTrusted(ctx context.Context, project string, trusted bool) error {
	return s.write(ctx, "save trust", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO trust VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET trusted = excluded.trusted, time = excluded.time, sum = excluded.sum`,
			project, trusted, nanos(s.now()), trustSum(project, trusted))
		return err
	})
}
