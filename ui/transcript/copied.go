package transcript

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

// rowText is the text in one row of a layout, without what belongs to the layout:
// margins, numbers, borders, padding.
type rowText struct {
	lead int    // cells before the text
	text string // as it is shown
	line int    // the line of the source that it is part of, or noText
	at   int    // where in that line it begins, in bytes
}

// noText is a row in which there is nothing to copy.
const noText = -1

// copied is what stands behind the rows of a layout. A line of it may take several
// rows, and is copied as it was written.
type copied struct {
	rows  []rowText
	lines []string // of the source with tabs opened, then the rows that are in none
	raw   []string // the same as they were written
}

// The bounds of a search for the line that a row shows.
const (
	maxStrayRows = 20
	strayReach   = 64
)

// align finds the place of each row in the source. Rows that are in no line of it are
// lines of their own.
func align(rows []rowText, source []string) *copied {
	c := &copied{rows: rows, raw: source, lines: make([]string, len(source))}
	for i, line := range source {
		c.lines[i] = openTabs(line)
	}
	known, stray := len(source), 0
	line, at := 0, 0
	for i := range rows {
		row := &rows[i]
		switch {
		case row.line == noText:
			continue
		case at > 0 && c.goesOn(row, line, at):
		default:
			from, reach := line, known
			if at > 0 {
				from++
			}
			if stray > maxStrayRows {
				reach = min(known, from+strayReach)
			}
			if !c.begins(row, from, reach) {
				stray++
				row.line, row.at = len(c.lines), 0
				c.lines = append(c.lines, row.text)
				c.raw = append(c.raw, row.text)
				continue
			}
		}
		line, at = row.line, row.at+len(row.text)
		if strings.TrimSpace(c.lines[line][at:]) == "" {
			line, at = line+1, 0
		}
	}
	return c
}

func openTabs(line string) string { return strings.ReplaceAll(line, "\t", "    ") }

// goesOn reports whether a row is the rest of a line that was broken at a place, and
// notes that.
func (c *copied) goesOn(row *rowText, line, at int) bool {
	rest := c.lines[line][at:]
	spaces := len(rest) - len(strings.TrimLeft(rest, " "))
	body := strings.TrimLeft(row.text, " ")
	for _, sign := range []string{theme.WrapSign, quoteSign} {
		body = strings.TrimPrefix(body, sign)
	}
	if body == "" || !strings.HasPrefix(rest[spaces:], strings.TrimSuffix(body, "…")) {
		return false
	}
	row.lead += theme.Width(row.text) - theme.Width(body)
	row.text, row.line, row.at = body, line, at+spaces
	c.uncut(row)
	return true
}

// begins looks for the line that begins with a row, and notes that.
func (c *copied) begins(row *rowText, from, to int) bool {
	body := strings.TrimLeft(row.text, " ")
	for n := from; n < to; n++ {
		line := c.lines[n]
		words := strings.TrimLeft(line, " ")
		switch {
		case body == "" && words != "" && n == from:
			return false // a blank row is no place to look for
		case (body == "") != (words == ""), !strings.HasPrefix(words, strings.TrimSuffix(body, "…")):
			continue
		}
		extra := len(row.text) - len(body) - (len(line) - len(words))
		row.line, row.at = n, 0
		if extra < 0 { // the row does not show all of the indent
			row.at, extra = len(line)-len(words), len(row.text)-len(body)
		}
		row.lead += extra
		row.text = row.text[extra:]
		if body == "" {
			row.text = ""
		}
		c.uncut(row)
		return true
	}
	return false
}

// uncut lets a row that was cut short stand for all of its line: what is copied has
// no ellipsis in it.
func (c *copied) uncut(row *rowText) {
	if rest := c.lines[row.line][row.at:]; strings.HasSuffix(row.text, "…") && !strings.HasPrefix(rest, row.text) {
		row.text = rest
	}
}

// slice gives a part of a line as it was written.
func (c *copied) slice(line, from, to int) string {
	opened, raw := c.lines[line], c.raw[line]
	from, to = min(from, len(opened)), min(to, len(opened))
	if from >= to {
		return ""
	}
	if len(opened) == len(raw) {
		return raw[from:to]
	}
	var b strings.Builder
	at := 0
	for i := range len(raw) {
		if at >= from && at < to {
			b.WriteByte(raw[i])
		}
		if at++; raw[i] == '\t' {
			at += 3
		}
	}
	return b.String()
}

// rowOf is the row in which a place of a line stands, the last one that can be.
func (c *copied) rowOf(line, at int) int {
	found := -1
	for i, row := range c.rows {
		if row.line == line && row.at <= at {
			found = i
		}
	}
	return found
}

// between gives the text from one row and byte in it to another.
func (c *copied) between(from, fromByte, to, toByte int) string {
	var b strings.Builder
	line, end := noText, 0
	for i := max(from, 0); i <= to && i < len(c.rows); i++ {
		row := c.rows[i]
		if row.line == noText {
			continue
		}
		start, stop := row.at, row.at+len(row.text)
		if i == from {
			start = row.at + min(fromByte, len(row.text))
		}
		if i == to {
			stop = row.at + min(toByte, len(row.text))
		}
		switch {
		case line == row.line:
			b.WriteString(c.slice(line, end, start))
		case line != noText:
			b.WriteByte('\n')
		}
		b.WriteString(c.slice(row.line, start, stop))
		line, end = row.line, max(stop, start)
	}
	return b.String()
}

// cellAt gives the bytes of the character in a column of a row: a wide one has two.
func (r rowText) cellAt(column int) (from, to int) {
	at := r.lead
	for to < len(r.text) {
		cluster, width := ansi.FirstGraphemeCluster(r.text[to:], ansi.GraphemeWidth)
		from, to = to, to+len(cluster)
		if at += width; column < at {
			return from, to
		}
	}
	return len(r.text), len(r.text)
}

// column is where a byte of the row's text stands.
func (r rowText) column(at int) int { return r.lead + theme.Width(r.text[:min(at, len(r.text))]) }
