package session

import "encoding/json"

// AnswerForm is the form that the answer to a prompt must have. It is kept with the
// prompt, so that whoever goes on with the turn asks for the same.
type AnswerForm struct {
	Schema json.RawMessage `json:"schema"` // JSON Schema
	// Repair says that the prompt asks once more, for an answer that did not fit.
	Repair bool `json:"repair,omitempty"`
}

// JSONSchema is the schema of a form; nil: the answer is free text.
func (f *AnswerForm) JSONSchema() json.RawMessage {
	if f == nil {
		return nil
	}
	return f.Schema
}
