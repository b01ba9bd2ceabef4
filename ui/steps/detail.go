package steps

import (
	"strings"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// label is how wide the names of the parts are; a panel below narrow columns has them on
// lines of their own.
const (
	label  = 8
	narrow = 40
)

// detail is all of the chosen step, as far as there is room.
func (p *Pane) detail(th *theme.Theme, width, room int) []string {
	_, step, ok := p.Chosen()
	if !ok {
		return nil
	}
	var lines []string
	add := func(name, text string, st theme.Style) {
		text = strings.TrimSpace(theme.Plain(text))
		if text == "" {
			return
		}
		indent := label
		if width < narrow {
			indent = 2
			lines = append(lines, th.Dim.Paint(name))
			name = ""
		}
		for i, l := range theme.Wrap(text, max(width-indent, 4)) {
			if i > 0 {
				name = ""
			}
			lines = append(lines, th.Dim.Paint(theme.Fit(locale.T(name), indent))+st.Paint(theme.Cut(l, width-indent)))
		}
	}
	reason := locale.Said(step.Reason)
	if reason == "" {
		reason = theme.Kind(step.Fault)
	}
	if columns := p.columns(width); theme.Width(theme.Line(step.Title)) > columns.title {
		add("step", theme.Line(step.Title), theme.Style{})
	}
	if step.State == session.StepRunning && p.state.Live.Waits {
		add("now", p.state.Live.Words, th.Warn)
	}
	switch step.State {
	case session.StepFailed:
		add("why", reason, th.Bad)
	case session.StepDone, session.StepSkipped:
	default:
		add("why", reason, th.Warn)
	}
	lines = append(lines, p.note(th, step.Note, width)...)
	add("do", step.Instructions, th.Dim)
	add("proof", step.Proof, th.Dim)
	add("check", step.Check, th.Dim)
	add("took", durationText(step), th.Dim)
	add("tier", tierText(step.Tier, step.Pinned), th.Dim)
	if len(lines) > room {
		lines = lines[:room]
		lines[room-1] = theme.Cut(lines[room-1], width-2) + th.Dim.Paint(" …")
	}
	return lines
}

// noteKey is what the layout of a note depends on.
type noteKey struct {
	text           string
	width, version int
}

// note lays out what a step says of itself, which is Markdown.
func (p *Pane) note(th *theme.Theme, text string, width int) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if key := (noteKey{text, width, th.Version()}); key != p.noteKey {
		indent := label
		if width < narrow {
			indent = 2
		}
		var lines []string
		for i, l := range p.markdown(th, text, max(width-indent, 4)) {
			name := ""
			switch {
			case i > 0:
			case width < narrow:
				lines = append(lines, th.Dim.Paint("note"))
			default:
				name = "note"
			}
			lines = append(lines, th.Dim.Paint(theme.Fit(name, indent))+l)
		}
		p.noteKey, p.noteLines = key, lines
	}
	return p.noteLines
}

// hints names the keys on at most two lines, the most useful first.
func (p *Pane) hints(th *theme.Theme, width int) []string {
	if !p.state.Keys {
		return []string{hintLine(th, width, keys.Hint("change or steer the plan", keys.StepsPanel))}
	}
	hint := keys.PlanPanel.Hint
	var hints [][2]string
	if p.state.Asked {
		hints = append(hints, hint("answer", keys.Blur))
	}
	_, step, ok := p.Chosen()
	rest := [][2]string{
		hint("edit", keys.EditStep), hint("add", keys.AddStep), hint("as a file", keys.EditPlan),
		hint("pause here", keys.PauseStep), hint("skip", keys.SkipStep), hint("tier", keys.StepTier),
		hint("move", keys.MoveUp, keys.MoveDown), hint("drop", keys.DropStep), hint("split", keys.SplitStep),
		hint("only this tier", keys.PinTier), hint("close", keys.Close),
	}
	asFile, closes := hint("as a file", keys.EditPlan), hint("close", keys.Close)
	switch {
	case !ok:
		return th.KeyLines(width, 2, hint("add a step", keys.AddStep), asFile, closes)
	case step.Started():
		hints = append(hints, hint("open", keys.OpenStep), hint("go", keys.RunThrough), hint("next step", keys.RunNext),
			hint("run from here", keys.RunFrom), hint("rewind to before it", keys.RewindStep))
		rest = [][2]string{hint("add", keys.AddStep), asFile, closes}
	case p.state.Steps.Reviewed:
		hints = append(hints, hint("go", keys.RunThrough), hint("next step", keys.RunNext),
			hint("run from here", keys.RunFrom))
	default:
		hints = append(hints, hint("go through", keys.RunThrough), hint("one step at a time", keys.RunNext))
	}
	return th.KeyLines(width, 2, append(hints, rest...)...)
}

// hintLine is as many of the hints as one line has room for.
func hintLine(th *theme.Theme, width int, hints ...[2]string) string {
	return th.KeyLines(width, 1, hints...)[0]
}
