package transcript

import (
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"

	"belay/ui/theme"
)

// markdown renders Markdown for one width and theme. It is made on first use:
// nothing of glamour runs before the first frame.
type markdown struct {
	width   int
	version int
	term    *glamour.TermRenderer
}

// maxMarkdownBytes is the size from which an open piece is shown as plain text until
// it is closed, so that no single piece can make a frame late. Bytes.
const maxMarkdownBytes = 6 << 10

func (m *markdown) render(th *theme.Theme, width int, source string) []string {
	if natural, ok := tableWidth(source); ok && natural < width {
		// The renderer stretches a table over its whole width.
		term, err := glamour.NewTermRenderer(glamour.WithStyles(style(th)), glamour.WithWordWrap(natural))
		if err != nil {
			return wrapped(source, width)
		}
		return finish(term, source, width)
	}
	if m.term == nil || m.width != width || m.version != th.Version() {
		term, err := glamour.NewTermRenderer(glamour.WithStyles(style(th)), glamour.WithWordWrap(width),
			glamour.WithChromaFormatter(formatter(th)))
		if err != nil {
			return wrapped(source, width)
		}
		m.term = term
		m.width = width
		m.version = th.Version()
	}
	return finish(m.term, source, width)
}

func finish(term *glamour.TermRenderer, source string, width int) []string {
	out, err := term.Render(source)
	if err != nil {
		return wrapped(source, width)
	}
	return tidy(theme.Rendered(out), width)
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
			lines = append(lines, theme.Hard(l, width)...)
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
	if th.Rich {
		return "terminal16m"
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
	s.H2, s.H3 = ansi.StyleBlock{}, ansi.StyleBlock{}
	s.H4, s.H5, s.H6 = ansi.StyleBlock{}, ansi.StyleBlock{}, ansi.StyleBlock{}
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
		return s
	}
	accent, code, quiet := "6", "6", "8"
	if th.Rich {
		accent, code, quiet = "#6fd3b4", "#e0b58a", "#8d93a1"
		if !th.Dark {
			accent, code, quiet = "#0b7d63", "#8a4b12", "#646b78"
		}
		s.CodeBlock.Theme = th.Code
	}
	s.Heading.Color = pointer(accent)
	s.Code = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: pointer(code)}}
	s.HorizontalRule.Color, s.BlockQuote.Color = pointer(quiet), pointer(quiet)
	s.Link.Color, s.LinkText.Color = pointer(quiet), pointer(accent)
	return s
}
