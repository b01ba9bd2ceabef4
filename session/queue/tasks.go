package queue

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"belay/models"
	"belay/session/batch"
)

// Workers is the scope of tasks that any worker takes. Other scopes are the ids of
// batches that a `belay batch` itself works on.
const Workers = "work"

// Batch is a list of tasks that were handed in together.
type Batch struct {
	ID      string
	Name    string
	Scope   string
	Machine string
	Created time.Time
	Counts  map[batch.State]int
}

// Open is how many of its tasks are not over.
func (b Batch) Open() int {
	n := 0
	for state, count := range b.Counts {
		if !state.Over() {
			n += count
		}
	}
	return n
}

// Entry is a task in the queue, and how it stands.
type Entry struct {
	ID        string
	Batch     string
	Number    int
	Task      batch.Task
	State     batch.State
	NotBefore time.Time
	Tries     int
	Failures  int
	Restarts  int
	Worker    string
	Machine   string
	Progress  batch.Progress
	Started   time.Time
	Ended     time.Time
	Result    batch.Result // without patch and record

	token int64
	job   int64
	scope string
}

// pointer is the job that river keeps for a task.
type pointer struct {
	Task string `json:"task"`
}

// Kind names the job to river.
func (pointer) Kind() string { return "belay_task" }

// Submission is a batch to be handed in.
type Submission struct {
	Name  string // of its file
	Tasks []batch.Task
	// Own keeps the tasks for the program that hands them in.
	Own bool
	// At is when a task may begin; nil, or the zero time: now.
	At func(batch.Task) time.Time
}

// insertPortion is how many tasks go in with one statement to river.
const insertPortion = 500

// Submit hands a batch in: all of it, or nothing.
func (q *Queue) Submit(ctx context.Context, s Submission) (Batch, error) {
	b := Batch{
		ID: shortID(q.o.NewID()), Name: s.Name, Scope: Workers, Machine: q.machine, Created: q.o.Now(),
		Counts: map[batch.State]int{batch.Waiting: len(s.Tasks)},
	}
	if s.Own {
		b.Scope = b.ID
	}
	err := q.inTx(ctx, func(tx *sql.Tx) error {
		const insert = "INSERT INTO belay_batch (id, name, scope, machine, created) VALUES (?, ?, ?, ?, ?)"
		_, err := tx.ExecContext(ctx, q.bind(insert), b.ID, b.Name, b.Scope, b.Machine, nanos(b.Created))
		if err != nil {
			return err
		}
		for from := 0; from < len(s.Tasks); from += insertPortion {
			part := s.Tasks[from:min(from+insertPortion, len(s.Tasks))]
			if err := q.insert(ctx, tx, b, part, from, s.At); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Batch{}, &Error{"hand the tasks in", err, ""}
	}
	return b, nil
}

func shortID(id string) string { return id[:min(8, len(id))] }

// insert writes tasks, and the jobs that point at them.
func (q *Queue) insert(
	ctx context.Context, tx *sql.Tx, b Batch, tasks []batch.Task, from int, at func(batch.Task) time.Time,
) error {
	jobs := make([]river.InsertManyParams, len(tasks))
	ids := make([]string, len(tasks))
	times := make([]time.Time, len(tasks))
	scopes := make([]string, len(tasks))
	for i, task := range tasks {
		ids[i] = fmt.Sprintf("%s-%d", b.ID, from+i+1)
		if at != nil {
			times[i] = at(task)
		}
		scopes[i] = b.Scope
		if b.Scope == Workers && q.postgres && task.Repository == "" {
			scopes[i] = q.machine // its folder is here
		}
		jobs[i] = river.InsertManyParams{
			Args: pointer{ids[i]}, InsertOpts: insertOpts(scopes[i], task.Lane, task.Priority, times[i]),
		}
	}
	inserted, err := q.client.InsertManyTx(ctx, tx, jobs)
	if err != nil {
		return err
	}
	const statement = `INSERT INTO belay_task (id, batch, number, name, spec, tier, lane, priority, scope, place, state,
		not_before, tries, failures, restarts, job, token, worker, machine, lease_until, cancelling, progress,
		started, ended, updated, result)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, 0, '', '', 0, 0, '', 0, 0, ?, '')`
	insert, err := tx.PrepareContext(ctx, q.bind(statement))
	if err != nil {
		return err
	}
	defer insert.Close() //nolint:errcheck // it ends with the transaction
	now := nanos(q.o.Now())
	for i, task := range tasks {
		spec, err := json.Marshal(task)
		if err != nil {
			return err
		}
		_, err = insert.ExecContext(ctx, ids[i], b.ID, from+i+1, task.Name, string(spec), string(task.Tier),
			string(task.Lane), task.Priority, scopes[i], placeOf(task), string(batch.Waiting), nanos(times[i]),
			inserted[i].Job.ID, now)
		if err != nil {
			return err
		}
	}
	return nil
}

// placeOf is the folder that a task works in, with others one after another.
func placeOf(task batch.Task) string {
	if task.Worktree {
		return ""
	}
	return task.Folder
}

// insertOpts is how river keeps a task's job. A job fails only where the queue itself
// does, so it is tried as often as it may be.
func insertOpts(scope string, lane batch.Lane, priority int, at time.Time) *river.InsertOpts {
	return &river.InsertOpts{
		Queue: riverQueue(scope, lane), Priority: min(max(priority, 1), 4), MaxAttempts: 1000, ScheduledAt: at,
	}
}

func riverQueue(scope string, lane batch.Lane) string { return scope + "-" + string(lane) }

const taskColumns = `id, batch, number, spec, tier, state, not_before, tries, failures, restarts, job, token, worker,
	machine, progress, started, ended, result, scope`

func scanEntry(row interface{ Scan(...any) error }) (Entry, error) {
	var e Entry
	var spec, tier, state, progress, result string
	var notBefore, started, ended int64
	err := row.Scan(&e.ID, &e.Batch, &e.Number, &spec, &tier, &state, &notBefore, &e.Tries, &e.Failures, &e.Restarts,
		&e.job, &e.token, &e.Worker, &e.Machine, &progress, &started, &ended, &result, &e.scope)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal([]byte(spec), &e.Task); err != nil {
		return e, fmt.Errorf("read task %s: %w", e.ID, err)
	}
	e.Task.Tier, e.State = models.Tier(tier), batch.State(state)
	e.NotBefore, e.Started, e.Ended = fromNanos(notBefore), fromNanos(started), fromNanos(ended)
	for _, part := range []struct {
		text string
		into any
	}{{progress, &e.Progress}, {result, &e.Result}} {
		if part.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return e, fmt.Errorf("read task %s: %w", e.ID, err)
		}
	}
	return e, nil
}

// Tasks lists the tasks of a batch in their order.
func (q *Queue) Tasks(ctx context.Context, batchID string) ([]Entry, error) {
	return q.entries(ctx, "WHERE batch = ? ORDER BY number", batchID)
}

func (q *Queue) entries(ctx context.Context, where string, args ...any) ([]Entry, error) {
	rows, err := q.db.QueryContext(ctx, q.bind("SELECT "+taskColumns+" FROM belay_task "+where), args...)
	if err != nil {
		return nil, &Error{"read the tasks", err, ""}
	}
	defer rows.Close()
	var list []Entry
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, &Error{"read the tasks", err, ""}
		}
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		return nil, &Error{"read the tasks", err, ""}
	}
	return list, nil
}

