package ui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
)

// perform carries out what a part asks for.
func (m *Model) perform(a action) tea.Cmd {
	switch a := a.(type) {
	case nil:
	case together:
		return tea.Batch(m.performAll(a)...)
	case inSequence:
		return tea.Sequence(m.performAll(a)...)
	case command:
		return m.run(a.name, a.text)
	case work:
		return a.cmd
	case message:
		return m.say(a.text)
	case note:
		m.note(a.text)
	case complaint:
		return m.complain(a.err)
	case returnPrompts:
		m.draft.restore(a.commands)
	case typeText:
		if a.pasted {
			m.composer.Paste(a.text)
		} else {
			m.composer.Type(a.text)
		}
	case press:
		text := ""
		if len(a.key) == 1 {
			text = a.key
		}
		return m.dialogKey(a.key, text)
	case quit:
		return tea.Quit
	case send, sendTo, leaveAll, reconnect:
		return m.performOnEngine(a)
	case show, showStep, openSession, fork, readOlder, countContext:
		return m.performOnSessions(a)
	default:
		return m.performOnScreen(a)
	}
	return nil
}

func (m *Model) performAll(actions []action) []tea.Cmd {
	cmds := make([]tea.Cmd, len(actions))
	for i, a := range actions {
		cmds[i] = m.perform(a)
	}
	return cmds
}

// performOnEngine is perform for what the engine is told.
func (m *Model) performOnEngine(a action) tea.Cmd {
	switch a := a.(type) {
	case send:
		if a.inOrder {
			return m.backend.inOrder(m.views.current, a.command)
		}
		return m.do(a.command)
	case sendTo:
		if a.inOrder {
			return m.backend.inOrder(a.id, a.command)
		}
		return m.backend.do(a.id, a.command)
	case leaveAll:
		m.ended = true
		return m.backend.leave(m.views.live(), a.command)
	case reconnect:
		if a.banner != "" {
			m.options.Banner = a.banner
		}
		if a.toast == "" {
			return m.backend.connect(m.options)
		}
		return tea.Batch(m.backend.connect(m.options), m.say(a.toast))
	}
	return nil
}

// performOnSessions is perform for which session is in view, and what of it.
func (m *Model) performOnSessions(a action) tea.Cmd {
	switch a := a.(type) {
	case show:
		m.switchTo(a.id)
		if a.end {
			m.views.transcript().Bottom()
		}
	case showStep:
		return m.perform(m.opener.openStep(a.id, a.followed))
	case openSession:
		return m.perform(m.opener.open(a.id, a.takeover))
	case fork:
		return m.backend.fork(a.state.ID, a.at)
	case readOlder:
		return m.opener.older()
	case countContext:
		return m.context.refresh(a.id)
	}
	return nil
}

// performOnScreen is perform for what is open and has the keys.
func (m *Model) performOnScreen(a action) tea.Cmd {
	switch a := a.(type) {
	case openDialog:
		m.dialog = a.dialog
		if d, ok := a.dialog.(loader); ok {
			return d.opened()
		}
	case wear:
		m.look.name = a.theme
		m.setTheme()
	case closeDialog:
		m.closeDialog()
	case reopen:
		return m.reopen(a.dialog)
	case openRewind:
		return m.perform(m.openRewind(a))
	case blurPanel:
		m.blurPanel()
	case raisePlan:
		return m.raisePlan(a.review)
	case leaveStep:
		return m.leaveStep()
	case leaveMode:
		m.focus.leave()
	case toDraft:
		m.focus.toDraft()
	case editCall:
		return m.editCall()
	case borrow:
		m.focus.borrow(a)
	case cancelEntry:
		m.focus.leave()
		m.focus.ask()
		if a.from != nil {
			return m.reopen(a.from)
		}
	case askApproval:
		m.focus.ask()
	case setDraft:
		m.focus.toDraft()
		m.composer.Set(a.text)
	}
	return nil
}

// closeDialog takes the dialog away. A question that it lay over comes into view
// anew, unless the dialog was the question itself.
func (m *Model) closeDialog() {
	if page, ok := m.dialog.(*pager); !ok || page.atEnd == nil {
		m.approvals.RestartGuard()
	}
	m.dialog = nil
}

// editCall lets a person write the call that is asked about: in their editor or,
// without one, in the composer.
func (m *Model) editCall() tea.Cmd {
	text, editor := m.approvals.Editable(), m.draft.editor
	if !editor.usable() {
		m.focus.borrow(borrow{entry: callEntry{m.approvals}, text: text})
		return nil
	}
	return editor.open(text, editedCall{m.approvals.Asked().CallID, text})
}

// do tells the session in view something at once, ahead of anything that waits.
// Before there is a session, one is started for it.
func (m *Model) do(c session.Command) tea.Cmd {
	if m.views.shown() == nil {
		m.opener.pending = append(m.opener.pending, c)
		if m.opener.wanted != "" {
			return nil
		}
		return m.opener.start(m.options.Project)
	}
	return m.backend.do(m.views.current, c)
}

// reopen comes back to a panel that was left for an entry or a dialog.
func (m *Model) reopen(d dialog) tea.Cmd {
	switch {
	case d == nil:
	case d == m.context && m.dialog != m.context:
		return m.perform(m.toggleContext())
	case d == m.steps:
		m.focus.set(nil)
		m.dialog = m.steps
		m.steps.opened()
		m.focus.ask()
	}
	return nil
}

// leaveStep leads from the session of a step to its plan.
func (m *Model) leaveStep() tea.Cmd {
	v := m.views.shown()
	if v == nil || v.state.PartOf == "" {
		return nil
	}
	plan := v.state.PartOf
	if m.views.get(plan) == nil {
		return m.perform(openSession{id: plan})
	}
	m.switchTo(plan)
	left := m.steps.left
	m.steps.left = false
	switch {
	case m.dialog == m.steps:
		m.steps.focus()
	case left && m.dialog == nil:
		return m.reopen(m.steps)
	}
	return nil
}

// raisePlan opens the panel of the steps by itself: with the keys for a plan that
// a person has to look at, else beside the transcript, where there is room.
func (m *Model) raisePlan(review bool) tea.Cmd {
	if m.dialog != nil {
		return nil
	}
	if !review {
		m.dialog, m.steps.since = m.steps, time.Time{}
		m.steps.refresh(m.covered())
		m.blurPanel()
		return nil
	}
	if _, finding := m.focus.finder(); finding || m.composer.Borrowed() {
		return nil
	}
	m.dialog = m.steps
	m.steps.blurred, m.steps.since = false, m.options.Now()
	m.steps.refresh(true)
	if m.composer.Empty() {
		return nil
	}
	m.blurPanel()
	return m.perform(proposed())
}

// blurPanel gives the keys of the steps to the main screen.
func (m *Model) blurPanel() {
	m.steps.blurred = true
	if m.dialog == m.steps && m.side() == 0 && m.sized { // else the size decides, when it is known
		m.dialog = nil
	}
}

// complain shows an error and the way out of it that it knows.
func (m *Model) complain(err error) tea.Cmd {
	// The session is on the screen: its name says nothing new.
	short := strings.TrimPrefix(err.Error(), fmt.Sprintf("session %s: ", m.views.current))
	m.note(short + hintOf(err))
	return m.say(short)
}

// hintOf is the way out of an error, to be put behind its words.
func hintOf(err error) string {
	if h := session.ErrorHint(err); h != "" {
		return " — " + h
	}
	return ""
}
