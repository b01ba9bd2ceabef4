package snapshot

import (
	"context"
	"os"
	"time"
)

// lock is the right to change one workspace's store. The system takes it back
// when its holder dies.
type lock struct{ f *os.File }

// acquire waits for the lock in a file.
func acquire(ctx context.Context, name string) (*lock, error) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		l, err := tryAcquire(name)
		if l != nil || err != nil {
			return l, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

func tryAcquire(name string) (*lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f)
	if ok && err == nil {
		// The store may have been deleted, and made anew by another, since.
		mine, err1 := f.Stat()
		there, err2 := os.Stat(name)
		if err1 == nil && err2 == nil && os.SameFile(mine, there) {
			return &lock{f: f}, nil
		}
	}
	f.Close()
	return nil, err
}

// LockFile waits for the lock in a file, for others that change a repository with git.
// The system takes it back when its holder dies.
func LockFile(ctx context.Context, name string) (release func(), err error) {
	l, err := acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	return l.release, nil
}

func (l *lock) release() { l.f.Close() }
