// Package queue decides which task is next, who carries it out, and what has become
// of each: durably, for one machine or for several.
//
// Tasks stand in tables of belay's own; beside each there is a job of river's
// (github.com/riverqueue/river) that only points at it, written in the same
// transaction. River decides when a job comes up, belay what that means. So a whole
// batch is moved to another tier, listed or cancelled with plain SQL.
//
// The same code works on SQLite, a file beside the sessions, and on PostgreSQL, for
// several machines. What is particular to SQLite: it has one writer, so there is one
// connection, and who writes waits. Neither side listens for notices: both look for
// new jobs once a second, which costs a team nothing that counts and spares SQLite a
// table of messages. River elects one of its clients to bring jobs up whose time has
// come; without notices a dead one is missed after some seconds, so belay itself
// does not wait for it to take up what a killed worker left (see lease.go).
package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"belay/session/store"
)

// File is the name of the queue's database in the data folder.
const File = "queue.db"

// Options are what a Queue works with.
type Options struct {
	URL     string // "postgres://…"; empty: SQLite in Dir
	Dir     string // of belay's data
	Now     func() time.Time
	NewID   func() string
	Machine string // names this machine's data; empty: what the data folder says
}

// Queue is the durable queue.
type Queue struct {
	o        Options
	db       *sql.DB
	driver   riverdriver.Driver[*sql.Tx]
	client   *river.Client[*sql.Tx] // inserts; works nothing
	postgres bool
	machine  string

	mu    sync.Mutex
	bound map[string]string // statements as PostgreSQL takes them
}

// Error is something that the queue could not do, with what to do about it.
type Error struct {
	Step   string
	Err    error
	Advice string
}

