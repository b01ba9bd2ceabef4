package ui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/approval"
	"belay/ui/keys"
	"belay/ui/palette"
)

// key gives a key to whatever has the keyboard.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	if name != "ctrl+c" {
		m.armed, m.toast = time.Time{}, ""
	}
	if keys.Is(name, keys.Leave) {
		return m.interrupt()
	}
	if m.covered() {
		return m.layerKey(name, msg.Text)
	}
	if cmd, took := m.focusKey(msg, name); took {
		return cmd
	}
	if a := keys.Global(name); a != "" {
		if cmd, took := m.act(a); took {
			return cmd
		}
	}
	return m.draftKey(msg, name)
}

// interrupt is ctrl+c: the second one within two seconds leaves.
func (m *Model) interrupt() tea.Cmd {
	now := m.o.Now()
	if m.layer == leaving || m.layer == broken || m.layer == setup || !m.armed.IsZero() && now.Sub(m.armed) < 2*time.Second {
		if m.layer == leaving {
			return m.leaveAll(session.Park{})
		}
		m.armed = time.Time{}
		return m.leave()
	}
	m.armed = now
	m.layer = none
	return m.say("ctrl+c again leaves")
}

// focusKey handles keys of what has the focus on the main screen. The keys
// that work everywhere are not among them.
func (m *Model) focusKey(msg tea.KeyPressMsg, name string) (tea.Cmd, bool) {
	switch m.focus {
	case asked:
		return m.askedKey(name, msg.Text)
	case boxed:
		return m.boxKey(name)
	case choosing:
		return m.chooseKey(name)
	case finding:
		return m.findKey(name, msg.Text)
	case editing, naming, noting, aiming, handing, splitting, shaping, adding:
		switch name {
		case "enter":
			return m.borrowed(), true
		case "esc":
			m.release()
			m.ask()
			if m.scales.back {
				m.scales.back = false
				return m.toggleScales(), true
			}
			if m.plan.back {
				m.openSteps()
				return nil, true
			}
			if m.question.Active() {
				m.question.Again()
				m.focus = asked
				m.composer.Focus(false)
			}
			return nil, true
		}
	}
	return nil, false
}

func (m *Model) askedKey(name, text string) (tea.Cmd, bool) {
	if name == "tab" {
		m.release()
		return nil, true
	}
	switch m.question.Key(name, text) {
	case approval.Answer:
		return m.inOrder(m.current, session.AnswerApproval{Answer: m.question.Reply()}), true
	case approval.Handled:
		return nil, true
	case approval.Early:
		// What was being typed goes on being typed.
		if text != "" {
			m.composer.Type(text)
		}
		return nil, true
	case approval.Edit:
		m.borrow(editing, m.question.Editable())
		return nil, true
	}
	return nil, text != ""
}

// borrowed is enter in a composer that holds something other than the draft.
func (m *Model) borrowed() tea.Cmd {
	text := m.composer.Text()
	back := m.scales.back
	switch m.focus {
	case naming:
		m.release()
		return m.do(session.Rename{Title: text})
	case noting, aiming:
		aimed := m.focus == aiming
		m.release()
		m.scales.back = false
		var cmd tea.Cmd
		if aimed {
			cmd = m.focusOn(text)
		} else if text != "" {
			cmd = m.do(session.PinNote{Text: text})
		}
		if back {
			cmd = tea.Batch(cmd, m.toggleScales())
		}
		return cmd
	case handing:
		r := m.room()
		m.release()
		m.scales.back = false
		if text == "" || r == nil {
			return nil
		}
		return m.handOver(r.s, text)
	case splitting:
		m.release()
		if text == "" {
			return nil
		}
		return m.split(text)
	case shaping, adding:
		return m.wroteStep(text)
	}
	answer, err := m.question.Edited(text)
	if err != nil {
		return m.say(err.Error())
	}
	m.release()
	return m.inOrder(m.current, session.AnswerApproval{Answer: answer})
}

func (m *Model) boxKey(name string) (tea.Cmd, bool) {
	switch name {
	case "r":
		return m.tryNow(), true
	case "p":
		return m.do(session.Park{}), true
	case "i":
		m.details()
		return nil, true
	case "1", "2", "3", "4":
		// In the box the digits are those of the F-keys: 2 is F2.
		if i := strings.Index("234", name); i >= 0 {
			return m.tier(models.Tiers()[i]), true
		}
		return nil, true
	case "tab", "esc":
		m.release()
		return nil, true
	}
	return nil, false
}

