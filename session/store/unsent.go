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
	return recovery.UnsentSum(string(id), project, data)
}

// restoreUnsent takes over what people were writing. Where SQLite cannot read that any
// more, the pages are read, in which also stands what was sent since: nothing is taken
// over that is older than what was said last in its place.
func restoreUnsent(ctx context.Context, s *Store, damaged *recovery.Database, kept string) error {
	list, err := readUnsent(ctx, kept)
	exact := err == nil
	if !exact {
		list = damaged.Unsent()
	}
	return s.write(ctx, "restore what was being written", func(tx *sql.Tx) error {
		for _, u := range list {
			var there bool
			var last sql.NullInt64
			const query = `SELECT ?1 = '' OR EXISTS (SELECT 1 FROM sessions WHERE id = ?1), (SELECT max(time) FROM events
				WHERE type IN ('turn.started', 'prompt.queued', 'prompt.steered')
				AND session IN (SELECT id FROM sessions WHERE id = ?1 OR ?1 = '' AND project = ?2))`
			if err := tx.QueryRowContext(ctx, query, u.Session, u.Project).Scan(&there, &last); err != nil {
				return err
			}
			if !there || !exact && last.Valid && last.Int64 >= nanos(u.Updated) {
				continue
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO unsent VALUES (?, ?, ?, ?, ?)", u.Session, u.Project, nanos(u.Updated),
				u.Data, unsentSum(u.Session, u.Project, u.Data))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// readUnsent reads what was being written, as long as all of it can be read.
func readUnsent(ctx context.Context, file string) (list []recovery.Unsent, err error) {
	db, err := sql.Open("sqlite", dataSource(file, "mode=ro"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close(), removeSharedMemory(file)) }()
	rows, err := db.QueryContext(ctx, "SELECT session, project, updated, data, sum FROM unsent")
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var u recovery.Unsent
		var at, sum int64
		if err := rows.Scan(&u.Session, &u.Project, &at, &u.Data, &sum); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		u.Updated = unixTime(at)
		if sum == unsentSum(u.Session, u.Project, u.Data) {
			list = append(list, u)
		}
	}
	return list, errors.Join(rows.Err(), rows.Close())
}
