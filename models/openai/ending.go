package openai

import (
	"encoding/json"
	"strings"
)

// ending is what the reason for which a reply is over means.
type ending int

const (
	endsUnknown ending = iota // a word that nobody knows: taken as said, if something was
	endsUnstated
	endsWell
	endsAtLimit  // cut by its length limit
	endsFiltered // stopped by the provider's filter
	endsFailed
)

// endings has the reasons of all servers in lower case, with _ between words.
var endings = map[string]ending{
	"stop": endsWell, "stop_sequence": endsWell, "stop_token": endsWell, "stop_str": endsWell, "end_turn": endsWell,
	"tool_calls": endsWell, "tool_call": endsWell, "tool_use": endsWell, "function_call": endsWell,
	"function_calls": endsWell, "eos": endsWell, "eos_token": endsWell, "end_of_text": endsWell, "end": endsWell,
	"complete": endsWell, "completed": endsWell, "finish": endsWell, "finished": endsWell, "done": endsWell,
	"success": endsWell,

	"length": endsAtLimit, "max_tokens": endsAtLimit, "max_output_tokens": endsAtLimit, "max_length": endsAtLimit,
	"model_length": endsAtLimit, "max_completion_tokens": endsAtLimit, "token_limit": endsAtLimit,
	"model_context_window_exceeded": endsAtLimit, "context_length": endsAtLimit, "incomplete": endsAtLimit,

	"content_filter": endsFiltered, "content_filtered": endsFiltered, "safety": endsFiltered, "refusal": endsFiltered,
	"recitation": endsFiltered, "prohibited_content": endsFiltered, "blocklist": endsFiltered, "spii": endsFiltered,
	"sensitive": endsFiltered, "image_safety": endsFiltered, "guardrail_intervened": endsFiltered,

	"error": endsFailed, "failed": endsFailed, "failure": endsFailed, "network_error": endsFailed,
	"timeout": endsFailed, "abort": endsFailed, "aborted": endsFailed, "cancel": endsFailed, "cancelled": endsFailed,
	"canceled": endsFailed, "interrupted": endsFailed, "insufficient_system_resource": endsFailed,

	// The model wrote a call that its server cannot read.
	"malformed_function_call": endsFailed, "malformed_tool_call": endsFailed, "malformed_response": endsFailed,
	"unexpected_tool_call": endsFailed, "invalid_tool_call": endsFailed,
}

// endingOf reads a reason: one word of the table, or several as in
// "function_call_filter: MALFORMED_FUNCTION_CALL", of which the worst counts. The
// word is the one that decided.
func endingOf(reason string) (worst ending, word string) {
	word = strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(reason)))
	if word == "" {
		return endsUnstated, ""
	}
	for _, part := range strings.FieldsFunc(word, func(r rune) bool { return r == ':' || r == '.' || r == '/' }) {
		part = strings.TrimPrefix(strings.Trim(part, "_"), "finish_reason_")
		if end := endings[part]; end > worst {
			worst, word = end, part
		}
	}
	return worst, word
}

// incomplete is the reason of an incomplete reply as belay stores it.
func (e ending) incomplete() string {
	if e == endsFiltered {
		return "content_filter"
	}
	return "max_output_tokens"
}

// failedEnding is the error that a reason stands for, by the word in it that decided.
func failedEnding(reason, word string) *apiError {
	event, _ := json.Marshal(map[string]any{ // strings always marshal
		"error": map[string]string{"code": word, "message": "finish_reason: " + reason},
	})
	return &apiError{event: event}
}

// isWholeObject says whether a text is a JSON object.
func isWholeObject(arguments string) bool {
	return strings.HasPrefix(strings.TrimSpace(arguments), "{") && json.Valid([]byte(arguments))
}
