package transcript

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// painter lays entries out in lines, each for as long as it stays the same.
type painter struct {
	width    int
	theme    *theme.Theme
	now      func() time.Time
	markdown markdown
	unfold   bool // all reasoning is open
}

// layout gives the entry's lines for the painter's width.
func (p *painter) layout(e *entry) []string {
	key := cacheKey{p.width, p.theme.Version(), e.version}
	if e.lines != nil && e.cached == key {
		return e.lines
	}
	if e.cached.width != key.width {
		e.fenceLines, e.fenceBytes = nil, 0
	}
	e.cached = key
	e.lines = p.link(e, p.draw(e))
	return e.lines
}

const margin = "   " // everything but prompts and labels begins here

func indent(lines []string, by string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if l != "" {
			l = by + l
		}
		out[i] = l
	}
	return out
}

func (p *painter) draw(e *entry) []string {
	switch e.kind {
	case prompt:
		return p.drawPrompt(e)
	case prose:
		return p.drawProse(e)
	case cutOff:
		return p.drawCutOff(e)
	case reasoning:
		return p.drawReasoning(e)
	case call:
		return p.drawCall(e)
	case local:
		return p.drawLocal(e)
	case todoList:
		return p.drawTodos(e)
	case ending:
		return p.drawEnding(e)
	case sheet:
		return e.page.draw(p.theme, p.width, e.page.sideBySide)
	default:
		return p.drawStatusLine(e)
	}
}

// inner is the width of text beside the margins.
func (p *painter) inner() int { return max(p.width-len(margin)-1, 8) }

func (p *painter) drawPrompt(e *entry) []string {
	lines := theme.Wrap(theme.Plain(strings.TrimSpace(e.text)), p.inner())
	if e.inner && !e.open && len(lines) > 1 {
		lines = []string{p.innerPrompt(lines)}
	}
	if len(lines) > maxPromptLines && !e.open {
		more := p.theme.Dim.Paint("… " + locale.N(len(lines)-maxPromptLines, "%d line more", "%d lines more"))
		lines = append(lines[:maxPromptLines:maxPromptLines], more)
	}
	for i, l := range lines {
		lead := margin
		if i == 0 {
			lead = " " + p.theme.Accent.Paint("›") + " "
		}
		lines[i] = p.theme.User.Over(theme.Fit(lead+l, p.width))
	}
	return lines
}

// innerPrompt is the first line of a step's prompt, with a count of what is folded.
func (p *painter) innerPrompt(lines []string) string {
	more := "   +" + theme.Plural(len(lines)-1, "line") + "   " + keys.Label(keys.OpenCall)
	return theme.Cut(lines[0], p.inner()-theme.Width(more)) + p.theme.Dim.Paint(more)
}

// maxProse is how many cells wide words are set: longer lines are hard to read.
const maxProse = 100

// drawProse renders a piece of Markdown. The model's name stands at the start
// of the first line: room for it is made with spaces that do not break.
func (p *painter) drawProse(e *entry) []string {
	width := p.inner()
	if lang, text, ok := e.fence(); ok {
		return p.withLabel(e, p.onGround(p.drawFence(e, text, width), lang, width), false)
	}
	if _, ok := e.code(); ok {
		return p.withLabel(e, p.onGround(p.markdown.render(p.theme, width, e.text), e.language(), width), false)
	}
	source := e.text
	if e.live {
		source = withoutFenceHead(source)
		if e.blocks == nil || e.blocks.fence == "" {
			source = closeMarks(source)
		}
	}
	if e.live && len(source) > maxMarkdownBytes {
		return p.withLabel(e, wrapped(source, width), false)
	}
	gap, inline := "", false
	if e.head && e.label != "" && paragraph(source) {
		gap, inline = strings.Repeat("\u00a0", theme.Width(e.label)+2), true
	}
	if e.linkDefs != "" && strings.Contains(source, "[") {
		source += "\n\n" + e.linkDefs
	}
	if first, _, _ := strings.Cut(source, "\n"); fenceOf(first) == "" && !strings.Contains(first, "|") {
		width = min(width, maxProse)
	}
	lines := p.markdown.render(p.theme, width, gap+source)
	if inline {
		if len(lines) > 0 && strings.HasPrefix(lines[0], gap) {
			lines[0] = lines[0][len(gap):]
		} else {
			inline = false
			lines = p.markdown.render(p.theme, width, source)
		}
	}
	return p.withLabel(e, lines, inline)
}

// withoutFenceHead leaves out the last line if it begins a fence of code and goes on: its
// language is not all there, and the renderer would look for it in every list it has.
func withoutFenceHead(source string) string {
	at := strings.LastIndexByte(source, '\n') + 1
	if fenceOf(strings.TrimLeft(source[at:], " ")) == "" {
		return source
	}
	return strings.TrimRight(source[:at], "\n")
}

