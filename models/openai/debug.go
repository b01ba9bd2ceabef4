package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"belay/models"
	"belay/models/redact"
)

// Debug writes every exchange that passes through it, as it passes, for people
// who must see what really went over the wire. Each line begins with the
// exchange's number; > is what was sent, < with the time since the beginning
// what was received, and a plus after either goes on with a long line.
// Keys, the headers of the settings and whatever looks like a credential are
// left out.
//
// What cannot be written is reported once and changes nothing else.
type Debug struct {
	next    http.RoundTripper
	to      io.Writer
	now     func() time.Time
	report  func(error)
	private atomic.Pointer[private]

	mu     sync.Mutex
	serial int
	broken bool
}

// NewDebug wraps a transport; nil is the network. Providers tell what is
// secret. Report hears once that nothing more is written.
func NewDebug(
	next http.RoundTripper,
	to io.Writer,
	providers []models.Provider,
	now func() time.Time,
	report func(error),
) *Debug {
	debug := &Debug{next: next, to: to, now: now, report: report}
	if next == nil {
		debug.next = transport()
	}
	debug.SetProviders(providers)
	return debug
}

// private is what is left out: headers, in canonical form, and values.
type private struct {
	headers map[string]bool
	values  *redact.Values
}

// SetProviders replaces the providers that tell what is secret.
func (d *Debug) SetProviders(providers []models.Provider) {
	hide := map[string]bool{}
	for _, name := range []string{
		"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Api-Key", "X-Api-Key",
	} {
		hide[name] = true
	}
	var secrets []string
	for _, p := range providers {
		secrets = append(secrets, p.Key)
		for name, value := range p.Headers {
			hide[http.CanonicalHeaderKey(name)] = true
			secrets = append(secrets, value)
		}
	}
	d.private.Store(&private{hide, redact.New(secrets...)})
}

// RoundTrip passes a request on.
func (d *Debug) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	d.serial++
	trace := &exchange{d: d, number: d.serial, began: d.now()}
	d.mu.Unlock()
	head := fmt.Sprintf("%s %s at %s\n%s\n", r.Method, address(r.URL), trace.began.UTC().Format(time.RFC3339Nano),
		d.headers(r.Header))
	trace.line(&trace.sent, head)
	out := r.Clone(r.Context())
	if r.Body != nil && r.Body != http.NoBody {
		out.Body = &loggedBody{ReadCloser: r.Body, e: trace, side: &trace.sent}
	}
	res, err := d.next.RoundTrip(out)
	if err != nil {
		trace.close(&trace.sent)
		trace.end("no answer: " + err.Error())
		return nil, err
	}
	trace.received.received = true
	trace.line(&trace.received, fmt.Sprintf("%s %s\n%s\n", res.Proto, res.Status, d.headers(res.Header)))
	res.Body = &loggedBody{ReadCloser: res.Body, e: trace, side: &trace.received}
	return res, nil
}

func (d *Debug) headers(h http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			if d.private.Load().headers[http.CanonicalHeaderKey(name)] {
				value = redact.Mark
			}
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	return b.String()
}

// address is a URL without what may be a key in it.
func address(u *url.URL) string {
	bare := *u
	bare.User = nil
	query := u.Query()
	for name := range query {
		switch name {
		case "stream", "starting_after", "api-version", "limit":
		default:
			query[name] = []string{redact.Mark}
		}
	}
	bare.RawQuery = strings.ReplaceAll(query.Encode(), url.QueryEscape(redact.Mark), redact.Mark)
	return bare.String()
}

// write writes whole lines.
func (d *Debug) write(text string) {
	text = redact.Likely(d.private.Load().values.Text(text))
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return
	}
	if _, err := io.WriteString(d.to, text); err != nil {
		d.broken = true
		d.report(err)
	}
}

// maxHeldLine is how much of a line is held until its end comes, in bytes.
const maxHeldLine = 64 << 10

// exchange is one request and its reply.
type exchange struct {
	d        *Debug
	number   int
	began    time.Time
	sent     direction
	received direction
}

// direction is what goes into one direction.
type direction struct {
	mu        sync.Mutex
	received  bool // it comes from the endpoint
	held      []byte
	continued bool // the line has been begun
	closed    bool
}

// line takes the next piece of one side and writes the lines that are whole.
// Secrets are looked for in whole lines: in pieces they would be overlooked.
func (e *exchange) line(side *direction, piece string) {
	side.mu.Lock()
	defer side.mu.Unlock()
	side.held = append(side.held, piece...)
	var out strings.Builder
	for {
		n := bytes.IndexByte(side.held, '\n')
		switch {
		case n >= 0:
			e.mark(&out, side, side.held[:n])
			side.held, side.continued = side.held[n+1:], false
			continue
		case len(side.held) > maxHeldLine:
			n = 1 + bytes.LastIndexByte(side.held, ',') // between two fields, not within one
			if n == 0 {
				n = len(side.held)
			}
			e.mark(&out, side, side.held[:n])
			side.held, side.continued = side.held[n:], true
		}
		break
	}
	if out.Len() > 0 {
		e.d.write(out.String())
	}
}

func (e *exchange) mark(out *strings.Builder, s *direction, line []byte) {
	sign := ">"
	if s.received {
		sign = fmt.Sprintf("+%.3fs <", e.d.now().Sub(e.began).Seconds())
	}
	if s.continued {
		sign += "+"
	}
	fmt.Fprintf(out, "%d %s %s\n", e.number, sign, bytes.TrimSuffix(line, []byte("\r")))
}

// close writes what is left of a side.
func (e *exchange) close(s *direction) {
	s.mu.Lock()
	rest := len(s.held) > 0
	s.mu.Unlock()
	if rest {
		e.line(s, "\n")
	}
}

// end says how the exchange ended.
func (e *exchange) end(how string) {
	e.d.write(
		fmt.Sprintf("%d +%.3fs %s\n", e.number, e.d.now().Sub(e.began).Seconds(),
			strings.Join(strings.Fields(how), " ")),
	)
}

// loggedBody is a body on its way.
type loggedBody struct {
	io.ReadCloser
	e    *exchange
	side *direction
}

func (p *loggedBody) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if n > 0 {
		p.e.line(p.side, string(b[:n]))
	}
	switch {
	case errors.Is(err, io.EOF):
		p.finish("complete")
	case err != nil:
		p.finish("broken off: " + err.Error())
	}
	return n, err
}

func (p *loggedBody) Close() error {
	p.finish("left")
	return p.ReadCloser.Close()
}

// finish ends a side once.
func (p *loggedBody) finish(how string) {
	p.side.mu.Lock()
	over := p.side.closed
	p.side.closed = true
	p.side.mu.Unlock()
	if over {
		return
	}
	p.e.close(p.side)
	if p.side.received {
		p.e.end(how)
	}
}