// Task is one task: by its id, or by the beginning of one.
func (q *Queue) Task(ctx context.Context, id string) (Entry, error) {
	list, err := q.entries(ctx, "WHERE id = ?", id)
	if err == nil && len(list) == 0 {
		err = &Error{"find task " + id, ErrNotFound, "belay batch status lists them"}
	}
	if err != nil {
		return Entry{}, err
	}
	return list[0], nil
}

// Batches lists the batches, the newest first.
func (q *Queue) Batches(ctx context.Context) ([]Batch, error) {
	list, err := q.batches(ctx, "")
	return list, err
}

// Batch is one batch, by the beginning of its id; empty: the newest.
func (q *Queue) Batch(ctx context.Context, id string) (Batch, error) {
	list, err := q.batches(ctx, id)
	switch {
	case err != nil:
		return Batch{}, err
	case len(list) == 0:
		return Batch{}, &Error{cmp.Or("find batch "+id, "find a batch"), ErrNotFound, "belay batch status lists them"}
	case id != "" && len(list) > 1:
		return Batch{}, &Error{"find batch " + id, errors.New("several begin with that"), "write more of its id"}
	}
	return list[0], nil
}

func (q *Queue) batches(ctx context.Context, prefix string) ([]Batch, error) {
	const step = "read the batches"
	escaped := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(prefix)
	rows, err := q.db.QueryContext(ctx, q.bind(`SELECT b.id, b.name, b.scope, b.machine, b.created, t.state, count(t.id)
		FROM belay_batch b LEFT JOIN belay_task t ON t.batch = b.id WHERE b.id LIKE ? ESCAPE '\'
		GROUP BY b.id, b.name, b.scope, b.machine, b.created, t.state ORDER BY b.created DESC, b.id`), escaped+"%")
	if err != nil {
		return nil, &Error{step, err, ""}
	}
	defer rows.Close()
	var list []Batch
	for rows.Next() {
		var b Batch
		var created int64
		var state sql.NullString
		var count int
		if err := rows.Scan(&b.ID, &b.Name, &b.Scope, &b.Machine, &created, &state, &count); err != nil {
			return nil, &Error{step, err, ""}
		}
		if len(list) == 0 || list[len(list)-1].ID != b.ID {
			b.Created, b.Counts = fromNanos(created), map[batch.State]int{}
			list = append(list, b)
		}
		if state.Valid {
			list[len(list)-1].Counts[batch.State(state.String)] = count
		}
	}
	if err := rows.Err(); err != nil {
		return nil, &Error{step, err, ""}
	}
	return list, nil
}

// Artifacts are the patch of a task and the log of its session, as JSON lines.
func (q *Queue) Artifacts(ctx context.Context, id string) (patch, record []byte, err error) {
	const step = "read the result"
	var packed []byte
	err = q.db.QueryRowContext(ctx, q.bind("SELECT patch, record FROM belay_task WHERE id = ?"), id).Scan(&patch, &packed)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, nil, &Error{step, err, ""}
	}
	if len(packed) > 0 {
		zip, err := gzip.NewReader(bytes.NewReader(packed))
		if err == nil {
			record, err = io.ReadAll(io.LimitReader(zip, 1<<30))
		}
		if err != nil {
			return patch, nil, &Error{step, err, ""}
		}
	}
	return patch, record, nil
}
