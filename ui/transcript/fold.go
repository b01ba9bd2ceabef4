package transcript

import (
	"fmt"
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/theme"
)

// fold turns records into entries.
type fold struct {
	entryList
	names  map[models.Target]string // short names of the settings
	more   bool                     // older records exist
	oldest int64                    // the first loaded one

	calls    map[string]*entry // by their ids
	tallies  map[int]*tally    // by turn
	words    *entry            // the open piece of the reply that is arriving
	first    *entry            // the first piece of the same
	think    *entry            // the reasoning that is arriving
	plan     *entry            // the model's list of this turn
	advice   *entry            // says how to go on, until somebody does
	cutoff   *entry            // half text of a failed attempt, which new words replace
	failures int               // attempts that failed in a row
	calling  int               // calls that the attempt under way has finished
	edge     edge
	target   models.Target // who is asked
	answer   string        // the last whole answer
	large    large
}

// reset forgets all records, and goes to the end.
func (f *fold) reset() {
	names, steps := f.names, f.large.of
	*f = fold{names: names, calls: map[string]*entry{}, tallies: map[int]*tally{}}
	f.large.of = steps
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
func (f *fold) SetSteps(n int) { f.large.of = n }

func (f *fold) short(t models.Target) string {
	if s := f.names[t]; s != "" {
		return s
	}
	return theme.Short(t)
}

func (f *fold) tally(turn int) *tally {
	t := f.tallies[turn]
	if t == nil {
		t = &tally{}
		f.tallies[turn] = t
	}
	return t
}

// Load replaces everything by the end of a log. More says whether older
// records exist, and gone which parts were taken back.
func (f *fold) Load(records []session.Record, more bool, gone ...session.RewoundSpan) {
	f.reset()
	f.large.reading = true
	for _, r := range f.lives(records, gone) {
		f.Apply(r)
	}
	f.large.reading = false
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
	old := &fold{names: f.names}
	old.reset()
	old.large.of, old.large.reading = f.large.of, true
	for _, r := range old.lives(records, gone) {
		old.Apply(r)
	}
	old.finish(time.Time{})
	kept := old.entries[:0]
	for _, e := range old.entries {
		// A call whose result stands on the later page is shown once, there.
		if later := f.calls[e.id]; e.kind == call && later != nil {
			later.adopt(e)
			continue
		}
		if e.kind == call {
			f.calls[e.id] = e
		}
		kept = append(kept, e)
	}
	for turn, t := range old.tallies {
		now := f.tally(turn)
		now.usage, now.cost = now.usage.Add(t.usage), now.cost+t.cost
		if now.began.IsZero() {
			now.began = t.began
		}
	}
	for _, e := range f.entries {
		if e.kind == ending {
			e.touch()
		}
	}
	kept = f.join(old, kept)
	if e := f.large.skipped; e != nil && old.large.skipped != nil { // it was told before
		f.remove(e)
	}
	f.prepend(kept)
}

// Apply shows one more record.
func (f *fold) Apply(r session.Record) {
	switch e := r.Event.(type) {
	case session.TextDelta:
		f.say(r, e.Text)
	case session.ReasoningDelta:
		f.ponder(r, e.Text)
	case session.CallDelta:
		f.giveWay()
		f.closeThought(r.Time)
		c := f.call(r, e.CallID, e.Name)
		c.bytes = e.Bytes
		c.touch()
	case session.ToolOutput:
		if c := f.calls[e.CallID]; c != nil {
			c.output = bounded(c.output + e.Text)
			c.touch()
		}
	case session.AttemptStarted:
		f.target = e.Target
	case session.ReplyOpened:
		f.target = e.Target
	case session.ItemAdded:
		f.item(r, e.Item)
	case session.ToolStarted, session.ToolEnded, session.ApprovalAsked, session.ApprovalAnswered:
		f.applyCall(r)
	case session.CutOff:
		f.cut(r, e)
	default:
		f.applyTurn(r)
	}
}

func (f *fold) applyTurn(r session.Record) {
	switch e := r.Event.(type) {
	case session.TurnStarted:
		f.finish(r.Time)
		f.followed()
		f.begin()
		f.tally(r.Turn).began = r.Time
		if e.Prompt.Text != "" || !e.RunsPlan {
			f.push(&entry{kind: user, seq: r.Seq, turn: r.Turn, at: r.Time, text: e.Prompt.Text})
		}
		if n := len(e.Prompt.Images); n > 0 {
			f.line(r, "+", theme.Plural(n, "picture"), calm)
		}
		for _, a := range e.Prompt.Attachments {
			f.push(&entry{kind: quiet, seq: r.Seq, turn: r.Turn, symbol: "+", folds: true, text: theme.Line(a.Name) + " goes with it", detail: theme.Sanitize(a.Text)})
		}
		if e.Note != "" {
			f.line(r, "·", "the model is also told: "+theme.Cut(theme.Line(e.Note), 160), calm)
		}
	case session.TurnResumed:
		f.finish(r.Time)
		f.followed()
		f.crossed()
		f.line(r, "↻", strings.TrimSuffix("goes on: "+theme.Line(e.Why), ": "), calm)
	case session.AttemptFailed:
		f.failedAttempt(r, e)
	case session.ReplyResumed:
		f.line(r, "·", "the connection broke; the same reply goes on", calm)
	case session.Switched:
		f.switched(r, e)
	case session.ReplyEnded:
		t := f.tally(r.Turn)
		t.usage, t.cost = t.usage.Add(e.Usage), t.cost+e.Cost
		f.failures = 0
		f.crossed()
		if e.Served != "" && e.Served != e.Target.Model && !strings.HasPrefix(e.Served, e.Target.Model+"-") {
			f.line(r, "≠", fmt.Sprintf("%s was asked, %s answered", e.Target.Model, e.Served), warn)
		}
		if e.LeftOut > 0 {
			f.line(r, "…", theme.Plural(e.LeftOut, "older item")+" did not fit and stayed out of the request", calm)
		}
	case session.Pruned:
		f.line(r, "…", fmt.Sprintf("%s taken out of what the model sees: %s → %s tokens", theme.Line(e.By), theme.Count(e.Before), theme.Count(e.After)), calm)
	case session.Restored:
		f.line(r, "…", "what was taken out is back in what the model sees", calm)
	case session.Compacted:
		f.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "…", folds: true, text: fmt.Sprintf("older work is now a summary: %s → %s tokens", theme.Count(e.Before), theme.Count(e.After)), detail: theme.Sanitize(e.Summary)})
	case session.Focused:
		words := "searches keep to " + theme.Line(strings.Join(e.Paths, ", "))
		if len(e.Paths) == 0 {
			words = "searches look everywhere again"
		}
		f.line(r, "·", words, calm)
	case session.EffortChosen:
		words := "reasoning effort: " + theme.Line(e.Effort)
		if e.Effort == "" {
			words = "reasoning effort as the settings say"
		}
		f.line(r, "·", words, calm)
	case session.NotePinned:
		words := "pinned to every request: "
		if e.Unpinned {
			words = "no longer pinned: "
		}
		f.line(r, "·", words+theme.Line(e.Text), calm)
	case session.TodosChanged:
		f.planned(r, e)
	case session.TurnEnded:
		f.ended(r, e)
	case session.Noted:
		f.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "·", text: theme.Sanitize(e.Text)})
	case session.Unknown:
		f.line(r, "·", "written by a newer belay: "+theme.Line(e.Type), calm)
	default:
		f.applyLarge(r)
	}
}

