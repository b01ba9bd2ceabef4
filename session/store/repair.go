package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"belay/session"
	"belay/session/recovery"
)

// Report says what Repair did.
type Report struct {
	Healthy         bool   // the database was in order and was not touched
	KeptFile        string // the damaged file, as it was; its log lies beside it
	Sessions        int
	Events          int       // in those sessions
	Lost            int       // records that could not be read; a note stands in their place
	Altered         []Altered // what the disk changed; it is kept, and a note stands behind each record
	Outdated        int       // states that did not say what their logs do; they were made anew
	PermissionsKept bool      // permissions and trust could be read; otherwise belay asks again
}

// String says it to a person.
func (r Report) String() string {
	kept := fmt.Sprintf("%d sessions with %d events", r.Sessions, r.Events)
	if r.Healthy {
		return "the database is in order: " + kept
	}
	outdated := fmt.Sprintf(
		"the overview of %d sessions did not say what their records do, and was made anew",
		r.Outdated,
	)
	if r.KeptFile == "" {
		return kept + " are in order; " + outdated
	}
	text := kept + " are saved"
	if r.Lost > 0 {
		text += fmt.Sprintf("; %d records could not be read, and a note stands in their place", r.Lost)
	}
	if len(r.Altered) > 0 {
		text += fmt.Sprintf("; what the disk altered is kept and marked, for it may not be what was said: %s",
			ListAltered(r.Altered))
	}
	text += "\nthe damaged file is kept: " + r.KeptFile
	if !r.PermissionsKept {
		text += "\nwhat you allowed and which folders you trust could not be read, or not all of it: belay asks again"
	}
	return text
}

// Repair saves what can be read of a damaged database into a fresh one, with
// the states folded anew, and keeps the old file beside it. It needs the
// database for itself: another running belay is ErrLocked, and no Store of this
// program may be open on it.
func Repair(ctx context.Context, dir string) (Report, error) {
	const step = "repair sessions"
	path := filepath.Join(dir, File)
	report, err := repair(ctx, dir, path, time.Now())
	return report, wrapError(step, path, err)
}

func repair(ctx context.Context, dir, path string, now time.Time) (Report, error) {
	var report Report
	if err := checkPath(path); err != nil {
		return report, err
	}
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
	sound, found, err := checkIntegrity(ctx, dir)
	if errors.Is(err, ErrForeign) && recovery.Recognized(path) {
		err = nil // only the mark is damaged
	}
	if err != nil {
		return report, err
	}
	if sound && !found.harmRows() {
		if report.Outdated = len(found.states); report.Outdated > 0 {
			if err := rewriteStates(ctx, dir, found.states); err != nil {
				return report, err
			}
		}
		report.Healthy = report.Outdated == 0
		return report, countRows(ctx, dir, &report)
	}

	report.KeptFile = path + ".broken-" + now.UTC().Format("20060102-150405")
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(path+suffix, report.KeptFile+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	return report, replaceDatabase(filepath.Join(scratch, File), path)
}

// checkIntegrity reports whether SQLite finds the database sound, and what it does
// not see: what the disk has altered within rows. What is no case for a repair is an
// error.
func checkIntegrity(ctx context.Context, dir string) (sound bool, found alterations, err error) {
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	switch {
	case errors.Is(err, ErrForeign), errors.Is(err, ErrNewer):
		return false, found, err
	case err != nil:
		return false, found, nil
	}
	var verdict string
	err = s.reader.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict)
	if err == nil && verdict == "ok" {
		found, err = findAlterations(ctx, s.reader)
	}
	sound = err == nil && verdict == "ok"
	if ctx.Err() != nil {
		return false, found, errors.Join(ctx.Err(), s.Close())
	}
	return sound, found, s.Close()
}

func countRows(ctx context.Context, dir string, report *Report) error {
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	const query = "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM events)"
	err = s.reader.QueryRowContext(ctx, query).Scan(&report.Sessions, &report.Events)
	report.PermissionsKept = true
	return errors.Join(err, s.Close())
}

// replaceDatabase puts the fresh database in place. The old log goes first: SQLite
// would play it into whatever file has the name.
func replaceDatabase(fresh, path string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(fresh, path)
}

// rebuild writes what can be read of the kept file into a fresh database.
func rebuild(ctx context.Context, report *Report, scratch string) (err error) {
	damaged, err := recovery.Open(report.KeptFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, damaged.Close()) }()
	s, err := Open(ctx, scratch, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, found := range damaged.Sessions() {
		if err := restoreSession(ctx, s, report, found); err != nil {
			return err
		}
	}
	// A draft is worth keeping, but nothing depends on it.
	_ = restoreUnsent(ctx, s, damaged, report.KeptFile)
	report.PermissionsKept = restorePermissions(ctx, s, report.KeptFile) == nil
	if err := s.updateIndex(ctx, ""); err != nil {
		return err
	}
	// So that one file holds everything when it is moved.
	_, err = s.writer.ExecContext(ctx, "PRAGMA wal_checkpoint(truncate)")
	return err
}

