package session

import (
	"slices"
	"time"
)

// Span is a part of the log that was taken back: what came after From, up to
// the Rewound itself.
type Span struct {
	From  int64 `json:"from"` // stays
	Until int64 `json:"until"`
}

// Takes reports whether a span takes a record back.
func (s Span) Takes(seq int64) bool { return seq > s.From && seq < s.Until }

// WayBack is a rewind that can be taken back.
type WayBack struct {
	Seq int64 `json:"seq"` // of the Rewound
	Rewinding
}

// State is what a rewind of the conversation brings back beside the records.
type State struct {
	Summary string   `json:"summary,omitempty"`
	Through int64    `json:"through,omitempty"`
	Task    string   `json:"task,omitempty"`
	Left    []Left   `json:"left,omitempty"`
	Plan    []Task   `json:"plan,omitempty"`
	Steps   *Steps   `json:"steps,omitempty"`
	Focus   []string `json:"focus,omitempty"`
	Kept    []string `json:"kept,omitempty"`
	First   string   `json:"first,omitempty"`
	Files   []string `json:"files,omitempty"`
}

// State is what a rewind to now would bring back.
func (s *Session) State() State {
	return State{Summary: s.Summary, Through: s.Through, Task: s.Task, Left: s.Left, Plan: s.Plan, Steps: s.Steps, Focus: s.Focus, Kept: s.Kept, First: s.First, Files: s.Files}
}

// Lives leaves out the records that were taken back.
func (s *Session) Lives(records []Record) []Record {
	if len(s.Gone) == 0 {
		return records
	}
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool {
		return slices.ContainsFunc(s.Gone, func(g Span) bool { return g.Takes(r.Seq) })
	})
}

// rewound takes a part of the log back, or brings it back again.
func (s *Session) rewound(seq int64, e Rewound) {
	s.Rewind, s.Back = nil, nil
	if e.Undo == 0 && (e.Talk || e.Files) {
		s.Back = &WayBack{seq, e.Rewinding}
	}
	if e.Files {
		s.Tree = e.Tree
	}
	if !e.Talk {
		return
	}
	if e.Undo > 0 {
		s.Gone = without(s.Gone, func(g Span) bool { return g.Until == e.Undo })
	} else {
		s.Gone = append(s.Gone[:len(s.Gone):len(s.Gone)], Span{From: e.To, Until: seq})
	}
	if x := e.State; x != nil {
		s.Summary, s.Through, s.Task, s.Left, s.Plan, s.Steps = x.Summary, x.Through, x.Task, x.Left, x.Plan, x.Steps
		s.Focus, s.Kept, s.First, s.Files = x.Focus, x.Kept, x.First, x.Files
	}
	s.Context, s.Fault, s.Retry, s.Rung = 0, nil, time.Time{}, 0
	s.Status, s.Stepping, s.Prompt = Idle, false, ""
	s.Asked, s.Effects = nil, nil
	s.LastLine = ""
}
