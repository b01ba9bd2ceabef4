package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"belay/models"
)

// The error types of the API.
const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
)

// refusal is an error as the API tells it.
type refusal struct {
	status     int
	kind       string
	code       string
	param      string
	message    string
	retryAfter time.Duration // 0: not stated
}

// object is the error in the form of both APIs.
func (r *refusal) object() map[string]any {
	return map[string]any{
		"message": r.message, "type": cmp.Or(r.kind, serverError), "param": orNull(r.param), "code": orNull(r.code),
	}
}

// write answers with the error alone.
func (r *refusal) write(w http.ResponseWriter) {
	if r.retryAfter > 0 {
		seconds := int64((r.retryAfter + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if r.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="belay"`)
	}
	_ = writeJSON(w, r.status, map[string]any{"error": r.object()})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// invalid refuses a parameter.
func invalid(param, format string, args ...any) *refusal {
	return &refusal{
		status: http.StatusBadRequest, kind: invalidRequest, code: "invalid_value", param: param,
		message: fmt.Sprintf(format, args...),
	}
}

// unsupported refuses what belay cannot carry.
func unsupported(param, why string) *refusal {
	return &refusal{
		status: http.StatusBadRequest, kind: invalidRequest, code: "unsupported_parameter", param: param,
		message: fmt.Sprintf("Unsupported parameter: '%s'. The gateway of belay %s.", param, why),
	}
}

func invalidURL(r *http.Request) *refusal {
	return &refusal{
		status: http.StatusNotFound, kind: invalidRequest,
		message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, bounded(r.URL.Path)),
	}
}

func tooLarge(limit int64) *refusal {
	return &refusal{
		status: http.StatusRequestEntityTooLarge, kind: invalidRequest, code: "request_too_large",
		message: fmt.Sprintf("The request is larger than the %d MiB that the gateway takes.", limit>>20),
	}
}

// overloaded says that the gateway itself has no room.
func overloaded(why string) *refusal {
	return &refusal{
		status: http.StatusServiceUnavailable, kind: serverError, code: "server_is_overloaded",
		message: "Try again in a moment: " + why + ".", retryAfter: minRetryAfter,
	}
}

// minRetryAfter is the least time after which a client is asked to come back.
const minRetryAfter = 5 * time.Second

// refusalOf tells a client why there is no reply. What the endpoint said of the
// request stands; what passes by itself is a 503, which every client knows how to
// take.
func refusalOf(fault *models.Fault, retryAfter time.Duration) *refusal {
	wire := fault.Kind.Policy().Wire
	r := &refusal{
		status: cmp.Or(wire.Status, http.StatusServiceUnavailable), kind: cmp.Or(wire.Type, serverError),
		code: cmp.Or(fault.Code, wire.Code), param: fault.Param, message: message(fault),
	}
	if wire.Fixed {
		r.code = wire.Code
	}
	if wire.Theirs && fault.Status >= 400 && fault.Status < 500 {
		r.status = fault.Status
	}
	switch r.status {
	case http.StatusServiceUnavailable:
		r.retryAfter = max(retryAfter, minRetryAfter)
	case http.StatusTooManyRequests:
		r.retryAfter = retryAfter
	}
	return r
}

// message says for people what failed, where, and what helps.
func message(fault *models.Fault) string {
	words := cmp.Or(fault.Message, fault.Text())
	if fault.Target != (models.Target{}) {
		words = fault.Target.String() + ": " + words
	}
	if fault.Hint != "" && !strings.Contains(words, fault.Hint) {
		words = strings.TrimSuffix(words, ".") + ". " + fault.Hint
	}
	return words
}

// bounded is a foreign text short enough to be repeated.
func bounded(s string) string {
	const limit = 200
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "�")
	}
	for limit := limit; ; limit-- {
		if utf8.RuneStart(s[limit]) {
			return strings.ToValidUTF8(s[:limit], "�") + "…"
		}
	}
}
