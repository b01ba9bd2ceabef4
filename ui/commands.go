package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/palette"
	"belay/ui/sessions"
	"belay/ui/status"
)

// act carries an action out. It reports whether the action means anything in
// the present state; if not, the key is the composer's.
func (m *Model) act(a keys.Action) (tea.Cmd, bool) {
	switch a {
	case keys.Heavy:
		return m.tier(models.Heavy), true
	case keys.Medium:
		return m.tier(models.Medium), true
	case keys.Light:
		return m.tier(models.Light), true
	case keys.NextTier:
		return m.nextTier(), true
	case keys.NextMode:
		return m.nextMode(), true
	case keys.TryNow:
		return m.tryNow(), true
	case keys.Park:
		return m.onlyRoom(session.Park{}), true
	case keys.Drop:
		return m.onlyRoom(session.Drop{}), true
	case keys.Resume:
		return m.onlyRoom(session.Resume{}), true
	case keys.Details:
		m.details()
		return nil, true
	case keys.Stop:
		return m.stop(), true
	case keys.Copy:
		return m.copy(), true
	case keys.CopyCurl:
		return m.copyCurl(), true
	case keys.Editor:
		return m.edit(), true
	}
	return m.show(a)
}

// show is act for what moves or opens something on the screen.
func (m *Model) show(a keys.Action) (tea.Cmd, bool) {
	t := m.transcript()
	switch a {
	case keys.Palette:
		return m.openPalette(), true
	case keys.Sessions:
		return m.pick(), true
	case keys.New:
		m.enter("")
	case keys.Previous:
		return m.step(-1), true
	case keys.Next:
		return m.step(1), true
	case keys.OpenCall:
		if t.Open() {
			m.focus = choosing
			m.composer.Focus(false)
		}
	case keys.Prompts:
		m.palette = palette.Prompts(m.theme, m.composer.History())
		m.layer = prompts
	case keys.PageUp:
		t.Page(-1)
		return m.older(), true
	case keys.PageDown:
		t.Page(1)
	case keys.Find:
		m.release()
		m.focus, m.finds = finding, 0
		m.composer.Focus(false)
	case keys.Capacity:
		return m.toggleGauge(), true
	case keys.Context:
		return m.toggleScales(), true
	case keys.StepsPanel:
		return m.toggleSteps(), true
	case keys.Rewind:
		return m.rewind(), true
	case keys.Unrewind:
		return m.unrewind(), true
	case keys.Steps, keys.Compact, keys.Trim, keys.Slim, keys.Effort, keys.Restore, keys.Keep, keys.Unkeep, keys.FocusOn, keys.HandOver:
		return m.call(a, ""), true
	case keys.Help:
		m.layer, m.help = help, palette.Help{}
	case keys.Rename:
		if r := m.room(); r != nil {
			m.borrow(naming, r.s.Title)
		}
	case keys.Fork:
		if r := m.room(); r != nil {
			return m.fork(r.s), true
		}
	case keys.Reasoning:
		t.Unfold()
	case keys.ThemeCycle:
		m.themeName = map[string]string{"": "dark", "auto": "dark", "dark": "light", "light": "auto"}[m.themeName]
		m.setTheme()
		return m.say("theme: " + m.themeName), true
	case keys.Suspend:
		return tea.Suspend, true
	case keys.Quit:
		return m.leave(), true
	default:
		return nil, false
	}
	return nil, true
}

func (m *Model) onlyRoom(c session.Command) tea.Cmd {
	if m.room() == nil {
		return nil
	}
	return m.do(c)
}

func (m *Model) openPalette() tea.Cmd {
	m.palette = palette.Commands(m.theme)
	m.layer = commands
	return nil
}

// slash is the palette for who begins to type a command.
func (m *Model) slash() tea.Cmd {
	m.palette = palette.Typed(m.theme)
	m.layer = commands
	return nil
}

// stop is esc: what is open closes first, then what runs stops.
func (m *Model) stop() tea.Cmd {
	if m.composer.Popup() {
		m.composer.ClosePopup()
		return nil
	}
	r := m.room()
	switch {
	case r == nil:
		return nil
	case r.wait != nil && r.wait.Details:
		r.wait.Details = false
		return nil
	case r.s.Live() || r.doing == summarising:
		return m.do(session.Stop{})
	case r.s.PartOf != "":
		return m.goBack()
	case r.s.Status == session.Parked && !r.s.RetryAt.IsZero():
		return m.do(session.Stop{})
	case !r.pane.Following():
		r.pane.Bottom()
	}
	return nil
}