// restoreSession writes one session.
func restoreSession(ctx context.Context, s *Store, report *Report, found *recovery.Session) error {
	var state session.Session
	err := s.write(ctx, "restore session", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions VALUES (?, '', 0, 0, 0, 0, 0, '{}')", found.ID)
		if err != nil {
			return err
		}
		log := restoredLog{tx: tx, state: session.Session{ID: found.ID}}
		if err := log.restore(ctx, found); err != nil {
			return err
		}
		state = log.state
		report.Lost += log.lost
		report.Altered = append(report.Altered, log.altered...)
		if state.PartOf != "" {
			if err := insertPart(ctx, tx, state.ID, state.PartOf, state.Step); err != nil {
				return err
			}
		}
		report.Sessions++
		report.Events += int(state.LastSeq)
		return saveState(ctx, tx, state, 0)
	})
	if draft := found.Draft; err == nil && draft.Turn > 0 && draft.Turn == state.Turn && state.Live() {
		if found.DraftAltered {
			report.Altered = append(report.Altered, Altered{Session: found.ID})
		}
		err = s.SaveDraft(ctx, found.ID, draft)
	}
	return err
}

// restoredLog is the log of a session as it is written anew. Gaps are closed,
// each with a note, so that its numbers have none.
type restoredLog struct {
	tx    *sql.Tx
	state session.Session
	lost  int // records that could not be read

	altered []Altered
}

func (l *restoredLog) restore(ctx context.Context, found *recovery.Session) error {
	next := int64(1) // the number of the record that should follow
	for e := range found.Events() {
		event, err := session.Decode(e.Name, e.Data)
		if err != nil {
			continue // the disk gives other bytes than a moment ago
		}
		if next == 1 && e.Seq > 1 {
			if err := l.add(ctx, 0, e.Time, createdFrom(found.State)); err != nil {
				return err
			}
		}
		if err := l.noteLost(ctx, e.Seq-next, e.Time); err != nil {
			return err
		}
		next = e.Seq + 1
		if err := l.add(ctx, e.Turn, e.Time, event); err != nil {
			return err
		}
		if err := l.noteAltered(ctx, e); err != nil {
			return err
		}
	}
	if l.state.LastSeq == 0 { // no event can be read
		if err := l.add(ctx, 0, found.State.Created, createdFrom(found.State)); err != nil {
			return err
		}
	}
	return l.noteLost(ctx, found.LastSeq+1-next, l.state.Updated)
}

// createdFrom stands in for the first event of a session when that is lost.
func createdFrom(old session.Session) session.Created {
	return session.Created{
		Project: old.Project,
		Folder:  old.Folder,
		Tier:    old.Tier,
		Mode:    old.Mode,
		Parent:  old.Parent,
		PartOf:  old.PartOf,
		Step:    old.Step,
	}
}

func (l *restoredLog) add(ctx context.Context, turn int, at time.Time, e session.Event) error {
	r := session.Record{Session: l.state.ID, Seq: l.state.LastSeq + 1, Turn: turn, Time: at, Event: e}
	_, err := insert(ctx, l.tx, r)
	l.state.Apply(r)
	return err
}

// noteAltered marks a record that is not what was written.
func (l *restoredLog) noteAltered(ctx context.Context, e recovery.Event) error {
	if !e.Altered {
		return nil
	}
	l.altered = append(l.altered, Altered{l.state.ID, l.state.LastSeq})
	const text = "the disk altered the record before this one: it may not be what was said"
	return l.add(ctx, e.Turn, e.Time, session.Noted{Text: text})
}

func (l *restoredLog) noteLost(ctx context.Context, records int64, at time.Time) error {
	if records <= 0 {
		return nil
	}
	l.lost += int(records)
	text := fmt.Sprintf("%d records of this session were lost here when the database was repaired", records)
	return l.add(ctx, l.state.Turn, at, session.Noted{Text: text})
}

// restorePermissions takes permissions and trust over if SQLite can still read all of
// them, and what it can read of the record of attempts. They are never read from
// the pages: an old copy may be one that was taken back.
func restorePermissions(ctx context.Context, s *Store, kept string) error {
	_, err := s.writer.ExecContext(ctx, "ATTACH ? AS old", dataSource(kept, "mode=ro"))
	if err != nil {
		return errors.Join(err, removeSharedMemory(kept))
	}
	altered := 0
	err = s.write(ctx, "restore permissions", func(tx *sql.Tx) (err error) {
		altered, err = copyPermissions(ctx, tx)
		return err
	})
	if err == nil && altered > 0 {
		err = fmt.Errorf("%d of them were altered", altered)
	}
	// The record of attempts is worth keeping, but nothing depends on it; a
	// database of version 1 has none.
	_ = restoreAttempts(ctx, s)
	_, detach := s.writer.ExecContext(ctx, "DETACH old")
	return errors.Join(err, detach, removeSharedMemory(kept))
}

// copyPermissions takes over what is as it was written, and says how much is not.
func copyPermissions(ctx context.Context, tx *sql.Tx) (altered int, err error) {
	for table, find := range map[string]func(context.Context, querier, string) ([]int64, error){
		"grants": alteredGrants, "trust": alteredTrust,
	} {
		var columns string // an older database has no checksums
		const query = "SELECT group_concat(name, ', ') FROM pragma_table_info(?, 'old')"
		if err := tx.QueryRowContext(ctx, query, table).Scan(&columns); err != nil {
			return 0, err
		}
		copied := fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM old.%[1]s", table, columns)
		if _, err := tx.ExecContext(ctx, copied); err != nil {
			return 0, err
		}
		ids, err := find(ctx, tx, table)
		if err != nil {
			return 0, err
		}
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE rowid = ?", id); err != nil {
				return 0, err
			}
		}
		altered += len(ids)
	}
	return altered, nil
}

// removeSharedMemory removes the index of the log that reading has made.
func removeSharedMemory(kept string) error {
	if err := os.Remove(kept + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
