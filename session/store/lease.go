package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"belay/session"
)

// An owner on another machine cannot be asked whether it lives, so each tells
// every beatEvery, and counts as dead after beatLimit of silence.
const (
	heartbeatInterval = 20 * time.Second
	heartbeatTimeout  = time.Minute
)

// Lease is the right to write to a session. One store holds it at a time.
type Lease struct {
	store *Store
	id    session.ID
	token string
	owner session.Owner
	lost  chan struct{}
	once  sync.Once
}

// Owner is what others see of the holder.
func (l *Lease) Owner() session.Owner { return l.owner }

// Lost is closed once it is known that another has taken the session over,
// which is at the next Append or some seconds later.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Release gives the session back. Releasing twice, or what is lost, does nothing.
func (l *Lease) Release() error {
	l.store.leases.Lock()
	held := l.store.leases.held[l.id] == l
	if held {
		delete(l.store.leases.held, l.id)
	}
	l.store.leases.Unlock()
	if !held {
		return nil
	}
	ctx := context.Background()
	return l.store.writeRelaxed(ctx, "release session", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM owners WHERE session = ? AND token = ?", l.id, l.token)
		return err
	})
}

// Acquire takes the right to write to a session; what says to others who has
// it ("screen", "run"). If a living program has it already, that is an
// *OwnedError, unless takeover is set: then its next Append fails with
// ErrTakenOver. A dead owner is replaced without a question.
func (s *Store) Acquire(ctx context.Context, id session.ID, program string, takeover bool) (*Lease, error) {
	const step = "take session"
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	now := storedTime(s.now())
	l := &Lease{
		store: s, id: id, token: rand.Text(), lost: make(chan struct{}),
		owner: session.Owner{PID: os.Getpid(), Host: host, Program: program, Since: now},
	}
	data, err := json.Marshal(l.owner)
	if err != nil {
		return nil, s.wrap(step, err)
	}
	err = s.write(ctx, step, func(tx *sql.Tx) error {
		if _, _, err := s.state(ctx, tx, id); err != nil {
			return err
		}
		o, found, err := ownerOf(ctx, tx, id)
		if err != nil {
			return err
		}
		if found && !takeover && o.alive(host, now) {
			return &OwnedError{ID: id, By: o.Owner}
		}
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?)",
			id, l.token, processStart(l.owner.PID), nanos(now), data)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.leases.add(l)
	return l, nil
}

// Owner returns the living program that may write to a session, if there is one.
func (s *Store) Owner(ctx context.Context, id session.ID) (session.Owner, bool, error) {
	o, found, err := ownerOf(ctx, s.reader, id)
	if err != nil {
		return session.Owner{}, false, s.wrap("read owner", err)
	}
	host, _ := os.Hostname() //nolint:errcheck // an unknown host equals no other
	if !found || !o.alive(host, s.now()) {
		return session.Owner{}, false, nil
	}
	return o.Owner, true, nil
}

// Owners returns the living programs that may write to sessions, for lists.
func (s *Store) Owners(ctx context.Context) (map[session.ID]session.Owner, error) {
	const step = "read owners"
	host, _ := os.Hostname() //nolint:errcheck // an unknown host equals no other
	rows, err := s.reader.QueryContext(ctx, "SELECT session, token, born, beat, owner FROM owners")
	if err != nil {
		return nil, s.wrap(step, err)
	}
	defer rows.Close()
	living := make(map[session.ID]session.Owner)
	for rows.Next() {
		var id session.ID
		h, readable, err := scanOwner(rows, &id)
		if err != nil {
			return nil, s.wrap(step, err)
		}
		if readable && h.alive(host, s.now()) {
			living[id] = h.Owner
		}
	}
	return living, s.wrap(step, rows.Err())
}

// owner is a row of owners.
type owner struct {
	session.Owner
	token, processStart string
	heartbeat           time.Time
}

