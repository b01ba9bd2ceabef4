package rehearsal

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

type object = map[string]any

// sealed is the encrypted content of a reasoning item; only the model that
// made it can read it.
func sealed(model, id string) string {
	return base64.StdEncoding.EncodeToString([]byte("rehearsal:" + model + ":" + id))
}

// delta is the event that comes most often, so it has a type of its own.
type delta struct {
	Type         string `json:"type"`
	Sequence     int    `json:"sequence_number"`
	ItemID       string `json:"item_id"`
	OutputIndex  int    `json:"output_index"`
	ContentIndex *int   `json:"content_index,omitempty"`
	SummaryIndex *int   `json:"summary_index,omitempty"`
	Delta        string `json:"delta"`
}

// spoken is a reply being told in events of the Responses API.
type spoken struct {
	*compose
	id       string
	created  int64
	sequence int
	output   []any
	open     func(status string) // closes the item being written
}

// responses tells the reply as a stream of the Responses API.
func (c *compose) responses(id string, now time.Time) {
	s := &spoken{compose: c, id: id, created: now.Unix()}
	c.fail = s.failure
	s.say("response.created", object{"response": s.response("in_progress")})
	s.say("response.in_progress", object{"response": s.response("in_progress")})
	c.here(atStart)
	if c.r.Reasoning != "" {
		s.reasoning()
	}
	if c.r.Text != "" {
		s.message()
	}
	for i, call := range c.r.Calls {
		s.call(i, call)
	}
	c.here(atEnd)
	done := s.response("completed")
	done["usage"] = wireUsage(c.usage())
	s.say("response.completed", object{"response": done})
}

func (s *spoken) say(kind string, body object) {
	body["type"], body["sequence_number"] = kind, s.sequence
	s.sequence++
	s.event(0, kind, body)
}

func (s *spoken) response(status string) object {
	output := s.output
	if output == nil {
		output = []any{}
	}
	return object{
		"id": "resp_" + s.id, "object": "response", "created_at": s.created, "status": status, "background": s.q.background,
		"error": nil, "incomplete_details": nil, "instructions": nil, "max_output_tokens": nil, "model": s.served(),
		"output": output, "parallel_tool_calls": true, "previous_response_id": nil, "service_tier": "default",
		"store":       s.q.background,
		"tool_choice": "auto", "truncation": "disabled", "usage": nil, "metadata": object{},
	}
}

func wireUsage(u Usage) object {
	return object{
		"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.Cached},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Input + u.Output,
	}
}

func (s *spoken) finish(item object) {
	s.output = append(s.output, item)
	s.say("response.output_item.done", object{"output_index": len(s.output) - 1, "item": item})
	s.open = nil
	s.done()
}

func (s *spoken) reasoning() {
	index, zero := len(s.output), 0
	id := "rs_" + s.id
	item := func(summary ...any) object {
		it := object{"id": id, "type": "reasoning", "summary": append([]any{}, summary...)}
		if s.q.encrypted {
			it["encrypted_content"] = sealed(s.q.model, id)
		}
		return it
	}
	part := func(text string) object { return object{"type": "summary_text", "text": text} }
	s.say("response.output_item.added", object{"output_index": index, "item": item()})
	s.say(
		"response.reasoning_summary_part.added",
		object{"item_id": id, "output_index": index, "summary_index": 0, "part": part("")},
	)
	s.deltas(atReasoning, s.r.Reasoning, func(wait time.Duration, piece string) {
		const kind = "response.reasoning_summary_text.delta"
		s.event(wait, kind, delta{kind, s.sequence, id, index, nil, &zero, piece})
		s.sequence++
	})
	s.say(
		"response.reasoning_summary_text.done",
		object{"item_id": id, "output_index": index, "summary_index": 0, "text": s.r.Reasoning},
	)
	s.say(
		"response.reasoning_summary_part.done",
		object{"item_id": id, "output_index": index, "summary_index": 0, "part": part(s.r.Reasoning)},
	)
	s.finish(item(part(s.r.Reasoning)))
}

func (s *spoken) message() {
	index, zero := len(s.output), 0
	id := "msg_" + s.id
	part := func(text string) object {
		return object{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": text}
	}
	item := func(status string, content ...any) object {
		return object{
			"id":      id,
			"type":    "message",
			"status":  status,
			"role":    "assistant",
			"content": append([]any{}, content...),
		}
	}
	var said strings.Builder
	end := func(status string) {
		s.say(
			"response.output_text.done",
			object{
				"item_id":       id,
				"output_index":  index,
				"content_index": 0,
				"text":          said.String(),
				"logprobs":      []any{},
			},
		)
		s.say(
			"response.content_part.done",
			object{"item_id": id, "output_index": index, "content_index": 0, "part": part(said.String())},
		)
		s.finish(item(status, part(said.String())))
	}
	s.say("response.output_item.added", object{"output_index": index, "item": item("in_progress")})
	s.say(
		"response.content_part.added",
		object{"item_id": id, "output_index": index, "content_index": 0, "part": part("")},
	)
	s.open = end
	s.deltas(atText, s.r.Text, func(wait time.Duration, piece string) {
		const kind = "response.output_text.delta"
		s.event(wait, kind, delta{kind, s.sequence, id, index, &zero, nil, piece})
		s.sequence++
		said.WriteString(piece)
	})
	end("completed")
}

func (s *spoken) call(n int, call Call) {
	index := len(s.output)
	id := fmt.Sprintf("fc_%s_%d", s.id, n+1)
	item := func(status, arguments string) object {
		return object{
			"id": id, "type": "function_call", "status": status, "name": call.Name,
			"call_id": cmp.Or(call.ID, fmt.Sprintf("call_%s_%d", s.id, n+1)), "arguments": arguments,
		}
	}
	var written strings.Builder
	end := func(status string) {
		s.say(
			"response.function_call_arguments.done",
			object{"item_id": id, "output_index": index, "arguments": written.String()},
		)
		s.finish(item(status, written.String()))
	}
	s.say("response.output_item.added", object{"output_index": index, "item": item("in_progress", "")})
	s.open = end
	s.deltas(atArguments, call.raw(), func(wait time.Duration, piece string) {
		const kind = "response.function_call_arguments.delta"
		s.event(wait, kind, delta{kind, s.sequence, id, index, nil, nil, piece})
		s.sequence++
		written.WriteString(piece)
	})
	end("completed")
}

// failure tells an error in the way the fault asks for.
func (s *spoken) failure() {
	fault := s.r.Fault
	code, kind, message := fault.texts()
	if fault.How == howShort {
		if s.open != nil {
			s.open("incomplete")
		}
		short := s.response("incomplete")
		short["incomplete_details"] = object{"reason": cmp.Or(fault.Code, "max_output_tokens")}
		short["usage"] = wireUsage(s.usage())
		s.say("response.incomplete", object{"response": short})
		return
	}
	if fault.Body != "" {
		s.raw("event: error\ndata: "+fault.Body+"\n\n", goOn)
		return
	}
	fields := object{"type": cmp.Or(kind, "server_error"), "code": code, "message": message, "param": nil}
	switch fault.How {
	case howFlat:
		s.say("error", object{"code": code, "message": message, "param": nil})
		return
	case howError:
		s.say("error", object{"error": fields})
	}
	failed := s.response("failed")
	failed["error"] = object{"code": code, "message": message}
	s.say("response.failed", object{"response": failed})
}
