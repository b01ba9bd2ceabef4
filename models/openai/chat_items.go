package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"belay/models"
	"belay/models/diagnose"
)

// callBuilder is a tool call that is still being written.
type callBuilder struct {
	index     int
	id, name  string
	arguments textBuilder
	added     map[string]json.RawMessage // members that nobody knows
	finished  bool

	checked int // the length of the arguments when isWhole looked at them
	whole   bool
}

// isWhole says whether the arguments are whole: no such text can be continued.
func (c *callBuilder) isWhole() bool {
	if n := c.arguments.text.Len(); n != c.checked {
		c.checked, c.whole = n, isWholeObject(c.arguments.text.String())
	}
	return c.whole
}

// isTorn says whether the call broke off within its arguments.
func (c *callBuilder) isTorn() bool {
	return !c.finished && !c.isWhole() && strings.TrimSpace(c.arguments.text.String()) != ""
}

// addCalls takes a piece of a tool call.
func (t *chatReply) addCalls(delta *chatCallDelta) error {
	if err := t.emitOpened(); err != nil {
		return err
	}
	if err := t.endContent(); err != nil {
		return err
	}
	if err := t.endReasoning(); err != nil {
		return err
	}
	if err := t.endText(); err != nil {
		return err
	}
	before := len(t.calls)
	call := t.builders(delta)
	if call == nil {
		return nil
	}
	if err := t.countCall(call, delta); err != nil {
		return err
	}
	if before < len(t.calls) {
		others := func(c *callBuilder) bool { return c != call && c.isWhole() }
		if err := t.endCalls(others); err != nil {
			return err
		}
	}
	t.phase = models.InArguments
	arguments := call.arguments.add(textPiece(delta.function.Arguments))
	if call.added == nil {
		call.added = delta.added
	} else {
		maps.Copy(call.added, delta.added)
	}
	if t.isWrapper(call.name) {
		return nil
	}
	return t.emit(models.CallDelta{CallID: call.id, Name: call.name, Arguments: arguments})
}

// countCall counts a piece of a call.
func (t *chatReply) countCall(call *callBuilder, delta *chatCallDelta) error {
	return errors.Join(
		within(calls, len(t.calls)),
		namesWithin(looseString(call.id), looseString(call.name)),
		within(argumentBytes, call.arguments.text.Len()+len(delta.function.Arguments)),
		t.tally.add(replyBytes, len(delta.function.Arguments)),
		t.tally.addMembers(delta.added))
}

// builders finds the call that a piece belongs to, or begins one. Some
// endpoints leave out the index, and some give every call the index 0.
func (t *chatReply) builders(delta *chatCallDelta) *callBuilder {
	name := string(delta.function.Name)
	var call *callBuilder
	for _, known := range t.calls {
		if delta.index >= 0 && known.index == delta.index ||
			delta.index < 0 && delta.id != "" && known.id == delta.id {
			call = known
		}
	}
	if delta.index < 0 && delta.id == "" && len(t.calls) > 0 && name == "" {
		call = t.calls[len(t.calls)-1]
	}
	if call != nil && delta.id != "" && call.id != delta.id && call.name != "" && name != "" {
		call = nil // another call under the same index
	}
	if call == nil {
		if name == "" && delta.id == "" && delta.function.Arguments == "" {
			return nil
		}
		call = &callBuilder{index: len(t.calls), id: delta.id}
		if delta.index >= 0 {
			call.index = delta.index
		}
		if call.id == "" {
			call.id = "call_" + t.c.id()
		}
		t.calls = append(t.calls, call)
	}
	call.name = cmp.Or(call.name, name)
	if call.finished {
		return nil
	}
	return call
}

// endContent takes what was held back of the content.
func (t *chatReply) endContent() error {
	if err := t.addContent(t.tags.split(t.pieces.end())); err != nil {
		return err
	}
	return t.addContent(t.tags.end())
}

// endReasoning makes the reasoning so far an item.
func (t *chatReply) endReasoning() error {
	if shown := t.thoughts.end(); shown != "" {
		if err := t.emit(models.ReasoningDelta{Text: shown}); err != nil {
			return err
		}
	}
	done := t.thoughts
	t.thoughts = thoughts{}
	if done.isEmpty() {
		return nil
	}
	it, err := done.item()
	if err != nil {
		return err
	}
	t.phase = models.BetweenItems
	return t.emitItem(it)
}

// endText makes the words so far an item.
func (t *chatReply) endText() error {
	text := t.text.String()
	t.text.Reset()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	t.phase = models.BetweenItems
	return t.emitItem(models.Item{Kind: models.Message, Role: models.Assistant, Text: text})
}

// endCalls hands over those calls that are finished.
func (t *chatReply) endCalls(finished func(*callBuilder) bool) error {
	for _, call := range t.calls {
		if call.finished || call.name == "" || !finished(call) {
			continue
		}
		call.finished = true
		item := models.Item{Kind: models.Call, CallID: call.id, Name: call.name, Arguments: call.arguments.whole()}
		if len(call.added) > 0 {
			var err error
			if item.Raw, err = json.Marshal(call.added); err != nil {
				return fmt.Errorf("%w: tool call: %w", diagnose.ErrMalformed, err)
			}
		}
		if err := t.emitCall(item); err != nil {
			return err
		}
	}
	return nil
}

// finishReply takes the reason for which the reply is over, and the reason of the
// provider behind the endpoint, which is often more exact.
func (t *chatReply) finishReply(reason, native string) error {
	end, word := endingOf(reason)
	torn := false
	for _, call := range t.calls {
		torn = torn || call.isTorn()
	}
	behind, nativeWord := endingOf(native)
	if behind > endsWell && end <= endsWell && (behind != endsAtLimit || torn || len(t.calls) == 0) {
		end, reason, word = behind, native, nativeWord
	}
	switch {
	case end == endsFailed, end == endsUnknown && torn:
		return failedEnding(reason, word)
	case end == endsUnstated && torn:
		return fmt.Errorf("%w: in the midst of a call", diagnose.ErrUnended)
	}
	if err := t.endContent(); err != nil {
		return err
	}
	t.over, t.closing = true, true
	if end == endsAtLimit || end == endsFiltered {
		t.result = &apiError{incomplete: end.incomplete()}
		return t.keepFinished()
	}
	if err := t.endReasoning(); err != nil {
		return err
	}
	if err := t.endText(); err != nil {
		return err
	}
	if err := t.endCalls(func(*callBuilder) bool { return true }); err != nil {
		return err
	}
	t.phase = models.AfterLastItem
	return nil
}

// keepFinished hands over what was finished in a reply that is incomplete: its
// words so far and the calls that are whole, but no reasoning without either.
func (t *chatReply) keepFinished() error {
	phase := t.phase
	if strings.TrimSpace(t.text.String()) != "" {
		if err := t.endReasoning(); err != nil {
			return err
		}
		if err := t.endText(); err != nil {
			return err
		}
	}
	if err := t.endCalls((*callBuilder).isWhole); err != nil {
		return err
	}
	for _, call := range t.calls {
		if !call.finished && call.name != "" {
			t.torn = append(t.torn, call.name)
		}
	}
	t.phase = phase
	return nil
}
