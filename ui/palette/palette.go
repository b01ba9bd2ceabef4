// Package palette decides how a person finds a command, an earlier prompt or a
// key without knowing where it is.
package palette

import (
	"slices"
	"strings"

	"github.com/sahilm/fuzzy"

	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Item is a row that can be chosen.
type Item struct {
	ID    string
	Text  string
	Right string // the key that does the same
	Name  string // the name by which it is found as well
}

// Pane is a list with a filter above it.
type Pane struct {
	Title     string
	keys      keys.Part
	theme     *theme.Theme
	all       []Item
	shown     []Item
	query     string
	lead      string // before the filter
	arguments string // what was typed behind the name of a command
	commands  bool   // the rows are commands, which may be called by name
	selected  int
	top       int
	room      int // items that there was room for
}

func newPane(th *theme.Theme, title string, part keys.Part, items []Item) *Pane {
	return &Pane{theme: th, Title: title, keys: part, lead: "› ", all: items, shown: items}
}

// Commands makes the list of all commands.
func Commands(th *theme.Theme, own ...keys.Named) *Pane {
	var items []Item
	for _, b := range keys.Commands() {
		items = append(items, Item{ID: string(b.Action), Text: b.Meaning(), Right: b.Shown(), Name: keys.Name(b.Action)})
	}
	for _, c := range own {
		items = append(items, Item{ID: "/" + c.Name, Text: c.Does, Right: "/" + c.Name, Name: c.Name})
	}
	p := newPane(th, locale.T("commands"), keys.CommandList, items)
	p.commands = true
	return p
}

// Prompts makes the list of earlier prompts, newest first.
func Prompts(th *theme.Theme, prompts []string) *Pane {
	var items []Item
	known := map[string]bool{}
	for i := len(prompts) - 1; i >= 0; i-- {
		if s := prompts[i]; !known[s] {
			known[s] = true
			items = append(items, Item{ID: s, Text: theme.Line(s)})
		}
	}
	return newPane(th, locale.T("earlier prompts"), keys.PromptList, items)
}

// Providers makes a list of endpoints to add.
func Providers(th *theme.Theme, items []Item) *Pane {
	return newPane(th, locale.T("add a key or an endpoint"), keys.ProviderList, items)
}

// Themes makes the list of themes, with the cursor on the one that is worn.
func Themes(th *theme.Theme, worn string) *Pane {
	names := theme.Names()
	items := make([]Item, len(names))
	for i, n := range names {
		items[i] = Item{ID: n.Name, Text: locale.T(n.Text), Right: n.Name, Name: n.Name}
	}
	p := newPane(th, locale.T("themes"), keys.ThemeList, items)
	p.selected = max(slices.IndexFunc(names, func(n theme.Name) bool { return n.Name == worn }), 0)
	return p
}

// SetTheme changes the colours.
func (p *Pane) SetTheme(th *theme.Theme) { p.theme = th }

// Chosen is the row under the cursor.
func (p *Pane) Chosen() (Item, bool) {
	if p.selected >= len(p.shown) {
		return Item{}, false
	}
	return p.shown[p.selected], true
}

// Arguments is what was typed behind the name of the chosen command.
func (p *Pane) Arguments() string { return p.arguments }

// Verdict is what a key asks for.
type Verdict int

// The verdicts.
const (
	Nothing Verdict = iota
	Choose          // the row under the cursor
	Close
)

// page is how many rows the page keys move by.
const page = 10

// Key moves, filters or edits the filter.
func (p *Pane) Key(name, text string) Verdict {
	switch p.keys.Action(name) {
	case keys.Close:
		return Close
	case keys.Accept:
		if _, ok := p.Chosen(); ok {
			return Choose
		}
	case keys.Up:
		p.Move(-1)
	case keys.Down:
		p.Move(1)
	case keys.PageUp:
		p.Move(-page)
	case keys.PageDown:
		p.Move(page)
	case keys.DeleteBack:
		if r := []rune(p.query); len(r) > 0 {
			p.filter(string(r[:len(r)-1]))
		}
	case keys.ClearLine:
		p.filter("")
	default:
		if text != "" {
			p.filter(p.query + theme.Sanitize(text))
		}
	}
	return Nothing
}

// Move chooses another row.
func (p *Pane) Move(by int) { p.selected = max(0, min(p.selected+by, len(p.shown)-1)) }

// ItemAt gives how far the item in a row of the box is from the chosen one.
func (p *Pane) ItemAt(row int) (by int, ok bool) {
	i := p.top + row - head
	return i - p.selected, row >= head && i < min(len(p.shown), p.top+p.room)
}

// head is the rows of the box before the items: the border, the filter, a blank one.
const head = 3

func (p *Pane) filter(query string) {
	p.query = query
	p.selected = 0
	p.top = 0
	p.arguments = ""
	if strings.TrimSpace(query) == "" {
		p.shown = p.all
		return
	}
	texts := make([]string, len(p.all))
	for i, it := range p.all {
		texts[i] = strings.TrimSpace(it.Text + " " + it.Name)
	}
	p.shown = nil
	if a, rest, ok := keys.Call("/" + query); ok && p.commands && rest != "" {
		p.arguments = rest
		for _, it := range p.all {
			if it.ID == string(a) {
				p.shown = []Item{it}
			}
		}
		return
	}
	for _, m := range fuzzy.Find(query, texts) {
		p.shown = append(p.shown, p.all[m.Index])
	}
	// Whole words are what people mean most often: they come first.
	query = strings.ToLower(strings.TrimSpace(query))
	rank := func(it Item) int {
		if strings.HasPrefix(it.Name, query) {
			return -1
		}
		switch at := strings.Index(strings.ToLower(it.Text), query); {
		case at == 0:
			return 0
		case at > 0 && it.Text[at-1] == ' ':
			return 1
		case at > 0:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(p.shown, func(a, b Item) int { return rank(a) - rank(b) })
}

// View gives a box of width cells and at most height rows; x and y are where
// the cursor is in it.
func (p *Pane) View(width, height int) (lines []string, x, y int) {
	th := p.theme
	inner := max(width-4, 10)
	room := max(min(height-4, len(p.all)), 1)
	p.room = room
	if p.selected < p.top {
		p.top = p.selected
	}
	if p.selected >= p.top+room {
		p.top = p.selected - room + 1
	}
	rows := []string{th.Accent.Paint(p.lead) + theme.Cut(p.query, inner-3), ""}
	for i := range room {
		k := p.top + i
		if k >= len(p.shown) {
			if k == 0 {
				none := locale.T("nothing like that")
				if p.query == "" {
					none = locale.T("nothing here yet")
				}
				rows = append(rows, th.Dim.Paint(none))
				continue
			}
			rows = append(rows, "")
			continue
		}
		it := p.shown[k]
		text, right := theme.Cut(it.Text, inner-theme.Width(it.Right)-5), th.Dim.Paint(it.Right)+" "
		row := theme.Sides("  "+text, right, inner)
		if k == p.selected {
			row = th.Selected.Over(theme.Sides(th.Accent.Paint("❯ ")+text, right, inner))
		}
		rows = append(rows, row)
	}
	box := th.Box(th.Strong.Paint(p.Title), rows, width, th.Faint)
	return box, 2 + theme.Width(p.lead) + theme.Width(theme.Cut(p.query, inner-3)), 1
}
