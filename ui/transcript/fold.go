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
	entries  []*entry
	calls    map[string]*entry
	tallies  map[int]*tally
	words    *entry // the open piece of the reply that is arriving
	first    *entry // the first piece of the same
	think    *entry // the reasoning that is arriving
	plan     *entry
	advice   *entry // says how to go on, until somebody does
	cutoff   *entry
	failures int
	calling  int // calls that the attempt under way has finished
	edge     edge
	target   models.Target // who is asked
	answer   string        // the last whole answer
	large    large
}

func (f *fold) reset() {
	*f = fold{calls: map[string]*entry{}, tallies: map[int]*tally{}}
}

func (f *fold) push(e *entry) *entry {
	f.entries = append(f.entries, e)
	return e
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
func (p *Pane) Load(records []session.Record, more bool, gone ...session.RewoundSpan) {
	of := p.large.of
	p.fold.reset()
	p.large.of, p.large.reading = of, true
	p.follow, p.top, p.off, p.cursor, p.found = true, 0, 0, -1, -1
	for _, r := range p.lives(records, gone) {
		p.Apply(r)
	}
	p.large.reading = false
	p.more, p.oldest = more, 0
	if len(records) > 0 {
		p.oldest = records[0].Seq
	}
}

// Prepend puts older records before what is loaded; the view does not move.
func (p *Pane) Prepend(records []session.Record, more bool, gone ...session.RewoundSpan) {
	p.more = more
	if len(records) == 0 {
		return
	}
	p.oldest = records[0].Seq
	old := New(p.theme, p.now)
	old.names, old.large.of, old.large.reading = p.names, p.large.of, true
	for _, r := range old.lives(records, gone) {
		old.Apply(r)
	}
	old.finish(time.Time{})
	kept := old.entries[:0]
	for _, e := range old.entries {
		// A call whose result stands on the later page is shown once, there.
		if later := p.calls[e.id]; e.kind == call && later != nil {
			later.adopt(e)
			continue
		}
		if e.kind == call {
			p.calls[e.id] = e
		}
		kept = append(kept, e)
	}
	for turn, t := range old.tallies {
		now := p.fold.tally(turn)
		now.usage, now.cost = now.usage.Add(t.usage), now.cost+t.cost
		if now.began.IsZero() {
			now.began = t.began
		}
	}
	for _, e := range p.entries {
		if e.kind == ending {
			e.touch()
		}
	}
	kept = p.join(old, kept)
	if e := p.large.skipped; e != nil && old.large.skipped != nil { // it was told before
		p.remove(e)
	}
	n := len(kept)
	p.entries = append(kept, p.entries...)
	p.top, p.seen = p.top+n, p.seen+n
	if p.cursor >= 0 {
		p.cursor += n
	}
	if p.found >= 0 {
		p.found += n
	}
}

// Apply shows one more record.
func (p *Pane) Apply(r session.Record) {
	switch e := r.Event.(type) {
	case session.TextDelta:
		p.say(r, e.Text)
	case session.ReasoningDelta:
		p.ponder(r, e.Text)
	case session.CallDelta:
		p.giveWay()
		p.closeThought(r.Time)
		c := p.call(r, e.CallID, e.Name)
		c.bytes = e.Bytes
		c.touch()
	case session.ToolOutput:
		if c := p.calls[e.CallID]; c != nil {
			c.output = bounded(c.output + e.Text)
			c.touch()
		}
	case session.AttemptStarted:
		p.target = e.Target
	case session.ReplyOpened:
		p.target = e.Target
	case session.ItemAdded:
		p.item(r, e.Item)
	case session.ToolStarted, session.ToolEnded, session.ApprovalAsked, session.ApprovalAnswered:
		p.applyCall(r)
	case session.CutOff:
		p.cut(r, e)
	default:
		p.applyTurn(r)
	}
}

func (p *Pane) applyTurn(r session.Record) {
	switch e := r.Event.(type) {
	case session.TurnStarted:
		p.finish(r.Time)
		p.followed()
		p.begin()
		p.tally(r.Turn).began = r.Time
		if e.Prompt.Text != "" || !e.RunsPlan {
			p.push(&entry{kind: user, seq: r.Seq, turn: r.Turn, at: r.Time, text: e.Prompt.Text})
		}
		if n := len(e.Prompt.Images); n > 0 {
			p.line(r, "+", theme.Plural(n, "picture"), calm)
		}
		for _, a := range e.Prompt.Attachments {
			p.push(&entry{kind: quiet, seq: r.Seq, turn: r.Turn, symbol: "+", folds: true, text: theme.Line(a.Name) + " goes with it", detail: theme.Sanitize(a.Text)})
		}
		if e.Note != "" {
			p.line(r, "·", "the model is also told: "+theme.Cut(theme.Line(e.Note), 160), calm)
		}
	case session.TurnResumed:
		p.finish(r.Time)
		p.followed()
		p.crossed()
		p.line(r, "↻", strings.TrimSuffix("goes on: "+theme.Line(e.Why), ": "), calm)
	case session.AttemptFailed:
		p.failedAttempt(r, e)
	case session.ReplyResumed:
		p.line(r, "·", "the connection broke; the same reply goes on", calm)
	case session.Switched:
		p.switched(r, e)
	case session.ReplyEnded:
		t := p.tally(r.Turn)
		t.usage, t.cost = t.usage.Add(e.Usage), t.cost+e.Cost
		p.failures = 0
		p.crossed()
		if e.Served != "" && e.Served != e.Target.Model && !strings.HasPrefix(e.Served, e.Target.Model+"-") {
			p.line(r, "≠", fmt.Sprintf("%s was asked, %s answered", e.Target.Model, e.Served), warn)
		}
		if e.LeftOut > 0 {
			p.line(r, "…", theme.Plural(e.LeftOut, "older item")+" did not fit and stayed out of the request", calm)
		}
	case session.Pruned:
		p.line(r, "…", fmt.Sprintf("%s taken out of what the model sees: %s → %s tokens", theme.Line(e.By), theme.Count(e.Before), theme.Count(e.After)), calm)
	case session.Restored:
		p.line(r, "…", "what was taken out is back in what the model sees", calm)
	case session.Compacted:
		p.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "…", folds: true, text: fmt.Sprintf("older work is now a summary: %s → %s tokens", theme.Count(e.Before), theme.Count(e.After)), detail: theme.Sanitize(e.Summary)})
	case session.Focused:
		words := "searches keep to " + theme.Line(strings.Join(e.Paths, ", "))
		if len(e.Paths) == 0 {
			words = "searches look everywhere again"
		}
		p.line(r, "·", words, calm)
	case session.EffortChosen:
		words := "reasoning effort: " + theme.Line(e.Effort)
		if e.Effort == "" {
			words = "reasoning effort as the settings say"
		}
		p.line(r, "·", words, calm)
	case session.NotePinned:
		words := "pinned to every request: "
		if e.Unpinned {
			words = "no longer pinned: "
		}
		p.line(r, "·", words+theme.Line(e.Text), calm)
	case session.TodosChanged:
		p.planned(r, e)
	case session.TurnEnded:
		p.ended(r, e)
	case session.Noted:
		p.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "·", text: theme.Sanitize(e.Text)})
	case session.Unknown:
		p.line(r, "·", "written by a newer belay: "+theme.Line(e.Type), calm)
	default:
		p.applyLarge(r)
	}
}

