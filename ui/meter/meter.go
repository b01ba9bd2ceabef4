// Package meter decides how the panel of the context looks: what the next
// request is made of, what was left out of it, and what could be.
package meter

import (
	"fmt"
	"strings"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Pane is the panel.
type Pane struct {
	usage  session.ContextUsage
	state  session.Session
	loaded bool
}

// Set shows a new state.
func (p *Pane) Set(v session.ContextUsage, s session.Session) {
	p.usage = v
	p.state = s
	p.loaded = true
}

// Clear forgets the state: it belongs to another session.
func (p *Pane) Clear() { p.loaded = false }

// total is the size of the next request, and whether a provider counted it.
func (p *Pane) total() (tokens int64, measured bool) {
	if p.state.ContextTokens > 0 && !p.state.Live() {
		return p.state.ContextTokens, true
	}
	return p.usage.Counted, false
}

// parts are the parts, scaled to what the provider counted.
func (p *Pane) parts() []session.Part {
	total, measured := p.total()
	if !measured || p.usage.Counted == 0 {
		return p.usage.Parts
	}
	scale := float64(total) / float64(p.usage.Counted)
	parts := make([]session.Part, len(p.usage.Parts))
	for i, x := range p.usage.Parts {
		parts[i] = session.Part{Source: x.Source, Tokens: int64(float64(x.Tokens) * scale)}
	}
	return parts
}

// View draws the panel, at most height lines of it.
func (p *Pane) View(th *theme.Theme, width, height int) []string {
	inner, room := width-4, height-2
	title := th.Strong.Paint(locale.T("context"))
	if !p.loaded {
		box := th.Box(title, []string{th.Dim.Paint(locale.T("counting …"))}, width, th.Faint)
		return box[:min(len(box), max(height, 0))]
	}
	if m := theme.Line(p.usage.Target.Model); m != "" {
		title += th.Dim.Paint(" · " + locale.T("the next request to %s", m))
	}
	hints := p.hints(th, inner)
	lines := p.sizeLine(th, inner)
	left := p.omitted(th, inner)
	more := p.extras(th, inner)
	spare := room - len(lines) - len(left) - len(hints)
	rest := 3 // blank lines
	for _, block := range more {
		rest += len(block)
	}
	parts := p.partsTable(th, inner, 1)
	if two := p.partsTable(th, inner, 2); len(parts)+rest > spare && inner >= minTwoColumns {
		parts = two
	}
	if len(parts)+rest > spare {
		parts = p.partsInline(th, inner)
	} else {
		lines, spare = append(lines, ""), spare-1
	}
	lines, spare = append(lines, parts...), spare-len(parts)
	if spare > len(more)+1 {
		lines, spare = append(lines, ""), spare-1
	}
	lines = append(lines, left...)
	for _, block := range more {
		if len(block) <= spare {
			lines, spare = append(lines, block...), spare-len(block)
		}
	}
	if spare > 0 {
		lines = append(lines, "")
	}
	lines = lines[:max(min(len(lines), room-len(hints)), 0)]
	box := th.Box(title, append(lines, hints...), width, th.Faint)
	return box[:min(len(box), max(height, 0))]
}

// sizeLine is the size of the whole request, with a bar on which the trigger is
// marked.
func (p *Pane) sizeLine(th *theme.Theme, width int) []string {
	total, measured := p.total()
	sign, after := "", ""
	if !measured {
		sign = "≈ "
		if p.state.Usage.Input+p.state.Usage.Output > 0 {
			after = locale.T(", unknown until the next reply")
		}
	}
	left := th.Strong.Paint(sign+thousands(total)) + th.Dim.Paint(locale.T(" of %s tokens", thousands(p.usage.Budget)))
	if theme.Width(left)+theme.Width(after)+20 <= width {
		left += th.Dim.Paint(after)
	}
	share := 0.0
	if p.usage.Budget > 0 {
		share = float64(total) / float64(p.usage.Budget)
	}
	st := th.Accent
	switch {
	case share >= 1:
		st = th.Bad
	case p.usage.Trigger > 0 && total > p.usage.Trigger:
		st = th.Warn
	}
	right := fmt.Sprintf(" %3.0f%%", share*100)
	size := min(width-theme.Width(left)-theme.Width(right)-3, 48)
	if size < 8 {
		return []string{theme.Sides(left, right, width)}
	}
	full, rest := theme.Bar(share, size)
	bar := st.Paint(full) + th.Faint.Paint(rest)
	if at := p.triggerCell(size); at >= len([]rune(full)) && at < size {
		r := []rune(rest)
		i := at - len([]rune(full))
		bar = st.Paint(full) + th.Faint.Paint(string(r[:i])) + th.Warn.Paint("┊") + th.Faint.Paint(string(r[i+1:]))
	}
	return []string{theme.Sides(left, bar+right, width)}
}

// triggerCell is the cell of a bar from which belay prunes by itself; -1: it never
// does.
func (p *Pane) triggerCell(size int) int {
	if p.usage.Trigger <= 0 || p.usage.Budget <= 0 {
		return -1
	}
	return int(float64(p.usage.Trigger) / float64(p.usage.Budget) * float64(size))
}

// minTwoColumns is from how many cells on two columns are readable.
const minTwoColumns = 70

// partsTable gives each source a row, in one column or two.
func (p *Pane) partsTable(th *theme.Theme, width, columns int) []string {
	width = (width - 4*(columns-1)) / columns
	parts := p.parts()
	total, _ := p.total()
	most := int64(1)
	for _, x := range parts {
		most = max(most, x.Tokens)
	}
	size := min(max(width-29, 0), 40)
	lines := make([]string, 0, len(parts))
	for _, x := range parts {
		n := thousands(x.Tokens)
		share := fmt.Sprintf("%3.0f%%", 100*float64(x.Tokens)/float64(max(total, 1)))
		full, _ := theme.Bar(float64(x.Tokens)/float64(most), size)
		name := th.Dim.Paint(theme.Fit(locale.T(string(x.Source)), 14))
		bar := sourceStyle(th, x.Source).Paint(full)
		lines = append(lines, name+strings.Repeat(" ", max(8-len(n), 0))+n+th.Dim.Paint(" "+share+"  ")+bar)
	}
	if columns == 1 {
		return lines
	}
	half := (len(lines) + 1) / 2
	for i := range half {
		lines[i] = theme.Fit(lines[i], width)
		if i+half < len(lines) {
			lines[i] += "    " + lines[i+half]
		}
	}
	return lines[:half]
}

// sourceStyle tells what belay adds, what people say and what machines say apart.
func sourceStyle(th *theme.Theme, o session.Source) theme.Style {
	switch o {
	case session.SourceToolOutput, session.SourceToolCalls, session.SourceFiles:
		return th.Warn
	case session.SourceUser, session.SourcePinned, session.SourceAttachments:
		return th.Accent
	case session.SourceModel, session.SourceReasoning, session.SourceSummary:
		return th.Good
	}
	return th.Dim
}

// partsInline is the table as words, where there is no room for it.
func (p *Pane) partsInline(th *theme.Theme, width int) []string {
	var sources []string
	for _, x := range p.parts() {
		sources = append(sources, strings.ReplaceAll(locale.T(string(x.Source)), " ", "\u00a0")+"\u00a0"+theme.Count(x.Tokens))
	}
	return joined(th.Dim, sources, width)
}

// unbroken keeps words on one line if they fit on one.
func unbroken(s string, width int) string {
	if theme.Width(s) > width {
		return s
	}
	return strings.ReplaceAll(s, " ", "\u00a0")
}

// joined puts dots between words, on as few lines as possible.
func joined(st theme.Style, parts []string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Split(strings.Join(parts, "\u00a0· "), " ") {
		if line != "" && theme.Width(line)+1+theme.Width(w) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+w, " ")
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = st.Paint(strings.ReplaceAll(theme.Cut(lines[i], width), "\u00a0", " "))
	}
	return lines
}

