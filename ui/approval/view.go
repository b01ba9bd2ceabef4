package approval

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// minSideBySide is from how many columns on a change is shown side by side at first.
const minSideBySide = 140

// maxReason is how many lines the reason of a question may take.
const maxReason = 2

// Presence says how much of the question a person has before them.
type Presence int

// The presences.
const (
	Covered Presence = iota // something lies over it
	Dim                     // it is there, but the draft has the keys
	Focused                 // it has the keys
)

// View gives the question, at most height rows of width cells. One that has not the
// keys is dim, and says how it gets them.
func (p *Pane) View(width, height int, presence Presence) []string {
	th, focused := p.theme, presence == Focused
	inner := width - 6
	body := p.laidOut(inner, (width >= minSideBySide) != p.reading.layout)
	notes := p.notes(inner)
	foot := p.foot(inner, focused)
	room, airy := max(height-2-len(notes)-len(foot), 1), height >= 10
	if airy {
		room = max(room-1, 1)
	}
	lines := append([]string(nil), p.reading.show(body, room, presence != Covered)...)
	lines = append(lines, notes...)
	if airy {
		lines = append(lines, "")
	}
	border := p.mood()
	p.shownHints = ""
	if !focused {
		border = th.Faint
		for i := range lines {
			lines[i] = th.Dim.Paint(ansi.Strip(lines[i]))
		}
		foot = []string{th.Keys(keys.Hint("answer", keys.Focus)) + th.Dim.Paint(p.place())}
	} else if !p.refusing {
		foot = p.foot(inner, focused) // what is below is known by now
		p.shownHints = ansi.Strip(foot[len(foot)-1])
	}
	lines = append(lines, foot...)
	box := th.Box(p.heading(focused), lines, width-2, border)
	for i := range box {
		box[i] = " " + box[i]
	}
	return box
}

// mood is the colour of a question that has the keys.
func (p *Pane) mood() theme.Style {
	if p.asked.Danger {
		return p.theme.Bad
	}
	return p.theme.Warn
}

// heading asks the question.
func (p *Pane) heading(focused bool) string {
	th, tool := p.theme, theme.Line(p.asked.Tool)
	question := locale.T("allow %s?", tool)
	switch {
	case p.pending > 1:
		question = locale.T("1 of %d  allow %s?", p.pending, tool)
	case p.asked.UnknownOutcome:
		question = locale.T("unknown outcome: %s", tool)
	}
	title := " " + theme.Line(p.asked.Title)
	if !focused {
		return th.Dim.Paint(question + title)
	}
	return p.mood().Paint("▸ "+question) + title
}

// notes say why it asks, and what the call can reach.
func (p *Pane) notes(width int) []string {
	var lines []string
	if p.asked.Reason != "" {
		reason := locale.Said(theme.Line(p.asked.Reason))
		if !p.asked.UnknownOutcome {
			reason = locale.T("asks because %s", reason)
		}
		style := p.theme.Dim
		if p.asked.Danger {
			style = p.theme.Bad
		}
		rows := theme.Wrap(reason, width)
		for _, row := range rows[:min(len(rows), maxReason)] {
			lines = append(lines, style.Paint(row))
		}
	}
	if p.asked.Reach != "" {
		lines = append(lines, p.theme.Dim.Paint(theme.Cut(locale.T("it reaches %s", locale.Said(theme.Line(p.asked.Reach))), width)))
	}
	return lines
}

// Change reports whether the question is about a change of a file, which has two
// layouts. A command may begin like a diff, in which lines are left out.
func (p *Pane) Change() bool {
	detail := p.asked.Preview
	return p.asked.Class == session.Write && (strings.HasPrefix(detail, "---") || strings.HasPrefix(detail, "@@"))
}

// Body lays out all that is asked about.
func (p *Pane) Body(th *theme.Theme, width int, sideBySide bool) []string {
	if p.Change() {
		return p.diff(th, p.asked.Preview, width, sideBySide)
	}
	detail := p.asked.Preview
	if detail == "" {
		detail = p.asked.Args
	}
	if p.asked.Output != "" {
		detail += "\n\n" + locale.T("it had said until then:") + "\n" + p.asked.Output
	}
	return wrapped(th, strings.TrimRight(theme.Visible(detail), "\n"), width)
}

// bodyKey is what the layout of a question depends on.
type bodyKey struct {
	call       string
	width      int
	theme      int
	sideBySide bool
}

// laidOut is Body, which is kept: a change in colours costs more than the rest of a
// frame.
func (p *Pane) laidOut(width int, sideBySide bool) []string {
	key := bodyKey{p.asked.CallID, width, p.theme.Version(), sideBySide}
	if p.bodyKey != key || p.body == nil {
		p.bodyKey, p.body = key, p.Body(p.theme, width, sideBySide)
	}
	return p.body
}

// Read notes that all of the question has been on the screen.
func (p *Pane) Read() { p.reading.whole = true }

// Scroll moves through the question, if it is longer than its box.
func (p *Pane) Scroll(lines int) bool {
	if p.reading.length <= p.reading.room {
		return false
	}
	p.reading.scroll(lines)
	return true
}

