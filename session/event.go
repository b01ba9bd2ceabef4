package session

import (
	"encoding/json"
	"io/fs"
	"time"

	"belay/models"
)

// Record is an event in its place in the log.
type Record struct {
	Session ID        `json:"session"`
	Seq     int64     `json:"seq"` // from 1 without gaps; 0 for what is shown but not stored
	Turn    int       `json:"turn"`
	Time    time.Time `json:"time"`
	Event   Event     `json:"-"`
}

// Event is something that happened in a session. The set is closed. Events
// that are not durable are published and forgotten.
type Event interface{ event() }

// Created is the first event of every session.
type Created struct {
	Project string      `json:"project"`
	Tier    models.Tier `json:"tier"`
	Mode    Mode        `json:"mode"`
	Parent  ID          `json:"parent,omitempty"`
	PartOf  ID          `json:"part_of,omitempty"` // the session whose step this one carries out
	Step    int         `json:"step,omitempty"`    // its number, from 1; 0: it plans the steps
	Folder  string      `json:"folder,omitempty"`  // what the file system knows the project by; empty: it does not say
}

// Renamed gives the session a title of the user's.
type Renamed struct {
	Title string `json:"title"`
}

// ArchiveChanged moves the session into or out of the archive or the bin.
type ArchiveChanged struct {
	Archived bool      `json:"archived"`
	Deleted  time.Time `json:"deleted,omitzero"`
}

// TierChosen is a press of a tier key, or a choice on the command line.
type TierChosen struct {
	Tier models.Tier `json:"tier"`
}

// TargetPinned keeps the session's requests at one target; zero takes that back.
type TargetPinned struct {
	Target models.Target `json:"target,omitzero"`
}

// EffortChosen sets the reasoning effort that is asked for from now on; empty
// returns to the settings.
type EffortChosen struct {
	Effort string `json:"effort"`
}

// ModeChosen sets which tool calls run without asking.
type ModeChosen struct {
	Mode Mode `json:"mode"`
}

// TurnStarted begins a turn with a user's message; if that message was queued,
// it leaves the queue. Note is added by belay for the model: surroundings that
// changed, what an interruption left behind.
type TurnStarted struct {
	Prompt   Prompt `json:"prompt"`
	Note     string `json:"note,omitempty"`
	RunsPlan bool   `json:"steps,omitempty"` // the turn carries out a plan of steps
}

// SystemPrompt is the system text of the requests that follow. It is kept, so that a
// request which is made again after a crash, or a week, is the same.
type SystemPrompt struct {
	Instructions string            `json:"instructions"`
	Environment  string            `json:"where"` // of it, what tells where the model is
	ProjectRules string            `json:"rules"` // and what the AGENTS.md files say
	Files        []InstructionFile `json:"files,omitempty"`
}

// InstructionFile is a file whose text is in a system prompt.
type InstructionFile struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	Cut   bool   `json:"cut,omitempty"` // it was longer
}

// TurnResumed goes on with the last turn after it was parked, failed, stopped
// or interrupted. No message is added to the conversation.
type TurnResumed struct {
	Why string `json:"why"`
}

// ItemAdded commits an item of the conversation.
type ItemAdded struct {
	Item models.Item `json:"item"`
}

// CutOff keeps what a failed or stopped attempt had said. It is shown, never
// sent back, and disappears with the next words of the model.
type CutOff struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	Tool      string `json:"call,omitempty"`    // the tool whose arguments were being written
	Stopped   bool   `json:"stopped,omitempty"` // by the user: will not be written again

	Usage models.Usage `json:"usage,omitzero"` // where no other event tells of the attempt
	Cost  float64      `json:"cost,omitempty"`
}

// ToolStarted is written and synced before the tool does anything.
type ToolStarted struct {
	Effect Effect `json:"effect"`
}

// EffectInterrupted keeps what is known of a command that was running when belay ended.
type EffectInterrupted struct {
	CallID string `json:"call_id"`
	Output string `json:"output,omitempty"` // the end of what it had said
	PID    int    `json:"pid,omitempty"`    // its process group
}

// ToolEnded is written and synced before the model hears of the result.
type ToolEnded struct {
	CallID   string         `json:"call_id"`
	Tool     string         `json:"tool"`
	Title    string         `json:"title"`
	Output   string         `json:"output"` // what the model is told, bounded
	Images   []models.Image `json:"images,omitempty"`
	Summary  string         `json:"summary,omitempty"` // for the screen: "212 lines", "exit 1"
	Diff     string         `json:"diff,omitempty"`    // unified, of a changed file
	Error    bool           `json:"error,omitempty"`
	Denied   bool           `json:"denied,omitempty"`
	Unknown  bool           `json:"unknown,omitempty"` // interrupted: whether it was done is not known
	Duration time.Duration  `json:"took"`
	File     string         `json:"file,omitempty"` // where the whole output is kept, if it was longer
}

