package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/meter"
)

// scales is the context panel, and how heavy sessions are by belay's own count.
type scales struct {
	pane    meter.Pane
	loading session.ID
	again   session.ID // something changed while one was being weighed
	back    bool       // the panel is open again when the composer is given back
}

// weightMsg brings what the next request of a session would be made of.
type weightMsg struct {
	id   session.ID
	view session.ContextUsage
	err  error
}

// toggleScales opens or closes the context panel.
func (m *Model) toggleScales() tea.Cmd {
	if m.layer == weighing {
		m.layer = none
		return nil
	}
	if m.o.Weight == nil {
		return nil
	}
	if m.room() == nil {
		return m.say("nothing is in the context yet")
	}
	m.release()
	m.layer = weighing
	m.scales.pane.Clear()
	return m.weigh(m.current)
}

// weigh asks what a session's next request would be made of, one at a time.
func (m *Model) weigh(id session.ID) tea.Cmd {
	if m.o.Weight == nil || m.rooms[id] == nil {
		return nil
	}
	if m.scales.loading != "" {
		m.scales.again = id
		return nil
	}
	m.scales.loading = id
	ctx, load := m.ctx, m.o.Weight
	return func() tea.Msg {
		view, err := load(ctx, id)
		return weightMsg{id, view, err}
	}
}

func (m *Model) weighed(msg weightMsg) tea.Cmd {
	m.scales.loading = ""
	shown := m.layer == weighing && msg.id == m.current
	if r := m.rooms[msg.id]; r != nil && msg.err == nil {
		r.weight = msg.view
		if shown {
			m.scales.pane.Set(msg.view, r.s)
		}
	}
	if id := m.scales.again; id != "" {
		m.scales.again = ""
		return m.weigh(id)
	}
	if shown && msg.err != nil {
		m.layer = none
		return m.complain(msg.err)
	}
	return nil
}

// reweigh weighs a session again after records that changed what it weighs, if
// anybody sees it: the panel, or the status line while no provider has counted.
func (m *Model) reweigh(id session.ID, part []session.Record) tea.Cmd {
	r := m.rooms[id]
	for _, rec := range part {
		switch e := rec.Event.(type) {
		case session.ContextMeasured:
			r.weight = e.Usage
		case session.Noted: // the panel may lie over it
			if m.layer == weighing && id == m.current {
				return m.say(e.Text)
			}
		case session.Pruned, session.Restored, session.Compacted, session.TurnStarted, session.TurnEnded:
			if r.s.ContextTokens == 0 || m.layer == weighing && id == m.current {
				return m.weigh(id)
			}
		case session.NotePinned, session.ReplyEnded, session.ToolEnded, session.TargetPinned, session.TierChosen:
			if m.layer == weighing && id == m.current {
				return m.weigh(id)
			}
		}
	}
	return nil
}

// scalesKey gives a key to the context panel. Keys that work everywhere go on
// working.
func (m *Model) scalesKey(name string) tea.Cmd {
	switch name {
	case "esc":
		m.layer = none
	case "enter":
		return m.call(keys.Compact, "")
	case "t":
		return m.call(keys.Trim, "")
	case "r":
		return m.call(keys.Restore, "")
	case "s":
		return m.call(keys.Slim, "")
	case "p":
		m.layer, m.scales.back = none, true
		return m.call(keys.Keep, "")
	case "f":
		if r := m.room(); r != nil {
			m.layer, m.scales.back = none, true
			m.borrow(aiming, strings.Join(r.s.Focus, " "))
		}
	case "h":
		m.layer, m.scales.back = none, true
		return m.call(keys.HandOver, "")
	default:
		if a := keys.Global(name); a != "" {
			before := m.current
			cmd, _ := m.act(a)
			if m.current != before && m.layer == weighing { // another session, another weight
				m.scales.pane.Clear()
				cmd = tea.Batch(cmd, m.weigh(m.current))
			}
			return cmd
		}
	}
	return nil
}

// heavy reports whether the draft makes a request that is worth a second
// thought, once for a draft. What is worth a word only is said in passing, once
// for a session.
func (m *Model) heavy(words string, bytes int) (halt bool, said tea.Cmd) {
	if m.o.Warn == nil || m.told {
		return false, nil
	}
	var w session.ContextUsage
	r := m.room()
	if r != nil {
		if r.s.Live() || r.s.Status == session.Parked {
			return false, nil // it goes into the queue
		}
		if w = r.weight; r.s.ContextTokens > 0 {
			w.Counted = r.s.ContextTokens
		}
	}
	m.hints = m.hints[:0]
	for _, h := range w.Hints(words, int64(bytes)/bytesPerToken, m.streams(), m.o.Warn()) {
		switch {
		case h.Confirm:
			m.hints = append(m.hints, h)
		case r != nil && !r.hinted[h.Kind]:
			if r.hinted == nil {
				r.hinted = map[session.HintKind]bool{}
			}
			r.hinted[h.Kind] = true
			said = m.say(h.Text)
		}
	}
	return len(m.hints) > 0, said
}

// streams counts the other sessions whose model speaks now, at the provider that
// this one would ask.
func (m *Model) streams() int {
	n, provider := 0, ""
	if r := m.room(); r != nil {
		provider = r.weight.Target.Provider
	}
	for id, r := range m.rooms {
		if id != m.current && r.s.Status == session.Running && r.wait == nil && (provider == "" || r.s.Target.Provider == provider) {
			n++
		}
	}
	return n
}

// bytesPerToken is about right for a draft, which nobody has counted yet.
const bytesPerToken = 4
