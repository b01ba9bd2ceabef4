package rehearsal

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// likeness is how an endpoint other than OpenAI's differs: what it refuses, in its
// own words, and how it tells reasoning and calls.
type likeness struct {
	api     string // the only API it has; empty: both
	rules   []rule
	refused []string // parameters that it does not take
	refuse  func(*refusal) *refusal

	reasoning func(model, piece string) object // the delta that holds a piece; nil: it keeps its reasoning to itself
	sealed    func(model string) object        // the delta after the last piece; nil: none
	call      func(model string, i int) object // members of a call's first delta, its id among them
}

// rule looks at a conversation and returns why it is refused.
type rule func(model string, messages []likeMessage) *refusal

// likeMessage is a message as far as the rules look at it.
type likeMessage struct {
	Role      string           `json:"role"`
	Content   json.RawMessage  `json:"content"`
	Reasoning *string          `json:"reasoning_content"`
	Details   []reasoningEntry `json:"reasoning_details"`
	CallID    string           `json:"tool_call_id"`
	Prefix    bool             `json:"prefix"`
	Calls     []struct {
		ID    string `json:"id"`
		Extra struct {
			Google struct {
				Signature string `json:"thought_signature"`
			} `json:"google"`
		} `json:"extra_content"`
	} `json:"tool_calls"`

	members []string
}

type reasoningEntry struct {
	Type      string `json:"type"`
	Index     int    `json:"index"`
	Signature string `json:"signature"`
}

// The endpoints that a script can be like.
var likenesses = map[string]likeness{
	"openai-responses": {api: "responses"},
	"openai-chat":      {api: "chat", rules: []rule{shortIDs(64)}, refused: []string{"max_tokens"}},
	"deepseek": {
		api:       "chat",
		rules:     []rule{shortIDs(64), thoughtsBesideCalls, noPictures("unknown variant `image_url`, expected `text`")},
		reasoning: inField("reasoning_content"),
		call:      func(_ string, i int) object { return object{"id": fmt.Sprintf("functions.tool:%d", i)} },
	},
	"google": {
		api:     "chat",
		rules:   []rule{shortIDs(64), systemFirst, signatures},
		refused: []string{"prompt_cache_key", "store", "max_completion_tokens"},
		refuse:  asGoogle,
		call: func(model string, i int) object {
			call := object{"id": fmt.Sprintf("function-call-%d", 7_000_000_000+i)}
			if i == 0 { // of parallel calls only the first is signed
				call["extra_content"] = object{"google": object{"thought_signature": encryptedContent(model, "call")}}
			}
			return call
		},
	},
	"mistral": {
		api: "chat",
		rules: []rule{
			nineLetters, systemFirst, noUserAfterTool, lastIsAsked,
			knownMembers("role", "content", "tool_calls", "tool_call_id", "name", "prefix"),
		},
		refused: []string{"stream_options", "prompt_cache_key", "max_completion_tokens", "reasoning_effort", "store"},
		refuse:  asMistral,
		reasoning: func(_, piece string) object {
			return object{"content": []any{object{
				"type": "thinking", "thinking": []any{object{"type": "text", "text": piece}},
			}}}
		},
		call: func(_ string, i int) object { return object{"id": fmt.Sprintf("Ab3dEf%03d", i)} },
	},
	"qwen": {
		api:       "chat",
		rules:     []rule{shortIDs(64), systemFirst},
		refused:   []string{"max_completion_tokens"},
		refuse:    asTemplate,
		reasoning: inField("reasoning_content"),
	},
	"openrouter": {
		api:   "chat",
		rules: []rule{shortIDs(64), plainIDs, joinedDetails, wordsInText},
		refuse: func(r *refusal) *refusal {
			return r.inForm(object{"error": object{
				"message": "Provider returned error", "code": http.StatusBadRequest,
				"metadata": object{"raw": r.message, "provider_name": "Rehearsal"},
			}})
		},
		reasoning: func(_, piece string) object {
			entry := object{"type": "reasoning.text", "text": piece, "index": 0, "format": "rehearsal-v1"}
			return object{"reasoning": piece, "reasoning_details": []any{entry}}
		},
		sealed: func(model string) object {
			entry := object{"type": "reasoning.text", "signature": encryptedContent(model, "details"), "index": 0}
			return object{"reasoning_details": []any{entry}}
		},
		call: func(_ string, i int) object {
			return object{"id": fmt.Sprintf("tool_%s_%d", strings.Repeat("0123456789", 7), i)}
		},
	},
	"llamacpp": {
		api: "chat",
		rules: []rule{
			shortIDs(64), systemFirst, takingTurns,
			noPictures("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
		},
		refused:   []string{"max_completion_tokens"},
		refuse:    asTemplate,
		reasoning: inField("reasoning_content"),
	},
}

func inField(name string) func(string, string) object {
	return func(_, piece string) object { return object{name: piece} }
}

// refuses checks a request that is right as far as the API's documentation goes.
func (l likeness) refuses(req *request, body []byte) *refusal {
	r := l.check(req, body)
	if r != nil && l.refuse != nil {
		return l.refuse(r)
	}
	return r
}

func (l likeness) check(req *request, body []byte) *refusal {
	if l.api != "" && l.api != req.api {
		return &refusal{status: http.StatusNotFound, message: "Not Found", kind: invalidRequest}
	}
	var fields map[string]json.RawMessage
	if len(l.rules)+len(l.refused) == 0 || json.Unmarshal(body, &fields) != nil {
		return nil
	}
	for _, name := range l.refused {
		if fields[name] != nil {
			return &refusal{
				status: http.StatusBadRequest, kind: invalidRequest, param: name, code: "unsupported_parameter",
				message: fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name),
			}
		}
	}
	var raw []json.RawMessage
	_ = json.Unmarshal(fields["messages"], &raw) // was read before
	messages := make([]likeMessage, len(raw))
	for i := range raw {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw[i], &messages[i]) != nil || json.Unmarshal(raw[i], &members) != nil {
			return invalid(fmt.Sprintf("messages[%d]", i), "Invalid type for 'messages[%d]'.", i)
		}
		for name := range members {
			messages[i].members = append(messages[i].members, name)
		}
		slices.Sort(messages[i].members)
	}
	for _, rule := range l.rules {
		if r := rule(req.model, messages); r != nil {
			return r
		}
	}
	return nil
}

