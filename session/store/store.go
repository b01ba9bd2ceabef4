// Package store decides how sessions are kept on disk: as rows of events in
// one SQLite database, each session with its folded state beside its log, so
// that listing, opening and searching cost nothing that grows with a session.
package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"belay/session"
)

// File is the name of the database in the data folder.
const File = "belay.db"

// Options are what a store takes from outside. The zero value is ready to use.
type Options struct {
	Now   func() time.Time  // nil: time.Now
	NewID func() session.ID // nil: eight random characters; called again when an id is taken

	// ReadOnly opens for reading alone and creates nothing: for lists, showing
	// and exporting, also from a folder that cannot be written to. A database
	// that does not exist is read as an empty one; an older one is brought up to
	// date first, or a copy of it where that cannot be.
	ReadOnly bool

	// Rehearsed says that scripts answered in place of models in all its sessions: what
	// is exported says so.
	Rehearsed bool

	// Waiting hears, from a goroutine of its own, that writing has waited for two
	// seconds, and for whom. nil: nobody is told.
	Waiting func(text string)
}

// Store keeps sessions. It may be used by several goroutines and by several
// programs at once.
type Store struct {
	now       func() time.Time
	newID     func() session.ID
	path      string
	readOnly  bool
	rehearsed bool
	tempDir   string // a folder to remove: a copy that was needed to read a read-only database

	writer *sql.DB // one connection, so that writers queue here and not in SQLite
	reader *sql.DB // readers; the same as w when nothing can be written

	lock        *writerLock
	dataVersion int64       // PRAGMA data_version as Changed saw it last
	settledLog  os.FileInfo // SQLite's log of writes as it stood then; nil: it had just been written
	leases      leases
}

// Open opens the database in dir, creating folder (0700) and file (0600) when
// they are missing and bringing an older schema up to date. Close frees it.
// Its errors are *Error and tell what to do.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	s := &Store{now: o.Now, newID: o.NewID, path: filepath.Join(dir, File), readOnly: o.ReadOnly, rehearsed: o.Rehearsed}
	if s.now == nil {
		s.now = time.Now
	}
	if s.newID == nil {
		s.newID = newID
	}
	err := s.open(ctx, dir, o)
	if err != nil {
		err = s.wrap("open sessions", err)
		if closing := s.Close(); closing != nil {
			return nil, errors.Join(err, closing)
		}
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, dir string, o Options) error {
	if err := checkPath(s.path); err != nil {
		return err
	}
	if o.ReadOnly {
		s.lock = &writerLock{patience: patience{limit: writerPatience}, noticeDelay: noticeDelay, notice: func(string) {}}
		return s.lock.retryBusy(ctx, func() error { return s.openForReading(ctx) })
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s.lock = newWriterLock(dir, o.Waiting)
	return s.openForWriting(ctx)
}

func (s *Store) openForWriting(ctx context.Context) error {
	// SQLite gives the files beside it the mode of the database.
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(checkHeader(f, s.path), f.Close()); err != nil {
		return err
	}
	s.writer, err = connect(s.path, "_txlock=immediate", pragmas(
		busyTimeout, "synchronous("+synchronous()+")", "foreign_keys(1)", "secure_delete(fast)"))
	if err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.writer.QueryRowContext(ctx, "PRAGMA data_version").Scan(&s.dataVersion); err != nil {
		return err
	}
	s.reader, err = connect(s.path, "mode=ro", pragmas(busyTimeout, readerCache, "query_only(1)"))
	if err != nil {
		return err
	}
	s.reader.SetMaxOpenConns(4)
	return nil
}

// readerCache keeps the caches of readers small: logs are read once from end to end, the
// system has their pages as well, and each page takes twice its size here.
const readerCache = "cache_size(-512)"

// busyTimeout is how long SQLite itself polls for a lock that somebody holds who
// does not queue. Longer waits are ours, because they can be ended.
const busyTimeout = "busy_timeout(1000)"

// prepare makes the database one of ours in its newest form. Only one that is not
// yet needs the lock, so that a writer who was stopped keeps nobody from opening.
func (s *Store) prepare(ctx context.Context) error {
	var ready bool
	err := s.lock.retryBusy(ctx, func() (err error) {
		ready, err = isPrepared(ctx, s.writer)
		return err
	})
	if err != nil || ready {
		return err
	}
	return s.lock.exclusively(ctx, func() error {
		const form = "PRAGMA auto_vacuum = incremental; PRAGMA journal_mode = wal"
		if _, err := s.writer.ExecContext(ctx, form); err != nil {
			return err
		}
		return migrate(ctx, s.writer, migrations)
	})
}

func isPrepared(ctx context.Context, db *sql.DB) (bool, error) {
	version, err := schemaVersion(ctx, db)
	if err != nil || version != len(migrations) {
		return false, err
	}
	var journal string
	err = db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal)
	return journal == "wal", err
}

