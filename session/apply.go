package session

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"belay/models"
)

// Apply moves the state on by one record of the log. It is total: a record
// that makes no sense in the present state changes as little as it can.
func (s *Session) Apply(r Record) {
	s.Events, s.Updated = max(s.Events, r.Seq), r.Time
	switch e := r.Event.(type) {
	case Created:
		s.ID, s.Created, s.Project, s.Parent = r.Session, r.Time, e.Project, e.Parent
		s.PartOf, s.Step = e.PartOf, e.Step
		s.Tier, s.Mode, s.Status = e.Tier, e.Mode, Idle
	case Renamed:
		s.Title, s.Named = e.Title, e.Title != ""
	case Filed:
		s.Archived, s.Deleted = e.Archived, e.Deleted
	case TierChosen:
		s.Tier, s.Pin = e.Tier, models.Target{}
	case Pinned:
		s.Pin = e.Target
	case EffortChosen:
		s.Effort = e.Effort
	case ModeChosen:
		s.Mode = e.Mode
	case PromptQueued:
		s.unqueue(e.Prompt.ID)
		s.Queue = append(slices.Clone(s.Queue), e.Prompt)
	case PromptUnqueued:
		s.unqueue(e.ID)
	case Compacted:
		s.Summary, s.Through, s.Task = e.Summary, e.Through, e.Task
		s.Usage, s.Cost = s.Usage.Add(e.Usage), s.Cost+e.Cost
		s.Context = 0 // unknown until the next reply
		s.lighten(Left{What: LeftSummary, Freed: e.Before - e.After})
	case Reduced:
		s.Context = 0
		s.lighten(Left{What: e.By, Calls: len(e.Calls), Freed: e.Before - e.After})
	case Restored:
		s.Context = 0
		if len(e.Calls) == 0 {
			s.Summary, s.Through, s.Task, s.Left = "", 0, "", nil
		}
	case Focused:
		s.Focus = e.Paths
	case Kept:
		s.Kept = without(s.Kept, func(k string) bool { return k == e.Text })
		if !e.Dropped {
			s.Kept = append(s.Kept, e.Text)
		}
	case StepsSet:
		steps := e.Steps
		s.Steps = &steps
		s.Usage, s.Cost = s.Usage.Add(e.Usage), s.Cost+e.Cost
	case StepsBegun:
		if s.Steps != nil {
			s.Steps = s.Steps.begin(e)
		}
	case StepMoved:
		s.move(e)
	case Checkpointed:
		if e.Turn >= s.Marked && !e.After {
			s.Tree, s.Marked = e.Tree, e.Turn
		}
	case Rewinding:
		s.Rewind = &e
	case Rewound:
		s.rewound(r.Seq, e)
	case PlanChanged:
		s.Plan = e.Tasks
	case Switched:
		s.Target, s.Context = e.To, 0 // another model counts anew
	case ReplyEnded:
		s.Target, s.Served, s.Window = e.Target, e.Served, e.Window
		s.Context = e.Usage.Input + e.Usage.Output
		s.Usage, s.Cost = s.Usage.Add(e.Usage), s.Cost+e.Cost
		s.Rung = 0 // a model has answered: what fails from here is a new trouble
	case ItemAdded:
		if e.Item.Kind == models.Message && e.Item.Role == models.Assistant {
			s.LastLine = line(e.Item.Text)
		}
	default:
		s.applyTurn(r)
	}
}

