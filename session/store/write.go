package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"belay/session"
)

// Create begins a session.
func (s *Store) Create(ctx context.Context, e session.Created) (session.Session, error) {
	var head session.Session
	err := s.write(ctx, "create session", func(tx *sql.Tx) (err error) {
		head, err = s.create(ctx, tx, e)
		return err
	})
	return head, err
}

func (s *Store) create(ctx context.Context, tx *sql.Tx, e session.Created) (session.Session, error) {
	// With 2^40 ids a second collision in a row means that NewID is broken.
	for range 8 {
		id := s.newID()
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions VALUES (?, '', 0, 0, 0, 0, 0, '{}')", id)
		if code(err) == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
			continue
		}
		if err != nil {
			return session.Session{}, err
		}
		if e.PartOf != "" {
			if _, err := tx.ExecContext(ctx, "INSERT INTO parts VALUES (?, ?, ?)", id, e.PartOf, e.Step); err != nil {
				return session.Session{}, err
			}
		}
		_, head, err := s.append(ctx, tx, session.Session{ID: id}, 0, 0, []session.Event{e})
		return head, err
	}
	return session.Session{}, errors.New("all ids are taken")
}

// Append adds events to a session's log, all or none, and returns their
// records and the state that follows. When it returns, they are on the disk.
// A finished item of a reply, a cut-off or the end of a turn takes the place of
// the draft. It fails with an *OwnedError when another store holds the
// session.
func (s *Store) Append(ctx context.Context, id session.ID, turn int, events ...session.Event) ([]session.Record, session.Session, error) {
	var records []session.Record
	var head session.Session
	err := s.write(ctx, "save session", func(tx *sql.Tx) error {
		if err := s.mayWrite(ctx, tx, id); err != nil {
			return err
		}
		old, indexed, err := s.head(ctx, tx, id)
		if err != nil {
			return err
		}
		records, head, err = s.append(ctx, tx, old, indexed, turn, events)
		return err
	})
	if err != nil {
		return nil, session.Session{}, err
	}
	return records, head, nil
}

func (s *Store) append(ctx context.Context, tx *sql.Tx, head session.Session, indexed int64, turn int, events []session.Event) ([]session.Record, session.Session, error) {
	records := make([]session.Record, 0, len(events))
	at := stamp(s.now())
	replaced := false
	for _, e := range events {
		r := session.Record{Session: head.ID, Seq: head.LastSeq + 1, Turn: turn, Time: at, Event: e}
		row, err := insert(ctx, tx, r)
		if err != nil {
			return nil, head, err
		}
		if indexed == head.LastSeq { // otherwise the index is behind and is brought up in order
			if err := index(ctx, tx, row, e); err != nil {
				return nil, head, err
			}
			indexed = r.Seq
		}
		head.Apply(r)
		records = append(records, r)
		replaced = replaced || replacesDraft(e)
	}
	if replaced {
		if _, err := tx.ExecContext(ctx, "DELETE FROM drafts WHERE session = ?", head.ID); err != nil {
			return nil, head, err
		}
	}
	return records, head, saveHead(ctx, tx, head, indexed)
}

// insert writes one event and returns its row.
func insert(ctx context.Context, tx *sql.Tx, r session.Record) (int64, error) {
	name, data, err := session.Encode(r.Event)
	if err != nil {
		return 0, err
	}
	if data == nil {
		data = []byte{}
	}
	res, err := tx.ExecContext(ctx, "INSERT INTO events (session, seq, turn, time, type, data) VALUES (?, ?, ?, ?, ?, ?)",
		r.Session, r.Seq, r.Turn, nanos(r.Time), name, data)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func saveHead(ctx context.Context, tx *sql.Tx, head session.Session, indexed int64) error {
	data, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	_, err = tx.ExecContext(ctx, "UPDATE sessions SET project = ?, updated = ?, archived = ?, deleted = ?, events = ?, indexed = ?, head = ? WHERE id = ?",
		head.Project, nanos(head.Updated), head.Archived, nanos(head.Deleted), head.LastSeq, indexed, data, head.ID)
	return err
}

func replacesDraft(e session.Event) bool {
	switch e.(type) {
	case session.ItemAdded, session.CutOff, session.TurnEnded:
		return true
	}
	return false
}

// SaveDraft keeps the unfinished reply in place of the one before. It survives
// the death of the program; the last one may be lost with the power.
func (s *Store) SaveDraft(ctx context.Context, id session.ID, d session.Draft) error {
	const step = "save draft"
	data, err := json.Marshal(d)
	if err != nil {
		return s.fail(step, err)
	}
	return s.relaxed(ctx, step, func(tx *sql.Tx) error {
		if err := s.mayWrite(ctx, tx, id); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, "INSERT INTO drafts SELECT id, ? FROM sessions WHERE id = ? ON CONFLICT DO UPDATE SET data = excluded.data", data, id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, s.notFound(ctx, tx, id))
		}
		return nil
	})
}

// relaxed is write without waiting for the disk. The next write does.
func (s *Store) relaxed(ctx context.Context, step string, do func(*sql.Tx) error) (err error) {
	if s.readOnly {
		return s.write(ctx, step, do)
	}
	// The only connection is ours until it is given back, so nobody else
	// writes while it is careless.
	c, err := s.w.Conn(ctx)
	if err != nil {
		return s.fail(step, err)
	}
	defer func() { err = s.fail(step, errors.Join(err, c.Close())) }()
	if _, err := c.ExecContext(ctx, "PRAGMA synchronous = normal"); err != nil {
		return err
	}
	defer func() {
		_, again := c.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = full")
		err = errors.Join(err, again)
	}()
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, undo(tx))
	}
	return tx.Commit()
}

// stamp drops what does not survive the disk: the monotonic reading and the zone.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
