package rehearsal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// chat tells the reply as a stream of Chat Completions.
func (c *compose) chat(id string, now time.Time) {
	chunk := func(wait time.Duration, delta object, finish any) {
		c.event(wait, "", object{
			"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": now.Unix(), "model": c.served(),
			"system_fingerprint": "fp_rehearsal",
			"choices":            []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
		})
	}
	finish := func(reason string) {
		chunk(0, object{}, reason)
		if c.q.usage {
			c.event(0, "", object{
				"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": now.Unix(), "model": c.served(),
				"choices": []any{}, "usage": chatUsage(c.usage()),
			})
		}
		c.raw("data: [DONE]\n\n", goOn)
	}
	c.fail = func() { c.chatFailure(chunk, finish) }
	chunk(0, object{"role": "assistant", "content": ""}, nil)
	c.here(atStart)
	if c.r.Reasoning != "" {
		c.deltas(atReasoning, c.r.Reasoning, func(wait time.Duration, piece string) {
			chunk(wait, object{"reasoning_content": piece}, nil)
		})
		c.done()
	}
	if c.r.Text != "" {
		c.deltas(atText, c.r.Text, func(wait time.Duration, piece string) {
			chunk(wait, object{"content": piece}, nil)
		})
		c.done()
	}
	for i, call := range c.r.Calls {
		chunk(0, object{"tool_calls": []any{object{
			"index": i, "id": callID(call, id, i), "type": "function",
			"function": object{"name": call.Name, "arguments": ""},
		}}}, nil)
		c.deltas(atArguments, call.raw(), func(wait time.Duration, piece string) {
			chunk(wait, object{"tool_calls": []any{object{"index": i, "function": object{"arguments": piece}}}}, nil)
		})
		c.done()
	}
	c.here(atEnd)
	finish(c.reason())
}

func callID(call Call, id string, i int) string {
	return cmp.Or(call.ID, fmt.Sprintf("call_%s_%d", id, i+1))
}

func (c *compose) reason() string {
	if len(c.r.Calls) > 0 {
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

// shortReason is the finish_reason of a reply cut short.
func (f *Fault) shortReason() string {
	if f.Code == "content_filter" {
		return f.Code
	}
	return "length"
}

func (c *compose) chatFailure(_ func(time.Duration, object, any), finish func(string)) {
	fault := c.r.Fault
	code, kind, message := fault.texts()
	switch {
	case fault.How == howShort:
		finish(fault.shortReason())
	case fault.Body != "":
		c.raw("data: "+fault.Body+"\n\n", goOn)
	case fault.How == howFlat:
		c.event(0, "", object{"type": "error", "code": code, "message": message, "param": nil})
	case fault.How == howFailed:
		// As OpenRouter tells it: a numeric code beside an ordinary chunk.
		c.event(0, "", object{
			"error": object{
				"code":     cmp.Or(fault.Status, http.StatusServiceUnavailable),
				"message":  message,
				"metadata": object{"raw": code},
			},
			"choices": []any{object{"index": 0, "delta": object{"content": ""}, "finish_reason": "error"}},
		})
	default:
		c.event(
			0,
			"",
			object{
				"error": object{"message": message, "type": cmp.Or(kind, "server_error"), "param": nil, "code": code},
			},
		)
	}
}

// whole gives the reply as one document, and its status.
func (c *compose) whole(id string, now time.Time) (int, []frame) {
	status, doc := http.StatusOK, object(nil)
	fault := c.r.Fault
	switch {
	case fault != nil && (fault.How == howError || fault.How == howFlat || fault.How == howFailed && c.q.api == "chat"):
		return cmp.Or(fault.Status, http.StatusServiceUnavailable), []frame{{data: fault.errorBody()}}
	case c.q.api == "chat":
		doc = c.wholeChat(id, now)
	default:
		doc = c.wholeResponse(id, now)
	}
	b, _ := json.Marshal(doc) // texts, numbers and checked arguments always marshal
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
	return status, []frame{last}
}

func (c *compose) wholeResponse(id string, now time.Time) object {
	told := &spoken{
		compose: &compose{
			q: c.q,
			r: &Reply{Reasoning: c.r.Reasoning, Text: c.r.Text, Calls: c.r.Calls, Served: c.r.Served},
		},
		id:      id,
		created: now.Unix(),
	}
	if c.r.Reasoning != "" {
		told.reasoning()
	}
	if c.r.Text != "" {
		told.message()
	}
	for i, call := range c.r.Calls {
		told.call(i, call)
	}
	doc := told.response("completed")
	doc["usage"] = wireUsage(c.usage())
	if fault := c.r.Fault; fault != nil {
		switch fault.How {
		case howFailed:
			code, _, message := fault.texts()
			doc = told.response("failed")
			doc["output"], doc["error"] = []any{}, object{"code": code, "message": message}
		case howShort:
			doc["status"], doc["incomplete_details"] = "incomplete", object{
				"reason": cmp.Or(fault.Code, "max_output_tokens"),
			}
		}
	}
	return doc
}

func (c *compose) wholeChat(id string, now time.Time) object {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	if c.r.Text != "" {
		message["content"] = c.r.Text
	}
	if c.r.Reasoning != "" {
		message["reasoning_content"] = c.r.Reasoning
	}
	var calls []any
	for i, call := range c.r.Calls {
		calls = append(calls, object{
			"id": callID(call, id, i), "type": "function",
			"function": object{"name": call.Name, "arguments": call.raw()},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	reason := c.reason()
	if c.r.Fault != nil && c.r.Fault.How == howShort {
		reason = c.r.Fault.shortReason()
	}
	return object{
		"id": "chatcmpl-" + id, "object": "chat.completion", "created": now.Unix(), "model": c.served(),
		"choices": []any{object{"index": 0, "message": message, "logprobs": nil, "finish_reason": reason}},
		"usage":   chatUsage(c.usage()),
	}
}
