package rehearsal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"
)

// frameEnd is what happens to the stream after a frame.
type frameEnd int

const (
	carryOn  frameEnd = iota
	cut               // the connection is closed
	reset             // the connection is reset
	stall             // nothing is sent any more
	comments          // only comment lines are sent
)

// frame is a piece of the response body, sent after a wait.
type frame struct {
	wait time.Duration
	data []byte
	then frameEnd
}

// plan is a complete HTTP response, ready to be played.
type plan struct {
	headerDelay time.Duration
	noAnswer    string // howRefuse, howDNS or howClose; empty if there is a response
	status      int
	header      http.Header
	frames      []frame
	outcome     string // for the log, once every frame is sent
}

// composer collects the frames of a streamed reply. Frames added after the reply's
// fault are dropped.
type composer struct {
	req       *request
	reply     *Reply
	speed     Speed
	frames    []frame
	ended     bool   // the fault has happened
	stored    bool   // for a background reply, which connection faults leave whole
	emitError func() // adds an error in the form of the API
	items     int    // finished items
	output    []any  // of a reply that completed, in the Responses API
}

// event adds a server-sent event, without an event line if the name is empty.
func (c *composer) event(wait time.Duration, name string, v any) {
	if c.ended {
		return
	}
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // cannot fail: Parse has checked the arguments; Encode ends the line
	b.WriteByte('\n')
	c.frames = append(c.frames, frame{wait: wait, data: b.Bytes()})
}

// raw adds text to the stream verbatim.
func (c *composer) raw(text string, then frameEnd) {
	if !c.ended {
		c.frames = append(c.frames, frame{data: []byte(text), then: then})
	}
}

// faultAt reports whether the fault is due at a place.
func (c *composer) faultAt(place string) bool {
	return !c.ended && c.reply.Fault != nil && cmp.Or(c.reply.Fault.At, atStart) == place
}

// reach applies the fault if it is due at a place. A huge delta is due within a text,
// where deltas emits it.
func (c *composer) reach(place string) {
	if c.faultAt(place) && c.reply.Fault.How != howHuge {
		c.applyFault()
	}
}

// itemDone counts a finished item, and applies the fault if it is due after this one.
func (c *composer) itemDone() {
	if c.ended {
		return
	}
	c.items++
	if c.faultAt(atItem) && c.items >= max(c.reply.Fault.After, 1) {
		c.applyFault()
	}
}

func (c *composer) applyFault() {
	f := c.reply.Fault
	if c.stored && slices.Contains(connectionFaults, f.How) {
		return
	}
	switch f.How {
	case howError, howFlat, howFailed, howIncomplete:
		c.emitError()
	case howCut:
		c.raw("", cut)
	case howReset:
		c.raw("", reset)
	case howStall:
		c.raw("", stall)
	case howComments:
		c.raw("", comments)
	case howMalformed:
		c.raw("data: {\"type\":\"response.output_text.delta\",\"delta\":\"ha\n\n", carryOn)
	}
	c.ended = true
}

// deltas emits a text in chunks, up to the fault if it is due within the text.
func (c *composer) deltas(place, text string, emit func(wait time.Duration, piece string)) {
	runes := []rune(text)
	stop := math.MaxInt
	if c.faultAt(place) {
		stop = min(cmp.Or(c.reply.Fault.After, len(runes)/2), len(runes))
	}
	chunk := cmp.Or(c.speed.Chunk, 12)
	for i := 0; i < len(runes) || i >= stop; {
		if c.ended {
			return
		}
		n := min(chunk, len(runes)-i, max(stop-i, 0))
		if n > 0 {
			emit(time.Duration(c.speed.Delay), string(runes[i:i+n]))
			i += n
		}
		if i < stop {
			continue
		}
		if c.reply.Fault.How != howHuge {
			c.applyFault()
			stop = math.MaxInt
			continue
		}
		emit(time.Duration(c.speed.Delay), string(bytes.Repeat([]byte("x"), c.reply.Fault.Size)))
		stop = math.MaxInt
	}
}