// The rules.

func shortIDs(longest int) rule {
	return func(_ string, messages []likeMessage) *refusal {
		for i, m := range messages {
			for j, c := range m.Calls {
				if len(c.ID) <= longest {
					continue
				}
				param := fmt.Sprintf("messages[%d].tool_calls[%d].id", i, j)
				r := invalid(param, "Invalid '%s': string too long. Expected a string with maximum length %d, "+
					"but got a string with length %d instead.", param, longest, len(c.ID))
				r.code = "string_above_max_length"
				return r
			}
		}
		return nil
	}
}

func plainIDs(_ string, messages []likeMessage) *refusal {
	for i, m := range messages {
		for j, c := range m.Calls {
			if !validName(c.ID) {
				return invalid("", "messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, j)
			}
		}
	}
	return nil
}

func nineLetters(_ string, messages []likeMessage) *refusal {
	for _, m := range messages {
		for _, c := range m.Calls {
			if len(c.ID) != 9 || strings.ContainsAny(c.ID, "_-") || !validName(c.ID) {
				return invalid("", "Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", c.ID)
			}
		}
	}
	return nil
}

func systemFirst(_ string, messages []likeMessage) *refusal {
	for i, m := range messages {
		if i > 0 && m.Role == "system" || m.Role == "developer" {
			return invalid("", "System message must be at the beginning.")
		}
	}
	return nil
}

func takingTurns(_ string, messages []likeMessage) *refusal {
	before := "assistant"
	for _, m := range messages {
		if m.Role == "system" {
			continue
		}
		if m.Role == before && m.Role != "tool" {
			return invalid("", "After the optional system message, conversation roles must alternate "+
				"user/assistant/user/assistant/...")
		}
		if before = m.Role; m.Role == "tool" {
			before = "" // the assistant goes on, or the user speaks
		}
	}
	return nil
}

func noUserAfterTool(_ string, messages []likeMessage) *refusal {
	for i, m := range messages {
		if i > 0 && m.Role == "user" && messages[i-1].Role == "tool" {
			return invalid("", "Unexpected role 'user' after role 'tool'")
		}
	}
	return nil
}

func lastIsAsked(_ string, messages []likeMessage) *refusal {
	last := messages[len(messages)-1]
	if last.Role == "assistant" && !last.Prefix {
		return invalid("", "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
	}
	return nil
}

func knownMembers(known ...string) rule {
	return func(_ string, messages []likeMessage) *refusal {
		for i, m := range messages {
			for _, name := range m.members {
				if !slices.Contains(known, name) {
					r := invalid(name, "Extra inputs are not permitted")
					return r.inForm(object{"object": "error", "detail": []any{object{
						"type": "extra_forbidden", "loc": []any{"body", "messages", i, m.Role, name},
						"msg": r.message,
					}}})
				}
			}
		}
		return nil
	}
}

func thoughtsBesideCalls(_ string, messages []likeMessage) *refusal {
	for i, m := range messages {
		if len(m.Calls) > 0 && m.Reasoning == nil {
			return invalid("", "Missing `reasoning_content` field in the assistant message at message index %d", i)
		}
	}
	return nil
}

func signatures(model string, messages []likeMessage) *refusal {
	for i, m := range messages {
		if len(m.Calls) == 0 {
			continue
		}
		signature := m.Calls[0].Extra.Google.Signature
		switch {
		case signature == "":
			return invalid("", "Function call is missing a thought_signature in functionCall parts, position %d.", i)
		case signature != "skip_thought_signature_validator" && !sealedBy(model, signature):
			return invalid("", "Thought signature is not valid.")
		}
	}
	return nil
}

func joinedDetails(model string, messages []likeMessage) *refusal {
	for i, m := range messages {
		seen := map[reasoningEntry]bool{}
		for _, entry := range m.Details {
			place := reasoningEntry{Type: entry.Type, Index: entry.Index}
			if seen[place] || !sealedBy(model, entry.Signature) {
				return invalid("", "messages.%d: Invalid `signature` in `thinking` block", i)
			}
			seen[place] = true
		}
	}
	return nil
}

func wordsInText(_ string, messages []likeMessage) *refusal {
	for i, m := range messages {
		var parts []struct{ Type, Text string }
		if json.Unmarshal(m.Content, &parts) != nil {
			continue
		}
		for _, p := range parts {
			if p.Type == "text" && strings.TrimSpace(p.Text) == "" {
				return invalid("", "messages.%d: text content blocks must contain non-whitespace text", i)
			}
		}
	}
	return nil
}

func noPictures(message string) rule {
	return func(_ string, messages []likeMessage) *refusal {
		for _, m := range messages {
			if strings.Contains(string(m.Content), `"image_url"`) {
				return invalid("", "%s", message)
			}
		}
		return nil
	}
}

// sealedBy says whether a model made a seal.
func sealedBy(model, seal string) bool {
	b, err := base64.StdEncoding.DecodeString(seal)
	return err == nil && strings.HasPrefix(string(b), "rehearsal:"+model+":")
}

// The forms of refusals.

// inForm gives a refusal another document; one that has it already keeps it.
func (r *refusal) inForm(document object) *refusal {
	if r.document == nil {
		r.document, _ = json.Marshal(document) // texts and numbers always marshal
	}
	return r
}

func asGoogle(r *refusal) *refusal {
	return r.inForm(object{"error": object{"code": r.status, "message": r.message, "status": "INVALID_ARGUMENT"}})
}

func asMistral(r *refusal) *refusal {
	if r.document != nil {
		r.status = http.StatusUnprocessableEntity
	}
	return r.inForm(object{
		"object": "error", "message": r.message, "type": "invalid_request_message_order", "param": nil, "code": "3230",
	})
}

// asTemplate is a template that gave up, as llama.cpp's server tells it.
func asTemplate(r *refusal) *refusal {
	if r.param == "" {
		r.status = http.StatusInternalServerError
	}
	return r.inForm(object{"error": object{"code": r.status, "message": r.message, "type": "server_error"}})
}

// lenient is how a script answers that names no endpoint.
var lenient = likeness{reasoning: inField("reasoning_content")}

// like is the endpoint that the script is like.
func (s *Script) like() likeness {
	if s.Like == "" {
		return lenient
	}
	return likenesses[s.Like]
}
