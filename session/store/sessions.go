package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"belay/models"
	"belay/session"
)

// Create begins a session.
func (s *Store) Create(ctx context.Context, created session.Created) (session.Session, error) {
	var state session.Session
	err := s.write(ctx, "create session", func(tx *sql.Tx) (err error) {
		state, err = s.create(ctx, tx, created)
		return err
	})
	return state, err
}

func (s *Store) create(ctx context.Context, tx *sql.Tx, created session.Created) (session.Session, error) {
	// With 2^40 ids a second collision in a row means that NewID is broken.
	for range 8 {
		id := s.newID()
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions VALUES (?, '', 0, 0, 0, 0, 0, '{}')", id)
		if sqliteCode(err) == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
			continue
		}
		if err != nil {
			return session.Session{}, err
		}
		if created.PartOf != "" {
			if err := insertPart(ctx, tx, id, created.PartOf, created.Step); err != nil {
				return session.Session{}, err
			}
		}
		_, head, err := s.appendEvents(ctx, tx, session.Session{ID: id}, 0, 0, []session.Event{created})
		return head, err
	}
	return session.Session{}, errors.New("all ids are taken")
}

// insertPart notes that a session carries out a step of another one.
func insertPart(ctx context.Context, tx *sql.Tx, id, whole session.ID, step int) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO parts VALUES (?, ?, ?)", id, whole, step)
	return err
}

// Load returns the state of a session by its whole id.
func (s *Store) Load(ctx context.Context, id session.ID) (session.Session, error) {
	state, _, err := s.state(ctx, s.reader, id)
	return state, s.wrap("open session", err)
}

// state reads a session's state and how far it is indexed. A state that cannot
// be read is folded anew from the log.
func (s *Store) state(ctx context.Context, q querier, id session.ID) (session.Session, int64, error) {
	var data []byte
	var indexed int64
	err := q.QueryRowContext(ctx, "SELECT head, indexed FROM sessions WHERE id = ?", id).Scan(&data, &indexed)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Session{}, 0, s.notFound(ctx, q, id)
	}
	if err != nil {
		return session.Session{}, 0, err
	}
	var state session.Session
	if json.Unmarshal(data, &state) != nil || state.ID != id {
		state, err = foldState(ctx, q, id)
	}
	return state, indexed, err
}

// foldState computes the state of a session from its whole log.
func foldState(ctx context.Context, q querier, id session.ID) (session.Session, error) {
	head := session.Session{ID: id}
	err := eachFrom(ctx, q, id, 0, func(r session.Record, _ int64) error {
		head.Apply(r)
		return nil
	})
	head.ID = id
	return head, err
}

func saveState(ctx context.Context, tx *sql.Tx, state session.Session, indexed int64) error {
	data, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	_, err = tx.ExecContext(
		ctx,
		`UPDATE sessions SET project = ?, updated = ?, archived = ?, deleted = ?,
		events = ?, indexed = ?, head = ? WHERE id = ?`,
		state.Project,
		nanos(state.Updated),
		state.Archived,
		nanos(state.Deleted),
		state.LastSeq,
		indexed,
		data,
		state.ID,
	)
	return err
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
		states, err := s.states(ctx, `WHERE id = ? OR substr(id, 1, length(?)) = ?
			ORDER BY id = ? DESC, updated DESC LIMIT 6`, p, p, p, p)
		if err != nil {
			return session.Session{}, s.wrap(step, err)
		}
		if len(states) == 1 || len(states) > 1 && string(states[0].ID) == p {
			return states[0], nil
		}
		if len(states) > 1 {
			return session.Session{}, &Error{
				Step: step, Kind: ErrAmbiguous, Err: fmt.Errorf("%q", prefix),
				Advice: "type more of the id: " + listSessions(states),
			}
		}
	}
	return session.Session{}, s.wrap(step, s.notFound(ctx, s.reader, session.ID(prefix)))
}

// List returns the sessions that f names, the one touched last first. One whose
// program has died in mid-turn is shown as Interrupted, which its log says only
// after somebody opened it.
func (s *Store) List(ctx context.Context, filter session.Filter) ([]session.Session, error) {
	where, args := conditions(filter)
	where += " AND NOT EXISTS (SELECT 1 FROM parts WHERE parts.session = sessions.id)"
	limit := filter.Limit
	if limit <= 0 {
		limit = -1
	}
	states, err := s.states(ctx, "WHERE "+where+" ORDER BY updated DESC, id LIMIT ?", append(args, limit)...)
	if err == nil {
		err = s.markInterrupted(ctx, states)
	}
	return states, s.wrap("list sessions", err)
}

func (s *Store) markInterrupted(ctx context.Context, states []session.Session) error {
	running := func(h session.Session) bool { return h.Status == session.Running }
	if !slices.ContainsFunc(states, running) {
		return nil
	}
	owners, err := s.Owners(ctx)
	if err != nil {
		return err
	}
	for i := range states {
		if _, alive := owners[states[i].ID]; running(states[i]) && !alive {
			states[i].Status = session.Interrupted
		}
	}
	return nil
}

// Last returns the session of a project that was touched last.
func (s *Store) Last(ctx context.Context, project string) (session.Session, bool, error) {
	states, err := s.List(ctx, session.Filter{Project: project, Limit: 1})
	if err != nil || len(states) == 0 {
		return session.Session{}, false, err
	}
	return states[0], true, nil
}

// conditions turns a filter into SQL over the columns of sessions.
func conditions(filter session.Filter) (string, []any) {
	where := "deleted = 0 AND archived = ?"
	args := []any{filter.Archived}
	if filter.Deleted {
		where, args = "deleted > 0", nil
	}
	if filter.Project != "" {
		where += " AND project = ?"
		args = append(args, filter.Project)
	}
	return where, args
}

func (s *Store) states(ctx context.Context, where string, args ...any) ([]session.Session, error) {
	rows, err := s.reader.QueryContext(ctx, "SELECT id, head FROM sessions "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var states []session.Session
	for rows.Next() {
		var id session.ID
		var data sql.RawBytes
		if err := rows.Scan(&id, &data); err != nil {
			return states, err
		}
		var state session.Session
		if json.Unmarshal(data, &state) != nil || state.ID != id {
			state = session.Session{ID: id} // folded anew below, when the rows are closed
		}
		states = append(states, state)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return states, err
	}
	for i := range states {
		if states[i].LastSeq > 0 {
			continue
		}
		if states[i], err = foldState(ctx, s.reader, states[i].ID); err != nil {
			return states, err
		}
	}
	return states, nil
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
		if isNear(string(id), other) {
			near = append(near, other)
		}
	}
	if len(near) > 0 {
		e.Advice = "did you mean " + strings.Join(near[:min(len(near), 3)], " or ") + "?"
	}
	return e
}

// isNear reports whether a typed id is at most two slips away from the same
// length of another, or from the whole of it.
func isNear(typed, id string) bool {
	if typed == "" {
		return false
	}
	limit := min(1+len(typed)/5, len(typed)/2) // one letter is like all of them
	return models.Distance(typed, id[:min(len(typed), len(id))]) <= limit || models.Distance(typed, id) <= limit
}

func listSessions(heads []session.Session) string {
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
