// Package sessions decides how sessions are listed and found: those that need a
// person first, with what each one is doing.
package sessions

import (
	"slices"
	"strings"
	"time"

	"github.com/sahilm/fuzzy"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// List is which sessions are listed.
type List int

// The lists.
const (
	Current List = iota
	Archived
	Deleted
)

// Verdict is what a key asks for.
type Verdict int

// The verdicts.
const (
	Nothing Verdict = iota
	Open            // the chosen session
	Close
	SearchTexts // the filter changed: search texts again
	Reload      // another list is wanted
	Rename      // to Name
	Fork
	Export
	Archive    // or take out of the archive
	Delete     // or take back
	Undo       // the last deletion
	NewSession // not one of the list
)

// Pane is the list of sessions with a filter.
type Pane struct {
	theme   *theme.Theme
	now     func() time.Time
	project string // the one that belay was started in

	list     List
	all      []session.Session // of the list
	hits     []session.Hit     // texts in which the query was found
	shown    []row
	query    string
	selected int // index of the row under the cursor
	top      int // index of the first row in view
	each     int // rows of a session, as it was drawn last
	room     int // sessions that there was room for
	loading  bool
	note     string            // words under the list, until the next key
	deleted  []session.Session // can be taken back, the last one first
	owners   map[session.ID]session.Owner
	banner   string // what is true of all of them: they are rehearsed

	naming bool   // a new title is being written
	name   string // so far
}

// row is a session, and a text of it in which the query was found.
type row struct {
	s       session.Session
	snippet string
}

// New makes the list; the project is the one that belay was started in.
func New(th *theme.Theme, now func() time.Time, project string) *Pane {
	return &Pane{theme: th, now: now, project: project, loading: true}
}

// SetTheme changes the colours.
func (p *Pane) SetTheme(th *theme.Theme) { p.theme = th }

// SetBanner says what is true of all sessions.
func (p *Pane) SetBanner(text string) { p.banner = text }

// Set gives the sessions of the list, and the other belays that write to some of them.
func (p *Pane) Set(list []session.Session, owners map[session.ID]session.Owner) {
	p.all, p.loading, p.owners = list, false, owners
	p.filterAndSort()
}

// Foreign reports whether another belay writes to a session.
func (p *Pane) Foreign(id session.ID) bool {
	_, foreign := p.owners[id]
	return foreign
}

// SetOpen replaces the state of sessions that this belay runs.
func (p *Pane) SetOpen(s session.Session) {
	for i := range p.all {
		if p.all[i].ID == s.ID {
			p.all[i] = s
			p.filterAndSort()
			return
		}
	}
}

// SetHits gives the places where a search of all texts found the query.
func (p *Pane) SetHits(query string, hits []session.Hit) {
	if query == p.query {
		p.hits = hits
		p.filterAndSort()
	}
}

// Note shows words under the list until the next key.
func (p *Pane) Note(s string) { p.note = s }

// List is the list in view.
func (p *Pane) List() List { return p.list }

// Query is the words that the filter looks for.
func (p *Pane) Query() string { return p.query }

// Name is the new title after the verdict Rename.
func (p *Pane) Name() string { return strings.TrimSpace(p.name) }

// Chosen is the session under the cursor.
func (p *Pane) Chosen() (session.Session, bool) {
	if p.selected >= len(p.shown) {
		return session.Session{}, false
	}
	return p.shown[p.selected].s, true
}

// Remove remembers a deleted session so that it can be taken back, and drops
// it from the list.
func (p *Pane) Remove(s session.Session) {
	p.deleted = append(p.deleted, s)
	p.all = slices.DeleteFunc(p.all, func(x session.Session) bool { return x.ID == s.ID })
	p.note = locale.T("deleted “%s”; %s takes it back", theme.Cut(title(s), 30), keys.SessionList.Label(keys.UndoDelete))
	p.filterAndSort()
}

// TakeDeleted is the deleted session to take back.
func (p *Pane) TakeDeleted() (session.Session, bool) {
	if len(p.deleted) == 0 {
		return session.Session{}, false
	}
	last := len(p.deleted) - 1
	s := p.deleted[last]
	p.deleted = p.deleted[:last]
	return s, true
}

func attention(s session.Session) int {
	switch {
	case s.NeedsYou():
		return 0
	case s.Live():
		return 1
	case s.Status == session.Parked, s.Status == session.Interrupted:
		return 2
	}
	return 3
}

// filterAndSort lists the sessions that fit the filter, those that need a person
// first. The chosen one stays chosen.
func (p *Pane) filterAndSort() {
	var chosen session.ID
	if s, ok := p.Chosen(); ok {
		chosen = s.ID
	}
	sorted := slices.Clone(p.all)
	slices.SortStableFunc(sorted, func(a, b session.Session) int {
		if d := attention(a) - attention(b); d != 0 {
			return d
		}
		return b.Updated.Compare(a.Updated)
	})
	p.shown = p.shown[:0]
	if query := strings.TrimSpace(p.query); query != "" {
		p.filter(sorted, query)
	} else {
		for _, s := range sorted {
			p.shown = append(p.shown, row{s: s})
		}
	}
	p.selected = max(0, min(p.selected, len(p.shown)-1))
	if i := slices.IndexFunc(p.shown, func(r row) bool { return r.s.ID == chosen }); i >= 0 {
		p.selected = i
	}
}

// filter shows the sessions whose titles fit a query, and then those in whose texts
// it was found.
func (p *Pane) filter(sorted []session.Session, query string) {
	texts := make([]string, len(sorted))
	for i, s := range sorted {
		texts[i] = s.Title + " " + s.Project + " " + s.LastLine + " " + string(s.ID)
	}
	seen := map[session.ID]bool{}
	for _, m := range fuzzy.Find(query, texts) {
		if m.Score >= 0 {
			p.shown = append(p.shown, row{s: sorted[m.Index]})
			seen[sorted[m.Index].ID] = true
		}
	}
	for _, h := range p.hits {
		if !seen[h.Session.ID] {
			p.shown = append(p.shown, row{h.Session, h.Snippet})
			seen[h.Session.ID] = true
		}
	}
}

// Key handles a key.
func (p *Pane) Key(name, text string) Verdict {
	if p.naming {
		return p.nameKey(name, text)
	}
	p.note = ""
	switch a := keys.SessionList.Action(name); a {
	case keys.Up:
		p.Move(-1)
	case keys.Down:
		p.Move(1)
	case keys.PageUp:
		p.Move(-page)
	case keys.PageDown:
		p.Move(page)
	case keys.Close:
		if p.query == "" {
			return Close
		}
		p.query = ""
		p.filterAndSort()
	case keys.Sessions:
		return Close
	case keys.OtherList:
		p.list = (p.list + 1) % 3
		p.all = nil
		p.hits = nil
		p.loading = true
		p.filterAndSort()
		return Reload
	case keys.UndoDelete:
		return Undo
	case keys.New:
		return NewSession
	case keys.DeleteBack:
		if r := []rune(p.query); len(r) > 0 {
			return p.setQuery(string(r[:len(r)-1]))
		}
	case keys.ClearLine:
		return p.setQuery("")
	case keys.Accept, keys.Rename, keys.Fork, keys.Export, keys.Archive, keys.Delete:
		return p.chosenKey(a)
	default:
		if text != "" {
			return p.setQuery(p.query + strings.ReplaceAll(theme.Sanitize(text), "\n", " "))
		}
	}
	return Nothing
}

// page is how many sessions the page keys move by.
const page = 8

// Move chooses another row.
func (p *Pane) Move(by int) { p.selected = max(0, min(p.selected+by, len(p.shown)-1)) }

// chosenKey is a key that acts on the session under the cursor.
func (p *Pane) chosenKey(a keys.Action) Verdict {
	s, ok := p.Chosen()
	if !ok {
		return Nothing
	}
	switch a {
	case keys.Accept:
		return Open
	case keys.Rename:
		p.naming, p.name = true, title(s)
		return Nothing
	case keys.Fork:
		return Fork
	case keys.Export:
		return Export
	case keys.Archive:
		return Archive
	}
	return Delete
}

func (p *Pane) setQuery(q string) Verdict {
	p.query = q
	p.hits = nil
	p.selected = 0
	p.top = 0
	p.shown = nil
	p.filterAndSort()
	return SearchTexts
}

func (p *Pane) nameKey(name, text string) Verdict {
	switch keys.SessionTitle.Action(name) {
	case keys.Accept:
		p.naming = false
		return Rename
	case keys.Close:
		p.naming = false
	case keys.ClearLine:
		p.name = ""
	case keys.DeleteBack:
		if r := []rune(p.name); len(r) > 0 {
			p.name = string(r[:len(r)-1])
		}
	default:
		p.name += strings.ReplaceAll(theme.Sanitize(text), "\n", " ")
	}
	return Nothing
}

func title(s session.Session) string {
	if t := theme.Line(s.Title); t != "" {
		return t
	}
	return locale.T("(nothing said yet)")
}
