// Package rehearsal decides, by script, what a model says and how it fails: it
// is an OpenAI-compatible server for the demo, for practice and for tests.
//
// It speaks the Responses API and Chat Completions, streaming or not, and lists its
// models. Background replies of the Responses API can be fetched again from any event
// on, and cancelled. A [Server] is an [http.Handler] for a socket and an
// [http.RoundTripper] for a client in the same process. The latter starts no
// goroutine and waits only on timers, so a whole engine can run on it under
// testing/synctest. Like the real service it rejects an invalid history, an unknown
// model and a wrong key.
//
// # The script
//
// A script is TOML, or JSON with the same keys. Each [[reply]] is used once,
// in order, by the first request that matches its conditions (model, api, user,
// output). With times it serves several requests; with for it serves every request
// during a period that begins at its first use. When none matches, [default] answers.
// [Example] is a script with every key explained.
//
// A fault says what happens (how) and where (at, after): before the first word, after
// a number of characters of the text, in the middle of a tool's arguments, after an
// item, or before the terminal event. The values of how are
//
//	status       an HTTP status and an error object; headers such as Retry-After
//	error        an error event with the error nested, then response.failed
//	error-flat   an error event with code and message at the top
//	failed       response.failed; in Chat Completions a chunk with finish_reason "error"
//	incomplete   cut short by max_output_tokens, or by content_filter if that is the code
//	cut, reset   the connection is closed or reset
//	end          a clean end without a terminal event
//	stall        silence until the client gives up
//	comments     only comment lines until the client gives up
//	malformed    an event that is not JSON
//	huge         one delta of size bytes
//	html         a gateway's page, status 502 unless stated
//	portal       a captive portal's page, status 200
//	refuse, dns  no connection
//	close        the connection is closed before the headers
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

// Options configure a Server. The zero value suits most uses.
type Options struct {
	Now func() time.Time // the clock of the log and of "for"; nil: time.Now

	// ID returns the unique part of an id. Nil: a counter, with a hash of the request
	// so that ids differ between servers.
	ID func() string

	// Done is called when an exchange is over, before the client can notice. Calls
	// may overlap.
	Done func(Exchange)
}

// Server answers by a script. It is safe for concurrent use.
type Server struct {
	script *Script
	now    func() time.Time
	id     func() string
	done   func(Exchange)

	mu            sync.Mutex
	used          []int       // of each reply
	firstUse      []time.Time // first use of each reply
	log           []*Exchange
	serial        int
	conversations conversations
	stored        []*storedReply // replies in the background
}

// Exchange is one request and its outcome.
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
	Status    int    // 0 if there was no response
	Outcome   string // "open" until the exchange is over; then "done", "left" or how it failed
}

// New creates a server for a script that Parse returned. It starts nothing.
func New(script *Script, o Options) *Server {
	s := &Server{script: script, now: o.Now, id: o.ID, done: o.Done}
	if s.now == nil {
		s.now = time.Now
	}
	s.used = make([]int, len(script.Replies))
	s.firstUse = make([]time.Time, len(script.Replies))
	return s
}

// Log returns a copy of all exchanges so far, oldest first.
func (s *Server) Log() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	exchanges := make([]Exchange, len(s.log))
	for i, e := range s.log {
		exchanges[i] = *e
	}
	return exchanges
}

// Unused counts the scripted replies that no request has used up yet.
func (s *Server) Unused() int {
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

// finish records the outcome of an exchange, unless it already has one.
func (s *Server) finish(e *Exchange, outcome string) {
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

// pick chooses the reply to a request and counts its use. It also returns the reply's
// name for the log.
func (s *Server) pick(req *request) (*Reply, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, name := s.next(req); r != nil {
		return r, name
	}
	if s.script.Loop && len(s.script.Replies) > 0 {
		clear(s.used)
		clear(s.firstUse)
		if r, name := s.next(req); r != nil {
			return r, name
		}
	}
	if s.script.Default != nil {
		return s.script.Default, "default"
	}
	return &Reply{Text: "(The rehearsal's script has no reply left.)"}, "none left"
}

func (s *Server) next(q *request) (*Reply, string) {
	now := s.now()
	for i := range s.script.Replies {
		reply := &s.script.Replies[i]
		if !q.fits(reply) {
			continue
		}
		switch {
		case reply.For > 0:
			if s.used[i] > 0 && now.Sub(s.firstUse[i]) >= time.Duration(reply.For) {
				continue
			}
		case reply.Times >= 0 && s.used[i] >= max(reply.Times, 1):
			continue
		}
		if s.used[i] == 0 {
			s.firstUse[i] = now
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

func (q *request) fits(r *Reply) bool {
	return (r.Model == "" || r.Model == q.model) &&
		(r.API == "" || r.API == q.api) &&
		(r.User == "" || strings.Contains(q.lastUser, r.User)) &&
		(r.Output == "" || strings.Contains(q.lastOutput, r.Output))
}

// newID returns the unique part of a reply's ids.
func (s *Server) newID(req *request) string {
	if s.id != nil {
		return s.id()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return fmt.Sprintf("%08x%04d", req.hash, s.serial)
}

var (
	_ http.Handler      = (*Server)(nil)
	_ http.RoundTripper = (*Server)(nil)
)
