// Package steps decides how the plan of a large task looks while it is carried
// out, and how a person sees what a way back to one of its checkpoints undoes.
package steps

import (
	"fmt"
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/theme"
)

// View is what the panel shows beside the plan itself.
type View struct {
	Steps      *session.Plan // nil: there is no plan yet
	Live       Live          // of the running step
	Planning   string        // what the model that proposes a plan is doing; empty: none does
	Checkpoint time.Time     // the last one
	Keys       bool          // the panel has the keyboard
	Asked      bool          // a call in view waits for an answer
	Now        time.Time
}

// Live is what the session of the running step is doing.
type Live struct {
	Words string // "writing", "◐ no capacity, again in 12s"
	Short string // the same where there is little room; may be empty
	Waits bool   // for a model
	Asks  bool   // a person
}

// Pane is the panel.
type Pane struct {
	v       View
	at, top int
	task    string
}

// Set shows a new state. The chosen step stays chosen while the panel has the
// keyboard; otherwise it is the one under way.
func (p *Pane) Set(v View) {
	p.v = v
	if v.Steps == nil {
		p.at, p.top, p.task = 0, 0, ""
		return
	}
	if p.task != v.Steps.Task || !v.Keys {
		if n := v.Steps.Current(); n > 0 {
			p.at = n - 1
		}
		p.task = v.Steps.Task
	}
	p.Choose(p.at + 1)
}

// Move chooses another step.
func (p *Pane) Move(by int) { p.Choose(p.at + 1 + by) }

// Choose chooses a step by its number.
func (p *Pane) Choose(number int) {
	last := 0
	if p.v.Steps != nil {
		last = len(p.v.Steps.Steps) - 1
	}
	p.at = max(0, min(number-1, last))
}

// Chosen is the step that keys act on, and its number.
func (p *Pane) Chosen() (number int, s session.Step, ok bool) {
	if p.v.Steps == nil || p.at >= len(p.v.Steps.Steps) {
		return 0, session.Step{}, false
	}
	return p.at + 1, p.v.Steps.Steps[p.at], true
}

// View draws the panel, at most height lines of it.
func (p *Pane) View(th *theme.Theme, width, height int) []string {
	inner, room := max(width-4, 1), max(height-2, 0)
	border := th.Faint
	if p.v.Keys {
		border = th.Accent
	}
	if p.v.Steps == nil || len(p.v.Steps.Steps) == 0 {
		return bounded(th.Box(th.Strong.Paint("steps"), p.without(th, inner), width, border), height)
	}
	hints := p.hints(th, inner)
	if len(hints) > 1 && room < len(hints)+3 {
		hints = hints[:1]
	}
	list := len(p.v.Steps.Steps)
	spare := max(room-len(hints), 0)
	rows := min(list, spare)
	if detail := min(4, spare/3); rows > spare-detail {
		rows = max(spare-detail, min(spare, 1))
	}
	lines := p.list(th, inner, rows)
	spare -= len(lines)
	if spare > 1 && list > 0 {
		if more := p.detail(th, inner, spare-1); len(more) > 0 {
			lines, spare = append(append(lines, ""), more...), spare-1-len(more)
		}
	}
	if spare > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, hints...)
	return bounded(th.Box(p.title(th, width), lines[:min(len(lines), room)], width, border), height)
}

func bounded(box []string, height int) []string { return box[:min(len(box), max(height, 0))] }

// without is the panel before there is a plan.
func (p *Pane) without(th *theme.Theme, width int) []string {
	words := "There is no plan yet. " + keys.Label(keys.Steps) + " TASK lets a model cut a large task into steps, " +
		"each with a session of its own: a failure costs one step at most."
	hint := keys.PlanPanel.Hint
	first := hint("cut a task", keys.Steps)
	if p.v.Planning != "" {
		words = "◐ A model proposes steps: " + theme.Line(p.v.Planning)
		first = hint("look at it", keys.OpenStep)
	}
	var lines []string
	for _, l := range theme.Wrap(words, width) {
		lines = append(lines, th.Dim.Paint(l))
	}
	return append(lines, "", fitted(th, width, first, hint("close", keys.Close)))
}

// title names the task on the left, and on the right how far it is.
func (p *Pane) title(th *theme.Theme, width int) string {
	s := p.v.Steps
	room := width - 6
	right := fmt.Sprintf("%d of %d", s.Done(), len(s.Steps))
	if !s.Reviewed && s.Done() == 0 && s.Current() > 0 && !s.Steps[s.Current()-1].Started() {
		right = theme.Plural(len(s.Steps), "step") + " proposed"
	}
	if at := " · checkpoint " + theme.At(p.v.Checkpoint); !p.v.Checkpoint.IsZero() && room-theme.Width(right+at) > 24 {
		right += at
	}
	if room-theme.Width(right) < 14 {
		return th.Strong.Paint("steps") + th.Dim.Paint(" "+right)
	}
	left := theme.Cut(theme.Line(s.Task), room-theme.Width(right)-11)
	if left != "" {
		left = " · " + left
	}
	rule := strings.Repeat("─", max(room-5-theme.Width(left)-theme.Width(right)-4, 1))
	return th.Strong.Paint("steps") + left + " " + th.Faint.Paint(rule) + " " + th.Dim.Paint(right)
}

// list draws so many rows, the chosen one among them.
func (p *Pane) list(th *theme.Theme, width, rows int) []string {
	if p.at < p.top {
		p.top = p.at
	}
	if p.at >= p.top+rows {
		p.top = p.at - rows + 1
	}
	p.top = max(0, min(p.top, len(p.v.Steps.Steps)-rows))
	c := p.columns(width)
	var lines []string
	for i := p.top; i < min(p.top+rows, len(p.v.Steps.Steps)); i++ {
		lines = append(lines, p.row(th, i, c, width))
	}
	return lines
}

