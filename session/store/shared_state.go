package store

import (
	"context"
	"database/sql"
	"errors"
)

// UpdateShared changes one value of the state that all running belays share, while
// nobody else can. Change gets the old value, nil when there is none; when it
// returns nil nothing is written. After a power failure the last changes may be
// missing: they are worth less than the time the disk would take.
func (s *Store) UpdateShared(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	return s.writeRelaxed(ctx, "save capacity", func(tx *sql.Tx) error {
		var old []byte
		err := tx.QueryRowContext(ctx, "SELECT value FROM capacity WHERE key = ?", key).Scan(&old)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		value, err := change(old)
		if err != nil || value == nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO capacity VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET value = excluded.value, updated = excluded.updated`,
			key, value, nanos(s.now()))
		return err
	})
}

// SharedStates returns the state that all running belays share.
func (s *Store) SharedStates(ctx context.Context) (map[string][]byte, error) {
	const step = "read capacity"
	rows, err := s.reader.QueryContext(ctx, "SELECT key, value FROM capacity")
	if err != nil {
		return nil, s.wrap(step, err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	all := make(map[string][]byte)
	for rows.Next() {
		var key string
		var value []byte
		if err := rows.Scan(&key, &value); err != nil {
			return nil, s.wrap(step, err)
		}
		all[key] = value
	}
	return all, s.wrap(step, rows.Err())
}
