package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"belay/session"
)

// textArguments are the arguments that are text of a person's kind: a command, the
// content of a file, a patch. Of a call that has one of them only that is edited.
var textArguments = []string{"command", "content", "patch"}

// field is the text in the arguments of a call that a person edits as it stands.
type field struct {
	value string
	with  func(value string) any // the arguments with another text
}

// textOf finds that text: it is one argument, or the new lines of a single edit.
func textOf(arguments string) (field, bool) {
	var args map[string]any
	decoder := json.NewDecoder(strings.NewReader(arguments))
	decoder.UseNumber() // numbers come back as they were
	if decoder.Decode(&args) != nil {
		return field{}, false
	}
	in, names := args, textArguments
	if edits, ok := args["edits"].([]any); ok && len(edits) == 1 {
		in, _ = edits[0].(map[string]any)
		names = []string{"new"}
	}
	for _, name := range names {
		if value, ok := in[name].(string); ok && value != "" {
			return field{value, func(value string) any { in[name] = value; return args }}, true
		}
	}
	return field{}, false
}

// Editable is the part of the call that a person edits: its text, or all arguments
// if there is none.
func (p *Pane) Editable() string {
	if text, ok := textOf(p.asked.Args); ok {
		return text.value
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, []byte(p.asked.Args), "", "  ") != nil {
		return p.asked.Args
	}
	return pretty.String()
}

// Edited makes the answer for the edited part. It is an error if that is not
// what the tool can read.
func (p *Pane) Edited(edited string) (session.Answer, error) {
	answer := session.Answer{CallID: p.asked.CallID, Allow: true}
	text, ok := textOf(p.asked.Args)
	switch {
	case ok:
		raw, err := json.Marshal(text.with(edited))
		if err != nil {
			return answer, fmt.Errorf("edit the call: %w", err)
		}
		answer.Args = string(raw)
	case !json.Valid([]byte(edited)):
		return answer, fmt.Errorf("that is not JSON: look for a missing quote or comma")
	default:
		answer.Args = edited
	}
	return answer, nil
}