// columns are the widths of what stands in a row.
type columns struct{ number, title, tier int }

func (p *Pane) columns(width int) columns {
	c := columns{number: len(fmt.Sprint(len(p.v.Steps.Steps)))}
	for _, s := range p.v.Steps.Steps {
		c.title = max(c.title, theme.Width(theme.Line(s.Title)))
		c.tier = max(c.tier, theme.Width(tier(s)))
	}
	if c.tier > 0 {
		c.tier += 2
	}
	room := width - 2 - 2 - c.number - 1
	if room < 44 {
		c.tier = 0
	}
	c.title = min(c.title, max((room-c.tier)*55/100, 8))
	if room < 30 {
		c.title = max(room, 1)
	}
	return c
}

// pinned marks a tier that is not left for another one.
const pinned = " ⊙"

func tier(s session.Step) string {
	t := theme.Line(string(s.Tier))
	if s.Pinned {
		t += pinned
	}
	return t
}

func (p *Pane) row(th *theme.Theme, i int, c columns, width int) string {
	s := p.v.Steps.Steps[i]
	lead := "  "
	if i == p.at {
		lead = th.Dim.Paint("❯ ")
		if p.v.Keys {
			lead = th.Accent.Paint("❯ ")
		}
	}
	symbol, st := Symbol(th, s.State)
	if s.State == session.StepRunning && p.v.Live.Asks {
		symbol, st = "?", th.Warn
	}
	title := theme.Fit(theme.Line(s.Title), c.title)
	switch {
	case s.State == session.StepRunning:
		title = th.Strong.Paint(title)
	case s.Finished():
		title = th.Dim.Paint(title)
	}
	number := fmt.Sprintf("%*d ", c.number, i+1)
	line := lead + st.Paint(symbol) + " " + th.Dim.Paint(number) + title
	if c.tier > 0 {
		line += "  " + th.Dim.Paint(theme.Fit(tier(s), c.tier-2))
	}
	if left := width - theme.Width(line) - 2; left >= 6 {
		words, st := p.words(th, s)
		if l := p.v.Live; s.State == session.StepRunning && l.Short != "" && theme.Width(words) > left {
			words = l.Short
		}
		line += "  " + st.Paint(theme.Cut(words, left))
	}
	return theme.Cut(line, width)
}

// Symbol tells the states apart without colour.
func Symbol(th *theme.Theme, s session.StepState) (string, theme.Style) {
	switch s {
	case session.StepDone:
		return "✓", th.Good
	case session.StepRunning:
		return "▶", th.Accent
	case session.StepParked:
		return "⏸", th.Warn
	case session.StepPerson:
		return "!", th.Warn
	case session.StepFailed:
		return "✗", th.Bad
	case session.StepSkipped:
		return "–", th.Dim
	}
	return "○", th.Dim
}

// words say how a step is doing, or what is special about it.
func (p *Pane) words(th *theme.Theme, s session.Step) (string, theme.Style) {
	why := theme.Line(s.Reason)
	if why == "" {
		why = theme.Kind(s.Fault)
	}
	switch s.State {
	case session.StepRunning:
		switch l := p.v.Live; {
		case l.Asks:
			return "asks you", th.Warn
		case l.Waits:
			return theme.Line(l.Words), th.Warn
		case l.Words != "":
			return theme.Line(l.Words), th.Accent
		}
		return "running", th.Accent
	case session.StepParked:
		words := "parked, goes on when told to"
		if left := s.RetryAt.Sub(p.v.Now); left > 0 {
			words = "again in " + theme.Clock(left+time.Second-1) + ", at " + theme.At(s.RetryAt)
		} else if !s.RetryAt.IsZero() {
			words = "goes on"
		}
		return words, th.Warn
	case session.StepPerson:
		return strings.TrimSuffix("needs you: "+why, ": "), th.Warn
	case session.StepFailed:
		return strings.TrimSuffix("failed: "+why, ": "), th.Bad
	case session.StepDone:
		return took(s), th.Dim
	case session.StepSkipped:
		return "skipped", th.Dim
	}
	return p.asks(s), th.Dim
}

// took is what a step cost.
func took(s session.Step) string {
	words := theme.Plural(s.ToolCalls, "call")
	if s.ToolCalls == 0 {
		words = "no calls"
	}
	if s.Cost > 0 {
		words = theme.Fit(words, 8) + " " + theme.Money(s.Cost)
	}
	return words
}

// lasted says when a step that is over was carried out.
func lasted(s session.Step) string {
	if s.StartedAt.IsZero() || s.EndedAt.Before(s.StartedAt) {
		return ""
	}
	return theme.Clock(s.EndedAt.Sub(s.StartedAt)) + ", from " + theme.At(s.StartedAt) + " to " + theme.At(s.EndedAt)
}

// asks is what a step asks for before it begins and before it counts as done.
func (p *Pane) asks(s session.Step) string {
	var words []string
	if s.Pause {
		words = append(words, "pause before")
	}
	if s.Needs != nil {
		words = append(words, needs(s.Needs))
	}
	if s.Check != "" {
		words = append(words, "check: "+theme.Line(s.Check))
	}
	return strings.Join(words, " · ")
}

func needs(list []int) string {
	if len(list) == 0 {
		return "after none"
	}
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	return "after " + strings.Join(words, ", ")
}

// tierWords says who is asked, as a sentence.
func tierWords(t models.Tier, pin bool) string {
	switch {
	case t == "" && pin:
		return "the session's tier and no other: it waits"
	case t == "":
		return ""
	case pin:
		return theme.Line(string(t)) + " and no other: it waits rather than being done by a smaller model"
	}
	return theme.Line(string(t)) + " first"
}
