package session

import (
	"slices"

	"belay/models"
)

// ContextUsage is what the next request of a session would be made of, as belay
// counts it. All sizes are tokens.
type ContextUsage struct {
	Target         models.Target    `json:"target"` // who would be asked
	Budget         int64            `json:"budget"` // what a request to it may take
	Trigger        int64            `json:"trigger,omitempty"`
	Counted        int64            `json:"counted"` // the whole, by belay's own count
	Accuracy       CountAccuracy    `json:"counts"`
	Failures       FailureThreshold `json:"failing,omitzero"`
	Parts          []Part           `json:"parts"`    // where it comes from; empty parts are not listed
	Output         int64            `json:"output"`   // what the reply may take; 0: unknown
	Effort         string           `json:"effort"`   // reasoning effort asked for; empty: the provider's
	ToolCalls      int              `json:"steps"`    // calls of tools in the last turn
	Tools          int              `json:"tools"`    // that are described
	LeftOut        int              `json:"left_out"` // items that the budget has no room for
	Masked         int              `json:"masked"`   // outputs and attachments that go in shortened, for want of room
	SummaryThrough int              `json:"through"`  // the last turn that the summary stands for; 0: none
}

// CountAccuracy says how far belay's own counts can be trusted.
type CountAccuracy struct {
	Encoding string  `json:"encoding"` // of the vocabulary they are made with; empty: estimated by length
	Exact    bool    `json:"own"`      // it is the model's own; otherwise it stands in
	Measured bool    `json:"measured"` // the provider's usage has scaled them
	Factor   float64 `json:"factor"`   // tokens that the provider counts for one of belay's
}

// FailureThreshold is the size from which requests have failed more often, as the record
// of the last days says; zero: not to be seen.
type FailureThreshold struct {
	From  int64   `json:"from"`  // input tokens
	Above float64 `json:"above"` // share of failures from there on
	Below float64 `json:"below"`
}

// Part is what one origin takes of a request.
type Part struct {
	Source Source `json:"origin"`
	Tokens int64  `json:"tokens"`
}

// Source says where a part of a request comes from, in words for people.
type Source string

// The origins, in the order in which people read them.
const (
	SourceSystemPrompt Source = "briefing"
	SourceAgentsFile   Source = "AGENTS.md"
	SourceTools        Source = "tools"
	SourcePinned       Source = "pinned notes"
	SourceSummary      Source = "summary"
	SourceUser         Source = "your words"
	SourceAttachments  Source = "attachments"
	SourceModel        Source = "model's words"
	SourceReasoning    Source = "reasoning"
	SourceToolCalls    Source = "tool calls"
	SourceFiles        Source = "files"
	SourceToolOutput   Source = "tool output"
)

// Sources lists them.
func Sources() []Source {
	return []Source{
		SourceSystemPrompt,
		SourceAgentsFile,
		SourceTools,
		SourcePinned,
		SourceSummary,
		SourceUser,
		SourceAttachments,
		SourceModel,
		SourceReasoning,
		SourceToolCalls,
		SourceFiles,
		SourceToolOutput,
	}
}

// SourceOf says where an item behind the head comes from.
func SourceOf(it models.Item) Source {
	switch {
	case it.Kind == models.Output:
		return SourceToolOutput
	case it.Kind == models.Call:
		return SourceToolCalls
	case it.Kind == models.Reasoning:
		return SourceReasoning
	case it.Role == models.User:
		return SourceUser
	case it.Role == models.Assistant:
		return SourceModel
	}
	return SourceSystemPrompt
}

// SummarizedTurn is the last turn that the summary stands for; 0: there is none.
func (c *Conversation) SummarizedTurn() int {
	turn := 0
	for _, at := range c.places {
		if at.seq > 0 && at.seq <= c.summaryThrough {
			turn = at.turn
		}
	}
	return turn
}

// LastToolCalls counts the calls of tools in the last turn.
func (c *Conversation) LastToolCalls() int {
	n := 0
	for i, at := range slices.Backward(c.places) {
		if at.turn != c.places[len(c.places)-1].turn {
			break
		}
		if c.whole[i].Kind == models.Call {
			n++
		}
	}
	return n
}

// Omission is what was taken out of the requests of a session.
type Omission struct {
	Label string `json:"what"`            // in a few words: "older outputs", "summary"
	Calls int    `json:"calls,omitempty"` // whose outputs it is
	Freed int64  `json:"freed"`           // tokens
}

// OmittedSummary is the What of what a summary stands for.
const OmittedSummary = "summary"

// addOmitted notes what was taken out; the same again is added up.
func (s *Session) addOmitted(omission Omission) {
	for i, old := range s.Omitted {
		if old.Label == omission.Label {
			list := append([]Omission(nil), s.Omitted...)
			list[i].Calls += omission.Calls
			list[i].Freed += omission.Freed
			s.Omitted = list
			return
		}
	}
	s.Omitted = append(s.Omitted[:len(s.Omitted):len(s.Omitted)], omission)
}
