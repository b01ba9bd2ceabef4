// Package diagnose decides what a failed attempt was: it turns the evidence
// into a [models.Fault].
//
// It trusts the error's code first, then its type, then the HTTP status, then
// the words; and it reads words only in error objects and in replies with an
// error status, for a model that writes "at capacity" has not failed. A status
// of 401 or 403 stands whatever the words around it say. Digits inside ids and
// prose are never taken for a status. What it does not know, it leaves empty.
package diagnose

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"belay/models"
)

// The ways in which a reply breaks that only its reader can see.
var (
	ErrSilent    = errors.New("the endpoint fell silent")
	ErrUnended   = errors.New("the reply ended without its last event")
	ErrEmpty     = errors.New("the model ended its reply without a word")
	ErrMalformed = errors.New("the reply is not what the protocol says")
	ErrTooLarge  = errors.New("the reply is larger than any reply has to be")
)

// Evidence is what is known of a failed attempt. Every field may be empty.
type Evidence struct {
	Target models.Target
	Host   string // of the base URL
	Local  bool   // the endpoint is on a loopback address
	Key    string // to keep it out of the fault
	KeyEnv string // the variable that holds the key, for the hint

	API  models.API // that the request was made for
	Path string     // of the base URL

	Status     int         // HTTP; 0 when no headers came
	Header     http.Header // of the reply
	Body       []byte      // of a reply that is not what was asked for
	Event      []byte      // the event that reported an error inside a stream
	Incomplete string      // why a reply was cut short: max_output_tokens, content_filter
	Err        error       // what broke inside this program
	Cancel     error       // the cause, when the caller ended the attempt

	Phase   models.Phase
	Served  string
	Bytes   int64
	Events  int64
	Elapsed time.Duration
	Now     time.Time // for stated times; the reply's own Date is preferred
}

// Fault names the failure. It never returns nil and does no I/O.
func Fault(ev Evidence) *models.Fault {
	fault := &models.Fault{
		Phase: ev.Phase, Target: ev.Target, ServedModel: withoutKey(ev.Served, ev.Key), Status: ev.Status,
		Bytes: ev.Bytes, Events: ev.Events, Elapsed: ev.Elapsed, RequestID: RequestID(ev.Header, ev.Key),
	}
	if ev.Err != nil {
		fault.Err = &redactedError{ev.Err, withoutKey(ev.Err.Error(), ev.Key)}
	}
	source := ev.Event
	if len(source) == 0 {
		source = ev.Body
	}
	object := read(source)
	said := newReport(ev, object, source)
	fill(fault, object, source, ev)
	fault.Kind = kind(ev, said)
	fault.Scope = scope(fault.Kind, ev)
	fault.Contact = contact(ev)
	switch fault.Kind {
	case models.KindCancelled:
		fault.Err = ev.Cancel
	case models.KindIncomplete:
		fault.Code = ev.Incomplete
	case models.KindModel:
		fault.PathInDoubt = said.pathInDoubt()
	case models.KindSize:
		fault.WindowLimit, fault.RequestTokens = window(object, said.text)
	}
	fault.Delayed, fault.RetryAfter = delay(ev, object, fault.Kind)
	if fault.Delayed && (fault.Kind == models.KindUsage || fault.Kind == models.KindRate) && !ev.Now.IsZero() {
		fault.ResetAt = ev.Now.Add(fault.RetryAfter)
	}
	switch strings.ToLower(strings.TrimSpace(ev.Header.Get("X-Should-Retry"))) {
	case "true":
		fault.ShouldRetry = new(true)
	case "false":
		fault.ShouldRetry = new(false)
	}
	fault.Hint = hint(fault, ev, said)
	return fault
}

