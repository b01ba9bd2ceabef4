package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/ui/keys"
	"belay/ui/locale"
)

// key gives a key to whatever has the keyboard: the dialog, the mode, the keys
// that work everywhere, the draft.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	if keys.Is(name, keys.Leave) {
		return m.run(keys.Leave, "")
	}
	m.leaving, m.toast.text = time.Time{}, ""
	m.pointer.clear()
	if !keys.Is(name, keys.Stop) {
		m.draft.escaped = time.Time{}
	}
	if m.covered() {
		return m.dialogKey(name, msg.Text)
	}
	if m.focus.mode != nil {
		a := m.focus.mode.key(name, msg.Text)
		passed, ok := a.(unhandled)
		if !ok {
			return m.perform(a)
		}
		if passed.leave {
			m.focus.toDraft()
		}
	}
	if a := keys.Global(name); a != "" {
		return m.run(a, "")
	}
	return m.perform(m.draft.press(msg, m.focus.mode == nil, m.options.Now()))
}

// dialogKey gives a key to the dialog. Keys that work everywhere go on working in
// panels.
func (m *Model) dialogKey(name, text string) tea.Cmd {
	a := m.dialog.key(name, text)
	if _, passed := a.(unhandled); !passed {
		return m.perform(a)
	}
	global := keys.Global(name)
	if global == "" {
		return nil
	}
	before, open := m.views.current, m.dialog
	cmd := m.run(global, "")
	if d, ok := m.dialog.(follower); ok && m.dialog == open && m.views.current != before {
		return tea.Batch(cmd, d.sessionChanged())
	}
	return cmd
}

// paste gives pasted text to what is being written.
func (m *Model) paste(text string) tea.Cmd {
	if m.covered() {
		return m.dialogKey("", text)
	}
	_, finding := m.focus.finder()
	if _, answering := m.focus.mode.(approvalMode); finding || answering && m.approvals.Writing() {
		return m.perform(m.focus.mode.key("", text))
	}
	return m.perform(m.draft.paste(text))
}

// mouse gives what the mouse does to what lies under it.
func (m *Model) mouse(msg tea.MouseMsg) tea.Cmd {
	return m.perform(m.pointer.take(msg, surface{
		dialog: m.dialog, over: m.dialog != nil && m.side() == 0, pane: m.views.transcript(), width: m.width - m.side(),
		theme:    m.look.theme,
		question: m.question, approvals: m.approvals, focus: m.focus,
	}, m.controls.copyText))
}

// confirmLeave is for how long a second ctrl+c leaves.
const confirmLeave = 2 * time.Second

// interrupt is ctrl+c: it clears the draft or closes what is open, and the second one
// leaves.
func (m *Model) interrupt() action {
	if d, ok := m.dialog.(interrupter); ok {
		return d.interrupt()
	}
	now := m.options.Now()
	if !m.leaving.IsZero() && now.Sub(m.leaving) < confirmLeave {
		m.leaving = time.Time{}
		return command{name: keys.Quit}
	}
	m.leaving = now
	again := locale.T("%s again leaves", keys.Label(keys.Leave))
	if m.dialog == nil && m.focus.mode == nil && !m.composer.Empty() {
		m.composer.Clear()
		m.draft.size.shown = false
		return message{locale.T("the draft is cleared; %s brings it back; %s", keys.Label(keys.TakeBack), again)}
	}
	return together{closeDialog{}, message{again}}
}

// quit ends the program; sessions that run are asked about first.
func (m *Model) quit() action {
	if len(m.views.live()) > 0 {
		return openDialog{leaveDialog{m.views}}
	}
	return quit{}
}
