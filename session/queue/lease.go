package queue

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"belay/session/batch"
	"belay/session/store"
)

// A lease is held by a worker on the task that it carries out. Each has a token, which
// grows: what was written under an older one is not taken, so that a task has one
// result, whoever believes to hold it.
//
// On the same machine a dead worker is known by its process, and the next worker there
// goes on with the same session at once. Of another machine nothing is known but
// its heartbeat: after leaseTime without one it counts as gone, with the session and
// the files of its tasks, and they begin anew elsewhere.
const (
	heartbeatInterval = 10 * time.Second
	leaseTime         = time.Minute
	reclaimInterval   = 5 * time.Second // in which a worker looks for what dead ones left
	// homeTime is how long a task that was given back waits for a worker of its own
	// machine, which has its session: a machine that starts again is back by then.
	homeTime = 15 * time.Minute
)

// ErrLost is the end of a lease that somebody else has taken over.
var ErrLost = errors.New("another worker has the task now")

// owner is a worker as the others see it.
type owner struct {
	id, machine, host, born, scopes string
	pid                             int
	beat                            time.Time
}

// alive reports whether a worker still runs, as seen from this machine at a time.
func (q *Queue) alive(o owner, now time.Time) bool {
	host, err := os.Hostname()
	if err != nil || o.machine != q.machine || o.host != host {
		return now.Sub(o.beat) <= leaseTime
	}
	born := store.ProcessStart(o.pid)
	return born != "" && (born == o.born || born == "?" || o.born == "?")
}

// register tells the others of a worker.
func (q *Queue) register(ctx context.Context, id string, scopes []string) error {
	host, _ := os.Hostname() //nolint:errcheck // an unknown host is judged by its heartbeat
	pid, now := os.Getpid(), nanos(q.o.Now())
	const statement = `INSERT INTO belay_worker (id, machine, host, pid, born, scopes, since, beat)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	_, err := q.change(ctx, "begin to work", statement,
		id, q.machine, host, pid, store.ProcessStart(pid), strings.Join(scopes, " "), now, now)
	return err
}

func (q *Queue) unregister(ctx context.Context, id string) error {
	_, err := q.change(ctx, "end to work", "DELETE FROM belay_worker WHERE id = ?", id)
	return err
}

// Worker is a worker that lives.
type Worker struct {
	ID      string    `json:"id"`
	Machine string    `json:"machine"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Beat    time.Time `json:"beat"`
}

// Workers lists the workers that live and take tasks of everybody.
func (q *Queue) Workers(ctx context.Context) ([]Worker, error) {
	owners, err := q.owners(ctx)
	if err != nil {
		return nil, err
	}
	var list []Worker
	for _, o := range owners {
		if q.alive(o, q.o.Now()) && slices.Contains(strings.Fields(o.scopes), Workers) {
			list = append(list, Worker{o.id, o.machine, o.host, o.pid, o.beat})
		}
	}
	return list, nil
}

func (q *Queue) owners(ctx context.Context) ([]owner, error) {
	const step = "read the workers"
	const query = "SELECT id, machine, host, pid, born, scopes, beat FROM belay_worker ORDER BY since, id"
	rows, err := q.db.QueryContext(ctx, query)
	if err != nil {
		return nil, &Error{step, err, ""}
	}
	defer rows.Close()
	var list []owner
	for rows.Next() {
		var o owner
		var beat int64
		if err := rows.Scan(&o.id, &o.machine, &o.host, &o.pid, &o.born, &o.scopes, &beat); err != nil {
			return nil, &Error{step, err, ""}
		}
		o.beat = fromNanos(beat)
		list = append(list, o)
	}
	if err := rows.Err(); err != nil {
		return nil, &Error{step, err, ""}
	}
	return list, nil
}

