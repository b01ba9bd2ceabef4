package transcript

import (
	"strings"

	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

func (p *painter) drawTodos(e *entry) []string {
	finished := 0
	for _, t := range e.todos {
		if t.status == "done" {
			finished++
		}
	}
	head := margin + p.theme.Strong.Paint(locale.T("plan")) + p.theme.Dim.Paint("  "+doneOf(finished, len(e.todos)))
	lines := []string{head}
	if e.brief && !e.open {
		return lines
	}
	for _, t := range e.todos {
		symbol, st := p.theme.Dim.Paint("○"), theme.Style{}
		switch t.status {
		case "done":
			symbol, st = p.theme.Good.Paint("✓"), p.theme.Dim
		case "active":
			symbol, st = p.theme.Accent.Paint("▸"), p.theme.Strong
		}
		for i, l := range theme.Wrap(theme.Line(t.text), p.inner()-2) {
			lead := symbol + " "
			if i > 0 {
				lead = "  "
			}
			lines = append(lines, margin+lead+st.Paint(l))
		}
	}
	return lines
}

func (p *painter) levelStyle(m level) theme.Style {
	switch m {
	case good:
		return p.theme.Good
	case warn:
		return p.theme.Warn
	case bad:
		return p.theme.Bad
	}
	return p.theme.Dim
}

// drawStatusLine draws a symbol and words in one colour, and calmer words below.
func (p *painter) drawStatusLine(e *entry) []string {
	st := p.levelStyle(e.level)
	var lines []string
	for i, l := range theme.Wrap(theme.Plain(e.text), p.inner()-2) {
		lead := "  "
		if i == 0 {
			lead = e.symbol + " "
		}
		lines = append(lines, margin+st.Paint(lead+l))
	}
	if e.foldsDetail && !e.open {
		return append(lines, margin+"  "+p.theme.Dim.Paint(locale.T("%s shows it", keys.Label(keys.OpenCall))))
	}
	if e.detail != "" {
		for _, l := range theme.Wrap(theme.Plain(e.detail), p.inner()-2) {
			lines = append(lines, margin+"  "+p.theme.Dim.Paint(l))
		}
	}
	return lines
}

func (p *painter) drawEnding(e *entry) []string {
	parts := []string{e.text}
	if t := e.totals; t != nil {
		if d := t.endedAt.Sub(t.startedAt); !t.startedAt.IsZero() && !t.endedAt.IsZero() && d >= theme.MinTold {
			parts = append(parts, theme.Elapsed(d))
		}
		if t.usage.Input+t.usage.Output > 0 {
			in := locale.T("%s in", theme.Count(t.usage.Input))
			if t.usage.Cached > 0 {
				in += locale.T(" (%s cached)", theme.Count(t.usage.Cached))
			}
			parts = append(parts, in, locale.T("%s out", theme.Count(t.usage.Output)))
		}
		if t.cost > 0 {
			parts = append(parts, theme.Money(t.cost))
		}
	}
	return []string{margin + p.theme.Dim.Paint(theme.Cut(e.symbol+" "+strings.Join(parts, " · "), p.inner()))}
}
