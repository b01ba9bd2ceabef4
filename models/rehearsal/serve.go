package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxBody bounds a request's body, in bytes: far above any context window.
const maxBody = 256 << 20

// answer reads a request, plans the response and opens the exchange's log entry.
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
		Time:      s.now(),
		Method:    r.Method,
		Path:      r.URL.Path,
		Trace:     r.Header.Get("X-Client-Request-Id"),
		Operation: r.Header.Get("X-Belay-Operation"),
		UserAgent: r.UserAgent(),
		Body:      body,
		Outcome:   "open",
	}
	p := s.planFor(r, body, exchange)
	exchange.Status = p.status
	s.mu.Lock()
	s.log = append(s.log, exchange)
	s.mu.Unlock()
	return p, exchange, nil
}

func (s *Server) planFor(r *http.Request, body []byte, exchange *Exchange) *plan {
	if s.script.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.script.Key {
		return s.refuse(&refusal{
			status:  http.StatusUnauthorized,
			message: "Incorrect API key provided. You can find your API key in the script.",
			kind:    invalidRequest,
			code:    "invalid_api_key",
		})
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch {
	case strings.HasSuffix(path, "/models") && r.Method == http.MethodGet:
		return s.listModels()
	case strings.Contains(path, "/models/") && r.Method == http.MethodGet:
		_, name, _ := strings.Cut(path, "/models/")
		return s.describeModel(name)
	case strings.HasSuffix(path, "/responses"):
		exchange.API = "responses"
	case strings.HasSuffix(path, "/chat/completions"):
		exchange.API = "chat"
	case strings.Contains(path, "/responses/"):
		exchange.API = "responses"
		_, id, _ := strings.Cut(path, "/responses/")
		return s.serveStored(r, id)
	default:
		return s.refuse(invalidURL(r))
	}
	if r.Method != http.MethodPost {
		return s.refuse(&refusal{
			status:  http.StatusMethodNotAllowed,
			message: "Not allowed to " + r.Method + " on " + r.URL.Path + ".",
			kind:    invalidRequest,
			code:    "method_not_supported",
		})
	}
	req, bad := s.parseRequest(exchange.API, body)
	exchange.Model, exchange.Stream = req.model, req.stream
	if req.model != "" && !s.hasModel(req.model) {
		bad = unknownModel(req.model)
	}
	req.like = s.script.like()
	if bad == nil {
		bad = req.like.refuses(req, body)
	}
	if bad != nil {
		return s.refuse(bad)
	}
	reply, name := s.pick(req)
	exchange.Reply = name
	return s.planReply(req, reply)
}

func (s *Server) hasModel(model string) bool {
	return len(s.script.Models) == 0 || slices.Contains(s.script.Models, model)
}

func (s *Server) refuse(r *refusal) *plan {
	body := r.body()
	return &plan{
		status:  r.status,
		outcome: "refused",
		header: http.Header{
			"Content-Type": {"application/json"},
			"X-Request-Id": {"req_" + s.newID(&request{hash: crc32.ChecksumIEEE(body)})},
		},
		frames: []frame{{data: body}},
	}
}

func (s *Server) listModels() *plan {
	data := []any{}
	for _, m := range s.script.Models {
		data = append(data, modelObject(m))
	}
	return document("done", object{"object": "list", "data": data})
}

func (s *Server) describeModel(name string) *plan {
	if !s.hasModel(name) {
		return s.refuse(unknownModel(name))
	}
	return document("done", modelObject(name))
}

func modelObject(name string) object {
	return object{"id": name, "object": "model", "created": 0, "owned_by": "rehearsal"}
}

func unknownModel(name string) *refusal {
	return &refusal{
		status:  http.StatusNotFound,
		message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", name),
		kind:    invalidRequest,
		code:    "model_not_found",
	}
}

// document answers with one JSON document of texts and numbers, which always marshals.
func document(outcome string, v any) *plan {
	b, _ := json.Marshal(v)
	return &plan{
		status:  http.StatusOK,
		outcome: outcome,
		header:  http.Header{"Content-Type": {"application/json"}},
		frames:  []frame{{data: b}},
	}
}

// pause waits for d, or until the client gives up.
func pause(ctx context.Context, closed <-chan struct{}, d time.Duration) error {
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
	case <-closed:
		return errBodyClosed
	}
}

var errBodyClosed = errors.New("rehearsal: body closed")

// errReset and errCut are what a net/http client sees of a connection that was reset
// or closed early.
var (
	errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	errCut   = io.ErrUnexpectedEOF
)

// commentGap is the time between two comment lines.
const commentGap = 10 * time.Second

// player plays the frames of a plan.
type player struct {
	plan    *plan
	next    int
	pending frameEnd // what follows the last frame played
}

// step waits and returns the next bytes. It ends with io.EOF, with errCut or errReset
// if the script says so, or with the reason why the client gave up.
func (p *player) step(ctx context.Context, closed <-chan struct{}) ([]byte, error) {
	switch p.pending {
	case cut:
		return nil, errCut
	case reset:
		return nil, errReset
	case stall:
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-closed:
			return nil, errBodyClosed
		}
	case comments:
		if err := pause(ctx, closed, commentGap); err != nil {
			return nil, err
		}
		return []byte(": keepalive\n\n"), nil
	}
	if p.next >= len(p.plan.frames) {
		return nil, io.EOF
	}
	f := p.plan.frames[p.next]
	if err := pause(ctx, closed, f.wait); err != nil {
		return nil, err
	}
	p.next++
	p.pending = f.then
	return f.data, nil
}

// nextIsImmediate reports whether the next frame is sent without a wait.
func (p *player) nextIsImmediate() bool {
	return p.pending == carryOn && p.next < len(p.plan.frames) && p.plan.frames[p.next].wait == 0
}

// finished reports whether every frame has been played.
func (p *player) finished() bool { return p.next == len(p.plan.frames) }
