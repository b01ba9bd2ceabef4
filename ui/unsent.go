package ui

import (
	"reflect"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/composer"
)

// unsentPause is how long nothing is typed before what stands in the composer is
// stored.
const unsentPause = 700 * time.Millisecond

// unsentDrafts keep what a person is writing, so that it is there again when belay was
// left, or killed.
type unsentDrafts struct {
	composer *composer.Pane
	views    *sessionViews
	backend  *backend
	project  string

	stored  map[session.ID]session.Unsent // as the store has it
	typed   time.Time                     // when something was typed last
	waiting bool                          // a look at the composer is on its way
}

type (
	unsentPauseMsg struct{}
	// unsentMsg is what the store kept of a session.
	unsentMsg struct {
		id session.ID
		u  session.Unsent
	}
)

// load reads what was being written in a session.
func (d *unsentDrafts) load(id session.ID) tea.Cmd { return d.backend.unsent(id, d.project) }

// loaded brings a draft back, unless something else is written already.
func (d *unsentDrafts) loaded(msg unsentMsg) {
	d.stored[msg.id] = msg.u
	if d.views.current == msg.id {
		if d.composer.Unsent().Empty() && !d.composer.Borrowed() {
			d.composer.SetUnsent(msg.u)
		}
		return
	}
	if v := d.views.get(msg.id); v != nil && v.draft.Empty() {
		v.draft = msg.u
	}
}

// touched follows a key or a paste. What was sent is forgotten at once; the rest is
// stored when nothing is typed for a moment.
func (d *unsentDrafts) touched(now time.Time) tea.Cmd {
	d.typed = now
	id := d.views.current
	if d.composer.Empty() && !d.composer.Borrowed() && !d.stored[id].Empty() {
		return d.save(id, session.Unsent{})
	}
	return d.wait(unsentPause)
}

func (d *unsentDrafts) wait(pause time.Duration) tea.Cmd {
	if d.waiting || d.backend.drafts() == nil {
		return nil
	}
	d.waiting = true
	return tea.Tick(pause, func(time.Time) tea.Msg { return unsentPauseMsg{} })
}

// paused stores the draft if a person has paused.
func (d *unsentDrafts) paused(now time.Time) tea.Cmd {
	d.waiting = false
	if since := now.Sub(d.typed); since > 0 && since < unsentPause/2 {
		return d.wait(unsentPause)
	}
	return d.keep()
}

// keep stores the drafts that have changed: the one in the composer, and those of the
// sessions that were left.
func (d *unsentDrafts) keep() tea.Cmd {
	var cmds []tea.Cmd
	for _, v := range d.views.list() {
		if id := v.state.ID; id != d.views.current && !reflect.DeepEqual(v.draft, d.stored[id]) {
			cmds = append(cmds, d.save(id, v.draft))
		}
	}
	if u := d.composer.Unsent(); !reflect.DeepEqual(u, d.stored[d.views.current]) {
		cmds = append(cmds, d.save(d.views.current, u))
	}
	return tea.Batch(cmds...)
}

func (d *unsentDrafts) save(id session.ID, u session.Unsent) tea.Cmd {
	d.stored[id] = u
	return d.backend.saveUnsent(id, d.project, u)
}
