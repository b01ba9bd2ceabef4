package rehearsal

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

type object = map[string]any

// encryptedContent stands for the encrypted content of a reasoning item, which only
// the model that produced it can read.
func encryptedContent(model, id string) string {
	return base64.StdEncoding.EncodeToString([]byte("rehearsal:" + model + ":" + id))
}

// delta is by far the most frequent event. A struct marshals faster than a map.
type delta struct {
	Type         string `json:"type"`
	Sequence     int    `json:"sequence_number"`
	ItemID       string `json:"item_id"`
	OutputIndex  int    `json:"output_index"`
	ContentIndex *int   `json:"content_index,omitempty"`
	SummaryIndex *int   `json:"summary_index,omitempty"`
	Delta        string `json:"delta"`
}

// responsesStream composes a reply as events of the Responses API.
type responsesStream struct {
	*composer
	id        string
	created   int64
	sequence  int
	output    []any
	closeItem func(status string) // ends the item being written; nil between items
}

// responses composes the reply as a stream of the Responses API.
func (c *composer) responses(id string, now time.Time) {
	s := &responsesStream{composer: c, id: id, created: now.Unix()}
	c.emitError = s.emitFailure
	s.emit("response.created", object{"response": s.response("in_progress")})
	s.emit("response.in_progress", object{"response": s.response("in_progress")})
	c.reach(atStart)
	if c.reply.Reasoning != "" {
		s.reasoning()
	}
	if c.reply.Text != "" {
		s.message()
	}
	for i, call := range c.reply.Calls {
		s.call(i, call)
	}
	c.reach(atEnd)
	done := s.response("completed")
	done["usage"] = wireUsage(c.usage())
	s.emit("response.completed", object{"response": done})
	c.output = s.output
}

func (s *responsesStream) emit(kind string, body object) {
	body["type"], body["sequence_number"] = kind, s.sequence
	s.sequence++
	s.event(0, kind, body)
}

func (s *responsesStream) response(status string) object {
	output := s.output
	if output == nil {
		output = []any{}
	}
	return object{
		"id": "resp_" + s.id, "object": "response", "created_at": s.created, "status": status,
		"background": s.req.background, "store": s.req.store, "error": nil, "incomplete_details": nil, "instructions": nil, "max_output_tokens": nil, "model": s.served(),
		"output": output, "parallel_tool_calls": true, "previous_response_id": nil, "service_tier": "default",
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

func (s *responsesStream) finishItem(item object) {
	s.output = append(s.output, item)
	s.emit("response.output_item.done", object{"output_index": len(s.output) - 1, "item": item})
	s.closeItem = nil
	s.itemDone()
}

func (s *responsesStream) reasoning() {
	index, zero := len(s.output), 0
	id := "rs_" + s.id
	item := func(summary ...any) object {
		it := object{"id": id, "type": "reasoning", "summary": append([]any{}, summary...)}
		if s.req.encrypted {
			it["encrypted_content"] = encryptedContent(s.req.model, id)
		}
		return it
	}
	part := func(text string) object { return object{"type": "summary_text", "text": text} }
	s.emit("response.output_item.added", object{"output_index": index, "item": item()})
	s.emit("response.reasoning_summary_part.added",
		object{"item_id": id, "output_index": index, "summary_index": 0, "part": part("")})
	s.deltas(atReasoning, s.reply.Reasoning, func(wait time.Duration, piece string) {
		const kind = "response.reasoning_summary_text.delta"
		s.event(wait, kind, delta{kind, s.sequence, id, index, nil, &zero, piece})
		s.sequence++
	})
	s.emit("response.reasoning_summary_text.done",
		object{"item_id": id, "output_index": index, "summary_index": 0, "text": s.reply.Reasoning})
	s.emit("response.reasoning_summary_part.done",
		object{"item_id": id, "output_index": index, "summary_index": 0, "part": part(s.reply.Reasoning)})
	s.finishItem(item(part(s.reply.Reasoning)))
}

func (s *responsesStream) message() {
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
	var written strings.Builder
	end := func(status string) {
		s.emit("response.output_text.done", object{
			"item_id":       id,
			"output_index":  index,
			"content_index": 0,
			"text":          written.String(),
			"logprobs":      []any{},
		})
		s.emit("response.content_part.done",
			object{"item_id": id, "output_index": index, "content_index": 0, "part": part(written.String())})
		s.finishItem(item(status, part(written.String())))
	}
	s.emit("response.output_item.added", object{"output_index": index, "item": item("in_progress")})
	s.emit("response.content_part.added",
		object{"item_id": id, "output_index": index, "content_index": 0, "part": part("")})
	s.closeItem = end
	s.deltas(atText, s.reply.Text, func(wait time.Duration, piece string) {
		const kind = "response.output_text.delta"
		s.event(wait, kind, delta{kind, s.sequence, id, index, &zero, nil, piece})
		s.sequence++
		written.WriteString(piece)
	})
	end("completed")
}

func (s *responsesStream) call(n int, call Call) {
	index := len(s.output)
	id := fmt.Sprintf("fc_%s_%d", s.id, n+1)
	form := functionCall
	if s.req.custom[call.Name] {
		form = customCall
	}
	item := func(status, arguments string) object {
		return object{
			"id": id, "type": form.item, "status": status, "name": call.Name,
			"call_id": cmp.Or(call.ID, fmt.Sprintf("call_%s_%d", s.id, n+1)), form.field: arguments,
		}
	}
	var written strings.Builder
	end := func(status string) {
		s.emit(form.event+".done", object{"item_id": id, "output_index": index, form.field: written.String()})
		s.finishItem(item(status, written.String()))
	}
	s.emit("response.output_item.added", object{"output_index": index, "item": item("in_progress", "")})
	s.closeItem = end
	kind := form.event + ".delta"
	s.deltas(atArguments, form.text(call), func(wait time.Duration, piece string) {
		s.event(wait, kind, delta{kind, s.sequence, id, index, nil, nil, piece})
		s.sequence++
		written.WriteString(piece)
	})
	end("completed")
}

// callForm is how a call is told: with arguments in JSON, or with text.
type callForm struct {
	item, field, event string
	text               func(Call) string
}

var (
	functionCall = callForm{"function_call", "arguments", "response.function_call_arguments", Call.raw}
	customCall   = callForm{"custom_tool_call", "input", "response.custom_tool_call_input", Call.input}
)

// emitFailure adds an error, in the form that the fault asks for.
func (s *responsesStream) emitFailure() {
	fault := s.reply.Fault
	code, kind, message := fault.errorFields()
	if fault.How == howIncomplete {
		if s.closeItem != nil {
			s.closeItem("incomplete")
		}
		short := s.response("incomplete")
		short["incomplete_details"] = object{"reason": cmp.Or(fault.Code, "max_output_tokens")}
		short["usage"] = wireUsage(s.usage())
		s.emit("response.incomplete", object{"response": short})
		return
	}
	if fault.Body != "" {
		s.raw("event: error\ndata: "+fault.Body+"\n\n", carryOn)
		return
	}
	fields := object{"type": cmp.Or(kind, "server_error"), "code": code, "message": message, "param": nil}
	switch fault.How {
	case howFlat:
		s.emit("error", object{"code": code, "message": message, "param": nil})
		return
	case howError:
		s.emit("error", object{"error": fields})
	}
	failed := s.response("failed")
	failed["error"] = object{"code": code, "message": message}
	s.emit("response.failed", object{"response": failed})
}
