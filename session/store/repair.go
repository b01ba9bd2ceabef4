package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"belay/session"
)

// Report says what Repair did.
type Report struct {
	Healthy  bool   // the database was in order and was not touched
	Kept     string // the damaged file, as it was; its log lies beside it
	Sessions int
	Events   int  // in those sessions
	Lost     int  // records that could not be read; a note stands in their place
	Settled  bool // permissions and trust could be read; otherwise belay asks again
}

// Repair saves what can be read of a damaged database into a fresh one, with
// the states folded anew, and keeps the old file beside it. It needs the
// database for itself: another running belay is ErrLocked, and no Store of this
// program may be open on it.
func Repair(ctx context.Context, dir string) (Report, error) {
	const step = "repair sessions"
	path := filepath.Join(dir, File)
	report, err := repair(ctx, dir, path, time.Now())
	return report, fail(step, path, err)
}

func repair(ctx context.Context, dir, path string, now time.Time) (Report, error) {
	var report Report
	if _, err := os.Stat(path); err != nil {
		if _, walErr := os.Stat(path + "-wal"); walErr != nil {
			return report, err
		}
	}
	if used, err := inUse(path); err != nil {
		return report, err
	} else if used {
		return report, &Error{Kind: ErrLocked, Path: path, Advice: "leave every running belay first"}
	}
	healthy, err := examine(ctx, dir)
	if errors.Is(err, ErrForeign) && recognised(path) {
		err = nil // only the mark is damaged
	}
	if err != nil {
		return report, err
	}
	if healthy {
		report.Healthy = true
		return report, count(ctx, dir, &report)
	}

	report.Kept = path + ".broken-" + now.UTC().Format("20060102-150405")
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(path+suffix, report.Kept+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return report, fmt.Errorf("keep the old file: %w", err)
		}
	}
	scratch := filepath.Join(dir, ".repair")
	if err := os.RemoveAll(scratch); err != nil { // of a repair that was killed
		return report, err
	}
	err = os.Mkdir(scratch, 0o700)
	if err != nil {
		return report, err
	}
	defer os.RemoveAll(scratch)
	if err := rebuild(ctx, &report, scratch); err != nil {
		return report, err
	}
	return report, replace(filepath.Join(scratch, File), path)
}

// examine reports whether the database is in order. What is no case for a
// repair is an error.
func examine(ctx context.Context, dir string) (bool, error) {
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	switch {
	case errors.Is(err, ErrForeign), errors.Is(err, ErrNewer):
		return false, err
	case err != nil:
		return false, nil
	}
	var verdict string
	err = s.r.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict)
	return err == nil && verdict == "ok", s.Close()
}

// recognised reports whether there is anything of ours in a file.
func recognised(path string) bool {
	r, err := openRuin(path)
	if err != nil {
		return false
	}
	defer r.close() //nolint:errcheck // it was only read
	for _, columns := range r.rows() {
		if e, ok := asEvent(columns); ok && e.name == "created" {
			return true
		}
	}
	return false
}

func count(ctx context.Context, dir string, report *Report) error {
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	err = s.r.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM events)").Scan(&report.Sessions, &report.Events)
	report.Settled = true
	return errors.Join(err, s.Close())
}

// replace puts the fresh database in place. The old log goes first: SQLite
// would play it into whatever file has the name.
func replace(fresh, path string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(fresh, path)
}

// relic is a row that is an event.
type relic struct {
	id    session.ID
	seq   int64
	place place
}

// salvage is what the pages of a ruin hold.
type salvage struct {
	ruin   *ruin
	relics []relic
	ends   map[session.ID]int64           // the highest sequence number seen, readable or not
	heads  map[session.ID]session.Session // the latest state of each, as far as it can be read
	drafts map[session.ID]session.Draft
}

func rebuild(ctx context.Context, report *Report, scratch string) (err error) {
	ruin, err := openRuin(report.Kept)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ruin.close()) }()
	found := dig(ruin)
	s, err := Open(ctx, scratch, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for id, relics := range found.sessions() {
		if err := found.restore(ctx, s, report, id, relics); err != nil {
			return err
		}
	}
	report.Settled = settle(ctx, s, report.Kept) == nil
	if err := s.catchUp(ctx, ""); err != nil {
		return err
	}
	// So that one file holds everything when it is moved.
	_, err = s.w.ExecContext(ctx, "PRAGMA wal_checkpoint(truncate)")
	return err
}

// dig finds and sorts the rows; where a row exists several times, any copy
// that can be read is as good as another, because events never change.
func dig(r *ruin) *salvage {
	found := &salvage{ruin: r, ends: map[session.ID]int64{}, heads: map[session.ID]session.Session{}, drafts: map[session.ID]session.Draft{}}
	for p, columns := range r.rows() {
		switch len(columns) {
		case 7:
			found.event(p, columns)
		case 8:
			if data, ok := columns[7].([]byte); ok {
				var head session.Session
				if json.Unmarshal(data, &head) == nil && head.ID != "" && columns[0] == string(head.ID) && head.LastSeq >= found.heads[head.ID].LastSeq {
					found.heads[head.ID] = head
				}
			}
		case 2:
			id, isText := columns[0].(string)
			data, isBlob := columns[1].([]byte)
			var d session.Draft
			if isText && isBlob && json.Unmarshal(data, &d) == nil && d.Turn >= found.drafts[session.ID(id)].Turn {
				found.drafts[session.ID(id)] = d
			}
		}
	}
	slices.SortFunc(found.relics, func(a, b relic) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.seq, b.seq)) })
	found.relics = slices.CompactFunc(found.relics, func(a, b relic) bool { return a.id == b.id && a.seq == b.seq })
	return found
}

