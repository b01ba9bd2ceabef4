package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"belay/session/batch"
)

// Reclaim takes back what dead workers held and lets it wait again. It returns the
// tasks that begin anew, since their machine is gone.
func (q *Queue) Reclaim(ctx context.Context) (restarted []Entry, err error) {
	now := q.o.Now()
	owners, err := q.owners(ctx)
	if err != nil {
		return nil, err
	}
	living := map[string]bool{}    // workers
	populated := map[string]bool{} // machines with one
	for _, o := range owners {
		if q.alive(o, now) {
			living[o.id], populated[o.machine] = true, true
		}
	}
	left, err := q.entries(ctx, "WHERE state IN ('running', 'parked')")
	if err != nil {
		return nil, err
	}
	left = slices.DeleteFunc(left, func(e Entry) bool { return living[e.Worker] })
	// And what was given back for a machine that does not come back.
	homeless, err := q.entries(ctx, "WHERE state = 'waiting' AND machine NOT IN ('', ?) AND updated < ? AND not_before < ?",
		q.machine, nanos(now.Add(-homeTime)), nanos(now))
	if err != nil {
		return nil, err
	}
	for _, e := range homeless {
		if !populated[e.Machine] && e.scope == e.Machine {
			left = append(left, e)
		}
	}
	for _, e := range left {
		lost := e.Machine != "" && e.Machine != q.machine
		taken, err := q.takeBack(ctx, e, lost)
		if err != nil {
			return restarted, err
		}
		if lost && taken {
			restarted = append(restarted, e)
		}
	}
	if err := q.pointAgain(ctx, living); err != nil {
		return restarted, err
	}
	if err := q.endUnwanted(ctx, "batch <> ''"); err != nil {
		return restarted, err
	}
	for _, o := range owners {
		if !living[o.id] {
			err = errors.Join(err, q.unregister(ctx, o.id))
		}
	}
	return restarted, err
}

// pointAgain writes new jobs for tasks that wait and whose job a worker had fetched
// that died before it began with them.
func (q *Queue) pointAgain(ctx context.Context, living map[string]bool) error {
	const portion = 1000
	params := river.NewJobListParams().States(rivertype.JobStateRunning).Kinds(pointer{}.Kind()).First(portion)
	for {
		list, err := q.client.JobList(ctx, params)
		if err != nil {
			return &Error{"look for lost jobs", err, ""}
		}
		for _, job := range list.Jobs {
			if len(job.AttemptedBy) > 0 && living[job.AttemptedBy[len(job.AttemptedBy)-1]] {
				continue
			}
			lost, err := q.entries(ctx, "WHERE job = ? AND state = 'waiting'", job.ID)
			if err != nil {
				return err
			}
			for _, e := range lost {
				if _, err := q.takeBack(ctx, e, false); err != nil {
					return err
				}
			}
		}
		if len(list.Jobs) < portion {
			return nil
		}
		params = params.After(list.LastCursor)
	}
}

// takeBack lets a task wait again whose holder is dead, unless another worker was
// faster. One that is lost begins anew.
func (q *Queue) takeBack(ctx context.Context, e Entry, lost bool) (taken bool, err error) {
	progress, set, scope := e.Progress, "", e.scope
	if lost {
		progress = progress.Anew()
		set = ", machine = '', restarts = restarts + 1"
		if scope == e.Machine {
			scope = Workers
		}
	}
	at := e.NotBefore
	if e.State == batch.Parked {
		at = time.Time{} // its session knows until when
		set += ", not_before = 0"
	}
	data, err := json.Marshal(progress)
	if err != nil {
		return false, err
	}
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, q.bind(`UPDATE belay_task SET state = 'waiting', scope = ?, worker = '',
			lease_until = 0, token = token + 1, progress = ?, updated = ?`+set+` WHERE id = ? AND token = ? AND state = ?`),
			scope, string(data), nanos(q.o.Now()), e.ID, e.token, string(e.State))
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil || n == 0 {
			return err
		}
		taken = true
		return q.point(ctx, tx, e, scope, at)
	})
	if err != nil {
		return false, &Error{"take a task back", err, ""}
	}
	return taken, nil
}
