package session

import (
	"slices"
)

// RewoundSpan is a part of the log that was taken back: what came after From, up to
// the Rewound itself.
type RewoundSpan struct {
	From  int64 `json:"from"` // stays
	Until int64 `json:"until"`
}

// Contains reports whether a span takes a record back.
func (s RewoundSpan) Contains(seq int64) bool { return seq > s.From && seq < s.Until }

// LastRewind is a rewind that can be taken back.
type LastRewind struct {
	Seq int64 `json:"seq"` // of the Rewound
	Rewinding
}

// State is what a rewind keeps of a session: its progress, and how the last turn
// ended, which is brought back when the rewind is undone.
type State struct {
	Status Status `json:"status,omitempty"`
	LastTurn
	Progress
}

// State is what a rewind to now would bring back.
func (s *Session) State() State {
	return State{Status: s.Status, LastTurn: s.LastTurn, Progress: s.Progress}
}

// Active leaves out the records that were taken back.
func (s *Session) Active(records []Record) []Record {
	if len(s.RewoundSpans) == 0 {
		return records
	}
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return s.IsRewound(r.Seq) })
}

// IsRewound reports whether a record was taken back.
func (s *Session) IsRewound(seq int64) bool {
	return slices.ContainsFunc(s.RewoundSpans, func(g RewoundSpan) bool { return g.Contains(seq) })
}

// applyRewound takes a part of the log back. Undoing that takes back what came after
// it, and brings back what was there before; so it can be undone as well.
func (s *Session) applyRewound(seq int64, e Rewound) {
	s.PendingRewind = nil
	if e.Conversation || e.Files {
		s.LastRewind = &LastRewind{seq, e.Rewinding}
	}
	if e.Files {
		s.CheckpointTree = e.Tree
	}
	if !e.Conversation {
		return
	}
	then := e.State
	if then == nil { // the records alone
		now := s.State()
		undone := func(span RewoundSpan) bool { return span.Until == e.Undo }
		now.RewoundSpans = without(now.RewoundSpans, undone)
		then = &now
	}
	spans := s.RewoundSpans
	s.ContextTokens = 0
	s.Progress = then.Progress
	if e.Undo > 0 {
		s.Status = then.Status
		s.LastTurn = then.LastTurn
		s.RewoundSpans = append(slices.Clone(then.RewoundSpans), RewoundSpan{From: e.Undo, Until: seq})
		return
	}
	s.Status = Idle
	s.LastTurn = LastTurn{}
	s.RewoundSpans = append(slices.Clone(spans), RewoundSpan{From: e.To, Until: seq})
}
