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
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
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
	ErrMalformed = errors.New("the reply is not what the protocol says")
)

// Evidence is what is known of a failed attempt. Every field may be empty.
type Evidence struct {
	Target models.Target
	Host   string // of the base URL
	Local  bool   // the endpoint is on a loopback address
	Key    string // to keep it out of the fault
	KeyEnv string // the variable that holds the key, for the hint

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
		Phase: ev.Phase, Target: ev.Target, ServedModel: ev.Served, Status: ev.Status,
		Bytes: ev.Bytes, Events: ev.Events, Elapsed: ev.Elapsed, RequestID: requestID(ev.Header),
	}
	if ev.Err != nil {
		fault.Err = &redactedError{ev.Err, redact(ev.Err.Error(), ev.Key)}
	}
	source := ev.Event
	if len(source) == 0 {
		source = ev.Body
	}
	object := read(source)
	fill(fault, object, source, ev)
	fault.Kind = kind(ev, object, source)
	fault.Scope = scope(fault.Kind, ev)
	switch fault.Kind {
	case models.KindCancelled:
		fault.Err = ev.Cancel
	case models.KindIncomplete:
		fault.Code = ev.Incomplete
	}
	fault.Delayed, fault.RetryAfter = delay(ev, object)
	if fault.Delayed && (fault.Kind == models.KindUsage || fault.Kind == models.KindRate) && !ev.Now.IsZero() {
		fault.ResetAt = ev.Now.Add(fault.RetryAfter)
	}
	switch strings.ToLower(strings.TrimSpace(ev.Header.Get("X-Should-Retry"))) {
	case "true":
		fault.ShouldRetry = new(true)
	case "false":
		fault.ShouldRetry = new(false)
	}
	fault.Hint = hint(fault, ev, object)
	return fault
}

func fill(fault *models.Fault, object errorObject, source []byte, ev Evidence) {
	clean := func(s string) string { return truncate(redact(s, ev.Key), maxMessage) }
	fault.Code = clean(object.code)
	fault.Type = clean(object.kind)
	fault.Param = clean(object.param)
	fault.Message = clean(object.message)
	fault.RequestID = cmp.Or(fault.RequestID, clean(object.requestID))
	if len(source) > maxRead {
		source = source[:maxRead]
	}
	fault.Raw = truncate(redact(string(source), ev.Key), maxRaw)
	if object.empty() && len(source) > 0 {
		if isHTML(source) {
			fault.Message = clean(title(source))
		} else if ev.Status >= 300 {
			fault.Message = clean(strings.TrimSpace(string(source)))
		}
	}
}

// requestID takes the provider's own id before those of the network between.
func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Ms-Request-Id", "Cf-Ray"} {
		if v := strings.TrimSpace(h.Get(name)); v != "" {
			return truncate(v, 200)
		}
	}
	return ""
}

func kind(ev Evidence, object errorObject, source []byte) models.Kind {
	if ev.Cancel != nil {
		return models.KindCancelled
	}
	if ev.Incomplete != "" {
		return models.KindIncomplete
	}
	failed := ev.Status >= 300 || len(ev.Event) > 0 || !object.empty()
	if failed {
		return reportedKind(ev, object, source)
	}
	if ev.Status == 0 {
		return unansweredKind(ev)
	}
	if len(source) > 0 {
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

// scope narrows what a kind speaks about by what the evidence adds.
func scope(class models.Kind, ev Evidence) models.Scope {
	switch {
	case class == models.KindGateway && (ev.Local || fromLocalRelay(ev)):
		return models.ScopeLocal
	case class == models.KindStream && isNetwork(ev.Err):
		return models.ScopeNetwork
	}
	return class.Policy().Scope
}

// fromLocalRelay reports whether a program on this computer answered.
func fromLocalRelay(ev Evidence) bool {
	return containsAny(strings.ToLower(string(ev.Body)+string(ev.Event)), localRelays)
}

func isHTML(b []byte) bool {
	b = bytes.ToLower(bytes.TrimLeft(b[:min(len(b), 512)], "\ufeff \t\r\n"))
	return bytes.HasPrefix(b, []byte("<!doctype html")) || bytes.HasPrefix(b, []byte("<html")) ||
		bytes.HasPrefix(b, []byte("<head"))
}

// title is what a person would read first on a page.
func title(page []byte) string {
	page = page[:min(len(page), maxRead)]
	lower := bytes.ToLower(page)
	if len(lower) != len(page) { // a letter whose cases differ in length
		return ""
	}
	_, after, ok := bytes.Cut(lower, []byte("<title"))
	if !ok {
		return ""
	}
	begin := bytes.IndexByte(after, '>') + 1
	end := bytes.Index(after, []byte("</title"))
	if begin <= 0 || end < begin {
		return ""
	}
	offset := len(lower) - len(after)
	return strings.Join(strings.Fields(string(page[offset+begin:offset+end])), " ")
}