func (f *fold) line(r session.Record, symbol, text string, m mood) *entry {
	return f.push(&entry{kind: quiet, seq: r.Seq, turn: r.Turn, symbol: symbol, text: text, mood: m})
}

func (f *fold) planned(r session.Record, e session.TodosChanged) {
	tasks := make([]task, len(e.Todos))
	for i, t := range e.Todos {
		tasks[i] = task{t.Text, t.Status}
	}
	if f.plan == nil || f.plan.turn != r.Turn {
		f.plan = f.push(&entry{kind: plan, seq: r.Seq, turn: r.Turn})
	}
	f.plan.tasks = tasks
	f.plan.touch()
}

func (f *fold) ended(r session.Record, e session.TurnEnded) {
	f.finish(r.Time)
	t := f.tally(r.Turn)
	t.ended = r.Time
	end := &entry{kind: ending, seq: r.Seq, turn: r.Turn, symbol: "·", text: "done", tally: t}
	reason := theme.Line(e.Reason)
	switch e.Outcome {
	case session.OutcomeParked:
		text := "parked"
		if !e.RetryAt.IsZero() {
			text += " until " + theme.At(e.RetryAt)
		}
		if e.ParkCount > 0 {
			text += fmt.Sprintf(" (%s time)", ordinal(e.ParkCount))
		}
		f.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "⏸", mood: warn, text: text + because(e.Fault, reason)})
		return
	case session.OutcomeFailed:
		failed := &entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "✗", mood: bad, text: "failed" + because(e.Fault, reason), detail: evidence(e.Fault)}
		if e.Fault != nil && reason != "" { // the turn ended for more than its last fault
			failed.text, failed.detail = reason, strings.TrimPrefix(because(e.Fault, ""), ": ")+"\n"+failed.detail
		}
		f.push(failed)
		end.text = "failed"
	case session.OutcomeStopped:
		end.symbol, end.text = "■", "stopped"
		if e.Interrupted {
			f.advice = f.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "≋", mood: warn, text: "belay ended here in mid-turn. What was done is kept.", detail: keys.Label(keys.TryNow) + " goes on; or just write what is next"})
			return
		}
	case session.OutcomeNeedsPerson:
		f.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "!", mood: warn, text: "needs you" + because(e.Fault, reason), detail: evidence(e.Fault)})
		end.text = "waits for you"
	}
	f.push(end)
}

