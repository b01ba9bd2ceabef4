package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"belay/models"
	"belay/models/diagnose"
)

// outputItem is what is read of an item in a reply.
type outputItem struct {
	Type      looseString    `json:"type"`
	ID        looseString    `json:"id"`
	Status    looseString    `json:"status"`
	CallID    looseString    `json:"call_id"`
	Name      looseString    `json:"name"`
	Arguments argumentsPiece `json:"arguments"`
	Input     looseString    `json:"input"` // of a tool that is called with text
	Content   []struct {
		Text    looseString `json:"text"`
		Refusal looseString `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text looseString `json:"text"`
	} `json:"summary"`

	Raw   json.RawMessage `json:"-"`
	index int             // its place in the reply
	shown bool            // some of it has been handed over as deltas
}

// isKnown says whether the item is a part of a conversation. Tools that run at
// the provider are none; none was asked for.
func (it *outputItem) isKnown() bool {
	return it.Type == "message" || it.Type == "reasoning" || it.isCall()
}

func (it *outputItem) isCall() bool {
	return it.Type == "function_call" || it.Type == "custom_tool_call"
}

// text is the item's words, or its summary.
func (it *outputItem) text() string {
	var parts []string
	if it.Type == "message" {
		for _, c := range it.Content {
			parts = append(parts, string(c.Text)+string(c.Refusal))
		}
		return strings.Join(parts, "")
	}
	for _, s := range it.Summary {
		parts = append(parts, string(s.Text))
	}
	if len(it.Summary) == 0 {
		for _, c := range it.Content {
			parts = append(parts, string(c.Text))
		}
	}
	return strings.Join(parts, "\n\n")
}

// itemBuilder is an item that is still being written.
type itemBuilder struct {
	id        looseString
	index     int // its place in the reply; below 0: not stated
	kind      looseString
	callID    string
	name      string
	text      textBuilder // of any kind
	arguments string      // as stated by the event that ends them
	shown     bool        // some of it has been handed over as deltas
}

// openItem finds the item of an event, or begins one. Events of one item are
// joined by its place, because some endpoints change an item's id from event to
// event.
func (r *reply) openItem(e *event) (*itemBuilder, error) {
	if i := r.findOpen(e); i >= 0 {
		return r.open[i], nil
	}
	if err := r.tally.add(items, 1); err != nil {
		return nil, err
	}
	item := &itemBuilder{id: e.ItemID, index: -1}
	if e.OutputIndex != nil {
		item.index = *e.OutputIndex
	}
	r.open = append(r.open, item)
	return item, namesWithin(e.ItemID)
}

func (r *reply) findOpen(e *event) int {
	return slices.IndexFunc(r.open, func(item *itemBuilder) bool {
		if e.OutputIndex != nil {
			return item.index == *e.OutputIndex
		}
		return item.index < 0 && item.id == e.ItemID
	})
}

func (r *reply) itemAdded(ev *event) error {
	if err := r.emitOpened(); err != nil {
		return err
	}
	var it outputItem
	if err := decode(ev.Item, &it); err != nil {
		return fmt.Errorf("%w: output item: %w", diagnose.ErrMalformed, err)
	}
	ev.ItemID = cmp.Or(ev.ItemID, it.ID)
	item, err := r.openItem(ev)
	if err := errors.Join(err, namesWithin(it.CallID, it.Name)); err != nil {
		return err
	}
	item.kind = it.Type
	item.callID, item.name = string(it.CallID), string(it.Name)
	switch it.Type {
	case "reasoning":
		r.phase = models.InReasoning
	case "message":
		r.phase = models.InText
	case "function_call", "custom_tool_call":
		r.phase = models.InArguments
		if !r.isWrapper(item.name) {
			return r.emit(models.CallDelta{CallID: item.callID, Name: item.name})
		}
	}
	return nil
}

func (r *reply) emitDelta(ev *event, phase models.Phase) error {
	if err := r.emitOpened(); err != nil {
		return err
	}
	r.phase = phase
	item, err := r.openItem(ev)
	if err != nil {
		return err
	}
	piece := item.text.add(ev.Delta)
	if err := r.countPiece(item, phase, len(piece)); err != nil {
		return err
	}
	return r.emitPiece(item, phase, piece)
}

// countPiece counts a piece of an item.
func (r *reply) countPiece(item *itemBuilder, phase models.Phase, n int) error {
	switch phase {
	case models.InReasoning:
		return r.tally.addContent(reasoningBytes, n)
	case models.InArguments:
		if err := within(argumentBytes, item.text.text.Len()); err != nil {
			return err
		}
		return r.tally.add(replyBytes, n)
	}
	return r.tally.addContent(textBytes, n)
}

// argumentsDone takes the arguments of a call as the event that ends them states them.
func (r *reply) argumentsDone(ev *event) error {
	item, err := r.openItem(ev)
	if err != nil {
		return err
	}
	item.arguments = string(ev.Arguments)
	if err := within(argumentBytes, len(item.arguments)); err != nil {
		return err
	}
	return r.tally.add(replyBytes, len(item.arguments))
}

// checkItem checks an item that the endpoint has finished, and counts it.
func (r *reply) checkItem(it *outputItem) error {
	err := errors.Join(namesWithin(it.ID, it.CallID, it.Name), within(argumentBytes, len(it.Arguments)),
		within(argumentBytes, len(it.Input)), r.tally.add(replyBytes, len(it.Raw)))
	switch {
	case err != nil:
		return err
	case it.Type == "message":
		return within(textBytes, len(it.text()))
	}
	return within(reasoningBytes, len(it.text()))
}

func (r *reply) emitPiece(item *itemBuilder, phase models.Phase, piece string) error {
	if piece == "" {
		return nil
	}
	item.shown = true
	switch phase {
	case models.InReasoning:
		item.kind = cmp.Or(item.kind, "reasoning")
		return r.emit(models.ReasoningDelta{Text: piece})
	case models.InArguments:
		item.kind = cmp.Or(item.kind, "function_call")
		if r.isWrapper(item.name) {
			return nil
		}
		return r.emit(models.CallDelta{CallID: item.callID, Name: item.name, Arguments: piece})
	}
	item.kind = cmp.Or(item.kind, "message")
	return r.emit(models.TextDelta{Text: piece})
}

// itemFinished takes an item that the endpoint has finished.
func (r *reply) itemFinished(ev *event) error {
	it := outputItem{Raw: ev.Item}
	if err := decode(ev.Item, &it); err != nil {
		return fmt.Errorf("%w: output item: %w", diagnose.ErrMalformed, err)
	}
	if err := r.checkItem(&it); err != nil {
		return err
	}
	ev.ItemID = cmp.Or(ev.ItemID, it.ID)
	it.index = -1
	if ev.OutputIndex != nil {
		it.index = *ev.OutputIndex
	}
	if i := r.findOpen(ev); i >= 0 {
		begun := r.open[i]
		r.open = slices.Delete(r.open, i, i+1)
		it.shown = begun.shown
		it.Arguments = cmp.Or(it.Arguments, argumentsPiece(begun.arguments))
	}
	if it.Type == "custom_tool_call" {
		it.Arguments = argumentsPiece(freeformArguments(r.freeform[string(it.Name)], string(it.Input)))
	}
	r.finishedItems++
	r.waiting = append(r.waiting, it)
	return r.release(false)
}

// release hands over the finished items that no open one comes before, in the
// order of their places; at the end of the reply all of them.
func (r *reply) release(all bool) error {
	slices.SortStableFunc(r.waiting, func(a, b outputItem) int { return a.index - b.index })
	for len(r.waiting) > 0 {
		it := r.waiting[0]
		before := func(open *itemBuilder) bool { return open.index >= 0 && open.index < it.index }
		if !all && slices.ContainsFunc(r.open, before) {
			return nil
		}
		r.waiting = r.waiting[1:]
		if err := r.handleItem(&it); err != nil {
			return err
		}
	}
	return nil
}

// handleItem hands a finished item over. Its words come as a delta as well if none
// has come before.
func (r *reply) handleItem(it *outputItem) error {
	if err := r.emitOpened(); err != nil {
		return err
	}
	if !it.isKnown() {
		return nil
	}
	if text := it.text(); text != "" && !it.shown {
		var delta models.Chunk = models.TextDelta{Text: text}
		if it.Type == "reasoning" {
			delta = models.ReasoningDelta{Text: text}
		}
		if err := r.emit(delta); err != nil {
			return err
		}
	}
	if it.Status == "incomplete" && (!r.completed || it.isCall()) {
		r.incomplete = append(r.incomplete, *it)
		return nil
	}
	r.phase = models.BetweenItems
	return r.emitDone(it)
}

func (r *reply) emitDone(it *outputItem) error {
	done := models.Item{ID: string(it.ID), Raw: replaceHalves(it.Raw)}
	switch it.Type {
	case "message":
		done.Kind, done.Role = models.Message, models.Assistant
		done.Text = it.text()
	case "reasoning":
		done.Kind = models.Reasoning
		done.Text = it.text()
	default:
		done.Kind = models.Call
		done.CallID = string(it.CallID)
		done.Name = string(it.Name)
		done.Arguments = string(it.Arguments)
		return r.emitCall(done)
	}
	return r.emitItem(done)
}

// endItem hands over what was written of an item whose end never came: words, or
// a call that is whole.
func (r *reply) endItem(item *itemBuilder) error {
	switch item.kind {
	case "message":
		if err := r.emitPiece(item, models.InText, item.text.end()); err != nil {
			return err
		}
		if text := item.text.whole(); strings.TrimSpace(text) != "" {
			return r.emitItem(models.Item{
				Kind: models.Message, ID: string(item.id), Role: models.Assistant, Text: text,
			})
		}
	case "custom_tool_call": // nothing but its end says that a text is whole
		r.torn = append(r.torn, item.name)
	case "function_call":
		arguments := cmp.Or(item.arguments, item.text.whole())
		if item.name == "" {
			return nil
		}
		if !isWholeObject(arguments) {
			r.torn = append(r.torn, item.name)
			return nil
		}
		return r.emitCall(models.Item{
			Kind: models.Call, CallID: item.callID, Name: item.name, Arguments: arguments,
		})
	}
	return nil
}
