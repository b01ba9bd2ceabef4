package session

import (
	"slices"
	"time"

	"belay/models"
)

// Step is one part of a large task. It is carried out as a short session of its
// own, which knows the task, the plan and what came of the steps before, and
// not their conversations: a failure costs one step at most.
type Step struct {
	Title        string      `json:"title"`
	Instructions string      `json:"do"`              // what is to be done
	Proof        string      `json:"proof,omitempty"` // what shows that it is
	Tier         models.Tier `json:"tier,omitempty"`  // who is asked first; empty: the session's tier
	Pinned       bool        `json:"pin,omitempty"`   // no other tier: it waits rather than being done by a smaller model
	Check        string      `json:"check,omitempty"` // a command that decides whether it is done
	Needs        []int       `json:"needs"`           // numbers of the steps it builds on, from 1; nil: all before it
	Pause        bool        `json:"pause,omitempty"` // a person looks before it begins

	MaxRequests int     `json:"most_requests,omitempty"` // that each of its turns may make; 0: as the settings say
	MaxCost     float64 `json:"most_cost,omitempty"`     // US dollars, of each of its turns

	StepProgress
}

// StepProgress is how far a step has come.
type StepProgress struct {
	State        StepState     `json:"state"`
	Session      ID            `json:"session,omitempty"` // where it is carried out
	Note         string        `json:"note,omitempty"`    // of what came of it, for the steps after it
	Reason       string        `json:"reason,omitempty"`  // why it failed, waits or needs a person
	Fault        *models.Fault `json:"fault,omitempty"`
	RetryAt      time.Time     `json:"retry,omitzero"`   // parked: when it goes on
	FailedChecks int           `json:"failed,omitempty"` // times that its check has failed
	EarlierUsage models.Usage  `json:"earlier,omitzero"` // of sessions that were given up for this one
	ToolCalls    int           `json:"calls,omitempty"`  // of tools
	Usage        models.Usage  `json:"usage"`
	Cost         float64       `json:"cost"` // US dollars
	EarlierCost  float64       `json:"earlier_cost,omitempty"`
	StartedAt    time.Time     `json:"began,omitzero"`
	EndedAt      time.Time     `json:"ended,omitzero"`
}

// Reset is the step before it began. What it took until then stays counted.
func (s Step) Reset() Step {
	s.StepProgress = StepProgress{
		State: StepPending, Usage: s.Usage, Cost: s.Cost, EarlierUsage: s.Usage, EarlierCost: s.Cost,
	}
	return s
}

// StepState is how far a step is.
type StepState string

// The states of a step. Whether a running one waits for a model or for an
// answer is the state of its session.
const (
	StepPending StepState = "pending"
	StepRunning StepState = "running"
	StepParked  StepState = "parked"
	StepPerson  StepState = "needs you"
	StepDone    StepState = "done"
	StepFailed  StepState = "failed"
	StepSkipped StepState = "skipped"
)

// Finished reports whether nothing more is to be done for a step.
func (s Step) Finished() bool { return s.State == StepDone || s.State == StepSkipped }

// Started reports whether a step has left something behind, so that it can no
// longer be changed or moved.
func (s Step) Started() bool {
	return s.State != StepPending && s.State != StepSkipped && s.State != ""
}

// Plan is a large task and its plan.
type Plan struct {
	Task     string        `json:"task"` // the user's words
	Steps    []Step        `json:"list"`
	By       models.Target `json:"by,omitzero"`        // who proposed it; zero: a person wrote it
	Planning ID            `json:"planning,omitempty"` // the session in which it was proposed
	Template string        `json:"template,omitempty"` // the shape that it begins with
	Reviewed bool          `json:"reviewed,omitempty"` // a person has seen it: its checks may run
	Started  bool          `json:"begun,omitempty"`    // a person has said that it is to be carried out
	Through  bool          `json:"through,omitempty"`  // one after the other; otherwise a person says go each time
	Approved int           `json:"go,omitempty"`       // the step that a person last said go to
}

// Done counts the steps that are over.
func (s *Plan) Done() int {
	n := 0
	for _, x := range s.Steps {
		if x.Finished() {
			n++
		}
	}
	return n
}

// Current is the number of the step that is under way, or would be next; 0: none.
func (s *Plan) Current() int {
	next := 0
	for i, x := range s.Steps {
		switch {
		case x.State == StepRunning:
			return i + 1
		case !x.Finished() && next == 0:
			next = i + 1
		}
	}
	return next
}

// Running is the step that is under way, if one is.
func (s *Plan) Running() (Step, bool) {
	if n := s.Current(); n > 0 && s.Steps[n-1].State == StepRunning {
		return s.Steps[n-1], true
	}
	return Step{}, false
}

// start is the plan after a person's word to carry it out.
func (s *Plan) start(started PlanStarted) *Plan {
	next := *s
	next.Steps = slices.Clone(s.Steps)
	if started.From > 0 {
		for i := range next.Steps {
			if i+1 >= started.From && next.Steps[i].State != StepSkipped {
				next.Steps[i] = next.Steps[i].Reset()
			}
		}
	}
	next.Through, next.Reviewed, next.Started = started.Through, true, true
	next.Approved = next.Current()
	return &next
}

// Checkpoint is a place that can be returned to: in the log, and in the files.
type Checkpoint struct {
	Seq     int64     `json:"seq"` // of its record; what came after it is taken back
	Turn    int       `json:"turn"`
	Time    time.Time `json:"time"`
	Step    int       `json:"step,omitempty"`  // before this step; 0: before a turn
	After   bool      `json:"after,omitempty"` // after the turn: the files may have been changed by hand since
	Title   string    `json:"words"`           // what came after it: the prompt, the step
	Tree    string    `json:"tree,omitempty"`  // the working tree; empty: it was not kept
	Rewound bool      `json:"gone,omitempty"`  // taken back
}

// Change is what becomes of a file from one working tree to another. In a
// preview that is from now to the checkpoint.
type Change struct {
	Path    string     `json:"path"` // relative to the workspace, with slashes
	Kind    ChangeKind `json:"kind"`
	Added   int        `json:"added"` // lines; 0 for a binary file
	Removed int        `json:"removed"`
	Binary  bool       `json:"binary,omitempty"`
}

// ChangeKind says what becomes of a file: added, changed, removed or mode.
type ChangeKind string

// Preview is what a rewind would do.
type Preview struct {
	Checkpoint Checkpoint `json:"checkpoint"`
	Now        string     `json:"now"` // the working tree it was made against
	Changes    []Change   `json:"changes"`
	Patch      string     `json:"patch,omitempty"` // unified, bounded
	Turns      int        `json:"turns"`           // that are taken back
	Steps      int        `json:"steps"`           // of the plan that are taken back
	Commands   []string   `json:"commands"`        // that ran since: what they did outside the workspace stays
	Skipped    []string   `json:"skipped"`         // in the workspace and not covered
}
