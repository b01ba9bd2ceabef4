package rehearsal

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
)

// request is what the script and the checks need to know of a request.
type request struct {
	api        string
	model      string
	stream     bool
	usage      bool // stream_options.include_usage
	encrypted  bool // include has reasoning.encrypted_content
	background bool
	store      bool
	custom     map[string]bool   // tools that are called with text
	input      []json.RawMessage // of the Responses API, with what it goes on from
	like       likeness
	size       int // of the body, in bytes
	hash       uint32

	lastUser   string
	lastOutput string // empty if the history does not end with tool outputs
}

// invalidRequest is the error type of nearly every refusal.
const invalidRequest = "invalid_request_error"

// refusal is an error response.
type refusal struct {
	status  int
	message string
	kind    string
	param   string
	code    string

	document []byte // instead of an error object like OpenAI's
}

// invalidURL refuses a path or a method that the endpoint does not support.
func invalidURL(r *http.Request) *refusal {
	return &refusal{
		status:  http.StatusNotFound,
		message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path),
		kind:    invalidRequest,
	}
}

func (r refusal) body() []byte {
	if r.document != nil {
		return r.document
	}
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	b, _ := json.Marshal(map[string]any{"error": map[string]any{ // maps of strings cannot fail
		"message": r.message, "type": r.kind, "param": null(r.param), "code": null(r.code),
	}})
	return append(b, '\n')
}

// invalid refuses a parameter of a request.
func invalid(param, format string, args ...any) *refusal {
	return &refusal{
		status:  http.StatusBadRequest,
		message: fmt.Sprintf(format, args...),
		kind:    invalidRequest,
		param:   param,
	}
}

