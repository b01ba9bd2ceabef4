package modellist

import (
	"strconv"
	"strings"

	"belay/models"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// minWideRow is from how many cells on a row has room for how a model is doing.
const minWideRow = 92

// View gives a box of width cells and height rows; x and y are where the cursor is in
// it.
func (p *Pane) View(width, height int) (lines []string, x, y int) {
	th := p.theme
	inner := max(width-4, 20)
	rows := []string{th.Accent.Paint("› ") + theme.Cut(p.query, inner-4)}
	if p.query == "" {
		rows[0] += th.Dim.Paint(locale.T("type to find, or write provider/model"))
	}
	rows = append(rows, "")
	room := max(height-7, 1)
	p.room = room
	if p.selected < p.top {
		p.top = p.selected
	}
	if p.selected >= p.top+room {
		p.top = p.selected - room + 1
	}
	for i := range room {
		switch k := p.top + i; {
		case k < len(p.shown):
			rows = append(rows, p.row(p.shown[k], k == p.selected, inner))
		case k == 0 && p.loading:
			rows = append(rows, th.Dim.Paint("  "+locale.T("looking …")))
		case k == 0:
			rows = append(rows, th.Dim.Paint("  "+locale.T("nothing like that")))
		default:
			rows = append(rows, "")
		}
	}
	rows = append(rows, p.detail(inner), p.footer(inner))
	title := th.Strong.Paint(locale.T("models")) +
		th.Dim.Paint("  "+theme.Count(int64(len(p.shown)))+" · "+locale.T("for the tier %s", locale.T(string(p.tier))))
	return th.Box(title, rows, width, th.Faint), 4 + theme.Width(theme.Cut(p.query, inner-4)), 1
}

// row draws a model in one line.
func (p *Pane) row(r Row, chosen bool, width int) string {
	th := p.theme
	symbol, text, style := th.Condition(r.Condition, p.now())
	if r.Missing != "" {
		symbol, text, style = "✕", locale.T("no key"), th.Dim
	}
	lead := "  "
	if chosen {
		lead = th.Accent.Paint("❯ ")
	}
	right := th.Dim.Paint(theme.Fit(price(r), 13)) + padLeft(window(r.Window), 6)
	if width >= minWideRow {
		right = theme.Fit(style.Paint(text), 20) + right
	}
	right += "  " + theme.Fit(p.standing(r), 8)
	name := theme.Cut(theme.Line(r.Target.String()), max(width-theme.Width(right)-6, 8))
	line := theme.Sides(lead+style.Paint(symbol)+" "+name, right, width)
	if chosen {
		return th.Selected.Over(line)
	}
	return line
}

// standing says where a model stands: pinned here, or in a tier.
func (p *Pane) standing(r Row) string {
	if r.Target == p.pin {
		return locale.T("pinned")
	}
	return locale.T(string(r.Tier))
}

// detail says all of the chosen one.
func (p *Pane) detail(width int) string {
	r, ok := p.Chosen()
	if p.note != "" || !ok {
		return p.theme.Accent.Paint(theme.Cut(p.note, width))
	}
	_, text, _ := p.theme.Condition(r.Condition, p.now())
	if r.Missing != "" {
		text = locale.T("no key: %s", theme.Line(r.Missing))
	}
	parts := []string{text}
	if r.Window > 0 {
		parts = append(parts, locale.T("%s tokens", theme.Count(r.Window)))
	} else {
		parts = append(parts, locale.T("window unknown"))
	}
	switch {
	case r.Local:
		parts = append(parts, locale.T("on this computer"))
	case r.Price.Output > 0:
		parts = append(parts, locale.T("%s in, %s out a million tokens", money(r.Price.Input), money(r.Price.Output)))
	default:
		parts = append(parts, locale.T("price unknown"))
	}
	if r.Images {
		parts = append(parts, locale.T("sees pictures"))
	}
	if r.Reasoning {
		parts = append(parts, locale.T("reasons"))
	}
	for _, note := range p.view.Notes {
		parts = append(parts, locale.Said(theme.Line(note)))
	}
	return p.theme.Dim.Paint(theme.Cut(strings.Join(parts, " · "), width))
}

func (p *Pane) footer(width int) string {
	hint := keys.ModelList.Hint
	use := hint("use here", keys.Accept)
	if r, ok := p.Chosen(); ok && r.Target == p.pin {
		use = hint("no longer", keys.Accept)
	}
	all := [][2]string{
		use, hint("for good", keys.KeepModel), hint("tier", keys.OtherTier), hint("add", keys.AddProvider),
		hint("close", keys.Close),
	}
	for n := len(all); n > 1; n-- {
		if line := p.theme.Keys(all[:n]...); theme.Width(line) <= width {
			return line
		}
	}
	return p.theme.Keys(all[0])
}

func window(tokens int64) string {
	if tokens <= 0 {
		return "?"
	}
	return theme.Count(tokens)
}

// price is that of a million tokens, in and out.
func price(r Row) string {
	switch {
	case r.Local:
		return locale.T("local")
	case r.Price == (models.Price{}):
		return locale.T("price ?")
	}
	return money(r.Price.Input) + "/" + money(r.Price.Output)
}

// money writes a price without cents that are none.
func money(dollars float64) string {
	return "$" + strconv.FormatFloat(dollars, 'f', -1, 64)
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-theme.Width(text), 0)) + text
}