// label is how wide the names of the sections are.
const label = 10

// section gives words a name on their left.
func section(th *theme.Theme, st theme.Style, name string, parts []string, width int) []string {
	lines := joined(st, parts, width-label)
	for i := range lines {
		if i > 0 {
			name = ""
		}
		lines[i] = th.Dim.Paint(theme.Fit(name, label)) + lines[i]
	}
	return lines
}

// omitted is what stays out of the requests, and how large each of it was.
func (p *Pane) omitted(th *theme.Theme, width int) []string {
	var parts []string
	for _, l := range p.state.Omitted {
		parts = append(parts, unbroken(p.omissionText(l), width-label-2))
	}
	if n := p.usage.LeftOut; n > 0 {
		parts = append(parts, unbroken(locale.N(n, "%d older item without room", "%d older items without room"), width-label-2))
	}
	if len(parts) == 0 {
		return section(th, th.Dim, locale.T("left out"), []string{locale.T("nothing")}, width)
	}
	return section(th, theme.Style{}, locale.T("left out"), parts, width)
}

func (p *Pane) omissionText(l session.Omission) string {
	what := locale.Said(theme.Line(l.Label))
	switch {
	case l.Label == session.OmittedSummary && p.usage.SummaryThrough > 1:
		what = locale.T("turns 1–%d, now a summary", p.usage.SummaryThrough)
	case l.Label == session.OmittedSummary && p.usage.SummaryThrough == 1:
		what = locale.T("turn 1, now a summary")
	case l.Label == session.OmittedSummary:
		what = locale.T("older work, now a summary")
	case l.Calls > 0:
		what = fmt.Sprintf("%d %s", l.Calls, what)
	}
	return what + " −" + theme.Count(max(l.Freed, 0))
}

