package ui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Update routes a message; what it means is decided in the methods it calls.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.dirty = true
	urgent := true
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		cmd = m.key(msg)
		cmd = tea.Batch(cmd, m.unsent.touched(m.options.Now()))
	case tea.PasteMsg:
		cmd = m.paste(msg.Content)
		cmd = tea.Batch(cmd, m.unsent.touched(m.options.Now()))
	case feedMsg:
		urgent = false
		cmd = m.records(msg.records)
	case tickMsg:
		urgent = false
		cmd = m.tick()
	case tea.MouseMsg:
		cmd = m.mouse(msg)
	case tea.FocusMsg:
		m.notifier.blurred = false
		cmd = m.toast.look(false)
	case tea.BlurMsg:
		m.notifier.blurred = true
		cmd = m.toast.look(true)
	case tea.WindowSizeMsg, tea.BackgroundColorMsg, tea.ColorProfileMsg:
		m.terminal(msg)
		m.pulse.urgent = true
		return m, nil
	default:
		cmd = m.result(msg)
	}
	m.pulse.urgent = m.pulse.urgent || urgent
	return m, tea.Batch(cmd, m.clock())
}

// terminal takes in what the terminal says of itself.
func (m *Model) terminal(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		first := !m.sized
		m.width = msg.Width
		m.height = msg.Height
		m.sized, m.unsized = true, false
		if first && m.dialog == m.steps && m.steps.blurred {
			m.blurPanel()
		}
	case tea.BackgroundColorMsg:
		m.look.dark = msg.IsDark()
		m.setTheme()
	case tea.ColorProfileMsg:
		m.look.profile = msg.Profile
		m.setTheme()
	}
}

// result takes in what a command brought back.
func (m *Model) result(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case connectedMsg:
		return m.connected(msg)
	case openedMsg:
		take := func() action { return m.opener.opened(msg, m.isIdle) }
		if msg.ahead {
			take = func() action { return m.opener.ahead(msg) }
		}
		if msg.err == nil && msg.id != "" && m.views.get(msg.id) == nil {
			return tea.Batch(m.perform(take()), m.unsent.load(msg.id))
		}
		return m.perform(take())
	case pageMsg:
		return m.perform(m.opener.paged(msg))
	case didMsg:
		return m.did(msg)
	case offerMsg:
		m.views.offered = msg.list
	case filesMsg:
		m.composer.SetFiles(msg.files)
	case promptsMsg:
		m.composer.SetHistory(msg.prompts)
	case editFileMsg, editedMsg:
		return m.edited(msg)
	case shellMsg:
		output := msg.output
		if msg.err != nil {
			output += "\n" + msg.err.Error()
		}
		m.toast.end(runsText(msg.command))
		m.views.transcript().Ran(msg.command, output, msg.err != nil)
	case heldEnterMsg:
		return tea.Batch(m.perform(m.draft.release(m.focus.mode == nil)), m.unsent.touched(m.options.Now()))
	case copiedPictureMsg:
		if msg.err != nil {
			return m.say(msg.err.Error())
		}
		return tea.Batch(m.paste(msg.file), m.unsent.touched(m.options.Now()))
	case unsentMsg:
		m.unsent.loaded(msg)
	case unsentPauseMsg:
		return m.unsent.paused(m.options.Now())
	case ownOutputMsg:
		return m.draft.own.wrote(msg)
	case ownEndedMsg:
		m.draft.own.ended(msg)
	case dragMsg:
		return m.pointer.beat()
	case toastOffMsg:
		m.toast.expire(msg.text)
	case feedLostMsg:
		m.fail(fmt.Errorf("the engine stopped: %w", msg.err))
	default:
		return m.dialogResult(msg)
	}
	return nil
}

// dialogResult takes in what a command of a panel or a dialog brought back. Panels
// take it also while they are closed.
func (m *Model) dialogResult(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case changesMsg:
		return m.perform(showChanges(msg))
	case capacityMsg:
		return m.perform(m.capacity.loaded(msg, m.dialog == m.capacity))
	case writtenMsg:
		m.draft.written.list = msg.list
		m.composer.SetOwn(m.draft.written.named())
		return nil
	case argumentsMsg:
		m.composer.SetArguments(msg.command, msg.list)
		return nil
	case modelsMsg:
		if msg.named != "" {
			return m.perform(m.models.named(msg))
		}
	case contextMsg:
		return m.perform(m.context.loaded(msg, m.dialog == m.context))
	case planEditedMsg:
		if msg.err == nil {
			return m.backend.finished()
		}
		m.steps.edits.refused(msg.id)
		return tea.Batch(m.backend.finished(), m.complain(msg.err))
	case rewoundMsg:
		if _, open := m.dialog.(*rewindDialog); open {
			break
		}
		if msg.err != nil {
			return m.complain(msg.err)
		}
		return m.perform(rewoundText())
	}
	if d, ok := m.dialog.(updater); ok {
		return m.perform(d.update(msg))
	}
	return nil
}

