package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"belay/context/systemprompt"
	"belay/context/window"
	"belay/models"
	"belay/session"
	"belay/session/tools"
)

// Request rebuilds the last request of a session out of its log, as it would be
// made now, and names the target that it went to. The session need not be open.
func (e *Engine) Request(ctx context.Context, id session.ID) (models.Target, models.Request, error) {
	const step = "rebuild the last request of session %s: %w"
	head, err := e.o.Store.Load(ctx, id)
	if err != nil {
		return models.Target{}, models.Request{}, fmt.Errorf(step, id, err)
	}
	records, whole, err := e.tail(ctx, head)
	if err != nil {
		return models.Target{}, models.Request{}, fmt.Errorf(step, id, err)
	}
	records, target := asked(records)
	if len(records) == 0 {
		return models.Target{}, models.Request{}, fmt.Errorf(step, id, errors.New("it has made none"))
	}
	if target == (models.Target{}) {
		target = e.preferred(head)
	}
	set, err := e.o.Tools(head.Project)
	if err != nil {
		return target, models.Request{}, fmt.Errorf(step, id, err)
	}
	talk := conversation(head, records, whole)
	stored, err := e.briefed(ctx, id)
	if err != nil {
		return target, models.Request{}, errors.Join(fmt.Errorf(step, id, err), set.Close())
	}
	brief := briefingOf(stored)
	if stored == nil {
		brief = e.o.SystemPrompt(ctx, head.Project)
	}
	req, _, err := e.request(e.o.Model(target), order{id: id, brief: brief, set: set, talk: fitted(&talk), effort: head.Effort})
	if err = errors.Join(err, set.Close()); err != nil {
		return target, models.Request{}, fmt.Errorf(step, id, err)
	}
	return target, req, nil
}

// order is what a request is made of.
type order struct {
	id      session.ID
	brief   systemprompt.Prompt
	set     *tools.Set
	talk    window.Conversation
	effort  string // that the session asks for; empty: as the settings say
	pressed bool   // it goes out slim
}

// request makes a request for a model.
func (e *Engine) request(m models.Model, o order) (models.Request, window.Account, error) {
	limits := e.limits(m.Target)
	limits.UnderPressure = o.pressed
	req, account, err := window.Fit(m, limits, e.counter(m.Target), o.brief.Instructions, o.set.Specs(), o.talk)
	reply := e.reply(m, o.effort)
	req.CacheKey, req.Effort, req.MaxOutput, req.Tokens = string(o.id), reply.Effort, reply.MaxOutput, account.Total()
	return req, account, err
}

// counter counts as a target does.
func (e *Engine) counter(t models.Target) Counter { return e.o.Counter(e.o.Model(t)) }

// budget is how many tokens a request to a target may take.
func (e *Engine) budget(t models.Target) int64 { return e.limits(t).For(e.o.Model(t)) }

// limits bound a request in tokens as we count them: a target that counts more
// gets less.
func (e *Engine) limits(t models.Target) window.Limits {
	l := e.o.Window(t)
	l.Factor = e.o.Calibration.Factor(t)
	return l
}

// fitted is a conversation in the form that requests are made of.
func fitted(c *session.Conversation) window.Conversation {
	t := window.Conversation{Items: c.Items(), Essentials: c.Essentials()}
	for _, h := range c.Head() {
		t.Head = append(t.Head, h.Item)
	}
	return t
}

// conversation is what the end of a log holds for the model.
func conversation(head session.Session, records []session.Record, whole bool) session.Conversation {
	talk := session.NewConversation(head)
	if !whole {
		talk.OmitBeginning()
	}
	for _, r := range records {
		talk.Apply(r)
	}
	return talk
}

// preferred is who would be asked first.
func (e *Engine) preferred(s session.Session) models.Target {
	if s.PinnedTarget != (models.Target{}) {
		return s.PinnedTarget
	}
	conditions := e.o.Router.Conditions()
	i := max(0, slices.IndexFunc(conditions, func(c models.Condition) bool { return c.Tier == s.Tier }))
	if len(conditions) == 0 {
		return models.Target{}
	}
	return conditions[i].Target
}

// asked cuts a log off where its last request was made, so that what came of
// it is not in it. The target is zero when the log does not tell.
func asked(records []session.Record) ([]session.Record, models.Target) {
	var target models.Target
	end, over := len(records), false
	for i, r := range slices.Backward(records) {
		switch e := r.Event.(type) {
		case session.ReplyEnded:
			target = e.Target
		case session.AttemptFailed:
			target = e.Target
		case session.TurnStarted, session.TurnResumed, session.ToolEnded:
			if calls := open(records[:end]); calls == 0 {
				over = true
			}
		default:
			continue
		}
		if over {
			break
		}
		if target != (models.Target{}) {
			end = i
			break
		}
	}
	if target == (models.Target{}) {
		if !over {
			return nil, target
		}
		return records, last(records)
	}
	kept := slices.Clone(records[:end])
	for i, r := range slices.Backward(records[:end]) {
		switch r.Event.(type) {
		case session.ItemAdded:
			kept = slices.Delete(kept, i, i+1)
			continue
		case session.TurnStarted, session.TurnResumed, session.ToolEnded, session.ReplyEnded, session.AttemptFailed:
			return kept, target
		}
	}
	return kept, target
}

// last is who answered, or failed, or took over last.
func last(records []session.Record) models.Target {
	for _, r := range slices.Backward(records) {
		switch e := r.Event.(type) {
		case session.ReplyEnded:
			return e.Target
		case session.AttemptFailed:
			return e.Target
		case session.Switched:
			return e.To
		}
	}
	return models.Target{}
}

// open counts the calls that have no output yet.
func open(records []session.Record) int {
	waiting := map[string]bool{}
	for _, r := range records {
		switch e := r.Event.(type) {
		case session.ItemAdded:
			if e.Item.Kind == models.Call {
				waiting[e.Item.CallID] = true
			}
		case session.ToolEnded:
			delete(waiting, e.CallID)
		}
	}
	return len(waiting)
}