// Error names the step, and the cause in words for people.
func (e *Error) Error() string { return e.Step + ": " + explain(e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether the server of the queue is not there (ErrUnreachable) or lets
// nobody in (ErrRefused).
func (e *Error) Is(target error) bool {
	_, kind := reach(e.Err)
	return kind != nil && kind == target
}

// Hint says what to do.
func (e *Error) Hint() string {
	_, kind := reach(e.Err)
	switch {
	case store.IsFull(e.Err):
		return strings.TrimPrefix(e.Advice+"; ", "; ") + "free some space and go on: what was saved before is kept"
	case e.Advice == "" && kind != nil:
		return serverAdvice
	}
	return e.Advice
}

const serverAdvice = "queue.url in the settings, or BELAY_QUEUE_URL, names the server"

// ErrNotFound is a batch or task that is not there.
var ErrNotFound = errors.New("there is no such batch or task")

// Open opens the queue and brings its tables up to date.
func Open(ctx context.Context, o Options) (*Queue, error) {
	q := &Queue{o: o, postgres: o.URL != "", bound: map[string]string{}}
	if err := q.open(ctx); err != nil {
		if q.db != nil {
			err = errors.Join(err, q.db.Close())
		}
		return nil, q.openError(err)
	}
	return q, nil
}

// redactURL keeps the password of an address out of a text.
func redactURL(text, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return strings.ReplaceAll(text, address, "(the address)")
	}
	if password, set := u.User.Password(); set && password != "" {
		text = strings.ReplaceAll(text, url.QueryEscape(password), "…")
		text = strings.ReplaceAll(text, password, "…")
	}
	return text
}

func (q *Queue) open(ctx context.Context) (err error) {
	if err := q.nameMachine(); err != nil {
		return err
	}
	if q.postgres {
		if q.db, err = openPostgres(q.o.URL); err != nil {
			return err
		}
		q.db.SetMaxOpenConns(8)
		q.driver = riverdatabasesql.New(q.db)
	} else {
		if q.db, err = store.OpenDatabase(ctx, filepath.Join(q.o.Dir, File)); err != nil {
			return err
		}
		q.driver = riversqlite.New(q.db)
	}
	if err := q.migrate(ctx); err != nil {
		return err
	}
	q.client, err = river.NewClient(q.driver, &river.Config{Logger: quiet()})
	return err
}

// quiet is a log that nobody reads: what goes wrong comes back as an error, or is in
// river's own tables.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// Close frees the queue.
func (q *Queue) Close() error { return q.db.Close() }

// Machine names this machine's data among those that share the queue.
func (q *Queue) Machine() string { return q.machine }

// Where says where the queue is, without a password.
func (q *Queue) Where() string {
	if !q.postgres {
		return filepath.Join(q.o.Dir, File)
	}
	u, err := url.Parse(q.o.URL)
	if err != nil {
		return "PostgreSQL"
	}
	return u.Redacted()
}

// nameMachine reads the name of this data folder, or makes one. Sessions are in the
// folder, so it is the folder that counts and not the host: two containers may bear one
// host's name.
func (q *Queue) nameMachine() error {
	if q.machine = q.o.Machine; q.machine != "" {
		return nil
	}
	path := filepath.Join(q.o.Dir, "machine")
	data, err := os.ReadFile(path)
	if name := strings.TrimSpace(string(data)); err == nil && machineName.MatchString(name) {
		q.machine = name
		return nil
	}
	if err := os.MkdirAll(q.o.Dir, 0o700); err != nil {
		return err
	}
	name := q.o.NewID()
	if len(name) > 12 {
		name = name[:12]
	}
	// Another belay may do the same at this moment: a link is made by one alone.
	half := path + "." + name
	if err := os.WriteFile(half, []byte(name+"\n"), 0o600); err != nil {
		return err
	}
	err = os.Link(half, path)
	if errors.Is(err, os.ErrExist) && !machineName.Match(data) {
		data, err = os.ReadFile(path)
		if found := strings.TrimSpace(string(data)); err == nil && machineName.MatchString(found) {
			name = found
		} else {
			err = os.Rename(half, path)
		}
	} else if err != nil {
		err = os.Rename(half, path) // a file system without links
	}
	q.machine = name
	if removing := os.Remove(half); removing != nil && !errors.Is(removing, os.ErrNotExist) {
		err = errors.Join(err, removing)
	}
	return err
}

var machineName = regexp.MustCompile(`^[a-z0-9]{6,32}$`)

// migrate brings river's tables and belay's own up to date. River's are changed by
// one process at a time because belay's lock row is.
func (q *Queue) migrate(ctx context.Context) error {
	if ready, err := q.migrated(ctx); err != nil || ready {
		return err
	}
	if q.postgres { // several machines may begin at once
		conn, err := q.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // the lock ends with it
		if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(7214562)"); err != nil {
			return err
		}
		defer conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(7214562)") //nolint:errcheck // see above
	}
	migrator, err := rivermigrate.New(q.driver, &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		if again, _ := q.migrated(ctx); again { // another process was faster
			return nil
		}
		return fmt.Errorf("prepare river's tables: %w", err)
	}
	return q.inTx(ctx, func(tx *sql.Tx) error {
		for _, statement := range q.schema() {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM belay_queue"); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, q.bind("INSERT INTO belay_queue VALUES (?)"), schemaVersion)
		return err
	})
}

// migrated reports whether all tables are there in their newest form.
func (q *Queue) migrated(ctx context.Context) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	if err := q.db.PingContext(limited); err != nil {
		return false, err
	}
	var version int
	err := q.db.QueryRowContext(ctx, "SELECT max(version) FROM belay_queue").Scan(&version)
	if err == nil && version > schemaVersion {
		return false, errors.New("it was made by a newer belay")
	}
	return err == nil && version == schemaVersion, nil
}

// inTx does something in a transaction.
func (q *Queue) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := q.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// bind writes a statement as the database takes it: PostgreSQL numbers what is put
// in.
func (q *Queue) bind(statement string) string {
	if !q.postgres {
		return statement
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if known, ok := q.bound[statement]; ok {
		return known
	}
	var b strings.Builder
	n := 0
	for _, r := range statement {
		if r == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	q.bound[statement] = b.String()
	return b.String()
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
