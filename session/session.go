// Package session holds the nouns of a session: the events it is made of, and
// the state that follows from them.
//
// A session is an append-only log of events. Everything else (transcript,
// plan, status line, JSON output, what a model is asked next) is a fold over
// that log, so whatever was recorded can be gone on from.
package session

import (
	"slices"
	"time"

	"belay/models"
)

// ID names a session. It is short enough to type; any unique beginning will do.
type ID string

// Status is what a session is doing, as far as its log tells.
type Status string

// The states of a session.
const (
	Idle        Status = "idle"        // nothing to do: new, or the last turn is done
	Running     Status = "running"     // a turn is under way
	Asking      Status = "asks you"    // a tool call waits for approval
	Parked      Status = "parked"      // the model gave way; goes on later
	Failed      Status = "failed"      // the last turn ended with a fault
	Stopped     Status = "stopped"     // the user stopped the last turn
	NeedsPerson Status = "needs you"   // something happened that only a person can judge
	Interrupted Status = "interrupted" // belay ended in mid-turn
)

// Resumable reports whether the last turn can be gone on with.
func (s Status) Resumable() bool {
	switch s {
	case Parked, Failed, Stopped, Interrupted, NeedsPerson:
		return true
	}
	return false
}

// Mode is which tool calls run without asking.
type Mode string

// The approval modes, from careful to free.
const (
	Ask   Mode = "ask"   // everything but reading asks
	Edits Mode = "edits" // file changes in the workspace run, commands ask
	All   Mode = "all"   // everything runs that is not forbidden
)

// Modes lists the approval modes in the order the mode key walks through them.
func Modes() []Mode { return []Mode{Ask, Edits, All} }

