package queue

import (
	"context"
	"database/sql"
	"errors"

	"belay/models/capacity"
)

// Shared is the state of the models that all workers of this queue share: one
// worker's "no room" spares the others the attempt, and they keep one pace. On one
// machine the sessions' database has it already: then it is nil.
func (q *Queue) Shared() capacity.Shared {
	if !q.postgres {
		return nil
	}
	return sharedState{q}
}

type sharedState struct{ q *Queue }

// UpdateShared changes one value while nobody else can.
func (s sharedState) UpdateShared(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	err := s.q.inTx(ctx, func(tx *sql.Tx) error {
		if s.q.postgres { // also for a key that has no row yet
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(7214563, hashtext($1))", key); err != nil {
				return err
			}
		}
		var old []byte
		err := tx.QueryRowContext(ctx, s.q.bind("SELECT value FROM belay_shared WHERE key = ?"), key).Scan(&old)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		value, err := change(old)
		if err != nil || value == nil {
			return err
		}
		_, err = tx.ExecContext(ctx, s.q.bind(`INSERT INTO belay_shared (key, value, updated) VALUES (?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated = excluded.updated`),
			key, value, nanos(s.q.o.Now()))
		return err
	})
	if err != nil {
		return &Error{"share the state of the models", err, ""}
	}
	return nil
}

// SharedStates returns every key with its value.
func (s sharedState) SharedStates(ctx context.Context) (map[string][]byte, error) {
	const step = "read the state of the models"
	rows, err := s.q.db.QueryContext(ctx, "SELECT key, value FROM belay_shared")
	if err != nil {
		return nil, &Error{step, err, ""}
	}
	defer rows.Close()
	all := map[string][]byte{}
	for rows.Next() {
		var key string
		var value []byte
		if err := rows.Scan(&key, &value); err != nil {
			return nil, &Error{step, err, ""}
		}
		all[key] = value
	}
	if err := rows.Err(); err != nil {
		return nil, &Error{step, err, ""}
	}
	return all, nil
}
