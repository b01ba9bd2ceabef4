package session

import (
	"slices"
	"time"

	"belay/models"
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
	Effects []Effect `json:"effects,omitempty"` // of unknown outcome, also at that time
	Gone    []Span   `json:"gone,omitempty"`

	// How the last turn ended. It is brought back with a rewind that is undone.
	Status   Status        `json:"status,omitempty"`
	Stepping bool          `json:"stepping,omitempty"`
	Prompt   string        `json:"prompt,omitempty"`
	Fault    *models.Fault `json:"fault,omitempty"`
	Retry    time.Time     `json:"retry,omitzero"`
	Rung     int           `json:"rung,omitempty"`
	Asked    []Approval    `json:"asked,omitempty"`
	LastLine string        `json:"last_line,omitempty"`
}

// State is what a rewind to now would bring back.
func (s *Session) State() State {
	return State{Summary: s.Summary, Through: s.Through, Task: s.Task, Left: s.Left, Plan: s.Plan, Steps: s.Steps, Focus: s.Focus, Kept: s.Kept, First: s.First, Files: s.Files,
		Effects: s.Effects, Gone: s.Gone, Status: s.Status, Stepping: s.Stepping, Prompt: s.Prompt, Fault: s.Fault, Retry: s.Retry, Rung: s.Rung, Asked: s.Asked, LastLine: s.LastLine}
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

// rewound takes a part of the log back. Undoing that takes back what came after
// it, and brings back what was there before; so it can be undone as well.
func (s *Session) rewound(seq int64, e Rewound) {
	s.Rewind = nil
	if e.Talk || e.Files {
		s.Back = &WayBack{seq, e.Rewinding}
	}
	if e.Files {
		s.Tree = e.Tree
	}
	if !e.Talk {
		return
	}
	x := e.State
	if x == nil { // the records alone
		now := s.State()
		now.Gone = without(now.Gone, func(g Span) bool { return g.Until == e.Undo })
		x = &now
	}
	s.Summary, s.Through, s.Task, s.Left, s.Plan, s.Steps = x.Summary, x.Through, x.Task, x.Left, x.Plan, x.Steps
	s.Focus, s.Kept, s.First, s.Files, s.Effects = x.Focus, x.Kept, x.First, x.Files, x.Effects
	s.Context = 0
	if e.Undo > 0 {
		s.Gone = append(slices.Clone(x.Gone), Span{From: e.Undo, Until: seq})
		s.Status, s.Stepping, s.Prompt, s.Fault, s.Retry, s.Rung, s.Asked, s.LastLine = x.Status, x.Stepping, x.Prompt, x.Fault, x.Retry, x.Rung, x.Asked, x.LastLine
		return
	}
	s.Gone = append(slices.Clone(s.Gone), Span{From: e.To, Until: seq})
	s.Status, s.Stepping, s.Prompt, s.Fault, s.Retry, s.Rung, s.Asked, s.LastLine = Idle, false, "", nil, time.Time{}, 0, nil, ""
}
