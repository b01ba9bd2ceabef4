package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"belay/session"
	"belay/session/recovery"
)

// Altered names a row that is not as it was written.
type Altered struct {
	Session session.ID
	Seq     int64 // 0: the unfinished reply
}

func (a Altered) String() string {
	if a.Seq == 0 {
		return fmt.Sprintf("the unfinished reply of session %s", a.Session)
	}
	return fmt.Sprintf("record %d of session %s", a.Seq, a.Session)
}

// maxListed is how many records are named; of more, their number is enough.
const maxListed = 10

// ListAltered names records, for people.
func ListAltered(list []Altered) string {
	var names []string
	for _, a := range list[:min(len(list), maxListed)] {
		names = append(names, a.String())
	}
	if more := len(list) - maxListed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// isAltered says whether a row has another checksum than its columns.
func isAltered(stored sql.NullInt64, sum int64) bool { return stored.Valid && stored.Int64 != sum }

// alterations is what is wrong in a database that SQLite takes for sound.
type alterations struct {
	rows        []Altered
	permissions bool              // some permission, or the word about a folder
	states      []session.Session // as their logs tell; what is stored says something else
}

func (a alterations) harmRows() bool { return len(a.rows) > 0 || a.permissions }

// findAlterations compares every row with its checksum, and every session's state
// with its log.
func findAlterations(ctx context.Context, q querier) (found alterations, err error) {
	folded := map[session.ID]*session.Session{}
	err = eachStoredEvent(ctx, q, "ORDER BY session, seq", func(id session.ID, e recovery.Event, sum sql.NullInt64) {
		event, err := session.Decode(e.Name, e.Data)
		altered := isAltered(sum, recovery.EventSum(e.Seq, e.Turn, nanos(e.Time), e.Name, e.Data))
		if altered || err != nil || !json.Valid(e.Data) {
			found.rows = append(found.rows, Altered{id, e.Seq})
			return
		}
		if folded[id] == nil {
			folded[id] = &session.Session{ID: id}
		}
		folded[id].Apply(session.Record{Session: id, Seq: e.Seq, Turn: e.Turn, Time: e.Time, Event: event})
	})
	if err == nil {
		err = found.checkDrafts(ctx, q)
	}
	if err == nil {
		err = found.checkPermissions(ctx, q)
	}
	if err == nil && !found.harmRows() { // otherwise all states are made anew
		err = found.checkStates(ctx, q, folded)
	}
	return found, err
}

// maxChecked bounds CheckLatest.
const maxChecked = 5000

// CheckLatest names which of the latest records are not as they were written. It takes
// a moment; Repair looks at all.
func CheckLatest(ctx context.Context, s *Store) (list []Altered, err error) {
	order := fmt.Sprint("ORDER BY id DESC LIMIT ", maxChecked)
	err = eachStoredEvent(ctx, s.reader, order, func(id session.ID, e recovery.Event, sum sql.NullInt64) {
		if isAltered(sum, recovery.EventSum(e.Seq, e.Turn, nanos(e.Time), e.Name, e.Data)) {
			list = append(list, Altered{id, e.Seq})
		}
	})
	return list, s.wrap("check records", err)
}

func eachStoredEvent(
	ctx context.Context, q querier, order string, do func(id session.ID, e recovery.Event, sum sql.NullInt64),
) error {
	rows, err := q.QueryContext(ctx, "SELECT session, seq, turn, time, type, data, sum FROM events "+order)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id session.ID
		var at int64
		var data sql.RawBytes
		var sum sql.NullInt64
		e := recovery.Event{}
		if err := rows.Scan(&id, &e.Seq, &e.Turn, &at, &e.Name, &data, &sum); err != nil {
			return err
		}
		e.Time, e.Data = unixTime(at), data
		do(id, e, sum)
	}
	return rows.Err()
}

func (a *alterations) checkDrafts(ctx context.Context, q querier) error {
	rows, err := q.QueryContext(ctx, "SELECT session, data, sum FROM drafts")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id session.ID
		var data sql.RawBytes
		var sum sql.NullInt64
		if err := rows.Scan(&id, &data, &sum); err != nil {
			return err
		}
		if isAltered(sum, recovery.DraftSum(string(id), data)) || !json.Valid(data) {
			a.rows = append(a.rows, Altered{Session: id})
		}
	}
	return rows.Err()
}

func (a *alterations) checkPermissions(ctx context.Context, q querier) error {
	grants, err := alteredGrants(ctx, q, "grants")
	if err != nil {
		return err
	}
	trust, err := alteredTrust(ctx, q, "trust")
	a.permissions = len(grants)+len(trust) > 0
	return err
}

// alteredGrants and alteredTrust give the rows whose checksum is wrong, of a table
// that may be one of another database.
func alteredGrants(ctx context.Context, q querier, table string) (ids []int64, err error) {
	return alteredRows(ctx, q, "SELECT rowid, project, rule, sum FROM "+table,
		func(project string, rule any) int64 { return recovery.Sum(project, fmt.Sprint(rule)) })
}

func alteredTrust(ctx context.Context, q querier, table string) (ids []int64, err error) {
	return alteredRows(ctx, q, "SELECT rowid, project, trusted, sum FROM "+table,
		func(project string, trusted any) int64 { return trustSum(project, trusted == int64(1)) })
}

func alteredRows(
	ctx context.Context, q querier, query string, sumOf func(project string, value any) int64,
) (ids []int64, err error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var project string
		var value any
		var sum sql.NullInt64
		if err := rows.Scan(&id, &project, &value, &sum); err != nil {
			return nil, err
		}
		if isAltered(sum, sumOf(project, value)) {
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
}

// checkStates finds the states that say something else than their logs. An older
// belay's may say less.
func (a *alterations) checkStates(ctx context.Context, q querier, folded map[session.ID]*session.Session) error {
	rows, err := q.QueryContext(ctx, "SELECT id, head FROM sessions")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id session.ID
		var stored sql.RawBytes
		if err := rows.Scan(&id, &stored); err != nil {
			return err
		}
		state := folded[id]
		if state == nil { // a session without a log: nothing can tell what it was
			a.rows = append(a.rows, Altered{id, 1})
			continue
		}
		told, err := json.Marshal(state)
		if err != nil {
			return err
		}
		if !bytes.Equal(told, stored) {
			a.states = append(a.states, *state)
		}
	}
	return rows.Err()
}

// rewriteStates stores states as their logs tell them.
func rewriteStates(ctx context.Context, dir string, states []session.Session) (err error) {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.write(ctx, "write states", func(tx *sql.Tx) error {
		for _, state := range slices.Clip(states) {
			var indexed int64
			err := tx.QueryRowContext(ctx, "SELECT indexed FROM sessions WHERE id = ?", state.ID).Scan(&indexed)
			if err != nil {
				return err
			}
			if err := saveState(ctx, tx, state, min(indexed, state.LastSeq)); err != nil {
				return err
			}
		}
		return nil
	})
}
