package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

func (p *painter) callSymbol(e *entry) (string, theme.Style) {
	switch e.phase {
	case waiting:
		return "▸", p.theme.Warn
	case running:
		return "▸", p.theme.Accent
	case done:
		return "✓", p.theme.Good
	case failed:
		return "✗", p.theme.Bad
	case denied:
		return "⊘", p.theme.Warn
	case unknown:
		return "?", p.theme.Warn
	}
	return "·", p.theme.Dim
}

// drawCall is one line for a call, and what is worth seeing of it: the end of the
// output, the change, everything once it is opened.
func (p *painter) drawCall(e *entry) []string {
	lines := p.callHead(e)
	e.headRows = len(lines)
	switch {
	case e.open:
		return append(lines, p.openedCall(e)...)
	case e.phase == running:
		return append(lines, p.lastLines(e.output, maxKeptLines)...)
	case e.phase == failed:
		return append(lines, p.keptOutput(e.output, maxKeptLines)...)
	case e.phase == done && e.diff != "":
		return append(lines, p.keptChange(e.diff)...)
	case e.phase == done && !e.isCheck && !slices.Contains(summarised, e.tool):
		return append(lines, p.keptOutput(e.output, maxKeptLines)...)
	}
	return lines
}

// summarised are the tools whose line says what they found: their output is for the
// model, and opens.
var summarised = []string{"read", "glob", "grep", "plan", "write", "edit", "apply_patch"}

// What is shown of a call that succeeded, until it is opened.
const (
	maxKeptLines       = 5
	maxKeptChangeLines = 12
)

// keptOutput is the end of an output, with a count of what is left out.
func (p *painter) keptOutput(output string, most int) []string {
	all := p.lastLines(output, math.MaxInt)
	if len(all) <= most {
		return all
	}
	hidden := len(all) - (most - 1)
	return append([]string{p.folded(hidden)}, all[hidden:]...)
}

// keptChange is the beginning of a change, with a count of what is left out.
func (p *painter) keptChange(diff string) []string {
	all := p.changeLines(diff, 2*maxKeptChangeLines)
	if len(all) <= maxKeptChangeLines {
		return all
	}
	return append(all[:maxKeptChangeLines-1:maxKeptChangeLines-1], p.folded(len(all)-maxKeptChangeLines+1))
}

// folded counts lines that are left out, and names the key that shows them.
func (p *painter) folded(lines int) string {
	text := "+" + theme.Plural(lines, "line") + "   " + keys.Label(keys.OpenCall)
	return margin + p.theme.Faint.Paint("│ ") + p.theme.Dim.Paint(theme.Cut(text, p.inner()-2))
}

// changeLines is a change, of which only the first rows are seen.
func (p *painter) changeLines(diff string, seen int) []string {
	bar := margin + p.theme.Faint.Paint("│ ")
	var lines []string
	for _, l := range diffLines(p.theme, diff, p.changeWidth(), p.sideBySide(), seen) {
		lines = append(lines, bar+l)
	}
	return lines
}

func (p *painter) changeWidth() int { return max(p.inner()-2, 8) }
func (p *painter) sideBySide() bool { return p.width >= 140 }

// maxCommandRows is how many rows a command takes until it is opened.
const maxCommandRows = 3

// callHead names a call and what came of it, in a row; a long command goes on below
// its beginning.
func (p *painter) callHead(e *entry) []string {
	symbol, st := p.callSymbol(e)
	right := p.callOutcome(e)
	title := callTitle(e)
	changes := p.changeCounts(e)
	name := theme.Fit(theme.Line(e.tool), toolWidth(e))
	lead := len(margin) + 2 + theme.Width(name) + 1
	room := p.width - lead - theme.Width(right) - theme.Width(changes) - 3
	shown, rest := title, []string(nil)
	switch {
	case theme.Width(title) <= room:
	case e.argument("command") != "" && room >= minCommandRoom:
		shown, rest = foldCommand(title, room, p.width-lead-1)
	case strings.Contains(title, " ") && !strings.HasPrefix(title, e.argument("path")+":") && title != e.argument("path"):
		shown = theme.Cut(title, room)
	default:
		shown = theme.CutLeft(title, room)
	}
	left := margin + st.Paint(symbol) + " " + p.theme.Dim.Paint(name) + " " + p.linkTitle(e, title, shown)
	lines := []string{theme.Sides(left+changes, right+" ", p.width)}
	return append(lines, indent(rest, strings.Repeat(" ", lead))...)
}

