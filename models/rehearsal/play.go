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

// ServeHTTP answers over a socket.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, exchange, err := s.answer(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer s.settle(exchange, "left") // unless it is settled before
	if err := pause(r.Context(), nil, answer.headers); err != nil {
		return
	}
	if answer.lost != "" {
		s.settle(exchange, answer.outcome)
		hangUp(w, answer.lost != howClose)
		return
	}
	for k, v := range answer.header {
		w.Header()[k] = v
	}
	if answer.header.Get("Content-Type") == "none" {
		w.Header()["Content-Type"] = nil // nil keeps net/http from guessing one
	}
	w.WriteHeader(answer.status)
	flush := http.NewResponseController(w)
	walk, pending := &player{plan: answer}, 0
	for {
		b, err := walk.step(r.Context(), nil)
		if err != nil {
			switch {
			case errors.Is(err, errReset):
				_ = flush.Flush()
				hangUp(w, true)
			case !errors.Is(err, io.EOF):
				_ = flush.Flush()
				panic(http.ErrAbortHandler) // ends the connection without the final chunk
			}
			return
		}
		if _, err := w.Write(b); err != nil {
			return
		}
		if walk.over() {
			s.settle(exchange, answer.outcome)
		}
		// At full speed a flush for every event would be a system call for every event.
		if pending += len(b); !walk.atOnce() || pending > 16<<10 {
			_ = flush.Flush()
			pending = 0
		}
	}
}

// hangUp ends the connection at once, with a reset if asked.
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

// RoundTrip answers in the same process. The reply's body is made while it is
// read: nothing runs in between.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, exchange, err := s.answer(r)
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	if err := pause(r.Context(), nil, answer.headers); err != nil {
		s.settle(exchange, "left")
		return nil, err
	}
	if answer.lost != "" {
		s.settle(exchange, answer.outcome)
		return nil, lost(answer.lost, r.URL.Hostname())
	}
	header := answer.header
	if header.Get("Content-Type") == "none" {
		header.Del("Content-Type")
	}
	header.Set("Date", s.now().UTC().Format(http.TimeFormat))
	return &http.Response{
		Status: strconv.Itoa(answer.status) + " " + http.StatusText(answer.status), StatusCode: answer.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: -1, Request: r,
		Body: &body{
			ctx:    r.Context(),
			walk:   &player{plan: answer},
			gone:   make(chan struct{}),
			settle: func(o string) { s.settle(exchange, o) },
		},
	}, nil
}

func lost(how, host string) error {
	switch how {
	case howDNS:
		return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case howClose:
		return io.EOF
	default:
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
}

// body plays a plan while it is read.
type body struct {
	ctx    context.Context
	walk   *player
	rest   []byte
	end    error
	gone   chan struct{}
	once   sync.Once
	settle func(outcome string)
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.end == nil {
			b.rest, b.end = b.walk.step(b.ctx, b.gone)
			if b.walk.over() {
				b.settle(b.walk.plan.outcome)
			}
		}
		if b.end != nil {
			return 0, b.end
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close unblocks a Read that waits.
func (b *body) Close() error {
	b.once.Do(func() {
		close(b.gone)
		b.settle("left")
	})
	return nil
}
