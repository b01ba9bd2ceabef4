// Package batch decides how a list of tasks is carried out while nobody watches:
// what a task is, how a file of them is read, where each one works, how fast they
// follow each other, and what is left of each.
//
// It starts nothing by itself: package queue says which task is next, and keeps
// what came of it.
package batch

import (
	"time"

	"belay/models"
	"belay/session"
)

// Lane is how urgent a task is: who waits for whom.
type Lane string

// The lanes, the most urgent first.
const (
	Interactive Lane = "interactive" // somebody waits for it: it keeps no pace and has no budget
	Normal      Lane = "normal"
	Bulk        Lane = "batch" // when there is room
)

// Lanes lists the lanes, the most urgent first.
func Lanes() []Lane { return []Lane{Interactive, Normal, Bulk} }

// Task is one prompt that is carried out in a session of its own.
type Task struct {
	Name   string `json:"name"`
	Prompt string `json:"prompt"`

	Folder     string `json:"folder,omitempty"`     // an absolute path; empty with a repository
	Repository string `json:"repository,omitempty"` // what git can clone, so that any machine can fetch it
	Revision   string `json:"revision,omitempty"`   // what the work begins at; empty: HEAD
	Worktree   bool   `json:"worktree,omitempty"`   // in a git worktree of its own, which gives a patch
	Branch     string `json:"branch,omitempty"`     // that is set to the result; needs a worktree

	Tier     models.Tier  `json:"tier,omitempty"`   // empty: the settings'
	Effort   string       `json:"effort,omitempty"` // of reasoning; empty: the settings'
	Approve  session.Mode `json:"approve,omitempty"`
	Lane     Lane         `json:"lane"`
	Priority int          `json:"priority"` // within its lane: 1 (first) to 4
	Quiet    bool         `json:"quiet,omitempty"`

	Timeout  time.Duration `json:"timeout,omitempty"`   // of one try; 0: none
	Retries  int           `json:"retries,omitempty"`   // more tries after a failure that may pass
	MaxCost  float64       `json:"max_cost,omitempty"`  // US dollars; 0: no limit
	MaxSteps int           `json:"max_steps,omitempty"` // requests to the model; 0: no limit
}

// The bounds of tasks and of their files.
const (
	maxTasks    = 100_000
	maxPrompt   = 1 << 20
	maxPriority = 4
	maxRetries  = 20
	maxTimeout  = 7 * 24 * time.Hour
	// MaxFile is the size of the largest file of tasks.
	MaxFile = 64 << 20
)

// Defaults are the values of what a file does not say.
func Defaults() Task { return Task{Lane: Bulk, Priority: 2, Retries: 1} }

// Result is what came of a task.
type Result struct {
	State    State         `json:"state"`            // Done, Failed or Cancelled
	Text     string        `json:"text,omitempty"`   // the last words of the model, bounded
	Error    string        `json:"error,omitempty"`  // why it failed, in a sentence
	Hint     string        `json:"hint,omitempty"`   // what to do about it
	Fault    *models.Fault `json:"fault,omitempty"`  // of the model, if that is why
	Limit    bool          `json:"limit,omitempty"`  // a limit of cost, steps or retries ended it
	Person   bool          `json:"person,omitempty"` // only a person can go on
	Passing  bool          `json:"passing,omitempty"`
	Commit   string        `json:"commit,omitempty"` // that the branch was set to
	Branch   string        `json:"branch,omitempty"`
	Cost     float64       `json:"cost,omitempty"` // US dollars, as far as prices are known
	Usage    models.Usage  `json:"usage,omitzero"`
	Requests int           `json:"requests,omitempty"` // of this try
	Full     int           `json:"full,omitempty"`     // of them, found no capacity
	Patch    []byte        `json:"-"`                  // the changes, as git apply takes them
	Record   []byte        `json:"-"`                  // the session's log, as JSON lines
}

// State is how a task stands.
type State string

// The states of a task. The last three are for good.
const (
	Waiting   State = "waiting"
	Running   State = "running"
	Parked    State = "parked" // its models gave way, or its lane's budget is spent; it goes on by itself
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// States lists all of them.
func States() []State { return []State{Waiting, Running, Parked, Done, Failed, Cancelled} }

// Over reports whether a state is for good.
func (s State) Over() bool { return s == Done || s == Failed || s == Cancelled }

// Event is something that happened to a task, for whoever shows it, counts it or
// calls somebody.
type Event struct {
	Time   time.Time     `json:"time"`
	Type   EventType     `json:"type"`
	Batch  string        `json:"batch"`
	Task   string        `json:"task"` // its id
	Name   string        `json:"name"`
	Lane   Lane          `json:"lane,omitempty"`
	Try    int           `json:"try,omitempty"`
	State  State         `json:"state,omitempty"`
	Text   string        `json:"text,omitempty"`
	Until  time.Time     `json:"until,omitzero"` // parked: when it goes on
	Fault  *models.Fault `json:"fault,omitempty"`
	Target models.Target `json:"target,omitzero"`

	Session session.ID `json:"session,omitempty"`
	Cost    float64    `json:"cost,omitempty"`
	Commit  string     `json:"commit,omitempty"`
}

// EventType is what kind of thing happened.
type EventType string

// What happens to tasks.
const (
	TaskScheduled EventType = "task.scheduled" // it waits for its time
	TaskStarted   EventType = "task.started"
	TaskResumed   EventType = "task.resumed"   // with the session that it had
	TaskRestarted EventType = "task.restarted" // what there was is lost with its machine
	TaskParked    EventType = "task.parked"
	TaskRetried   EventType = "task.retried" // it failed and is tried again
	TaskReleased  EventType = "task.released"
	TaskEnded     EventType = "task.ended"
	AttemptDone   EventType = "attempt.done"
	AttemptFailed EventType = "attempt.failed"
)