// extras are shown as far as there is room, the most useful first.
func (p *Pane) extras(th *theme.Theme, width int) [][]string {
	usage := p.usage
	total, measured := p.total()
	in := locale.T("%s in", theme.Count(total))
	if !measured {
		in = "≈" + in
	}
	request := []string{in}
	if usage.Output > 0 {
		request = append(request, locale.T("up to %s out", theme.Count(usage.Output)))
	}
	effort := locale.T("effort as the provider has it")
	if usage.Effort != "" {
		effort = locale.T("effort %s", theme.Line(usage.Effort))
	}
	request = append(request, effort, locale.N(usage.ToolCalls, "%d tool step in this turn", "%d tool steps in this turn"))
	var blocks [][]string
	add := func(name string, parts ...string) {
		for i := range parts {
			parts[i] = unbroken(parts[i], width-label-2)
		}
		blocks = append(blocks, section(th, th.Dim, locale.T(name), parts, width))
	}
	add("request", request...)
	if f := usage.Failures; f.From > 0 {
		add("record", locale.T("failures start above %s input (%.0f%% against %.0f%%)",
			theme.Count(f.From), f.Above*100, f.Below*100))
	}
	if usage.Trigger > 0 {
		add("┊ "+theme.Count(usage.Trigger), locale.T("from here on belay lightens it by itself"))
	}
	add("counted", accuracyText(usage.Accuracy))
	if len(p.state.Focus) > 0 {
		add("focus", theme.Cut(theme.Line(strings.Join(p.state.Focus, ", ")), width-label))
	}
	for i, k := range p.state.PinnedNotes {
		name := ""
		if i == 0 {
			name = "pinned"
		}
		add(name, theme.Cut(theme.Line(k), width-label))
	}
	return blocks
}

// accuracyText says how belay comes to its numbers.
func accuracyText(accuracy session.CountAccuracy) string {
	text := locale.T("with %s, as this model counts", accuracy.Encoding)
	switch {
	case accuracy.Encoding == "":
		text = locale.T("by length, until the vocabulary is read")
	case !accuracy.Exact:
		text = locale.T("with %s in place of this model's own vocabulary", accuracy.Encoding)
	}
	if accuracy.Measured {
		return text + locale.T(", × %.2f as its usage says", accuracy.Factor)
	}
	return text + locale.T(", not measured yet")
}

// hints names the keys, on one line or on two.
func (p *Pane) hints(th *theme.Theme, width int) []string {
	hint := keys.ContextPanel.Hint
	compact, trim, slim := hint("compact", keys.Compact), hint("trim", keys.Trim), hint("slim", keys.Slim)
	restore, focus, pin := hint("restore", keys.Restore), hint("focus", keys.FocusPaths), hint("pin", keys.PinNote)
	handoff, closes := hint("hand over", keys.Handoff), hint("close", keys.Close)
	slimThis := hint("slim this request", keys.Slim)
	for _, hints := range [][][2]string{
		{hint("compact now", keys.Compact), trim, slimThis, hint("restore all", keys.Restore), focus,
			hint("pin a note", keys.PinNote), handoff, closes},
		{compact, trim, slim, restore, focus, pin, handoff, closes},
		{compact, trim, slim, restore, focus, pin, hint("hand on", keys.Handoff)},
	} {
		if line := th.Keys(hints...); theme.Width(line) <= width {
			return []string{line}
		}
	}
	return []string{th.Keys(compact, trim, slimThis), th.Keys(restore, focus, pin, handoff, closes)}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(max(n, 0))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
