package gateway

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"belay/models"
)

// question is what a client asks, by whichever API.
type question struct {
	api     models.API
	model   string // as the client named it
	stream  bool
	usage   bool // Chat Completions: the stream ends with what was used
	sealed  bool // Responses: reasoning comes with what its maker needs back
	summary bool // Responses: the words of the reasoning are wanted
	req     models.Request
	custom  map[string]bool            // tools that are called with text
	spaces  map[string]spaced          // tools that stand in a namespace, by the name that models know
	echo    map[string]json.RawMessage // what a response repeats of its request
	later   []func() *refusal          // what can be read when everything else is
	format  *textFormat                // of the reply; nil: text
	verbose json.RawMessage            // how many words the reply should have; nil: unsaid
}

// spaced is the name of a tool within its namespace.
type spaced struct{ namespace, name string }

// flat is the name that models know it by: most APIs have no namespaces.
func (s spaced) flat() string {
	if s.namespace == "" {
		return s.name
	}
	return s.namespace + "__" + s.name
}

// customInput is the one parameter of a tool that is called with text, as models see
// it that know no such tools.
const customInput = "input"

// field reads one field of a request.
type field func(q *question, name string, value json.RawMessage) *refusal

// parse reads a request of an API. What it refuses is named as that API names it.
func parse(api models.API, body []byte) (*question, *refusal) {
	q := &question{api: api, custom: map[string]bool{}, spaces: map[string]spaced{}, echo: map[string]json.RawMessage{}}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil || object == nil {
		return nil, invalid("", "We could not parse the JSON body of your request. The API expects a JSON object.")
	}
	fields := responsesFields
	if api == models.Chat {
		fields = chatFields
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		if isNull(value) {
			continue
		}
		read, known := fields[name]
		if !known {
			bad := unsupported(bounded(name), "does not know it")
			bad.code = "unknown_parameter"
			return nil, bad
		}
		if bad := read(q, name, value); bad != nil {
			return nil, bad
		}
	}
	if q.model == "" {
		return nil, &refusal{
			status: 400, kind: invalidRequest, param: "model", code: "missing_required_parameter",
			message: "you must provide a model parameter",
		}
	}
	for _, rest := range append(q.later, q.check) {
		if bad := rest(); bad != nil {
			return nil, bad
		}
	}
	q.passForm()
	return q, nil
}

