package openai

import (
	"cmp"
	"encoding/json"
	"fmt"

	"belay/models"
)

// messageBuilder turns items into messages: an assistant's words and calls become
// one message, and nothing may stand between calls and their outputs.
type messageBuilder struct {
	dialect   *dialect
	origin    models.Origin
	out       []*chatMessage
	reasoning []models.Item // before the call or the words that they led to
	openCalls int           // calls without an output so far
	deferred  []*chatMessage
}

func (a *attempt) messages(req models.Request) ([]*chatMessage, error) {
	builder := &messageBuilder{dialect: &a.dialect, origin: a.origin}
	if req.Instructions != "" {
		builder.append(&chatMessage{Role: "system", Content: req.Instructions})
	}
	items := a.dialect.adapt(req.Items, a.origin)
	for i := range items {
		if err := builder.add(&items[i]); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	builder.flush()
	builder.finish()
	return builder.out, nil
}

func (d *messageBuilder) add(it *models.Item) error {
	switch it.Kind {
	case models.Reasoning:
		if it.Origin == d.origin && !d.dialect.noReasoning {
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
		message.Role = string(d.dialect.notes)
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
	d.append(message)
}

// last is the newest message, if it is one of that role.
func (d *messageBuilder) last(role string) *chatMessage {
	if n := len(d.out); n > 0 && d.out[n-1].Role == role {
		return d.out[n-1]
	}
	return nil
}

// append adds a message so that the roles take turns where the target wants it.
func (d *messageBuilder) append(message *chatMessage) {
	if d.dialect.separateUsers {
		d.out = append(d.out, message)
		return
	}
	begun := len(d.out) > 0 && d.last("system") == nil
	switch before := d.last(message.Role); {
	case before != nil && message.Role != "system" && len(before.Calls) == 0:
		before.Content = joinContent(before.Content, message.Content)
		return
	case message.Role == "user" && d.dialect.answersTools && d.last("tool") != nil:
		d.out = append(d.out, &chatMessage{Role: "assistant", Content: "Done."})
	case message.Role == "assistant" && !begun:
		d.out = append(d.out, &chatMessage{Role: "user", Content: "(What came before is left out.)"})
	}
	d.out = append(d.out, message)
}

func (d *messageBuilder) call(it *models.Item) {
	current := d.last("assistant")
	if current == nil {
		current = &chatMessage{Role: "assistant"}
		d.append(current)
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
	call := chatCall{ID: it.CallID, Function: chatFunc{it.Name, args}}
	if it.Origin == d.origin {
		_ = json.Unmarshal(it.Raw, &call.Added) // nothing was kept of most calls
	} else if len(current.Calls) == 0 {
		call.Added = d.dialect.foreignCall
	}
	current.Calls = append(current.Calls, call)
	if current.Content == "" {
		current.Content = nil
	}
	for _, t := range d.reasoning {
		current.restoreReasoning(t.Raw)
	}
	d.reasoning = nil
	d.openCalls++
}

// restoreReasoning puts the fields of a reasoning item back where they came from.
func (m *chatMessage) restoreReasoning(raw json.RawMessage) {
	var t struct {
		ReasoningContent *string           `json:"reasoning_content"`
		Reasoning        *string           `json:"reasoning"`
		Details          []json.RawMessage `json:"reasoning_details"`
		Content          []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &t) != nil {
		return
	}
	m.ReasoningContent = joinText(m.ReasoningContent, t.ReasoningContent)
	m.Reasoning = joinText(m.Reasoning, t.Reasoning)
	m.Details = append(m.Details, t.Details...)
	m.thoughts = append(m.thoughts, t.Content...)
}

func joinText(before, after *string) *string {
	if before == nil || after == nil {
		return cmp.Or(before, after)
	}
	return new(*before + *after)
}

func (d *messageBuilder) output(it *models.Item) {
	d.out = append(d.out, &chatMessage{Role: "tool", CallID: it.CallID, Content: it.Text})
	if len(it.Images) > 0 {
		// A tool's message holds only text here; the pictures follow.
		d.deferred = append(d.deferred,
			&chatMessage{Role: "user", Content: chatParts("The picture that the tool returned:", it.Images)})
	}
	if d.openCalls--; d.openCalls <= 0 {
		d.flush()
	}
}

// flush adds what had to wait for the outputs of calls.
func (d *messageBuilder) flush() {
	d.openCalls = 0
	for _, message := range d.deferred {
		d.append(message)
	}
	d.deferred = nil
}

// finish completes the messages of the assistant.
func (d *messageBuilder) finish() {
	for _, m := range d.out {
		if len(m.thoughts) > 0 {
			m.Content = withThoughts(m.thoughts, m.Content)
		}
		if d.dialect.needsReasoning && len(m.Calls) > 0 &&
			m.ReasoningContent == nil && m.Reasoning == nil && len(m.Details) == 0 {
			m.ReasoningContent = new(missingReasoning)
		}
	}
	if last := d.last("assistant"); last != nil && d.dialect.answersTools {
		last.Prefix = true // this endpoint wants to be told that the reply goes on
	}
}

// joinContent puts two contents of one role together: text to text, or parts.
func joinContent(before, after any) any {
	first, ok := before.(string)
	second, both := after.(string)
	if ok && both {
		return paragraphs(first, second)
	}
	return append(contentParts(before), contentParts(after)...)
}

func contentParts(content any) []chatPart {
	switch content := content.(type) {
	case []chatPart:
		return content
	case string:
		return chatParts(content, nil)
	}
	return nil
}

// withThoughts is a content that begins with thoughts as they came.
func withThoughts(thoughts []json.RawMessage, content any) []any {
	var all []any
	for _, t := range thoughts {
		all = append(all, t)
	}
	for _, part := range contentParts(content) {
		all = append(all, part)
	}
	return all
}
