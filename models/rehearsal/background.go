package rehearsal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// stored is a reply in the background: it goes on without a connection, and
// what was missed can be fetched.
type stored struct {
	id     string
	frames []frame // one for each event, by its sequence number
}

// breaks are the ways to fail that are the connection's, not the model's. A
// reply in the background is whole in spite of them.
var breaks = []string{howCut, howReset, howEnd, howStall, howComments, howMalformed}

// keep stores the reply to q as it is without a broken connection.
func (s *Server) keep(q *question, r *Reply, speed Speed, id string, now time.Time) {
	c := &compose{q: q, r: r, speed: speed, kept: true}
	c.responses(id, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = append(s.stored, &stored{id: "resp_" + id, frames: c.frames})
}

// fetch answers what comes under the path of a stored reply: the rest of its
// stream, or the word to stop it.
func (s *Server) fetch(r *http.Request, path string) *plan {
	id, verb, _ := strings.Cut(path, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.stored, func(k *stored) bool { return k.id == id })
	switch {
	case i < 0:
		return s.refuse(
			&refusal{
				http.StatusNotFound,
				fmt.Sprintf("Response with id '%s' not found.", id),
				"invalid_request_error",
				"",
				"",
			},
		)
	case verb == "cancel" && r.Method == http.MethodPost:
		b, _ := json.Marshal(object{"id": id, "object": "response", "status": "cancelled"}) // strings always marshal
		return &plan{
			status:  http.StatusOK,
			outcome: "cancelled",
			header:  http.Header{"Content-Type": {"application/json"}},
			frames:  []frame{{data: b}},
		}
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