// place says how much of the question is below.
func (p *Pane) place() string {
	if n := p.reading.below(); n > 0 {
		return "   " + locale.N(n, "%d line more", "%d lines more")
	}
	return ""
}

// HintAt is the action whose hint stands in a column of the last row of the box, as it
// was drawn last; "": none.
func (p *Pane) HintAt(column int) keys.Action {
	const left = 3 // a blank, the border, a blank
	at := left
	for _, hint := range strings.Split(p.shownHints, "   ") {
		width := theme.Width(hint)
		if label, _, _ := strings.Cut(hint, " "); column >= at && column < at+width {
			for _, a := range keys.Approval.Actions() {
				if keys.Approval.Label(a) == label {
					return a
				}
			}
		}
		at += width + 3
	}
	return ""
}

// foot names the keys, on the last of its rows.
func (p *Pane) foot(width int, focused bool) []string {
	switch {
	case !focused:
		return []string{""}
	case p.refusing:
		th := p.theme
		ways := locale.T("  %s refuse   %s back", keys.Refusal.Label(keys.Accept), keys.Refusal.Label(keys.Close))
		lead := locale.T("no, because: ")
		reason := theme.CutLeft(p.reason, max(width-theme.Width(lead)-theme.Width(ways)-1, 8))
		return []string{theme.Cut(lead+reason+th.Accent.Paint("▏")+th.Dim.Paint(ways), width)}
	case p.confirming != "":
		return p.confirmation(width)
	}
	return []string{p.hints(width)}
}

// hints are as many as there is room for.
func (p *Pane) hints(width int) string {
	answers := p.answers()
	for _, other := range p.otherHints() {
		if with := answers + "   " + p.theme.Keys(other); theme.Width(with) <= width {
			answers = with
		}
	}
	return theme.Cut(answers, width)
}

// maxScope is how many rows what is allowed for good may take.
const maxScope = 3

// confirmation says what the same key does when it is pressed again: on one row, or
// above the keys.
func (p *Pane) confirmation(width int) []string {
	th, hint := p.theme, keys.Approval.Hint
	back := hint("back", keys.Close)
	unread := ""
	if !p.reading.whole {
		unread = locale.N(p.reading.below(), "%d line unread", "%d lines unread")
	}
	switch p.confirming {
	case keys.Always:
		scope := locale.T("always: ") + locale.Said(theme.Line(p.asked.Always))
		if unread != "" {
			scope += "; " + unread
		}
		return p.above(scope, th.Warn, width, hint("yes, always", keys.Always), back)
	case keys.Outside:
		warning := locale.T("outside: it can do all that you can")
		return p.above(warning, th.Bad, width, hint("yes, outside", keys.Outside), back)
	}
	return p.above(unread, th.Bad, width, hint("yes, unread", keys.Yes), hint("reads on", keys.NextPage),
		hint("all of it", keys.FullView))
}

// above puts words in front of hints, or over them where one row has no room for both.
func (p *Pane) above(words string, st theme.Style, width int, hints ...[2]string) []string {
	ways := p.theme.Keys(hints...)
	if theme.Width(words)+theme.Width(ways)+3 <= width {
		return []string{st.Paint(words) + "   " + ways}
	}
	var lines []string
	for i, row := range theme.Wrap(words, width) {
		if i == maxScope {
			lines[i-1] = st.Paint(theme.Cut(lines[i-1]+" …", width))
			break
		}
		lines = append(lines, st.Paint(row))
	}
	return append(lines, p.theme.KeyLines(width, 1, hints...)...)
}

func (p *Pane) answers() string {
	th, hint := p.theme, keys.Approval.Hint
	yes, no, edit := hint("yes", keys.Yes), hint("no", keys.No), hint("edit", keys.Edit)
	var hints [][2]string
	switch {
	case p.asked.UnknownOutcome:
		hints = [][2]string{
			hint("run it again", keys.Yes), hint("it happened", keys.Happened), hint("tell the model", keys.No),
		}
	case p.asked.Always == "":
		hints = [][2]string{yes, no, edit}
	default:
		hints = [][2]string{yes, hint("always", keys.Always), no, edit}
	}
	outside := ""
	if p.asked.Outside {
		outside = "   " + th.Bad.Paint(keys.Approval.Label(keys.Outside)+locale.T(" outside"))
	}
	return th.Keys(hints...) + outside
}

// otherHints are those for which there may be no room.
func (p *Pane) otherHints() [][2]string {
	hint := keys.Approval.Hint
	var hints [][2]string
	if n := p.reading.below(); n > 0 {
		hints = append(hints, hint(locale.N(n, "%d line more", "%d lines more"), keys.NextPage))
	}
	if p.reading.length > p.reading.room {
		hints = append(hints, hint("all", keys.FullView))
	}
	hints = append(hints, hint("write", keys.Blur))
	if p.Change() {
		hints = append(hints, hint("layout", keys.Layout))
	}
	return hints
}
