package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"belay/models"
)

const oneReply = "asks for one reply"

// chatFields are the fields of a request to Chat Completions; see
// https://platform.openai.com/docs/api-reference/chat/create
var chatFields map[string]field

func init() { //nolint:gochecknoinits // the readers of fields name the table through what they call
	chatFields = map[string]field{
		"model":                 into(func(q *question) *string { return &q.model }),
		"stream":                into(func(q *question) *bool { return &q.stream }),
		"prompt_cache_key":      into(func(q *question) *string { return &q.req.CacheKey }),
		"reasoning_effort":      into(func(q *question) *string { return &q.req.Effort }),
		"verbosity":             into(func(q *question) *json.RawMessage { return &q.verbose }),
		"messages":              chatMessages,
		"tools":                 chatTools,
		"tool_choice":           chatChoice,
		"max_completion_tokens": limit,
		"max_tokens":            limit,
		"response_format":       responseFormat,
		"stream_options":        streamOptions,

		"parallel_tool_calls":    parallel,
		"service_tier":           serviceTier,
		"temperature":            passed(both...),
		"top_p":                  passed(both...),
		"user":                   passed(both...),
		"safety_identifier":      passed(both...),
		"prompt_cache_retention": passed(both...),
		"stop":                   passed(models.Chat),
		"seed":                   passed(models.Chat),
		"presence_penalty":       passed(models.Chat),
		"frequency_penalty":      passed(models.Chat),
		"logit_bias":             passed(models.Chat),

		"metadata":     ignored,
		"store":        ignored, // nothing is kept
		"n":            onlyAs(oneReply, "1"),
		"logprobs":     onlyAs("carries no probabilities", "false"),
		"top_logprobs": onlyAs("carries no probabilities", "0"),
		"modalities":   onlyAs("carries text", `["text"]`),
		"audio":        onlyAs("carries text"),
		"prediction":   onlyAs("carries no predicted text"),

		"web_search_options": onlyAs("carries tools that the client runs"),
		"functions":          onlyAs("takes the newer 'tools'", "[]"),
		"function_call":      onlyAs("takes the newer 'tool_choice'", `"auto"`, `"none"`),
	}
}

func streamOptions(q *question, name string, value json.RawMessage) *refusal {
	options, bad := read[struct {
		IncludeUsage bool `json:"include_usage"`
	}](name, value)
	q.usage = options.IncludeUsage
	return bad
}

func responseFormat(q *question, name string, value json.RawMessage) *refusal {
	wish, bad := read[struct {
		Type   string     `json:"type"`
		Schema textFormat `json:"json_schema"`
	}](name, value)
	if bad != nil {
		return bad
	}
	format := wish.Schema
	format.Type = wish.Type
	return q.form(name, format)
}

func chatTools(q *question, name string, value json.RawMessage) *refusal {
	tools, bad := read[[]struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      bool            `json:"strict"`
		} `json:"function"`
		Custom struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Format      struct {
				Type    string  `json:"type"`
				Grammar grammar `json:"grammar"`
			} `json:"format"`
		} `json:"custom"`
	}](name, value)
	if bad != nil {
		return bad
	}
	for i, t := range tools {
		param := fmt.Sprintf("%s[%d]", name, i)
		switch t.Type {
		case "function":
			f := t.Function
			bad = q.addTool(param+".function",
				models.ToolSpec{Name: f.Name, Description: f.Description, Strict: f.Strict}, f.Parameters)
		case "custom":
			format := t.Custom.Format.Grammar
			format.Type = t.Custom.Format.Type
			bad = q.addCustom(param+".custom", t.Custom.Name, t.Custom.Description, format)
		default:
			bad = invalid(param+".type", "Invalid value: '%s'. Supported values are: 'function' and 'custom'.", bounded(t.Type))
		}
		if bad != nil {
			return bad
		}
	}
	return nil
}

func chatChoice(q *question, name string, value json.RawMessage) *refusal {
	if string(value) == `"auto"` {
		return nil
	}
	var choice struct {
		Type             string
		Function, Custom struct{ Name string }
	}
	_ = json.Unmarshal(value, &choice) // a word is no object
	return q.choose(name, value, choice.Type, choice.Function.Name+choice.Custom.Name)
}

type chatMessage struct {
	Role       string          `json:"role"`
	Name       string          `json:"name"`
	Content    json.RawMessage `json:"content"`
	Refusal    string          `json:"refusal"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	Audio      json.RawMessage `json:"audio"`
	Older      json.RawMessage `json:"function_call"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Custom struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

func chatMessages(q *question, name string, value json.RawMessage) *refusal {
	list, bad := read[[]json.RawMessage](name, value)
	if bad != nil {
		return bad
	}
	for i, raw := range list {
		param := fmt.Sprintf("%s[%d]", name, i)
		message, bad := read[chatMessage](param, raw)
		if bad == nil {
			bad = q.addChat(param, message)
		}
		if bad != nil {
			return bad
		}
	}
	q.takeInstructions()
	return nil
}

// takeInstructions makes the words with which a conversation begins, and that are not
// the user's, its instructions.
func (q *question) takeInstructions() {
	n := slices.IndexFunc(q.req.Items, func(it models.Item) bool {
		return it.Kind != models.Message || it.Role != models.Developer || len(it.Images) > 0
	})
	if n < 0 {
		return // a model answers somebody
	}
	var words []string
	for _, it := range q.req.Items[:n] {
		words = append(words, it.Text)
	}
	q.req.Instructions = strings.Join(words, "\n\n")
	q.req.Items = q.req.Items[n:]
}

func (q *question) addChat(param string, message chatMessage) *refusal {
	switch {
	case message.Audio != nil && !isNull(message.Audio):
		return unsupported(param+".audio", "carries text")
	case message.Older != nil && !isNull(message.Older) || message.Role == "function":
		return unsupported(param+".function_call", "takes the newer 'tool_calls'")
	case message.Name != "" && message.Role != "tool":
		return unsupported(param+".name", "does not carry names of speakers: write them into the content")
	}
	switch message.Role {
	case "tool":
		text, images, bad := joined(param+".content", message.Content)
		q.add(models.Item{Kind: models.Output, CallID: message.ToolCallID, Text: text, Images: images})
		return bad
	case "assistant":
		text, _, bad := joined(param+".content", message.Content)
		if text += message.Refusal; text != "" {
			q.add(models.NewMessage(models.Assistant, text))
		}
		for i, call := range message.ToolCalls {
			it := models.Item{
				Kind: models.Call, CallID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments,
			}
			if call.Type == "custom" {
				it.Name, it.Arguments = call.Custom.Name, customArguments(call.Custom.Input)
			}
			if it.Name == "" {
				return invalid(fmt.Sprintf("%s.tool_calls[%d]", param, i),
					"Invalid '%s.tool_calls[%d]': a call needs a name and arguments.", param, i)
			}
			q.add(it)
		}
		return bad
	}
	return q.addMessage(param, message.Role, message.Content)
}
