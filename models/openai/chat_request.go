package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"belay/models"
)

type chatPart struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	ImageURL *chatLink `json:"image_url,omitempty"`
}

type chatLink struct {
	URL string `json:"url"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content"` // a string, parts, or null beside calls
	Calls   []chatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`

	// What the same target thought before its calls. Some of them refuse the
	// calls without it.
	ReasoningContent *string         `json:"reasoning_content,omitempty"`
	Reasoning        *string         `json:"reasoning,omitempty"`
	Details          json.RawMessage `json:"reasoning_details,omitempty"`
}

type chatCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function chatFunc `json:"function"`
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
	} `json:"function"`
}

func (a *attempt) chatBody(req models.Request) ([]byte, error) {
	var o object
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
			f.Name, f.Description, f.Parameters = t.Name, t.Description, schema(t)
		}
		o.set("tools", tools)
	}
	// Endpoints other than OpenAI's know only the old name of the limit, and
	// some refuse fields that they do not know.
	theirs := a.isOpenAI()
	if req.MaxOutput > 0 {
		name := "max_tokens"
		if theirs {
			name = "max_completion_tokens"
		}
		o.set(name, req.MaxOutput)
	}
	if req.Effort != "" {
		o.set("reasoning_effort", req.Effort)
	}
	if req.CacheKey != "" && theirs {
		o.set("prompt_cache_key", req.CacheKey)
	}
	if a.provider.ServiceTier != "" {
		o.set("service_tier", a.provider.ServiceTier)
	}
	if !req.NoStream {
		o.set("stream", true)
		o.set("stream_options", map[string]bool{"include_usage": true})
	}
	return o.bytes()
}

func (a *attempt) isOpenAI() bool {
	u, err := url.Parse(a.provider.BaseURL)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") ||
		strings.HasSuffix(host, ".openai.azure.com")
}

// messageBuilder turns items into messages: an assistant's words and calls become
// one message, and nothing may stand between calls and their outputs.
type messageBuilder struct {
	a         *attempt
	out       []*chatMessage
	current   *chatMessage // the assistant message still being built
	reasoning []models.Item
	openCalls int // calls without an output so far
	deferred  []*chatMessage
}

func (a *attempt) messages(req models.Request) ([]*chatMessage, error) {
	builder := &messageBuilder{a: a}
	if req.Instructions != "" {
		builder.out = append(builder.out, &chatMessage{Role: "system", Content: req.Instructions})
	}
	for i := range req.Items {
		if err := builder.add(&req.Items[i]); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	builder.out = append(builder.out, builder.deferred...)
	return builder.out, nil
}

func (d *messageBuilder) add(it *models.Item) error {
	switch it.Kind {
	case models.Reasoning:
		if it.Origin == d.a.origin {
			d.reasoning = append(d.reasoning, *it)
		}
	case models.Message:
		d.message(it)
	case models.Call:
		d.call(it)
	case models.Output:
		d.output(it)
	default:
		return fmt.Errorf("unknown kind %q", it.Kind)
	}
	return nil
}

func (d *messageBuilder) message(it *models.Item) {
	message := &chatMessage{Content: it.FullText()}
	switch it.Role {
	case models.Assistant:
		message.Role = "assistant"
	case models.Developer:
		message.Role = "system"
	default:
		message.Role = "user"
		d.reasoning = nil
	}
	if len(it.Images) > 0 && it.Role != models.Assistant {
		message.Content = chatParts(it.FullText(), it.Images)
	}
	if d.openCalls > 0 {
		d.deferred = append(d.deferred, message)
		return
	}
	d.out = append(d.out, message)
	d.current = nil
	if it.Role == models.Assistant {
		d.current = message
	}
}

func (d *messageBuilder) call(it *models.Item) {
	if d.current == nil {
		d.current = &chatMessage{Role: "assistant"}
		d.out = append(d.out, d.current)
	}
	args := it.Arguments
	if !json.Valid([]byte(args)) {
		// Several servers parse the arguments of the whole history and fail.
		b, err := json.Marshal(map[string]string{"invalid_arguments": args})
		if err != nil {
			b = []byte("{}")
		}
		args = string(b)
	}
	d.current.Calls = append(
		d.current.Calls,
		chatCall{ID: it.CallID, Type: "function", Function: chatFunc{it.Name, args}},
	)
	if d.current.Content == "" {
		d.current.Content = nil
	}
	for _, t := range d.reasoning {
		d.current.restoreReasoning(t.Raw)
	}
	d.reasoning = nil
	d.openCalls++
}

// restoreReasoning puts the fields of a reasoning item back where they came from.
func (m *chatMessage) restoreReasoning(raw json.RawMessage) {
	var t struct {
		Content   *string         `json:"reasoning_content"`
		Reasoning *string         `json:"reasoning"`
		Details   json.RawMessage `json:"reasoning_details"`
	}
	if json.Unmarshal(raw, &t) == nil {
		m.ReasoningContent, m.Reasoning, m.Details = t.Content, t.Reasoning, t.Details
	}
}

func (d *messageBuilder) output(it *models.Item) {
	d.out = append(d.out, &chatMessage{Role: "tool", CallID: it.CallID, Content: it.Text})
	d.current = nil
	if len(it.Images) > 0 {
		// A tool's message holds only text here; the pictures follow.
		d.deferred = append(
			d.deferred,
			&chatMessage{Role: "user", Content: chatParts("The picture that the tool returned:", it.Images)},
		)
	}
	if d.openCalls--; d.openCalls <= 0 {
		d.openCalls = 0
		d.out = append(d.out, d.deferred...)
		d.deferred = nil
	}
}

func chatParts(text string, images []models.Image) []chatPart {
	var parts []chatPart
	if text != "" {
		parts = append(parts, chatPart{Type: "text", Text: &text})
	}
	for _, img := range images {
		parts = append(parts, chatPart{Type: "image_url", ImageURL: &chatLink{dataURL(img)}})
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
