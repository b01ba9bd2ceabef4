// Package modellist decides how all models that could be asked are listed, found and
// chosen for a tier.
package modellist

import (
	"slices"
	"strings"
	"time"

	"github.com/sahilm/fuzzy"

	"belay/models"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// View is what could be asked.
type View struct {
	Models    []Row
	Providers []Provider
	Notes     []string // what could not be found out
}

// Row is a model that could be asked.
type Row struct {
	models.Condition // Tier: the highest that it stands in; empty: none
	Window           int64
	Price            models.Price
	Images           bool
	Reasoning        bool
	Local            bool
	Missing          string // the variable of the key that is not there
}

// Provider is an endpoint of the catalogue or the settings.
type Provider struct {
	Name     string
	Variable string // that its key is looked for in
	Keyed    bool   // there is a key, or none is needed
	Models   int    // that are known of
}

// Verdict is what a key asks for.
type Verdict int

// The verdicts.
const (
	Nothing Verdict = iota
	Close
	Use  // the chosen one, in this session
	Keep // it for good
	Add  // a key or a provider
)

// Pane is the list of models with a filter.
type Pane struct {
	theme *theme.Theme
	now   func() time.Time
	tier  models.Tier // that the chosen one is for
	pin   models.Target

	view     View
	loading  bool
	shown    []Row
	query    string
	selected int
	top      int
	room     int    // rows that show models, as it was drawn last
	note     string // until the next key
}

// New makes the list for a tier. It is empty until Set.
func New(th *theme.Theme, now func() time.Time, tier models.Tier) *Pane {
	return &Pane{theme: th, now: now, tier: tier, loading: true}
}

// SetTheme changes the colours.
func (p *Pane) SetTheme(th *theme.Theme) { p.theme = th }

// SetPinned says which model the session is kept at.
func (p *Pane) SetPinned(target models.Target) { p.pin = target }

// Set gives the models. The chosen one stays chosen.
func (p *Pane) Set(view View) {
	chosen, ok := p.Chosen()
	p.view, p.loading = view, false
	p.find()
	if at := slices.IndexFunc(p.shown, func(r Row) bool { return r.Target == chosen.Target }); ok && at >= 0 {
		p.selected = at
	}
}

// Note shows words under the list until the next key.
func (p *Pane) Note(text string) { p.note = text }

// Find looks for words, as if they had been typed.
func (p *Pane) Find(query string) { p.query = query; p.find() }

// Tier is the tier that the chosen one is for.
func (p *Pane) Tier() models.Tier { return p.tier }

// Providers are the endpoints that are known.
func (p *Pane) Providers() []Provider { return p.view.Providers }

// Chosen is the row under the cursor.
func (p *Pane) Chosen() (Row, bool) {
	if p.selected >= len(p.shown) {
		return Row{}, false
	}
	return p.shown[p.selected], true
}

// page is how many rows the page keys move by.
const page = 10

// Key moves, filters, or chooses.
func (p *Pane) Key(name, text string) Verdict {
	p.note = ""
	switch keys.ModelList.Action(name) {
	case keys.Close:
		if p.query == "" {
			return Close
		}
		p.Find("")
	case keys.Accept:
		return p.onChosen(Use)
	case keys.KeepModel:
		return p.onChosen(Keep)
	case keys.AddProvider:
		return Add
	case keys.OtherTier:
		all := models.Tiers()
		p.tier = all[(max(p.tier.Rank(), 0)+1)%len(all)]
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
			p.Find(string(r[:len(r)-1]))
		}
	case keys.ClearLine:
		p.Find("")
	default:
		if text != "" {
			p.Find(p.query + theme.Line(text))
		}
	}
	return Nothing
}

// Move chooses another row.
func (p *Pane) Move(by int) { p.selected = max(0, min(p.selected+by, len(p.shown)-1)) }

// ItemAt gives how far the model in a row of the box is from the chosen one.
func (p *Pane) ItemAt(row int) (by int, ok bool) {
	const head = 3 // the border, the filter, a blank row
	i := p.top + row - head
	return i - p.selected, row >= head && i < min(len(p.shown), p.top+p.room)
}

func (p *Pane) onChosen(v Verdict) Verdict {
	row, ok := p.Chosen()
	switch {
	case !ok:
		return Nothing
	case row.Missing != "":
		p.note = locale.T("there is no key for %s: %s adds one", theme.Line(row.Target.Provider),
			keys.ModelList.Label(keys.AddProvider))
		return Nothing
	}
	return v
}

// Match finds the one model that some words name: its name, provider/name, or the one
// name that they begin or hold. Others are those that fit when it is not one.
func (v View) Match(words string) (found Row, others []string, ok bool) {
	words = strings.ToLower(strings.TrimSpace(words))
	named := func(fits func(r Row) bool) []Row {
		var rows []Row
		for _, r := range v.Models {
			if fits(r) {
				rows = append(rows, r)
			}
		}
		return rows
	}
	for _, fits := range []func(r Row) bool{
		func(r Row) bool { return strings.ToLower(r.Target.String()) == words },
		func(r Row) bool { return strings.ToLower(r.Target.Model) == words || strings.ToLower(r.Short) == words },
		func(r Row) bool { return strings.Contains(strings.ToLower(r.Target.String()), words) },
	} {
		rows := named(fits)
		if len(rows) == 0 {
			continue
		}
		if len(rows) == 1 || rows[0].Tier != "" && rows[1].Tier == "" {
			return rows[0], nil, true
		}
		for _, r := range rows {
			others = append(others, r.Target.String())
		}
		return Row{}, others, false
	}
	if t, ok := v.typed(words); ok {
		return t, nil, true
	}
	return Row{}, nil, false
}

// typed is a model that nobody lists, of a provider that is known.
func (v View) typed(words string) (Row, bool) {
	t, err := models.ParseTarget(strings.TrimSpace(words))
	if err != nil {
		return Row{}, false
	}
	at := slices.IndexFunc(v.Providers, func(p Provider) bool { return p.Name == t.Provider && p.Keyed })
	row := Row{Condition: models.Condition{Target: t, Short: theme.Short(t), State: models.Unknown}}
	return row, at >= 0
}

// find shows the models that fit the filter: those with all of its words first, then
// those with its letters in this order.
func (p *Pane) find() {
	p.selected, p.top = 0, 0
	words := strings.Fields(strings.ToLower(p.query))
	if len(words) == 0 {
		p.shown = p.view.Models
		return
	}
	p.shown = nil
	var rest []Row
	var texts []string
	exact := false
	for _, r := range p.view.Models {
		text := strings.ToLower(r.Target.String() + " " + r.Short + " " + string(r.Tier))
		missing := func(word string) bool { return !strings.Contains(text, word) }
		exact = exact || r.Target.String() == strings.TrimSpace(p.query)
		if !slices.ContainsFunc(words, missing) {
			p.shown = append(p.shown, r)
			continue
		}
		rest, texts = append(rest, r), append(texts, text)
	}
	if len(words) == 1 {
		for _, m := range fuzzy.Find(words[0], texts) {
			if m.Score >= 0 {
				p.shown = append(p.shown, rest[m.Index])
			}
		}
	}
	if row, ok := p.view.typed(p.query); ok && !exact {
		p.shown = append(p.shown, row)
	}
}
