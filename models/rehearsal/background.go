package rehearsal

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// storedReply is a reply of a background request. It is complete whatever happens to
// the connection, so a client can fetch the events it missed.
type storedReply struct {
	id     string
	frames []frame // one per event, indexed by sequence number
}

// connectionFaults break the connection but not the reply itself: a background reply
// is stored complete in spite of them.
var connectionFaults = []string{howCut, howReset, howEnd, howStall, howComments, howMalformed}

// storeBackground stores the reply as it would be over a connection that never breaks.
func (s *Server) storeBackground(req *request, r *Reply, speed Speed, id string, now time.Time) {
	c := &composer{req: req, reply: r, speed: speed, stored: true}
	c.responses(id, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = append(s.stored, &storedReply{id: "resp_" + id, frames: c.frames})
}

// serveStored answers requests below a stored reply's URL: streaming the rest of it,
// or cancelling it.
func (s *Server) serveStored(r *http.Request, path string) *plan {
	id, verb, _ := strings.Cut(path, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.stored, func(reply *storedReply) bool { return reply.id == id })
	switch {
	case i < 0:
		return s.refuse(&refusal{
			status:  http.StatusNotFound,
			message: fmt.Sprintf("Response with id '%s' not found.", id),
			kind:    invalidRequest,
		})
	case verb == "cancel" && r.Method == http.MethodPost:
		return document("cancelled", object{"id": id, "object": "response", "status": "cancelled"})
	case verb != "" || r.Method != http.MethodGet || r.URL.Query().Get("stream") != "true":
		return s.refuse(invalidURL(r))
	}
	after, err := strconv.Atoi(r.URL.Query().Get("starting_after"))
	if err != nil || after < -1 || after >= len(s.stored[i].frames) {
		after = -1
	}
	return &plan{
		status:  http.StatusOK,
		outcome: "done",
		header:  http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		frames:  s.stored[i].frames[after+1:],
	}
}
