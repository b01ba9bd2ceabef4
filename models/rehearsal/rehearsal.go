// Package rehearsal decides, by script, what a model says and how it fails: it
// is an OpenAI-compatible server for the demo, for practice and for tests.
//
// It speaks the Responses API and Chat Completions, streaming or whole, and
// lists its models. Replies in the background of the Responses API can be
// fetched again from any event on, and cancelled. A [Server] is an [http.Handler] for a socket and an
// [http.RoundTripper] for a client in the same process; the second starts no
// goroutine and waits on timers only, so a whole engine runs on it under
// testing/synctest. Like the real thing it refuses a broken history, an
// unknown model and a wrong key.
//
// # The script
//
// A script is TOML, or JSON with the same keys. Each [[reply]] is used once,
// in order, by the first request that fits its conditions (model, api, user,
// output); times makes it last for several requests, for makes it last for a
// stretch of the clock. When none fits, [default] answers. [Example] is a
// script with every key explained.
//
// A fault has a way (how), and a place (at, after): before the first word,
// after so many characters of the text, in the midst of a tool's arguments,
// after an item, before the terminal event. The ways are
//
//	status       an HTTP status and an error object; headers such as Retry-After
//	error        an error event with the error nested, then response.failed
//	error-flat   an error event with code and message at the top
//	failed       response.failed; in Chat Completions a chunk with finish_reason "error"
//	incomplete   cut short by max_output_tokens, or by content_filter if that is the code
//	cut, reset   the connection ends or is reset
//	end          a clean end without a terminal event
//	stall        silence; comments: comment lines only; both until the client leaves
//	malformed    an event that is not JSON
//	huge         one delta of size bytes
//	html         a gateway's page, status 502 unless stated
//	portal       a captive portal's page, status 200
//	refuse, dns  no connection; close: it closes before the headers
package rehearsal

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

//go:embed example.toml
var example []byte

// Example is a script with every key explained.
func Example() []byte { return append([]byte(nil), example...) }

// Options for New. The zero value is right for most uses.
type Options struct {
	Now func() time.Time // the clock of the log and of "for"; nil means time.Now
	ID  func() string    // the unique part of ids; nil counts, and mixes in the request so that ids differ between servers

	// Done is told of each exchange when it is over, before the client can
	// notice its end; calls may overlap.
	Done func(Exchange)
}

// Server answers by a script. Its methods may be called at the same time.
type Server struct {
	script *Script
	now    func() time.Time
	id     func() string
	done   func(Exchange)

	mu     sync.Mutex
	used   []int       // of each reply
	since  []time.Time // first use of each reply
	log    []*Exchange
	serial int
	stored []*stored // replies in the background
}

// Exchange is one request and what became of it.
type Exchange struct {
	Time      time.Time
	Method    string
	Path      string
	Model     string
	API       string // "responses", "chat" or "" for anything else
	Stream    bool
	Trace     string // the X-Client-Request-Id header, new for every attempt
	Operation string // the X-Belay-Operation header, the same for all attempts at one request
	UserAgent string
	Body      json.RawMessage
	Reply     string // the name or number of the reply used
	Status    int    // 0 when there was no answer
	Outcome   string // "open" until the reply is over; then "done", "left" or the way it failed
}

// New makes a server for a script that Parse returned. It starts nothing.
func New(script *Script, o Options) *Server {
	s := &Server{script: script, now: o.Now, id: o.ID, done: o.Done}
	if s.now == nil {
		s.now = time.Now
	}
	s.used = make([]int, len(script.Replies))
	s.since = make([]time.Time, len(script.Replies))
	return s
}

// Log returns a copy of the record of all requests so far, oldest first.
func (s *Server) Log() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Exchange, len(s.log))
	for i, e := range s.log {
		out[i] = *e
	}
	return out
}

// Left counts the scripted replies that nobody has fetched yet.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for i := range s.script.Replies {
		if r := &s.script.Replies[i]; r.Times >= 0 && s.used[i] < max(r.Times, 1) {
			n++
		}
	}
	return n
}

// settle writes the outcome of an exchange; the first one counts.
func (s *Server) settle(e *Exchange, outcome string) {
	s.mu.Lock()
	first := e.Outcome == "open"
	if first {
		e.Outcome = outcome
	}
	over := *e
	s.mu.Unlock()
	if first && s.done != nil {
		s.done(over)
	}
}

// pick finds the reply for a question and counts its use.
func (s *Server) pick(asked *question) (*Reply, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, name := s.next(asked); r != nil {
		return r, name
	}
	if s.script.Loop && len(s.script.Replies) > 0 {
		clear(s.used)
		clear(s.since)
		if r, name := s.next(asked); r != nil {
			return r, name
		}
	}
	if s.script.Default != nil {
		return s.script.Default, "default"
	}
	return &Reply{Text: "(The rehearsal's script has no reply left.)"}, "none left"
}

func (s *Server) next(q *question) (*Reply, string) {
	now := s.now()
	for i := range s.script.Replies {
		reply := &s.script.Replies[i]
		if !q.fits(reply) {
			continue
		}
		switch {
		case reply.For > 0:
			if s.used[i] > 0 && now.Sub(s.since[i]) >= time.Duration(reply.For) {
				continue
			}
		case reply.Times >= 0 && s.used[i] >= max(reply.Times, 1):
			continue
		}
		if s.used[i] == 0 {
			s.since[i] = now
		}
		s.used[i]++
		name := reply.Name
		if name == "" {
			name = fmt.Sprint(i + 1)
		}
		return reply, name
	}
	return nil, ""
}

func (q *question) fits(r *Reply) bool {
	return (r.Model == "" || r.Model == q.model) &&
		(r.API == "" || r.API == q.api) &&
		(r.User == "" || strings.Contains(q.lastUser, r.User)) &&
		(r.Output == "" || strings.Contains(q.lastOutput, r.Output))
}

// unique makes the part of an id that tells it from all others.
func (s *Server) unique(asked *question) string {
	if s.id != nil {
		return s.id()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return fmt.Sprintf("%08x%04d", asked.hash, s.serial)
}

var (
	_ http.Handler      = (*Server)(nil)
	_ http.RoundTripper = (*Server)(nil)
)