// followed takes back advice on how to go on: it goes on.
func (f *fold) followed() {
	if f.advice != nil {
		f.advice.detail = ""
		f.advice.touch()
		f.advice = nil
	}
}

func because(f *models.Fault, reason string) string {
	switch {
	case f != nil && f.Target != (models.Target{}):
		return ": " + theme.Kind(f) + " (" + theme.Line(f.Target.String()) + ")"
	case f != nil:
		return ": " + theme.Kind(f)
	case reason != "":
		return ": " + reason
	}
	return ""
}

// evidence is the server's own words and what a person can do.
func evidence(f *models.Fault) string {
	if f == nil {
		return ""
	}
	var lines []string
	var head []string
	if f.Status != 0 {
		head = append(head, fmt.Sprint(f.Status))
	}
	if f.Code != "" {
		head = append(head, theme.Line(f.Code))
	}
	if f.RequestID != "" {
		head = append(head, "request "+theme.Line(f.RequestID))
	}
	if len(head) > 0 {
		lines = append(lines, strings.Join(head, " · "))
	}
	if f.Message != "" {
		lines = append(lines, "“"+theme.Line(f.Message)+"”")
	}
	if f.Hint != "" {
		lines = append(lines, theme.Line(f.Hint))
	}
	if len(f.Nearest) > 0 {
		lines = append(lines, "the endpoint knows: "+theme.Line(strings.Join(f.Nearest, ", ")))
	}
	return strings.Join(lines, "\n")
}

func ordinal(n int) string {
	switch n {
	case 1:
		return "1st"
	case 2:
		return "2nd"
	case 3:
		return "3rd"
	}
	return fmt.Sprintf("%dth", n)
}

// bounded keeps the end of a running command's output.
func bounded(s string) string {
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
	f.push(&entry{kind: quiet, symbol: "·", text: text})
}
