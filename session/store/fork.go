package store

import (
	"context"
	"database/sql"
	"fmt"

	"belay/session"
)

// Fork begins a session with a copy of another's log up to a sequence number
// (0: its end), moved back to where no turn is under way. The copy does nothing
// by itself: queued messages stay with the original, and a parked turn is
// stopped in the copy.
func (s *Store) Fork(ctx context.Context, id session.ID, at int64) (session.Session, error) {
	var forked session.Session
	err := s.write(ctx, "fork session", func(tx *sql.Tx) error {
		old, _, err := s.state(ctx, tx, id)
		if err != nil {
			return err
		}
		end, err := lastIdleSeq(ctx, tx, id, at)
		if err != nil {
			return err
		}
		forked, err = s.create(ctx, tx,
			session.Created{Project: old.Project, Folder: old.Folder, Tier: old.Tier, Mode: old.Mode, Parent: id})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO events (session, seq, turn, time, type, data, sum)
			SELECT ?, seq, turn, time, type, data, sum FROM events WHERE session = ? AND seq BETWEEN 2 AND ? ORDER BY seq`,
			forked.ID, id, end)
		if err != nil {
			return err
		}
		if forked, err = foldState(ctx, tx, forked.ID); err != nil {
			return err
		}
		_, forked, err = s.appendEvents(ctx, tx, forked, 0, forked.Turn, detachEvents(forked))
		return err
	})
	if err != nil {
		return session.Session{}, err
	}
	return forked, s.wrap("fork session", s.updateIndex(ctx, forked.ID))
}

// detachEvents are the events that keep a copied session from going on by itself.
func detachEvents(forked session.Session) []session.Event {
	var events []session.Event
	if forked.Archived || !forked.Deleted.IsZero() {
		events = append(events, session.ArchiveChanged{})
	}
	for _, q := range forked.Queue {
		events = append(events, session.PromptUnqueued{ID: q.ID})
	}
	reason := fmt.Sprintf("forked from %s", forked.Parent)
	stopped := session.TurnEnded{Outcome: session.OutcomeStopped, Reason: reason}
	if forked.Status == session.Parked {
		events = append(events, session.TurnResumed{Why: reason}, stopped)
	}
	if forked.PendingRewind != nil { // it is the original's to complete
		events = append(events, session.Rewound{})
	}
	if forked.Live() {
		events = append(events, stopped)
	}
	if forked.Plan != nil {
		for i, x := range forked.Plan.Steps {
			if x.Started() && !x.Finished() { // its session belongs to the original
				events = append(events, session.StepMoved{Number: i + 1, Step: x.Reset()})
			}
		}
	}
	return append(events, session.Noted{Text: reason})
}

// lastIdleSeq is the last sequence number up to at after which no turn is under way.
func lastIdleSeq(ctx context.Context, q querier, id session.ID, at int64) (int64, error) {
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
