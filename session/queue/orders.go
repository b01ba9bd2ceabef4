package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"belay/models"
	"belay/session/batch"
)

// ShiftTier moves the tasks of a batch that wait to another tier; an empty batch
// means the whole queue. It returns how many there were.
func (q *Queue) ShiftTier(ctx context.Context, batchID string, tier models.Tier) (int, error) {
	statement, args := "UPDATE belay_task SET tier = ?, updated = ? WHERE state IN ('waiting', 'parked')",
		[]any{string(tier), nanos(q.o.Now())}
	if batchID != "" {
		statement, args = statement+" AND batch = ?", append(args, batchID)
	}
	return q.change(ctx, "move the tasks", statement, args...)
}

func (q *Queue) change(ctx context.Context, step, statement string, args ...any) (int, error) {
	result, err := q.db.ExecContext(ctx, q.bind(statement), args...)
	if err != nil {
		return 0, &Error{step, err, ""}
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, &Error{step, err, ""}
	}
	return int(n), nil
}

// Cancel ends the tasks of a batch, or one of them, that are not over. What runs
// ends when its worker hears of it, within a second.
func (q *Queue) Cancel(ctx context.Context, batchID, taskID string) (int, error) {
	where, args := "batch = ?", []any{batchID}
	if taskID != "" {
		where, args = "id = ?", []any{taskID}
	}
	// All are marked at once: one that is given back, or taken, meanwhile is not missed.
	n, err := q.change(ctx, "cancel", "UPDATE belay_task SET cancelling = ? WHERE state IN ('waiting', 'running', 'parked') AND "+where,
		append([]any{nanos(q.o.Now())}, args...)...)
	if err != nil {
		return 0, err
	}
	return n, q.endUnwanted(ctx, where, args...)
}

// endUnwanted ends the tasks that are to be cancelled and that nobody works on: also
// those whose worker ended before it heard of it.
func (q *Queue) endUnwanted(ctx context.Context, where string, args ...any) error {
	result, err := json.Marshal(batch.Result{State: batch.Cancelled})
	if err != nil {
		return err
	}
	now := nanos(q.o.Now())
	_, err = q.change(ctx, "cancel", "UPDATE belay_task SET state = 'cancelled', result = ?, ended = ?, updated = ? "+
		"WHERE state = 'waiting' AND cancelling > 0 AND "+where, append([]any{string(result), now, now}, args...)...)
	return err
}

// RetryFailed lets the failed and cancelled tasks of a batch wait again, those that
// have a session with it. It returns how many there were.
func (q *Queue) RetryFailed(ctx context.Context, batchID string) (int, error) {
	list, err := q.entries(ctx, "WHERE batch = ? AND state IN ('failed', 'cancelled') ORDER BY number", batchID)
	if err != nil {
		return 0, err
	}
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		for _, e := range list {
			set := ""
			e.Progress = e.Progress.Again(q.o.Now())
			if e.Machine != "" && e.Machine != q.machine && e.scope != e.Machine {
				set = ", machine = ''" // its session is elsewhere
				e.Progress = e.Progress.Anew()
			}
			data, err := json.Marshal(e.Progress)
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, q.bind(`UPDATE belay_task SET state = 'waiting', failures = 0, cancelling = 0, ended = 0,
				not_before = 0, result = '', token = token + 1, progress = ?, updated = ?`+set+` WHERE id = ?`),
				string(data), nanos(q.o.Now()), e.ID)
			if err != nil {
				return err
			}
			if err := q.point(ctx, tx, e, e.scope, time.Time{}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, &Error{"retry the failed tasks", err, ""}
	}
	return len(list), nil
}

// ErrOpen is a batch of which tasks are not over.
var ErrOpen = errors.New("it is not over")

// Delete forgets a batch with all that came of it: patches and logs too. One with tasks
// that are not over is left alone, with ErrOpen.
func (q *Queue) Delete(ctx context.Context, batchID string) error {
	step := "delete batch " + batchID
	err := q.inTx(ctx, func(tx *sql.Tx) error {
		const over = "DELETE FROM belay_task WHERE batch = ? AND state IN ('done', 'failed', 'cancelled')"
		if _, err := tx.ExecContext(ctx, q.bind(over), batchID); err != nil {
			return err
		}
		open := 0
		const left = "SELECT count(*) FROM belay_task WHERE batch = ?"
		if err := tx.QueryRowContext(ctx, q.bind(left), batchID).Scan(&open); err != nil {
			return err
		}
		if open > 0 {
			return ErrOpen
		}
		_, err := tx.ExecContext(ctx, q.bind("DELETE FROM belay_batch WHERE id = ?"), batchID)
		return err
	})
	switch {
	case errors.Is(err, ErrOpen):
		return &Error{step, err, "belay batch cancel " + batchID + " ends what is open"}
	case err != nil:
		return &Error{step, err, ""}
	}
	return nil
}
