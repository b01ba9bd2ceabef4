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

// ending is what follows the last byte of a frame.
type ending int

const (
	goOn     ending = iota
	cut             // the connection ends
	reset           // the connection is reset
	stall           // silence
	comments        // comment lines
)

// frame is a piece of the reply's body and the wait before it.
type frame struct {
	wait time.Duration
	data []byte
	then ending
}

// plan is a whole answer, ready to be played.
type plan struct {
	headers time.Duration // wait before the headers
	lost    string        // refuse, dns or close: no answer at all
	status  int
	header  http.Header
	frames  []frame
	outcome string // when played to its end
}

// compose collects the frames of a streamed reply. Once it has failed it takes
// no more of them.
type compose struct {
	q      *question
	r      *Reply
	speed  Speed
	frames []frame
	failed bool
	kept   bool   // what breaks a connection does not break the reply
	fail   func() // adds the frames of an error, in the words of the API
	items  int    // finished so far
}

// event adds a server-sent event. An empty name leaves out the event line.
func (c *compose) event(wait time.Duration, name string, v any) {
	if c.failed {
		return
	}
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, numbers and checked arguments always marshal; Encode ends the line
	b.WriteByte('\n')
	c.frames = append(c.frames, frame{wait: wait, data: b.Bytes()})
}

// raw adds text to the stream as it stands.
func (c *compose) raw(text string, then ending) {
	if !c.failed {
		c.frames = append(c.frames, frame{data: []byte(text), then: then})
	}
}

// due says whether the fault stands at this place.
func (c *compose) due(place string) bool {
	return !c.failed && c.r.Fault != nil && cmp.Or(c.r.Fault.At, atStart) == place
}

// here breaks the reply if the fault stands at this place.
func (c *compose) here(place string) {
	if c.due(place) && c.r.Fault.How != howHuge {
		c.breakOff()
	}
}

// done counts a finished item and breaks the reply if the fault waited for it.
func (c *compose) done() {
	if c.failed {
		return
	}
	c.items++
	if c.due(atItem) && c.items >= max(c.r.Fault.After, 1) {
		c.breakOff()
	}
}

func (c *compose) breakOff() {
	f := c.r.Fault
	if c.kept && slices.Contains(breaks, f.How) {
		return
	}
	switch f.How {
	case howError, howFlat, howFailed, howShort:
		c.fail()
	case howCut:
		c.raw("", cut)
	case howReset:
		c.raw("", reset)
	case howStall:
		c.raw("", stall)
	case howComments:
		c.raw("", comments)
	case howMalformed:
		c.raw("data: {\"type\":\"response.output_text.delta\",\"delta\":\"ha\n\n", goOn)
	}
	c.failed = true
}

// deltas cuts a text into pieces and emits each, up to the fault's place.
func (c *compose) deltas(place, text string, emit func(wait time.Duration, piece string)) {
	runes := []rune(text)
	stop := math.MaxInt
	if c.due(place) {
		stop = min(cmp.Or(c.r.Fault.After, len(runes)/2), len(runes))
	}
	chunk := cmp.Or(c.speed.Chunk, 12)
	for i := 0; i < len(runes) || i >= stop; {
		if c.failed {
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
		if c.r.Fault.How != howHuge {
			c.breakOff()
			stop = math.MaxInt
			continue
		}
		emit(time.Duration(c.speed.Delay), string(bytes.Repeat([]byte("x"), c.r.Fault.Size)))
		stop = math.MaxInt
	}
}

// texts gives an error's code, type and message, with what is usual where the
// script says nothing.
func (f *Fault) texts() (code, kind, message string) {
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
	code, kind, message := f.texts()
	return refusal{message: message, kind: cmp.Or(kind, "server_error"), code: code}.body()
}

const page = "<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n<center><h1>%s</h1></center>\r\n<hr><center>%s</center>\r\n</body>\r\n</html>\r\n"

// early plans a fault that comes instead of the reply, or nothing.
func (f *Fault) early() *plan {
	answer := &plan{header: http.Header{}, outcome: f.How}
	body := f.errorBody()
	switch f.How {
	case howRefuse, howDNS, howClose:
		answer.lost = f.How
		return answer
	case howStatus:
		answer.status = f.Status
		answer.header.Set("Content-Type", "application/json")
	case howHTML:
		answer.status = cmp.Or(f.Status, http.StatusBadGateway)
		answer.header.Set("Content-Type", "text/html")
		title := fmt.Sprintf("%d %s", answer.status, http.StatusText(answer.status))
		body = []byte(cmp.Or(f.Body, fmt.Sprintf(page, title, title, "nginx")))
	case howPortal:
		answer.status = cmp.Or(f.Status, http.StatusOK)
		answer.header.Set("Content-Type", "text/html; charset=utf-8")
		body = []byte(cmp.Or(f.Body, fmt.Sprintf(page, "Welcome to Guest WiFi", "Sign in to go online", "portal")))
	default:
		return nil
	}
	answer.frames = []frame{{data: body}}
	return answer
}

// plan turns a reply into an answer to q.
func (s *Server) plan(asked *question, reply *Reply) *plan {
	speed := s.script.Speed
	if reply.Speed != nil {
		speed = *reply.Speed
	}
	id := s.unique(asked)
	answer := &plan{status: http.StatusOK, header: http.Header{}, outcome: "done"}
	early := (*plan)(nil)
	if reply.Fault != nil {
		answer.outcome = reply.Fault.How
		early = reply.Fault.early()
	}
	composer := &compose{q: asked, r: reply, speed: speed}
	switch {
	case early != nil:
		answer = early
	case !asked.stream || reply.Whole:
		answer.header.Set("Content-Type", "application/json")
		answer.status, answer.frames = composer.whole(id, s.now())
	default:
		answer.header.Set("Content-Type", "text/event-stream; charset=utf-8")
		answer.header.Set("Cache-Control", "no-cache")
		if asked.api == "chat" {
			composer.chat(id, s.now())
		} else {
			composer.responses(id, s.now())
			if asked.background {
				s.keep(asked, reply, speed, id, s.now())
			}
		}
		answer.frames = composer.frames
	}
	answer.headers = time.Duration(speed.Headers)
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

// usage gives the stated usage, or an estimate of four bytes a token.
func (c *compose) usage() Usage {
	if c.r.Usage != nil {
		return *c.r.Usage
	}
	u := Usage{Input: int64(c.q.size/4 + 1), Reasoning: int64(len(c.r.Reasoning) / 4)}
	out := len(c.r.Text)
	for _, call := range c.r.Calls {
		out += len(call.raw()) + len(call.Name)
	}
	u.Output = u.Reasoning + int64(out/4+1)
	return u
}

func (c *compose) served() string { return cmp.Or(c.r.Served, c.q.model) }
