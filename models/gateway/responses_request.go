package gateway

import (
	"encoding/json"
	"fmt"
	"slices"

	"belay/models"
)

const keepsNothing = "keeps nothing of a conversation: send all of its input"

// responsesFields are the fields of a request to the Responses API; see
// https://platform.openai.com/docs/api-reference/responses/create
var responsesFields map[string]field

func init() { //nolint:gochecknoinits // the readers of fields name the table through what they call
	responsesFields = map[string]field{
		"model":             into(func(q *question) *string { return &q.model }),
		"stream":            into(func(q *question) *bool { return &q.stream }),
		"instructions":      into(func(q *question) *string { return &q.req.Instructions }),
		"prompt_cache_key":  into(func(q *question) *string { return &q.req.CacheKey }),
		"input":             responsesInput,
		"tools":             responsesTools,
		"tool_choice":       responsesChoice,
		"max_output_tokens": limit,
		"reasoning":         reasoning,
		"include":           include,
		"text":              text,

		"parallel_tool_calls":    parallel,
		"service_tier":           serviceTier,
		"temperature":            passed(both...),
		"top_p":                  passed(both...),
		"user":                   passed(both...),
		"safety_identifier":      passed(both...),
		"prompt_cache_retention": passed(both...),
		"metadata":               told,

		"store":                ignored, // nothing is kept, and the response says so
		"stream_options":       ignored, // of padding against listeners: belay adds none
		"client_metadata":      ignored,
		"max_tool_calls":       ignored, // of tools that run at the provider; there are none
		"background":           onlyAs(keepsNothing, "false"),
		"previous_response_id": onlyAs(keepsNothing),
		"conversation":         onlyAs(keepsNothing),
		"prompt":               onlyAs("knows no stored prompts"),
		"truncation":           onlyAs("leaves nothing out of a request", `"disabled"`),
		"context_management":   onlyAs("leaves nothing out of a request", "[]"),
		"top_logprobs":         onlyAs("carries no probabilities", "0"),
	}
}

// reasoning takes how the model should think, and whether its words are wanted.
func reasoning(q *question, name string, value json.RawMessage) *refusal {
	wish, bad := read[struct {
		Effort  string  `json:"effort"`
		Summary *string `json:"summary"`
		Older   *string `json:"generate_summary"`
	}](name, value)
	if bad != nil {
		return bad
	}
	q.req.Effort = wish.Effort
	for _, s := range []*string{wish.Summary, wish.Older} {
		q.summary = q.summary || s != nil && *s != "none"
	}
	if q.summary && wish.Effort == "" { // with an effort belay asks for it by itself
		q.pass(name, map[models.API]models.Field{
			models.Responses: {Name: name, Value: json.RawMessage(`{"summary":"auto"}`)},
			models.Chat:      {}, // it tells no summaries
		})
	}
	return told(q, name, value)
}

// include takes what a response should hold besides. Much of it belongs to tools that
// run at the provider.
func include(q *question, name string, value json.RawMessage) *refusal {
	list, bad := read[[]string](name, value)
	if bad != nil {
		return bad
	}
	for _, what := range list {
		switch what {
		case "reasoning.encrypted_content":
			q.sealed = true
		case "message.output_text.logprobs":
			return unsupported(name, "carries no probabilities")
		}
	}
	return nil
}

// text takes what is asked of the words of the reply.
func text(q *question, name string, value json.RawMessage) *refusal {
	wish, bad := read[struct {
		Format    textFormat      `json:"format"`
		Verbosity json.RawMessage `json:"verbosity"`
	}](name, value)
	if bad != nil {
		return bad
	}
	if len(wish.Verbosity) > 0 && !isNull(wish.Verbosity) {
		q.verbose = wish.Verbosity
	}
	return q.form(name+".format", wish.Format)
}

// tool has the fields of all tools of the Responses API.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
	Format      grammar         `json:"format"`
	Tools       []tool          `json:"tools"` // of a namespace
}

func responsesTools(q *question, name string, value json.RawMessage) *refusal {
	tools, bad := read[[]tool](name, value)
	if bad == nil {
		bad = q.addTools(name, "", tools)
	}
	if bad != nil {
		return bad
	}
	return told(q, name, value)
}

