package queue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"belay/session/batch"
	"belay/session/store"
)

// Summary is what a queue holds, in short.
type Summary struct {
	Where   string `json:"where"`   // without a password
	Batches int    `json:"batches"` // that are not over
	Waiting int    `json:"waiting"` // tasks of them, parked ones too
	Running int    `json:"running"`
	Failed  int    `json:"failed"`
	Workers int    `json:"workers"` // that live and take tasks of everybody

	Shared map[string][]byte `json:"-"` // what workers of several machines know of the models; nil: it is in the sessions' database
}

// Look tells what a queue holds. It makes and changes nothing: nil means that there is
// none yet.
func Look(ctx context.Context, o Options) (_ *Summary, err error) {
	q := &Queue{o: o, postgres: o.URL != "", bound: map[string]string{}}
	path := filepath.Join(o.Dir, File)
	if q.postgres {
		q.db, err = openPostgres(o.URL)
	} else {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return nil, nil //nolint:nilnil // there is none
		}
		q.db, err = store.ReadDatabase(path)
	}
	if err != nil {
		return nil, q.openError(err)
	}
	defer q.db.Close() //nolint:errcheck // nothing was written
	name, _ := os.ReadFile(filepath.Join(o.Dir, "machine"))
	q.machine = strings.TrimSpace(string(name)) // unknown: workers are judged by their heartbeat
	ready, err := q.migrated(ctx)
	if err != nil {
		return nil, q.openError(err)
	}
	if !ready {
		return nil, nil //nolint:nilnil // whoever works with it next makes it
	}
	return q.summary(ctx)
}

func (q *Queue) summary(ctx context.Context) (*Summary, error) {
	list, err := q.Batches(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := q.Workers(ctx)
	if err != nil {
		return nil, err
	}
	s := &Summary{Where: q.Where(), Workers: len(workers)}
	for _, b := range list {
		if b.Open() == 0 {
			continue
		}
		s.Batches++
		s.Waiting += b.Counts[batch.Waiting] + b.Counts[batch.Parked]
		s.Running += b.Counts[batch.Running]
		s.Failed += b.Counts[batch.Failed]
	}
	if shared := q.Shared(); shared != nil {
		s.Shared, err = shared.SharedStates(ctx)
	}
	return s, err
}

// Counts is how many tasks there are of each state, in all batches.
func (q *Queue) Counts(ctx context.Context) (map[batch.State]int, error) {
	const step = "count the tasks"
	rows, err := q.db.QueryContext(ctx, "SELECT state, count(*) FROM belay_task GROUP BY state")
	if err != nil {
		return nil, &Error{step, err, ""}
	}
	defer rows.Close()
	counts := map[batch.State]int{}
	for _, state := range batch.States() {
		counts[state] = 0
	}
	for rows.Next() {
		var state batch.State
		var n int
		if err := rows.Scan(&state, &n); err != nil {
			return nil, &Error{step, err, ""}
		}
		counts[state] = n
	}
	if err := rows.Err(); err != nil {
		return nil, &Error{step, err, ""}
	}
	return counts, nil
}
