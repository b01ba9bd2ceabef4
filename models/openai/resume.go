package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"belay/models"
	"belay/models/diagnose"
)

// A provider whose settings say resume = true keeps a reply and goes on with it
// when the connection is gone (Responses API: background, starting_after). The
// client then takes the same reply up again, within the same attempt.

// maxResumes is how often one attempt does that.
const maxResumes = 3

// cancelLimit is how long a provider may take to hear that a reply is not
// wanted any more.
const cancelLimit = 3 * time.Second

// validID is an id that can stand in a path: it comes from outside.
func validID(id string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return id != "" && len(id) <= 200 && strings.Trim(id, letters) == ""
}

// resumable says whether the reply is one that the provider goes on with by itself.
func (a *attempt) resumable() bool { return a.keepsReply && validID(a.responseID) }

// resume takes the reply up where it broke off. It gives the reason of the break
// back when that cannot be done.
func (r *reply) resume(broke error) (*stream, error) {
	if errors.Is(context.Cause(r.ctx), errSilent) {
		broke = fmt.Errorf("%w: nothing for %v", diagnose.ErrSilent, r.limit)
	}
	for r.resumable() && r.lastEvent >= 0 && r.resumes < maxResumes {
		r.disconnect()
		if !sleep(r.parent, time.Second<<r.resumes) {
			break
		}
		r.resumes++
		s, gone := r.reconnect()
		if gone {
			break
		}
		if s != nil {
			return s, r.emit(models.Resumed{After: r.lastEvent})
		}
	}
	return nil, broke
}

// reconnect asks for the rest of the reply. Gone means that asking again is of
// no use; no stream and not gone, that there was no connection.
func (r *reply) reconnect() (s *stream, gone bool) {
	r.connect()
	service := responses.NewResponseService(r.options(models.Request{Operation: r.operation})...)
	var res *http.Response
	r.startClock()
	_, err := service.Get(r.ctx, r.responseID, responses.ResponseGetParams{StartingAfter: param.NewOpt(r.lastEvent)},
		option.WithQuery("stream", "true"), option.WithResponseBodyInto(&res))
	r.stopClock()
	if res == nil {
		var address *url.Error
		return nil, !errors.As(err, &address) && r.ctx.Err() == nil
	}
	r.res = res
	if status := res.StatusCode; status < 200 || status > 299 {
		return nil, status < 500 && status != http.StatusTooManyRequests
	}
	in, form, err := r.detectForm()
	if err != nil {
		return nil, false
	}
	return r.stream(in), form != formStream
}

// abandon tells the provider to stop, as far as it listens. Nobody waits for
// that but Close.
func (a *attempt) abandon() {
	if a.ended || !a.resumable() {
		return
	}
	parent := context.WithoutCancel(a.parent)
	a.c.work.Go(func() {
		ctx, cancel := context.WithTimeout(parent, cancelLimit)
		defer cancel()
		service := responses.NewResponseService(a.options(models.Request{Operation: a.operation, NoStream: true})...)
		var res *http.Response
		if _, err := service.Cancel(ctx, a.responseID, option.WithResponseBodyInto(&res)); err == nil {
			_ = res.Body.Close()
		}
	})
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