// openForReading opens what there is, brought up to date when it is older.
func (s *Store) openForReading(ctx context.Context) error {
	err := s.openCurrent(ctx)
	if errors.Is(err, ErrOlder) {
		return s.openOlder(ctx, err)
	}
	return err
}

// openCurrent tries ever humbler ways: beside running writers; a file at rest in
// a folder that cannot be written to; a copy of both.
func (s *Store) openCurrent(ctx context.Context) error {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.openEmpty(ctx)
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err := errors.Join(err, checkHeader(f, s.path), f.Close()); err != nil {
		return err
	}
	wal, walErr := os.Stat(s.path + "-wal")
	if info.Size() == 0 && walErr != nil {
		return s.openEmpty(ctx)
	}
	first := s.openReader(ctx, s.path, "mode=ro")
	if first == nil || !isCannotOpen(first) {
		return first
	}
	if walErr != nil || wal.Size() == 0 {
		return s.openReader(ctx, s.path, "mode=ro&immutable=1")
	}
	to, err := s.copyAside()
	if err != nil {
		return first
	}
	return s.openReader(ctx, to, "mode=rw")
}

// copyAside makes a copy of the database and its log, for reading.
func (s *Store) copyAside() (string, error) {
	var err error
	if s.tempDir, err = os.MkdirTemp("", "belay-read-*"); err != nil {
		return "", err
	}
	to := filepath.Join(s.tempDir, File)
	if err := copyFile(s.path+"-wal", to+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return to, copyFile(s.path, to)
}

func (s *Store) openReader(ctx context.Context, path, mode string) error {
	db, err := connect(path, mode, pragmas(busyTimeout, readerCache, "query_only(1)"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(4)
	version, err := schemaVersion(ctx, db)
	switch {
	case err == nil && version > len(migrations):
		err = newNewerError(version)
	case err == nil && version < len(migrations):
		err = &Error{Kind: ErrOlder, Advice: "open it once with a belay that may write to the folder"}
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	s.writer, s.reader = db, db
	return nil
}

func (s *Store) openEmpty(ctx context.Context) error {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	s.writer, s.reader = db, db
	return migrate(ctx, db, migrations)
}

// Close gives the leases back and frees the database.
func (s *Store) Close() error {
	err := s.leases.release()
	if s.reader != nil && s.reader != s.writer {
		err = errors.Join(err, s.reader.Close())
	}
	if s.writer != nil {
		err = errors.Join(err, s.writer.Close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.close())
	}
	if s.tempDir != "" {
		err = errors.Join(err, os.RemoveAll(s.tempDir))
	}
	return s.wrap("close sessions", err)
}

// Changed reports whether another store, most likely in another program, wrote
// since the last call. It reads no table, and while nobody writes it does not ask SQLite.
func (s *Store) Changed(ctx context.Context) (bool, error) {
	log, err := os.Stat(s.path + "-wal") // before the question: what is written meanwhile shows the next time
	s.leases.Lock()
	last := s.settledLog
	s.leases.Unlock()
	if err == nil && last != nil && os.SameFile(log, last) && log.Size() == last.Size() &&
		log.ModTime().Equal(last.ModTime()) {
		return false, nil
	}
	if err != nil || s.now().Sub(log.ModTime()) < settleTime {
		log = nil
	}
	var version int64
	if err := s.writer.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return false, s.wrap("watch sessions", err)
	}
	s.leases.Lock()
	defer s.leases.Unlock()
	changed := version != s.dataVersion
	s.dataVersion, s.settledLog = version, log
	return changed, nil
}

// settleTime is more than the clock of any file system is coarse: two writes within it
// may bear the same time.
const settleTime = 3 * time.Second

// newID makes eight characters of Crockford's base 32 (no i, l, o, u), which
// can be read out and typed.
func newID() session.ID {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	for i := range b {
		b[i] = alphabet[b[i]%32]
	}
	return session.ID(b[:])
}
