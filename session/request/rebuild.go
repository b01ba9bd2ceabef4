package request

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"belay/models"
	"belay/session"
)

// Rebuild makes the last request of a session again out of its log, as it would
// be made now, and names the target that it went to. The session need not be
// open.
func (f *Factory) Rebuild(ctx context.Context, id session.ID) (models.Target, models.Request, error) {
	target, req, err := f.rebuild(ctx, id)
	if err != nil {
		return target, models.Request{}, fmt.Errorf("rebuild the last request of session %s: %w", id, err)
	}
	return target, req, nil
}

func (f *Factory) rebuild(ctx context.Context, id session.ID) (models.Target, models.Request, error) {
	state, err := f.o.Store.Load(ctx, id)
	if err != nil {
		return models.Target{}, models.Request{}, err
	}
	tail, err := Tail(ctx, f.o.Store, state)
	var records []session.Record
	if err == nil {
		err = tail.Each(ctx, func(r session.Record) { records = append(records, r) })
	}
	if err != nil {
		return models.Target{}, models.Request{}, err
	}
	records, target := beforeLastRequest(records)
	if len(records) == 0 {
		return models.Target{}, models.Request{}, errors.New("it has made none")
	}
	if target == (models.Target{}) {
		target = f.Preferred(state)
	}
	stored, err := storedPrompt(ctx, f.o.Store, id)
	if err != nil {
		return target, models.Request{}, err
	}
	set, err := f.o.Tools(state.Project)
	if err != nil {
		return target, models.Request{}, err
	}
	c := content{id: id, specs: set.Specs(), effort: state.Effort, answerSchema: state.Answer.JSONSchema()}
	if c.system = promptOf(stored); stored == nil {
		c.system = f.o.SystemPrompt(ctx, state.Project)
	}
	conversation := newConversation(tail, state)
	for _, r := range records {
		conversation.Apply(r)
	}
	c.conversation = fitted(&conversation)
	req, _, err := f.fit(f.o.Model(target), c)
	return target, req, errors.Join(err, set.Close())
}

// beforeLastRequest cuts a log off where its last request was made, so that
// what came of it is not in it. The target is zero when the log does not tell.
func beforeLastRequest(records []session.Record) ([]session.Record, models.Target) {
	end, target, answered := lastReply(records)
	if target == (models.Target{}) {
		if !answered {
			return nil, target
		}
		return records, lastTarget(records)
	}
	kept := slices.Clone(records[:end])
	for i, r := range slices.Backward(records[:end]) {
		switch r.Event.(type) {
		case session.ItemAdded:
			kept = slices.Delete(kept, i, i+1)
			continue
		case session.TurnStarted, session.TurnResumed, session.PromptTaken, session.ToolEnded, session.ReplyEnded,
			session.AttemptFailed:
			return kept, target
		}
	}
	return kept, target
}

// lastReply finds the record with which the last request was over. Without one
// the last request has not been answered, or, if nothing waits for a model,
// there was none.
func lastReply(records []session.Record) (index int, target models.Target, waits bool) {
	for i, r := range slices.Backward(records) {
		switch e := r.Event.(type) {
		case session.ReplyEnded:
			target = e.Target
		case session.AttemptFailed:
			target = e.Target
		case session.TurnStarted, session.TurnResumed, session.PromptTaken, session.ToolEnded:
			waits = waits || openCalls(records) == 0
		default:
			continue
		}
		if waits {
			break
		}
		if target != (models.Target{}) {
			return i, target, false
		}
	}
	return len(records), target, waits
}

// lastTarget is who answered, or failed, or took over last.
func lastTarget(records []session.Record) models.Target {
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

// openCalls counts the calls that have no output yet.
func openCalls(records []session.Record) int {
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
