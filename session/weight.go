package session

import (
	"slices"

	"belay/models"
)

// Weight is what the next request of a session would be made of, as belay
// counts it. All sizes are tokens.
type Weight struct {
	Target  models.Target `json:"target"` // who would be asked
	Budget  int64         `json:"budget"` // what a request to it may take
	Trigger int64         `json:"trigger,omitempty"`
	Counted int64         `json:"counted"` // the whole, by belay's own count
	Counts  Counts        `json:"counts"`
	Failing Failing       `json:"failing,omitzero"`
	Parts   []Part        `json:"parts"`    // where it comes from; empty parts are not listed
	Output  int64         `json:"output"`   // what the reply may take; 0: unknown
	Effort  string        `json:"effort"`   // reasoning effort asked for; empty: the provider's
	Steps   int           `json:"steps"`    // calls of tools in the last turn
	Tools   int           `json:"tools"`    // that are described
	LeftOut int           `json:"left_out"` // items that the budget has no room for
	Masked  int           `json:"masked"`   // outputs and attachments that go in shortened, for want of room
	Through int           `json:"through"`  // the last turn that the summary stands for; 0: none
}

// Counts says how far belay's own counts can be trusted.
type Counts struct {
	Encoding string  `json:"encoding"` // of the vocabulary they are made with; empty: estimated by length
	Own      bool    `json:"own"`      // it is the model's own; otherwise it stands in
	Measured bool    `json:"measured"` // the provider's usage has scaled them
	Factor   float64 `json:"factor"`   // tokens that the provider counts for one of belay's
}

// Failing is the size from which requests have failed more often, as the record
// of the last days says; zero: not to be seen.
type Failing struct {
	From  int64   `json:"from"`  // input tokens
	Above float64 `json:"above"` // share of failures from there on
	Below float64 `json:"below"`
}

// Part is what one origin takes of a request.
type Part struct {
	Origin Origin `json:"origin"`
	Tokens int64  `json:"tokens"`
}

// Origin says where a part of a request comes from, in words for people.
type Origin string

// The origins, in the order in which people read them.
const (
	OfBriefing  Origin = "briefing"
	OfAgents    Origin = "AGENTS.md"
	OfTools     Origin = "tools"
	OfKept      Origin = "pinned notes"
	OfSummary   Origin = "summary"
	OfUser      Origin = "your words"
	OfAttached  Origin = "attachments"
	OfModel     Origin = "model's words"
	OfReasoning Origin = "reasoning"
	OfCalls     Origin = "tool calls"
	OfFiles     Origin = "files"
	OfOutput    Origin = "tool output"
)

// Origins lists them.
func Origins() []Origin {
	return []Origin{OfBriefing, OfAgents, OfTools, OfKept, OfSummary, OfUser, OfAttached, OfModel, OfReasoning, OfCalls, OfFiles, OfOutput}
}

// OriginOf says where an item behind the head comes from.
func OriginOf(it models.Item) Origin {
	switch {
	case it.Kind == models.Output:
		return OfOutput
	case it.Kind == models.Call:
		return OfCalls
	case it.Kind == models.Reasoning:
		return OfReasoning
	case it.Role == models.User:
		return OfUser
	case it.Role == models.Assistant:
		return OfModel
	}
	return OfBriefing
}

// Through is the last turn that the summary stands for; 0: there is none.
func (c *Conversation) Through() int {
	turn := 0
	for _, e := range c.entries {
		if e.seq > 0 && e.seq <= c.through {
			turn = e.turn
		}
	}
	return turn
}

// Steps counts the calls of tools in the last turn.
func (c *Conversation) Steps() int {
	n := 0
	for _, e := range slices.Backward(c.entries) {
		if e.turn != c.entries[len(c.entries)-1].turn {
			break
		}
		if e.item.Kind == models.Call {
			n++
		}
	}
	return n
}

// Left is what was taken out of the requests of a session.
type Left struct {
	What  string `json:"what"`            // in a few words: "older outputs", "summary"
	Calls int    `json:"calls,omitempty"` // whose outputs it is
	Freed int64  `json:"freed"`           // tokens
}

// LeftSummary is the What of what a summary stands for.
const LeftSummary = "summary"

// lighten notes what was taken out; the same again is added up.
func (s *Session) lighten(l Left) {
	for i, old := range s.Left {
		if old.What == l.What {
			list := append([]Left(nil), s.Left...)
			list[i].Calls += l.Calls
			list[i].Freed += l.Freed
			s.Left = list
			return
		}
	}
	s.Left = append(s.Left[:len(s.Left):len(s.Left)], l)
}
