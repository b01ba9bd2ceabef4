package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// writtenTags are what the templates of models put around a call. A model writes
// them as text where its server does not know the template.
var writtenTags = []string{
	"<tool_call>", "<tool_calls>", "<function=", "<function_call>", "<function_calls>", "<invoke name=", "<tool_use>",
	"[tool_calls]", "[tool_call]", "<|tool_call", "<|python_tag|>", "<|tool▁call", "<｜tool▁call", "functools[",
	"<minimax:tool_call>", "<seed:tool_call>", "<|channel|>commentary to=functions.",
}

// writtenName finds the name in what stands between such tags.
var writtenName = regexp.MustCompile(
	`"name"\s*:\s*"([^"]+)"|<function=([^>\s]+)>|<invoke name="([^"]+)"|functions\.([\w-]+)|` +
		`(?i:<tool_call>|\[TOOL_CALLS\])\s*([\w.-]+)`,
)

// The names that models give to the parts of a call.
var (
	callNames     = []string{"name", "tool", "tool_name", "function", "function_name", "action", "recipient_name"}
	callArguments = []string{"arguments", "parameters", "args", "input", "tool_input", "action_input", "params"}
	callOthers    = []string{"id", "type", "call_id", "tool_call_id", "index"}
)

// writtenCall says whether a text is a call, and nothing else, that its model
// should have made in the form of the API, and of which tool.
func writtenCall(text string, offered map[string]bool) (tool string, ok bool) {
	text = withoutFence(strings.TrimSpace(text))
	if text == "" || len(offered) == 0 {
		return "", false
	}
	if text[0] == '{' || text[0] == '[' {
		if tool := objectCall([]byte(text), offered); tool != "" {
			return tool, true
		}
	}
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(writtenTags, func(tag string) bool { return strings.HasPrefix(lower, tag) }) ||
		!endsWithCall(lower) {
		return "", false
	}
	return cmp.Or(offeredIn(text, offered), nameInTags(text)), true
}

// endsWithCall says whether no words follow a call between tags.
func endsWithCall(text string) bool { return strings.ContainsRune(">}])", rune(text[len(text)-1])) }

// withoutFence takes off the fence of a block of code, if all of the text is one.
func withoutFence(text string) string {
	first, inner, ok := strings.Cut(text, "\n")
	if !ok || !strings.HasPrefix(first, "```") || !strings.HasSuffix(inner, "```") {
		return text
	}
	inner = strings.TrimSuffix(inner, "```")
	if strings.Contains(inner, "```") {
		return text
	}
	return strings.TrimSpace(inner)
}

// nameInTags is the name in a call between tags, whether such a tool was offered
// or not.
func nameInTags(text string) string {
	groups := writtenName.FindStringSubmatch(text)
	if groups == nil {
		return "unknown"
	}
	return cmp.Or(groups[1:]...)
}

// offeredIn is the tool whose name a text has first, as a word.
func offeredIn(text string, offered map[string]bool) string {
	word := func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	for _, name := range strings.FieldsFunc(text, word) {
		if offered[name] {
			return name
		}
	}
	return ""
}

// objectCall is the tool that JSON calls: an object, a list of them, or several
// after one another, and nothing that is not a call.
func objectCall(text []byte, offered map[string]bool) (tool string) {
	values := json.NewDecoder(bytes.NewReader(text))
	for values.More() {
		var value json.RawMessage
		if values.Decode(&value) != nil {
			return ""
		}
		called := ""
		switch value[0] {
		case '{':
			called = calledIn(value, offered)
		case '[':
			called = objectCall(bytes.Join(listOf(value), []byte("\n")), offered)
		}
		if called == "" {
			return ""
		}
		tool = cmp.Or(tool, called)
	}
	return tool
}

func listOf(raw []byte) [][]byte {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // it was read as JSON
	values := make([][]byte, len(list))
	for i := range list {
		values[i] = list[i]
	}
	return values
}

// calledIn is the offered tool that an object calls. It must have arguments, and
// nothing that does not belong to a call.
func calledIn(object []byte, offered map[string]bool) string {
	var name, inner string
	hasArguments, isCall := false, true
	members(object, func(key string, value json.RawMessage) {
		switch {
		case key == "tool_calls":
			inner = objectCall(value, offered)
		case slices.Contains(callNames, key) && value[0] == '{':
			inner = calledIn(value, offered)
		case slices.Contains(callNames, key) && isString(value):
			name = cmp.Or(name, strings.TrimPrefix(unquote(value), "functions."))
		case slices.Contains(callArguments, key):
			hasArguments = true
		case !slices.Contains(callOthers, key):
			isCall = false
		}
	})
	switch {
	case !isCall:
		return ""
	case inner != "":
		return inner
	case hasArguments && offered[name]:
		return name
	}
	return ""
}