func (p *painter) withLabel(e *entry, lines []string, inline bool) []string {
	out := indent(lines, margin)
	if !e.head {
		return out
	}
	mark := " " + p.theme.Accent.Paint("●") + " "
	if e.label == "" {
		if len(lines) > 0 {
			out[0] = mark + lines[0]
		}
		return out
	}
	name := p.theme.Accent.Paint(e.label)
	if inline {
		out[0] = mark + name + "  " + lines[0]
		return out
	}
	return append([]string{mark + name}, out...)
}

// paragraph reports whether Markdown begins with plain words.
func paragraph(s string) bool {
	if s == "" || strings.HasPrefix(s, "    ") || strings.ContainsRune("#-*+>`~|<\t\n[=_0123456789", rune(s[0])) {
		return false
	}
	head, rest, _ := strings.Cut(s, "\n")
	next, _, _ := strings.Cut(rest, "\n")
	// A setext heading or a table would be broken by words put before it.
	underlined := strings.TrimSpace(next) != "" && strings.Trim(next, "=- ") == ""
	return !strings.Contains(head, "|") && !underlined
}

func (e *entry) fence() (lang, text string, ok bool) {
	if !e.live || e.blocks == nil {
		return "", "", false
	}
	return e.blocks.code()
}

// drawFence shows code that is still being written: plain, and only its last
// line laid out anew.
func (p *painter) drawFence(e *entry, text string, width int) []string {
	text = text[min(e.fenceBytes, len(text)):]
	for {
		n := strings.IndexByte(text, '\n')
		if n < 0 {
			break
		}
		e.fenceLines = append(e.fenceLines, codeLines(text[:n], width)...)
		e.fenceBytes += n + 1
		text = text[n+1:]
	}
	lines := append(e.fenceLines[:len(e.fenceLines):len(e.fenceLines)], codeLines(text, width)...)
	return lines
}

// onGround sets code apart: on a ground of its own or, without colours, behind a bar.
// Its language stands at the end of the first line.
func (p *painter) onGround(lines []string, lang string, width int) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if p.theme.Bar() {
			line = p.theme.Faint.Paint("│") + ansi.TruncateLeft(line, 1, "")
		}
		if i == 0 && lang != "" && theme.Width(line)+theme.Width(lang)+3 <= width {
			line = theme.Sides(line, p.theme.Dim.Paint(lang)+" ", width)
		}
		if !p.theme.Bar() {
			line = p.theme.Ground.Over(theme.Fit(line, width))
		}
		out[i] = line
	}
	return out
}

// language is what a fence of code says of itself.
func (e *entry) language() string {
	head, _, _ := strings.Cut(e.text, "\n")
	head = strings.TrimLeft(head, "`~")
	lang, _, _ := strings.Cut(strings.TrimSpace(head), " ")
	return theme.Cut(theme.Line(lang), 20)
}

func codeLines(l string, width int) []string {
	return indent(theme.Code(strings.ReplaceAll(l, "\t", "    "), max(width-2, 1)), "  ")
}

func (p *painter) drawCutOff(e *entry) []string {
	text := cutOffText(e)
	var lines []string
	if said := strings.TrimSpace(theme.Plain(e.text)); said != "" {
		gap := ""
		if e.label != "" {
			gap = strings.Repeat("\u00a0", theme.Width(e.label)+2)
		}
		lines = theme.Wrap(gap+said, p.inner())
		for i, l := range lines {
			if i == 0 {
				l = " ● " + theme.Fit(e.label, theme.Width(gap)) + strings.TrimPrefix(l, gap)
			} else {
				l = margin + l
			}
			lines[i] = p.theme.Dim.Paint(l)
		}
	}
	if e.tool != "" {
		text = locale.T("the call of %s was %s", theme.Line(e.tool), text)
	}
	mark := "(" + text + ")"
	if n := len(lines); n > 0 && theme.Width(lines[n-1])+theme.Width(mark)+3 <= p.width {
		lines[n-1] += "  " + p.theme.Warn.Paint(mark)
		return lines
	}
	return append(lines, margin+p.theme.Warn.Paint(mark))
}

func (p *painter) drawReasoning(e *entry) []string {
	text := strings.TrimSpace(theme.Plain(e.text))
	if e.open || p.unfold {
		lines := theme.Wrap(strings.ReplaceAll(text, "**", ""), p.inner()-2)
		for i := range lines {
			lines[i] = margin + "  " + p.theme.Think.Paint(lines[i])
		}
		return append([]string{margin + p.theme.Dim.Paint("∴ "+locale.T("thinking"))}, lines...)
	}
	lead := "∴ " + locale.T("thought")
	show := firstLine(text)
	if e.live {
		lead, show = "∴ "+locale.T("thinking"), lastLine(text)
	}
	right := ""
	if e.duration >= time.Second {
		right = p.theme.Dim.Paint(theme.Clock(e.duration)) + " "
	}
	room := p.width - len(margin) - theme.Width(lead) - theme.Width(right) - 4
	left := margin + p.theme.Dim.Paint(lead)
	if show != "" && room > 8 {
		left += "  " + p.theme.Think.Paint(theme.Cut(strings.ReplaceAll(show, "**", ""), room))
	}
	return []string{theme.Sides(left, right, p.width)}
}

func doneOf(n, of int) string { return locale.T("%d of %d", n, of) }

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }
