package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"belay/models"
	"belay/session"
)

// Load returns the state of a session by its whole id.
func (s *Store) Load(ctx context.Context, id session.ID) (session.Session, error) {
	head, _, err := s.head(ctx, s.r, id)
	return head, s.fail("open session", err)
}

// head reads a session's state and how far it is indexed. A state that cannot
// be read is folded anew from the log.
func (s *Store) head(ctx context.Context, q querier, id session.ID) (session.Session, int64, error) {
	var data []byte
	var indexed int64
	err := q.QueryRowContext(ctx, "SELECT head, indexed FROM sessions WHERE id = ?", id).Scan(&data, &indexed)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Session{}, 0, s.notFound(ctx, q, id)
	}
	if err != nil {
		return session.Session{}, 0, err
	}
	var head session.Session
	if json.Unmarshal(data, &head) != nil || head.ID != id {
		head, err = fold(ctx, q, id)
	}
	return head, indexed, err
}

// fold computes the state of a session from its whole log.
func fold(ctx context.Context, q querier, id session.ID) (session.Session, error) {
	head := session.Session{ID: id}
	err := scan(ctx, q, id, 0, func(r session.Record, _ int64) error {
		head.Apply(r)
		return nil
	})
	head.ID = id
	return head, err
}

// Find returns the one session whose id begins with prefix. Capitals and the
// letters that look like digits are understood.
func (s *Store) Find(ctx context.Context, prefix string) (session.Session, error) {
	const step = "find session"
	from := strings.NewReplacer("o", "0", "i", "1", "l", "1").Replace(strings.ToLower(strings.TrimSpace(prefix)))
	for _, p := range slices.Compact([]string{strings.TrimSpace(prefix), from}) {
		if p == "" {
			break
		}
		heads, err := s.heads(ctx, "WHERE id = ? OR substr(id, 1, length(?)) = ? ORDER BY id = ? DESC, updated DESC LIMIT 6", p, p, p, p)
		if err != nil {
			return session.Session{}, s.fail(step, err)
		}
		if len(heads) == 1 || len(heads) > 1 && string(heads[0].ID) == p {
			return heads[0], nil
		}
		if len(heads) > 1 {
			return session.Session{}, &Error{
				Step: step, Kind: ErrAmbiguous, Err: fmt.Errorf("%q", prefix),
				Advice: "type more of the id: " + describe(heads),
			}
		}
	}
	return session.Session{}, s.fail(step, s.notFound(ctx, s.r, session.ID(prefix)))
}

// List returns the sessions that f names, the one touched last first. One whose
// program has died in mid-turn is shown as Interrupted, which its log says only
// after somebody opened it.
func (s *Store) List(ctx context.Context, f session.Filter) ([]session.Session, error) {
	where, args := conditions(f)
	where += " AND NOT EXISTS (SELECT 1 FROM parts WHERE parts.session = sessions.id)"
	limit := f.Limit
	if limit <= 0 {
		limit = -1
	}
	heads, err := s.heads(ctx, "WHERE "+where+" ORDER BY updated DESC, id LIMIT ?", append(args, limit)...)
	if err == nil {
		err = s.markDead(ctx, heads)
	}
	return heads, s.fail("list sessions", err)
}

func (s *Store) markDead(ctx context.Context, heads []session.Session) error {
	running := func(h session.Session) bool { return h.Status == session.Running }
	if !slices.ContainsFunc(heads, running) {
		return nil
	}
	owners, err := s.Owners(ctx)
	if err != nil {
		return err
	}
	for i := range heads {
		if _, alive := owners[heads[i].ID]; running(heads[i]) && !alive {
			heads[i].Status = session.Interrupted
		}
	}
	return nil
}

// Last returns the session of a project that was touched last.
func (s *Store) Last(ctx context.Context, project string) (session.Session, bool, error) {
	heads, err := s.List(ctx, session.Filter{Project: project, Limit: 1})
	if err != nil || len(heads) == 0 {
		return session.Session{}, false, err
	}
	return heads[0], true, nil
}

// conditions turns a filter into SQL over the columns of sessions.
func conditions(f session.Filter) (string, []any) {
	where := "deleted = 0 AND archived = ?"
	args := []any{f.Archived}
	if f.Deleted {
		where, args = "deleted > 0", nil
	}
	if f.Project != "" {
		where += " AND project = ?"
		args = append(args, f.Project)
	}
	return where, args
}

func (s *Store) heads(ctx context.Context, where string, args ...any) ([]session.Session, error) {
	rows, err := s.r.QueryContext(ctx, "SELECT id, head FROM sessions "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var heads []session.Session
	for rows.Next() {
		var id session.ID
		var data sql.RawBytes
		if err := rows.Scan(&id, &data); err != nil {
			return heads, err
		}
		var head session.Session
		if json.Unmarshal(data, &head) != nil || head.ID != id {
			head = session.Session{ID: id} // folded anew below, when the rows are closed
		}
		heads = append(heads, head)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return heads, err
	}
	for i := range heads {
		if heads[i].LastSeq > 0 {
			continue
		}
		if heads[i], err = fold(ctx, s.r, heads[i].ID); err != nil {
			return heads, err
		}
	}
	return heads, nil
}

// Draft returns the unfinished reply, if there is one.
func (s *Store) Draft(ctx context.Context, id session.ID) (session.Draft, bool, error) {
	var data []byte
	err := s.r.QueryRowContext(ctx, "SELECT data FROM drafts WHERE session = ?", id).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Draft{}, false, nil
	}
	var d session.Draft
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err != nil {
		return session.Draft{}, false, s.fail("read draft", err)
	}
	return d, true, nil
}

