package ui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/sessions"
	"belay/ui/theme"
)

// sessionsDialog is the list of sessions.
type sessionsDialog struct {
	pane    *sessions.Pane
	views   *sessionViews
	backend *backend
	now     func() time.Time
	run     func(ctx context.Context, command ...string) (string, error) // may be nil

	loading bool
	loaded  time.Time
}

// exportedMsg says where a session was written to.
type exportedMsg struct {
	said string
	err  error
}

func (d *sessionsDialog) setTheme(th *theme.Theme) { d.pane.SetTheme(th) }

func (d *sessionsDialog) opened() tea.Cmd { return d.load() }

// load reads the list that is shown.
func (d *sessionsDialog) load() tea.Cmd {
	shown := d.pane.List()
	d.loading = true
	return d.backend.list(session.Filter{Archived: shown == sessions.Archived, Deleted: shown == sessions.Deleted})
}

// reloadAfter is how often the list is read anew: other belays go on meanwhile.
const reloadAfter = 2 * time.Second

// refresh reads the list anew while it is open.
func (d *sessionsDialog) refresh() tea.Cmd {
	if d.loading || d.now().Sub(d.loaded) < reloadAfter {
		return nil
	}
	return d.load()
}

func (d *sessionsDialog) update(msg tea.Msg) action {
	switch msg := msg.(type) {
	case exportedMsg:
		if msg.err != nil {
			d.pane.Note(theme.Line(msg.said + " " + msg.err.Error()))
			return nil
		}
		d.pane.Note(theme.Line(msg.said))
	case listMsg:
		d.loading, d.loaded = false, d.now()
		if msg.err != nil {
			return message{"sessions: " + msg.err.Error()}
		}
		d.pane.Set(d.withOpen(msg.list), msg.owners)
	case hitsMsg:
		d.pane.SetHits(msg.query, msg.hits)
	}
	return nil
}

// withOpen puts the states of open sessions in the place of the stored ones.
func (d *sessionsDialog) withOpen(list []session.Session) []session.Session {
	for i, s := range list {
		if v := d.views.get(s.ID); v != nil {
			list[i] = v.state
		}
	}
	return list
}

func (d *sessionsDialog) key(name, text string) action {
	verdict := d.pane.Key(name, text)
	s, _ := d.pane.Chosen()
	switch verdict {
	case sessions.Open:
		return together{closeDialog{}, openSession{id: s.ID}}
	case sessions.Close:
		return closeDialog{}
	case sessions.SearchTexts:
		return d.search()
	case sessions.Reload:
		return work{d.load()}
	case sessions.Rename:
		return inSequence{sendTo{id: s.ID, command: session.Rename{Title: d.pane.Name()}}, work{d.load()}}
	case sessions.Fork:
		return fork{s, s.LastSeq}
	case sessions.Export:
		return d.export(s)
	case sessions.Archive:
		return d.file(s, session.SetArchived{Archived: !s.Archived, Deleted: s.Deleted})
	case sessions.Delete:
		if !s.Deleted.IsZero() {
			return d.file(s, session.SetArchived{Archived: s.Archived})
		}
		return d.remove(s)
	case sessions.Undo:
		if gone, ok := d.pane.TakeDeleted(); ok {
			d.pane.Note("taken back")
			return d.file(gone, session.SetArchived{Archived: gone.Archived})
		}
	case sessions.NewSession:
		return together{closeDialog{}, show{}}
	}
	return nil
}

// search looks into the texts of all sessions.
func (d *sessionsDialog) search() action {
	query := d.pane.Query()
	if len(strings.TrimSpace(query)) < 2 {
		return nil
	}
	return work{d.backend.search(query)}
}

// file archives the session, deletes it or takes that back.
func (d *sessionsDialog) file(s session.Session, c session.SetArchived) action {
	return inSequence{sendTo{id: s.ID, command: c}, work{d.load()}}
}

// export writes the session to a new file in the workspace.
func (d *sessionsDialog) export(s session.Session) action {
	if d.run == nil {
		return nil
	}
	run, ctx := d.run, d.backend.ctx
	file := "belay-" + string(s.ID) + ".md"
	return work{func() tea.Msg {
		said, err := run(ctx, "sessions", "export", string(s.ID), "-o", file)
		return exportedMsg{said, err}
	}}
}

func (d *sessionsDialog) remove(s session.Session) action {
	if d.pane.Foreign(s.ID) {
		d.pane.Note(locale.T("it belongs to another belay that runs: end that first"))
		return nil
	}
	if s.Live() {
		d.pane.Note("it runs: stop it first")
		return nil
	}
	d.pane.Remove(s)
	remove := sendTo{id: s.ID, command: session.SetArchived{Archived: s.Archived, Deleted: d.now()}}
	if s.ID == d.views.current {
		return together{show{}, remove}
	}
	return remove
}

func (d *sessionsDialog) list() (items, string) { return d.pane, keys.SessionList.Press(keys.Accept) }

func (d *sessionsDialog) view(f frame) box {
	lines, x, y := d.pane.View(f.width, f.height-2)
	return box{lines: lines, top: 1, cursor: &tea.Position{X: x, Y: y}}
}
