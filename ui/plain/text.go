package plain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/session"
	"belay/session/tools"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Text writes for people: the answer to one writer, what happens to another.
type Text struct {
	answer io.Writer
	events io.Writer
	width  int  // of the terminal that shows the events; 0: it is a pipe
	quiet  bool // a countdown stands on the last line
	now    func() time.Time
	wait   *session.Waiting
	cut    string // the half text shown last
	served string // the surprising model shown last
	why    string // files are not kept, as it was said last
	err    error  // of the events; who does not read them still gets the answer
	lost   error  // of the answer
}

// NewText returns a writer for people. With a width the events go to a
// terminal of so many columns, and waits count down.
func NewText(answer, events io.Writer, width int, now func() time.Time) *Text {
	return &Text{answer: answer, events: events, width: width, now: now}
}

// Record writes what a record says to people.
func (p *Text) Record(record session.Record, turn *Turn) {
	switch e := record.Event.(type) {
	case session.TurnResumed:
		p.event("▸ going on with turn %d: %s", record.Turn, locale.Said(e.Why))
	case session.PromptTaken:
		p.event("› %s", theme.Line(e.Prompt.Text))
	case session.ReplyContinued:
		p.event("↻ %s", locale.Said(theme.Line(e.Text())))
	case session.ItemAdded:
		if turn.Before != "" && e.Item.Kind == models.Call {
			p.event("%s", turn.Before)
			turn.Before = ""
		}
	case session.CutOff:
		words := locale.T("cut off; will be written again")
		if e.Stopped {
			words = locale.T("stopped")
		}
		if half := tail(theme.Line(e.Text+e.Reasoning), 60); half != p.cut { // each attempt says it again
			p.cut = half
			p.event("  (%s: %s)", words, half)
		}
	case session.ToolEnded:
		p.tool(e)
	case session.ApprovalAsked:
		p.event("? %s %s: %s", e.Approval.Tool, theme.Line(e.Approval.Title), locale.Said(e.Approval.Reason))
	case session.TodosChanged:
		for _, task := range e.Todos {
			p.event("  %s %s", marks[task.Status], theme.Line(task.Text))
		}
	case session.ReplyOpened:
		if another(e.Target.Model, e.Served) && e.Served != p.served {
			p.served = e.Served
			p.event("· %s is served by %s", e.Target, theme.Line(e.Served))
		}
	case session.PlanSet:
		if e.Plan.Planning != "" && len(e.Plan.Steps) == 0 {
			p.event("▸ splitting the task into steps")
		}
		for i, s := range e.Plan.Steps {
			p.event("  %s %d %s%s", stepMarks[s.State], i+1, theme.Line(s.Title), tierWords(s))
		}
	case session.StepMoved:
		p.step(e)
	case session.StepChecked:
		mark := "✓"
		if !e.OK {
			mark = "✗"
		}
		p.event("  %s check  %s%s", mark, theme.Line(e.Command), outcome(e.Summary, e.Duration))
	case session.Checkpointed:
		if e.Problem != "" && e.Problem != p.why {
			p.event("! the files are not kept, so that a rewind covers the conversation alone: %s", locale.Said(theme.Line(e.Problem)))
		}
		p.why = e.Problem
	case session.Rewound:
		p.event("⟲ rewound: %d files written, %d removed", e.Written, e.Removed)
		for _, f := range e.Failed {
			p.event("! not put back: %s", locale.Said(theme.Line(f)))
		}
	case session.Pruned:
		p.event("… %s taken out: %s → %s tokens", locale.Said(theme.Line(e.By)), theme.Count(e.Before), theme.Count(e.After))
	case session.Compacted:
		p.event("… older work is now a summary: %s → %s tokens", theme.Count(e.Before), theme.Count(e.After))
	case session.Noted:
		p.event("! %s", locale.Said(theme.Line(e.Text)))
	case session.TurnEnded:
		p.ended(e, turn)
	default:
		p.attempt(record)
	}
}

// Part writes what a record of a step's session says to people: all but how its
// turn ends, which the plan tells.
func (p *Text) Part(r session.Record, t *Turn) {
	switch r.Event.(type) {
	case session.TurnEnded, session.StepMoved:
		return
	}
	p.Record(r, t)
}

// stepMarks are the signs of steps.
var stepMarks = map[session.StepState]string{
	session.StepDone:    "✓",
	session.StepRunning: "▶",
	session.StepParked:  "⏸",
	session.StepPerson:  "!",
	session.StepFailed:  "✗",
	session.StepSkipped: "–",
	session.StepPending: "○",
}

func tierWords(step session.Step) string {
	words := ""
	if step.Tier != "" {
		words = " · " + locale.T(string(step.Tier))
	}
	if step.Pinned {
		words += " " + locale.T("only")
	}
	if step.Check != "" {
		words += " · " + locale.T("check: %s", theme.Line(step.Check))
	}
	return words
}

func (p *Text) step(e session.StepMoved) {
	step := e.Step
	line := locale.T("%s step %d, %s", stepMarks[step.State], e.Number, theme.Line(step.Title))
	switch step.State {
	case session.StepRunning:
		if step.FailedChecks > 0 {
			return // the check has said it
		}
		line += tierWords(session.Step{Tier: step.Tier, Pinned: step.Pinned})
	case session.StepDone:
		line += ": " + locale.T("done · %s · %s", theme.Plural(step.ToolCalls, "call"), theme.Money(step.Cost))
	case session.StepParked:
		line += ": " + locale.T("parked")
	case session.StepFailed, session.StepPerson:
		line += ": " + locale.Said(theme.Line(step.Reason))
	}
	p.event("%s", line)
}

