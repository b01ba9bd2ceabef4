package transcript

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"belay/ui/theme"
)

// Diff lays a unified diff out in lines of at most width cells: numbered, one
// column, or old and new side by side.
func Diff(th *theme.Theme, diff string, width int, sideBySide bool) []string {
	return diffLines(th, diff, width, sideBySide, math.MaxInt)
}

// diffLines is Diff, of which only the first rows are seen.
func diffLines(th *theme.Theme, diff string, width int, sideBySide bool, seen int) []string {
	rows := parseDiff(diff)
	colourRows(th, rows[:min(seen, len(rows))], fileOf(diff))
	if sideBySide {
		return sideBySideRows(th, rows, width)
	}
	var out []string
	for _, r := range rows {
		switch r.op {
		case '@':
			out = append(out, th.Dim.Paint(theme.Cut(r.text, width)))
			continue
		case '-':
			out = append(out, numbered(th, th.Removed, r.old, "−", r.styled, width)...)
		case '+':
			out = append(out, numbered(th, th.Added, r.new, "+", r.styled, width)...)
		default:
			out = append(out, numbered(th, theme.Style{}, r.new, " ", r.styled, width)...)
		}
	}
	return out
}

type diffRow struct {
	op       byte // ' ', '+', '-' or '@' for a heading
	old, new int
	text     string
	styled   string // the same in colours
}

// fileOf is the name of the file that a diff is about, if it says that.
func fileOf(diff string) string {
	name := ""
	for line := range strings.Lines(diff) {
		head, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if head == "@@" {
			break
		}
		if (head == "---" || head == "+++") && rest != "/dev/null" {
			name = rest
		}
	}
	return name
}

func parseDiff(diff string) []diffRow {
	var rows []diffRow
	old, now, hunks := 0, 0, 0
	for _, l := range strings.Split(strings.TrimRight(theme.Visible(diff), "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, "@@"):
			old, now = hunk(l)
			if hunks > 0 {
				rows = append(rows, diffRow{op: '@', text: "⋯"})
			}
			hunks++
		case hunks == 0:
			if !strings.HasPrefix(l, "---") && !strings.HasPrefix(l, "+++") && l != "" {
				rows = append(rows, diffRow{op: '@', text: l})
			}
		case strings.HasPrefix(l, "-"):
			rows = append(rows, diffRow{op: '-', old: old, text: l[1:]})
			old++
		case strings.HasPrefix(l, "+"):
			rows = append(rows, diffRow{op: '+', new: now, text: l[1:]})
			now++
		case strings.HasPrefix(l, `\`):
			rows = append(rows, diffRow{op: '@', text: l})
		default:
			rows = append(rows, diffRow{op: ' ', old: old, new: now, text: strings.TrimPrefix(l, " ")})
			old++
			now++
		}
	}
	for i := range rows {
		rows[i].styled = rows[i].text
	}
	return rows
}

// hunk reads the line numbers of "@@ -12,3 +14,5 @@".
func hunk(l string) (old, now int) {
	for _, f := range strings.Fields(l) {
		n, _, _ := strings.Cut(f, ",")
		v, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if v <= 0 && strings.HasPrefix(n, "-") {
			old = -v
		} else if strings.HasPrefix(n, "+") {
			now = v
		}
	}
	return old, now
}

func numbered(th *theme.Theme, st theme.Style, n int, op, text string, width int) []string {
	var out []string
	for i, part := range theme.Code(text, max(width-7, 4)) {
		no, sign := "     ", " " // the rest of a line is no line
		if i == 0 {
			no, sign = fmt.Sprintf("%4d ", n), op
		}
		out = append(out, th.Dim.Paint(no)+st.Over(theme.Fit(sign+" "+part, width-5)))
	}
	return out
}

// columns are a diff with the old lines on the left and the new ones on the right.
type columns struct {
	theme *theme.Theme
	width int // of one
	lines []string
}

// columnWidth is the cells of one column of two.
func columnWidth(width int) int { return (width - 3) / 2 }

// sideBySideRows pairs removed lines with the added ones that follow them.
func sideBySideRows(th *theme.Theme, rows []diffRow, width int) []string {
	c := columns{theme: th, width: columnWidth(width)}
	for len(rows) > 0 {
		switch rows[0].op {
		case '@':
			c.lines = append(c.lines, th.Dim.Paint(theme.Cut(rows[0].text, width)))
			rows = rows[1:]
		case ' ':
			r := rows[0]
			c.add(c.side(theme.Style{}, r.old, " ", r.styled), c.side(theme.Style{}, r.new, " ", r.styled))
			rows = rows[1:]
		default:
			rows = rows[c.change(rows):]
		}
	}
	return c.lines
}

// change puts removed lines beside the added ones that follow, and gives how many
// rows these are.
func (c *columns) change(rows []diffRow) int {
	n := 0
	var removed, added [][]string
	for ; n < len(rows) && rows[n].op == '-'; n++ {
		removed = append(removed, c.side(c.theme.Removed, rows[n].old, "−", rows[n].styled))
	}
	for ; n < len(rows) && rows[n].op == '+'; n++ {
		added = append(added, c.side(c.theme.Added, rows[n].new, "+", rows[n].styled))
	}
	for i := range max(len(removed), len(added)) {
		var left, right []string
		if i < len(removed) {
			left = removed[i]
		}
		if i < len(added) {
			right = added[i]
		}
		c.add(left, right)
	}
	return n
}

func (c *columns) side(st theme.Style, number int, op, text string) []string {
	return numbered(c.theme, st, number, op, text, c.width)
}

// add puts two sides next to each other, of which one may be longer.
func (c *columns) add(left, right []string) {
	for i := range max(len(left), len(right)) {
		old, now := "", ""
		if i < len(left) {
			old = left[i]
		}
		if i < len(right) {
			now = right[i]
		}
		c.lines = append(c.lines, theme.Fit(old, c.width)+c.theme.Faint.Paint(" │ ")+theme.Fit(now, c.width))
	}
}

// IsDiff reports whether a text is a unified diff.
func IsDiff(text string) bool { return strings.HasPrefix(text, "---") || strings.HasPrefix(text, "@@") }

// changedLines counts the added and removed lines of a unified diff.
func changedLines(diff string) (plus, minus int) {
	for _, r := range parseDiff(diff) {
		switch r.op {
		case '+':
			plus++
		case '-':
			minus++
		}
	}
	return plus, minus
}
