package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"belay/models"
	"belay/models/diagnose"
)

// callBuilder is a tool call that is still being written.
type callBuilder struct {
	index     int
	id, name  string
	arguments strings.Builder
	finished  bool
}

// chatReply is a Chat Completions reply being read. The protocol has no items; they
// are made here: reasoning, message, calls.
type chatReply struct {
	*attempt
	reasoning strings.Builder
	field     string // the name under which the reasoning came
	details   []json.RawMessage
	text      strings.Builder
	calls     []*callBuilder
	usage     *chatUsage
	finished  bool
}

func (a *attempt) readChat(in io.Reader) error {
	chat := &chatReply{attempt: a}
	events := a.stream(in)
	for {
		data, err := events.next()
		if err != nil || strings.HasPrefix(string(data), "[DONE]") {
			if chat.finished && a.parent.Err() == nil {
				return chat.complete() // what breaks after the end changes nothing
			}
			if err == nil || errors.Is(err, io.EOF) {
				return diagnose.ErrUnended
			}
			return err
		}
		var piece chunk
		if err := decode(data, &piece); err != nil {
			if chat.finished {
				return chat.complete()
			}
			return events.malformed(err)
		}
		if isGiven(piece.Error) || piece.Type == "error" || events.name == "error" ||
			isGiven(piece.Detail) && len(piece.Choices) == 0 {
			return &apiError{event: data}
		}
		if err := chat.handleChunk(&piece); err != nil {
			return err
		}
	}
}

func (t *chatReply) handleChunk(c *chunk) error {
	t.served = cmp.Or(string(c.Model), t.served)
	t.responseID = cmp.Or(string(c.ID), t.responseID)
	if u := cmp.Or(c.Usage, c.Groq.Usage); u != nil {
		t.usage = u
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if t.served != "" || choice.Finish != "" {
			if err := t.emitOpened(); err != nil {
				return err
			}
		}
		if err := t.handleDelta(&choice.Delta); err != nil {
			return err
		}
		if choice.Finish != "" && !t.finished {
			if err := t.finishReply(string(choice.Finish)); err != nil {
				return err
			}
		}
	}
	return nil
}

