package steps

import (
	"strings"

	"belay/session"
	"belay/ui/theme"
)

// label is how wide the names of the parts are.
const label = 8

// detail is all of the chosen step, as far as there is room.
func (p *Pane) detail(th *theme.Theme, width, room int) []string {
	_, s, ok := p.Chosen()
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
		if width < 40 {
			indent = 2
			lines = append(lines, th.Dim.Paint(name))
			name = ""
		}
		for i, l := range theme.Wrap(text, max(width-indent, 4)) {
			if i > 0 {
				name = ""
			}
			lines = append(lines, th.Dim.Paint(theme.Fit(name, indent))+st.Paint(theme.Cut(l, width-indent)))
		}
	}
	reason := s.Reason
	if reason == "" {
		reason = theme.Kind(s.Fault)
	}
	if columns := p.columns(width); theme.Width(theme.Line(s.Title)) > columns.title {
		add("step", theme.Line(s.Title), theme.Style{})
	}
	if s.State == session.StepRunning && p.v.Live.Waits {
		add("now", p.v.Live.Words, th.Warn)
	}
	switch s.State {
	case session.StepFailed:
		add("why", reason, th.Bad)
	case session.StepDone, session.StepSkipped:
	default:
		add("why", reason, th.Warn)
	}
	add("note", s.Note, theme.Style{})
	add("do", s.Instructions, th.Dim)
	add("proof", s.Proof, th.Dim)
	add("check", s.Check, th.Dim)
	add("took", lasted(s), th.Dim)
	add("tier", tierWords(s.Tier, s.Pinned), th.Dim)
	if len(lines) > room {
		lines = lines[:room]
		lines[room-1] = theme.Cut(lines[room-1], width-2) + th.Dim.Paint(" …")
	}
	return lines
}

// keys names the keys on at most two lines, the most useful first.
func (p *Pane) keys(th *theme.Theme, width int) []string {
	if !p.v.Keys {
		return []string{fitted(th, width, []string{"F7", "change or steer the plan"})}
	}
	var pairs []string
	if p.v.Asked {
		pairs = append(pairs, "tab", "answer")
	}
	_, s, ok := p.Chosen()
	rest := []string{"e", "edit", "a", "add", "E", "as a file", "space", "pause here", "x", "skip", "t", "tier", "K J", "move", "d", "drop", "s", "split", "P", "only this tier", "esc", "close"}
	switch {
	case !ok:
		return fill(th, width, []string{"a", "add a step", "E", "as a file", "esc", "close"})
	case s.Started():
		pairs = append(pairs, "enter", "open", "g", "go", "n", "next step", "r", "run from here", "z", "rewind to before it")
		rest = []string{"a", "add", "E", "as a file", "esc", "close"}
	case p.v.Steps.Reviewed:
		pairs = append(pairs, "g", "go", "n", "next step", "r", "run from here")
	default:
		pairs = append(pairs, "g", "go through", "n", "one step at a time")
	}
	return fill(th, width, append(pairs, rest...))
}

// fill puts pairs of key and meaning on two lines, as many as fit.
func fill(th *theme.Theme, width int, pairs []string) []string {
	var lines []string
	for len(pairs) > 0 && len(lines) < 2 {
		n := 2
		for n < len(pairs) && theme.Width(th.Keys(pairs[:n+2]...)) <= width {
			n += 2
		}
		lines = append(lines, theme.Cut(th.Keys(pairs[:n]...), width))
		pairs = pairs[n:]
	}
	return lines
}

// fitted is as many of the pairs as one line has room for.
func fitted(th *theme.Theme, width int, pairs []string) string { return fill(th, width, pairs)[0] }