// errorFields returns an error's code, type and message. A fault that names none of
// them is an overloaded server.
func (f *Fault) errorFields() (code, kind, message string) {
	code, kind, message = f.Code, f.Type, f.Message
	if code == "" && kind == "" && message == "" && f.How != howStatus {
		code, kind = "server_is_overloaded", "service_unavailable_error"
		message = "Our servers are currently overloaded. Please try again later."
	}
	if message == "" && f.Status != 0 {
		message = http.StatusText(f.Status)
	}
	return code, kind, message
}

func (f *Fault) errorBody() []byte {
	if f.Body != "" {
		return []byte(f.Body)
	}
	code, kind, message := f.errorFields()
	return refusal{message: message, kind: cmp.Or(kind, "server_error"), code: code}.body()
}

// htmlPage is an error page in the style of nginx.
const htmlPage = "<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n<center><h1>%s</h1></center>\r\n<hr><center>%s</center>\r\n</body>\r\n</html>\r\n"

// planInstead plans a fault that replaces the whole reply; nil if the fault comes
// within the reply.
func (f *Fault) planInstead() *plan {
	answer := &plan{header: http.Header{}, outcome: f.How}
	body := f.errorBody()
	switch f.How {
	case howRefuse, howDNS, howClose:
		answer.noAnswer = f.How
		return answer
	case howStatus:
		answer.status = f.Status
		answer.header.Set("Content-Type", "application/json")
	case howHTML:
		answer.status = cmp.Or(f.Status, http.StatusBadGateway)
		answer.header.Set("Content-Type", "text/html")
		title := fmt.Sprintf("%d %s", answer.status, http.StatusText(answer.status))
		body = []byte(cmp.Or(f.Body, fmt.Sprintf(htmlPage, title, title, "nginx")))
	case howPortal:
		answer.status = cmp.Or(f.Status, http.StatusOK)
		answer.header.Set("Content-Type", "text/html; charset=utf-8")
		body = []byte(cmp.Or(f.Body, fmt.Sprintf(htmlPage, "Welcome to Guest WiFi", "Sign in to go online", "portal")))
	default:
		return nil
	}
	answer.frames = []frame{{data: body}}
	return answer
}

// planReply turns a scripted reply into the response to req.
func (s *Server) planReply(req *request, reply *Reply) *plan {
	speed := s.script.Speed
	if reply.Speed != nil {
		speed = *reply.Speed
	}
	id := s.newID(req)
	answer := &plan{status: http.StatusOK, header: http.Header{}, outcome: "done"}
	var instead *plan
	if reply.Fault != nil {
		answer.outcome = reply.Fault.How
		instead = reply.Fault.planInstead()
	}
	c := &composer{req: req, reply: reply, speed: speed}
	switch {
	case instead != nil:
		answer = instead
	case !req.stream || reply.Whole:
		answer.header.Set("Content-Type", "application/json")
		answer.status, answer.frames = c.document(id, s.now())
	default:
		answer.header.Set("Content-Type", "text/event-stream; charset=utf-8")
		answer.header.Set("Cache-Control", "no-cache")
		if req.api == "chat" {
			c.chat(id, s.now())
		} else {
			c.responses(id, s.now())
			if req.background {
				s.storeBackground(req, reply, speed, id, s.now())
			}
		}
		answer.frames = c.frames
	}
	if c.output != nil && !c.ended {
		s.keep(req, "resp_"+id, c.output)
	}
	answer.headerDelay = time.Duration(speed.Headers)
	if len(answer.frames) > 0 {
		answer.frames[0].wait += time.Duration(speed.First)
	}
	answer.header.Set("X-Request-Id", "req_"+id)
	if reply.ContentType != "" {
		answer.header.Set("Content-Type", reply.ContentType)
	}
	if reply.Fault != nil {
		for k, v := range reply.Fault.Headers {
			answer.header.Set(k, v)
		}
	}
	return answer
}

// usage returns the scripted usage, or an estimate of four bytes per token.
func (c *composer) usage() Usage {
	if c.reply.Usage != nil {
		return *c.reply.Usage
	}
	u := Usage{Input: int64(c.req.size/4 + 1), Reasoning: int64(len(c.reply.Reasoning) / 4)}
	out := len(c.reply.Text)
	for _, call := range c.reply.Calls {
		out += len(call.raw()) + len(call.Name)
	}
	u.Output = u.Reasoning + int64(out/4+1)
	return u
}

func (c *composer) served() string { return cmp.Or(c.reply.Served, c.req.model) }
