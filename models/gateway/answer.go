package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"belay/models"
	"belay/models/route"
)

// The causes with which the gateway itself ends a request.
var (
	errHeld     = errors.New("no reply has begun in the time that the gateway waits")
	errDraining = errors.New("the gateway is ending")
	errSlow     = errors.New("the client does not read")
)

// exchange is one request to a model on its way to an answer.
type exchange struct {
	g     *Gateway
	q     *question
	began time.Time
	until time.Time // how long its beginning is waited for
	id    string
	stop  context.CancelCauseFunc
	hold  *time.Timer // ends the wait for the beginning

	rw      http.ResponseWriter
	control *http.ResponseController

	target  models.Target  // that is asked
	encoder encoder        // of the attempt
	held    []models.Chunk // of the attempt, that do not begin a reply by themselves
	kept    bool           // in one piece: the encoder has content
	usage   models.Usage
	fault   *models.Fault // of the attempt that failed last

	mu      sync.Mutex // of what follows, and of writing
	status  int        // that was sent; 0: none
	begun   bool       // the client has seen some of the reply
	begunAt time.Time
	wrote   time.Time // when something was last sent
}

// answer asks a model and answers the client.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request, q *question, control *route.Control) {
	ctx, stop := context.WithCancelCause(r.Context())
	defer stop(nil)
	now := g.o.Now()
	x := &exchange{
		g: g, q: q, began: now, until: now.Add(g.o.Hold), id: g.o.NewID(), stop: stop,
		rw: w, control: http.NewResponseController(w), wrote: now,
	}
	w.Header().Set("X-Request-Id", x.id)
	x.hold = time.AfterFunc(g.o.Hold, func() { stop(errHeld) })
	defer x.hold.Stop()
	var alive sync.WaitGroup
	over := make(chan struct{})
	alive.Go(func() { x.attend(over) })
	err := x.ask(ctx, control)
	close(over)
	alive.Wait()
	x.finish(r.Context(), context.Cause(ctx), err)
}

// attend sends signs of life, and ends the wait for a beginning when the gateway ends.
func (x *exchange) attend(over <-chan struct{}) {
	ticker := time.NewTicker(x.g.o.Comments)
	defer ticker.Stop()
	drain := x.g.drain
	for {
		select {
		case <-over:
			return
		case <-drain:
			drain = nil
			x.mu.Lock()
			begun := x.begun || x.kept
			x.mu.Unlock()
			if !begun {
				x.stop(errDraining)
			}
		case <-ticker.C:
			if x.q.stream {
				x.comment()
			}
		}
	}
}

// ask streams a reply, and tries again as long as the models may yet have room.
func (x *exchange) ask(ctx context.Context, control *route.Control) error {
	need := route.Need{
		Control: control, Images: x.q.images(), Operation: x.id, NetworkWait: x.g.o.Hold,
		Purpose: models.Purpose{Project: "gateway"},
	}
	for tries := 0; ; tries++ {
		err := x.try(ctx, need)
		var parked *route.Parked
		if !errors.As(err, &parked) || x.begun {
			return err
		}
		next, ok := x.nextTry(parked, tries)
		if !ok {
			return err
		}
		if err := route.SleepUntil(ctx, x.g.o.Now, next, route.ParkPoll); err != nil {
			return parkedAgain(parked, err)
		}
		need.ParkRetry = true
	}
}

// parkedAgain is why there is no reply: a wait that the gateway ended was one for
// room.
func parkedAgain(parked *route.Parked, cause error) error {
	if errors.Is(cause, errHeld) || errors.Is(cause, errDraining) {
		return parked
	}
	return cause
}

// nextTry is when a request whose models gave way is tried again; false: not within
// the time that it is held.
func (x *exchange) nextTry(parked *route.Parked, tries int) (time.Time, bool) {
	ladder := x.g.o.Ladder
	if len(ladder) == 0 {
		return time.Time{}, false
	}
	now := x.g.o.Now()
	next := now.Add(ladder[min(tries, len(ladder)-1)])
	if next.After(x.until) {
		next = now.Add(ladder[0])
	}
	if parked.Until.After(next) {
		next = parked.Until
	}
	return next, next.Before(x.until)
}

