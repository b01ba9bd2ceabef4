package route

import (
	"context"
	"errors"
	"net/http"
	"time"

	"belay/models"
)

// operation is one request on its way to a reply.
type operation struct {
	r     *Router
	need  Need
	build Build
	yield func(models.Chunk, error) bool

	began    time.Time
	tier     models.Tier
	target   models.Target
	boundary bool                          // the request is the first of a turn
	admitted bool                          // the board has let the next attempt through
	insist   bool                          // a person wants the next attempt now
	attempts int                           // that count
	rungs    int                           // targets that a rung tries
	made     int                           // all of them
	waited   time.Duration                 // that counts
	delay    time.Duration                 // before the attempt that runs
	failed   map[models.Target]int         // failures in a row that speak for leaving a target
	skip     map[models.Target]bool        // left already
	tried    map[models.Target]models.Kind // how each target failed last
	shrunk   bool                          // the request has been shortened once
	size     int64                         // of the request for the preferred target, in tokens; 0: not measured, -1: not known
	sent     int64                         // of the last request that went out
	tooLong  int64                         // of the one that was refused as too long; 0: not known
	kept     bool                          // the failed attempt has finished something: what follows is a new request
	first    *models.Fault                 // of the preferred target
	slept    bool                          // the computer was suspended during the last attempt
	last     *models.Attempt               // not recorded yet: what follows it is not known
}

// errLeft says that the caller has left the loop.
var errLeft = errors.New("the caller left")

// unsent stands for an attempt that ended before it began.
var unsent = &models.Fault{}

func (op *operation) run(ctx context.Context) {
	err := op.start(ctx)
	for err == nil {
		if err = op.steer(ctx); err != nil {
			break
		}
		if !op.admitted {
			if err = op.admit(ctx); err != nil || !op.admitted {
				continue // somebody else is asked, or the wait is over: look at the lever again
			}
		}
		fault := op.attempt(ctx)
		switch {
		case fault == nil:
			op.record(ctx, "")
			return
		case fault != unsent:
			err = op.after(ctx, fault)
		}
	}
	op.giveBack(ctx)
	op.record(ctx, "")
	if !errors.Is(err, errLeft) {
		op.yield(nil, err)
	}
}

// steer does before an attempt what the lever asks for.
func (op *operation) steer(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return op.cancelled(ctx)
	case op.need.Control.parking():
		return &Parked{Fault: op.first, UserInitiated: true}
	case op.need.Control.elsewhere(op.target, op.tier):
		return op.follow(ctx)
	}
	return nil
}

func (op *operation) cancelled(ctx context.Context) error {
	return &models.Fault{Kind: models.KindCancelled, Scope: models.ScopeRequest, Target: op.target, Err: context.Cause(ctx)}
}

// attempt makes one attempt and passes its chunks on. It returns nil when
// there is nothing more to do: the reply is complete, or the caller left.
func (op *operation) attempt(parent context.Context) *models.Fault {
	r, target := op.r, op.target
	ctx, release := op.need.Control.attempt(parent, op.target, op.tier)
	defer release()
	op.admitted, op.insist = false, false
	model := r.o.Model(target)
	req, err := op.build(op.shorter(model))
	if ctx.Err() != nil {
		r.o.Breakers.Release(parent, target)
		return unsent // building takes a while: the lever moved meanwhile
	}
	if err != nil {
		r.o.Breakers.Release(parent, target)
		return faultOf(err, models.KindRequest, target)
	}
	req.Operation = op.need.Operation
	op.attempts++
	op.made++
	op.sent = req.Tokens
	m := &measure{op: op, model: model, began: r.o.Now(), awake: r.elapsed(), size: req.Tokens, stream: !req.NoStream, together: r.enter(target.Provider)}
	defer r.leave(target.Provider)
	leave := r.o.RateLimiter.Join(parent, target.Provider)
	op.need.Control.served(target, op.tier)
	more := op.yield(models.AttemptStarted{Number: op.attempts, Of: op.of(), Tier: op.tier, Target: target}, nil)
	if !more || ctx.Err() != nil { // nothing has been sent, so nothing is recorded
		op.made--
		leave(true)
		r.o.Breakers.Release(parent, target)
		if !more {
			return nil
		}
		return &models.Fault{Kind: models.KindCancelled, Scope: models.ScopeRequest, Phase: models.BeforeHeaders, Target: target, Err: context.Cause(ctx)}
	}
	for chunk, err := range r.o.Client.Stream(ctx, target, req) {
		if err != nil {
			f := faultOf(err, models.KindStream, target)
			m.failed(parent, leave, f)
			return f
		}
		m.chunk(chunk)
		_, done := chunk.(models.Finished)
		if done {
			m.succeeded(parent, leave)
		}
		if more := op.yield(chunk, nil); done || !more {
			if !done {
				m.left(parent, leave)
			}
			return nil
		}
	}
	f := &models.Fault{Kind: models.KindStream, Scope: models.ScopeProvider, Target: target, Message: "the reply ended without a closing event"}
	m.failed(parent, leave, f)
	return f
}

