package gateway

import (
	"strings"

	"belay/models"
)

// chatEncoder writes a reply as Chat Completions tells it.
type chatEncoder struct {
	frames
	q       *question
	reply   reply
	begun   bool
	said    int             // bytes of the words of the message that is being written
	spoken  bool            // some message has ended
	content strings.Builder // all words
	calls   []object
}

type chatChunk struct {
	ID      string      `json:"id"`
	Object  string      `json:"object"`
	Created int64       `json:"created"`
	Model   string      `json:"model"`
	Choices []chatDelta `json:"choices"`
	Usage   any         `json:"usage,omitempty"`
}

type chatDelta struct {
	Index  int     `json:"index"`
	Delta  any     `json:"delta"`
	Finish *string `json:"finish_reason"`
}

type chatText struct {
	Content string `json:"content"`
}

func (e *chatEncoder) emit(delta any, finish *string) {
	e.add("", chatChunk{
		ID: e.chatID(), Object: "chat.completion.chunk", Created: e.reply.created.Unix(),
		Model: e.reply.target.String(), Choices: []chatDelta{{Delta: delta, Finish: finish}},
	})
}

func (e *chatEncoder) chatID() string { return "chatcmpl-" + e.reply.id }

func (e *chatEncoder) chunk(c models.Chunk) []byte {
	e.reset()
	e.begin()
	switch c := c.(type) {
	case models.TextDelta:
		e.text(c.Text)
	case models.ItemDone:
		e.item(&c.Item)
	}
	return e.take()
}

func (e *chatEncoder) begin() {
	if !e.begun {
		e.begun = true
		e.emit(object{"role": "assistant", "content": "", "refusal": nil}, nil)
	}
}

func (e *chatEncoder) text(piece string) {
	if piece == "" {
		return
	}
	if e.said == 0 && e.spoken {
		piece = "\n\n" + piece // this API has one message only
		e.said -= len("\n\n")
	}
	e.said += len(piece)
	e.content.WriteString(piece)
	e.emit(chatText{piece}, nil)
}

func (e *chatEncoder) item(it *models.Item) {
	switch it.Kind {
	case models.Message:
		if e.said < len(it.Text) {
			e.text(it.Text[e.said:])
		}
		e.spoken, e.said = e.spoken || it.Text != "", 0
	case models.Call:
		call := object{"id": it.CallID, "type": "function", "function": object{"name": it.Name, "arguments": it.Arguments}}
		if e.q.custom[it.Name] {
			call = object{
				"id": it.CallID, "type": "custom", "custom": object{"name": it.Name, "input": customText(it.Arguments)},
			}
		}
		piece := object{"index": len(e.calls)}
		for name, value := range call {
			piece[name] = value
		}
		e.calls = append(e.calls, call)
		e.emit(object{"tool_calls": []any{piece}}, nil)
	}
}

func (e *chatEncoder) finishReason(end ending) string {
	switch {
	case end.incomplete == "content_filter":
		return end.incomplete
	case end.incomplete != "":
		return "length"
	case len(e.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (end ending) chatUsage() object {
	u := end.usage
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

func (e *chatEncoder) end(end ending) []byte {
	e.reset()
	e.begin()
	e.emit(object{}, new(e.finishReason(end)))
	if e.q.usage {
		e.add("", chatChunk{
			ID: e.chatID(), Object: "chat.completion.chunk", Created: e.reply.created.Unix(),
			Model: e.reply.target.String(), Choices: []chatDelta{}, Usage: end.chatUsage(),
		})
	}
	e.buffer.WriteString("data: [DONE]\n\n")
	return e.take()
}

func (e *chatEncoder) fail(bad *refusal) []byte {
	e.reset()
	e.add("", object{"error": bad.object()})
	return e.take()
}

func (e *chatEncoder) document(end ending) any {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	if e.content.Len() > 0 {
		message["content"] = e.content.String()
	}
	if len(e.calls) > 0 {
		message["tool_calls"] = e.calls
	}
	return object{
		"id": e.chatID(), "object": "chat.completion", "created": e.reply.created.Unix(),
		"model": e.reply.target.String(),
		"choices": []any{object{
			"index": 0, "message": message, "logprobs": nil, "finish_reason": e.finishReason(end),
		}},
		"usage": end.chatUsage(),
	}
}