// try makes one request through the router. Its chunks go on to the client once the
// reply has begun.
func (x *exchange) try(ctx context.Context, need route.Need) error {
	build := func(m models.Model) (models.Request, error) {
		req := x.q.req
		if x.g.o.Count != nil && req.Tokens == 0 {
			req.Tokens = x.g.o.Count(m, req)
		}
		return req, nil
	}
	for chunk, err := range x.g.o.Router.Stream(ctx, need, build) {
		if err != nil {
			return err
		}
		switch c := chunk.(type) {
		case models.AttemptStarted:
			x.start(c.Target)
		case models.AttemptFailed:
			if x.begun {
				return c.Fault
			}
			x.fault = c.Fault
			if c.Fault.Kind != models.KindIncomplete {
				x.discard()
			}
		case models.Opened, models.TextDelta, models.ReasoningDelta, models.ItemDone:
			if err := x.take(c); err != nil {
				return err
			}
		case models.Finished:
			x.usage = c.Usage
			return x.end(ending{usage: c.Usage})
		}
	}
	return errors.New("the router ended without a word")
}

// start begins with the reply of another attempt.
func (x *exchange) start(target models.Target) {
	x.target = target
	x.held = x.held[:0]
	x.encoder = newEncoder(x.q, reply{id: x.id, created: x.began, target: target})
}

// discard drops what a failed attempt has said, and waits for another.
func (x *exchange) discard() {
	x.held = x.held[:0]
	x.mu.Lock()
	x.kept = false
	x.mu.Unlock()
	x.hold.Reset(max(x.until.Sub(x.g.o.Now()), time.Millisecond))
}

// begins reports whether a chunk is the beginning of a reply, for this client.
func (q *question) begins(c models.Chunk) bool {
	switch c := c.(type) {
	case models.TextDelta:
		return c.Text != ""
	case models.ReasoningDelta:
		return c.Text != "" && q.summary
	case models.ItemDone:
		return c.Item.Kind == models.Call || c.Item.Kind == models.Message
	}
	return false
}

// take takes a chunk of the reply.
func (x *exchange) take(c models.Chunk) error {
	switch {
	case x.begun:
		return x.send(x.encoder.chunk(c))
	case !x.q.begins(c) && !x.kept:
		x.held = append(x.held, c)
		return nil
	}
	x.hold.Stop()
	x.mu.Lock()
	x.kept = true
	x.begunAt = x.g.o.Now()
	x.mu.Unlock()
	for _, before := range append(x.held, c) {
		data := x.encoder.chunk(before)
		if !x.q.stream {
			continue
		}
		if err := x.send(data); err != nil {
			return err
		}
	}
	x.held = x.held[:0]
	return nil
}

// end ends the reply as it should.
func (x *exchange) end(e ending) error {
	if x.encoder == nil {
		x.start(x.target)
	}
	for _, c := range x.held {
		data := x.encoder.chunk(c)
		if x.q.stream {
			if err := x.send(data); err != nil {
				return err
			}
		}
	}
	if x.q.stream {
		return x.send(x.encoder.end(e))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status = http.StatusOK
	x.deadline()
	if err := writeJSON(x.rw, http.StatusOK, x.encoder.document(e)); err != nil {
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	return nil
}

// send writes a piece of the reply to the client.
func (x *exchange) send(data []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun {
		x.begun = true
		x.g.waiting.Add(-1)
	}
	return x.writeLocked(data)
}

// comment is a sign of life, where nothing else was sent for a while.
func (x *exchange) comment() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.g.o.Now().Sub(x.wrote) < x.g.o.Comments/2 {
		return
	}
	if err := x.writeLocked([]byte(": belay is waiting for the model\n\n")); err != nil {
		x.stop(err)
	}
}

func (x *exchange) deadline() {
	_ = x.control.SetWriteDeadline(x.g.o.Now().Add(x.g.o.WriteLimit)) // one that cannot is not on a socket
}

// writeLocked sends a piece of the stream, which begins with it if need be.
func (x *exchange) writeLocked(data []byte) error {
	if x.status == 0 {
		header := x.rw.Header()
		header.Set("Content-Type", "text/event-stream; charset=utf-8")
		header.Set("Cache-Control", "no-cache")
		header.Set("X-Accel-Buffering", "no") // proxies must not keep signs of life
		x.status = http.StatusOK
		x.rw.WriteHeader(x.status)
	}
	if len(data) == 0 {
		return nil
	}
	x.deadline()
	_, err := x.rw.Write(data)
	if err == nil {
		err = x.control.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	x.wrote = x.g.o.Now()
	return nil
}
