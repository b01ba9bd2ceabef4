package rehearsal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"
)

// chat composes the reply as a stream of Chat Completions.
func (c *composer) chat(id string, now time.Time) {
	chunk := func(wait time.Duration, delta object, finish any) {
		c.event(wait, "", object{
			"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": now.Unix(), "model": c.served(),
			"system_fingerprint": "fp_rehearsal",
			"choices":            []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
		})
	}
	finish := func(reason string) {
		chunk(0, object{}, reason)
		if c.req.usage {
			c.event(0, "", object{
				"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": now.Unix(), "model": c.served(),
				"choices": []any{}, "usage": chatUsage(c.usage()),
			})
		}
		c.raw("data: [DONE]\n\n", carryOn)
	}
	c.emitError = func() { c.chatError(finish) }
	chunk(0, object{"role": "assistant", "content": ""}, nil)
	c.reach(atStart)
	if c.reply.Reasoning != "" {
		c.deltas(atReasoning, c.reply.Reasoning, func(wait time.Duration, piece string) {
			if c.req.like.reasoning != nil {
				chunk(wait, c.req.like.reasoning(c.req.model, piece), nil)
			}
		})
		if c.req.like.sealed != nil {
			chunk(0, c.req.like.sealed(c.req.model), nil)
		}
		c.itemDone()
	}
	if c.reply.Text != "" {
		c.deltas(atText, c.reply.Text, func(wait time.Duration, piece string) {
			chunk(wait, object{"content": piece}, nil)
		})
		c.itemDone()
	}
	for i, call := range c.reply.Calls {
		begun := c.wireCall(call, id, i, "")
		begun["index"] = i
		chunk(0, object{"tool_calls": []any{begun}}, nil)
		c.deltas(atArguments, call.raw(), func(wait time.Duration, piece string) {
			chunk(wait, object{"tool_calls": []any{object{"index": i, "function": object{"arguments": piece}}}}, nil)
		})
		c.itemDone()
	}
	c.reach(atEnd)
	finish(c.finishReason())
}

func callID(call Call, id string, i int) string {
	return cmp.Or(call.ID, fmt.Sprintf("call_%s_%d", id, i+1))
}

// wireCall is a call as the endpoint tells it.
func (c *composer) wireCall(call Call, id string, i int, arguments string) object {
	wire := object{
		"id": callID(call, id, i), "type": "function",
		"function": object{"name": call.Name, "arguments": arguments},
	}
	if c.req.like.call != nil {
		maps.Copy(wire, c.req.like.call(c.req.model, i))
	}
	return wire
}

func (c *composer) finishReason() string {
	if len(c.reply.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func chatUsage(u Usage) object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

// incompleteFinish is the finish_reason of an incomplete reply.
func (f *Fault) incompleteFinish() string {
	if f.Code == "content_filter" {
		return f.Code
	}
	return "length"
}

// chatError adds an error, in the form that the fault asks for.
func (c *composer) chatError(finish func(reason string)) {
	fault := c.reply.Fault
	code, kind, message := fault.errorFields()
	switch {
	case fault.How == howIncomplete:
		finish(fault.incompleteFinish())
	case fault.Body != "":
		c.raw("data: "+fault.Body+"\n\n", carryOn)
	case fault.How == howFlat:
		c.event(0, "", object{"type": "error", "code": code, "message": message, "param": nil})
	case fault.How == howFailed:
		// As OpenRouter does: an error with a numeric code within an ordinary chunk.
		c.event(0, "", object{
			"error": object{
				"code":     cmp.Or(fault.Status, http.StatusServiceUnavailable),
				"message":  message,
				"metadata": object{"raw": code},
			},
			"choices": []any{object{"index": 0, "delta": object{"content": ""}, "finish_reason": "error"}},
		})
	default:
		c.event(0, "", object{"error": object{
			"message": message, "type": cmp.Or(kind, "server_error"), "param": nil, "code": code,
		}})
	}
}

// document returns the reply as one JSON document, and its HTTP status.
func (c *composer) document(id string, now time.Time) (int, []frame) {
	var doc object
	fault := c.reply.Fault
	switch {
	case fault != nil && (fault.How == howError || fault.How == howFlat || fault.How == howFailed && c.req.api == "chat"):
		return cmp.Or(fault.Status, http.StatusServiceUnavailable), []frame{{data: fault.errorBody()}}
	case c.req.api == "chat":
		doc = c.chatDocument(id, now)
	default:
		doc = c.responseDocument(id, now)
	}
	b, _ := json.Marshal(doc) // cannot fail: Parse has checked the arguments
	last := frame{data: b}
	if fault != nil {
		half := b[:len(b)/2]
		switch fault.How {
		case howCut:
			last = frame{data: half, then: cut}
		case howReset:
			last = frame{data: half, then: reset}
		case howStall, howComments:
			last = frame{data: half, then: stall}
		case howMalformed, howEnd:
			last = frame{data: half}
		}
	}
	return http.StatusOK, []frame{last}
}

func (c *composer) responseDocument(id string, now time.Time) object {
	faultless := &Reply{Reasoning: c.reply.Reasoning, Text: c.reply.Text, Calls: c.reply.Calls, Served: c.reply.Served}
	events := &responsesStream{composer: &composer{req: c.req, reply: faultless}, id: id, created: now.Unix()}
	if c.reply.Reasoning != "" {
		events.reasoning()
	}
	if c.reply.Text != "" {
		events.message()
	}
	for i, call := range c.reply.Calls {
		events.call(i, call)
	}
	doc := events.response("completed")
	if c.reply.Fault == nil {
		c.output = events.output
	}
	doc["usage"] = wireUsage(c.usage())
	if fault := c.reply.Fault; fault != nil {
		switch fault.How {
		case howFailed:
			code, _, message := fault.errorFields()
			doc = events.response("failed")
			doc["output"] = []any{}
			doc["error"] = object{"code": code, "message": message}
		case howIncomplete:
			doc["status"] = "incomplete"
			doc["incomplete_details"] = object{"reason": cmp.Or(fault.Code, "max_output_tokens")}
		}
	}
	return doc
}

func (c *composer) chatDocument(id string, now time.Time) object {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	if c.reply.Text != "" {
		message["content"] = c.reply.Text
	}
	if c.reply.Reasoning != "" && c.req.like.reasoning != nil {
		told := c.req.like.reasoning(c.req.model, c.reply.Reasoning)
		if parts, ok := told["content"].([]any); ok {
			told["content"] = append(parts, object{"type": "text", "text": c.reply.Text})
		}
		maps.Copy(message, told)
	}
	var calls []any
	for i, call := range c.reply.Calls {
		calls = append(calls, c.wireCall(call, id, i, call.raw()))
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	reason := c.finishReason()
	if c.reply.Fault != nil && c.reply.Fault.How == howIncomplete {
		reason = c.reply.Fault.incompleteFinish()
	}
	return object{
		"id": "chatcmpl-" + id, "object": "chat.completion", "created": now.Unix(), "model": c.served(),
		"choices": []any{object{"index": 0, "message": message, "logprobs": nil, "finish_reason": reason}},
		"usage":   chatUsage(c.usage()),
	}
}
