package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"

	"belay/session"
	"belay/session/recovery"
)

// Unsent keeps what people are writing in their composers.
type Unsent struct{ store *Store }

// NewUnsent gives access to what a store keeps of that.
func NewUnsent(s *Store) Unsent { return Unsent{s} }

// unsent is a row's JSON: what was being written, and who wrote it.
type unsent struct {
	session.Unsent
	PID  int    `json:"pid"`
	Born string `json:"born"` // when that process began
}

// SaveUnsent keeps what a person is writing in a session or, for an empty id, in a
// folder before there is a session. An empty text is forgotten.
func (w Unsent) SaveUnsent(ctx context.Context, id session.ID, project string, u session.Unsent) error {
	s := w.store
	const step = "save what was being written"
	if id != "" {
		project = ""
	}
	pid := os.Getpid()
	data, err := json.Marshal(unsent{u, pid, processStart(pid)})
	if err != nil {
		return s.wrap(step, err)
	}
	return s.writeRelaxed(ctx, step, func(tx *sql.Tx) error {
		if u.Empty() {
			_, err := tx.ExecContext(ctx, "DELETE FROM unsent WHERE session = ? AND project = ?", id, project)
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO unsent VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
			SET updated = excluded.updated, data = excluded.data, sum = excluded.sum`,
			id, project, nanos(s.now()), data, unsentSum(id, project, data))
		return err
	})
}

// LoadUnsent gives what was being written. What another belay is writing right now,
// before it has a session, is its own.
func (w Unsent) LoadUnsent(ctx context.Context, id session.ID, project string) (session.Unsent, error) {
	s := w.store
	if id != "" {
		project = ""
	}
	var data []byte
	var sum sql.NullInt64
	err := s.reader.QueryRowContext(ctx, "SELECT data, sum FROM unsent WHERE session = ? AND project = ?", id, project).
		Scan(&data, &sum)
	if errors.Is(err, sql.ErrNoRows) || err == nil && isAltered(sum, unsentSum(id, project, data)) {
		return session.Unsent{}, nil
	}
	var found unsent
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	if err != nil {
		return session.Unsent{}, s.wrap("read what was being written", err)
	}
	if id == "" && found.PID != os.Getpid() {
		if born := processStart(found.PID); born != "" && (born == "?" || born == found.Born) {
			return session.Unsent{}, nil
		}
	}
	return found.Unsent, nil
}

func unsentSum(id session.ID, project string, data []byte) int64 {
	return recovery.Sum(string(id), project, data)
}