// Session is the state that follows from a session's log: small, whatever the
// length of the log, and stored beside it so that listing and opening never
// read the whole.
type Session struct {
	ID         ID        `json:"id"`
	Project    string    `json:"project"`          // the absolute path of the workspace
	Folder     string    `json:"folder,omitempty"` // what the file system knew it by, wherever it is moved to
	Title      string    `json:"title"`            // the user's, or the beginning of the first prompt
	UserTitled bool      `json:"named,omitempty"`
	Parent     ID        `json:"parent,omitempty"`  // what it was forked from
	PartOf     ID        `json:"part_of,omitempty"` // the session whose step it carries out; such a session is not listed
	Step       int       `json:"step,omitempty"`    // the number of that step; 0: it plans the steps
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`

	Archived bool      `json:"archived,omitempty"`
	Deleted  time.Time `json:"deleted,omitzero"` // can be undone until it is purged

	Tier         models.Tier   `json:"tier"`
	Mode         Mode          `json:"mode"`
	Effort       string        `json:"effort,omitempty"` // reasoning effort asked for; empty: as the settings say
	PinnedTarget models.Target `json:"pin,omitzero"`     // the only one to be asked; zero: no pin
	Target       models.Target `json:"target,omitzero"`  // who served last
	Served       string        `json:"served,omitempty"`

	Status        Status    `json:"status"`
	Turn          int       `json:"turn"`              // the number of the last turn; the first is 1
	TurnStartedAt time.Time `json:"began,omitzero"`    // when that turn began
	Queue         []Queued  `json:"queue,omitempty"`   // messages that leave after the running turn
	Steered       []string  `json:"steered,omitempty"` // ids of those that go with its next request

	LastTurn
	Progress

	CheckpointTree string      `json:"tree,omitempty"`      // of the last checkpoint
	CheckpointTurn int         `json:"marked,omitempty"`    // the turn of that checkpoint
	PendingRewind  *Rewinding  `json:"rewinding,omitempty"` // begun and not ended
	LastRewind     *LastRewind `json:"back,omitempty"`      // the last rewind, which can be taken back

	// ContextTokens are those of the last request and its reply, as the provider
	// counted them; 0: unknown.
	ContextTokens int64        `json:"context,omitempty"`
	Window        int64        `json:"window,omitempty"` // of the target that served last
	Usage         models.Usage `json:"usage"`
	Cost          float64      `json:"cost"`   // US dollars, as far as prices are known
	LastSeq       int64        `json:"events"` // the sequence number of the last event
}

// LastTurn is how the last turn stands.
type LastTurn struct {
	RunsPlan         bool          `json:"stepping,omitempty"` // it carries out the plan
	PromptID         string        `json:"prompt,omitempty"`   // of the prompt that began it
	TakenPrompts     []string      `json:"taken,omitempty"`    // ids of those that it took while it ran
	Answer           *AnswerForm   `json:"answer,omitempty"`   // that its answer must have; nil: it is free text
	Fault            *models.Fault `json:"fault,omitempty"`    // why it failed or is parked
	RetryAt          time.Time     `json:"retry,omitzero"`     // parked: when it goes on by itself; zero: only when asked
	ParkCount        int           `json:"rung,omitempty"`     // parked: how many times in a row
	PendingApprovals []Approval    `json:"asked,omitempty"`    // unanswered
	LastLine         string        `json:"last_line,omitempty"`
}

// Progress is how far the work of a session has come: what a rewind of the
// conversation brings back beside the records.
type Progress struct {
	Summary        string `json:"summary,omitempty"` // stands for the log up to SummaryThrough
	SummaryThrough int64  `json:"through,omitempty"` // a record's number
	// TaskPrompt is the user's words of a turn that the summary swallowed while it ran.
	TaskPrompt   string        `json:"task,omitempty"`
	Omitted      []Omission    `json:"left,omitempty"` // what was taken out of its requests
	Todos        []Todo        `json:"plan,omitempty"`
	Plan         *Plan         `json:"steps,omitempty"`   // of a large task
	Focus        []string      `json:"focus,omitempty"`   // folders or patterns that searches keep to
	PinnedNotes  []string      `json:"kept,omitempty"`    // notes that stay in every request
	FirstPrompt  string        `json:"first,omitempty"`   // the words of the first prompt, bounded
	ChangedFiles []string      `json:"files,omitempty"`   // changed in this session, the last ones
	OpenEffects  []Effect      `json:"effects,omitempty"` // begun and not ended: after a crash, of unknown outcome
	RewoundSpans []RewoundSpan `json:"gone,omitempty"`    // what was taken back of the conversation
}

// Prompt is what a person sends.
type Prompt struct {
	ID     string         `json:"id"` // made by the sender; the same id is accepted once
	Text   string         `json:"text"`
	Images []models.Image `json:"images,omitempty"`

	Attachments []models.Attachment `json:"attached,omitempty"` // pastes and piped text, apart from the words
	Answer      *AnswerForm         `json:"answer,omitempty"`   // that the answer must have; nil: it is free text
}

// item is the prompt as an item of the conversation.
func (p Prompt) item() models.Item {
	item := models.NewMessage(models.User, p.Text)
	item.Images, item.Attachments = p.Images, p.Attachments
	return item
}

// Queued is a prompt that waits for the running turn to be done.
type Queued = Prompt

// Todo is one line of the plan that the model keeps for the user to see.
type Todo struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending, active or done
}

// Class is how much a tool call can change, and with that what a crash in the
// middle of it means.
type Class string

// The classes of tool calls.
const (
	Read  Class = "read"  // changes nothing: may run again
	Write Class = "write" // changes one file: its hash tells whether it was done
	Run   Class = "run"   // runs a command or reaches outside: cannot be told
)

// Effect is a tool call that was about to run, written down before it did.
type Effect struct {
	ID     string `json:"id"` // of turn, call and canonical arguments
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	Class  Class  `json:"class"`
	Args   string `json:"args"`             // JSON
	Title  string `json:"title"`            // what is done, in a few words: a path, a command
	Path   string `json:"path,omitempty"`   // of the file that a Write changes
	Before string `json:"before,omitempty"` // SHA-256 of that file, "none" if it did not exist
	After  string `json:"after,omitempty"`
	PID    int    `json:"pid,omitempty"`    // process group of a command that was cut off
	Output string `json:"output,omitempty"` // the end of what it had said until then
}

// Approval is a tool call that asks before it runs.
type Approval struct {
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
	Class   Class  `json:"class"`
	Title   string `json:"title"`            // what would be done, in a few words
	Preview string `json:"detail,omitempty"` // the diff or the whole command
	Args    string `json:"args"`             // JSON
	Reason  string `json:"reason,omitempty"` // why it asks
	Danger  bool   `json:"danger,omitempty"` // it cannot be undone, or escapes what holds a command
	// Always is what "always" would allow from now on; empty: it cannot be allowed for good.
	Always string `json:"always,omitempty"`

	Reach   string `json:"reach,omitempty"`   // what a command could reach
	Outside bool   `json:"outside,omitempty"` // it can also be run outside the sandbox

	// UnknownOutcome says that it was running when belay ended: nobody knows whether
	// it was carried out.
	UnknownOutcome bool   `json:"unknown,omitempty"`
	Output         string `json:"output,omitempty"` // the end of what it had said until then
}

// Answer is a person's word on an approval.
type Answer struct {
	CallID  string `json:"call_id"`
	Allow   bool   `json:"allow"`
	Always  bool   `json:"always,omitempty"`  // also from now on, in this project
	Args    string `json:"args,omitempty"`    // edited arguments, JSON
	Outside bool   `json:"outside,omitempty"` // outside the sandbox, this once
	Message string `json:"words,omitempty"`   // told to the model when the call is denied

	Outcome bool `json:"happened,omitempty"` // of an unknown outcome: it was carried out
}

// Live reports whether a turn has begun and not ended.
func (s *Session) Live() bool { return s.Status == Running || s.Status == Asking }

// HasPrompt reports whether a prompt has been sent: it began the last turn, was taken
// by it, or is queued.
func (s *Session) HasPrompt(id string) bool {
	return s.PromptID == id || slices.Contains(s.TakenPrompts, id) || s.IsQueued(id)
}

// IsQueued reports whether a prompt waits behind the turn.
func (s *Session) IsQueued(id string) bool {
	return slices.ContainsFunc(s.Queue, func(q Queued) bool { return q.ID == id })
}

// IsSteered reports whether a queued prompt goes with the next request of the turn.
func (s *Session) IsSteered(id string) bool { return slices.Contains(s.Steered, id) }

// SteeredPrompts lists the queued prompts that go with the next request, in the order in
// which they were sent.
func (s *Session) SteeredPrompts() []Prompt {
	var list []Prompt
	for _, p := range s.Queue {
		if s.IsSteered(p.ID) {
			list = append(list, p)
		}
	}
	return list
}

// NeedsYou reports whether only a person can move the session on.
func (s *Session) NeedsYou() bool { return s.Status == Asking || s.Status == NeedsPerson }
