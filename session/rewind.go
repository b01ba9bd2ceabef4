package session

import (
	"slices"
	"time"

	"belay/models"
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

// State is what a rewind of the conversation brings back beside the records.
type State struct {
	Summary        string        `json:"summary,omitempty"`
	SummaryThrough int64         `json:"through,omitempty"`
	TaskPrompt     string        `json:"task,omitempty"`
	Omitted        []Omission    `json:"left,omitempty"`
	Todos          []Todo        `json:"plan,omitempty"`
	Plan           *Plan         `json:"steps,omitempty"`
	Focus          []string      `json:"focus,omitempty"`
	PinnedNotes    []string      `json:"kept,omitempty"`
	FirstPrompt    string        `json:"first,omitempty"`
	ChangedFiles   []string      `json:"files,omitempty"`
	OpenEffects    []Effect      `json:"effects,omitempty"` // of unknown outcome, also at that time
	RewoundSpans   []RewoundSpan `json:"gone,omitempty"`

	// How the last turn ended. It is brought back with a rewind that is undone.
	Status           Status        `json:"status,omitempty"`
	RunsPlan         bool          `json:"stepping,omitempty"`
	PromptID         string        `json:"prompt,omitempty"`
	Fault            *models.Fault `json:"fault,omitempty"`
	RetryAt          time.Time     `json:"retry,omitzero"`
	ParkCount        int           `json:"rung,omitempty"`
	PendingApprovals []Approval    `json:"asked,omitempty"`
	LastLine         string        `json:"last_line,omitempty"`
}

// State is what a rewind to now would bring back.
func (s *Session) State() State {
	return State{Summary: s.Summary, SummaryThrough: s.SummaryThrough, TaskPrompt: s.TaskPrompt, Omitted: s.Omitted, Todos: s.Todos, Plan: s.Plan, Focus: s.Focus, PinnedNotes: s.PinnedNotes, FirstPrompt: s.FirstPrompt, ChangedFiles: s.ChangedFiles,
		OpenEffects: s.OpenEffects, RewoundSpans: s.RewoundSpans, Status: s.Status, RunsPlan: s.RunsPlan, PromptID: s.PromptID, Fault: s.Fault, RetryAt: s.RetryAt, ParkCount: s.ParkCount, PendingApprovals: s.PendingApprovals, LastLine: s.LastLine}
}

// Active leaves out the records that were taken back.
func (s *Session) Active(records []Record) []Record {
	if len(s.RewoundSpans) == 0 {
		return records
	}
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool {
		return slices.ContainsFunc(s.RewoundSpans, func(g RewoundSpan) bool { return g.Contains(r.Seq) })
	})
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
	x := e.State
	if x == nil { // the records alone
		now := s.State()
		now.RewoundSpans = without(now.RewoundSpans, func(g RewoundSpan) bool { return g.Until == e.Undo })
		x = &now
	}
	s.Summary, s.SummaryThrough, s.TaskPrompt, s.Omitted, s.Todos, s.Plan = x.Summary, x.SummaryThrough, x.TaskPrompt, x.Omitted, x.Todos, x.Plan
	s.Focus, s.PinnedNotes, s.FirstPrompt, s.ChangedFiles, s.OpenEffects = x.Focus, x.PinnedNotes, x.FirstPrompt, x.ChangedFiles, x.OpenEffects
	s.ContextTokens = 0
	if e.Undo > 0 {
		s.RewoundSpans = append(slices.Clone(x.RewoundSpans), RewoundSpan{From: e.Undo, Until: seq})
		s.Status, s.RunsPlan, s.PromptID, s.Fault, s.RetryAt, s.ParkCount, s.PendingApprovals, s.LastLine = x.Status, x.RunsPlan, x.PromptID, x.Fault, x.RetryAt, x.ParkCount, x.PendingApprovals, x.LastLine
		return
	}
	s.RewoundSpans = append(slices.Clone(s.RewoundSpans), RewoundSpan{From: e.To, Until: seq})
	s.Status, s.RunsPlan, s.PromptID, s.Fault, s.RetryAt, s.ParkCount, s.PendingApprovals, s.LastLine = Idle, false, "", nil, time.Time{}, 0, nil, ""
}