// claim takes a lease on the task that a job stands for. False: somebody else has it, or it is
// over; then until says when it may be asked again, if it only waits for its time.
func (q *Queue) claim(
	ctx context.Context, worker string, job int64,
) (e Entry, until time.Time, taken bool, err error) {
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		now := q.o.Now()
		id, busy, err := q.placed(ctx, tx, job)
		if err != nil {
			return err
		}
		if busy {
			until = now.Add(time.Second)
			return nil
		}
		result, err := tx.ExecContext(ctx, q.bind(`UPDATE belay_task SET state = 'running', worker = ?, token = token + 1,
			tries = tries + 1, lease_until = ?, started = CASE started WHEN 0 THEN ? ELSE started END, updated = ?
			WHERE id = ? AND job = ? AND state = 'waiting' AND cancelling = 0 AND not_before <= ?
			AND (machine = ? OR machine = '')`),
			worker, nanos(now.Add(leaseTime)), nanos(now), nanos(now), id, job, nanos(now), q.machine)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		taken = n == 1
		row := tx.QueryRowContext(ctx, q.bind("SELECT "+taskColumns+" FROM belay_task WHERE id = ?"), id)
		if e, err = scanEntry(row); errors.Is(err, sql.ErrNoRows) {
			return nil // its batch was forgotten
		}
		if !taken && e.State == batch.Waiting && e.job == job && e.NotBefore.After(now) {
			until = e.NotBefore
		}
		return err
	})
	if err != nil {
		return Entry{}, time.Time{}, false, &Error{"take a task", err, ""}
	}
	return e, until, taken, nil
}

// placed finds the task that a job stands for. River hands several jobs out at once, so
// that of a batch's jobs any stands for the first of its tasks that waits: they begin
// in the order of their file. Those of one folder are carried out one after
// another: busy says that one works there now.
func (q *Queue) placed(ctx context.Context, tx *sql.Tx, job int64) (first string, busy bool, err error) {
	var id, place, batchID, lane string
	if q.postgres { // two workers must not exchange the same jobs at once
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(7214564)"); err != nil {
			return "", false, err
		}
	}
	const find = "SELECT id, place, batch, lane FROM belay_task WHERE job = ? AND state = 'waiting'"
	err = tx.QueryRowContext(ctx, q.bind(find), job).Scan(&id, &place, &batchID, &lane)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	if place != "" {
		if busy, err := q.placeBusy(ctx, tx, place); err != nil || busy {
			return "", true, err
		}
	}
	var other int64
	const next = `SELECT id, job FROM belay_task WHERE batch = ? AND lane = ? AND state = 'waiting' AND place = ?
		AND cancelling = 0 AND not_before <= ? AND machine IN ('', ?) ORDER BY priority, number LIMIT 1`
	err = tx.QueryRowContext(ctx, q.bind(next), batchID, lane, place, nanos(q.o.Now()), q.machine).Scan(&first, &other)
	if errors.Is(err, sql.ErrNoRows) || err == nil && first == id {
		return id, false, nil
	}
	if err != nil {
		return "", false, err
	}
	const swap = "UPDATE belay_task SET job = ? WHERE id = ?"
	for _, swapped := range []struct {
		id  string
		job int64
	}{{first, job}, {id, other}} {
		if _, err := tx.ExecContext(ctx, q.bind(swap), swapped.job, swapped.id); err != nil {
			return "", false, err
		}
	}
	return first, false, nil
}

// busy reports whether a job stands for a task that waits for another one of its folder.
func (q *Queue) busy(ctx context.Context, job int64) (bool, error) {
	const step = "look for the folder of a task"
	var place string
	const find = "SELECT place FROM belay_task WHERE job = ? AND state = 'waiting'"
	err := q.db.QueryRowContext(ctx, q.bind(find), job).Scan(&place)
	if errors.Is(err, sql.ErrNoRows) || err == nil && place == "" {
		return false, nil
	}
	if err != nil {
		return false, &Error{step, err, ""}
	}
	busy, err := q.placeBusy(ctx, q.db, place)
	if err != nil {
		return false, &Error{step, err, ""}
	}
	return busy, nil
}

// placeBusy reports whether a task works in a folder of this machine.
func (q *Queue) placeBusy(ctx context.Context, in interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, place string,
) (bool, error) {
	const works = `SELECT count(*) FROM belay_task WHERE place = ? AND state IN ('running', 'parked')
		AND worker IN (SELECT id FROM belay_worker WHERE machine = ?)`
	var n int
	err := in.QueryRowContext(ctx, q.bind(works), place, q.machine).Scan(&n)
	return n > 0, err
}