// ApprovalAsked says that a tool call waits for a person.
type ApprovalAsked struct {
	Approval Approval `json:"approval"`
}

// ApprovalAnswered is the person's word.
type ApprovalAnswered struct {
	Answer Answer `json:"answer"`
}

// TodosChanged replaces the model's plan.
type TodosChanged struct {
	Todos []Todo `json:"tasks"`
}

// PlanSet puts a plan in the place of the one before: proposed by a model, read
// from a file, or edited by a person.
type PlanSet struct {
	Plan  Plan         `json:"steps"`
	Usage models.Usage `json:"usage"` // that the proposal took
	Cost  float64      `json:"cost"`
}

// PlanStarted is a person's word that the plan is to be carried out. From sets
// the steps from there on back, as if they had not begun; 0: none.
type PlanStarted struct {
	Through bool `json:"through"`
	From    int  `json:"from,omitempty"`
}

// StepMoved gives the new state of a step.
type StepMoved struct {
	Number int  `json:"number"` // from 1
	Step   Step `json:"step"`
}

// StepChecked tells what came of a step's check.
type StepChecked struct {
	Number   int           `json:"number"`
	Command  string        `json:"command"`
	OK       bool          `json:"ok"`
	Summary  string        `json:"summary"` // "exit 1"
	Output   string        `json:"output"`  // bounded
	Duration time.Duration `json:"took"`
}

// Checkpointed marks a place that can be returned to.
type Checkpointed struct {
	Tree      string        `json:"tree,omitempty"`  // the working tree; empty: it was not kept
	Turn      int           `json:"turn"`            // that it is before, or in which the step is
	Step      int           `json:"step,omitempty"`  // before this step; 0: before a turn
	After     bool          `json:"after,omitempty"` // it is after the turn
	Title     string        `json:"words"`           // what comes after it
	Files     int           `json:"files,omitempty"`
	Skipped   []string      `json:"skipped,omitempty"` // in the workspace and not covered, with the reason
	Problem   string        `json:"why,omitempty"`     // why the tree was not kept
	PreImages []PreImage    `json:"early,omitempty"`   // files that were changed before the snapshot was there
	Duration  time.Duration `json:"took,omitempty"`
}

