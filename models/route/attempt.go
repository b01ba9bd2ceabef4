package route

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"belay/models"
)

// attempt makes one attempt and passes its chunks on. It returns nil when
// there is nothing more to do: the reply is complete, or the caller left.
func (op *operation) attempt(parent context.Context) *models.Fault {
	r, target := op.r, op.target.Target
	ctx, release := op.need.Control.attempt(parent, op.target)
	defer release()
	op.admitted = false
	op.force = false
	model := r.o.Model(target)
	req, err := op.build(op.shortened(model))
	if ctx.Err() != nil {
		r.o.Breakers.Release(parent, target)
		return unsent // building takes a while: the user did something meanwhile
	}
	if err != nil {
		r.o.Breakers.Release(parent, target)
		return faultOf(err, models.KindRequest, target)
	}
	req.Operation = op.need.Operation
	op.history.attempts++
	op.made++
	op.sent = req.Tokens
	m := &measure{
		op: op, model: model, began: r.o.Now(), awake: r.elapsed(),
		size: req.Tokens, stream: !req.NoStream, concurrency: r.enter(target.Provider),
	}
	defer r.leave(target.Provider)
	leave := r.o.RateLimiter.Join(parent, target.Provider)
	op.need.Control.setTarget(op.target)
	more := op.yield(models.AttemptStarted{Number: op.history.attempts, Of: op.of(), Tier: op.target.tier, Target: target}, nil)
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
				m.abandoned(parent, leave)
			}
			return nil
		}
	}
	f := &models.Fault{Kind: models.KindStream, Scope: models.ScopeProvider, Target: target, Message: "the reply ended without a closing event"}
	m.failed(parent, leave, f)
	return f
}

// shortened asks for a shorter request once the target has refused one as too
// long: our count and its own differ.
func (op *operation) shortened(m models.Model) models.Model {
	if !op.history.shortened {
		return m
	}
	if m.Window <= 0 {
		m.Window = models.UnknownWindow
	}
	if op.tooLong > 0 && op.tooLong < m.Window {
		m.Window = op.tooLong // what we think of its window is wrong
	}
	m.Window = m.Window * 6 / 10
	return m
}

// of is how many attempts there are at most.
func (op *operation) of() int {
	if !op.need.ParkRetry {
		return op.r.o.Attempts
	}
	return max(op.choices, op.history.attempts)
}

func faultOf(err error, otherwise models.Kind, t models.Target) *models.Fault {
	var f *models.Fault
	if errors.As(err, &f) {
		return f
	}
	return &models.Fault{Kind: otherwise, Scope: models.ScopeRequest, Target: t, Message: err.Error(), Err: err}
}

// measure follows one attempt for the breakers and the record.
type measure struct {
	op          *operation
	model       models.Model
	began       time.Time
	awake       time.Duration // at the beginning, on the clock that stands still in a suspended computer
	firstToken  time.Duration // until the first piece of the reply
	size        int64         // of the request, in tokens
	stream      bool
	concurrency int // of our requests at the provider, this one included
	answered    bool
	opened      models.Opened
	done        models.Finished
	served      string // the model that really serves
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
		if m.firstToken == 0 {
			m.firstToken = max(m.op.r.o.Now().Sub(m.began), time.Nanosecond)
		}
	}
}

func (m *measure) succeeded(ctx context.Context, leave func(bool)) {
	leave(true)
	m.op.r.o.Breakers.Succeeded(ctx, m.op.target.Target, m.firstToken)
	m.write(nil)
}

// failed tells the breakers of a failure, unless it was a person's doing.
func (m *measure) failed(ctx context.Context, leave func(bool), f *models.Fault) {
	if f.Elapsed == 0 {
		f.Elapsed = m.op.r.o.Now().Sub(m.began)
	}
	leave(f.Kind != models.KindCapacity)
	if f.Kind == models.KindCancelled || ctx.Err() != nil {
		m.op.r.o.Breakers.Release(ctx, m.op.target.Target)
	} else {
		m.op.r.o.Breakers.Failed(ctx, m.op.target.Target, f)
	}
	m.op.history.slept = m.asleep()
	m.write(f)
}

// abandoned is an attempt that its caller had no more use for.
func (m *measure) abandoned(ctx context.Context, leave func(bool)) {
	leave(true)
	m.op.r.o.Breakers.Release(ctx, m.op.target.Target)
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

// write prepares the attempt's row in the record. It is written when it is
// known what followed.
func (m *measure) write(f *models.Fault) {
	op, o := m.op, &m.op.r.o
	target, purpose := op.target, op.need.Purpose
	a := &models.Attempt{
		Session:      purpose.Session,
		ProjectID:    purpose.Project,
		Turn:         purpose.Turn,
		Step:         purpose.Step,
		Model:        target.Model,
		Provider:     target.Provider,
		Tier:         target.tier,
		Endpoint:     o.Endpoint(target.Provider),
		Stream:       m.stream,
		InputTokens:  m.size,
		Concurrency:  m.concurrency,
		RetryCount:   op.made - 1,
		CreatedAt:    m.began,
		LatencyMS:    o.Now().Sub(m.began).Milliseconds(),
		FirstTokenMS: m.firstToken.Milliseconds(),
		DelayMS:      op.delay.Milliseconds(),
		ServedModel:  m.served,
	}
	if f != nil {
		m.writeFault(a, f)
	} else {
		m.writeUsage(a)
	}
	op.delay = 0
	op.last = a
}

func (m *measure) writeFault(a *models.Attempt, f *models.Fault) {
	a.Kind = f.Kind
	a.Phase = f.Phase
	a.StatusCode = f.Status
	if a.StatusCode == 0 && m.answered {
		a.StatusCode = http.StatusOK // the reply had begun
	}
	a.ErrorCode = cmp.Or(f.Code, string(f.Kind))
	a.RequestID = cmp.Or(f.RequestID, m.opened.RequestID)
	a.ServedModel = cmp.Or(f.ServedModel, a.ServedModel)
}

func (m *measure) writeUsage(a *models.Attempt) {
	usage := m.done.Usage
	a.StatusCode = http.StatusOK
	a.RequestID = m.done.RequestID
	a.InputTokens = cmp.Or(max(usage.Input, 0), a.InputTokens)
	a.OutputTokens = usage.Output
	a.CachedTokens = usage.Cached
	a.ReasoningTokens = usage.Reasoning
	a.Cost = m.model.Cost(usage)
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
