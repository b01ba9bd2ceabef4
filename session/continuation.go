package session

import (
	"fmt"
	"strings"
)

// ReplyContinued says that the turn goes on by itself after a reply that ended
// otherwise than it should, and tells the model why.
type ReplyContinued struct {
	Reason ContinueReason `json:"reason"`
	Number int            `json:"number"` // "continuation 1 of 3"
	Of     int            `json:"of"`
	Tools  []string       `json:"tools,omitempty"` // whose calls were not run
	Note   string         `json:"note"`            // for the model
}

// ContinueReason is why a turn goes on by itself.
type ContinueReason string

// The reasons for which a turn goes on by itself.
const (
	ContinuedAtLength    ContinueReason = "length limit" // the reply was cut by its length limit
	ContinuedWrittenCall ContinueReason = "written call" // the model wrote a call as text
)

// Text says for people why the turn goes on.
func (e ReplyContinued) Text() string {
	tools := strings.Join(e.Tools, ", ")
	switch {
	case e.Reason == ContinuedWrittenCall:
		return "the model wrote a call of " + tools + " as text: it is told how to call tools"
	case tools != "":
		return fmt.Sprintf("the reply reached its length limit and goes on, %d of %d; not run: %s", e.Number, e.Of, tools)
	}
	return fmt.Sprintf("the reply reached its length limit and goes on, %d of %d", e.Number, e.Of)
}
