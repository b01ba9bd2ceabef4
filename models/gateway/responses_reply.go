package gateway

import (
	"fmt"
	"strings"

	"belay/models"
)

type object = map[string]any

// responsesEncoder writes a reply as the Responses API tells it.
type responsesEncoder struct {
	frames
	q        *question
	reply    reply
	begun    bool
	sequence int
	items    int // begun
	output   []object
	message  int // the place of the message that is being written; -1: none
	thoughts int // the same for reasoning
	words    strings.Builder
	thinking strings.Builder
}

// delta is by far the most frequent event. A struct is written faster than a map.
type delta struct {
	Type         string   `json:"type"`
	Sequence     int      `json:"sequence_number"`
	ItemID       string   `json:"item_id"`
	OutputIndex  int      `json:"output_index"`
	ContentIndex *int     `json:"content_index,omitempty"`
	SummaryIndex *int     `json:"summary_index,omitempty"`
	Delta        string   `json:"delta"`
	Logprobs     []string `json:"logprobs,omitempty"`
}

var zero int

func (e *responsesEncoder) emit(kind string, body object) {
	body["type"], body["sequence_number"] = kind, e.sequence
	e.sequence++
	e.add(kind, body)
}

func (e *responsesEncoder) delta(kind, id string, index int, content, summary *int, piece string) {
	e.add(kind, delta{
		Type: kind, Sequence: e.sequence, ItemID: id, OutputIndex: index,
		ContentIndex: content, SummaryIndex: summary, Delta: piece,
	})
	e.sequence++
}

func (e *responsesEncoder) chunk(c models.Chunk) []byte {
	e.reset()
	e.begin()
	switch c := c.(type) {
	case models.TextDelta:
		e.text(c.Text)
	case models.ReasoningDelta:
		if e.q.summary {
			e.reason(c.Text)
		}
	case models.ItemDone:
		e.item(&c.Item)
	}
	return e.take()
}

func (e *responsesEncoder) begin() {
	if e.begun {
		return
	}
	e.begun = true
	e.emit("response.created", object{"response": e.response("in_progress", nil)})
	e.emit("response.in_progress", object{"response": e.response("in_progress", nil)})
}

func (e *responsesEncoder) id(prefix string, index int) string {
	return fmt.Sprintf("%s_%s_%d", prefix, e.reply.id, index)
}

// open begins an item and gives its place.
func (e *responsesEncoder) open(item func(index int) object) int {
	index := e.items
	e.items++
	e.emit("response.output_item.added", object{"output_index": index, "item": item(index)})
	return index
}

// done ends an item. The output of a response is in the order in which items began.
func (e *responsesEncoder) done(index int, item object) {
	for len(e.output) <= index {
		e.output = append(e.output, nil)
	}
	e.output[index] = item
	e.emit("response.output_item.done", object{"output_index": index, "item": item})
}