// applyTurn handles the events that begin, carry and end a turn.
func (s *Session) applyTurn(r Record) {
	switch e := r.Event.(type) {
	case TurnStarted:
		s.unqueue(e.Prompt.ID)
		s.Turn, s.Began, s.Prompt, s.Stepping = r.Turn, r.Time, e.Prompt.ID, e.Steps
		s.run()
		s.Rung = 0
		s.Plan, s.Asked = unfinished(s.Plan), nil // what was asked before is no longer wanted
		s.LastLine = line(e.Prompt.Text)
		if s.First == "" {
			s.First = bounded(e.Prompt.Text, mostFirst)
		}
		if !s.Named && s.Title == "" {
			s.Title = line(e.Prompt.Text)
		}
	case TurnResumed:
		s.run()
	case ToolStarted:
		s.Effects = append(slices.Clone(s.Effects), e.Effect)
	case EffectLeft:
		s.Effects = slices.Clone(s.Effects)
		for i := range s.Effects {
			if x := &s.Effects[i]; x.CallID == e.CallID {
				x.Output, x.PID = e.Output, e.PID
			}
		}
	case ToolEnded:
		s.Effects = without(s.Effects, func(x Effect) bool { return x.CallID == e.CallID })
		if e.Diff != "" && !e.Error {
			s.touch(e.Title)
		}
		s.settle(e.CallID)
	case ApprovalAsked:
		s.settle(e.Approval.CallID)
		s.Asked = append(slices.Clone(s.Asked), e.Approval)
		s.Status = Asking
	case ApprovalAnswered:
		s.settle(e.Answer.CallID)
	case TurnEnded:
		s.Fault, s.Retry, s.Rung = e.Fault, e.Retry, e.Rung
		if e.Outcome != OutcomeNeedsPerson {
			s.Asked = nil
		}
		switch e.Outcome {
		case OutcomeDone:
			s.Status = Idle
		case OutcomeParked:
			s.Status = Parked
		case OutcomeStopped:
			s.Status = Stopped
			if e.Interrupted {
				s.Status = Interrupted
			}
		case OutcomeNeedsPerson:
			s.Status = NeedsPerson
		default:
			s.Status = Failed
		}
	}
}

// move gives a step its new state; what it took in its session is counted here.
func (s *Session) move(e StepMoved) {
	if s.Steps == nil || e.Number < 1 || e.Number > len(s.Steps.List) {
		return
	}
	steps := *s.Steps
	steps.List = slices.Clone(steps.List)
	old := steps.List[e.Number-1]
	steps.List[e.Number-1] = e.Step
	s.Steps = &steps
	s.Usage = s.Usage.Add(models.Usage{Input: e.Step.Usage.Input - old.Usage.Input, Cached: e.Step.Usage.Cached - old.Usage.Cached,
		Output: e.Step.Usage.Output - old.Usage.Output, Reasoning: e.Step.Usage.Reasoning - old.Usage.Reasoning})
	s.Cost += e.Step.Cost - old.Cost
	if e.Step.Note != "" {
		s.LastLine = line(e.Step.Note)
	}
}

// unfinished is a plan as the next turn takes it over: not at all when all of it
// is done.
func unfinished(plan []Task) []Task {
	for _, t := range plan {
		if t.Status != "done" {
			return plan
		}
	}
	return nil
}

// mostFiles bounds how many changed files a state remembers.
const mostFiles = 200

func (s *Session) touch(file string) {
	s.Files = append(without(s.Files, func(f string) bool { return f == file }), file)
	s.Files = s.Files[max(len(s.Files)-mostFiles, 0):]
}

func (s *Session) run() {
	s.Status, s.Fault, s.Retry = Running, nil, time.Time{}
}

func (s *Session) settle(callID string) {
	s.Asked = without(s.Asked, func(a Approval) bool { return a.CallID == callID })
	if s.Status == Asking && len(s.Asked) == 0 {
		s.Status = Running
	}
}

func (s *Session) unqueue(id string) {
	s.Queue = without(s.Queue, func(q Queued) bool { return q.ID == id })
}

// without copies list less what drop matches. States are handed out by value,
// so Apply never writes into a slice that somebody may still be reading.
func without[T any](list []T, drop func(T) bool) []T {
	var kept []T
	for _, x := range list {
		if !drop(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// line is the first line of a text, bounded for lists and titles.
func line(text string) string {
	text = strings.TrimSpace(text)
	if first, _, more := strings.Cut(text, "\n"); more {
		text = strings.TrimSpace(first)
	}
	return bounded(text, 120)
}

// mostFirst is how many letters of the first prompt a state remembers.
const mostFirst = 600

// bounded cuts a text after so many letters.
func bounded(text string, limit int) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > limit {
		text = string([]rune(text)[:limit-1]) + "…"
	}
	return text
}
