package ui

import (
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/locale"
)

// opener makes, opens and reads sessions, and shows them when they are there.
type opener struct {
	views   *sessionViews
	backend *backend
	look    *look
	own     *ownCommands
	now     func() time.Time

	ids      map[session.ID]bool // being opened or read
	starting bool                // a new one is being made
	early    []session.Record    // of these sessions, before they were there
	wanted   session.ID          // is to come into view, and is not there yet
	pending  []session.Command   // for that one, or for the session that is being made
	first    firstPrompt         // for a session that is being opened
	before   session.ID          // was in view before one that came ahead of its opening
	resume   session.ID          // goes on with its turn as soon as it is open
	step     pendingStep
}

// pendingStep is the session of a step that is being read, to be shown then.
type pendingStep struct {
	id       session.ID
	followed bool // nobody asked for it: the step has begun
}

// firstPrompt is what a session is told as soon as it is open.
type firstPrompt struct {
	id     session.ID
	prompt session.Prompt
}

// open makes a session ours, and brings it into view.
func (o *opener) open(id session.ID, takeover bool) action {
	if o.backend.engine == nil || o.ids[id] {
		return nil
	}
	if o.views.get(id) != nil {
		return show{id: id}
	}
	o.ids[id], o.wanted = true, id
	return work{o.backend.open(id, takeover)}
}

// start makes a new session; what it is to be told waits in pending.
func (o *opener) start(project string) tea.Cmd {
	if o.backend.engine == nil || o.starting {
		return nil
	}
	o.starting = true
	return o.backend.start(project)
}

// openStep shows the session of a step. The engine has it open if it runs; others
// are only looked at, so nothing is opened but the log.
func (o *opener) openStep(id session.ID, followed bool) action {
	if o.views.get(id) != nil {
		return show{id: id}
	}
	if o.backend.store == nil {
		return nil
	}
	o.step = pendingStep{id, followed}
	if o.ids[id] {
		return nil
	}
	o.ids[id] = true
	return work{o.backend.read(id, true)}
}

// keep holds records back that came before their session was there. One that
// nobody opens is read: the engine goes on with it by itself.
func (o *opener) keep(id session.ID, records []session.Record) tea.Cmd {
	o.early = append(o.early, records...)
	if o.views.get(id) != nil || o.starting || o.ids[id] || o.backend.store == nil {
		return nil
	}
	o.ids[id] = true
	return o.backend.read(id, true)
}

// takeEarly gives the records that were held back of a session. When nothing is
// being opened any more, the rest belongs to nobody.
func (o *opener) takeEarly(id session.ID) []session.Record {
	var records []session.Record
	o.early = slices.DeleteFunc(o.early, func(r session.Record) bool {
		if r.Session == id {
			records = append(records, r)
		}
		return r.Session == id
	})
	if len(o.ids) == 0 && !o.starting {
		o.early = nil
	}
	return records
}

// ahead shows a session that is still being opened.
func (o *opener) ahead(msg openedMsg) action {
	if !o.ids[msg.id] || o.views.get(msg.id) != nil {
		return nil
	}
	o.before = o.views.current
	o.add(msg.state, msg.records).ahead = true
	return together{closeDialog{}, show{id: msg.id}}
}