// Records returns the part of a session's log that ends before a sequence
// number (0: the end of the log), oldest first: at most limit records (0: no
// limit) with at most maxBytes of data (0: no limit), but always at least one.
// What cannot be read is told by a Noted in its place.
func (s *Store) Records(ctx context.Context, id session.ID, before int64, limit, maxBytes int) ([]session.Record, error) {
	first, last, err := s.page(ctx, id, before, limit, maxBytes)
	if err != nil {
		return nil, s.fail("read session", err)
	}
	if last == 0 {
		return nil, nil
	}
	records := make([]session.Record, 0, last-first+1)
	err = between(ctx, s.r, id, first, last, func(r session.Record, _ int64) error {
		records = append(records, r)
		return nil
	})
	return records, s.fail("read session", err)
}

// page measures which records fit, without reading them.
func (s *Store) page(ctx context.Context, id session.ID, before int64, limit, maxBytes int) (first, last int64, err error) {
	if before <= 0 {
		before = 1 << 62
	}
	if limit <= 0 {
		limit = -1
	}
	rows, err := s.r.QueryContext(ctx, "SELECT seq, length(data) FROM events WHERE session = ? AND seq < ? ORDER BY seq DESC LIMIT ?", id, before, limit)
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
	if err := rows.Err(); err != nil && (last == 0 || !damaged(err)) {
		return 0, 0, err
	}
	return first, last, nil
}

// scan goes through a session's log from a sequence number on, in pieces of
// bounded size.
func scan(ctx context.Context, q querier, id session.ID, from int64, do func(session.Record, int64) error) error {
	var end int64
	if err := q.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events WHERE session = ?", id).Scan(&end); err != nil {
		return err
	}
	const piece = 64
	for ; from <= end; from += piece {
		if err := between(ctx, q, id, from, min(from+piece-1, end), do); err != nil {
			return err
		}
	}
	return nil
}

// between gives the records from first to last with their rows to do. Where
// the database is damaged, each is read alone, and what stays unreadable is told.
func between(ctx context.Context, q querier, id session.ID, first, last int64, do func(session.Record, int64) error) error {
	records, rows, err := read(ctx, q, id, first, last)
	if err != nil && !damaged(err) {
		return err
	}
	if err != nil {
		records, rows = nil, nil
		for seq := max(first, 1); seq <= last; seq++ {
			one, row, err := read(ctx, q, id, seq, seq)
			if err != nil && !damaged(err) {
				return err
			}
			if err != nil {
				one, row = []session.Record{broken(id, seq, err)}, []int64{0}
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
	rows, err := q.QueryContext(ctx, "SELECT id, seq, turn, time, type, data FROM events WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq", id, first, last)
	if err != nil {
		return nil, nil, err
	}
	return records(rows, id)
}

// records reads rows of a session's events, with their row ids, and closes them.
func records(rows *sql.Rows, id session.ID) ([]session.Record, []int64, error) {
	defer rows.Close()
	var list []session.Record
	var ids []int64
	for rows.Next() {
		r := session.Record{Session: id}
		var row, at int64
		var name string
		var data sql.RawBytes
		err := rows.Scan(&row, &r.Seq, &r.Turn, &at, &name, &data)
		if err != nil {
			return nil, nil, err
		}
		r.Time = time.Unix(0, at).UTC()
		if r.Event, err = session.Decode(name, data); err != nil {
			r.Event = broken(id, r.Seq, err).Event
		}
		list, ids = append(list, r), append(ids, row)
	}
	return list, ids, rows.Err()
}

// broken stands where a record cannot be read.
func broken(id session.ID, seq int64, err error) session.Record {
	return session.Record{Session: id, Seq: seq, Event: session.Noted{Text: fmt.Sprintf("record %d of this session cannot be read (%v)", seq, err)}}
}

// notFound names the sessions whose ids are nearest.
func (s *Store) notFound(ctx context.Context, q querier, id session.ID) error {
	e := &Error{Kind: ErrNotFound, Err: fmt.Errorf("%q", string(id)), Advice: "see `belay sessions list`"}
	rows, err := q.QueryContext(ctx, "SELECT id FROM sessions WHERE deleted = 0 ORDER BY updated DESC LIMIT 2000")
	if err != nil {
		return errors.Join(e, err)
	}
	defer rows.Close()
	var near []string
	for rows.Next() {
		var other string
		if err := rows.Scan(&other); err != nil {
			return errors.Join(e, err)
		}
		if alike(string(id), other) {
			near = append(near, other)
		}
	}
	if len(near) > 0 {
		e.Advice = "did you mean " + strings.Join(near[:min(len(near), 3)], " or ") + "?"
	}
	return e
}

// alike reports whether a typed id is at most two slips away from the same
// length of another, or from the whole of it.
func alike(typed, id string) bool {
	if typed == "" {
		return false
	}
	limit := min(1+len(typed)/5, len(typed)/2) // one letter is like all of them
	return models.Distance(typed, id[:min(len(typed), len(id))]) <= limit || models.Distance(typed, id) <= limit
}

func describe(heads []session.Session) string {
	var list []string
	for _, h := range heads[:min(len(heads), 5)] {
		text := string(h.ID)
		if h.Title != "" {
			text += " (" + h.Title + ")"
		}
		list = append(list, text)
	}
	if len(heads) > 5 {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}