func (m *Model) chooseKey(name string) (tea.Cmd, bool) {
	t := m.transcript()
	switch name {
	case "up", "k":
		t.Move(-1)
		return m.older(), true
	case "down", "j":
		t.Move(1)
	case "enter", "space", "ctrl+o":
		t.Open()
	case "esc", "tab":
		m.release()
	default:
		if keys.Global(name) == "" {
			m.release()
		}
		return nil, false
	}
	return nil, true
}

func (m *Model) findKey(name, text string) (tea.Cmd, bool) {
	t := m.transcript()
	switch {
	case name == "esc":
		m.release()
	case name == "enter" || name == "up" || name == "ctrl+f":
		t.FindNext(-1)
	case name == "down":
		t.FindNext(1)
	case name == "backspace":
		if r := []rune(m.find); len(r) > 0 {
			m.find = string(r[:len(r)-1])
			m.finds = t.Find(m.find)
		}
	case text != "":
		m.find += text
		m.finds = t.Find(m.find)
	default:
		return nil, false
	}
	return nil, true
}

// draftKey is a key of the composer.
func (m *Model) draftKey(msg tea.KeyPressMsg, name string) tea.Cmd {
	if m.composer.Popup() && (name == "enter" || name == "tab" || name == "up" || name == "down") {
		m.composer.Key(msg)
		return nil
	}
	empty := m.composer.Empty() && m.focus == writing
	switch {
	case name == "enter":
		return m.send()
	case empty && name == "/":
		return m.slash()
	case empty && keys.Is(name, keys.Help):
		m.layer, m.help = help, palette.Help{}
		return nil
	case empty && keys.Is(name, keys.TakeBack) && m.room() != nil && len(m.room().s.Queue) > 0:
		return m.takeBack()
	case (empty || name == "ctrl+home") && keys.Is(name, keys.Top):
		m.transcript().Top()
		return m.older()
	case (empty || name == "ctrl+end") && keys.Is(name, keys.Bottom):
		m.transcript().Bottom()
		return nil
	case name == "tab":
		return m.tab()
	}
	m.composer.Key(msg)
	m.told = m.told && !m.composer.Empty()
	return m.listFiles()
}

// tab goes into the box that waits for a person, or for a model.
func (m *Model) tab() tea.Cmd {
	switch r := m.room(); {
	case m.question.Active():
		m.question.Again()
		m.focus = asked
		m.composer.Focus(false)
	case r != nil && r.wait != nil:
		m.focus = boxed
		m.composer.Focus(false)
	case m.layer == stepping:
		m.plan.away, m.plan.since = false, time.Time{}
	}
	return nil
}

// listFiles lists what can be mentioned, each time that a mention begins: files
// come and go.
func (m *Model) listFiles() tea.Cmd {
	was := m.mentioning
	m.mentioning = m.composer.Mentioning()
	if was || !m.mentioning || m.o.ListFiles == nil {
		return nil
	}
	var focus []string
	if r := m.room(); r != nil {
		focus = r.s.Focus
	}
	list, ctx := m.o.ListFiles, m.ctx
	return func() tea.Msg {
		files, err := list(ctx, focus)
		if err != nil {
			return didMsg{err: err}
		}
		return filesMsg{files}
	}
}

func (m *Model) paste(text string) tea.Cmd {
	switch {
	case m.layer == setup:
		m.first.paste(text)
	case m.layer == picking:
		return m.layerKey("", text)
	case m.covered():
		if m.layer == stepping {
			m.letGo()
			m.composer.Paste(text)
			return nil
		}
		return m.layerKey("", text)
	case m.focus == finding:
		cmd, _ := m.findKey("", strings.TrimSpace(text))
		return cmd
	case m.focus == asked && m.question.Writing():
		m.question.Key("", text)
	default:
		m.composer.Paste(text)
		return m.listFiles()
	}
	return nil
}

func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	by := 3
	if msg.Button == tea.MouseWheelUp {
		by = -3
	}
	switch m.layer {
	case none, stepping:
		m.transcript().Scroll(by)
		return m.older()
	case rewinding:
		for range max(by, -by) {
			m.back.pane.Key(map[bool]string{true: "up", false: "down"}[by < 0])
		}
	case help:
		m.help.Key(map[bool]string{true: "up", false: "down"}[by < 0])
	}
	return nil
}
