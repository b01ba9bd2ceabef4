// Package capacity decides how the panel of all models looks: how each is
// doing now, how it did in the last days, and when it tends to be full.
package capacity

import (
	"fmt"
	"strings"
	"time"

	"belay/models"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// View is what the panel shows.
type View struct {
	Rows     []Row
	Week     []Day    // the map of busy hours, Monday first; nil until there is a record
	Findings []string // what the record of the last days says, a line each
}

// Row is one target of one tier.
type Row struct {
	models.Condition
	Streak     int           // capacity failures in a row
	Share      float64       // of successes in the last seven days
	Attempts   int           // that Share is made of
	FirstToken time.Duration // median; 0: unknown
}

// Day is the share of failures in each hour of a weekday; below 0 nobody asked.
type Day [24]float64

// Pane is the panel.
type Pane struct {
	view View
	at   int
	pin  models.Target
}

// Set shows a new state. The chosen row stays chosen.
func (p *Pane) Set(v View, pin models.Target) {
	p.view, p.pin = v, pin
	p.at = min(p.at, max(len(v.Rows)-1, 0))
}

// Move chooses another row.
func (p *Pane) Move(by int) {
	p.at = max(0, min(p.at+by, len(p.view.Rows)-1))
}

// ItemAt gives how far the target in a row of the box is from the chosen one.
func (p *Pane) ItemAt(row int) (by int, ok bool) {
	return row - 1 - p.at, row >= 1 && row <= len(p.view.Rows)
}

// Chosen is the row that keys act on.
func (p *Pane) Chosen() (Row, bool) {
	if p.at >= len(p.view.Rows) {
		return Row{}, false
	}
	return p.view.Rows[p.at], true
}

// minWideRow is from how many cells on a row has room for a target's full name.
const minWideRow = 84

// View draws the panel, at most height lines of it.
func (p *Pane) View(th *theme.Theme, width, height int, now time.Time) []string {
	inner := width - 4
	var lines []string
	for i, r := range p.view.Rows {
		lines = append(lines, p.row(th, i, r, inner, now))
	}
	if len(p.view.Rows) == 0 {
		lines = append(lines, th.Dim.Paint(locale.T("no models are set")))
	}
	hint := keys.CapacityPanel.Hint
	pin, doctor, closes := hint("pin", keys.PinModel), hint("doctor", keys.Doctor), hint("close", keys.Close)
	hints := th.Keys(pin, hint("set aside", keys.SetAside), doctor, hint("record", keys.Record), closes)
	if theme.Width(hints) > inner {
		hints = th.Keys(pin, hint("aside", keys.SetAside), doctor, closes)
	}
	room := height - len(lines) - 4
	if extra := p.weekMap(th, inner, room); len(extra) > 0 {
		lines = append(lines, "")
		lines = append(lines, extra...)
	}
	lines = append(lines, "", hints)
	box := th.Box(th.Strong.Paint(locale.T("capacity"))+th.Dim.Paint(" · "+locale.T("last 7 days")), lines, width, th.Faint)
	return box[:min(len(box), max(height, 0))]
}

// row is one target: its tier where it changes, its name, its state, and what
// it did lately, as far as there is room.
func (p *Pane) row(th *theme.Theme, i int, row Row, width int, now time.Time) string {
	lead := "  "
	if i == p.at {
		lead = th.Accent.Paint("❯ ")
	}
	tier := locale.T(string(row.Tier))
	if i > 0 && p.view.Rows[i-1].Tier == row.Tier {
		tier = ""
	}
	name, room := theme.Line(row.Target.String()), 26
	if width < minWideRow {
		name, room = theme.Line(row.Short), 10
	}
	symbol, text, st := th.Condition(row.Condition, now)
	if row.Answers {
		text += locale.T(", answers")
	}
	if p.pin == row.Target && row.Target != (models.Target{}) {
		text = locale.T("pinned, %s", text)
	}
	left := lead + th.Dim.Paint(theme.Fit(tier, 8)) + theme.Fit(name, room) + " " + st.Paint(symbol) + " " + text
	if f := row.Fault; f != nil && row.State != models.Ready && row.State != models.Unknown && width >= minWideRow {
		reason := theme.Line(f.Code)
		if reason == "" {
			reason = theme.Kind(f)
		}
		if row.Streak > 1 {
			reason += fmt.Sprintf(" ×%d", row.Streak)
		}
		left += th.Dim.Paint("   " + reason)
	}
	var right []string
	if row.Attempts > 0 {
		right = append(right, locale.T("ok %3.0f%%", row.Share*100))
	}
	if row.FirstToken > 0 {
		first := theme.Elapsed(row.FirstToken)
		if width >= minWideRow {
			first = locale.T("first token %s", first)
		}
		right = append(right, first)
	}
	return theme.Sides(left, th.Dim.Paint("  "+strings.Join(right, "  ")), width)
}

// days are the weekdays as the map names them.
var days = [7]string{"Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"}

// weekMap draws the map of the week with what it means beside it, or below
// where it is narrow.
func (p *Pane) weekMap(th *theme.Theme, width, room int) []string {
	if room < 2 {
		return nil
	}
	var says []string
	beside := width >= 72 && len(p.view.Week) > 0
	sayRoom := width
	if beside {
		sayRoom = width - 32
	}
	for _, s := range p.view.Findings {
		says = append(says, theme.Wrap(locale.Said(theme.Line(s)), sayRoom)...)
	}
	var lines []string
	if len(p.view.Week) > 0 && room >= 9 {
		for i, d := range p.view.Week {
			lines = append(lines, th.Dim.Paint(theme.Fit(locale.T(days[i%7]), 3))+shades(th, d))
		}
		lines = append(lines, th.Dim.Paint("   0     6     12    18     "))
	}
	for i, s := range says {
		switch {
		case beside && i < len(lines):
			lines[i] = theme.Fit(lines[i], 30) + "  " + s
		case beside && len(lines) > 0:
			lines = append(lines, strings.Repeat(" ", 32)+s)
		default:
			lines = append(lines, s)
		}
	}
	return lines[:min(len(lines), room-1)]
}

// shades draws an hour as a cell whose darkness is the share of failures.
func shades(th *theme.Theme, d Day) string {
	var b strings.Builder
	for _, share := range d {
		switch {
		case share < 0:
			b.WriteString(th.Faint.Paint("·"))
		case share < 0.02:
			b.WriteString(th.Faint.Paint("░"))
		case share < 0.15:
			b.WriteString(th.Dim.Paint("▒"))
		case share < 0.4:
			b.WriteString(th.Warn.Paint("▓"))
		default:
			b.WriteString(th.Bad.Paint("█"))
		}
	}
	return b.String()
}
