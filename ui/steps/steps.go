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
	"belay/ui/locale"
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
	state         View
	selected, top int
	rows          int // steps that there was room for
	task          string

	markdown  func(th *theme.Theme, source string, width int) []string
	noteKey   noteKey
	noteLines []string // as they were laid out for noteKey
}

// New makes a panel that lays out Markdown by a function.
func New(markdown func(th *theme.Theme, source string, width int) []string) *Pane {
	return &Pane{markdown: markdown}
}

// Set shows a new state. The chosen step stays chosen while the panel has the
// keyboard; otherwise it is the one under way.
func (p *Pane) Set(state View) {
	p.state = state
	if state.Steps == nil {
		p.selected = 0
		p.top = 0
		p.task = ""
		return
	}
	if p.task != state.Steps.Task || !state.Keys {
		if n := state.Steps.Current(); n > 0 {
			p.selected = n - 1
		}
		p.task = state.Steps.Task
	}
	p.Choose(p.selected + 1)
}

// Move chooses another step.
func (p *Pane) Move(by int) { p.Choose(p.selected + 1 + by) }

// ItemAt gives how far the step in a row of the box is from the chosen one.
func (p *Pane) ItemAt(row int) (by int, ok bool) {
	return p.top + row - 1 - p.selected, row >= 1 && row <= p.rows
}

// Choose chooses a step by its number.
func (p *Pane) Choose(number int) {
	last := 0
	if p.state.Steps != nil {
		last = len(p.state.Steps.Steps) - 1
	}
	p.selected = max(0, min(number-1, last))
}

// Chosen is the step that keys act on, and its number.
func (p *Pane) Chosen() (number int, s session.Step, ok bool) {
	if p.state.Steps == nil || p.selected >= len(p.state.Steps.Steps) {
		return 0, session.Step{}, false
	}
	return p.selected + 1, p.state.Steps.Steps[p.selected], true
}

// View draws the panel, at most height lines of it.
func (p *Pane) View(th *theme.Theme, width, height int) []string {
	inner, room := max(width-4, 1), max(height-2, 0)
	border := th.Faint
	if p.state.Keys {
		border = th.Accent
	}
	if p.state.Steps == nil || len(p.state.Steps.Steps) == 0 {
		return clip(th.Box(th.Strong.Paint(locale.T("steps")), p.emptyLines(th, inner), width, border), height)
	}
	hints := p.hints(th, inner)
	if len(hints) > 1 && room < len(hints)+3 {
		hints = hints[:1]
	}
	list := len(p.state.Steps.Steps)
	spare := max(room-len(hints), 0)
	rows := min(list, spare)
	if detail := min(4, spare/3); rows > spare-detail {
		rows = max(spare-detail, min(spare, 1))
	}
	lines := p.list(th, inner, rows)
	p.rows = len(lines)
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
	return clip(th.Box(p.title(th, width), lines[:min(len(lines), room)], width, border), height)
}

func clip(box []string, height int) []string { return box[:min(len(box), max(height, 0))] }

// emptyLines is the panel before there is a plan.
func (p *Pane) emptyLines(th *theme.Theme, width int) []string {
	text := locale.T("There is no plan yet. %s TASK lets a model cut a large task into steps, "+
		"each with a session of its own: a failure costs one step at most.", keys.Label(keys.Steps))
	hint := keys.PlanPanel.Hint
	first := hint("cut a task", keys.Steps)
	if p.state.Planning != "" {
		text = "◐ " + locale.T("A model proposes steps: %s", theme.Line(p.state.Planning))
		first = hint("look at it", keys.OpenStep)
	}
	var lines []string
	for _, l := range theme.Wrap(text, width) {
		lines = append(lines, th.Dim.Paint(l))
	}
	return append(lines, "", hintLine(th, width, first, hint("close", keys.Close)))
}

// title names the task on the left, and on the right how far it is.
func (p *Pane) title(th *theme.Theme, width int) string {
	plan := p.state.Steps
	room := width - 6
	right := locale.T("%d of %d", plan.Done(), len(plan.Steps))
	if !plan.Reviewed && plan.Done() == 0 && plan.Current() > 0 && !plan.Steps[plan.Current()-1].Started() {
		right = locale.N(len(plan.Steps), "%d step proposed", "%d steps proposed")
	}
	if at := p.state.Checkpoint; !at.IsZero() {
		if kept := right + " · " + locale.T("checkpoint %s", theme.At(at)); room-theme.Width(kept) > 24 {
			right = kept
		}
	}
	if room-theme.Width(right) < 14 {
		return th.Strong.Paint(locale.T("steps")) + th.Dim.Paint(" "+right)
	}
	left := theme.Cut(theme.Line(plan.Task), room-theme.Width(right)-11)
	if left != "" {
		left = " · " + left
	}
	rule := strings.Repeat("─", max(room-5-theme.Width(left)-theme.Width(right)-4, 1))
	return th.Strong.Paint(locale.T("steps")) + left + " " + th.Faint.Paint(rule) + " " + th.Dim.Paint(right)
}

// list draws so many rows, the chosen one among them.
func (p *Pane) list(th *theme.Theme, width, rows int) []string {
	if p.selected < p.top {
		p.top = p.selected
	}
	if p.selected >= p.top+rows {
		p.top = p.selected - rows + 1
	}
	p.top = max(0, min(p.top, len(p.state.Steps.Steps)-rows))
	c := p.columns(width)
	var lines []string
	for i := p.top; i < min(p.top+rows, len(p.state.Steps.Steps)); i++ {
		lines = append(lines, p.row(th, i, c, width))
	}
	return lines
}

