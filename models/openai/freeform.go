package openai

import (
	"encoding/json"

	"belay/models"
)

// In belay every call has arguments in JSON. Over the wire a tool that is called
// with text has only that text, which is the value of its one parameter.

// freeformArguments are the arguments of a call that came as text.
func freeformArguments(parameter, text string) string {
	b, err := json.Marshal(map[string]string{parameter: text})
	if err != nil {
		return "{}"
	}
	return string(b)
}

// freeformText is the text of a call to a tool that is called with text; false:
// the tool is none, or its arguments were something else.
func freeformText(call *models.Item, freeform map[string]string) (string, bool) {
	var args map[string]string
	parameter, ok := freeform[call.Name]
	if !ok || json.Unmarshal([]byte(call.Arguments), &args) != nil {
		return "", false
	}
	text, ok := args[parameter]
	return text, ok
}

// answersFreeform says whether an output belongs to a call that goes out as text.
func answersFreeform(before []models.Item, callID string, origin models.Origin, freeform map[string]string) bool {
	for i := len(before) - 1; i >= 0; i-- {
		call := &before[i]
		if call.Kind != models.Call || call.CallID != callID {
			continue
		}
		if call.Origin == origin && len(call.Raw) > 0 {
			var raw struct {
				Type string `json:"type"`
			}
			return json.Unmarshal(call.Raw, &raw) == nil && raw.Type == "custom_tool_call"
		}
		_, ok := freeformText(call, freeform)
		return ok
	}
	return false
}
