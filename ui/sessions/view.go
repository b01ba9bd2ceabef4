package sessions

import (
	"fmt"
	"path/filepath"
	"strings"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// View gives a box of width cells and height rows; x and y are where the
// cursor is in it.
func (p *Pane) View(width, height int) (lines []string, x, y int) {
	th := p.theme
	inner := max(width-4, 20)
	each := 1
	if height >= 20 {
		each = 2
	}
	room := max((height-5)/each, 1)
	p.each, p.room = each, room
	if p.selected < p.top {
		p.top = p.selected
	}
	if p.selected >= p.top+room {
		p.top = p.selected - room + 1
	}
	rows := []string{th.Accent.Paint("› ") + theme.Cut(p.query, inner-4)}
	if p.query == "" {
		rows[0] += th.Dim.Paint(locale.T("type to find, in titles and in everything said"))
	}
	if p.naming {
		rows[0] = th.Accent.Paint(renaming()) + theme.Cut(p.name, inner-theme.Width(renaming())-1)
	}
	rows = append(rows, "")
	for i := range room {
		k := p.top + i
		switch {
		case k < len(p.shown):
			rows = append(rows, p.row(p.shown[k], k == p.selected, inner, each)...)
		case k == 0 && p.loading:
			rows = append(rows, th.Dim.Paint("  "+locale.T("looking …")))
		case k == 0 && p.query != "":
			rows = append(rows, th.Dim.Paint("  "+locale.T("no session holds these words")))
		case k == 0:
			rows = append(rows, th.Dim.Paint("  "+locale.T("none here yet")))
		}
	}
	for len(rows) < height-3 {
		rows = append(rows, "")
	}
	rows = append(rows[:height-3], p.footer(inner))
	name := map[List]string{Current: "sessions", Archived: "archived sessions", Deleted: "deleted sessions"}[p.list]
	title := th.Strong.Paint(locale.T(name)) + th.Dim.Paint("  "+theme.Count(int64(len(p.shown))))
	if needs := p.needs(); needs > 0 {
		title += "  " + th.Warn.Paint("! "+theme.Count(int64(needs))+" "+needText(needs))
	}
	if p.banner != "" {
		title += "  " + th.Warn.Paint(theme.Line(p.banner))
	}
	box := th.Box(title, rows, width, th.Faint)
	if p.naming {
		return box, 2 + theme.Width(renaming()) + theme.Width(theme.Cut(p.name, inner-theme.Width(renaming())-1)), 1
	}
	return box, 4 + theme.Width(theme.Cut(p.query, inner-4)), 1
}

// renaming stands before a title that is being written.
func renaming() string { return locale.T("rename › ") }

// ItemAt gives how far the session in a row of the box is from the chosen one.
func (p *Pane) ItemAt(row int) (by int, ok bool) {
	const head = 3 // the border, the filter, a blank row
	if row < head || p.naming || p.each == 0 {
		return 0, false
	}
	i := p.top + (row-head)/p.each
	return i - p.selected, i < min(len(p.shown), p.top+p.room)
}

// needs counts the sessions that only a person can move on.
func (p *Pane) needs() int {
	n := 0
	for _, s := range p.all {
		if s.NeedsYou() {
			n++
		}
	}
	return n
}

func needText(n int) string {
	if n == 1 {
		return locale.T("needs you")
	}
	return locale.T("need you")
}

func (p *Pane) footer(width int) string {
	if p.note != "" {
		return p.theme.Accent.Paint(theme.Cut(p.note, width))
	}
	deleteText, archiveText := "delete", "archive"
	switch p.list {
	case Archived:
		archiveText = "take out"
	case Deleted:
		deleteText = "take back"
	}
	hint := keys.SessionList.Hint
	all := [][2]string{
		hint("open", keys.Accept), hint("archived, deleted", keys.OtherList), hint("rename", keys.Rename),
		hint(deleteText, keys.Delete), hint(archiveText, keys.Archive), hint("fork", keys.Fork),
		hint("export", keys.Export),
	}
	for n := len(all); n > 1; n-- {
		line := p.theme.Keys(all[:n]...)
		if theme.Width(line) > width {
			continue
		}
		if s, ok := p.Chosen(); ok && n == len(all) {
			folder := p.theme.Dim.Paint(theme.CutLeft(theme.Line(s.Project), width-theme.Width(line)-3))
			return theme.Sides(line, folder, width)
		}
		return line
	}
	return p.theme.Keys(all[0])
}

// row draws a session in one line, or two where there is room.
func (p *Pane) row(r row, chosen bool, width, each int) []string {
	th, state := p.theme, r.s
	symbol, text, st := th.Status(&state, p.now())
	lead := "  "
	if chosen {
		lead = th.Accent.Paint("❯ ")
	}
	place := filepath.Base(state.Project)
	if state.Project == p.project {
		place = ""
	}
	if owner, foreign := p.owners[state.ID]; foreign {
		place = strings.TrimSpace(theirs(owner) + "  " + place)
	}
	right := ""
	for _, part := range []string{theme.Line(place), cost(state), theme.Age(state.Updated, p.now())} {
		if part != "" {
			right += th.Dim.Paint(part) + "  "
		}
	}
	status := st.Paint(symbol) + " " + st.Paint(theme.Fit(text, min(22, max(12, width/4)))) + " "
	room := width - theme.Width(status) - theme.Width(right) - 4
	name := theme.Cut(title(state), room)
	first := theme.Sides(lead+status+name, right, width)
	if chosen {
		first = th.Selected.Over(theme.Fit(first, width))
	}
	if each == 1 {
		return []string{first}
	}
	below := theme.Line(state.LastLine)
	if r.snippet != "" {
		below = ""
	}
	pad := strings.Repeat(" ", 2+theme.Width(status))
	second := pad + th.Dim.Paint(theme.Cut(below, width-len(pad)-1))
	if r.snippet != "" {
		second = pad + p.snippet(r.snippet, width-len(pad)-1)
	}
	return []string{first, second}
}

// theirs says which other belay writes to a session.
func theirs(owner session.Owner) string {
	program := theme.Line(owner.Program)
	if program == "screen" || program == "" {
		program = "belay"
	} else {
		program = "belay " + program
	}
	return fmt.Sprintf("%s %d", program, owner.PID)
}

func cost(s session.Session) string {
	if s.Cost <= 0 {
		return ""
	}
	return theme.Money(s.Cost)
}

// snippet paints the words that a search found; 0x02 and 0x03 are around them.
func (p *Pane) snippet(text string, width int) string {
	var b strings.Builder
	left := width
	put := func(st theme.Style, text string) {
		text = strings.ReplaceAll(theme.Plain(text), "\n", " ")
		text = theme.Cut(text, left)
		left -= theme.Width(text)
		b.WriteString(st.Paint(text))
	}
	for text != "" && left > 0 {
		before, rest, found := strings.Cut(text, "\x02")
		put(p.theme.Dim, before)
		if !found {
			break
		}
		hit, after, _ := strings.Cut(rest, "\x03")
		put(p.theme.Found, hit)
		text = after
	}
	return b.String()
}
