package transcript

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/theme"
)

// large is what the transcript remembers of a plan while it is carried out.
type large struct {
	of      int                       // steps in the plan; 0: not known
	shown   string                    // the proposal that was told of last
	states  map[int]session.StepState // as they were told
	why     string                    // the files are not kept, as it was said last
	skipped *entry                    // says what the checkpoints do not cover
	turns   map[int64]int             // taken back by the rewind with that record
	reading bool                      // a log, without what was taken back
}

// applyLarge shows what happens to a plan, and to the way back.
func (f *fold) applyLarge(r session.Record) {
	switch e := r.Event.(type) {
	case session.PlanSet:
		f.large.of = len(e.Plan.Steps)
		name := e.Plan.Task + "\x00" + string(e.Plan.Planning)
		if len(e.Plan.Steps) == 0 {
			if e.Plan.Planning != "" {
				f.line(r, "≡", "a model looks around and proposes steps", calm)
			}
			return
		}
		if f.large.shown != name {
			f.large.shown, f.large.states = name, nil
			words := theme.Plural(len(e.Plan.Steps), "step")
			if e.Plan.By.Model != "" {
				words += " proposed by " + f.short(e.Plan.By)
			}
			f.line(r, "≡", words+": "+keys.Label(keys.StepsPanel)+" shows them", calm)
		}
	case session.StepMoved:
		f.moved(r, e)
	case session.StepChecked:
		f.checked(r, e)
	case session.Checkpointed:
		f.checkpointed(r, e)
	case session.Rewound:
		f.rewound(r, e)
	}
}

// moved says that a step began, or what came of it, once.
func (f *fold) moved(r session.Record, e session.StepMoved) {
	if f.large.states[e.Number] == e.Step.State {
		return
	}
	if f.large.states == nil {
		f.large.states = map[int]session.StepState{}
	}
	f.large.states[e.Number] = e.Step.State
	s := e.Step
	step := fmt.Sprintf("step %d", e.Number)
	switch s.State {
	case session.StepRunning:
		if f.large.of > 0 {
			step += fmt.Sprintf(" of %d", f.large.of)
		}
		if s.Title != "" {
			step += ": " + theme.Line(s.Title)
		}
		if s.Tier != "" {
			step += " (" + theme.Line(string(s.Tier)) + ")"
		}
		f.line(r, "▶", step, calm)
	case session.StepDone:
		words := step + " done"
		if note := theme.Line(firstLine(strings.TrimSpace(s.Note))); note != "" {
			words += ": " + theme.Cut(note, 200)
		}
		if s.ToolCalls > 0 {
			words += " · " + theme.Plural(s.ToolCalls, "call")
		}
		if s.Cost > 0 {
			words += " · " + theme.Money(s.Cost)
		}
		f.line(r, "✓", words, good)
	case session.StepFailed:
		f.line(r, "✗", step+" failed"+because(s.Fault, theme.Line(s.Reason)), bad)
	case session.StepParked:
		words := step + " parked"
		if !s.RetryAt.IsZero() {
			words += " until " + theme.At(s.RetryAt)
		}
		f.line(r, "⏸", words+because(s.Fault, theme.Line(s.Reason)), warn)
	case session.StepPerson:
		f.line(r, "!", step+" needs you"+because(s.Fault, theme.Line(s.Reason)), warn)
	case session.StepSkipped:
		f.line(r, "–", step+" skipped"+because(nil, theme.Line(s.Reason)), calm)
	}
}

// check is the name of what decides whether a step is done, among the tools.
const check = "check"

// checked shows a check as a call: one line, and what it printed behind it.
func (f *fold) checked(r session.Record, e session.StepChecked) {
	c := &entry{kind: call, seq: r.Seq, turn: r.Turn, id: fmt.Sprintf("check %d", r.Seq), tool: check, title: e.Command, output: e.Output, summary: e.Summary, phase: done, took: e.Duration}
	if !e.OK {
		c.phase = failed
	}
	f.push(c)
}

