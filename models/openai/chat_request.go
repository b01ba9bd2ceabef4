package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"belay/models"
)

type chatPart struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	ImageURL *chatLink `json:"image_url,omitempty"`
}

type chatLink struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content"` // a string, parts, or null beside calls
	Calls   []chatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
	Prefix  bool       `json:"prefix,omitempty"` // the reply goes on from here

	// What the same target thought before its calls. Some of them refuse the
	// calls without it.
	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	Reasoning        *string           `json:"reasoning,omitempty"`
	Details          []json.RawMessage `json:"reasoning_details,omitempty"`
	thoughts         []json.RawMessage // parts of the content
}

// chatCall is a call in the history. What its maker added to it goes back to it.
type chatCall struct {
	ID       string
	Function chatFunc
	Added    map[string]json.RawMessage
}

func (c chatCall) MarshalJSON() ([]byte, error) {
	var o object
	o.set("id", c.ID)
	o.set("type", "function")
	o.set("function", c.Function)
	for _, name := range slices.Sorted(maps.Keys(c.Added)) {
		o.set(name, c.Added[name])
	}
	return o.bytes()
}

type chatFunc struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict,omitempty"`
	} `json:"function"`
}

func (a *attempt) chatBody(req models.Request) ([]byte, error) {
	var o object
	set := func(name string, value any) {
		if !a.dialect.omits(name) {
			o.set(name, value)
		}
	}
	o.set("model", a.target.Model)
	messages, err := a.messages(req)
	if err != nil {
		return nil, err
	}
	o.set("messages", messages)
	if len(req.Tools) > 0 {
		tools := make([]chatTool, len(req.Tools))
		for i, t := range req.Tools {
			tools[i].Type = "function"
			f := &tools[i].Function
			f.Name, f.Description, f.Parameters = t.Name, t.Description, a.dialect.schema(t)
			f.Strict = t.Strict && !a.dialect.omits("strict")
		}
		set("tools", tools)
	}
	if req.MaxOutput > 0 {
		// Endpoints other than OpenAI's know only the old name of the limit.
		name := "max_tokens"
		if a.dialect.newLimit {
			name = "max_completion_tokens"
		}
		set(name, req.MaxOutput)
	}
	if len(req.AnswerSchema) > 0 {
		set("response_format", chatResponseFormat(req.AnswerSchema))
	}
	if req.Effort != "" {
		set("reasoning_effort", req.Effort)
	}
	if req.CacheKey != "" && a.dialect.cacheKey {
		set("prompt_cache_key", req.CacheKey)
	}
	if a.provider.ServiceTier != "" {
		set("service_tier", a.provider.ServiceTier)
	}
	extra, err := a.parameters(req)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		o.set(name, extra[name])
	}
	if !req.NoStream {
		o.set("stream", true)
		set("stream_options", map[string]bool{"include_usage": true})
	}
	return o.bytes()
}

func chatParts(text string, images []models.Image) []chatPart {
	var parts []chatPart
	if text != "" {
		parts = append(parts, chatPart{Type: "text", Text: &text})
	}
	for _, img := range images {
		parts = append(parts, chatPart{Type: "image_url", ImageURL: &chatLink{dataURL(img), img.Detail}})
	}
	return parts
}

// object is a JSON object whose keys keep their order in the source, which
// keeps requests equal byte for byte and so within reach of prompt caches.
type object struct {
	buf   bytes.Buffer
	begun bool
	err   error
}

func (o *object) key(name string) *bytes.Buffer {
	if o.begun {
		o.buf.WriteByte(',')
	} else {
		o.buf.WriteByte('{')
		o.begun = true
	}
	o.buf.WriteByte('"')
	o.buf.WriteString(name)
	o.buf.WriteString(`":`)
	return &o.buf
}

func (o *object) set(name string, v any) {
	if err := encode(o.key(name), v); err != nil && o.err == nil {
		o.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (o *object) bytes() ([]byte, error) {
	if !o.begun {
		o.buf.WriteByte('{')
	}
	o.buf.WriteByte('}')
	return o.buf.Bytes(), o.err
}

// encode writes v without escaping HTML and without a newline.
func encode(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1)
	return nil
}
