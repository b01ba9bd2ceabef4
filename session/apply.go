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
func (s *Session) Apply(record Record) {
	s.LastSeq, s.Updated = max(s.LastSeq, record.Seq), record.Time
	switch e := record.Event.(type) {
	case Created:
		s.ID, s.Created, s.Project, s.Parent = record.Session, record.Time, e.Project, e.Parent
		s.PartOf, s.Step, s.Folder = e.PartOf, e.Step, e.Folder
		s.Tier, s.Mode, s.Status = e.Tier, e.Mode, Idle
	case FolderMoved:
		s.Project, s.Folder = e.Project, e.Folder
	case Titled:
		if !s.UserTitled {
			s.Title = e.Title
		}
		s.Usage = s.Usage.Add(e.Usage)
		s.Cost += e.Cost
	case Renamed:
		s.Title, s.UserTitled = e.Title, e.Title != ""
	case ArchiveChanged:
		s.Archived, s.Deleted = e.Archived, e.Deleted
	case TierChosen:
		s.Tier, s.PinnedTarget = e.Tier, models.Target{}
	case TargetPinned:
		s.PinnedTarget = e.Target
	case EffortChosen:
		s.Effort = e.Effort
	case ModeChosen:
		s.Mode = e.Mode
	case PromptQueued:
		s.unqueue(e.Prompt.ID)
		s.Queue = append(slices.Clone(s.Queue), e.Prompt)
	case PromptUnqueued:
		s.unqueue(e.ID)
	case PromptSteered:
		if s.IsQueued(e.ID) && !s.IsSteered(e.ID) {
			s.Steered = append(slices.Clone(s.Steered), e.ID)
		}
	case Compacted:
		s.Summary, s.SummaryThrough, s.TaskPrompt = e.Summary, e.Through, e.Task
		s.Usage, s.Cost = s.Usage.Add(e.Usage), s.Cost+e.Cost
		s.ContextTokens = 0 // unknown until the next reply
		s.addOmitted(Omission{Label: OmittedSummary, Freed: e.Before - e.After})
	case Pruned:
		s.ContextTokens = 0
		s.addOmitted(Omission{Label: e.By, Calls: len(e.Calls), Freed: e.Before - e.After})
	case Restored:
		s.ContextTokens = 0
		if len(e.Calls) == 0 {
			s.Summary, s.SummaryThrough, s.TaskPrompt, s.Omitted = "", 0, "", nil
		}
	case Focused:
		s.Focus = e.Paths
	case NotePinned:
		s.PinnedNotes = without(s.PinnedNotes, func(k string) bool { return k == e.Text })
		if !e.Unpinned {
			s.PinnedNotes = append(s.PinnedNotes, e.Text)
		}
	case PlanSet:
		steps := e.Plan
		s.Plan = &steps
		s.Usage, s.Cost = s.Usage.Add(e.Usage), s.Cost+e.Cost
	case PlanStarted:
		if s.Plan != nil {
			s.Plan = s.Plan.start(e)
		}
	case StepMoved:
		s.moveStep(e)
	case Checkpointed:
		if e.Turn >= s.CheckpointTurn && !e.After {
			s.CheckpointTree, s.CheckpointTurn = e.Tree, e.Turn
		}
	case Rewinding:
		s.PendingRewind = &e
	case Rewound:
		s.applyRewound(record.Seq, e)
	case TodosChanged:
		s.Todos = e.Todos
	case Switched:
		s.Target, s.ContextTokens = e.To, 0 // another model counts anew
	case ReplyEnded:
		s.Target, s.Served, s.Window = e.Target, e.Served, e.Window
		s.ContextTokens = e.Usage.Input + e.Usage.Output
		s.addRequest(e)
		s.ParkCount = 0 // a model has answered: what fails from here is a new trouble
	case AttemptFailed, CutOff:
		s.addRequest(e)
	case ItemAdded:
		if e.Item.Kind == models.Message && e.Item.Role == models.Assistant {
			s.LastLine = firstLine(e.Item.Text)
		}
	default:
		s.applyTurn(record)
	}
}

func (s *Session) addRequest(e Event) {
	usage, cost := RequestUsage(e)
	s.Usage = s.Usage.Add(usage)
	s.Cost += cost
}

// applyTurn handles the events that begin, carry and end a turn.
func (s *Session) applyTurn(record Record) {
	switch e := record.Event.(type) {
	case PromptTaken:
		s.unqueue(e.Prompt.ID)
		s.TakenPrompts = append(slices.Clone(s.TakenPrompts), e.Prompt.ID)
		s.LastLine = firstLine(e.Prompt.Text)
	case TurnStarted:
		if !s.IsSteered(e.Prompt.ID) {
			s.Steered = nil // it was meant for the turn before
		}
		s.unqueue(e.Prompt.ID)
		s.TakenPrompts = nil
		s.Turn, s.TurnStartedAt, s.PromptID, s.RunsPlan = record.Turn, record.Time, e.Prompt.ID, e.RunsPlan
		s.Answer = e.Prompt.Answer
		s.startRunning()
		s.ParkCount = 0
		s.Todos, s.PendingApprovals = carryOverTodos(s.Todos), nil // what was asked before is no longer wanted
		s.LastLine = firstLine(e.Prompt.Text)
		if s.FirstPrompt == "" {
			s.FirstPrompt = truncate(e.Prompt.Text, maxFirstPrompt)
		}
		if !s.UserTitled && s.Title == "" {
			s.Title = titleOf(e.Prompt.Text)
		}
	case TurnResumed:
		s.startRunning()
	case ToolStarted:
		s.OpenEffects = append(slices.Clone(s.OpenEffects), e.Effect)
	case EffectInterrupted:
		s.OpenEffects = slices.Clone(s.OpenEffects)
		for i := range s.OpenEffects {
			if x := &s.OpenEffects[i]; x.CallID == e.CallID {
				x.Output, x.PID = e.Output, e.PID
			}
		}
	case ToolEnded:
		s.OpenEffects = without(s.OpenEffects, func(x Effect) bool { return x.CallID == e.CallID })
		if e.Diff != "" && !e.Error {
			s.addChangedFile(e.Title)
		}
		s.settleApproval(e.CallID)
	case ApprovalAsked:
		s.settleApproval(e.Approval.CallID)
		s.PendingApprovals = append(slices.Clone(s.PendingApprovals), e.Approval)
		s.Status = Asking
	case ApprovalAnswered:
		s.settleApproval(e.Answer.CallID)
	case TurnEnded:
		s.Fault, s.RetryAt, s.ParkCount = e.Fault, e.RetryAt, e.ParkCount
		if e.Outcome != OutcomeNeedsPerson {
			s.PendingApprovals = nil
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

// moveStep gives a step its new state; what it took in its session is counted here.
func (s *Session) moveStep(e StepMoved) {
	if s.Plan == nil || e.Number < 1 || e.Number > len(s.Plan.Steps) {
		return
	}
	steps := *s.Plan
	steps.Steps = slices.Clone(steps.Steps)
	old := steps.Steps[e.Number-1]
	steps.Steps[e.Number-1] = e.Step
	s.Plan = &steps
	s.Usage = s.Usage.Add(
		models.Usage{Input: e.Step.Usage.Input - old.Usage.Input, Cached: e.Step.Usage.Cached - old.Usage.Cached,
			Output: e.Step.Usage.Output - old.Usage.Output, Reasoning: e.Step.Usage.Reasoning - old.Usage.Reasoning},
	)
	s.Cost += e.Step.Cost - old.Cost
	if e.Step.Note != "" {
		s.LastLine = firstLine(e.Step.Note)
	}
}

// carryOverTodos is a plan as the next turn takes it over: not at all when all of it
// is done.
func carryOverTodos(plan []Todo) []Todo {
	for _, t := range plan {
		if t.Status != "done" {
			return plan
		}
	}
	return nil
}

// maxChangedFiles bounds how many changed files a state remembers.
const maxChangedFiles = 200

func (s *Session) addChangedFile(file string) {
	s.ChangedFiles = append(without(s.ChangedFiles, func(f string) bool { return f == file }), file)
	s.ChangedFiles = s.ChangedFiles[max(len(s.ChangedFiles)-maxChangedFiles, 0):]
}

func (s *Session) startRunning() {
	s.Status, s.Fault, s.RetryAt = Running, nil, time.Time{}
}

func (s *Session) settleApproval(callID string) {
	s.PendingApprovals = without(s.PendingApprovals, func(a Approval) bool { return a.CallID == callID })
	if s.Status == Asking && len(s.PendingApprovals) == 0 {
		s.Status = Running
	}
}

func (s *Session) unqueue(id string) {
	s.Queue = without(s.Queue, func(q Queued) bool { return q.ID == id })
	s.Steered = without(s.Steered, func(steered string) bool { return steered == id })
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

// firstLine is the first line of a text, bounded for lists and titles.
func firstLine(text string) string {
	text = strings.TrimSpace(text)
	if first, _, more := strings.Cut(text, "\n"); more {
		text = strings.TrimSpace(first)
	}
	return truncate(text, 120)
}

// maxFirstPrompt is how many letters of the first prompt a state remembers.
const maxFirstPrompt = 600

// truncate cuts a text after so many letters.
func truncate(text string, limit int) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > limit {
		text = string([]rune(text)[:limit-1]) + "…"
	}
	return text
}
