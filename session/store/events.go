package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"belay/session"
	"belay/session/recovery"
)

// Append adds events to a session's log, all or none, and returns their
// records and the state that follows. When it returns, they are on the disk.
// A finished item of a reply, a cut-off or the end of a turn takes the place of
// the draft. It fails with an *OwnedError when another store holds the
// session.
func (s *Store) Append(
	ctx context.Context, id session.ID, turn int, events ...session.Event,
) ([]session.Record, session.Session, error) {
	var records []session.Record
	var state session.Session
	err := s.write(ctx, "save session", func(tx *sql.Tx) error {
		if err := s.checkOwner(ctx, tx, id); err != nil {
			return err
		}
		old, indexed, err := s.state(ctx, tx, id)
		if err != nil {
			return err
		}
		records, state, err = s.appendEvents(ctx, tx, old, indexed, turn, events)
		return err
	})
	if err != nil {
		return nil, session.Session{}, err
	}
	return records, state, nil
}

// appendEvents adds events to a state whose log is indexed up to a number.
func (s *Store) appendEvents(
	ctx context.Context, tx *sql.Tx, state session.Session, indexed int64, turn int, events []session.Event,
) ([]session.Record, session.Session, error) {
	records := make([]session.Record, 0, len(events))
	at := storedTime(s.now())
	replaced := false
	for _, e := range events {
		r := session.Record{Session: state.ID, Seq: state.LastSeq + 1, Turn: turn, Time: at, Event: e}
		row, err := insert(ctx, tx, r)
		if err != nil {
			return nil, state, err
		}
		if indexed == state.LastSeq { // otherwise the index is behind and is brought up in order
			if err := index(ctx, tx, row, e); err != nil {
				return nil, state, err
			}
			indexed = r.Seq
		}
		state.Apply(r)
		records = append(records, r)
		replaced = replaced || replacesDraft(e)
	}
	if replaced {
		if _, err := tx.ExecContext(ctx, "DELETE FROM drafts WHERE session = ?", state.ID); err != nil {
			return nil, state, err
		}
	}
	return records, state, saveState(ctx, tx, state, indexed)
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
	const statement = "INSERT INTO events (session, seq, turn, time, type, data, sum) VALUES (?, ?, ?, ?, ?, ?, ?)"
	at := nanos(r.Time)
	res, err := tx.ExecContext(ctx, statement,
		r.Session, r.Seq, r.Turn, at, name, data, recovery.EventSum(r.Seq, r.Turn, at, name, data))
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// Records returns the part of a session's log that ends before a sequence
// number (0: the end of the log), oldest first: at most limit records (0: no
// limit) with at most maxBytes of data (0: no limit), but always at least one.
// What cannot be read is told by a Noted in its place.
func (s *Store) Records(
	ctx context.Context, id session.ID, before int64, limit, maxBytes int,
) ([]session.Record, error) {
	if before <= 0 {
		before = 1 << 62
	}
	if limit <= 0 {
		limit = -1
	}
	const step = "read session"
	query := selectEvents + "AND seq < ? ORDER BY seq DESC LIMIT ?"
	rows, err := s.reader.QueryContext(ctx, query, id, before, limit)
	var page []session.Record
	if err == nil {
		page, _, err = records(rows, id, maxBytes)
		slices.Reverse(page)
	}
	if err == nil || !isDamaged(err) {
		return page, s.wrap(step, err)
	}
	first, last, err := pageBounds(ctx, s.reader, id, before, limit, maxBytes)
	if err != nil {
		return nil, s.wrap(step, err)
	}
	page = nil
	err = eachBetween(ctx, s.reader, id, first, last, func(r session.Record, _ int64) error {
		page = append(page, r)
		return nil
	})
	return page, s.wrap(step, err)
}

// pageBounds measures which records fit, without reading them: not all can be read.
func pageBounds(
	ctx context.Context, q querier, id session.ID, before int64, limit, maxBytes int,
) (first, last int64, err error) {
	const query = "SELECT seq, length(data) FROM events WHERE session = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
	rows, err := q.QueryContext(ctx, query, id, before, limit)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	total := int64(0)
	for rows.Next() {
		var seq, size int64
		if err := rows.Scan(&seq, &size); err != nil {
			return 0, 0, err
		}
		total += size
		if last == 0 {
			last = seq
		} else if maxBytes > 0 && total > int64(maxBytes) {
			break
		}
		first = seq
	}
	if err := rows.Err(); err != nil && (last == 0 || !isDamaged(err)) {
		return 0, 0, err
	}
	return first, last, nil
}

// selectEvents reads the events of a session; what follows narrows them.
const selectEvents = "SELECT id, seq, turn, time, type, data FROM events WHERE session = ? "

// EventsOfType returns the records of a session that hold events of these stored
// names, oldest first.
func (s *Store) EventsOfType(ctx context.Context, id session.ID, names ...string) ([]session.Record, error) {
	const step = "read session"
	args := []any{id}
	for _, name := range names {
		args = append(args, name)
	}
	query := selectEvents + "AND type IN (" + parameters(len(names)) + ") ORDER BY seq"
	rows, err := s.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.wrap(step, err)
	}
	list, _, err := records(rows, id, 0)
	return list, s.wrap(step, err)
}

