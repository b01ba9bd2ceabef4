package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// write runs do in one transaction of the writing connection.
func (s *Store) write(ctx context.Context, step string, do func(*sql.Tx) error) error {
	if s.readOnly {
		return &Error{Step: step, Kind: ErrReadOnly, Advice: "this session list was opened for reading alone"}
	}
	release, err := s.lock.acquire(ctx)
	if err != nil {
		return s.wrap(step, err)
	}
	defer release()
	tx, err := s.begin(ctx, s.writer)
	if err != nil {
		return s.wrap(step, err)
	}
	if err := do(tx); err != nil {
		return s.wrap(step, errors.Join(err, rollback(tx)))
	}
	return s.wrap(step, tx.Commit())
}

// begin begins to write, once nobody else does.
func (s *Store) begin(ctx context.Context, on interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
}) (tx *sql.Tx, err error) {
	err = s.lock.retryBusy(ctx, func() (err error) {
		tx, err = on.BeginTx(ctx, nil)
		return err
	})
	return tx, err
}

// writeRelaxed is write without waiting for the disk. The next write does.
func (s *Store) writeRelaxed(ctx context.Context, step string, do func(*sql.Tx) error) (err error) {
	if s.readOnly || relaxed.Load() {
		return s.write(ctx, step, do)
	}
	release, err := s.lock.acquire(ctx)
	if err != nil {
		return s.wrap(step, err)
	}
	defer release()
	// The only connection is ours until it is given back, so nobody else
	// writes while it is careless.
	c, err := s.writer.Conn(ctx)
	if err != nil {
		return s.wrap(step, err)
	}
	defer func() { err = s.wrap(step, errors.Join(err, c.Close())) }()
	if _, err := c.ExecContext(ctx, "PRAGMA synchronous = normal"); err != nil {
		return err
	}
	defer func() {
		_, again := c.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = full")
		err = errors.Join(err, again)
	}()
	tx, err := s.begin(ctx, c)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, rollback(tx))
	}
	return tx.Commit()
}

func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// querier is what reading needs of a database, a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// storedTime drops what does not survive the disk: the monotonic reading and the zone.
func storedTime(t time.Time) time.Time { return t.Round(0).UTC() }

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// unixTime is a time as nanos wrote it.
func unixTime(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
