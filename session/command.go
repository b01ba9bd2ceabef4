package session

import (
	"time"

	"belay/models"
)

// Command is what a person can tell a running engine to do with a session.
// The set is closed.
type Command interface{ command() }

// Send starts a turn with a prompt, or queues it behind the running one.
type Send struct{ Prompt Prompt }

// Unqueue takes a queued prompt back.
type Unqueue struct{ ID string }

// SteerQueued lets a queued prompt go with the next request of the running turn; an
// empty ID means all that are queued.
type SteerQueued struct{ ID string }

// Stop ends the running turn, or what it waits for.
type Stop struct{}

// Resume goes on with a turn that was parked, failed, stopped or interrupted.
type Resume struct{}

// Drop gives the parked or failed turn up, so that the queue moves on.
type Drop struct{}

// TryNow ends a wait: the waiting request goes out at once.
type TryNow struct{}

// Park saves the waiting turn for later and frees the session.
type Park struct{}

// ChooseTier sets the tier, for the waiting or streaming request as well.
type ChooseTier struct{ Tier models.Tier }

// PinTarget keeps the session's requests at one target until a tier is chosen; the
// zero Target takes the pin away.
type PinTarget struct{ Target models.Target }

// DisableTarget keeps all requests of all belays away from a target, or takes that
// back. It belongs to no session.
type DisableTarget struct {
	Target   models.Target
	Disabled bool
}

// Compact replaces the older part of the conversation by a summary now. Keep
// says what the summary must not lose.
type Compact struct{ Keep string }

// ChooseEffort sets the reasoning effort of the requests that follow; empty
// returns to the settings.
type ChooseEffort struct{ Effort string }

// PruneRequest lets the next request, or the one that waits, go out pruned. The
// conversation stays as it is.
type PruneRequest struct{}

// PlanTask lets a model propose steps for a large task, or takes a plan that a
// person wrote. Go carries it out at once.
type PlanTask struct {
	Prompt   Prompt
	Template string // the name of a usual shape to begin with; may be empty
	Steps    []Step // a plan that is there already; none: a model proposes one
	Start    bool
}

// EditPlan edits the plan. Steps that have begun stay as they are.
type EditPlan struct{ Steps []Step }

// RunPlan carries the plan out: through, or the next step alone. From begins
// again at a step that failed or was done before; 0 goes on.
type RunPlan struct {
	Through bool
	From    int
}

// Rewind returns to a checkpoint.
type Rewind struct {
	To           int64  // the record of the checkpoint
	Conversation bool   // the conversation
	Files        bool   //
	ExpectTree   string // the working tree that the preview was made against; empty: whatever it is
}

// UndoRewind takes the last rewind back.
type UndoRewind struct{}

// PruneOutputs takes older tool outputs out of the requests that follow.
type PruneOutputs struct{}

// Restore brings back what was taken out; without calls, everything.
type Restore struct{ Calls []string }

// Focus keeps searches to some folders or patterns of the workspace; none takes
// that back.
type Focus struct{ Paths []string }

// PinNote pins a note to every request, or drops it.
type PinNote struct {
	Text  string
	Unpin bool
}

// ChooseMode sets which tool calls run without asking.
type ChooseMode struct{ Mode Mode }

// AnswerApproval answers an approval.
type AnswerApproval struct{ Answer Answer }

// Rename gives a title; an empty one returns to the first prompt's words.
type Rename struct{ Title string }

// SetArchived archives or deletes a session, or takes that back.
type SetArchived struct {
	Archived bool
	Deleted  time.Time
}

func (Send) command()           {}
func (Unqueue) command()        {}
func (SteerQueued) command()    {}
func (Stop) command()           {}
func (Resume) command()         {}
func (Drop) command()           {}
func (TryNow) command()         {}
func (Park) command()           {}
func (ChooseTier) command()     {}
func (PinTarget) command()      {}
func (DisableTarget) command()  {}
func (Compact) command()        {}
func (ChooseEffort) command()   {}
func (PruneRequest) command()   {}
func (PlanTask) command()       {}
func (EditPlan) command()       {}
func (RunPlan) command()        {}
func (Rewind) command()         {}
func (UndoRewind) command()     {}
func (PruneOutputs) command()   {}
func (Restore) command()        {}
func (Focus) command()          {}
func (PinNote) command()        {}
func (ChooseMode) command()     {}
func (AnswerApproval) command() {}
func (Rename) command()         {}
func (SetArchived) command()    {}

// Filter says which sessions a list holds. The zero value lists all that are
// neither archived nor deleted.
type Filter struct {
	Project  string // only of this workspace
	Archived bool   // the archived ones instead
	Deleted  bool   // the deleted ones instead
	Limit    int    // 0: all
}

// Hit is a place where a search found its words.
type Hit struct {
	Session Session
	Seq     int64
	Snippet string // plain text around the place; the words found stand between \x02 and \x03
}

// Owner is the program that may write to a session.
type Owner struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Program string    `json:"what"` // "screen", "run"
	Since   time.Time `json:"since"`
}

// Draft is the unfinished reply as it was saved last.
type Draft struct {
	Turn      int    `json:"turn"`
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	Call      string `json:"call,omitempty"` // the tool whose arguments were being written

	CallID string `json:"call_id,omitempty"` // the command that runs
	Output string `json:"output,omitempty"`  // the end of what it has said so far
	PID    int    `json:"pid,omitempty"`     // its process group
}