// handleDelta takes the content of a chunk: at most one of its parts, as a rule.
func (t *chatReply) handleDelta(delta *chatDelta) error {
	if t.finished {
		return nil
	}
	if piece := cmp.Or(delta.ReasoningContent, delta.Reasoning, looseString(delta.Content.reasoning)); piece != "" {
		t.field = "reasoning"
		if delta.ReasoningContent != "" {
			t.field = "reasoning_content"
		}
		if err := t.addReasoning(string(piece)); err != nil {
			return err
		}
	}
	if isGiven(delta.Details) {
		var list []json.RawMessage
		if json.Unmarshal(delta.Details, &list) == nil {
			t.details = append(t.details, list...)
		}
	}
	if piece := delta.Content.text + string(delta.Refusal); piece != "" {
		if err := t.addText(piece); err != nil {
			return err
		}
	}
	for i := range delta.Calls {
		if err := t.addCalls(&delta.Calls[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *chatReply) addReasoning(piece string) error {
	if err := t.emitOpened(); err != nil {
		return err
	}
	if err := t.endText(); err != nil {
		return err
	}
	t.phase = models.InReasoning
	t.reasoning.WriteString(piece)
	return t.emit(models.ReasoningDelta{Text: piece})
}

func (t *chatReply) addText(piece string) error {
	if err := t.emitOpened(); err != nil {
		return err
	}
	if err := t.endReasoning(); err != nil {
		return err
	}
	t.phase = models.InText
	t.text.WriteString(piece)
	return t.emit(models.TextDelta{Text: piece})
}

// addCalls takes a piece of a tool call.
func (t *chatReply) addCalls(delta *chatCallDelta) error {
	if err := t.emitOpened(); err != nil {
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
	if before < len(t.calls) {
		if err := t.endCalls(call); err != nil {
			return err
		}
	}
	t.phase = models.InArguments
	call.arguments.WriteString(string(delta.Function.Arguments))
	if t.isWrapper(call.name) {
		return nil
	}
	return t.emit(models.CallDelta{CallID: call.id, Name: call.name, Arguments: string(delta.Function.Arguments)})
}

// builders finds the call that a piece belongs to, or begins one. Some
// endpoints leave out the index, and some give every call the index 0.
func (t *chatReply) builders(delta *chatCallDelta) *callBuilder {
	var call *callBuilder
	for _, known := range t.calls {
		if delta.Index != nil && known.index == *delta.Index ||
			delta.Index == nil && delta.ID != "" && known.id == string(delta.ID) {
			call = known
		}
	}
	if delta.Index == nil && delta.ID == "" && len(t.calls) > 0 && delta.Function.Name == "" {
		call = t.calls[len(t.calls)-1]
	}
	if call != nil && delta.ID != "" && call.id != string(delta.ID) && call.name != "" && delta.Function.Name != "" {
		call = nil // another call under the same index
	}
	if call == nil {
		if delta.Function.Name == "" && delta.ID == "" && delta.Function.Arguments == "" {
			return nil
		}
		call = &callBuilder{index: len(t.calls), id: string(delta.ID)}
		if delta.Index != nil {
			call.index = *delta.Index
		}
		if call.id == "" {
			call.id = "call_" + t.c.id()
		}
		t.calls = append(t.calls, call)
	}
	call.name = cmp.Or(call.name, string(delta.Function.Name))
	if call.finished {
		return nil
	}
	return call
}

// endReasoning makes the reasoning so far an item.
func (t *chatReply) endReasoning() error {
	if t.reasoning.Len() == 0 && len(t.details) == 0 {
		return nil
	}
	raw := map[string]any{}
	if t.reasoning.Len() > 0 {
		raw[t.field] = t.reasoning.String()
	}
	if len(t.details) > 0 {
		raw["reasoning_details"] = t.details
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return fmt.Errorf("%w: reasoning details: %w", diagnose.ErrMalformed, err)
	}
	it := models.Item{Kind: models.Reasoning, Text: t.reasoning.String(), Raw: b}
	t.reasoning.Reset()
	t.details = nil
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

// endCalls hands finished calls over. While the reply goes on, with a call
// being written, the others are finished if their arguments are a whole object:
// no such text can be continued. With nil the reply is over, and so are they.
func (t *chatReply) endCalls(open *callBuilder) error {
	for _, call := range t.calls {
		if call == open || call.finished || call.name == "" {
			continue
		}
		args := call.arguments.String()
		if open != nil && (!strings.HasPrefix(strings.TrimSpace(args), "{") || !json.Valid([]byte(args))) {
			continue
		}
		call.finished = true
		item := models.Item{Kind: models.Call, CallID: call.id, Name: call.name, Arguments: args}
		if err := t.emitCall(item); err != nil {
			return err
		}
	}
	return nil
}

// finishReply takes the reason for which the reply is over.
func (t *chatReply) finishReply(reason string) error {
	switch reason {
	case "length", "max_tokens":
		return &apiError{incomplete: "max_output_tokens"}
	case "content_filter":
		return &apiError{incomplete: reason}
	case "error", "insufficient_system_resource":
		return &apiError{event: []byte(`{"error":{"code":"` + reason + `","message":"finish_reason: ` + reason + `"}}`)}
	}
	if err := t.endReasoning(); err != nil {
		return err
	}
	if err := t.endText(); err != nil {
		return err
	}
	if err := t.endCalls(nil); err != nil {
		return err
	}
	t.finished, t.phase = true, models.AfterLastItem
	return nil
}

func (t *chatReply) complete() error { return t.emitFinished(t.usage.usage()) }

// takeChatReply takes a reply in one piece.
func (a *attempt) takeChatReply(c *chunk) error {
	chat := &chatReply{attempt: a}
	for i := range c.Choices {
		c.Choices[i].Delta = c.Choices[i].Message
	}
	if err := chat.handleChunk(c); err != nil {
		return err
	}
	if !chat.finished {
		return diagnose.ErrUnended
	}
	return chat.complete()
}