// edited takes a text to the person's editor and back.
func (m *Model) edited(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case editFileMsg:
		if msg.err != nil {
			return m.say(locale.T("editor: %s", locale.Said(msg.err.Error())))
		}
		return m.draft.editor.run(msg.path, msg.of)
	case editedMsg:
		if msg.err != nil {
			return m.say(locale.T("editor: %s", locale.Said(msg.err.Error())))
		}
		switch of := msg.of.(type) {
		case editedPlan:
			return m.perform(m.steps.wrote(msg.text))
		case editedCall:
			return m.perform(of.wrote(msg.text, m.approvals))
		}
		m.composer.Set(msg.text)
	}
	return nil
}

// did ends a command of the engine's.
func (m *Model) did(msg didMsg) tea.Cmd {
	var next tea.Cmd
	if msg.queued {
		next = m.backend.finished()
	}
	switch {
	case msg.err != nil:
		if msg.untaken != nil {
			m.draft.restore([]session.Command{msg.untaken})
		}
		return tea.Batch(next, m.complain(msg.err))
	case msg.begins != nil:
		return tea.Batch(next, m.do(msg.begins))
	case msg.toast != "":
		return tea.Batch(next, m.say(msg.toast))
	}
	return next
}

// records takes in what the engine published.
func (m *Model) records(records []session.Record) tea.Cmd {
	var cmds []tea.Cmd
	for len(records) > 0 {
		id, n := records[0].Session, 1
		for n < len(records) && records[n].Session == id {
			n++
		}
		if id == "" { // some target's state changed, or an alert
			m.views.refreshTiers(m.backend.engine)
			cmds = append(cmds, m.perform(m.notifier.alerts(records[:n])))
		} else {
			cmds = append(cmds, m.sessionRecords(id, records[:n]))
		}
		records = records[n:]
	}
	m.focus.ask()
	m.focus.leaveEndedWait()
	return tea.Batch(cmds...)
}

// sessionRecords takes in what happened in one session.
func (m *Model) sessionRecords(id session.ID, records []session.Record) tea.Cmd {
	view := m.views.get(id)
	if view == nil || view.loading {
		return m.opener.keep(id, records)
	}
	needed, plan := view.state.NeedsYou(), view.state.Plan
	view.apply(records)
	if view.torn {
		view.loading = true
		return m.backend.read(id, false)
	}
	if m.backend.engine != nil {
		view.setTiers(m.backend.engine.Tiers(id))
	}
	if d, ok := m.dialog.(*sessionsDialog); ok {
		d.pane.SetOpen(view.state)
	}
	return tea.Batch(
		m.notifier.call(m.views.title(&view.state), reasonToCall(records, &view.state, needed)),
		m.perform(m.context.follow(view, records, m.dialog == m.context)),
		m.perform(m.follower.follow(view, plan, records, m.isIdle)),
	)
}

// clock starts the ticking if something on the screen moves by itself.
func (m *Model) clock() tea.Cmd {
	if m.ticking {
		return nil
	}
	pace := m.views.pace(m.options.Now())
	_, refreshing := m.dialog.(refresher)
	if refreshing || pace == 0 && len(m.draft.own.running) > 0 {
		pace = time.Second
	}
	if pace == 0 {
		return nil
	}
	m.ticking = true
	return tea.Tick(pace, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *Model) tick() tea.Cmd {
	m.ticking = false
	m.views.transcript().Tick()
	m.views.count()
	m.views.refreshTiers(m.backend.engine)
	if d, ok := m.dialog.(refresher); ok {
		return d.refresh()
	}
	return nil
}

// say shows passing words; the next key or a few seconds take them away.
func (m *Model) say(text string) tea.Cmd {
	return m.toast.say(text, m.options.Now())
}

// note shows words in the transcript that belong to no record.
func (m *Model) note(text string) { m.views.transcript().Note(locale.Said(theme.Sanitize(text))) }