// sessions gives each session with its relics, possibly none, in order of id.
func (found *salvage) sessions() iter.Seq2[session.ID, []relic] {
	byID := make(map[session.ID][]relic)
	for _, r := range found.relics {
		byID[r.id] = append(byID[r.id], r)
	}
	for id := range found.heads {
		byID[id] = append(byID[id], nil...)
	}
	return func(yield func(session.ID, []relic) bool) {
		for _, id := range slices.Sorted(maps.Keys(byID)) {
			if !yield(id, byID[id]) {
				return
			}
		}
	}
}

func (found *salvage) event(p place, columns []any) {
	e, ok := asEvent(columns)
	if !ok {
		return
	}
	found.ends[e.id] = max(found.ends[e.id], e.seq)
	if _, err := session.Decode(e.name, e.data); err == nil && json.Valid(e.data) {
		found.relics = append(found.relics, relic{e.id, e.seq, p})
	}
}

// raw is a row of events.
type raw struct {
	id        session.ID
	seq, turn int64
	time      int64
	name      string
	data      []byte
}

func asEvent(columns []any) (raw, bool) {
	if len(columns) != 7 || columns[0] != nil {
		return raw{}, false
	}
	id, ok1 := columns[1].(string)
	seq, ok2 := columns[2].(int64)
	turn, ok3 := columns[3].(int64)
	at, ok4 := columns[4].(int64)
	name, ok5 := columns[5].(string)
	data, ok6 := columns[6].([]byte)
	ok := ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && id != "" && len(id) <= 64 && name != "" && len(name) <= 64 && seq > 0 && turn >= 0
	return raw{session.ID(id), seq, turn, at, name, data}, ok
}

// restore writes one session. Gaps are closed, each with a note, so that
// sequence numbers have none.
func (found *salvage) restore(ctx context.Context, s *Store, report *Report, id session.ID, relics []relic) error {
	head := session.Session{ID: id}
	old := found.heads[id]
	err := s.write(ctx, "restore session", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO sessions VALUES (?, '', 0, 0, 0, 0, 0, '{}')", id); err != nil {
			return err
		}
		add := func(turn int, at time.Time, e session.Event) error {
			r := session.Record{Session: id, Seq: head.LastSeq + 1, Turn: turn, Time: at, Event: e}
			_, err := insert(ctx, tx, r)
			head.Apply(r)
			return err
		}
		lost := func(n int64, at time.Time) error {
			report.Lost += int(n)
			return add(head.Turn, at, session.Noted{Text: fmt.Sprintf("%d records of this session were lost here when the database was repaired", n)})
		}
		created := session.Created{Project: old.Project, Tier: old.Tier, Mode: old.Mode, Parent: old.Parent, PartOf: old.PartOf, Step: old.Step}
		if len(relics) == 0 {
			if err := add(0, old.Created, created); err != nil {
				return err
			}
		}
		expected := int64(1)
		for _, f := range relics {
			e, ok := asEvent(found.ruin.row(found.ruin.at(f.place), f.place.offset))
			if !ok {
				continue // the disk gives other bytes than a moment ago
			}
			at := time.Unix(0, e.time).UTC()
			if expected == 1 && e.seq > 1 {
				if err := add(0, at, created); err != nil {
					return err
				}
			}
			if n := e.seq - expected; n > 0 {
				if err := lost(n, at); err != nil {
					return err
				}
			}
			expected = e.seq + 1
			event, err := session.Decode(e.name, e.data)
			if err != nil {
				continue
			}
			if err := add(int(e.turn), at, event); err != nil {
				return err
			}
		}
		if n := max(old.LastSeq, found.ends[id]) + 1 - expected; n > 0 {
			if err := lost(n, head.Updated); err != nil {
				return err
			}
		}
		if head.PartOf != "" {
			if _, err := tx.ExecContext(ctx, "INSERT INTO parts VALUES (?, ?, ?)", id, head.PartOf, head.Step); err != nil {
				return err
			}
		}
		report.Sessions, report.Events = report.Sessions+1, report.Events+int(head.LastSeq)
		return saveHead(ctx, tx, head, 0)
	})
	if d, ok := found.drafts[id]; err == nil && ok && d.Turn == head.Turn && head.Live() {
		err = s.SaveDraft(ctx, id, d)
	}
	return err
}

// settle takes permissions and trust over if SQLite can still read all of
// them, and what it can read of the record of attempts. They are never dug out: an old copy may be one that was taken back.
func settle(ctx context.Context, s *Store, kept string) error {
	_, err := s.w.ExecContext(ctx, "ATTACH ? AS old", location(kept, "mode=ro"))
	if err != nil {
		return errors.Join(err, removeShared(kept))
	}
	err = s.write(ctx, "restore permissions", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO grants SELECT * FROM old.grants; INSERT INTO trust SELECT * FROM old.trust")
		return err
	})
	// The record of attempts is worth keeping, but nothing depends on it; a
	// database of version 1 has none.
	_ = saveRecord(ctx, s)
	_, detach := s.w.ExecContext(ctx, "DETACH old")
	return errors.Join(err, detach, removeShared(kept))
}

// removeShared removes the index of the log that reading has made.
func removeShared(kept string) error {
	if err := os.Remove(kept + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
