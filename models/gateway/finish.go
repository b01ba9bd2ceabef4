package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"belay/models"
	"belay/models/route"
)

// finish tells the client why there is no reply, or no more of it, and the listener
// how it went. Client is the context of the client's connection.
func (x *exchange) finish(client context.Context, cause, err error) {
	if !x.begun {
		x.g.waiting.Add(-1)
	}
	now := x.g.o.Now()
	done := Exchange{
		API: x.q.api, Asked: x.q.model, Target: x.target, Stream: x.q.stream, Status: x.status, Outcome: Answered,
		Held: now.Sub(x.began), Took: now.Sub(x.began), Usage: x.usage,
	}
	if !x.begunAt.IsZero() {
		done.Held = x.begunAt.Sub(x.began)
	}
	var fault *models.Fault
	switch {
	case err == nil:
	case client.Err() != nil && !x.g.draining(), errors.Is(err, errSlow):
		done.Outcome, done.Code = Left, "client_left"
	case errors.As(err, &fault) && fault.Kind == models.KindIncomplete:
		done.Usage = fault.Usage
		if x.end(ending{usage: fault.Usage, incomplete: incomplete(fault)}) != nil {
			done.Outcome = Left
		}
	default:
		bad := x.refusal(cause, err)
		done.Outcome, done.Code = Refused, bad.code
		if x.begun {
			done.Outcome = Broken
		}
		x.fail(bad)
	}
	done.Status = cmp.Or(x.status, done.Status)
	x.g.o.Done(done)
}

// incomplete is why a reply was cut short, in the words of the API.
func incomplete(fault *models.Fault) string {
	if fault.AtLengthLimit() {
		return "max_output_tokens"
	}
	return cmp.Or(fault.Code, "content_filter")
}

// fail tells the client an error: as an answer of its own, or at the end of a stream
// that has been opened.
func (x *exchange) fail(bad *refusal) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.status == 0 {
		x.status = bad.status
		x.deadline()
		bad.write(x.rw)
		return
	}
	if x.encoder == nil {
		x.start(x.target)
	}
	_ = x.writeLocked(x.encoder.fail(bad)) // whoever has gone needs no answer
}

// refusal is why a request got no reply.
func (x *exchange) refusal(cause, err error) *refusal {
	again := time.Duration(0)
	if len(x.g.o.Ladder) > 0 {
		again = x.g.o.Ladder[0]
	}
	var parked *route.Parked
	if errors.As(err, &parked) && parked.Until.After(x.g.o.Now()) {
		again = parked.Until.Sub(x.g.o.Now())
	}
	var fault *models.Fault
	cancelled := errors.As(err, &fault) && fault.Kind == models.KindCancelled
	if errors.Is(cause, errDraining) || cancelled && x.g.draining() {
		return overloaded("the gateway is ending")
	}
	switch {
	case errors.Is(cause, errHeld):
		bad := overloaded(fmt.Sprintf("no model has begun a reply within %v", x.g.o.Hold))
		if x.fault != nil {
			bad.message += " (" + message(x.fault) + ")"
		}
		bad.retryAfter = max(again, minRetryAfter)
		return bad
	case fault != nil && !cancelled:
		bad := refusalOf(fault, again)
		if parked != nil { // it would have been tried again
			bad.status, bad.retryAfter = http.StatusServiceUnavailable, max(again, minRetryAfter)
		}
		return bad
	}
	return &refusal{
		status: http.StatusInternalServerError, kind: serverError, code: "gateway_error", message: err.Error(),
	}
}
