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
	router, target := op.r, op.target.Target
	ctx, release := op.need.Control.attempt(parent, op.target)
	defer release()
	op.admitted = false
	op.force = false
	model := router.Model(target)
	req, err := op.build(model)
	if ctx.Err() != nil {
		router.o.Breakers.Release(parent, target)
		return unsent // building takes a while: the user did something meanwhile
	}
	if err != nil {
		router.o.Breakers.Release(parent, target)
		return faultOf(err, models.KindRequest, target)
	}
	req.Operation = op.need.Operation
	leave, withdraw, stands := op.join(ctx)
	if !stands {
		withdraw()
		return unsent
	}
	op.history.attempts++
	op.made++
	op.history.sent = true
	meter := &measure{
		op: op, model: model, began: router.o.Now(), awake: router.elapsed(),
		size: req.Tokens, stream: !req.NoStream, concurrency: router.enter(target.Provider),
	}
	defer router.leave(target.Provider)
	op.need.Control.setTarget(op.target)
	more := op.yield(
		models.AttemptStarted{Number: op.history.attempts, Of: op.of(), Tier: op.target.tier, Target: target},
		nil,
	)
	if !more || ctx.Err() != nil { // nothing has been sent, so nothing is recorded
		op.made--
		withdraw()
		router.o.Breakers.Release(parent, target)
		if !more {
			return nil
		}
		return &models.Fault{
			Kind:   models.KindCancelled,
			Scope:  models.ScopeRequest,
			Phase:  models.BeforeHeaders,
			Target: target,
			Err:    context.Cause(ctx),
		}
	}
	for chunk, err := range router.o.Client.Stream(ctx, target, req) {
		if err != nil {
			f := op.judged(faultOf(err, models.KindStream, target))
			op.checkName(ctx, f)
			meter.failed(parent, leave, f)
			return f
		}
		meter.chunk(chunk)
		_, done := chunk.(models.Finished)
		if done {
			meter.succeeded(parent, leave)
		}
		if more := op.yield(chunk, nil); done || !more {
			if !done {
				meter.abandoned(parent, leave)
			}
			return nil
		}
	}
	f := &models.Fault{
		Kind:    models.KindStream,
		Scope:   models.ScopeProvider,
		Target:  target,
		Message: "the reply ended without a closing event",
	}
	meter.failed(parent, leave, f)
	return f
}

// longJoin is after which a wait for the pace is long: what was known of the target
// before it is out of date.
const longJoin = time.Second

// join waits for the pace of work that nobody waits for, which is no latency and no time
// of the request's. It reports whether the target may still be asked: its circuit may
// have opened meanwhile, or another request have taken the place of this one as the
// only one that tries it.
func (op *operation) join(ctx context.Context) (leave func(clean bool), withdraw func(), stands bool) {
	router, target := op.r, op.target.Target
	began := router.o.Now()
	leave, withdraw = router.o.RateLimiter.Join(ctx, target.Provider)
	took := router.o.Now().Sub(began)
	op.history.began = op.history.began.Add(took)
	if took < longJoin || ctx.Err() != nil {
		return leave, withdraw, true
	}
	asking := context.WithoutCancel(ctx)
	router.o.Breakers.Release(asking, target)
	_, stands = router.o.Breakers.Allow(asking, target, false)
	return leave, withdraw, stands
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
	called      bool   // the reply holds a call
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
		if item, ok := c.(models.ItemDone); ok && item.Item.Kind == models.Call {
			m.called = true
		}
	}
}

func (m *measure) succeeded(ctx context.Context, leave func(bool)) {
	leave(true)
	m.op.r.o.Breakers.Succeeded(ctx, m.op.target.Target, m.firstToken)
	m.write(nil)
}

// failed tells the breakers of a failure, unless it was a person's doing.
func (m *measure) failed(ctx context.Context, leave func(bool), fault *models.Fault) {
	if fault.Elapsed == 0 {
		fault.Elapsed = m.op.r.o.Now().Sub(m.began)
	}
	leave(fault.Kind != models.KindCapacity)
	if fault.Kind == models.KindCancelled || ctx.Err() != nil {
		m.op.r.o.Breakers.Release(ctx, m.op.target.Target)
	} else {
		m.op.r.o.Breakers.Failed(ctx, m.op.target.Target, fault)
	}
	m.op.history.slept = m.asleep()
	m.write(fault)
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
func (m *measure) write(fault *models.Fault) {
	op, o := m.op, &m.op.r.o
	target, purpose := op.target, op.need.Purpose
	attempt := &models.Attempt{
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
		Operation:    op.need.Operation,
		TurnBegan:    op.need.Purpose.TurnBegan,
		Finish:       m.finish(fault),
	}
	if fault != nil {
		m.writeFault(attempt, fault)
	} else {
		attempt.StatusCode = http.StatusOK
		attempt.RequestID = m.done.RequestID
		m.writeUsage(attempt, m.done.Usage)
	}
	op.delay = 0
	op.last = attempt
}

// finish is why the reply ended; empty: it did not come to an end of its own.
func (m *measure) finish(fault *models.Fault) string {
	switch {
	case fault == nil && m.called:
		return "tool_calls"
	case fault == nil:
		return "stop"
	case fault.AtLengthLimit():
		return "length"
	case fault.Kind == models.KindIncomplete:
		return "content_filter"
	}
	return ""
}

func (m *measure) writeFault(attempt *models.Attempt, fault *models.Fault) {
	attempt.Kind = fault.Kind
	attempt.Phase = fault.Phase
	attempt.StatusCode = fault.Status
	if attempt.StatusCode == 0 && m.answered {
		attempt.StatusCode = http.StatusOK // the reply had begun
	}
	attempt.ErrorCode = cmp.Or(fault.Code, string(fault.Kind))
	attempt.RequestID = cmp.Or(fault.RequestID, m.opened.RequestID)
	attempt.ServedModel = cmp.Or(fault.ServedModel, attempt.ServedModel)
	if fault.Usage != (models.Usage{}) { // it was billed, though it failed
		m.writeUsage(attempt, fault.Usage)
	}
}

func (m *measure) writeUsage(attempt *models.Attempt, usage models.Usage) {
	attempt.InputTokens = cmp.Or(max(usage.Input, 0), attempt.InputTokens)
	attempt.OutputTokens = usage.Output
	attempt.CachedTokens = usage.Cached
	attempt.ReasoningTokens = usage.Reasoning
	attempt.Cost = m.model.Cost(usage)
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
