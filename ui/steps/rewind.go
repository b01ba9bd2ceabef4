package steps

import (
	"fmt"
	"slices"
	"strings"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Rewind is the list of the places that can be returned to, and what returning
// to one of them would do.
type Rewind struct {
	theme       *theme.Theme
	diff        func(th *theme.Theme, diff string, width int, besides bool) []string
	checkpoints []session.Checkpoint // newest first
	loaded      bool
	selected    int
	top         int
	rows        int // checkpoints that there was room for

	open    bool // a preview is shown, or on its way
	preview *session.Preview
	offset  int
	problem string

	width int // that the lines below were laid out for
	lines []string
}

// NewRewind makes the pane; diff lays out what becomes of a file.
func NewRewind(th *theme.Theme, diff func(*theme.Theme, string, int, bool) []string) *Rewind {
	return &Rewind{theme: th, diff: diff}
}

// SetTheme changes the colours.
func (p *Rewind) SetTheme(th *theme.Theme) { p.theme, p.lines = th, nil }

// Set gives the checkpoints. Those that were taken back themselves are left out.
func (p *Rewind) Set(points []session.Checkpoint) {
	p.checkpoints, p.loaded = nil, true
	for _, c := range points {
		if !c.Rewound {
			p.checkpoints = append(p.checkpoints, c)
		}
	}
	slices.SortStableFunc(p.checkpoints, func(a, b session.Checkpoint) int { return int(b.Seq - a.Seq) })
	p.selected = max(0, min(p.selected, len(p.checkpoints)-1))
}

// Before chooses the last checkpoint before a step.
func (p *Rewind) Before(step int) bool {
	for i, c := range p.checkpoints {
		if c.Step == step {
			p.selected = i
			return true
		}
	}
	return false
}

// BeforeLastTurn chooses the last checkpoint before a turn.
func (p *Rewind) BeforeLastTurn() bool {
	p.selected = slices.IndexFunc(p.checkpoints, func(c session.Checkpoint) bool { return c.Step == 0 && !c.After })
	found := p.selected >= 0
	p.selected = max(p.selected, 0)
	return found
}

// Chosen is the checkpoint under the cursor.
func (p *Rewind) Chosen() (session.Checkpoint, bool) {
	if p.selected >= len(p.checkpoints) {
		return session.Checkpoint{}, false
	}
	return p.checkpoints[p.selected], true
}

// Open waits for the preview of the chosen checkpoint; what it showed before
// goes.
func (p *Rewind) Open() { p.open, p.preview, p.lines, p.offset = true, nil, nil, 0 }

// Close goes back to the list.
func (p *Rewind) Close() { p.open, p.preview, p.lines, p.problem = false, nil, nil, "" }

// Show gives the preview that was asked for.
func (p *Rewind) Show(v session.Preview) {
	if c, ok := p.Chosen(); p.open && ok && c.Seq == v.Checkpoint.Seq {
		p.preview, p.lines = &v, nil
	}
}

// Shown is the preview in view.
func (p *Rewind) Shown() (session.Preview, bool) {
	if p.preview == nil {
		return session.Preview{}, false
	}
	return *p.preview, true
}

// Opened reports whether a preview is shown, or on its way.
func (p *Rewind) Opened() bool { return p.open }

// Problem shows why something did not happen.
func (p *Rewind) Problem(text string) { p.problem = text }

// moves are by how many lines the keys of movement go.
var moves = map[keys.Action]int{
	keys.Up: -1, keys.Down: 1, keys.PageUp: -10, keys.PageDown: 10, keys.Top: -1 << 20, keys.Bottom: 1 << 20,
}

// Key moves.
func (p *Rewind) Key(name string) { p.Move(moves[keys.RewindDialog.Action(name)]) }

// Move chooses another checkpoint, or scrolls the preview.
func (p *Rewind) Move(by int) {
	if p.open {
		p.offset = max(p.offset+by, 0)
		return
	}
	p.selected = max(0, min(p.selected+by, len(p.checkpoints)-1))
}

// ItemAt gives how far the checkpoint in a row of the box is from the chosen one.
func (p *Rewind) ItemAt(row int) (by int, ok bool) {
	i := p.top + row - 1
	return i - p.selected, !p.open && row >= 1 && row <= p.rows && i < len(p.checkpoints)
}

// View gives a box of width cells, at most height rows of it.
func (p *Rewind) View(width, height int) []string {
	inner, room := max(width-4, 1), max(height-2, 0)
	title := p.theme.Strong.Paint(locale.T("rewind"))
	hint := keys.RewindDialog.Hint
	var body []string
	hints := hintLine(p.theme, inner, hint("what it would do", keys.Accept), hint("fork from here", keys.ForkHere),
		hint("choose", keys.Up, keys.Down), hint("close", keys.Close))
	if p.open {
		c, _ := p.Chosen()
		title += p.theme.Dim.Paint(" · " + locale.T("to %s, %s", theme.At(c.Time), placeText(c)))
		body, hints = p.previewLines(inner, max(room-2, 1)), p.previewHints(inner)
	} else {
		body = p.list(inner, max(room-2, 1))
		p.rows = len(body)
	}
	lines := append(body, "")
	lines = append(lines[:min(len(lines), max(room-1, 0))], hints)
	return clip(p.theme.Box(title, lines[:min(len(lines), room)], width, p.theme.Accent), height)
}

// placeText says what a checkpoint is before, or after.
func placeText(c session.Checkpoint) string {
	if c.After {
		return locale.T("after %s", nameText(c))
	}
	return locale.T("before %s", nameText(c))
}

func nameText(checkpoint session.Checkpoint) string {
	text, _, _ := strings.Cut(strings.TrimSpace(theme.Plain(checkpoint.Title)), "\n")
	switch {
	case checkpoint.Step > 0 && text != "":
		return locale.T("step %d: %s", checkpoint.Step, text)
	case checkpoint.Step > 0:
		return locale.T("step %d", checkpoint.Step)
	case text == "":
		return locale.T("turn %d", checkpoint.Turn)
	}
	return "“" + text + "”"
}

func (p *Rewind) list(width, rows int) []string {
	th := p.theme
	switch {
	case !p.loaded:
		return []string{th.Dim.Paint(locale.T("looking …"))}
	case len(p.checkpoints) == 0:
		return theme.Wrap(locale.T("There is no checkpoint yet. One is made before each turn and each step."), width)
	}
	if p.selected < p.top {
		p.top = p.selected
	}
	if p.selected >= p.top+rows {
		p.top = p.selected - rows + 1
	}
	var lines []string
	day := ""
	for i := p.top; i < min(p.top+rows, len(p.checkpoints)); i++ {
		checkpoint := p.checkpoints[i]
		lead := "  "
		if i == p.selected {
			lead = th.Accent.Paint("❯ ")
		}
		at := theme.At(checkpoint.Time)
		if d := checkpoint.Time.Local().Format(locale.T("Jan 2")); d != p.checkpoints[0].Time.Local().Format(locale.T("Jan 2")) {
			day = d + " "
		}
		right := ""
		if checkpoint.Tree == "" {
			right = th.Warn.Paint(locale.T("conversation only"))
		}
		line := theme.Sides(lead+th.Dim.Paint(day+at)+"  "+theme.Cut(placeText(checkpoint), max(width-23, 19)), right, width)
		if i == p.selected {
			line = th.Selected.Over(line)
		}
		lines = append(lines, line)
	}
	return lines
}

func (p *Rewind) previewHints(width int) string {
	hint := keys.RewindDialog.Hint
	back, scroll := hint("back", keys.Close), hint("scroll", keys.Up, keys.Down)
	conversation := hint("conversation only", keys.RewindTranscript)
	switch {
	case p.preview == nil:
		return hintLine(p.theme, width, back)
	case p.preview.Checkpoint.Tree == "":
		return hintLine(p.theme, width, conversation, back, scroll)
	}
	both, files := hint("both", keys.RewindBoth), hint("files only", keys.RewindFiles)
	return hintLine(p.theme, width, both, files, conversation, back, scroll)
}

// previewLines is the part of the preview that is in view.
func (p *Rewind) previewLines(width, rows int) []string {
	var head []string
	if p.problem != "" {
		for _, l := range theme.Wrap("✗ "+locale.Said(theme.Plain(p.problem)), width) {
			head = append(head, p.theme.Bad.Paint(theme.Cut(l, width)))
		}
		head = append(head[:min(len(head), max(rows/2, 1))], "")
	}
	if p.preview == nil {
		return append(head, p.theme.Dim.Paint(locale.T("comparing …")))
	}
	if p.lines == nil || p.width != width {
		p.lines, p.width = p.layout(width), width
	}
	rows = max(rows-len(head), 1)
	p.offset = max(0, min(p.offset, len(p.lines)-rows))
	part := p.lines[p.offset:min(p.offset+rows, len(p.lines))]
	if left := len(p.lines) - p.offset - rows; left > 0 && rows > 1 {
		more := theme.Cut("↓ "+locale.N(left+1, "%d line more", "%d lines more"), width)
		part = append(slices.Clone(part[:rows-1]), p.theme.Dim.Paint(more))
	}
	return append(head, part...)
}

// takenText says how much of the conversation a rewind takes back.
func takenText(preview *session.Preview) string {
	switch {
	case preview.Turns > 0:
		return locale.N(preview.Turns, "%d turn is taken back", "%d turns are taken back")
	case preview.Steps > 0:
		return locale.N(preview.Steps, "%d step is taken back", "%d steps are taken back")
	}
	return locale.T("no turn is taken back")
}

// layout is the whole preview: what goes, what stays, then file by file.
func (p *Rewind) layout(width int) []string {
	th, preview := p.theme, p.preview
	var lines []string
	add := func(st theme.Style, text string) {
		for _, l := range theme.Wrap(text, width) {
			lines = append(lines, st.Paint(theme.Cut(l, width)))
		}
	}
	turns := takenText(preview)
	switch {
	case preview.Checkpoint.Tree == "":
		add(theme.Style{}, turns+locale.T("; the files were not kept here and stay as they are"))
	case len(preview.Changes) == 0:
		add(theme.Style{}, turns+locale.T("; no file differs"))
	default:
		add(theme.Style{}, turns+locale.N(len(preview.Changes), "; %d file changes", "; %d files change"))
	}
	if len(preview.Commands) > 0 {
		add(th.Warn, "▲ "+locale.T("what these commands did outside the folder stays: %s", joinFirst(preview.Commands)))
	}
	if len(preview.Skipped) > 0 {
		add(th.Warn, "▲ "+locale.T("not covered: %s", joinFirst(preview.Skipped)))
	}
	if len(preview.Changes) > 0 {
		lines = append(lines, "")
	}
	for _, c := range preview.Changes {
		lines = append(lines, p.changeLine(c, width))
	}
	for _, file := range theme.SplitPatch(preview.Patch) {
		lines = append(lines, "", th.Strong.Paint(theme.Cut(file.Name, width)))
		lines = append(lines, p.diff(th, file.Text, width, width >= 140)...)
	}
	return lines
}

// maxJoined is how many commands or files are named in one line.
const maxJoined = 6

func joinFirst(list []string) string {
	parts := make([]string, 0, maxJoined)
	for i, s := range list {
		if i == maxJoined {
			parts = append(parts, locale.T("and %d more", len(list)-i))
			break
		}
		parts = append(parts, theme.Cut(locale.Said(theme.Line(s)), 80))
	}
	return strings.Join(parts, ", ")
}

func (p *Rewind) changeLine(change session.Change, width int) string {
	th := p.theme
	symbol, st := "~", th.Warn
	switch change.Kind {
	case "added":
		symbol, st = "+", th.Good
	case "removed":
		symbol, st = "−", th.Bad
	}
	right := ""
	switch {
	case change.Binary:
		right = th.Dim.Paint(locale.T("binary"))
	case change.Added+change.Removed > 0:
		right = th.Good.Paint(fmt.Sprintf("+%d", change.Added)) + " " + th.Bad.Paint(fmt.Sprintf("−%d", change.Removed))
	}
	text := map[session.ChangeKind]string{
		"added": locale.T("comes back"), "changed": locale.T("changes"), "removed": locale.T("goes"),
		"mode": locale.T("may be run or not"),
	}[change.Kind]
	name := theme.CutLeft(theme.Line(change.Path), max(width-theme.Width(right)-theme.Width(text)-10, 8))
	return theme.Sides(st.Paint(symbol)+" "+name+th.Dim.Paint("  "+text), right, min(width, 100))
}