// minCommandRoom is from how many cells on a command begins beside its outcome.
const minCommandRoom = 12

// foldCommand breaks a command between its words: the first row has less room than the
// others. Of a very long one the beginning and the end are kept.
func foldCommand(command string, first, room int) (head string, rest []string) {
	head, left := wordsWithin(command, first)
	for left != "" {
		if len(rest) == maxCommandRows-2 {
			return head, append(rest, theme.CutLeft(left, room))
		}
		row, more := wordsWithin(left, room)
		rest, left = append(rest, row), more
	}
	return head, rest
}

// wordsWithin gives as many words as there is room for, or else the beginning of one.
func wordsWithin(text string, room int) (row, rest string) {
	if theme.Width(text) <= room {
		return text, ""
	}
	row = ansi.Truncate(text, room, "")
	if at := strings.LastIndexByte(row, ' '); at > 0 && !strings.HasPrefix(text[len(row):], " ") {
		row = row[:at]
	}
	return strings.TrimRight(row, " "), strings.TrimSpace(text[len(row):])
}

// changeCounts says how many lines a call added and took away.
func (p *painter) changeCounts(e *entry) string {
	counts := ""
	if e.addedLines > 0 {
		counts += " " + p.theme.Good.Paint(fmt.Sprintf("+%d", e.addedLines))
	}
	if e.removedLines > 0 {
		counts += " " + p.theme.Bad.Paint(fmt.Sprintf("−%d", e.removedLines))
	}
	if counts != "" {
		counts = " " + counts
	}
	return counts
}

// toolWidth is the cells that the name of a call's tool takes.
func toolWidth(e *entry) int { return max(6, theme.Width(theme.Line(e.tool))) }

// telling are the arguments that tell calls of one tool apart, the best first.
var telling = []string{"command", "path", "pattern", "query", "url", "file", "patch"}

// callTitle is what a call is about. One that never came to be has no title of its
// own: its path or command stands for it.
func callTitle(e *entry) string {
	title := theme.Line(e.title)
	if title != "" && title != theme.Line(e.tool) {
		return title
	}
	for _, name := range telling {
		if value := e.argument(name); value != "" {
			return value
		}
	}
	return theme.Line(e.args)
}

// argument is one of a call's arguments that is a text; empty: it has none of that name.
func (e *entry) argument(name string) string {
	var args map[string]json.RawMessage
	var value string
	if json.Unmarshal([]byte(e.args), &args) != nil || json.Unmarshal(args[name], &value) != nil {
		return ""
	}
	return theme.Line(value)
}

// callOutcome is the right side of a call's line.
func (p *painter) callOutcome(e *entry) string {
	took := theme.Fit("", 6)
	if e.duration >= theme.MinTold {
		s := theme.Elapsed(e.duration)
		took = strings.Repeat(" ", max(0, 6-theme.Width(s))) + s
	}
	switch e.phase {
	case waiting:
		return p.theme.Warn.Paint(locale.T("waiting for you"))
	case running:
		return p.theme.Dim.Paint(theme.Clock(p.now().Sub(e.startedAt)))
	case denied:
		return p.theme.Warn.Paint(locale.T("refused"))
	case unknown:
		return p.theme.Warn.Paint(locale.T("interrupted: may or may not be done"))
	case failed:
		if saysAgain(e.output, e.summary) {
			return p.theme.Bad.Paint(locale.T("failed")) + p.theme.Dim.Paint(took)
		}
		return p.theme.Bad.Paint(theme.Cut(found(e.summary), p.width/3)) + p.theme.Dim.Paint(took)
	case pending:
		if e.bytes > 0 {
			return p.theme.Dim.Paint(locale.T("writing %sB", theme.Count(int64(e.bytes))))
		}
		return ""
	}
	summary := found(e.summary)
	if e.summary == theme.Succeeded {
		summary = ""
	}
	return p.theme.Dim.Paint(theme.Cut(summary, p.width/3) + took)
}