// StateAt folds a session's log up to a record. It reads all of that.
func (s *Store) StateAt(ctx context.Context, id session.ID, seq int64) (session.Session, error) {
	head := session.Session{ID: id}
	var done = errors.New("done")
	err := eachFrom(ctx, s.reader, id, 0, func(r session.Record, _ int64) error {
		if r.Seq > seq {
			return done
		}
		head.Apply(r)
		return nil
	})
	if errors.Is(err, done) {
		err = nil
	}
	return head, s.wrap("read session", err)
}

// eachFrom goes through a session's log from a sequence number on, in pieces of
// bounded size.
func eachFrom(ctx context.Context, q querier, id session.ID, from int64, do func(session.Record, int64) error) error {
	var end int64
	const query = "SELECT coalesce(max(seq), 0) FROM events WHERE session = ?"
	if err := q.QueryRowContext(ctx, query, id).Scan(&end); err != nil {
		return err
	}
	const piece = 64
	for ; from <= end; from += piece {
		if err := eachBetween(ctx, q, id, from, min(from+piece-1, end), do); err != nil {
			return err
		}
	}
	return nil
}

// eachBetween gives the records from first to last with their rows to do. Where
// the database is damaged, each is read alone, and what stays unreadable is told.
func eachBetween(
	ctx context.Context, q querier, id session.ID, first, last int64, do func(session.Record, int64) error,
) error {
	records, rows, err := read(ctx, q, id, first, last)
	if err != nil && !isDamaged(err) {
		return err
	}
	if err != nil {
		records, rows = nil, nil
		for seq := max(first, 1); seq <= last; seq++ {
			one, row, err := read(ctx, q, id, seq, seq)
			if err != nil && !isDamaged(err) {
				return err
			}
			if err != nil {
				one, row = []session.Record{unreadable(id, seq, err)}, []int64{0}
			}
			records, rows = append(records, one...), append(rows, row...)
		}
	}
	for i, r := range records {
		if err := do(r, rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func read(ctx context.Context, q querier, id session.ID, first, last int64) ([]session.Record, []int64, error) {
	rows, err := q.QueryContext(ctx, selectEvents+"AND seq BETWEEN ? AND ? ORDER BY seq", id, first, last)
	if err != nil {
		return nil, nil, err
	}
	return records(rows, id, 0)
}

// records reads rows of a session's events, with their row ids, and closes them: at
// most maxBytes of data (0: no limit), but always one.
func records(rows *sql.Rows, id session.ID, maxBytes int) ([]session.Record, []int64, error) {
	defer rows.Close()
	var list []session.Record
	var ids []int64
	total := 0
	for rows.Next() {
		r := session.Record{Session: id}
		var row, at int64
		var name string
		var data sql.RawBytes
		err := rows.Scan(&row, &r.Seq, &r.Turn, &at, &name, &data)
		if err != nil {
			return nil, nil, err
		}
		if total += len(data); maxBytes > 0 && total > maxBytes && len(list) > 0 {
			break
		}
		r.Time = time.Unix(0, at).UTC()
		if r.Event, err = session.Decode(name, data); err != nil {
			r.Event = unreadable(id, r.Seq, err).Event
		}
		list, ids = append(list, r), append(ids, row)
	}
	return list, ids, rows.Err()
}

// unreadable stands where a record cannot be read.
func unreadable(id session.ID, seq int64, err error) session.Record {
	text := fmt.Sprintf("record %d of this session cannot be read (%v)", seq, err)
	return session.Record{Session: id, Seq: seq, Event: session.Noted{Text: text}}
}
