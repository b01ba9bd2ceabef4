package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

const (
	noticeDelay    = 2 * time.Second  // after which a wait is told
	noticeInterval = 30 * time.Second // in which nothing is told twice
)

// hurryDelay is how long the first of the queue lets others overtake. Then it puts
// a mark behind the process id, in place of the line's end.
const (
	hurryDelay = 200 * time.Millisecond
	hurryAt    = 10
	hurryMark  = '!'
)

// The files of the writers' lock, beside the database. The first one holds the
// process id of the writer whose turn it is.
const (
	lockFile  = "belay.lock"
	queueFile = "belay.queue"
)

// writerLock lets the writers of all processes take turns. SQLite's own lock is
// polled, so that the luckiest gets it and a busy database starves the others.
// Here they sleep in the kernel: one waits for the lock while it holds the queue,
// the others wait for the queue. Whoever finds the lock free may take it, because
// waking a sleeper for each write would cost more than the write; but only until
// the first of the queue has waited for hurryDelay.
//
// It is there for fairness alone: what keeps the database whole is still
// SQLite's lock. On a file system without locks, writers do without.
type writerLock struct {
	turn        chan struct{} // of this store; full while somebody writes or waits
	lock, queue *os.File      // nil: no locks here
	pid         []byte
	patience    patience
	noticeDelay time.Duration
	notice      func(string)
	noticed     atomic.Int64 // when somebody was told last, in nanoseconds since 1970
}

func newWriterLock(dir string, notice func(string)) *writerLock {
	l := &writerLock{
		turn:        make(chan struct{}, 1),
		pid:         fmt.Appendf(nil, "%-*d\n", hurryAt, os.Getpid()),
		patience:    patience{limit: writerPatience},
		noticeDelay: noticeDelay,
		notice:      notice,
	}
	if l.notice == nil {
		l.notice = func(string) {}
	}
	lock, lockErr := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	queue, queueErr := os.OpenFile(filepath.Join(dir, queueFile), os.O_RDWR|os.O_CREATE, 0o600)
	if lockErr != nil || queueErr != nil {
		_ = errors.Join(closeFile(lock), closeFile(queue)) // nothing was written
		return l
	}
	l.lock, l.queue = lock, queue
	return l
}

// closeFile closes a file, if there is one and nobody has closed it yet.
func closeFile(f *os.File) error {
	if err := f.Close(); !errors.Is(err, os.ErrClosed) && !errors.Is(err, os.ErrInvalid) {
		return err
	}
	return nil
}

func (l *writerLock) close() error { return errors.Join(closeFile(l.lock), closeFile(l.queue)) }

// acquire waits for this store's turn to write.
func (l *writerLock) acquire(ctx context.Context) (release func(), err error) {
	if err := l.takeTurn(ctx); err != nil {
		return nil, err
	}
	if l.lock == nil || l.tryLock() {
		return l.release, nil
	}
	got := make(chan struct{})
	abandoned := make(chan struct{})
	go func() {
		l.waitForLock()
		select {
		case got <- struct{}{}:
		case <-abandoned:
			l.release() // the store keeps its turn until the lock is free again
		}
	}()
	err = l.await(ctx, func(ctx context.Context) error {
		select {
		case <-got:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		close(abandoned)
		return nil, err
	}
	return l.release, nil
}

// takeTurn waits for the other goroutines of this store. Whoever of them waits for
// another process tells so.
func (l *writerLock) takeTurn(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	default:
	}
	return l.limit(ctx, func(ctx context.Context) error {
		select {
		case l.turn <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// tryLock takes the lock if nobody has it, and nobody has waited for it too long.
func (l *writerLock) tryLock() bool {
	if l.hurried() || !tryLockFile(l.lock) {
		return false
	}
	l.sign()
	return true
}

func (l *writerLock) waitForLock() {
	lockFileWait(l.queue)
	timer := time.AfterFunc(hurryDelay, l.hurry)
	lockFileWait(l.lock)
	timer.Stop()
	l.sign()
	unlockFile(l.queue)
}

// sign tells others whose turn it is, and that nobody has waited for it too long.
// Where it cannot be written, only messages and fairness suffer.
func (l *writerLock) sign() { _, _ = l.lock.WriteAt(l.pid, 0) }

// hurry tells others that the first of the queue is next.
func (l *writerLock) hurry() { _, _ = l.lock.WriteAt([]byte{hurryMark}, hurryAt) }

func (l *writerLock) hurried() bool {
	var mark [1]byte
	n, _ := l.lock.ReadAt(mark[:], hurryAt) // an empty file says no
	return n == 1 && mark[0] == hurryMark
}

func (l *writerLock) release() {
	if l.lock != nil {
		unlockFile(l.lock)
	}
	<-l.turn
}

// await waits for other processes, and tells a person when that takes long.
func (l *writerLock) await(ctx context.Context, wait func(context.Context) error) error {
	timer := time.AfterFunc(l.noticeDelay, l.tell)
	defer timer.Stop()
	return l.limit(ctx, wait)
}

// tell says what is waited for, unless that was only just said.
func (l *writerLock) tell() {
	now, last := time.Now().UnixNano(), l.noticed.Load()
	if now-last >= int64(noticeInterval) && l.noticed.CompareAndSwap(last, now) {
		l.notice(l.reason())
	}
}

// limit ends what waits too long, with a word on whom it has waited for.
func (l *writerLock) limit(ctx context.Context, wait func(context.Context) error) error {
	outlasted, err := l.patience.limited(ctx, wait)
	if outlasted {
		return &Error{Kind: ErrLocked, Err: errors.New(l.reason()), Advice: l.advice()}
	}
	return err
}

// exclusively does something while no other writer of ours can.
func (l *writerLock) exclusively(ctx context.Context, do func() error) error {
	release, err := l.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return l.retryBusy(ctx, do)
}

// retryBusy repeats what found the database locked by something that does not
// queue: an older belay, a backup, a database that is being opened or closed.
func (l *writerLock) retryBusy(ctx context.Context, do func() error) error {
	err := do()
	if !isBusy(err) {
		return err
	}
	return l.await(ctx, func(ctx context.Context) error {
		for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return ctx.Err()
			}
			if err := do(); !isBusy(err) {
				return err
			}
		}
	})
}

func isBusy(err error) bool {
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// holder is the process whose turn it is; 0 if that cannot be told.
func (l *writerLock) holder() int {
	if l.lock == nil {
		return 0
	}
	var buf [16]byte
	n, _ := l.lock.ReadAt(buf[:], 0) // as much as there is
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:min(n, hurryAt)])))
	if err != nil || pid <= 0 || processStart(pid) == "" {
		return 0
	}
	return pid
}

// reason says what a writer waits for.
func (l *writerLock) reason() string {
	pid := l.holder()
	switch {
	case pid == 0:
		return "waiting to save: another program is writing to the session database"
	case processStopped(pid):
		return fmt.Sprintf("waiting to save: belay process %d is writing, but it is stopped (kill -CONT %d lets it go on)",
			pid, pid)
	}
	return fmt.Sprintf("waiting to save: belay process %d is writing", pid)
}

func (l *writerLock) advice() string {
	pid := l.holder()
	switch {
	case pid == 0:
		return "another program holds it: close that one, or wait a moment and try again"
	case processStopped(pid):
		return fmt.Sprintf("process %d is stopped: let it go on with `kill -CONT %d`, or end it, and try again", pid, pid)
	}
	return fmt.Sprintf("wait for process %d, or end it, and try again", pid)
}