// opened takes a session in that was made, opened or read again. Idle says whether
// a person looks at a session and at nothing else.
func (o *opener) opened(msg openedMsg, idle func(session.ID) bool) action {
	known := o.views.get(msg.id)
	again := known != nil && !known.ahead
	delete(o.ids, msg.id)
	if msg.id == "" {
		o.starting = false
	}
	if msg.err != nil {
		return o.failed(msg.id, msg.err)
	}
	id := msg.state.ID
	view := known
	if known == nil || again || known.state.LastSeq != msg.state.LastSeq {
		view = o.add(msg.state, msg.records)
	}
	shownAhead := view.ahead
	view.ahead = false
	if msg.id == "" { // what was done before there was a session is its beginning
		view.pane.Adopt(o.views.blank)
		o.own.adopt(id)
	}
	view.apply(o.takeEarly(id))
	view.torn = false
	if again || msg.unasked {
		return together{o.arrived(view, idle), askApproval{}}
	}
	actions := together{closeDialog{}, show{id: id}}
	if shownAhead { // and left, perhaps
		actions = nil
	}
	if view.state.Turn > 0 && view.state.ContextTokens == 0 {
		actions = append(actions, countContext{id})
	}
	if msg.id == "" || msg.id == o.wanted {
		for _, c := range o.pending {
			actions = append(actions, sendTo{id: id, command: c, inOrder: true})
		}
		o.pending, o.wanted = nil, ""
	}
	if o.first.id == id {
		actions = append(actions, sendTo{id: id, command: session.Send{Prompt: o.first.prompt}, inOrder: true})
		o.first = firstPrompt{}
	}
	return append(actions, o.resumed(view))
}

// resumed goes on with the turn of a session that was opened for that.
func (o *opener) resumed(view *sessionView) action {
	id := view.state.ID
	if id != o.resume {
		return nil
	}
	o.resume = ""
	if !view.stuck() {
		return nil
	}
	resume := sendTo{id: id, command: session.Resume{}}
	if view.state.Plan != nil && view.state.Plan.Started {
		return together{raisePlan{}, resume}
	}
	return resume
}

// arrived shows the session of a step that was read for that, if that is still
// wanted.
func (o *opener) arrived(view *sessionView, idle func(session.ID) bool) action {
	id := view.state.ID
	if id == "" || o.step.id != id {
		return nil
	}
	followed := o.step.followed
	o.step = pendingStep{}
	if !followed || idle(view.state.PartOf) && o.views.isWorker(view) {
		return show{id: id}
	}
	return nil
}

// failed says why a session is not there.
func (o *opener) failed(id session.ID, err error) action {
	if view := o.views.get(id); view != nil && view.ahead {
		o.views.remove(id)
		back := o.before
		return together{show{id: back}, o.failed(id, err)}
	}
	if id != "" && o.step.id == id { // the screen stays where it is
		o.step = pendingStep{}
		return message{locale.T("the step cannot be shown: %s", locale.Said(err.Error()))}
	}
	var told action = complaint{err}
	var owned interface{ Owner() session.Owner }
	if errors.As(err, &owned) {
		told = openDialog{takeoverDialog{id, owned.Owner()}}
	}
	if id != "" && id != o.wanted {
		return told
	}
	pending := o.pending
	o.pending, o.wanted = nil, ""
	return together{returnPrompts{pending}, told}
}

// add makes a view of a session that was opened or read again.
func (o *opener) add(s session.Session, records []session.Record) *sessionView {
	v := o.views.add(s.ID, o.look.theme, o.now)
	if o.backend.engine != nil {
		v.setTiers(o.backend.engine.Tiers(s.ID))
	}
	v.load(s, records)
	return v
}

// older reads the page before the first loaded record, if the view is there.
func (o *opener) older() tea.Cmd {
	view := o.views.shown()
	if view == nil || view.paging || o.backend.store == nil {
		return nil
	}
	before, ok := view.pane.WantsOlder()
	if !ok {
		return nil
	}
	view.paging = true
	return o.backend.page(view.state.ID, before)
}

// paged puts an older page before what is loaded.
func (o *opener) paged(msg pageMsg) action {
	view := o.views.get(msg.id)
	if view == nil {
		return nil
	}
	view.paging = false
	if msg.err != nil {
		return message{locale.T("older messages: %s", locale.Said(msg.err.Error()))}
	}
	more := len(msg.records) > 0 && msg.records[0].Seq > 1
	view.pane.Prepend(msg.records, more, view.state.RewoundSpans...)
	return nil
}