func ownerOf(ctx context.Context, q querier, id session.ID) (owner, bool, error) {
	row := q.QueryRowContext(ctx, "SELECT session, token, born, beat, owner FROM owners WHERE session = ?", id)
	h, readable, err := scanOwner(row, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return owner{}, false, nil
	}
	return h, readable, err
}

// scanOwner reads a row; one that cannot be understood owns nothing.
func scanOwner(row interface{ Scan(...any) error }, id *session.ID) (owner, bool, error) {
	var h owner
	var beat int64
	var data []byte
	if err := row.Scan(id, &h.token, &h.processStart, &beat, &data); err != nil {
		return owner{}, false, err
	}
	h.heartbeat = time.Unix(0, beat)
	return h, json.Unmarshal(data, &h.Owner) == nil, nil
}

// alive reports whether the holder still runs, as seen from a host at a time.
func (h owner) alive(host string, now time.Time) bool {
	if h.Host != host {
		return now.Sub(h.heartbeat) <= heartbeatTimeout
	}
	switch b := processStart(h.PID); b {
	case "":
		return false
	case "?":
		return true // somebody has that number: believe it
	default:
		return h.processStart == "?" || h.processStart == b
	}
}

// checkOwner checks inside a transaction that nobody else holds the session.
func (s *Store) checkOwner(ctx context.Context, tx *sql.Tx, id session.ID) error {
	s.leases.Lock()
	mine := s.leases.held[id]
	s.leases.Unlock()
	o, found, err := ownerOf(ctx, tx, id)
	switch {
	case err != nil:
		return err
	case mine != nil && (!found || o.token != mine.token):
		mine.markLost()
		return &OwnedError{ID: id, By: o.Owner, Lost: true}
	case mine == nil && found:
		host, _ := os.Hostname() //nolint:errcheck // an unknown host equals no other
		if o.alive(host, s.now()) {
			return &OwnedError{ID: id, By: o.Owner}
		}
	}
	return nil
}

func (l *Lease) markLost() { l.once.Do(func() { close(l.lost) }) }

// add remembers a lease and sees to it that the heart beats.
func (a *leases) add(l *Lease) {
	a.Lock()
	defer a.Unlock()
	if a.held == nil {
		a.held = make(map[session.ID]*Lease)
	}
	if old := a.held[l.id]; old != nil {
		old.markLost()
	}
	a.held[l.id] = l
	if a.stopHeartbeat == nil {
		ctx, stop := context.WithCancel(context.Background())
		a.stopHeartbeat, a.heartbeatDone = stop, make(chan struct{})
		go a.heartbeat(ctx, a.heartbeatDone)
	}
}

// heartbeat tells other machines that this program lives, until Close.
func (a *leases) heartbeat(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, l := range a.list() {
			// A beat that fails is made up for by the next; a lease that is
			// gone shows at the next Append in any case.
			_ = l.store.writeRelaxed(ctx, "keep session", func(tx *sql.Tx) error {
				res, err := tx.ExecContext(ctx, "UPDATE owners SET beat = ? WHERE session = ? AND token = ?",
					nanos(l.store.now()), l.id, l.token)
				if err != nil {
					return err
				}
				if n, err := res.RowsAffected(); err == nil && n == 0 {
					l.markLost()
				}
				return nil
			})
		}
	}
}

func (a *leases) list() []*Lease {
	a.Lock()
	defer a.Unlock()
	list := make([]*Lease, 0, len(a.held))
	for _, l := range a.held {
		list = append(list, l)
	}
	return list
}

func (a *leases) release() error {
	a.Lock()
	stop, done := a.stopHeartbeat, a.heartbeatDone
	a.stopHeartbeat = nil
	a.Unlock()
	if stop != nil {
		stop()
		<-done
	}
	var err error
	for _, l := range a.list() {
		err = errors.Join(err, l.Release())
	}
	return err
}

// leases are the sessions that this store may write to.
type leases struct {
	sync.Mutex
	held          map[session.ID]*Lease
	stopHeartbeat context.CancelFunc // of the heartbeat
	heartbeatDone chan struct{}      // closed when the heartbeat has ended
}
