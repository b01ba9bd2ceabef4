package transcript

import (
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/theme"
)

// fold turns records into entries.
type fold struct {
	entryList
	names  map[models.Target]string // short names of the settings
	more   bool                     // older records exist
	inner  bool                     // belay wrote the prompts: it is a step of a plan
	oldest int64                    // the first loaded one

	calls         map[string]*entry   // by their ids
	locals        []*entry            // commands of the person's own
	totals        map[int]*turnTotals // by turn
	reply         *entry              // the open piece of the reply that is arriving
	replyStart    *entry              // the first piece of the same
	reasoning     *entry              // the reasoning that is arriving
	todos         *entry              // the model's list of this turn
	advice        *entry              // says how to go on, until somebody does
	cutOffEntry   *entry              // half text of a failed attempt, which new words replace
	failures      int                 // attempts that failed in a row
	finishedCalls int                 // calls that the attempt under way has finished
	boundary      pageBoundary
	target        models.Target // who is asked
	answer        string        // the last whole answer
	steps         stepsState
	rewinds       rewindState
}

// reset forgets all records, and goes to the end.
func (f *fold) reset() {
	names, steps, inner := f.names, f.steps.total, f.inner
	*f = fold{names: names, inner: inner, calls: map[string]*entry{}, totals: map[int]*turnTotals{}}
	f.steps.total = steps
	f.entryList.reset()
}

// SetNames gives targets the short names of the settings.
func (f *fold) SetNames(conditions []models.Condition) {
	if f.names == nil {
		f.names = map[models.Target]string{}
	}
	for _, c := range conditions {
		if c.Short != "" {
			f.names[c.Target] = theme.Line(c.Short)
		}
	}
}

// SetSteps tells how many steps the plan has, which the end of a log may not say.
func (f *fold) SetSteps(n int) { f.steps.total = n }

// SetInner says that the prompts are those of a step, which belay has put together: a
// line of each says enough.
func (f *fold) SetInner() { f.inner = true }

func (f *fold) shortName(t models.Target) string {
	if s := f.names[t]; s != "" {
		return s
	}
	return theme.Short(t)
}

func (f *fold) turnTotals(turn int) *turnTotals {
	t := f.totals[turn]
	if t == nil {
		t = &turnTotals{}
		f.totals[turn] = t
	}
	return t
}

// Load replaces everything by the end of a log. More says whether older
// records exist, and gone which parts were taken back.
func (f *fold) Load(records []session.Record, more bool, gone ...session.RewoundSpan) {
	f.reset()
	f.rewinds.reading = true
	for _, r := range f.withoutRewound(records, gone) {
		f.Apply(r)
	}
	f.rewinds.reading = false
	f.more, f.oldest = more, 0
	if len(records) > 0 {
		f.oldest = records[0].Seq
	}
}

// Prepend puts older records before what is loaded; the view does not move.
func (f *fold) Prepend(records []session.Record, more bool, gone ...session.RewoundSpan) {
	f.more = more
	if len(records) == 0 {
		return
	}
	f.oldest = records[0].Seq
	old := &fold{names: f.names, inner: f.inner}
	old.reset()
	old.steps.total, old.rewinds.reading = f.steps.total, true
	for _, r := range old.withoutRewound(records, gone) {
		old.Apply(r)
	}
	old.endReply(time.Time{})
	kept := old.entries[:0]
	for _, e := range old.entries {
		// A call whose result stands on the later page is shown once, there.
		if later := f.calls[e.id]; e.kind == call && later != nil {
			later.completeFrom(e)
			continue
		}
		if e.kind == call {
			f.calls[e.id] = e
		}
		kept = append(kept, e)
	}
	for turn, t := range old.totals {
		now := f.turnTotals(turn)
		now.usage, now.cost = now.usage.Add(t.usage), now.cost+t.cost
		if now.startedAt.IsZero() {
			now.startedAt = t.startedAt
		}
	}
	for _, e := range f.entries {
		if e.kind == ending {
			e.invalidate()
		}
	}
	kept = f.joinOlder(old, kept)
	if e := f.rewinds.skipped; e != nil && old.rewinds.skipped != nil { // it was told before
		f.remove(e)
	}
	f.prepend(kept)
}

// Apply shows one more record.
func (f *fold) Apply(r session.Record) {
	switch e := r.Event.(type) {
	case session.TextDelta:
		f.appendText(r, e.Text)
	case session.ReasoningDelta:
		f.appendReasoning(r, e.Text)
	case session.CallDelta:
		f.dropCutOff()
		f.endReasoning(r.Time)
		c := f.callEntry(r, e.CallID, e.Name)
		c.bytes = e.Bytes
		c.invalidate()
	case session.ToolOutput:
		if c := f.calls[e.CallID]; c != nil {
			c.output = keepEnd(c.output + e.Text)
			c.invalidate()
		}
	case session.AttemptStarted:
		f.target = e.Target
	case session.ReplyOpened:
		f.target = e.Target
	case session.ItemAdded:
		f.addItem(r, e.Item)
	case session.ToolStarted, session.ToolEnded, session.ApprovalAsked, session.ApprovalAnswered:
		f.applyCall(r)
	case session.CutOff:
		f.cutOff(r, e)
	default:
		f.applyTurn(r)
	}
}

// keepEnd keeps the end of a running command's output.
func keepEnd(s string) string {
	const limit = 64 << 10
	if len(s) <= limit {
		return s
	}
	s = s[len(s)-limit/2:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// Answer is the last whole answer of the model, as Markdown.
func (f *fold) Answer() string { return f.answer }

// Ran shows a shell command of the user's and what it printed.
func (f *fold) Ran(command, output string, failedRun bool) {
	e := &entry{kind: local, title: command, output: theme.Sanitize(output), phase: done}
	if failedRun {
		e.phase = failed
	}
	f.push(e)
	f.follow = true
}

// Note shows a line that belongs to no record.
func (f *fold) Note(text string) {
	f.push(&entry{kind: statusLine, symbol: "·", text: text})
}
