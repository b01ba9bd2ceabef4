package store

import (
	"context"
	"errors"
	"strings"

	"belay/session"
)

// EventsOfType returns the records of a session that hold events of these stored
// names, oldest first.
func (s *Store) EventsOfType(ctx context.Context, id session.ID, names ...string) ([]session.Record, error) {
	const step = "read session"
	args := []any{id}
	for _, name := range names {
		args = append(args, name)
	}
	rows, err := s.r.QueryContext(ctx, "SELECT id, seq, turn, time, type, data FROM events WHERE session = ? AND type IN (?"+strings.Repeat(", ?", len(names)-1)+") ORDER BY seq", args...)
	if err != nil {
		return nil, s.fail(step, err)
	}
	list, _, err := records(rows, id)
	return list, s.fail(step, err)
}

// StateAt folds a session's log up to a record. It reads all of that.
func (s *Store) StateAt(ctx context.Context, id session.ID, seq int64) (session.Session, error) {
	head := session.Session{ID: id}
	var done = errors.New("done")
	err := scan(ctx, s.r, id, 0, func(r session.Record, _ int64) error {
		if r.Seq > seq {
			return done
		}
		head.Apply(r)
		return nil
	})
	if errors.Is(err, done) {
		err = nil
	}
	return head, s.fail("read session", err)
}
