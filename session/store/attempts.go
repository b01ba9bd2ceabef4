package store

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"
	"strings"
	"time"

	"belay/models/ledger"
)

// attemptColumns are the columns of attempts, in the order of attemptFields.
const attemptColumns = `request_id, project_id, team_id, environment, model, endpoint, stream,
	input_tokens, output_tokens, concurrency, retry_count, fallback_model, status_code, error_code, latency_ms,
	created_at, session, turn, step, provider, tier, kind, phase, served_model, first_token_ms, cached_tokens,
	reasoning_tokens, cost, delay_ms`

// attemptFields are where the columns are read from and written to, but for
// created_at, which is at.
func attemptFields(a *ledger.Attempt, at *int64) []any {
	return []any{
		&a.RequestID, &a.ProjectID, &a.TeamID, &a.Environment, &a.Model, &a.Endpoint, &a.Stream,
		&a.InputTokens, &a.OutputTokens, &a.Concurrency, &a.RetryCount, &a.FallbackModel, &a.StatusCode, &a.ErrorCode,
		&a.LatencyMS, at, &a.Session, &a.Turn, &a.Step, &a.Provider, &a.Tier, &a.Kind, &a.Phase, &a.ServedModel,
		&a.FirstTokenMS, &a.CachedTokens, &a.ReasoningTokens, &a.Cost, &a.DelayMS,
	}
}

var insertAttempt = "INSERT INTO attempts (" + attemptColumns + ") VALUES (" + parameters(
	strings.Count(attemptColumns, ",")+1,
) + ")"

// parameters are n question marks of a statement.
func parameters(n int) string { return strings.TrimPrefix(strings.Repeat(", ?", n), ", ") }

// AppendAttempts adds an attempt to the record. After a power failure the last
// ones may be missing.
func (s *Store) AppendAttempts(ctx context.Context, a ledger.Attempt) error {
	return s.writeRelaxed(ctx, "record attempt", func(tx *sql.Tx) error { return writeAttempt(ctx, tx, a) })
}

func writeAttempt(ctx context.Context, tx *sql.Tx, a ledger.Attempt) error {
	a = a.Clean()
	at := nanos(a.CreatedAt)
	_, err := tx.ExecContext(ctx, insertAttempt, attemptFields(&a, &at)...)
	return err
}

// Attempts reads the record of a time, as ledger.Log tells.
func (s *Store) Attempts(ctx context.Context, since, until time.Time) iter.Seq2[ledger.Attempt, error] {
	return func(yield func(ledger.Attempt, error) bool) {
		const step = "read attempts"
		end := int64(math.MaxInt64)
		if !until.IsZero() {
			end = nanos(until)
		}
		const query = "SELECT " + attemptColumns + ` FROM attempts
			WHERE created_at >= ? AND created_at < ? ORDER BY created_at, id`
		rows, err := s.reader.QueryContext(ctx, query, nanos(since), end)
		if err != nil {
			yield(ledger.Attempt{}, s.wrap(step, err))
			return
		}
		defer rows.Close() //nolint:errcheck // Err tells
		var a ledger.Attempt
		var at int64
		fields := attemptFields(&a, &at)
		for rows.Next() {
			if err := rows.Scan(fields...); err != nil {
				yield(ledger.Attempt{}, s.wrap(step, err))
				return
			}
			a.CreatedAt = unixTime(at)
			if !yield(a, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(ledger.Attempt{}, s.wrap(step, err))
		}
	}
}

// ForgetAttempts deletes the attempts made before a time and returns how many
// there were.
func (s *Store) ForgetAttempts(ctx context.Context, before time.Time) (int64, error) {
	var gone int64
	err := s.write(ctx, "forget attempts", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM attempts WHERE created_at < ?", nanos(before))
		if err != nil {
			return err
		}
		gone, err = res.RowsAffected()
		return err
	})
	return gone, err
}

// restoreAttempts takes the record of attempts over from a damaged database that
// is attached as old, as far as it can be read.
func restoreAttempts(ctx context.Context, s *Store) error {
	return s.write(ctx, "restore the record", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT "+attemptColumns+" FROM old.attempts")
		if err != nil {
			return err
		}
		var a ledger.Attempt
		var at int64
		var list []ledger.Attempt
		fields := attemptFields(&a, &at)
		for rows.Next() && rows.Scan(fields...) == nil {
			a.CreatedAt = unixTime(at)
			list = append(list, a)
		}
		// Where reading ends early, what was read is kept all the same.
		_ = errors.Join(rows.Err(), rows.Close())
		for _, a := range list {
			if err := writeAttempt(ctx, tx, a); err != nil {
				return err
			}
		}
		return nil
	})
}
