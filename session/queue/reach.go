package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"belay/session/store"
)

// ErrUnreachable is a PostgreSQL server that does not answer now, and may later.
var ErrUnreachable = errors.New("the PostgreSQL server of the queue does not answer")

// ErrRefused is one that answers, and lets nobody in before the settings have changed.
var ErrRefused = errors.New("the PostgreSQL server of the queue refuses")

const (
	connectLimit = 5 * time.Second  // for a connection, unless the address says connect_timeout
	openLimit    = 8 * time.Second  // until it is known that the server answers
	answerLimit  = 15 * time.Second // without a byte from a server that was asked something
)

const silent = "nothing came back in time"

// openPostgres prepares connections to a server. One that takes a connection, or a
// question, and says nothing is not waited for without end.
func openPostgres(address string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectLimit
	}
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &answeringConn{Conn: conn, limit: answerLimit}, nil
	}
	return stdlib.OpenDB(*config), nil
}

func (q *Queue) openError(err error) error {
	if !q.postgres {
		return &Error{"open the queue", err, "it is " + filepath.Join(q.o.Dir, File)}
	}
	reason, kind := reach(err)
	if kind == nil && errors.Is(err, context.DeadlineExceeded) {
		reason, kind = silent, ErrUnreachable
	}
	if kind != nil {
		return &Error{"open the queue", &serverError{kind, q.server(), redactURL(reason, q.o.URL)}, serverAdvice}
	}
	return &Error{"open the queue", errors.New(redactURL(err.Error(), q.o.URL)), serverAdvice}
}

// serverError is what a server did, with its name.
type serverError struct {
	kind         error
	name, reason string
}

// Error says what the server did.
func (e *serverError) Error() string {
	if errors.Is(e.kind, ErrRefused) {
		return fmt.Sprintf("PostgreSQL at %s refuses: %s", e.name, e.reason)
	}
	return fmt.Sprintf("PostgreSQL at %s does not answer: %s", e.name, e.reason)
}

// Unwrap gives ErrUnreachable or ErrRefused.
func (e *serverError) Unwrap() error { return e.kind }

// server names the server as people do: host and port, or the folder of its socket.
func (q *Queue) server() string {
	config, err := pgx.ParseConfig(q.o.URL)
	switch {
	case err != nil:
		return "queue.url"
	case strings.HasPrefix(config.Host, "/"):
		return config.Host
	}
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}

// answeringConn ends reads that bring nothing for too long, unless its user has set a
// deadline itself.
type answeringConn struct {
	net.Conn
	limit time.Duration

	mu  sync.Mutex
	set bool // a deadline, by the user
}

// Read waits for the limit, or for the deadline that was set.
func (c *answeringConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	if !c.set {
		if err := c.Conn.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
			c.mu.Unlock()
			return 0, err
		}
	}
	c.mu.Unlock()
	return c.Conn.Read(b)
}

// SetDeadline sets the user's deadline; zero takes it away.
func (c *answeringConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = !t.IsZero()
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline sets the user's deadline of reads; zero takes it away.
func (c *answeringConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = !t.IsZero()
	return c.Conn.SetReadDeadline(t)
}

// reach says what an error tells of the server: ErrUnreachable or ErrRefused with a
// reason in a few words; nil: it is not about that.
func reach(err error) (reason string, kind error) {
	var server *serverError
	if errors.As(err, &server) {
		return server.reason, server.kind
	}
	var told *pgconn.PgError
	if errors.As(err, &told) {
		return told.Message, reachOfCode(told.Code)
	}
	var connecting *pgconn.ConnectError
	connects := errors.As(err, &connecting)
	var number syscall.Errno
	var name *net.DNSError
	var timeout net.Error
	var unknown x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &name):
		return "its name " + name.Name + " is not known", ErrUnreachable
	case connects && (errors.As(err, &certificate) || errors.As(err, &unknown)):
		return certificateReason(certificate, unknown), ErrRefused
	case connects && strings.Contains(err.Error(), "server refused TLS connection"): // it has no type
		return "it has no TLS; sslmode=disable in its address does without", ErrRefused
	case isNetwork(err, connects) && errors.As(err, &number):
		return number.Error(), ErrUnreachable
	case connects && errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, context.DeadlineExceeded):
		return silent, ErrUnreachable
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, io.ErrUnexpectedEOF), connects && errors.Is(err, io.EOF):
		return "it closed the connection", ErrUnreachable
	case connects && !errors.Is(err, context.Canceled):
		return lastPart(err.Error()), ErrUnreachable
	}
	return "", nil
}

// isNetwork tells an error of a connection from one of a file.
func isNetwork(err error, connects bool) bool {
	var op *net.OpError
	return connects || errors.As(err, &op)
}

func certificateReason(verifying *tls.CertificateVerificationError, unknown x509.UnknownAuthorityError) string {
	if verifying != nil {
		return verifying.Err.Error()
	}
	return unknown.Error()
}

// reachOfCode sorts the codes of PostgreSQL's appendix A that are about being let in.
func reachOfCode(code string) error {
	switch {
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), code == "53300": // gone, ending or starting, full
		return ErrUnreachable
	case strings.HasPrefix(code, "28"), code == "3D000", code == "42501": // authentication, database, privilege
		return ErrRefused
	}
	return nil
}

func lastPart(text string) string {
	lines := strings.Split(text, "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// explain is an error in words for people, without the lines of a driver.
func explain(err error) string {
	var server *serverError
	reason, kind := reach(err)
	switch {
	case store.IsFull(err):
		return store.ErrFull.Error()
	case kind == nil, errors.As(err, &server):
		return err.Error()
	}
	return kind.Error() + ": " + reason
}
