package rehearsal

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
)

// ServeHTTP answers over a socket. Faults of the connection happen to the real one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, exchange, err := s.answer(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer s.finish(exchange, "left") // has no effect once the outcome is known
	if err := pause(r.Context(), nil, answer.headerDelay); err != nil {
		return
	}
	if answer.noAnswer != "" {
		s.finish(exchange, answer.outcome)
		hangUp(w, answer.noAnswer != howClose)
		return
	}
	for k, v := range answer.header {
		w.Header()[k] = v
	}
	if answer.header.Get("Content-Type") == "none" {
		w.Header()["Content-Type"] = nil // nil keeps net/http from guessing one
	}
	w.WriteHeader(answer.status)
	controller := http.NewResponseController(w)
	frames := &player{plan: answer}
	unflushed := 0
	for {
		b, err := frames.step(r.Context(), nil)
		if err != nil {
			switch {
			case errors.Is(err, errReset):
				_ = controller.Flush()
				hangUp(w, true)
			case !errors.Is(err, io.EOF):
				_ = controller.Flush()
				panic(http.ErrAbortHandler) // ends the connection without the final chunk
			}
			return
		}
		if _, err := w.Write(b); err != nil {
			return
		}
		if frames.finished() {
			s.finish(exchange, answer.outcome)
		}
		// Events that follow without a wait are flushed together, to save system calls.
		if unflushed += len(b); !frames.nextIsImmediate() || unflushed > 16<<10 {
			_ = controller.Flush()
			unflushed = 0
		}
	}
}

// hangUp closes the connection at once, or resets it.
func hangUp(w http.ResponseWriter, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// RoundTrip answers a client in the same process. The body is played as it is read,
// so that no goroutine is needed.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, exchange, err := s.answer(r)
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	if err := pause(r.Context(), nil, answer.headerDelay); err != nil {
		s.finish(exchange, "left")
		return nil, err
	}
	if answer.noAnswer != "" {
		s.finish(exchange, answer.outcome)
		return nil, connectionError(answer.noAnswer, r.URL.Hostname())
	}
	header := answer.header
	if header.Get("Content-Type") == "none" {
		header.Del("Content-Type")
	}
	header.Set("Date", s.now().UTC().Format(http.TimeFormat))
	return &http.Response{
		Status:     strconv.Itoa(answer.status) + " " + http.StatusText(answer.status),
		StatusCode: answer.status,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     header,
		Body: &body{
			ctx:    r.Context(),
			player: &player{plan: answer},
			closed: make(chan struct{}),
			finish: func(outcome string) { s.finish(exchange, outcome) },
		},
		ContentLength: -1,
		Request:       r,
	}, nil
}

// connectionError is what a net/http client sees of a server it cannot reach.
func connectionError(how, host string) error {
	switch how {
	case howDNS:
		return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case howClose:
		return io.EOF
	default:
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
}

// body is a response body that plays a plan as it is read.
type body struct {
	ctx    context.Context
	player *player
	unread []byte
	err    error
	closed chan struct{}
	once   sync.Once
	finish func(outcome string)
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.unread) == 0 {
		if b.err == nil {
			b.unread, b.err = b.player.step(b.ctx, b.closed)
			if b.player.finished() {
				b.finish(b.player.plan.outcome)
			}
		}
		if b.err != nil {
			return 0, b.err
		}
	}
	n := copy(p, b.unread)
	b.unread = b.unread[n:]
	return n, nil
}

// Close unblocks a waiting Read.
func (b *body) Close() error {
	b.once.Do(func() {
		close(b.closed)
		b.finish("left")
	})
	return nil
}