func (q *question) addTools(param, namespace string, tools []tool) (bad *refusal) {
	for i, t := range tools {
		param := fmt.Sprintf("%s[%d]", param, i)
		known := spaced{namespace, t.Name}
		if namespace != "" {
			q.spaces[known.flat()] = known
		}
		switch {
		case t.Type == "function":
			bad = q.addTool(param,
				models.ToolSpec{Name: known.flat(), Description: t.Description, Strict: t.Strict}, t.Parameters)
		case t.Type == "custom":
			bad = q.addCustom(param, known.flat(), t.Description, t.Format)
		case t.Type == "namespace" && namespace == "" && t.Name != "":
			bad = q.addTools(param+".tools", t.Name, t.Tools)
		default:
			bad = unsupported(param+".type", "carries tools that the client runs (function, custom); switch off '"+
				bounded(t.Type)+"', which would run at one provider, in the client")
		}
		if bad != nil {
			return bad
		}
	}
	return nil
}

func responsesChoice(q *question, name string, value json.RawMessage) *refusal {
	if string(value) == `"auto"` {
		return nil
	}
	var choice struct{ Type, Name string }
	_ = json.Unmarshal(value, &choice) // a word is no object
	return q.choose(name, value, choice.Type, choice.Name)
}

// inputItem has the fields of all items of a conversation.
type inputItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
}

func responsesInput(q *question, name string, value json.RawMessage) *refusal {
	var words string
	if json.Unmarshal(value, &words) == nil {
		q.add(models.NewMessage(models.User, words))
		return nil
	}
	items, bad := read[[]json.RawMessage](name, value)
	if bad != nil {
		return bad
	}
	for i, raw := range items {
		param := fmt.Sprintf("%s[%d]", name, i)
		it, bad := read[inputItem](param, raw)
		if bad == nil {
			bad = q.addInput(param, it)
		}
		if bad != nil {
			return bad
		}
	}
	return nil
}

func (q *question) add(items ...models.Item) { q.req.Items = append(q.req.Items, items...) }

func (q *question) addInput(param string, it inputItem) *refusal {
	called := spaced{it.Namespace, it.Name}.flat()
	switch it.Type {
	case "", "message":
		return q.addMessage(param, it.Role, it.Content)
	case "reasoning":
		// What another model thought can be read by nobody here.
		if sealed, ok := unseal(it.Encrypted); ok {
			q.add(sealed)
		}
	case "function_call":
		q.add(models.Item{Kind: models.Call, CallID: it.CallID, Name: called, Arguments: it.Arguments})
	case "custom_tool_call":
		q.add(models.Item{
			Kind: models.Call, CallID: it.CallID, Name: called, Arguments: customArguments(it.Input),
		})
	case "function_call_output", "custom_tool_call_output":
		text, images, bad := joined(param+".output", it.Output)
		q.add(models.Item{Kind: models.Output, CallID: it.CallID, Text: text, Images: images})
		return bad
	default:
		return invalid(param+".type", "Invalid value: '%s'. The gateway of belay carries messages, reasoning, "+
			"and calls of functions and custom tools with their outputs.", bounded(it.Type))
	}
	return nil
}

// roles are those of both APIs. What the system says in the midst of a conversation
// comes from its developer.
var roles = map[string]models.Role{
	"user": models.User, "assistant": models.Assistant, "developer": models.Developer, "system": models.Developer,
}

// addMessage takes the words and pictures of one speaker.
func (q *question) addMessage(param, role string, content json.RawMessage) *refusal {
	speaker, ok := roles[role]
	if !ok {
		return invalid(param+".role",
			"Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", bounded(role))
	}
	parts, bad := contents(param+".content", content)
	if bad != nil {
		return bad
	}
	if speaker == models.Assistant {
		var all string
		for _, part := range parts {
			all += part.Text
		}
		q.add(models.NewMessage(speaker, all))
		return nil
	}
	for i := range parts {
		parts[i].Kind, parts[i].Role = models.Message, speaker
	}
	q.add(slices.Clip(parts)...)
	return nil
}