// check looks at the conversation as a whole: every call has exactly one output.
func (q *question) check() *refusal {
	param := "input"
	if q.api == models.Chat {
		param = "messages"
	}
	if len(q.req.Items) == 0 && (q.api == models.Chat || q.req.Instructions == "") {
		return invalid(param, "Missing required parameter: '%s' has no words for the model.", param)
	}
	q.nameMakers()
	answered := map[string]bool{}
	for i := range q.req.Items {
		switch it := &q.req.Items[i]; it.Kind {
		case models.Call:
			if _, twice := answered[it.CallID]; twice || it.CallID == "" {
				return invalid(param, "Duplicate function call found with call_id '%s'.", bounded(it.CallID))
			}
			answered[it.CallID] = false
		case models.Output:
			done, called := answered[it.CallID]
			if !called || done {
				return invalid(param, "No tool call found for function call output with call_id '%s'.", bounded(it.CallID))
			}
			answered[it.CallID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(answered)) {
		if !answered[id] {
			return invalid(param, "No tool output found for function call '%s'.", bounded(id))
		}
	}
	return nil
}

// nameMakers says of the words and calls that follow reasoning that they are its
// maker's: the Responses API takes reasoning back only in front of them.
func (q *question) nameMakers() {
	var maker models.Origin
	for i := range q.req.Items {
		switch it := &q.req.Items[i]; {
		case it.Kind == models.Reasoning && it.Origin.API == models.Responses:
			maker = it.Origin
		case it.Kind == models.Call, it.Kind == models.Message && it.Role == models.Assistant:
			it.Origin = maker
		default:
			maker = models.Origin{}
		}
	}
}

// images reports whether the conversation holds pictures.
func (q *question) images() bool {
	return slices.ContainsFunc(q.req.Items, func(it models.Item) bool { return len(it.Images) > 0 })
}

func isNull(value json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(value), []byte("null")) }

// read takes a JSON value as a type, or refuses it.
func read[T any](name string, value json.RawMessage) (T, *refusal) {
	var v T
	if err := json.Unmarshal(value, &v); err != nil {
		return v, invalid(name, "Invalid type for '%s'.", bounded(name))
	}
	return v, nil
}

// into reads a field into a place of the question.
func into[T any](place func(*question) *T) field {
	return func(q *question, name string, value json.RawMessage) *refusal {
		v, bad := read[T](name, value)
		*place(q) = v
		return bad
	}
}

// ignored is a field that means nothing to the reply.
func ignored(*question, string, json.RawMessage) *refusal { return nil }

// told is one that a response repeats.
func told(q *question, name string, value json.RawMessage) *refusal {
	q.echo[name] = value
	return nil
}

// onlyAs takes the values that ask for what the gateway does anyway.
func onlyAs(why string, usual ...string) field {
	return func(_ *question, name string, value json.RawMessage) *refusal {
		var compact bytes.Buffer
		if json.Compact(&compact, value) == nil && slices.Contains(usual, compact.String()) {
			return nil
		}
		return unsupported(name, why)
	}
}

// passed hands a field on as it is, to targets of the APIs that have it.
func passed(apis ...models.API) field {
	return func(q *question, name string, value json.RawMessage) *refusal {
		wire := map[models.API]models.Field{}
		for _, api := range apis {
			wire[api] = models.Field{Name: name, Value: value}
		}
		q.pass(name, wire)
		return told(q, name, value)
	}
}

// both are the APIs.
var both = []models.API{models.Responses, models.Chat}

func (q *question) pass(name string, wire map[models.API]models.Field) {
	q.req.Parameters = append(q.req.Parameters, models.Parameter{Name: name, Wire: wire})
}

// limit reads how many tokens a reply may take.
func limit(q *question, name string, value json.RawMessage) *refusal {
	n, bad := read[int64](name, value)
	if bad == nil && n <= 0 {
		bad = invalid(name, "Invalid '%s': expected a value of at least 1.", name)
	}
	q.req.MaxOutput = n
	return bad
}

// parallel reads whether the model may make several calls at once, as it may anyway.
func parallel(q *question, name string, value json.RawMessage) *refusal {
	several, bad := read[bool](name, value)
	if bad != nil || several {
		return bad
	}
	return passed(both...)(q, name, value)
}

// serviceTier is passed on where it asks for another than the usual one.
func serviceTier(q *question, name string, value json.RawMessage) *refusal {
	tier, bad := read[string](name, value)
	if bad != nil || tier == "auto" || tier == "default" {
		return bad
	}
	return passed(both...)(q, name, value)
}

// addTool takes one tool. Its schema must be an object.
func (q *question) addTool(param string, spec models.ToolSpec, schema json.RawMessage) *refusal {
	if spec.Name == "" {
		return invalid(param+".name", "Missing required parameter: '%s.name'.", param)
	}
	if len(schema) > 0 && !isNull(schema) {
		if _, bad := read[map[string]json.RawMessage](param+".parameters", schema); bad != nil {
			return bad
		}
		spec.Schema = schema
	}
	for _, other := range q.req.Tools {
		if other.Name == spec.Name {
			return invalid(param+".name", "Invalid '%s.name': there are two tools '%s'.", param, bounded(spec.Name))
		}
	}
	q.req.Tools = append(q.req.Tools, spec)
	return nil
}

// grammar is the form of the text that a tool is called with.
type grammar struct {
	Type       string `json:"type"`
	Syntax     string `json:"syntax"`
	Definition string `json:"definition"`
}

// addCustom takes a tool that is called with text.
func (q *question) addCustom(param, name, description string, format grammar) *refusal {
	if format.Type != "" && format.Type != "text" && format.Type != "grammar" {
		return invalid(param+".format", "Invalid value: '%s'.", bounded(format.Type))
	}
	q.custom[name] = true
	return q.addTool(param, models.ToolSpec{
		Name: name, Description: description,
		Freeform: &models.Freeform{Parameter: customInput, Grammar: format.Definition, Syntax: format.Syntax},
	}, json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`))
}

// customArguments are the arguments in JSON of a call that came as text.
func customArguments(input string) string {
	b, _ := json.Marshal(map[string]string{customInput: input}) // a string always marshals
	return string(b)
}

// customText is the text of a call of a tool that is called with text.
func customText(arguments string) string {
	var args map[string]json.RawMessage
	var text string
	if json.Unmarshal([]byte(arguments), &args) == nil && json.Unmarshal(args[customInput], &text) == nil {
		return text
	}
	return arguments // the client may say what it thinks of it
}

// choose takes which tool must be called. The two APIs differ only in where the name
// of a tool stands.
func (q *question) choose(name string, value json.RawMessage, kind, tool string) *refusal {
	if kind == "auto" {
		return nil
	}
	word, bad := read[string](name, value)
	if bad == nil {
		if word != "none" && word != "required" {
			return invalid(name, "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", bounded(word))
		}
		q.pass(name, map[models.API]models.Field{
			models.Responses: {Name: "tool_choice", Value: value}, models.Chat: {Name: "tool_choice", Value: value},
		})
		return told(q, name, value)
	}
	if kind != "function" && kind != "custom" {
		return passed(q.api)(q, name, value) // such as allowed_tools, which the APIs say in ways of their own
	}
	q.later = append(q.later, func() *refusal {
		if !slices.ContainsFunc(q.req.Tools, func(t models.ToolSpec) bool { return t.Name == tool }) {
			return invalid(name, "Tool choice '%s' not found in 'tools' parameter.", bounded(tool))
		}
		return nil
	})
	flat := toJSON(map[string]string{"type": kind, "name": tool})
	// Chat Completions are given every tool as a function.
	nested := toJSON(map[string]any{"type": "function", "function": map[string]string{"name": tool}})
	q.pass(name, map[models.API]models.Field{
		models.Responses: {Name: "tool_choice", Value: flat}, models.Chat: {Name: "tool_choice", Value: nested},
	})
	return told(q, name, value)
}

// form takes the form that the reply must have.
func (q *question) form(name string, format textFormat) *refusal {
	switch format.Type {
	case "", "text":
		return nil
	case "json_object":
		format = textFormat{Type: format.Type}
	case "json_schema":
		if format.Name == "" || len(format.Schema) == 0 {
			return invalid(name, "Missing required parameter: '%s' needs a name and a schema.", name)
		}
	default:
		return invalid(name, "Invalid value: '%s'. Supported values are: 'text', 'json_object', and 'json_schema'.",
			bounded(format.Type))
	}
	q.format = &format
	return nil
}

// passForm hands on what is asked of the words of the reply: one field of the
// Responses API, two of Chat Completions.
func (q *question) passForm() {
	text := map[string]any{}
	nested := map[string]any{}
	if q.format != nil {
		text["format"], nested["type"] = *q.format, q.format.Type
		if q.format.Type == "json_schema" {
			inner := *q.format
			inner.Type = ""
			nested["json_schema"] = inner
		}
	}
	if q.verbose != nil {
		text["verbosity"] = q.verbose
	}
	if len(text) == 0 {
		return
	}
	whole := models.Field{Name: "text", Value: toJSON(text)}
	q.echo["text"] = whole.Value
	if q.format != nil {
		q.pass("text.format", map[models.API]models.Field{
			models.Responses: whole, models.Chat: {Name: "response_format", Value: toJSON(nested)},
		})
	}
	if q.verbose != nil {
		q.pass("verbosity", map[models.API]models.Field{
			models.Responses: whole, models.Chat: {Name: "verbosity", Value: q.verbose},
		})
	}
}

// textFormat is the form of a reply, as the Responses API has it.
type textFormat struct {
	Type        string          `json:"type,omitempty"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// toJSON writes what was read from JSON, or words: neither can fail.
func toJSON(v any) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}
