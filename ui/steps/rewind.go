package steps

import (
	"fmt"
	"slices"
	"strings"

	"belay/session"
	"belay/ui/keys"
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

// View gives a box of width cells, at most height rows of it.
func (p *Rewind) View(width, height int) []string {
	inner, room := max(width-4, 1), max(height-2, 0)
	title := p.theme.Strong.Paint("rewind")
	hint := keys.RewindDialog.Hint
	var body []string
	hints := hintLine(p.theme, inner, hint("what it would do", keys.Accept), hint("fork from here", keys.ForkHere),
		hint("choose", keys.Up, keys.Down), hint("close", keys.Close))
	if p.open {
		c, _ := p.Chosen()
		title += p.theme.Dim.Paint(" · to " + theme.At(c.Time) + ", " + placeText(c))
		body, hints = p.previewLines(inner, max(room-2, 1)), p.previewHints(inner)
	} else {
		body = p.list(inner, max(room-2, 1))
	}
	lines := append(body, "")
	lines = append(lines[:min(len(lines), max(room-1, 0))], hints)
	return clip(p.theme.Box(title, lines[:min(len(lines), room)], width, p.theme.Accent), height)
}

// placeText says what a checkpoint is before, or after.
func placeText(c session.Checkpoint) string {
	if c.After {
		return "after " + nameText(c)
	}
	return "before " + nameText(c)
}

func nameText(checkpoint session.Checkpoint) string {
	text, _, _ := strings.Cut(strings.TrimSpace(theme.Plain(checkpoint.Title)), "\n")
	switch {
	case checkpoint.Step > 0 && text != "":
		return fmt.Sprintf("step %d: %s", checkpoint.Step, text)
	case checkpoint.Step > 0:
		return fmt.Sprintf("step %d", checkpoint.Step)
	case text == "":
		return fmt.Sprintf("turn %d", checkpoint.Turn)
	}
	return "“" + text + "”"
}

func (p *Rewind) list(width, rows int) []string {
	th := p.theme
	switch {
	case !p.loaded:
		return []string{th.Dim.Paint("looking …")}
	case len(p.checkpoints) == 0:
		return theme.Wrap("There is no checkpoint yet. One is made before each turn and each step.", width)
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
		if d := checkpoint.Time.Local().Format("Jan 2"); d != p.checkpoints[0].Time.Local().Format("Jan 2") {
			day = d + " "
		}
		right := ""
		if checkpoint.Tree == "" {
			right = th.Warn.Paint("conversation only")
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
		for _, l := range theme.Wrap("✗ "+theme.Plain(p.problem), width) {
			head = append(head, p.theme.Bad.Paint(theme.Cut(l, width)))
		}
		head = append(head[:min(len(head), max(rows/2, 1))], "")
	}
	if p.preview == nil {
		return append(head, p.theme.Dim.Paint("comparing …"))
	}
	if p.lines == nil || p.width != width {
		p.lines, p.width = p.layout(width), width
	}
	rows = max(rows-len(head), 1)
	p.offset = max(0, min(p.offset, len(p.lines)-rows))
	part := p.lines[p.offset:min(p.offset+rows, len(p.lines))]
	if left := len(p.lines) - p.offset - rows; left > 0 && rows > 1 {
		more := theme.Cut("↓ "+theme.Plural(left+1, "line")+" more", width)
		part = append(slices.Clone(part[:rows-1]), p.theme.Dim.Paint(more))
	}
	return append(head, part...)
}

// takenText says how much of the conversation a rewind takes back.
func takenText(preview *session.Preview) string {
	n, what := preview.Turns, "turn"
	if n == 0 && preview.Steps > 0 {
		n, what = preview.Steps, "step"
	}
	switch n {
	case 0:
		return "no turn is taken back"
	case 1:
		return "1 " + what + " is taken back"
	}
	return theme.Plural(n, what) + " are taken back"
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
		add(theme.Style{}, turns+"; the files were not kept here and stay as they are")
	case len(preview.Changes) == 0:
		add(theme.Style{}, turns+"; no file differs")
	case len(preview.Changes) == 1:
		add(theme.Style{}, turns+"; 1 file changes")
	default:
		add(theme.Style{}, fmt.Sprintf("%s; %d files change", turns, len(preview.Changes)))
	}
	if len(preview.Commands) > 0 {
		add(th.Warn, "▲ what these commands did outside the folder stays: "+joinFirst(preview.Commands))
	}
	if len(preview.Skipped) > 0 {
		add(th.Warn, "▲ not covered: "+joinFirst(preview.Skipped))
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
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, theme.Cut(theme.Line(s), 80))
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
		right = th.Dim.Paint("binary")
	case change.Added+change.Removed > 0:
		right = th.Good.Paint(fmt.Sprintf("+%d", change.Added)) + " " + th.Bad.Paint(fmt.Sprintf("−%d", change.Removed))
	}
	text := map[session.ChangeKind]string{
		"added": "comes back", "changed": "changes", "removed": "goes", "mode": "may be run or not",
	}[change.Kind]
	name := theme.CutLeft(theme.Line(change.Path), max(width-theme.Width(right)-theme.Width(text)-10, 8))
	return theme.Sides(st.Paint(symbol)+" "+name+th.Dim.Paint("  "+text), right, min(width, 100))
}