// columns are the widths of what stands in a row.
type columns struct{ number, title, tier int }

func (p *Pane) columns(width int) columns {
	widths := columns{number: len(fmt.Sprint(len(p.state.Steps.Steps)))}
	for _, s := range p.state.Steps.Steps {
		widths.title = max(widths.title, theme.Width(theme.Line(s.Title)))
		widths.tier = max(widths.tier, theme.Width(tier(s)))
	}
	if widths.tier > 0 {
		widths.tier += 2
	}
	room := width - 2 - 2 - widths.number - 1
	if room < 44 {
		widths.tier = 0
	}
	widths.title = min(widths.title, max((room-widths.tier)*55/100, 8))
	if room < 30 {
		widths.title = max(room, 1)
	}
	return widths
}

// pinnedMark marks a tier that is not left for another one.
const pinnedMark = " ⊙"

func tier(s session.Step) string {
	t := theme.Line(locale.T(string(s.Tier)))
	if s.Pinned {
		t += pinnedMark
	}
	return t
}

func (p *Pane) row(th *theme.Theme, i int, widths columns, width int) string {
	step := p.state.Steps.Steps[i]
	lead := "  "
	if i == p.selected {
		lead = th.Dim.Paint("❯ ")
		if p.state.Keys {
			lead = th.Accent.Paint("❯ ")
		}
	}
	symbol, st := Symbol(th, step.State)
	if step.State == session.StepRunning && p.state.Live.Asks {
		symbol, st = "?", th.Warn
	}
	title := theme.Fit(theme.Line(step.Title), widths.title)
	switch {
	case step.State == session.StepRunning:
		title = th.Strong.Paint(title)
	case step.Finished():
		title = th.Dim.Paint(title)
	}
	number := fmt.Sprintf("%*d ", widths.number, i+1)
	line := lead + st.Paint(symbol) + " " + th.Dim.Paint(number) + title
	if widths.tier > 0 {
		line += "  " + th.Dim.Paint(theme.Fit(tier(step), widths.tier-2))
	}
	if left := width - theme.Width(line) - 2; left >= 6 {
		text, st := p.statusText(th, step)
		if l := p.state.Live; step.State == session.StepRunning && l.Short != "" && theme.Width(text) > left {
			text = l.Short
		}
		line += "  " + st.Paint(theme.Cut(text, left))
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

// statusText say how a step is doing, or what is special about it.
func (p *Pane) statusText(th *theme.Theme, step session.Step) (string, theme.Style) {
	why := locale.Said(theme.Line(step.Reason))
	if why == "" {
		why = theme.Kind(step.Fault)
	}
	switch step.State {
	case session.StepRunning:
		switch l := p.state.Live; {
		case l.Asks:
			return locale.T("asks you"), th.Warn
		case l.Waits:
			return theme.Line(l.Words), th.Warn
		case l.Words != "":
			return theme.Line(l.Words), th.Accent
		}
		return locale.T("running"), th.Accent
	case session.StepParked:
		text := locale.T("parked, goes on when told to")
		if left := step.RetryAt.Sub(p.state.Now); left > 0 {
			text = locale.T("again in %s, at %s", theme.Clock(left+time.Second-1), theme.At(step.RetryAt))
		} else if !step.RetryAt.IsZero() {
			text = locale.T("goes on")
		}
		return text, th.Warn
	case session.StepPerson:
		return strings.TrimSuffix(locale.T("needs you")+": "+why, ": "), th.Warn
	case session.StepFailed:
		return strings.TrimSuffix(locale.T("failed")+": "+why, ": "), th.Bad
	case session.StepDone:
		return costText(step), th.Dim
	case session.StepSkipped:
		return locale.T("skipped"), th.Dim
	}
	return p.conditionsText(step), th.Dim
}

// costText is what a step cost.
func costText(s session.Step) string {
	text := theme.Plural(s.ToolCalls, "call")
	if s.ToolCalls == 0 {
		text = locale.T("no calls")
	}
	if s.Cost > 0 {
		text = theme.Fit(text, 8) + " " + theme.Money(s.Cost)
	}
	return text
}

// durationText says when a step that is over was carried out.
func durationText(s session.Step) string {
	if s.StartedAt.IsZero() || s.EndedAt.Before(s.StartedAt) {
		return ""
	}
	return locale.T("%s, from %s to %s", theme.Clock(s.EndedAt.Sub(s.StartedAt)), theme.At(s.StartedAt), theme.At(s.EndedAt))
}

// conditionsText is what a step asks for before it begins and before it counts as done.
func (p *Pane) conditionsText(step session.Step) string {
	var parts []string
	if step.Pause {
		parts = append(parts, locale.T("pause before"))
	}
	if step.Needs != nil {
		parts = append(parts, needsText(step.Needs))
	}
	if step.Check != "" {
		parts = append(parts, locale.T("check: %s", theme.Line(step.Check)))
	}
	return strings.Join(parts, " · ")
}

func needsText(list []int) string {
	if len(list) == 0 {
		return locale.T("after none")
	}
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = fmt.Sprint(n)
	}
	return locale.T("after %s", strings.Join(parts, ", "))
}

// tierText says which tier is asked, as a sentence.
func tierText(t models.Tier, pin bool) string {
	switch {
	case t == "" && pin:
		return locale.T("the session's tier and no other: it waits")
	case t == "":
		return ""
	case pin:
		return locale.T("%s and no other: it waits rather than being done by a smaller model", theme.Line(locale.T(string(t))))
	}
	return locale.T("%s first", theme.Line(locale.T(string(t))))
}