// shorter asks for a shorter request once the target has refused one as too
// long: our count and its own differ.
func (op *operation) shorter(m models.Model) models.Model {
	if op.shrunk {
		if m.Window <= 0 {
			m.Window = models.UnknownWindow
		}
		if op.tooLong > 0 && op.tooLong < m.Window {
			m.Window = op.tooLong // what we think of its window is wrong
		}
		m.Window = m.Window * 6 / 10
	}
	return m
}

// of is how many attempts there are at most.
func (op *operation) of() int {
	if !op.need.ParkRetry {
		return op.r.o.Attempts
	}
	return max(op.rungs, op.attempts)
}

func faultOf(err error, otherwise models.Kind, t models.Target) *models.Fault {
	var f *models.Fault
	if errors.As(err, &f) {
		return f
	}
	return &models.Fault{Kind: otherwise, Scope: models.ScopeRequest, Target: t, Message: err.Error(), Err: err}
}

// measure follows one attempt for the board and the record.
type measure struct {
	op       *operation
	model    models.Model
	began    time.Time
	awake    time.Duration // at the beginning, on the clock that stands still in a suspended computer
	first    time.Duration // until the first piece of the reply
	size     int64
	stream   bool
	together int
	done     models.Finished
	opened   models.Opened
	answered bool
	served   string
}

func (m *measure) chunk(c models.Chunk) {
	m.answered = true
	switch c := c.(type) {
	case models.Opened:
		m.opened, m.served = c, c.Served
	case models.Finished:
		m.done = c
		if c.Served != "" {
			m.served = c.Served
		}
	case models.TextDelta, models.ReasoningDelta, models.CallDelta, models.ItemDone:
		if m.first == 0 {
			m.first = max(m.op.r.o.Now().Sub(m.began), time.Nanosecond)
		}
	}
}

func (m *measure) succeeded(ctx context.Context, leave func(bool)) {
	leave(true)
	m.op.r.o.Breakers.Succeeded(ctx, m.op.target, m.first)
	m.write(nil)
}

// failed tells the board of a failure, unless it was a person's doing.
func (m *measure) failed(ctx context.Context, leave func(bool), f *models.Fault) {
	if f.Elapsed == 0 {
		f.Elapsed = m.op.r.o.Now().Sub(m.began)
	}
	leave(f.Kind != models.KindCapacity)
	if f.Kind == models.KindCancelled || ctx.Err() != nil {
		m.op.r.o.Breakers.Release(ctx, m.op.target)
	} else {
		m.op.r.o.Breakers.Failed(ctx, m.op.target, f)
	}
	m.op.slept = m.asleep()
	m.write(f)
}

// left is an attempt that its caller had no more use for.
func (m *measure) left(ctx context.Context, leave func(bool)) {
	leave(true)
	m.op.r.o.Breakers.Release(ctx, m.op.target)
	m.write(&models.Fault{Kind: models.KindCancelled})
}

// sleepGap tells a suspended computer from a slow one: its wall clock goes on
// and the monotonic one does not.
const sleepGap = 5 * time.Second

func (m *measure) asleep() bool {
	now := m.op.r.o.Now()
	awake := now.Sub(m.began)
	if m.op.r.o.Elapsed != nil {
		awake = m.op.r.elapsed() - m.awake
	}
	return now.Round(0).Sub(m.began.Round(0))-awake > sleepGap
}

// write prepares the attempt's line in the record. It is written when it is
// known what followed.
func (m *measure) write(f *models.Fault) {
	op, o := m.op, &m.op.r.o
	a := &models.Attempt{
		ProjectID: op.need.Purpose.Project, Session: op.need.Purpose.Session, Turn: op.need.Purpose.Turn, Step: op.need.Purpose.Step,
		RequestID: m.done.RequestID, Model: op.target.Model, Provider: op.target.Provider, Tier: op.tier, Endpoint: o.Endpoint(op.target.Provider),
		Stream: m.stream, InputTokens: m.size, Concurrency: m.together, RetryCount: op.made - 1, StatusCode: http.StatusOK, CreatedAt: m.began,
		LatencyMS: o.Now().Sub(m.began).Milliseconds(), ServedModel: m.served, FirstTokenMS: m.first.Milliseconds(), DelayMS: op.delay.Milliseconds(),
	}
	if f != nil {
		a.Kind, a.Phase, a.StatusCode, a.ErrorCode, a.RequestID = f.Kind, f.Phase, f.Status, f.Code, f.RequestID
		if a.ErrorCode == "" {
			a.ErrorCode = string(f.Kind)
		}
		if a.StatusCode == 0 && m.answered {
			a.StatusCode = http.StatusOK // the reply had begun
		}
		if a.RequestID == "" {
			a.RequestID = m.opened.RequestID
		}
		if f.ServedModel != "" {
			a.ServedModel = f.ServedModel
		}
	} else {
		u := m.done.Usage
		if u.Input > 0 {
			a.InputTokens = u.Input
		}
		a.OutputTokens, a.CachedTokens, a.ReasoningTokens, a.Cost = u.Output, u.Cached, u.Reasoning, m.model.Cost(u)
	}
	op.delay = 0
	op.last = a
}

// record writes the last attempt, and who took over after it.
func (op *operation) record(ctx context.Context, fallback string) {
	if op.last == nil {
		return
	}
	op.last.FallbackModel = fallback
	op.r.o.Record(context.WithoutCancel(ctx), *op.last)
	op.last = nil
}