// counted is a summary that says how much was found: "212 lines".
var counted = regexp.MustCompile(`^(\d{1,9}) (lines?|files?|hits?|entry|entries|tasks?|edits?)$`)

// found is a call's summary in the person's language.
func found(summary string) string {
	summary = theme.Line(summary)
	if parts := counted.FindStringSubmatch(summary); parts != nil {
		if n, err := strconv.Atoi(parts[1]); err == nil {
			return locale.T("%d "+parts[2], n)
		}
	}
	return locale.Said(summary)
}

// saysAgain reports an output that is its own summary: it is shown once.
func saysAgain(output, summary string) bool {
	return summary != "" && theme.Line(output) == theme.Line(summary)
}

// lastLines gives the last n lines of an output.
func (p *painter) lastLines(output string, n int) []string {
	output = strings.TrimRight(theme.Plain(output), "\n ")
	if output == "" {
		return nil
	}
	all := strings.Split(output, "\n")
	all = all[max(0, len(all)-n):]
	lines := make([]string, len(all))
	for i, l := range all {
		lines[i] = margin + p.theme.Faint.Paint("│ ") + p.theme.Dim.Paint(theme.Cut(l, p.inner()-2))
	}
	return lines
}

// openedCall is the whole of a call: arguments, change, output.
func (p *painter) openedCall(e *entry) []string {
	bar := margin + p.theme.Faint.Paint("│ ")
	width := max(p.inner()-2, 8)
	var lines []string
	add := func(st theme.Style, text string) {
		for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			for _, part := range theme.Hard(l, width) {
				lines = append(lines, bar+st.Paint(part))
			}
		}
	}
	if args := argsText(e.args); args != "" && (e.diff == "" || e.phase != done) {
		add(p.theme.Dim, theme.Visible(args))
	}
	if e.diff != "" {
		lines = append(lines, p.changeLines(e.diff, math.MaxInt)...)
	} else if out := strings.TrimRight(theme.Plain(e.output), "\n"); out != "" {
		if len(lines) > 0 {
			lines = append(lines, bar)
		}
		add(theme.Style{}, out)
	}
	if e.file != "" {
		add(p.theme.Dim, locale.T("the whole output is in %s", theme.Line(e.file)))
	}
	return append(lines, margin+p.theme.Faint.Paint("╵"))
}

// argsText writes JSON arguments as lines "name: value"; anything else as it is.
func argsText(args string) string {
	if strings.TrimSpace(args) == "" || strings.TrimSpace(args) == "{}" {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(args)))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return args
	}
	var b strings.Builder
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return args
		}
		var value any
		if dec.Decode(&value) != nil {
			return args
		}
		text, ok := value.(string)
		if !ok {
			raw, err := json.Marshal(value)
			if err != nil {
				return args
			}
			text = string(raw)
		}
		sep := " "
		if strings.Contains(strings.TrimRight(text, "\n"), "\n") {
			sep = "\n"
		}
		fmt.Fprintf(&b, "%s:%s%s\n", name, sep, strings.TrimRight(text, "\n"))
	}
	return b.String()
}

// maxLocalLines is how much of the output of a person's own command is shown until
// it is opened.
const maxLocalLines = 12

func (p *painter) drawLocal(e *entry) []string {
	symbol, st := p.callSymbol(e)
	left := margin + st.Paint(symbol) + " " + p.theme.Dim.Paint("!") + " " + theme.Cut(theme.Line(e.title), p.inner()-40)
	right := cmp.Or(locale.Said(e.summary), locale.T("yours; the model does not see it"))
	if e.phase == running {
		right = locale.T("yours   %s stops it   %s", keys.Label(keys.Stop), theme.Clock(p.now().Sub(e.startedAt)))
	}
	lines := []string{theme.Sides(left, p.theme.Dim.Paint(right+" "), p.width)}
	if e.open {
		return append(lines, p.openedCall(e)...)
	}
	return append(lines, p.keptOutput(e.output, maxLocalLines)...)
}