func (m *Model) details() {
	switch r := m.room(); {
	case r == nil:
	case r.wait != nil:
		r.wait.Details = !r.wait.Details
	case r.s.Fault != nil:
		r.pane.Note(strings.Join(status.Evidence(r.s.Fault), "\n"))
		r.pane.Bottom()
	}
}

func (m *Model) copy() tea.Cmd {
	text := m.transcript().Answer()
	if text == "" {
		return m.say("there is no answer to copy yet")
	}
	return tea.Batch(tea.SetClipboard(text), m.say("copied the last answer"))
}

// copyCurl copies the last request for a shell: it is made again out of the log.
func (m *Model) copyCurl() tea.Cmd {
	if m.room() == nil || m.o.Curl == nil {
		return m.say("there is no request to copy yet")
	}
	curl, ctx, id := m.o.Curl, m.ctx, m.current
	return func() tea.Msg {
		line, err := curl(ctx, id)
		if err != nil {
			return didMsg{err: err}
		}
		return tea.Batch(tea.SetClipboard(line), func() tea.Msg { return didMsg{toast: "copied the last request as curl"} })()
	}
}

// step goes to the next running session.
func (m *Model) step(by int) tea.Cmd {
	if r := m.room(); r != nil && r.s.PartOf != "" && by < 0 {
		return m.goBack()
	}
	ids := m.live()
	if len(ids) == 0 {
		return m.say("no session runs")
	}
	at := -1
	for i, id := range ids {
		if id == m.current {
			at = i
		}
	}
	if at < 0 && by < 0 {
		at = 0
	}
	m.enter(ids[((at+by)%len(ids)+len(ids))%len(ids)])
	return nil
}

// layerKey gives a key to what lies over the transcript.
func (m *Model) layerKey(name, text string) tea.Cmd {
	switch m.layer {
	case commands, prompts:
		return m.paletteKey(name, text)
	case help:
		if m.help.Key(name) {
			m.layer = none
		}
	case picking:
		return m.pickKey(name, text)
	case leaving:
		switch name {
		case "p", "enter":
			return m.leaveAll(session.Park{})
		case "s":
			return m.leaveAll(session.Stop{})
		case "esc":
			m.layer = none
		}
	case owned:
		switch name {
		case "t":
			m.layer = none
			return m.open(m.takeID, true)
		case "esc", "enter":
			m.layer = none
		}
	case gauging:
		return m.gaugeKey(name)
	case weighing:
		return m.scalesKey(name)
	case stepping:
		return m.stepsKey(name, text)
	case rewinding:
		return m.rewindKey(name)
	case setup:
		return m.setupKey(name, text)
	case broken:
		if name == "q" || name == "esc" || name == "enter" {
			return tea.Quit
		}
	}
	return nil
}

func (m *Model) paletteKey(name, text string) tea.Cmd {
	if name == "esc" || m.layer == commands && name == "ctrl+p" || m.layer == prompts && name == "ctrl+r" {
		m.layer = none
		return nil
	}
	if !m.palette.Key(name, text) {
		return nil
	}
	it, _ := m.palette.Chosen()
	was := m.layer
	m.layer = none
	if was == prompts {
		m.release()
		m.composer.Set(it.ID)
		return nil
	}
	return m.call(keys.Action(it.ID), m.palette.Rest())
}

func (m *Model) pickKey(name, text string) tea.Cmd {
	verdict := m.picker.Key(name, text)
	s, _ := m.picker.Chosen()
	switch verdict {
	case sessions.Open:
		m.layer = none
		return m.open(s.ID, false)
	case sessions.Close:
		m.layer = none
	case sessions.Query:
		return m.search()
	case sessions.Reload:
		return m.list()
	case sessions.Rename:
		engine, ctx, title := m.engine, m.ctx, m.picker.Name()
		return tea.Sequence(func() tea.Msg { return didMsg{err: engine.Do(ctx, s.ID, session.Rename{Title: title})} }, m.list())
	case sessions.Fork:
		return m.fork(s)
	case sessions.Archive:
		return m.file(s, session.SetArchived{Archived: !s.Archived, Deleted: s.Deleted}, "")
	case sessions.Delete:
		if !s.Deleted.IsZero() {
			return m.file(s, session.SetArchived{Archived: s.Archived}, "")
		}
		return m.remove(s)
	case sessions.Undo:
		if gone, ok := m.picker.Undone(); ok {
			m.picker.Note("taken back")
			return m.file(gone, session.SetArchived{Archived: gone.Archived}, "")
		}
	case sessions.Fresh:
		m.layer = none
		m.enter("")
	}
	return nil
}