func fill(fault *models.Fault, object errorObject, source []byte, ev Evidence) {
	clean := func(s string) string { return truncate(withoutKey(s, ev.Key), maxMessage) }
	fault.Code = clean(object.code)
	fault.Type = clean(object.kind)
	fault.Param = clean(object.param)
	fault.Message = clean(object.message)
	fault.RequestID = cmp.Or(fault.RequestID, clean(object.requestID))
	if len(source) > maxRead {
		source = source[:maxRead]
	}
	fault.Raw = truncate(withoutKey(string(source), ev.Key), maxRaw)
	if object.empty() {
		switch {
		case isPage(source):
			fault.Message = clean(pageText(source))
		case ev.Status >= 300, len(ev.Event) == 0:
			fault.Message = clean(strings.TrimSpace(string(source)))
		}
	}
	if location := ev.Header.Get("Location"); ev.Status >= 300 && ev.Status < 400 && location != "" {
		fault.Message = clean(statusText(ev.Status) + ", to " + location)
	}
	if fault.Message == "" && ev.Status >= 300 {
		fault.Message = statusText(ev.Status)
	}
}

// statusText is what is left to say of a reply without words.
func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// RequestID is the provider's id of a request, by the headers of its reply: its own
// before those of the network between. Empty: it gave none.
func RequestID(h http.Header, key string) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Ms-Request-Id", "Cf-Ray"} {
		if v := strings.TrimSpace(h.Get(name)); v != "" {
			return truncate(withoutKey(v, key), maxRequestID)
		}
	}
	return ""
}

func kind(ev Evidence, said report) models.Kind {
	if ev.Cancel != nil {
		return models.KindCancelled
	}
	if ev.Incomplete != "" {
		return models.KindIncomplete
	}
	failed := ev.Status >= 300 || len(ev.Event) > 0 || !said.object.empty()
	if failed {
		return said.kind()
	}
	if ev.Status == 0 {
		return unansweredKind(ev)
	}
	if said.plain {
		return models.KindGateway // a page, or something else that no model sends
	}
	return models.KindStream
}

// unansweredKind names a failure before any header came.
func unansweredKind(ev Evidence) models.Kind {
	switch {
	case ev.Err == nil, errors.Is(ev.Err, ErrSilent):
		return models.KindStream
	case ev.Local && errors.Is(ev.Err, syscall.ECONNREFUSED):
		return models.KindAbsent
	case !isNetwork(ev.Err):
		return models.KindRequest // it never left this program
	}
	return models.KindNetwork
}

// isNetwork says whether err comes from the connection rather than from what
// was said over it.
func isNetwork(err error) bool {
	var address *url.Error
	if errors.As(err, &address) && address.Op == "parse" {
		return false // net/url and net/http share this type
	}
	var op net.Error
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &op) || errors.As(err, &record) || errors.As(err, &verify) || errors.As(err, &authority) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, context.DeadlineExceeded)
}

// contact says how far the connection came when there was no answer.
func contact(ev Evidence) models.Contact {
	var dial *net.OpError
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	err := ev.Err
	switch {
	case err == nil, ev.Cancel != nil, ev.Status != 0:
		return ""
	case errors.As(err, &dns), errors.As(err, &record), errors.As(err, &verify), errors.As(err, &authority),
		errors.As(err, &hostname), containsAny(err.Error(), otherProtocols):
		return models.ContactFailed
	case errors.As(err, &dial) && (dial.Op == "dial" || strings.HasSuffix(dial.Op, "connect")): // of a proxy: proxyconnect
		return models.ContactFailed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.ECONNABORTED), errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed), // the end was read while the request was still being written
		containsAny(err.Error(), closedConnections):
		return models.ContactClosed
	}
	return ""
}

// otherProtocols are net/http's words for a server that speaks something else,
// closedConnections those for one that closes, or sends headers that are none.
var (
	otherProtocols    = []string{"HTTP response to HTTPS client", "malformed HTTP"}
	closedConnections = []string{"malformed MIME header", "server sent GOAWAY", "server closed idle connection"}
)

// scope narrows what a kind speaks about by what the evidence adds.
func scope(class models.Kind, ev Evidence) models.Scope {
	switch {
	case class == models.KindGateway && (ev.Local || fromLocalRelay(ev)):
		return models.ScopeLocal
	case class == models.KindStream && isNetwork(ev.Err):
		return models.ScopeNetwork
	case class == models.KindNetwork && ev.Status != 0: // of a relay: ours is there
		return models.ScopeProvider
	}
	return class.Policy().Scope
}

// fromLocalRelay reports whether a program on this computer answered.
func fromLocalRelay(ev Evidence) bool {
	return containsAny(strings.ToLower(string(ev.Body)+string(ev.Event)), localRelays)
}