// marks are the signs of the tasks of a plan.
var marks = map[string]string{"done": "✓", "active": "▶", "pending": "○"}

func (p *Text) tool(ended session.ToolEnded) {
	mark := "✓"
	switch {
	case ended.Denied, ended.Unknown:
		mark = "?"
	case ended.Error:
		mark = "✗"
	}
	title := theme.Line(ended.Title)
	if ended.Diff != "" {
		added, removed := tools.Changed(ended.Diff)
		title += fmt.Sprintf("  +%d −%d", added, removed)
	}
	p.event("  %s %-6s %s%s", mark, ended.Tool, title, outcome(ended.Summary, ended.Duration))
}

// outcome is what came of a command and how long it took, as far as the tick before it
// does not say it.
func outcome(summary string, took time.Duration) string {
	text := ""
	if summary != "" && summary != theme.Succeeded {
		text = "  " + locale.Said(theme.Line(summary))
	}
	if took >= theme.MinTold {
		text += "  " + theme.Elapsed(took)
	}
	return text
}

func (p *Text) attempt(r session.Record) {
	switch e := r.Event.(type) {
	case session.AttemptFailed:
		if e.Fault.Kind != models.KindCancelled {
			p.event("! %s, attempt %d of %d", Describe(e.Fault), e.Number, e.Of)
		}
		if e.Fault.Adjusted != "" {
			p.event("  asked again %s", locale.Said(theme.Line(e.Fault.Adjusted)))
		}
	case session.Waiting:
		p.wait = &e
		if p.width == 0 {
			p.event("  waiting %s, then attempt %d of %d at %s%s",
				theme.Elapsed(e.Until.Sub(p.now())), e.Number, e.Of, e.Target, giveUp(e))
		}
		p.Tick()
	case session.Switched:
		switch {
		case e.Failback:
			p.event("⇄ %s → %s: back at the preferred model", e.From, e.To)
		case e.Pictures:
			p.event("⇄ %s → %s: it sees pictures", e.From, e.To)
		case e.Fault == nil:
			p.event("⇄ %s → %s: your choice", e.From, e.To)
		default:
			p.event("⇄ %s → %s: %s", e.From, e.To, theme.Kind(e.Fault))
		}
	case session.ReplyResumed:
		p.event("· the connection to %s broke; its reply goes on", e.Target)
	case session.AttemptStarted:
		p.clear()
		p.wait = nil
	}
}

// Tick moves the countdown on; call it about once a second on a terminal.
func (p *Text) Tick() {
	if p.wait == nil || p.width == 0 || p.err != nil {
		return
	}
	left := p.wait.Until.Sub(p.now())
	if left < 0 {
		return
	}
	line := locale.T("  waiting %s, then attempt %d of %d at %s%s · ctrl+c leaves, the session stays",
		theme.Elapsed(left), p.wait.Number, p.wait.Of, p.wait.Target, giveUp(*p.wait))
	_, p.err = fmt.Fprint(p.events, "\r\x1b[K"+ansi.Truncate(line, p.width-1, "…"))
	p.quiet = true
}

// giveUp says how long a lost connection is waited out.
func giveUp(e session.Waiting) string {
	if e.GiveUpAt.IsZero() {
		return ""
	}
	return locale.T(", until %s at the latest", e.GiveUpAt.Local().Format("15:04:05"))
}

func (p *Text) clear() {
	if p.quiet && p.err == nil {
		_, p.err = fmt.Fprint(p.events, "\r\x1b[K")
		p.quiet = false
	}
}

func (p *Text) ended(end session.TurnEnded, turn *Turn) {
	p.wait = nil
	switch end.Outcome {
	case session.OutcomeDone:
		p.clear()
		if p.lost == nil && !turn.Formed {
			_, p.lost = fmt.Fprintln(p.answer, strings.TrimRight(theme.Sanitize(turn.Text), "\n"))
		}
	case session.OutcomeParked:
		p.event("⏸ parked: %s", Describe(end.Fault))
	case session.OutcomeNeedsPerson:
		p.event("? a person is needed: %s", locale.Said(theme.Line(end.Reason)))
	case session.OutcomeStopped:
		p.event("■ %s", locale.Said(theme.Line(end.Reason)))
	default:
		p.event("✗ the turn failed: %s", cmp.Or(locale.Said(theme.Line(end.Reason)), Describe(end.Fault)))
	}
	p.event("· %s tokens in, %s out, %s", theme.Count(turn.Usage.Input), theme.Count(turn.Usage.Output),
		theme.Money(turn.Cost))
}

// Answer writes the answer alone.
func (p *Text) Answer(_ session.Record, value json.RawMessage) {
	p.clear()
	if p.lost == nil {
		_, p.lost = fmt.Fprintf(p.answer, "%s\n", session.EscapeInvisible(value))
	}
}

// Err is why the answer could not be written.
func (p *Text) Err() error { return p.lost }

// Say writes a line of its own among the events.
func (p *Text) Say(format string, args ...any) { p.event(format, args...) }

func (p *Text) event(format string, args ...any) {
	p.clear()
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.events, theme.Sanitize(locale.T(format, args...)))
	}
}

func tail(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return "…" + string(r[len(r)-n:])
	}
	return s
}
