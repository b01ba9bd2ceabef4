package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"belay/session"
)

// Fork begins a session with a copy of another's log up to a sequence number
// (0: its end), moved back to where no turn is under way. The copy does nothing
// by itself: queued messages stay with the original, and a parked turn is
// stopped in the copy.
func (s *Store) Fork(ctx context.Context, id session.ID, at int64) (session.Session, error) {
	var head session.Session
	err := s.write(ctx, "fork session", func(tx *sql.Tx) error {
		old, _, err := s.head(ctx, tx, id)
		if err != nil {
			return err
		}
		end, err := border(ctx, tx, id, at)
		if err != nil {
			return err
		}
		head, err = s.create(ctx, tx, session.Created{Project: old.Project, Tier: old.Tier, Mode: old.Mode, Parent: id})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO events (session, seq, turn, time, type, data) SELECT ?, seq, turn, time, type, data FROM events WHERE session = ? AND seq BETWEEN 2 AND ? ORDER BY seq",
			head.ID, id, end)
		if err != nil {
			return err
		}
		if head, err = fold(ctx, tx, head.ID); err != nil {
			return err
		}
		_, head, err = s.append(ctx, tx, head, 0, head.Turn, quiet(head))
		return err
	})
	if err != nil {
		return session.Session{}, err
	}
	return head, s.fail("fork session", s.catchUp(ctx, head.ID))
}

// quiet are the events that keep a copied session from going on by itself.
func quiet(head session.Session) []session.Event {
	var events []session.Event
	if head.Archived || !head.Deleted.IsZero() {
		events = append(events, session.ArchiveChanged{})
	}
	for _, q := range head.Queue {
		events = append(events, session.PromptUnqueued{ID: q.ID})
	}
	if head.Status == session.Parked {
		why := fmt.Sprintf("forked from %s", head.Parent)
		events = append(events, session.TurnResumed{Why: why}, session.TurnEnded{Outcome: session.OutcomeStopped, Reason: why})
	}
	if head.PendingRewind != nil { // it is the original's to complete
		events = append(events, session.Rewound{})
	}
	if head.Live() {
		events = append(events, session.TurnEnded{Outcome: session.OutcomeStopped, Reason: fmt.Sprintf("forked from %s", head.Parent)})
	}
	if head.Plan != nil {
		for i, x := range head.Plan.Steps {
			if x.Started() && !x.Finished() { // its session belongs to the original
				events = append(events, session.StepMoved{Number: i + 1, Step: x.Reset()})
			}
		}
	}
	return append(events, session.Noted{Text: fmt.Sprintf("forked from %s", head.Parent)})
}

// border is the last sequence number up to at after which no turn is under way.
func border(ctx context.Context, q querier, id session.ID, at int64) (int64, error) {
	rows, err := q.QueryContext(ctx, "SELECT seq, type FROM events WHERE session = ? ORDER BY seq", id)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	end, live := int64(1), false
	for rows.Next() {
		var seq int64
		var name string
		if err := rows.Scan(&seq, &name); err != nil {
			return 0, err
		}
		if at > 0 && seq > at {
			break
		}
		switch name {
		case "turn.started", "turn.resumed":
			live = true
		case "turn.ended":
			live = false
		}
		if !live || seq == at && name == "checkpoint" { // between two steps
			end = seq
		}
	}
	return end, rows.Err()
}

// Purge removes for good the sessions that were deleted before a time and that
// no living program holds, and returns how many those were. Their words are
// overwritten in the file.
func (s *Store) Purge(ctx context.Context, before time.Time) (int, error) {
	const step = "purge sessions"
	heads, err := s.heads(ctx, "WHERE deleted > 0 AND deleted < ?", nanos(before))
	if err != nil {
		return 0, s.fail(step, err)
	}
	count := 0
	for _, h := range heads {
		gone := false
		err := s.write(ctx, step, func(tx *sql.Tx) error {
			var err error
			gone, err = s.purge(ctx, tx, h.ID, before)
			return err
		})
		if err != nil {
			return count, err
		}
		if gone {
			count++
		}
	}
	if count == 0 {
		return 0, nil
	}
	return count, s.fail(step, s.tidy(ctx))
}

func (s *Store) purge(ctx context.Context, tx *sql.Tx, id session.ID, before time.Time) (bool, error) {
	if s.mayWrite(ctx, tx, id) != nil {
		return false, nil // in use: another time
	}
	if _, err := tx.ExecContext(ctx, "PRAGMA secure_delete = on"); err != nil {
		return false, err
	}
	// It may have been taken out of the bin meanwhile.
	res, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ? AND deleted > 0 AND deleted < ?", id, nanos(before))
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	var parts []session.ID
	rows, err := tx.QueryContext(ctx, "SELECT session FROM parts WHERE whole = ?", id)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var part session.ID
		if err := rows.Scan(&part); err != nil {
			return false, err
		}
		parts = append(parts, part)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return false, err
	}
	for _, gone := range append(parts, id) {
		if err := erase(ctx, tx, gone); err != nil {
			return false, err
		}
	}
	return true, nil
}

// erase removes all rows of a session.
func erase(ctx context.Context, tx *sql.Tx, id session.ID) error {
	for _, query := range []string{
		"DELETE FROM search WHERE rowid IN (SELECT id FROM events WHERE session = ?)",
		"DELETE FROM events WHERE session = ?",
		"DELETE FROM drafts WHERE session = ?",
		"DELETE FROM owners WHERE session = ?",
		"DELETE FROM parts WHERE session = ?",
		"DELETE FROM sessions WHERE id = ?",
	} {
		if _, err := tx.ExecContext(ctx, query, id); err != nil {
			return err
		}
	}
	return nil
}

// tidy drops the index's memory of deleted rows, gives free pages back to the
// disk and empties the log, where the words would live on.
func (s *Store) tidy(ctx context.Context) error {
	for _, query := range []string{
		"INSERT INTO search (search) VALUES ('optimize')",
		"PRAGMA incremental_vacuum",
		"PRAGMA wal_checkpoint(truncate)",
		"PRAGMA secure_delete = fast",
	} {
		rows, err := s.w.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		for rows.Next() { // incremental_vacuum frees a page at each step
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}
