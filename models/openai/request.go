package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"belay/models"
)

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

// list writes a JSON array element by element.
type list struct {
	buf   *bytes.Buffer
	begun bool
}

func (l *list) next() *bytes.Buffer {
	if l.begun {
		l.buf.WriteByte(',')
	} else {
		l.begun = true
	}
	return l.buf
}

// body writes the request for the provider's API.
func (a *attempt) body(req models.Request) ([]byte, error) {
	if a.origin.API == models.Chat {
		return a.chatBody(req)
	}
	return a.responsesBody(req)
}

type wirePart struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	ImageURL any     `json:"image_url,omitempty"` // a string, or in Chat Completions a wireURL
	Detail   string  `json:"detail,omitempty"`
}

type wireURL struct {
	URL string `json:"url"`
}

type wireItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role,omitempty"`
	Content   any     `json:"content,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Output    any     `json:"output,omitempty"`
}

type wireTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

func (a *attempt) responsesBody(req models.Request) ([]byte, error) {
	var o object
	o.set("model", a.target.Model)
	if req.Instructions != "" {
		o.set("instructions", req.Instructions)
	}
	if len(req.Tools) > 0 {
		tools := make([]wireTool, len(req.Tools))
		for i, t := range req.Tools {
			tools[i] = wireTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: schema(t)}
		}
		o.set("tools", tools)
	}
	items := o.key("input")
	items.WriteByte('[')
	l := list{buf: items}
	for i := range req.Items {
		if err := a.input(&l, req.Items, i); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	items.WriteByte(']')
	a.background = a.provider.Resume && !req.NoStream
	o.set("store", a.background)
	if a.background {
		o.set("background", true)
	}
	o.set("include", []string{"reasoning.encrypted_content"})
	if req.CacheKey != "" {
		o.set("prompt_cache_key", req.CacheKey)
	}
	if req.MaxOutput > 0 {
		o.set("max_output_tokens", req.MaxOutput)
	}
	if req.Effort != "" {
		o.set("reasoning", map[string]string{"effort": req.Effort, "summary": "auto"})
	}
	if a.provider.ServiceTier != "" {
		o.set("service_tier", a.provider.ServiceTier)
	}
	if !req.NoStream {
		o.set("stream", true)
	}
	return o.bytes()
}

func schema(t models.ToolSpec) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// input writes one item. What this very target has made goes back as it came;
// reasoning of others is left out, for nobody else can read it.
func (a *attempt) input(l *list, items []models.Item, i int) error {
	it := &items[i]
	own := it.Origin == a.origin && len(it.Raw) > 0
	if it.Kind == models.Reasoning {
		if own && a.led(items, i) {
			return a.thought(l, it)
		}
		return nil
	}
	if own && (it.Kind == models.Call || it.Kind == models.Message) && json.Valid(it.Raw) {
		l.next().Write(it.Raw)
		return nil
	}
	w := wireItem{CallID: it.CallID}
	switch it.Kind {
	case models.Message:
		w.Type, w.Role, w.Content = "message", string(it.Role), parts(it)
		if it.Role == models.Assistant {
			w.Content = []wirePart{{Type: "output_text", Text: &it.Text}}
		}
	case models.Call:
		w.Type, w.Name, w.Arguments = "function_call", it.Name, &it.Arguments
	case models.Output:
		w.Type, w.Output = "function_call_output", it.Text
		if len(it.Images) > 0 {
			w.Output = parts(it)
		}
	default:
		return fmt.Errorf("unknown kind %q", it.Kind)
	}
	return encode(l.next(), w)
}

// led says whether a reasoning item is followed by something that the same
// target made: without it the endpoint refuses the item.
func (a *attempt) led(items []models.Item, i int) bool {
	for _, next := range items[i+1:] {
		switch {
		case next.Origin != a.origin:
			return false
		case next.Kind == models.Reasoning:
			continue
		}
		return next.Kind == models.Call || next.Kind == models.Message && next.Role == models.Assistant
	}
	return false
}

// thought sends reasoning back if it is sealed; an open summary alone would be
// looked up in a store that we do not let the endpoint keep.
func (a *attempt) thought(l *list, it *models.Item) error {
	var sealed struct {
		Content words `json:"encrypted_content"`
	}
	if json.Unmarshal(it.Raw, &sealed) != nil || sealed.Content == "" {
		return nil
	}
	l.next().Write(it.Raw)
	return nil
}

// parts writes text and images in the way of the Responses API.
func parts(it *models.Item) []wirePart {
	var out []wirePart
	if text := it.FullText(); text != "" || len(it.Images) == 0 {
		out = append(out, wirePart{Type: "input_text", Text: &text})
	}
	for _, img := range it.Images {
		out = append(out, wirePart{Type: "input_image", ImageURL: dataURL(img), Detail: "auto"})
	}
	return out
}

func dataURL(img models.Image) string {
	return "data:" + img.MIME + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
}
