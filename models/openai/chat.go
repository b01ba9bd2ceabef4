package openai

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"strings"

	"belay/models"
	"belay/models/diagnose"
)

// chatReply is a Chat Completions reply being read. The protocol has no items; they
// are made here: reasoning, message, calls.
type chatReply struct {
	*attempt
	thoughts thoughts
	tags     thoughtTags
	pieces   joiner // of the content
	text     strings.Builder
	calls    []*callBuilder
	over     bool  // the endpoint has said how the reply ended
	result   error // and it did not end well
}

func (a *attempt) readChat(in *bufio.Reader) error {
	chat := &chatReply{attempt: a}
	events := a.stream(in)
	for {
		data, err := events.next()
		if err != nil || isDone(data) {
			return chat.conclude(err)
		}
		var piece chunk
		if err := decode(data, &piece); err != nil {
			if chat.over {
				return chat.conclude(err)
			}
			return events.malformed(err)
		}
		if u := piece.usage(); u != nil {
			a.usage = u.usage()
		}
		if failure := piece.failure(data, events.name); failure != nil {
			if chat.over {
				return chat.conclude(failure)
			}
			return failure
		}
		if err := chat.handleChunk(&piece); err != nil {
			return err
		}
		if chat.result != nil && a.usage != (models.Usage{}) {
			return chat.result
		}
	}
}

// conclude ends the reply with the stream: err is nil if that came to its own
// end. What breaks after the end of the reply changes nothing.
func (t *chatReply) conclude(err error) error {
	if t.parent.Err() != nil || !t.over && err != nil {
		if err == nil || errors.Is(err, io.EOF) {
			return diagnose.ErrUnended
		}
		return err
	}
	if !t.over {
		if err := t.finishReply("", ""); err != nil {
			return err
		}
	}
	if t.result != nil {
		return t.result
	}
	return t.emitFinished()
}

// takeChatReply takes a reply in one piece.
func (a *attempt) takeChatReply(c *chunk) error {
	chat := &chatReply{attempt: a}
	if u := c.usage(); u != nil {
		a.usage = u.usage()
	}
	if err := chat.handleChunk(c); err != nil {
		return err
	}
	return chat.conclude(nil)
}

func (t *chatReply) handleChunk(c *chunk) error {
	if err := namesWithin(c.Model, c.ID); err != nil {
		return err
	}
	t.takeServed(string(c.Model))
	t.responseID = cmp.Or(string(c.ID), t.responseID)
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 || t.over {
			continue
		}
		if t.served != "" || choice.Finish != "" {
			if err := t.emitOpened(); err != nil {
				return err
			}
		}
		delta := &choice.Delta
		if choice.Message != nil && t.phase == models.BeforeEvent && len(t.calls) == 0 {
			delta = choice.Message
		}
		if err := t.handleDelta(delta); err != nil {
			return err
		}
		if choice.Finish != "" {
			if err := t.finishReply(string(choice.Finish), string(choice.Native)); err != nil {
				return err
			}
		}
	}
	return nil
}

// handleDelta takes the content of a chunk: at most one of its parts, as a rule.
func (t *chatReply) handleDelta(delta *chatDelta) error {
	if err := t.handleThoughts(delta); err != nil {
		return err
	}
	if piece := delta.Content.text + delta.Refusal; piece != "" {
		if err := t.addContent(t.tags.split(t.pieces.add(piece))); err != nil {
			return err
		}
	}
	for i := range delta.Calls {
		if err := t.addCalls(&delta.Calls[i]); err != nil {
			return err
		}
	}
	if delta.Function != nil {
		return t.addCalls(&chatCallDelta{index: -1, function: *delta.Function})
	}
	return nil
}

// handleThoughts takes the reasoning of a chunk. Endpoints that state it in
// several places say the same in each.
func (t *chatReply) handleThoughts(delta *chatDelta) error {
	place, piece := inReasoningContent, delta.ReasoningContent
	if piece == "" {
		place, piece = inReasoning, delta.Reasoning
	}
	if piece == "" {
		place, piece = inParts, delta.Content.thought
	}
	shown := ""
	if piece != "" {
		shown = t.thoughts.add(place, piece)
	}
	err := errors.Join(t.tally.addContent(reasoningBytes, len(piece)), t.tally.addMembers(delta.Content.thinking),
		t.tally.add(replyBytes, len(delta.Details)))
	if err != nil {
		return err
	}
	if delta.Content.thinking != nil {
		if t.thoughts.part == nil {
			t.thoughts.part = map[string]json.RawMessage{}
		}
		maps.Copy(t.thoughts.part, delta.Content.thinking)
	}
	if isGiven(delta.Details) {
		shown += t.thoughts.addDetails(delta.Details)
		if err := within(items, len(t.thoughts.details)); err != nil {
			return err
		}
	}
	return t.emitReasoning(shown)
}

func (t *chatReply) emitReasoning(piece string) error {
	if piece == "" {
		return nil
	}
	if err := t.emitOpened(); err != nil {
		return err
	}
	if err := t.endText(); err != nil {
		return err
	}
	t.phase = models.InReasoning
	return t.emit(models.ReasoningDelta{Text: piece})
}

// addContent takes what a piece of the content adds to the reasoning and to the
// words.
func (t *chatReply) addContent(thought, words string) error {
	if err := errors.Join(t.tally.addContent(reasoningBytes, len(thought)),
		t.tally.addContent(textBytes, len(words))); err != nil {
		return err
	}
	if thought != "" {
		if err := t.emitReasoning(t.thoughts.add(inTags, textPiece(thought))); err != nil {
			return err
		}
	}
	if words == "" {
		return nil
	}
	if err := t.emitOpened(); err != nil {
		return err
	}
	if err := t.endReasoning(); err != nil {
		return err
	}
	t.phase = models.InText
	t.text.WriteString(words)
	return t.emit(models.TextDelta{Text: words})
}