// PreImage is a file as it was before belay changed it, kept by itself because the
// snapshot was not there yet.
type PreImage struct {
	Path    string      `json:"path"` // relative to the workspace
	Missing bool        `json:"missing,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	Content []byte      `json:"content,omitempty"`
}

// Rewinding is written before files are put back, and Rewound after: a belay
// that was killed between the two goes on with it.
type Rewinding struct {
	To           int64      `json:"to"`              // the record after which everything is taken back
	Step         int        `json:"step,omitempty"`  // that place is before this step of the plan; 0: before a turn
	Conversation bool       `json:"talk"`            // the conversation
	Files        bool       `json:"files"`           //
	Tree         string     `json:"tree,omitempty"`  // what the files become
	From         string     `json:"from,omitempty"`  // what they are: the way back
	Undo         int64      `json:"undo,omitempty"`  // the Rewound that is taken back
	State        *State     `json:"state,omitempty"` // of the session at that place
	Before       *State     `json:"was,omitempty"`   // and before the rewind
	PreImages    []PreImage `json:"early,omitempty"` // files of the tree that were kept by themselves
}

// Rewound says that a rewind is complete.
type Rewound struct {
	Rewinding
	Written int      `json:"written"` // files
	Removed int      `json:"removed"`
	Failed  []string `json:"failed,omitempty"` // files that are not as they were, with the reason
}

// Pruned makes the requests that follow shorter. The log keeps everything.
type Pruned struct {
	By        string   `json:"by"`                  // what was taken out, in a few words: "older outputs"
	Calls     []string `json:"calls,omitempty"`     // whose outputs are replaced by a stub
	Reasoning int      `json:"reasoning,omitempty"` // reasoning up to this turn is left out
	// Excerpts are what stays of the attachments of a turn, in their order.
	Excerpts map[int][]string `json:"excerpts,omitempty"`
	Before   int64            `json:"before"` // tokens of the next request without it
	After    int64            `json:"after"`  // and with it
}

// Restored brings back what Reduced or Compacted took out: the outputs of some
// calls, or everything.
type Restored struct {
	Calls []string `json:"calls,omitempty"`
}

// Compacted lets a summary stand for the beginning of the conversation.
type Compacted struct {
	Through int64         `json:"through"` // the last record that it stands for
	Summary string        `json:"summary"`
	Task    string        `json:"task,omitempty"` // the user's words of the running turn, if the summary swallows them
	By      models.Target `json:"by,omitzero"`    // who wrote it
	Usage   models.Usage  `json:"usage"`          // that it took
	Cost    float64       `json:"cost"`
	Before  int64         `json:"before"` // tokens of the next request without it
	After   int64         `json:"after"`  // and with it
}

// Focused keeps searches to some folders or patterns; none takes that back.
type Focused struct {
	Paths []string `json:"paths,omitempty"`
}

// NotePinned is a note of the user's that stays in every request until it is dropped.
type NotePinned struct {
	Text     string `json:"text"`
	Unpinned bool   `json:"dropped,omitempty"`
}

// AttemptFailed records a failed attempt and the next move.
type AttemptFailed struct {
	Number int           `json:"attempt"`
	Of     int           `json:"of"`
	Tier   models.Tier   `json:"tier"`
	Target models.Target `json:"target"`
	Fault  *models.Fault `json:"fault"`
	Next   models.Next   `json:"next"`
	Delay  time.Duration `json:"delay"`
	Cost   float64       `json:"cost,omitempty"` // of the usage that the fault states
}

// Switched records that another target took over.
type Switched struct {
	From          models.Target `json:"from"`
	To            models.Target `json:"to"`
	FromTier      models.Tier   `json:"from_tier"`
	ToTier        models.Tier   `json:"to_tier"`
	Fault         *models.Fault `json:"fault,omitempty"`    // nil: the user asked for it, it is the way back, or for pictures
	Failback      bool          `json:"back,omitempty"`     // To is the preferred target again
	Pictures      bool          `json:"pictures,omitempty"` // To sees the pictures of the request, and From does not
	FailbackDelay time.Duration `json:"hold,omitempty"`     // how long From is left alone before it is tried again
}

// ReplyEnded records who served a reply and what it took.
type ReplyEnded struct {
	Tier      models.Tier   `json:"tier"`
	Target    models.Target `json:"target"`
	Served    string        `json:"served,omitempty"`
	RequestID string        `json:"request_id,omitempty"`
	Usage     models.Usage  `json:"usage"`
	Cost      float64       `json:"cost"`
	Window    int64         `json:"window,omitempty"`
	LeftOut   int           `json:"left_out,omitempty"` // items that did not fit into the request
}

// TurnOutcome is how a turn ended.
type TurnOutcome string

// The outcomes of a turn.
const (
	OutcomeDone        TurnOutcome = "done"
	OutcomeFailed      TurnOutcome = "failed"
	OutcomeParked      TurnOutcome = "parked"
	OutcomeStopped     TurnOutcome = "stopped"
	OutcomeNeedsPerson TurnOutcome = "needs person"
)

// TurnEnded ends a turn; each turn has exactly one, or one more for each
// TurnResumed and one for a parked turn that is given up.
type TurnEnded struct {
	Outcome       TurnOutcome   `json:"outcome"`
	Fault         *models.Fault `json:"fault,omitempty"`
	Reason        string        `json:"reason,omitempty"`      // for people, when there is no fault
	Interrupted   bool          `json:"interrupted,omitempty"` // belay ended in mid-turn; written by the one that found it
	Limit         bool          `json:"limit,omitempty"`       // a limit that the user set was reached
	RetryAt       time.Time     `json:"retry,omitzero"`        // parked: when it goes on
	ParkCount     int           `json:"rung,omitempty"`
	UserInitiated bool          `json:"asked,omitempty"` // parked by the user: goes on only when told to
}

// ContextMeasured says what a request that is about to go out is made of. It is not
// stored: the log makes the same request again.
type ContextMeasured struct{ Usage ContextUsage }

// Noted tells the user something that belongs to no other event.
type Noted struct {
	Text string `json:"text"`
}

// Unknown is an event that a newer belay wrote. It is kept and not understood.
type Unknown struct {
	Type string
	Data json.RawMessage
}

func (Created) event()           {}
func (Renamed) event()           {}
func (ArchiveChanged) event()    {}
func (TierChosen) event()        {}
func (TargetPinned) event()      {}
func (EffortChosen) event()      {}
func (ModeChosen) event()        {}
func (TurnStarted) event()       {}
func (SystemPrompt) event()      {}
func (TurnResumed) event()       {}
func (ItemAdded) event()         {}
func (CutOff) event()            {}
func (ToolStarted) event()       {}
func (EffectInterrupted) event() {}
func (ToolEnded) event()         {}
func (ApprovalAsked) event()     {}
func (ApprovalAnswered) event()  {}
func (TodosChanged) event()      {}
func (PlanSet) event()           {}
func (PlanStarted) event()       {}
func (StepMoved) event()         {}
func (StepChecked) event()       {}
func (Checkpointed) event()      {}
func (Rewinding) event()         {}
func (Rewound) event()           {}
func (Pruned) event()            {}
func (Restored) event()          {}
func (Compacted) event()         {}
func (Focused) event()           {}
func (NotePinned) event()        {}
func (AttemptFailed) event()     {}
func (Switched) event()          {}
func (ReplyEnded) event()        {}
func (ReplyContinued) event()    {}
func (TurnEnded) event()         {}
func (ContextMeasured) event()   {}
func (Noted) event()             {}
func (Unknown) event()           {}