// wireRequest has the fields of both APIs.
type wireRequest struct {
	Model         string            `json:"model"`
	Stream        bool              `json:"stream"`
	Background    bool              `json:"background"`
	Include       []string          `json:"include"`
	Input         json.RawMessage   `json:"input"`
	Messages      []json.RawMessage `json:"messages"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	PreviousResponse string     `json:"previous_response_id"`
	Store            *bool      `json:"store"`
	Tools            []wireTool `json:"tools"`
}

type wireTool struct {
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Function *wireName `json:"function"` // in Chat Completions
	Custom   *wireName `json:"custom"`   // in Chat Completions
}

type wireName struct {
	Name string `json:"name"`
}

// parseRequest reads and validates a request's body. A refusal is worded as the real
// endpoint words it; the request is filled in as far as possible even then.
func (s *Server) parseRequest(api string, body []byte) (*request, *refusal) {
	h := fnv.New32a()
	_, _ = h.Write(body)
	req := &request{api: api, size: len(body), hash: h.Sum32(), custom: map[string]bool{}}
	var fields wireRequest
	if err := json.Unmarshal(body, &fields); err != nil {
		return req, invalid("", "We could not parse the JSON body of your request. (%v)", err)
	}
	req.model, req.stream, req.usage = fields.Model, fields.Stream, fields.StreamOptions.IncludeUsage
	req.encrypted = slices.Contains(fields.Include, "reasoning.encrypted_content")
	req.background = fields.Background && fields.Stream && api == "responses"
	if req.model == "" {
		return req, &refusal{
			status:  http.StatusBadRequest,
			message: "you must provide a model parameter",
			kind:    invalidRequest,
		}
	}
	for i, t := range fields.Tools {
		if r := t.check(api, i); r != nil {
			return req, r
		}
		if t.Type == "custom" {
			req.custom[t.Name] = true
		}
	}
	if api == "chat" {
		return req, req.readChat(fields.Messages)
	}
	var r *refusal
	req.store = fields.Store == nil || *fields.Store
	if req.input, r = s.complete(fields.PreviousResponse, fields.Input); r != nil {
		return req, r
	}
	return req, req.readResponses(req.input)
}

// check refuses a tool without a name. Those that run at the provider have none.
func (t *wireTool) check(api string, i int) *refusal {
	name, param := t.Name, fmt.Sprintf("tools[%d].name", i)
	switch {
	case api == "chat" && t.Type == "custom" && t.Custom != nil:
		name, param = t.Custom.Name, fmt.Sprintf("tools[%d].custom.name", i)
	case api == "chat" && t.Function == nil:
		return invalid(fmt.Sprintf("tools[%d].function", i), "Missing required parameter: 'tools[%d].function'.", i)
	case api == "chat":
		name, param = t.Function.Name, fmt.Sprintf("tools[%d].function.name", i)
	case t.Type != "" && t.Type != "function" && t.Type != "custom":
		return nil
	}
	if validName(name) {
		return nil
	}
	return invalid(
		param,
		"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
		param,
	)
}

func validName(s string) bool {
	return s != "" && len(s) <= 64 &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// contentText is the text of a content field, which is a string or a list of parts.
func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

type inputItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Input     *string         `json:"input"`
	Output    json.RawMessage `json:"output"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

func (q *request) readResponses(input []json.RawMessage) *refusal {
	items := make([]inputItem, len(input))
	for i := range input {
		if err := json.Unmarshal(input[i], &items[i]); err != nil {
			return invalid(fmt.Sprintf("input[%d]", i), "Invalid type for 'input[%d]': expected an input item.", i)
		}
	}
	calls, answered := map[string]bool{}, map[string]bool{}
	for i, it := range items {
		if r := q.readItem(i, it, items, calls, answered); r != nil {
			return r
		}
	}
	for _, it := range items {
		if (it.Type == "function_call" || it.Type == "custom_tool_call") && !answered[it.CallID] {
			return invalid("input", "No tool output found for function call %s.", it.CallID)
		}
	}
	return nil
}

func (q *request) readMessage(i int, it inputItem) *refusal {
	switch it.Role {
	case "user":
		q.lastUser = contentText(it.Content)
		q.lastOutput = ""
	case "assistant":
		q.lastOutput = ""
	case "system", "developer":
	default:
		return invalid(fmt.Sprintf("input[%d].role", i),
			"Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)
	}
	return nil
}

func (q *request) readItem(i int, it inputItem, items []inputItem, calls, answered map[string]bool) *refusal {
	switch it.Type {
	case "", "message":
		return q.readMessage(i, it)
	case "reasoning":
		if len(it.Summary) == 0 {
			return invalid(fmt.Sprintf("input[%d].summary", i), "Missing required parameter: 'input[%d].summary'.", i)
		}
		if i+1 >= len(items) || strings.HasSuffix(items[i+1].Type, "_call_output") ||
			(isMessage(items[i+1]) && items[i+1].Role != "assistant") {
			return invalid("input", "Item '%s' of type 'reasoning' was provided without its required following item.",
				it.ID)
		}
		if it.Encrypted != "" && it.Encrypted != encryptedContent(q.model, it.ID) {
			return &refusal{
				status: http.StatusBadRequest,
				message: "The encrypted content for item " + it.ID + " could not be verified. " +
					"Reason: Encrypted content could not be decrypted or parsed.",
				kind: invalidRequest,
				code: "invalid_encrypted_content",
			}
		}
	case "function_call", "custom_tool_call":
		if it.Arguments == nil && it.Input == nil || !validName(it.Name) {
			return invalid(fmt.Sprintf("input[%d]", i),
				"Invalid 'input[%d]': a function_call needs a name and arguments.", i)
		}
		if calls[it.CallID] {
			return invalid("input", "Duplicate function call found with call_id %s.", it.CallID)
		}
		calls[it.CallID] = true
	case "function_call_output", "custom_tool_call_output":
		if !calls[it.CallID] {
			return invalid("input", "No tool call found for function call output with call_id %s.", it.CallID)
		}
		if answered[it.CallID] {
			return invalid("input", "Duplicate output found for function call %s.", it.CallID)
		}
		answered[it.CallID] = true
		q.lastOutput = contentText(it.Output)
	default:
		return invalid(fmt.Sprintf("input[%d].type", i), "Invalid value: '%s'.", it.Type)
	}
	return nil
}

func isMessage(it inputItem) bool { return it.Type == "" || it.Type == "message" }

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (q *request) readChat(messages []json.RawMessage) *refusal {
	if len(messages) == 0 {
		return invalid("messages",
			"Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	seen := map[string]bool{}
	var waiting []string // ids of the last assistant message's calls that have no output yet
	for i, raw := range messages {
		var message chatMessage
		if err := json.Unmarshal(raw, &message); err != nil {
			return invalid(fmt.Sprintf("messages[%d]", i), "Invalid type for 'messages[%d]': expected an object.", i)
		}
		if message.Role != "tool" && len(waiting) > 0 {
			return missingToolOutputs(i, waiting)
		}
		switch message.Role {
		case "user":
			q.lastUser, q.lastOutput = contentText(message.Content), ""
		case "assistant":
			for _, c := range message.ToolCalls {
				if c.Function.Arguments == nil || !validName(c.Function.Name) {
					return invalid(fmt.Sprintf("messages[%d].tool_calls", i),
						"Invalid 'messages[%d].tool_calls': a function needs a name and arguments.", i)
				}
				if seen[c.ID] {
					return invalid(fmt.Sprintf("messages[%d].tool_calls", i),
						"Duplicate value for 'tool_call_id' of '%s' in 'messages[%d].tool_calls'.", c.ID, i)
				}
				seen[c.ID] = true
				waiting = append(waiting, c.ID)
			}
			q.lastOutput = ""
		case "tool":
			at := slices.Index(waiting, message.ToolCallID)
			if at < 0 {
				return invalid(
					fmt.Sprintf("messages.[%d].role", i),
					"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
				)
			}
			waiting = slices.Delete(waiting, at, at+1)
			q.lastOutput = contentText(message.Content)
		case "function": // the form before tools: its output has only a name
			q.lastOutput = contentText(message.Content)
		case "system", "developer":
		default:
			return invalid(
				fmt.Sprintf("messages[%d].role", i),
				"Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
				message.Role,
			)
		}
	}
	if len(waiting) > 0 {
		return missingToolOutputs(len(messages), waiting)
	}
	return nil
}

// missingToolOutputs refuses a history in which tool calls have no output.
func missingToolOutputs(i int, ids []string) *refusal {
	return invalid(
		fmt.Sprintf("messages.[%d].role", i),
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
		strings.Join(ids, ", "),
	)
}