// held changes a task under its lease.
func (q *Queue) held(ctx context.Context, step string, e Entry, set string, args ...any) error {
	const where = ", updated = ? WHERE id = ? AND token = ? AND state IN ('running', 'parked')"
	n, err := q.change(ctx, step, "UPDATE belay_task SET "+set+where,
		append(args, nanos(q.o.Now()), e.ID, e.token)...)
	if err == nil && n == 0 {
		return ErrLost
	}
	return err
}

// saveProgress keeps how far a task has come.
func (q *Queue) saveProgress(ctx context.Context, e Entry, p batch.Progress) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return q.held(ctx, "keep the progress", e, "progress = ?, machine = ?", string(data), q.machine)
}

// setState keeps how a task stands, and in its progress what it waits for.
func (q *Queue) setState(ctx context.Context, e Entry, state batch.State, until time.Time) error {
	data, err := json.Marshal(e.Progress)
	if err != nil {
		return err
	}
	return q.held(ctx, "keep the state", e, "state = ?, not_before = ?, progress = ?",
		string(state), nanos(until), string(data))
}

// finish writes the result of a task, once.
func (q *Queue) finish(ctx context.Context, e Entry, r batch.Result) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var packed []byte
	if len(r.Record) > 0 {
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		_, err := zip.Write(r.Record)
		if err := errors.Join(err, zip.Close()); err != nil {
			return err
		}
		packed = b.Bytes()
	}
	return q.held(ctx, "write the result", e,
		"state = ?, result = ?, patch = ?, record = ?, ended = ?, worker = '', lease_until = 0, not_before = 0",
		string(r.State), string(data), r.Patch, packed, nanos(q.o.Now()))
}

// giveBack lets a task wait again, with what it has come to: for its own machine if
// there are others.
func (q *Queue) giveBack(ctx context.Context, e Entry, at time.Time, failed bool, r batch.Result) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	failures := 0
	if failed {
		failures = 1
	}
	scope := e.scope
	if scope == Workers && q.postgres {
		scope = q.machine
	}
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, q.bind(`UPDATE belay_task SET state = 'waiting', scope = ?, not_before = ?,
			failures = failures + ?, result = ?, worker = '', lease_until = 0, token = token + 1, updated = ?
			WHERE id = ? AND token = ? AND state IN ('running', 'parked')`),
			scope, nanos(at), failures, string(data), nanos(q.o.Now()), e.ID, e.token)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrLost)
		}
		return q.point(ctx, tx, e, scope, at)
	})
	if err != nil {
		return err
	}
	return q.endUnwanted(ctx, "id = ?", e.ID)
}

// point writes a new job for a task that waits again.
func (q *Queue) point(ctx context.Context, tx *sql.Tx, e Entry, scope string, at time.Time) error {
	inserted, err := q.client.InsertTx(ctx, tx, pointer{e.ID}, insertOpts(scope, e.Task.Lane, e.Task.Priority, at))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, q.bind("UPDATE belay_task SET job = ? WHERE id = ?"), inserted.Job.ID, e.ID)
	return err
}

// beat tells that a worker lives, and renews its leases.
func (q *Queue) beat(ctx context.Context, worker string) error {
	err := q.inTx(ctx, func(tx *sql.Tx) error {
		now := q.o.Now()
		_, err := tx.ExecContext(ctx, q.bind("UPDATE belay_worker SET beat = ? WHERE id = ?"), nanos(now), worker)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, q.bind(`UPDATE belay_task SET lease_until = ?
			WHERE worker = ? AND state IN ('running', 'parked')`), nanos(now.Add(leaseTime)), worker)
		return err
	})
	if err != nil {
		return &Error{"keep the leases", err, ""}
	}
	return nil
}

// cancelled are the tasks that a worker is to end: nobody wants them any more.
func (q *Queue) cancelled(ctx context.Context, worker string) ([]string, error) {
	return q.strings(ctx, "SELECT id FROM belay_task WHERE worker = ? AND cancelling > 0 AND state IN ('running', 'parked')", worker)
}

func (q *Queue) strings(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := q.db.QueryContext(ctx, q.bind(query), args...)
	if err != nil {
		return nil, &Error{"read the queue", err, ""}
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, &Error{"read the queue", err, ""}
		}
		list = append(list, s)
	}
	return list, rows.Err()
}
