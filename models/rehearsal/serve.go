package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// maxBody bounds a request, far above what any window holds.
const maxBody = 256 << 20

// answer reads a request and plans its answer, and opens its record.
func (s *Server) answer(r *http.Request) (*plan, *Exchange, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			return nil, nil, fmt.Errorf("read request: %w", err)
		}
	}
	exchange := &Exchange{
		Time: s.now(), Method: r.Method, Path: r.URL.Path, Body: body, Outcome: "open",
		Trace: r.Header.Get(
			"X-Client-Request-Id",
		), Operation: r.Header.Get("X-Belay-Operation"), UserAgent: r.UserAgent(),
	}
	p := s.decide(r, body, exchange)
	exchange.Status = p.status
	s.mu.Lock()
	s.log = append(s.log, exchange)
	s.mu.Unlock()
	return p, exchange, nil
}

func (s *Server) decide(r *http.Request, body []byte, exchange *Exchange) *plan {
	if s.script.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.script.Key {
		return s.refuse(
			&refusal{
				http.StatusUnauthorized,
				"Incorrect API key provided. You can find your API key in the script.",
				"invalid_request_error",
				"",
				"invalid_api_key",
			},
		)
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch {
	case strings.HasSuffix(path, "/models") && r.Method == http.MethodGet:
		return s.list()
	case strings.HasSuffix(path, "/responses"):
		exchange.API = "responses"
	case strings.HasSuffix(path, "/chat/completions"):
		exchange.API = "chat"
	case strings.Contains(path, "/responses/"):
		exchange.API = "responses"
		_, id, _ := strings.Cut(path, "/responses/")
		return s.fetch(r, id)
	default:
		return s.refuse(invalidURL(r))
	}
	if r.Method != http.MethodPost {
		return s.refuse(
			&refusal{
				http.StatusMethodNotAllowed,
				"Not allowed to " + r.Method + " on " + r.URL.Path + ".",
				"invalid_request_error",
				"",
				"method_not_supported",
			},
		)
	}
	asked, bad := read(exchange.API, body)
	exchange.Model, exchange.Stream = asked.model, asked.stream
	if asked.model != "" && !s.knows(asked.model) {
		bad = &refusal{
			http.StatusNotFound,
			fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", asked.model),
			"invalid_request_error",
			"",
			"model_not_found",
		}
	}
	if bad != nil {
		return s.refuse(bad)
	}
	reply, name := s.pick(asked)
	exchange.Reply = name
	return s.plan(asked, reply)
}

func (s *Server) knows(model string) bool {
	for _, m := range s.script.Models {
		if m == model {
			return true
		}
	}
	return len(s.script.Models) == 0
}

func (s *Server) refuse(r *refusal) *plan {
	return &plan{
		status: r.status, outcome: "refused", header: http.Header{"Content-Type": {"application/json"}},
		frames: []frame{{data: r.body()}},
	}
}

func (s *Server) list() *plan {
	data := []any{}
	for _, m := range s.script.Models {
		data = append(data, object{"id": m, "object": "model", "created": 0, "owned_by": "rehearsal"})
	}
	b, _ := json.Marshal(object{"object": "list", "data": data}) // strings always marshal
	return &plan{
		status: http.StatusOK, outcome: "done", header: http.Header{"Content-Type": {"application/json"}},
		frames: []frame{{data: b}},
	}
}

// pause waits for d or until the client leaves.
func pause(ctx context.Context, gone <-chan struct{}, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-gone:
		return errLeft
	}
}

var errLeft = errors.New("rehearsal: body closed")

// errReset and errCut are what net/http reports for a reset and a cut
// connection.
var (
	errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	errCut   = io.ErrUnexpectedEOF
)

// commentGap is the time between two comment lines.
const commentGap = 10 * time.Second

// player walks through the frames of a plan.
type player struct {
	plan *plan
	next int
	held ending // what the last frame left to do
}

// step waits and gives the next bytes. It ends with io.EOF, with errCut or
// errReset where the script says so, or with what made the client leave.
func (p *player) step(ctx context.Context, gone <-chan struct{}) ([]byte, error) {
	switch p.held {
	case cut:
		return nil, errCut
	case reset:
		return nil, errReset
	case stall:
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-gone:
			return nil, errLeft
		}
	case comments:
		if err := pause(ctx, gone, commentGap); err != nil {
			return nil, err
		}
		return []byte(": keepalive\n\n"), nil
	}
	if p.next >= len(p.plan.frames) {
		return nil, io.EOF
	}
	f := p.plan.frames[p.next]
	if err := pause(ctx, gone, f.wait); err != nil {
		return nil, err
	}
	p.next++
	p.held = f.then
	return f.data, nil
}

// atOnce says whether the next bytes come without a wait.
func (p *player) atOnce() bool {
	return p.held == goOn && p.next < len(p.plan.frames) && p.plan.frames[p.next].wait == 0
}

// over says that every frame has been handed out.
func (p *player) over() bool { return p.next == len(p.plan.frames) }