func (p *Pane) line(r session.Record, symbol, text string, m mood) *entry {
	return p.push(&entry{kind: quiet, seq: r.Seq, turn: r.Turn, symbol: symbol, text: text, mood: m})
}

func (p *Pane) planned(r session.Record, e session.TodosChanged) {
	tasks := make([]task, len(e.Todos))
	for i, t := range e.Todos {
		tasks[i] = task{t.Text, t.Status}
	}
	if p.plan == nil || p.plan.turn != r.Turn {
		p.plan = p.push(&entry{kind: plan, seq: r.Seq, turn: r.Turn})
	}
	p.plan.tasks = tasks
	p.plan.touch()
}

func (p *Pane) ended(r session.Record, e session.TurnEnded) {
	p.finish(r.Time)
	t := p.tally(r.Turn)
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
		p.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "⏸", mood: warn, text: text + because(e.Fault, reason)})
		return
	case session.OutcomeFailed:
		failed := &entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "✗", mood: bad, text: "failed" + because(e.Fault, reason), detail: evidence(e.Fault)}
		if e.Fault != nil && reason != "" { // the turn ended for more than its last fault
			failed.text, failed.detail = reason, strings.TrimPrefix(because(e.Fault, ""), ": ")+"\n"+failed.detail
		}
		p.push(failed)
		end.text = "failed"
	case session.OutcomeStopped:
		end.symbol, end.text = "■", "stopped"
		if e.Interrupted {
			p.advice = p.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "≋", mood: warn, text: "belay ended here in mid-turn. What was done is kept.", detail: keys.Label(keys.TryNow) + " goes on; or just write what is next"})
			return
		}
	case session.OutcomeNeedsPerson:
		p.push(&entry{kind: notice, seq: r.Seq, turn: r.Turn, symbol: "!", mood: warn, text: "needs you" + because(e.Fault, reason), detail: evidence(e.Fault)})
		end.text = "waits for you"
	}
	p.push(end)
}

// followed takes back advice on how to go on: it goes on.
func (p *Pane) followed() {
	if p.advice != nil {
		p.advice.detail = ""
		p.advice.touch()
		p.advice = nil
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
func (p *Pane) Answer() string { return p.answer }

// Ran shows a shell command of the user's and what it printed.
func (p *Pane) Ran(command, output string, failedRun bool) {
	e := &entry{kind: local, title: command, output: theme.Sanitize(output), phase: done}
	if failedRun {
		e.phase = failed
	}
	p.push(e)
	p.follow = true
}

// Note shows a line that belongs to no record.
func (p *Pane) Note(text string) {
	p.push(&entry{kind: quiet, symbol: "·", text: text})
}
