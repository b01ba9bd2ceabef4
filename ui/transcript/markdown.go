package transcript

import (
	"regexp"
	"slices"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"

	xansi "github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

// markdown renders Markdown for one width and theme. It is made on first use:
// nothing of glamour runs before the first frame.
type markdown struct {
	width   int
	version int
	term    *glamour.TermRenderer

	// wide breaks no lines: it is wider than any.
	wide      *glamour.TermRenderer
	wideWidth int
}

// maxMarkdownBytes is the size from which an open piece is shown as plain text until
// it is closed, so that no single piece can make a frame late. Bytes.
const maxMarkdownBytes = 6 << 10

func (m *markdown) render(th *theme.Theme, width int, source string) []string {
	return withoutLinks(th, m.lines(th, width, source))
}

func (m *markdown) lines(th *theme.Theme, width int, source string) []string {
	if natural, ok := tableWidth(source); ok && natural < width {
		// The renderer stretches a table over its whole width.
		term, err := glamour.NewTermRenderer(glamour.WithStyles(style(th)), glamour.WithWordWrap(natural))
		if err != nil {
			return wrapped(source, width)
		}
		return finish(term, source, width)
	}
	if m.term == nil || m.width != width || m.version != th.Version() {
		term, err := renderer(th, width)
		if err != nil {
			return wrapped(source, width)
		}
		m.term, m.wide, m.width, m.version = term, nil, width, th.Version()
	}
	switch {
	case onlyFence(source) && m.widen(th, source):
		return finish(m.wide, source, width)
	case onlyList(source) && m.widen(th, source):
		return m.list(source, width)
	}
	return finish(m.term, source, width)
}

// onlyFence reports a piece that is one fence of code.
func onlyFence(source string) bool {
	lines := strings.Split(strings.TrimRight(source, "\n"), "\n")
	fence := fenceOf(lines[0])
	return fence != "" && len(lines) > 1 && !slices.ContainsFunc(lines[1:len(lines)-1],
		func(line string) bool { return closes(line, fence) }) && closes(lines[len(lines)-1], fence)
}

// onlyList reports a piece that is a list and nothing else.
func onlyList(source string) bool {
	lines := strings.Split(source, "\n")
	return listItem(lines[0]) && !slices.ContainsFunc(lines, func(line string) bool {
		return line != "" && line[0] != ' ' && line[0] != '\t' && !listItem(line)
	})
}

// widen makes a renderer in which no line of the source is broken. It is no wider than
// it must be, for it fills its width up.
func (m *markdown) widen(th *theme.Theme, source string) bool {
	const step, tab = 128, 4
	longest := 0
	for line := range strings.Lines(source) {
		longest = max(longest, theme.Width(line)+tab*strings.Count(line, "\t"))
	}
	width := (longest/step + 1) * step
	if m.wide != nil && m.wideWidth == width {
		return true
	}
	wide, err := renderer(th, width)
	m.wide, m.wideWidth = wide, width
	return err == nil
}

func renderer(th *theme.Theme, width int) (*glamour.TermRenderer, error) {
	return glamour.NewTermRenderer(glamour.WithStyles(style(th)), glamour.WithWordWrap(width),
		glamour.WithChromaFormatter(formatter(th)))
}

// list renders a list without breaking lines, and breaks them so that the rest of an
// item stands below its words: the renderer begins it at the margin.
func (m *markdown) list(source string, width int) []string {
	out, err := m.wide.Render(source)
	if err != nil {
		return wrapped(source, width)
	}
	var lines []string
	for _, line := range tidy(relative(source, theme.Rendered(out)), m.wideWidth+width) {
		lead := itemLead(xansi.Strip(line))
		if theme.Width(line) <= width || lead == 0 || lead > width/2 {
			lines = append(lines, theme.Code(line, width)...)
			continue
		}
		for i, part := range theme.Wrap(xansi.TruncateLeft(line, lead, ""), width-lead) {
			if i == 0 {
				lines = append(lines, xansi.Truncate(line, lead, "")+part)
				continue
			}
			lines = append(lines, strings.Repeat(" ", lead)+part)
		}
	}
	return lines
}

// itemLead is how many cells stand before the words of a list's item, its indent and
// its mark; 0: the line begins none.
func itemLead(line string) int {
	rest := strings.TrimLeft(line, " ")
	indent := len(line) - len(rest)
	for _, mark := range []string{"• ", "✓ ", "○ "} {
		if strings.HasPrefix(rest, mark) {
			return indent + theme.Width(mark)
		}
	}
	digits := strings.TrimLeft(rest, "0123456789")
	if n := len(rest) - len(digits); n > 0 && strings.HasPrefix(digits, ". ") {
		return indent + n + 2
	}
	return 0
}

func finish(term *glamour.TermRenderer, source string, width int) []string {
	out, err := term.Render(source)
	if err != nil {
		return wrapped(source, width)
	}
	return tidy(relative(source, theme.Rendered(out)), width)
}

// tableWidth is the cells that a piece takes that is a table and nothing else.
func tableWidth(source string) (int, bool) {
	lines := strings.Split(strings.TrimSpace(source), "\n")
	if len(lines) < 2 || !strings.Contains(lines[0], "|") {
		return 0, false
	}
	if rule := lines[1]; strings.Trim(rule, "|-: ") != "" || !strings.Contains(rule, "-") {
		return 0, false
	}
	var widths []int
	for _, l := range lines {
		for i, cell := range strings.Split(strings.Trim(strings.TrimSpace(l), "|"), "|") {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if strings.Trim(cell, "-: ") != "" {
				widths[i] = max(widths[i], theme.Width(strings.TrimSpace(cell)))
			}
		}
	}
	sum := 0
	for _, w := range widths {
		sum += w + 3
	}
	return sum, true
}

// tidy drops the renderer's outer blank lines and trailing padding, and breaks
// what it left too long: code, which it never wraps.
func tidy(out string, width int) []string {
	var lines []string
	for _, l := range strings.Split(strings.Trim(out, "\n"), "\n") {
		l = strings.TrimRight(l, " ")
		if theme.Width(l) > width {
			lines = append(lines, theme.Code(l, width)...)
			continue
		}
		lines = append(lines, l)
	}
	for len(lines) > 0 && isBlank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && isBlank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func wrapped(source string, width int) []string {
	return theme.Wrap(strings.ReplaceAll(strings.TrimRight(source, "\n"), "\t", "    "), width)
}

func formatter(th *theme.Theme) string {
	switch {
	case th.True:
		return "terminal16m"
	case th.Rich:
		return "terminal256"
	}
	return "terminal16"
}

func pointer[T any](v T) *T { return &v }

// style is belay's own look of Markdown: the terminal's colour for prose, few
// accents, no margins (the transcript has its own).
func style(th *theme.Theme) ansi.StyleConfig {
	s := styles.NoTTYStyleConfig
	s.Document = ansi.StyleBlock{Margin: pointer(uint(0))}
	s.BlockQuote = ansi.StyleBlock{Indent: pointer(uint(1)), IndentToken: pointer("│ ")}
	s.Heading = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{BlockSuffix: "\n", Bold: pointer(true)}}
	s.H1 = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Underline: pointer(true)}}
	s.H2 = ansi.StyleBlock{}
	s.H3 = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: "▸ "}}
	s.H4, s.H5, s.H6 = s.H3, s.H3, s.H3
	s.Strong = ansi.StylePrimitive{Bold: pointer(true)}
	s.Emph = ansi.StylePrimitive{Italic: pointer(true)}
	s.Strikethrough = ansi.StylePrimitive{CrossedOut: pointer(true)}
	s.List = ansi.StyleList{LevelIndent: 2}
	s.Item = ansi.StylePrimitive{BlockPrefix: "• "}
	s.Enumeration = ansi.StylePrimitive{BlockPrefix: ". "}
	s.Task = ansi.StyleTask{Ticked: "✓ ", Unticked: "○ "}
	s.HorizontalRule = ansi.StylePrimitive{Format: "\n────────\n"}
	s.Link = ansi.StylePrimitive{Underline: pointer(true)}
	s.LinkText = ansi.StylePrimitive{Bold: pointer(true)}
	s.Code = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: pointer(true)}}
	s.CodeBlock = ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{Margin: pointer(uint(2))}}
	s.Table = ansi.StyleTable{
		CenterSeparator: pointer("┼"), ColumnSeparator: pointer("│"), RowSeparator: pointer("─"),
	}
	if th.AccentColor == nil {
		s.Code.Prefix, s.Code.Suffix = "`", "`"
		s.LinkText = ansi.StylePrimitive{Underline: pointer(true)}
		s.H1.Prefix, s.H2.Prefix, s.H3.Prefix = "# ", "## ", "### "
		s.H4.Prefix, s.H5.Prefix, s.H6.Prefix = "### ", "### ", "### "
		return s
	}
	accent, code, quiet := "6", "5", "8"
	if th.Rich {
		accent, code, quiet = th.Prose.Accent, th.Prose.Code, th.Prose.Quiet
		s.CodeBlock.Theme = th.Code
	}
	s.Heading.Color = pointer(accent)
	s.Code = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: pointer(code)}}
	s.HorizontalRule.Color, s.BlockQuote.Color = pointer(quiet), pointer(quiet)
	s.Link.Color = pointer(quiet)
	s.LinkText = ansi.StylePrimitive{Color: pointer(accent), Underline: pointer(true)}
	return s
}

// Markdown lays out a text that is not part of the transcript. It keeps nothing, so the
// caller should.
func Markdown(th *theme.Theme, source string, width int) []string {
	var m markdown
	return m.render(th, width, strings.TrimSpace(theme.Sanitize(source)))
}

// The marks of Markdown that a single line can do without.
var (
	blockMark = regexp.MustCompile(`^(#{1,6}|[-*+>]|\d+\.)\s+`)
	linkMark  = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	spanMarks = regexp.MustCompile("\\*\\*([^*]+)\\*\\*|`([^`]+)`")
)

// withoutMarks is a line of Markdown as plain text.
func withoutMarks(line string) string {
	line = linkMark.ReplaceAllString(blockMark.ReplaceAllString(line, ""), "$1")
	return spanMarks.ReplaceAllString(line, "$1$2")
}