// checkpointed says what a checkpoint does not hold; the rest goes without
// saying.
func (f *fold) checkpointed(r session.Record, e session.Checkpointed) {
	if e.Problem != "" && e.Problem != f.large.why { // once, however many turns it lasts
		f.line(r, "·", "the files are not kept from here on, so that a rewind covers the conversation alone: "+theme.Line(e.Problem), warn)
	}
	f.large.why = e.Problem
	if len(e.Skipped) == 0 || f.large.skipped != nil {
		return
	}
	list := e.Skipped
	words := "checkpoints do not cover "
	if len(list) > 3 {
		words, list = words+fmt.Sprintf("%d paths, such as ", len(list)), list[:2]
	}
	f.large.skipped = f.line(r, "·", words+theme.Line(strings.Join(list, ", ")), calm)
}

// rewound says what was taken back, or brought back, and takes it away. What
// is brought back is read from the log again.
func (f *fold) rewound(r session.Record, e session.Rewound) {
	n := f.large.turns[r.Seq]
	if e.Conversation && e.Undo == 0 && !f.large.reading {
		n = f.takeBack(session.RewoundSpan{From: e.To, Until: r.Seq})
	}
	var words string
	switch {
	case e.Undo > 0:
		words = "brought back, as it was before the rewind"
	case e.Conversation && e.Step > 0:
		words = fmt.Sprintf("taken back: all since before step %d", e.Step)
	case e.Conversation && n > 0:
		words = "taken back: " + theme.Plural(n, "turn")
	case e.Conversation:
		words = "taken back: the conversation since a checkpoint"
	default:
		words = "taken back: the files"
	}
	if e.Conversation && e.Files && e.Undo == 0 {
		words += " (files too)"
	}
	if e.Files {
		var files []string
		if e.Written > 0 {
			files = append(files, fmt.Sprintf("%d written", e.Written))
		}
		if e.Removed > 0 {
			files = append(files, fmt.Sprintf("%d removed", e.Removed))
		}
		if len(files) > 0 {
			words += " · files: " + strings.Join(files, ", ")
		}
	}
	if e.Undo == 0 {
		words += " · " + keys.Label(keys.UndoRewind) + " brings them back"
		if e.Conversation && n <= 1 && !e.Files {
			words = strings.TrimSuffix(words, "them back") + "it back"
		}
	}
	line := f.line(r, "⟲", words, calm)
	if len(e.Failed) > 0 {
		line.mood = warn
		line.detail = "not as they were: " + theme.Line(strings.Join(e.Failed, ", "))
	}
	f.large.states = nil // a step that begins again is told again
}

// takeBack removes what stands for the records of a span, and counts its turns.
func (f *fold) takeBack(s session.RewoundSpan) (turns int) {
	f.finish(time.Time{})
	for _, e := range slices.Clone(f.entries) {
		if !s.Contains(e.seq) && !e.loose {
			continue
		}
		if e.kind == user {
			turns++
		}
		delete(f.calls, e.id)
		f.remove(e)
		switch e {
		case f.plan:
			f.plan = nil
		case f.cutoff:
			f.cutoff = nil
		case f.large.skipped:
			f.large.skipped = nil
		}
	}
	f.answer = f.lastAnswer()
	return turns
}

// lastAnswer puts the pieces of the last answer that is left together.
func (f *fold) lastAnswer() string {
	for i := len(f.entries) - 1; i >= 0; i-- {
		if f.entries[i].kind != prose || !f.entries[i].head {
			continue
		}
		var pieces []string
		for _, e := range f.entries[i:] {
			if e.kind != prose {
				break
			}
			pieces = append(pieces, e.text)
		}
		return strings.Join(pieces, "\n\n")
	}
	return ""
}

// lives leaves out the records that were taken back. How many turns each rewind
// took is noted first, as far as the records reach.
func (f *fold) lives(records []session.Record, gone []session.RewoundSpan) []session.Record {
	if len(gone) == 0 {
		return records
	}
	if f.large.turns == nil {
		f.large.turns = map[int64]int{}
	}
	for _, g := range gone {
		n := 0
		for _, r := range records {
			if _, ok := r.Event.(session.TurnStarted); !ok || !g.Contains(r.Seq) {
				continue
			}
			if !slices.ContainsFunc(gone, func(before session.RewoundSpan) bool { return before.Until < g.Until && before.Contains(r.Seq) }) {
				n++
			}
		}
		if len(records) > 0 && records[0].Seq > g.From+1 {
			n = 0 // some are on an older page
		}
		f.large.turns[g.Until] = n
	}
	return slices.DeleteFunc(slices.Clone(records), func(r session.Record) bool {
		return slices.ContainsFunc(gone, func(g session.RewoundSpan) bool { return g.Contains(r.Seq) })
	})
}
