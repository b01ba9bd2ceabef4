package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"belay/session/batch"
	"belay/session/queue/scratch"
	"belay/session/store"
)

// standIn is a server that does what it is told with each connection.
func standIn(t *testing.T, do func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go do(conn)
		}
	}()
	return l.Addr().String()
}

func TestAServerThatCannotBeReached(t *testing.T) {
	closed := standIn(t, func(net.Conn) {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	hangsUp := standIn(t, func(c net.Conn) { _ = c.Close() })
	noTLS := standIn(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, 8))
		_, _ = c.Write([]byte("N"))
	})
	for _, tt := range []struct {
		name, url string
		kind      error
		text      string
	}{
		{"nobody listens", "postgres://belay:hunter2@" + nobody + "/x", ErrUnreachable,
			"open the queue: PostgreSQL at " + nobody + " does not answer: connection refused"},
		{"it says nothing", "postgres://belay:hunter2@" + closed + "/x?connect_timeout=1", ErrUnreachable,
			"open the queue: PostgreSQL at " + closed + " does not answer: nothing came back in time"},
		{"it hangs up", "postgres://belay:hunter2@" + hangsUp + "/x", ErrUnreachable,
			"open the queue: PostgreSQL at " + hangsUp + " does not answer: "},
		{"no TLS", "postgres://belay:hunter2@" + noTLS + "/x?sslmode=require", ErrRefused,
			"open the queue: PostgreSQL at " + noTLS + " refuses: it has no TLS; sslmode=disable in its address does without"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{URL: tt.url, Dir: t.TempDir(), Now: time.Now, NewID: newID}
			_, err := Open(t.Context(), o)
			looked := err
			if tt.name != "it says nothing" {
				_, looked = Look(t.Context(), o)
			}
			for _, err := range []error{err, looked} {
				if err == nil || !strings.HasPrefix(err.Error(), tt.text) || !errors.Is(err, tt.kind) {
					t.Fatalf("%v, want %s", err, tt.text)
				}
				if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
					t.Errorf("%q", err.Error())
				}
				var hinted interface{ Hint() string }
				if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "BELAY_QUEUE_URL") {
					t.Errorf("it does not say what to change: %v", hinted)
				}
			}
		})
	}
}

func TestAServerThatLetsNobodyIn(t *testing.T) {
	server.Do(func() { server.address, server.stop, server.err = scratch.Start(t.Context()) })
	if errors.Is(server.err, scratch.ErrNone) {
		t.Skip(server.err)
	}
	address := strings.Replace(server.address, "/postgres?", "/nowhere?", 1)
	_, err := Open(t.Context(), Options{URL: address, Dir: t.TempDir(), Now: time.Now, NewID: newID})
	if !errors.Is(err, ErrRefused) || !strings.HasSuffix(err.Error(), `refuses: database "nowhere" does not exist`) {
		t.Errorf("%v, want that it refuses", err)
	}
}

func TestWhatAnErrorTellsOfTheServer(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"a password that is wrong", &pgconn.PgError{Code: "28P01"}, ErrRefused},
		{"it is being stopped", &pgconn.PgError{Code: "57P01"}, ErrUnreachable},
		{"it is starting", &pgconn.PgError{Code: "57P03"}, ErrUnreachable},
		{"it takes no more", &pgconn.PgError{Code: "53300"}, ErrUnreachable},
		{"a statement is wrong", &pgconn.PgError{Code: "42601"}, nil},
		{"the connection is gone", io.ErrUnexpectedEOF, ErrUnreachable},
		{"its name is not known", &net.DNSError{Name: "nobody.invalid", IsNotFound: true}, ErrUnreachable},
		{"the user ended it", context.Canceled, nil},
		{"a disk is full", errors.New("database or disk is full (13)"), nil},
	} {
		if _, got := reach(&Error{"read", tt.err, ""}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestAWorkerSaysThatTheQueueCannotBeAskedAndThatItCanAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		t.Parallel()
		q := open("machine1")
		rename := func(from, to string) {
			t.Helper()
			if _, err := q.db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Error(err)
			}
		}
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		told := make(chan error, 10)
		done := make(chan error, 1)
		begun := make(chan struct{})
		go func() {
			pace := batch.NewPace(1, time.Now, func() float64 { return 0 }, nil)
			o := WorkerOptions{Scopes: []string{Workers}, Pace: pace, Most: 1, Trouble: func(err error) { told <- err }}
			done <- q.Run(ctx, o, func() { close(begun) })
		}()
		<-begun
		rename("belay_task", "elsewhere")
		if err := <-told; err == nil {
			t.Error("it began with saying that all is well")
		}
		rename("elsewhere", "belay_task")
		if err := <-told; err != nil {
			t.Errorf("%v, want that it is well again", err)
		}
		end()
		if err := <-done; err != nil || len(told) > 0 {
			t.Errorf("%v, and %d more", err, len(told))
		}
	})
}

func TestAFullDiskIsSaidInWordsWithWhatToDo(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, store.ErrFull, errors.New("fatal: write error: No space left on device")} {
		err := &Error{"open the queue", fmt.Errorf("disk I/O error: %w", cause), "it is /data/queue.db"}
		if err.Error() != "open the queue: the disk is full" {
			t.Errorf("%v", err)
		}
		if want := "it is /data/queue.db; free some space and go on: what was saved before is kept"; err.Hint() != want {
			t.Errorf("%s", err.Hint())
		}
	}
}

func TestAServerThatFallsSilentIsNotWaitedFor(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close() //nolint:errcheck // it is a pipe
	conn := &answeringConn{Conn: near, limit: time.Millisecond}
	if _, err := conn.Read(make([]byte, 1)); !isTimeout(err) {
		t.Fatalf("%v, want that it took too long", err)
	}
	if err := conn.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	conn.limit = time.Hour
	if _, err := conn.Read(make([]byte, 1)); !isTimeout(err) {
		t.Errorf("%v, want the deadline that was set", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestTroubleThatStaysIsSaidOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q, err := Open(t.Context(), Options{Dir: dir, Machine: "machine1", Now: time.Now, NewID: newID})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close() //nolint:errcheck // it is a test's
		id := jobs(t, q, submitted(t, q, tasks(1, nil)).ID)[0].ID
		ctx, end := context.WithCancel(t.Context())
		var told []error
		var working sync.WaitGroup
		working.Go(func() {
			pace := batch.NewPace(1, time.Now, func() float64 { return 0 }, nil)
			o := WorkerOptions{Scopes: []string{"others"}, Pace: pace, Most: 1, Trouble: func(err error) { told = append(told, err) }}
			if err := q.Run(ctx, o, nil); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Minute)
		for _, spec := range []string{"'{' || spec", "substr(spec, 2)"} { // what a dead worker left, first unreadable
			statement := "UPDATE belay_task SET state = 'running', worker = 'dead', spec = " + spec + " WHERE id = ?"
			if _, err := q.db.ExecContext(ctx, statement, id); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		end()
		working.Wait()
		if len(told) != 2 || told[0] == nil || told[1] != nil {
			t.Errorf("said %q, want the trouble, and then that it is over", told)
		}
	})
}
