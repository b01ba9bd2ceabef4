// Package theme decides how the screen looks: colours for dark, light and poor
// terminals, symbols that carry the same meaning without colour, and how
// foreign text is made safe and fitted into cells.
package theme

import (
	"fmt"
	"hash/fnv"
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Style paints a text. The zero value leaves it as it is.
type Style struct{ on string }

// Paint returns s in the style. Styles do not nest.
func (st Style) Paint(s string) string {
	if st.on == "" || s == "" {
		return s
	}
	return st.on + s + "\x1b[m"
}

// Over paints a text that already has styles in it, keeping this one below.
func (st Style) Over(s string) string {
	if st.on == "" || s == "" {
		return s
	}
	s = strings.ReplaceAll(s, "\x1b[m", "\x1b[m"+st.on)
	s = strings.ReplaceAll(s, "\x1b[0m", "\x1b[0m"+st.on)
	return st.on + s + "\x1b[m"
}

// Theme is one set of colours. Every style may be empty on a poor terminal, so
// no meaning may rest on it alone.
type Theme struct {
	Dark bool
	Rich bool // more than 16 colours
	True bool // more than 256

	Text     Style // the terminal's own colour
	Strong   Style
	Dim      Style // secondary words
	Faint    Style // rules, borders
	Accent   Style // what is active, whose turn it is
	Mark     Style // the accent, underlined: the active tier
	Good     Style
	Warn     Style
	Bad      Style
	User     Style // the band behind a person's words
	Selected Style // the chosen row of a list
	Found    Style // words that a search found
	Marked   Style // text that a person marks to copy
	Key      Style // a key one can press
	Added    Style // lines of a diff
	Removed  Style

	AddedWord   Style // of a changed line, what differs
	RemovedWord Style
	Ground      Style  // behind code; empty: a bar stands before it
	Syntax      Syntax // of code on any ground

	Think Style // reasoning

	Prose ProseColours // of Markdown; empty: the terminal's own palette

	// Address is where a path of the workspace can be opened, empty if it is none; nil:
	// the terminal takes no links.
	Address func(path string) string

	AccentColor color.Color // for the cursor
	DimColor    color.Color
	Code        string // chroma style of code blocks
	version     int
}

// Bar reports whether a bar sets code apart: there is no ground for it.
func (t *Theme) Bar() bool { return t.Ground.on == "" }

// Version tells themes apart in caches.
func (t *Theme) Version() int { return t.version }

// Syntax is the colours of code.
type Syntax struct{ Keyword, String, Number, Comment, Name Style }

// ProseColours are those of Markdown, by their numbers or as #rrggbb.
type ProseColours struct{ Accent, Code, Quiet string }

// New makes the theme for a terminal, by one of Names; colours of one's own take the
// place of those that have the same name.
func New(name string, darkBackground bool, profile colorprofile.Profile, own ...map[string]string) *Theme {
	switch name {
	case "dark":
		darkBackground = true
	case "light":
		darkBackground = false
	case "16":
		profile = min(profile, colorprofile.ANSI)
	case "none":
		profile = min(profile, colorprofile.ASCII)
	}
	theme := &Theme{Dark: darkBackground, Rich: profile > colorprofile.ANSI}
	hash := fnv.New32()
	_, _ = fmt.Fprint(hash, name, darkBackground, profile, own) // a hash takes all
	theme.version = int(hash.Sum32())
	bold, under := ansi.NewStyle().Bold(), ansi.NewStyle().Bold().Underline(true)
	switch {
	case profile <= colorprofile.ASCII:
		theme.useNoColours()
	case !theme.Rich:
		theme.useTerminalPalette()
	default:
		palette := choosePalette(name, darkBackground, profile)
		for _, colours := range own {
			palette.replace(colours)
		}
		theme.Code = "catppuccin-latte"
		if darkBackground {
			theme.Code = "nord"
		}
		theme.True = profile > colorprofile.ANSI256
		theme.Prose = ProseColours{Accent: palette.accent, Code: palette.code, Quiet: palette.dim}
		fg := func(hex string) Style { return Style{ansi.NewStyle().ForegroundColor(lipgloss.Color(hex)).String()} }
		bg := func(hex string) Style { return Style{ansi.NewStyle().BackgroundColor(lipgloss.Color(hex)).String()} }
		theme.Dim, theme.Faint = fg(palette.dim), fg(palette.faint)
		theme.Good, theme.Warn, theme.Bad = fg(palette.good), fg(palette.warn), fg(palette.bad)
		theme.Accent = Style{bold.ForegroundColor(lipgloss.Color(palette.accent)).String()}
		theme.Mark = Style{under.ForegroundColor(lipgloss.Color(palette.accent)).String()}
		theme.Key = Style{bold.ForegroundColor(lipgloss.Color(palette.key)).String()}
		theme.User, theme.Selected, theme.Marked = bg(palette.band), bg(palette.selected), bg(palette.marked)
		theme.Added, theme.Removed = bg(palette.addedBg), bg(palette.removedBg)
		theme.AddedWord, theme.RemovedWord = bg(palette.addedWord), bg(palette.removedWord)
		theme.Ground = bg(palette.ground)
		theme.Syntax = Syntax{
			fg(palette.keyword), fg(palette.text), fg(palette.number), fg(palette.comment), fg(palette.name),
		}
		found := ansi.NewStyle().ForegroundColor(lipgloss.Color(palette.foundF))
		theme.Found = Style{found.BackgroundColor(lipgloss.Color(palette.found)).String()}
		theme.Think = Style{ansi.NewStyle().Italic(true).ForegroundColor(lipgloss.Color(palette.dim)).String()}
		theme.AccentColor, theme.DimColor = lipgloss.Color(palette.accent), lipgloss.Color(palette.dim)
	}
	theme.Strong = Style{bold.String()}
	return theme
}

// useNoColours is for terminals without colours, and for NO_COLOR: weight and
// underline remain.
func (t *Theme) useNoColours() {
	bold := Style{ansi.NewStyle().Bold().String()}
	t.Accent, t.Key = bold, bold
	t.Mark = Style{ansi.NewStyle().Bold().Underline(true).String()}
	t.Selected = Style{ansi.NewStyle().Reverse(true).String()}
	t.Found, t.Marked = t.Selected, t.Selected
	t.AddedWord = Style{ansi.NewStyle().Underline(true).String()}
	t.RemovedWord = t.AddedWord
}

// useTerminalPalette uses the terminal's own palette, whose colours only its user knows.
func (t *Theme) useTerminalPalette() {
	fg := func(c ansi.BasicColor) Style { return Style{ansi.NewStyle().ForegroundColor(c).String()} }
	t.Dim, t.Faint = fg(ansi.BrightBlack), fg(ansi.BrightBlack)
	t.Good, t.Warn, t.Bad = fg(ansi.Green), fg(ansi.Yellow), fg(ansi.Red)
	t.Accent = Style{ansi.NewStyle().Bold().ForegroundColor(ansi.Cyan).String()}
	t.Mark = Style{ansi.NewStyle().Bold().Underline(true).ForegroundColor(ansi.Cyan).String()}
	t.Key = Style{ansi.NewStyle().Bold().String()}
	t.Selected = Style{ansi.NewStyle().Reverse(true).String()}
	t.Found, t.Marked = t.Selected, t.Selected
	t.AddedWord = Style{ansi.NewStyle().Underline(true).ForegroundColor(ansi.Green).String()}
	t.RemovedWord = Style{ansi.NewStyle().Underline(true).ForegroundColor(ansi.Red).String()}
	t.Added, t.Removed = fg(ansi.Green), fg(ansi.Red)
	t.Think = Style{ansi.NewStyle().Italic(true).ForegroundColor(ansi.BrightBlack).String()}
	t.AccentColor, t.DimColor = ansi.Cyan, ansi.BrightBlack
}

// Rule draws a line of width cells with words near its right end.
func (t *Theme) Rule(width int, text string) string {
	w := Width(text)
	if text == "" || w+6 > width {
		return t.Faint.Paint(strings.Repeat("─", max(width, 0)))
	}
	return t.Faint.Paint(strings.Repeat("─", width-w-4)) + " " + text + " " + t.Faint.Paint("──")
}

// Box draws lines inside a border with a title, width cells in all. The border
// takes the style given.
func (t *Theme) Box(title string, lines []string, width int, border Style) []string {
	inner := max(width-4, 1)
	title = Cut(title, inner-2)
	out := make([]string, 0, len(lines)+2)
	rule := strings.Repeat("─", max(width-Width(title)-4, 0))
	out = append(out, border.Paint("╭ ")+title+" "+border.Paint(rule+"╮"))
	for _, l := range lines {
		out = append(out, border.Paint("│")+" "+Fit(l, inner)+" "+border.Paint("│"))
	}
	return append(out, border.Paint("╰"+strings.Repeat("─", max(width-2, 0))+"╯"))
}

// Keys writes hints, each a key and what it does: "F8 now   esc stop".
func (t *Theme) Keys(hints ...[2]string) string {
	var b strings.Builder
	for i, hint := range hints {
		if i > 0 {
			b.WriteString("   ")
		}
		b.WriteString(t.Key.Paint(hint[0]))
		b.WriteString(" ")
		b.WriteString(t.Dim.Paint(hint[1]))
	}
	return b.String()
}

// KeyLines puts hints on at most so many lines of width cells, as many as fit: none is
// cut while one before it could stand whole.
func (t *Theme) KeyLines(width, most int, hints ...[2]string) []string {
	var lines []string
	for len(hints) > 0 && len(lines) < most {
		n := 1
		for n < len(hints) && Width(t.Keys(hints[:n+1]...)) <= width {
			n++
		}
		lines = append(lines, Cut(t.Keys(hints[:n]...), width))
		hints = hints[n:]
	}
	return lines
}