func textPart(text string) object {
	return object{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": text}
}

func (e *responsesEncoder) messageItem(index int, status string, content ...any) object {
	return object{
		"id": e.id("msg", index), "type": "message", "status": status, "role": "assistant",
		"content": append([]any{}, content...),
	}
}

func (e *responsesEncoder) text(piece string) {
	if piece == "" {
		return
	}
	if e.message < 0 {
		e.words.Reset()
		e.message = e.open(func(index int) object { return e.messageItem(index, "in_progress") })
		e.emit("response.content_part.added", object{
			"item_id": e.id("msg", e.message), "output_index": e.message, "content_index": 0, "part": textPart(""),
		})
	}
	e.words.WriteString(piece)
	e.delta("response.output_text.delta", e.id("msg", e.message), e.message, &zero, nil, piece)
}

func (e *responsesEncoder) endMessage(whole string, status string) {
	if rest, ok := strings.CutPrefix(whole, e.words.String()); ok || e.message < 0 {
		e.text(rest)
	}
	if e.message < 0 {
		return // without a word
	}
	index, id := e.message, e.id("msg", e.message)
	e.emit("response.output_text.done", object{
		"item_id": id, "output_index": index, "content_index": 0, "text": whole, "logprobs": []any{},
	})
	e.emit("response.content_part.done", object{
		"item_id": id, "output_index": index, "content_index": 0, "part": textPart(whole),
	})
	e.message = -1
	e.done(index, e.messageItem(index, status, textPart(whole)))
}

func summaryPart(text string) object { return object{"type": "summary_text", "text": text} }

func (e *responsesEncoder) reasoningItem(index int, summary ...any) object {
	return object{"id": e.id("rs", index), "type": "reasoning", "summary": append([]any{}, summary...)}
}

func (e *responsesEncoder) reason(piece string) {
	if piece == "" {
		return
	}
	if e.thoughts < 0 {
		e.thinking.Reset()
		e.thoughts = e.open(func(index int) object { return e.reasoningItem(index) })
		e.emit("response.reasoning_summary_part.added", object{
			"item_id": e.id("rs", e.thoughts), "output_index": e.thoughts, "summary_index": 0, "part": summaryPart(""),
		})
	}
	e.thinking.WriteString(piece)
	e.delta("response.reasoning_summary_text.delta", e.id("rs", e.thoughts), e.thoughts, nil, &zero, piece)
}

// endReasoning ends reasoning, with what its maker needs back of it where the client
// wants that. The item is nil where the reply ends in its middle.
func (e *responsesEncoder) endReasoning(it *models.Item) {
	if e.thoughts < 0 && it != nil && e.q.summary {
		e.reason(it.Text)
	}
	if e.thoughts < 0 && (it == nil || !e.q.sealed) {
		return
	}
	index, summary := e.thoughts, []any(nil)
	if index >= 0 {
		id, whole := e.id("rs", index), e.thinking.String()
		e.emit("response.reasoning_summary_text.done", object{
			"item_id": id, "output_index": index, "summary_index": 0, "text": whole,
		})
		e.emit("response.reasoning_summary_part.done", object{
			"item_id": id, "output_index": index, "summary_index": 0, "part": summaryPart(whole),
		})
		summary = []any{summaryPart(whole)}
	} else {
		index = e.open(func(index int) object { return e.reasoningItem(index) })
	}
	e.thoughts = -1
	item := e.reasoningItem(index, summary...)
	if it != nil && e.q.sealed {
		item["encrypted_content"] = seal(*it)
	}
	e.done(index, item)
}

func (e *responsesEncoder) item(it *models.Item) {
	switch it.Kind {
	case models.Reasoning:
		e.endReasoning(it)
	case models.Message:
		e.endMessage(it.Text, "completed")
	case models.Call:
		e.call(it)
	}
}

// callForm is how a call is told: with arguments in JSON, or with text.
type callForm struct{ item, field, prefix, event string }

var (
	functionCall = callForm{"function_call", "arguments", "fc", "response.function_call_arguments"}
	customCall   = callForm{"custom_tool_call", "input", "ctc", "response.custom_tool_call_input"}
)

func (e *responsesEncoder) call(it *models.Item) {
	form, arguments := functionCall, it.Arguments
	if e.q.custom[it.Name] {
		form, arguments = customCall, customText(it.Arguments)
	}
	known, isSpaced := e.q.spaces[it.Name]
	item := func(index int, status, arguments string) object {
		call := object{
			"id": e.id(form.prefix, index), "type": form.item, "status": status, "name": it.Name,
			"call_id": it.CallID, form.field: arguments,
		}
		if isSpaced {
			call["name"], call["namespace"] = known.name, known.namespace
		}
		return call
	}
	index := e.open(func(index int) object { return item(index, "in_progress", "") })
	id := e.id(form.prefix, index)
	e.delta(form.event+".delta", id, index, nil, nil, arguments)
	e.emit(form.event+".done", object{"item_id": id, "output_index": index, form.field: arguments})
	e.done(index, item(index, "completed", arguments))
}

// close ends what is still open.
func (e *responsesEncoder) close(status string) {
	e.endReasoning(nil)
	if e.message >= 0 {
		e.endMessage(e.words.String(), status)
	}
}

func (e *responsesEncoder) end(end ending) []byte {
	e.reset()
	e.begin()
	kind, status := "response.completed", "completed"
	if end.incomplete != "" {
		kind, status = "response.incomplete", "incomplete"
	}
	e.close(status)
	e.emit(kind, object{"response": e.response(status, &end)})
	return e.take()
}

// fail tells an error as the API does: in an event of its own, which some clients
// listen for, and as the end of the response, which others do.
func (e *responsesEncoder) fail(bad *refusal) []byte {
	e.reset()
	e.emit("error", object{
		"code": orNull(bad.code), "message": bad.message, "param": orNull(bad.param), "error": bad.object(),
	})
	failed := e.response("failed", nil)
	failed["error"] = object{"code": bad.code, "message": bad.message}
	e.emit("response.failed", object{"response": failed})
	return e.take()
}

func (e *responsesEncoder) document(end ending) any {
	status := "completed"
	if end.incomplete != "" {
		status = "incomplete"
	}
	e.reset()
	e.close(status)
	return e.response(status, &end)
}

// response is the reply as a whole; end is nil before its end.
func (e *responsesEncoder) response(status string, end *ending) object {
	output := []object{}
	for _, item := range e.output {
		if item != nil {
			output = append(output, item)
		}
	}
	doc := object{
		"id": "resp_" + e.reply.id, "object": "response", "created_at": e.reply.created.Unix(), "status": status,
		"background": false, "store": false, "error": nil, "incomplete_details": nil,
		"instructions": orNull(e.q.req.Instructions), "max_output_tokens": nil, "model": e.reply.target.String(),
		"output": output, "parallel_tool_calls": true, "previous_response_id": nil, "tool_choice": "auto",
		"tools": []any{}, "truncation": "disabled", "usage": nil, "metadata": object{},
		"temperature": nil, "top_p": nil, "text": object{"format": object{"type": "text"}},
	}
	if e.q.req.MaxOutput > 0 {
		doc["max_output_tokens"] = e.q.req.MaxOutput
	}
	for name, value := range e.q.echo {
		doc[name] = value
	}
	if end != nil {
		u := end.usage
		doc["usage"] = object{
			"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.Cached},
			"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning},
			"total_tokens": u.Input + u.Output,
		}
		if end.incomplete != "" {
			doc["incomplete_details"] = object{"reason": end.incomplete}
		}
	}
	return doc
}
