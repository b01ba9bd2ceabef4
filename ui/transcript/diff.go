package transcript

import (
	"fmt"
	"strconv"
	"strings"

	"belay/ui/theme"
)

// Diff lays a unified diff out in lines of at most width cells: numbered, one
// column, or old and new side by side.
func Diff(th *theme.Theme, diff string, width int, sideBySide bool) []string {
	rows := parseDiff(diff)
	if sideBySide {
		return besides(th, rows, width)
	}
	var out []string
	for _, r := range rows {
		switch r.op {
		case '@':
			out = append(out, th.Dim.Paint(theme.Cut(r.text, width)))
			continue
		case '-':
			out = append(out, numbered(th, th.Removed, r.old, "−", r.text, width)...)
		case '+':
			out = append(out, numbered(th, th.Added, r.new, "+", r.text, width)...)
		default:
			out = append(out, numbered(th, theme.Style{}, r.new, " ", r.text, width)...)
		}
	}
	return out
}

type diffRow struct {
	op       byte // ' ', '+', '-' or '@' for a heading
	old, new int
	text     string
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
			rows = append(rows, diffRow{'-', old, 0, l[1:]})
			old++
		case strings.HasPrefix(l, "+"):
			rows = append(rows, diffRow{'+', 0, now, l[1:]})
			now++
		case strings.HasPrefix(l, `\`):
			rows = append(rows, diffRow{op: '@', text: l})
		default:
			rows = append(rows, diffRow{' ', old, now, strings.TrimPrefix(l, " ")})
			old++
			now++
		}
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
	for i, part := range theme.Hard(text, max(width-7, 4)) {
		no := "     "
		if i == 0 {
			no = fmt.Sprintf("%4d ", n)
		}
		out = append(out, th.Dim.Paint(no)+st.Paint(theme.Fit(op+" "+part, width-5)))
	}
	return out
}

// besides pairs removed lines with the added ones that follow them.
func besides(th *theme.Theme, rows []diffRow, width int) []string {
	half := (width - 3) / 2
	var out []string
	pair := func(l, r []string) {
		blankSide := strings.Repeat(" ", half)
		for i := range max(len(l), len(r)) {
			a, b := blankSide, blankSide
			if i < len(l) {
				a = theme.Fit(l[i], half)
			}
			if i < len(r) {
				b = theme.Fit(r[i], half)
			}
			out = append(out, a+th.Faint.Paint(" │ ")+b)
		}
	}
	for i := 0; i < len(rows); {
		switch rows[i].op {
		case '@':
			out = append(out, th.Dim.Paint(theme.Cut(rows[i].text, width)))
			i++
		case ' ':
			pair(numbered(th, theme.Style{}, rows[i].old, " ", rows[i].text, half), numbered(th, theme.Style{}, rows[i].new, " ", rows[i].text, half))
			i++
		default:
			var gone, come [][]string
			for ; i < len(rows) && rows[i].op == '-'; i++ {
				gone = append(gone, numbered(th, th.Removed, rows[i].old, "−", rows[i].text, half))
			}
			for ; i < len(rows) && rows[i].op == '+'; i++ {
				come = append(come, numbered(th, th.Added, rows[i].new, "+", rows[i].text, half))
			}
			for k := range max(len(gone), len(come)) {
				var l, r []string
				if k < len(gone) {
					l = gone[k]
				}
				if k < len(come) {
					r = come[k]
				}
				pair(l, r)
			}
		}
	}
	return out
}

// changed counts the added and removed lines of a unified diff.
func changed(diff string) (plus, minus int) {
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
