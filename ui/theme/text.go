package theme

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/locale"
)

// Width is the number of cells that s takes, styles not counted. Most of what stands on
// the screen is plain: looking for graphemes in it would be a third of a key's echo.
func Width(s string) int {
	cells := 0
	for i := 0; i < len(s); {
		n := 1
		switch c := s[i]; {
		case c >= ' ' && c < 0x7f:
			cells++
		case c == '\x1b':
			n = styleLen(s[i:])
		default:
			n = simpleLen(s[i:])
			cells++
		}
		if n == 0 {
			return ansi.StringWidth(s)
		}
		i += n
	}
	return cells
}

// styleLen is how many bytes a style takes that s begins with (ECMA-48, section
// 8.3.117: SGR); 0: it is something else.
func styleLen(s string) int {
	if len(s) < 3 || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		if c := s[i]; c == 'm' {
			return i + 1
		} else if c != ';' && (c < '0' || c > '9') {
			return 0
		}
	}
	return 0
}

// simpleLen is how many bytes the rune takes that s begins with, if it is one of belay's
// own signs, each of a cell whatever comes before it: of lines and boxes (U+2500 to
// U+257F), dashes, quotes and dots (U+2010 to U+2026), the middle dot. 0: it is not.
func simpleLen(s string) int {
	switch {
	case len(s) >= 2 && s[0] == 0xc2 && s[1] == 0xb7:
		return 2
	case len(s) >= 3 && s[0] == 0xe2 && (s[1] == 0x94 || s[1] == 0x95) && s[2]&0xc0 == 0x80:
		return 3
	case len(s) >= 3 && s[0] == 0xe2 && s[1] == 0x80 && s[2] >= 0x90 && s[2] <= 0xa6:
		return 3
	}
	return 0
}

// Fit makes s exactly width cells wide: cut with an ellipsis, or padded.
func Fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	w := Width(s)
	if w > width {
		s = ansi.Truncate(s, width, "…")
		w = Width(s)
	}
	if w < width {
		s += strings.Repeat(" ", width-w)
	}
	return s
}

// Cut shortens s to at most width cells, with an ellipsis if anything is lost.
func Cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if Width(s) <= width {
		return s
	}
	return ansi.Truncate(s, width, "…")
}

// CutLeft keeps the end of s, which tells paths apart better than their start.
func CutLeft(s string, width int) string {
	w := Width(s)
	if w <= width {
		return s
	}
	if width <= 1 {
		return Cut(s, width)
	}
	return ansi.TruncateLeft(s, w-width+1, "…")
}

// Wrap breaks plain or styled text into lines of at most width cells.
func Wrap(s string, width int) []string {
	const whole = "\u2011" // a hyphen at which no line ends
	hyphened := strings.Contains(s, "-") && !strings.Contains(s, whole)
	if hyphened {
		s = strings.ReplaceAll(s, "-", whole)
	}
	s = ansi.Wrap(s, max(width, 1), " ")
	if hyphened {
		s = strings.ReplaceAll(s, whole, "-")
	}
	return strings.Split(s, "\n")
}

// WrapSign stands before the rest of a line of code that was broken.
const WrapSign = "↪ "

// Code breaks a line of code, plain or styled, into lines of at most width cells. The
// rest keeps the line's indent and has a sign, so that nobody takes it for another line.
func Code(s string, width int) []string {
	width = max(width, 1)
	if Width(s) <= width {
		return []string{s}
	}
	bare := ansi.Strip(s)
	indent := min(len(bare)-len(strings.TrimLeft(bare, " ")), width/2)
	lead := strings.Repeat(" ", indent) + WrapSign
	if width <= 2*Width(lead) {
		return Hard(s, width)
	}
	var lines []string
	for room, before := width, ""; s != ""; room, before = width-Width(lead), lead {
		first, _, _ := strings.Cut(ansi.Hardwrap(s, room, true), "\n")
		lines = append(lines, before+first)
		s = ansi.TruncateLeft(s, Width(first), "")
		if Width(s) == 0 {
			break
		}
	}
	return lines
}

// Hard breaks text at exactly width cells and keeps its spaces, as code needs.
func Hard(s string, width int) []string {
	return strings.Split(ansi.Hardwrap(s, max(width, 1), true), "\n")
}

// Sides puts left and right at the two ends of a line of width cells. Right
// goes first when there is too little room for both.
func Sides(left, right string, width int) string {
	rw := Width(right)
	if right == "" || rw+2 > width {
		return Fit(left, width)
	}
	return Fit(left, width-rw) + right
}

// What is not told: the exit code of a command that succeeded, and a time that nobody
// notices. The tick says the rest.
const (
	Succeeded = "exit 0"
	MinTold   = 100 * time.Millisecond
)

// Elapsed writes a duration for people: 3.2s, 12s, 4:32, 1:02:03.
func Elapsed(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < MinTold:
		return "<0.1s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	default:
		return Clock(d)
	}
}

// Clock writes a duration in whole seconds: 9s, 4:32, 1:02:03.
func Clock(d time.Duration) string {
	s := int64(max(d, 0).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	default:
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
}

// At writes the time of day, as the person's clock shows it.
func At(t time.Time) string { return t.Local().Format("15:04") }

// Age writes how long ago t was, roughly: now, 4m, 3h, 12d.
func Age(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return locale.T("now")
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// Count writes a number of tokens or bytes in three or four characters: 850,
// 4.1k, 41k, 1.2M.
func Count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return strings.Replace(fmt.Sprintf("%.1fk", float64(n)/1e3), ".0k", "k", 1)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	default:
		return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
	}
}

// Money writes US dollars; below a cent it says so instead of rounding to nothing.
func Money(d float64) string {
	switch {
	case d <= 0:
		return "$0"
	case d < 0.005:
		return "<1¢"
	default:
		return fmt.Sprintf("$%.2f", d)
	}
}

// Bar draws a share of 0..1 as width cells that need no colour.
func Bar(share float64, width int) (full, rest string) {
	width = max(width, 0)
	n := int(share*float64(width) + 0.5)
	if share > 0 && n == 0 {
		n = 1
	}
	n = max(0, min(n, width))
	return strings.Repeat("▓", n), strings.Repeat("░", width-n)
}

// Plural gives "1 line", "3 lines".
func Plural(n int, one string) string {
	return locale.N(n, "%d "+one, "%d "+one+"s")
}
