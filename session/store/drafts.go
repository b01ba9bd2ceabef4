package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"belay/session"
	"belay/session/recovery"
)

// SaveDraft keeps the unfinished reply in place of the one before. It survives
// the death of the program; the last one may be lost with the power.
func (s *Store) SaveDraft(ctx context.Context, id session.ID, d session.Draft) error {
	const step = "save draft"
	data, err := json.Marshal(d)
	if err != nil {
		return s.wrap(step, err)
	}
	return s.writeRelaxed(ctx, step, func(tx *sql.Tx) error {
		if err := s.checkOwner(ctx, tx, id); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO drafts SELECT id, ?, ? FROM sessions WHERE id = ?
			ON CONFLICT DO UPDATE SET data = excluded.data, sum = excluded.sum`,
			data, recovery.DraftSum(string(id), data), id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, s.notFound(ctx, tx, id))
		}
		return nil
	})
}

// Draft returns the unfinished reply, if there is one.
func (s *Store) Draft(ctx context.Context, id session.ID) (session.Draft, bool, error) {
	var data []byte
	err := s.reader.QueryRowContext(ctx, "SELECT data FROM drafts WHERE session = ?", id).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Draft{}, false, nil
	}
	var d session.Draft
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err != nil {
		return session.Draft{}, false, s.wrap("read draft", err)
	}
	return d, true, nil
}

func replacesDraft(e session.Event) bool {
	switch e.(type) {
	case session.ItemAdded, session.CutOff, session.TurnEnded:
		return true
	}
	return false
}
