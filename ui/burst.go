package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/ui/keys"
)

// burstGap is less than any hand leaves between two keys. A terminal that does not mark
// a paste sends it as keys, without gaps.
const burstGap = 15 * time.Millisecond

// burst tells the line ends of a paste from an enter that was pressed. An enter right
// behind another key is held for a moment: with more to come it is a line end.
type burst struct {
	at   time.Time // of the last key that types
	held tea.KeyPressMsg
	wait bool // for what comes after held
}

type heldEnterMsg struct{}

// key takes note of a key of the draft. It gives the enter that was held and turned out
// to be pressed, or to end a line; and whether this key is held now.
func (b *burst) key(msg tea.KeyPressMsg, now time.Time) (before *tea.KeyPressMsg, lineEnd, hold bool) {
	gap := now.Sub(b.at)
	sends := keys.Is(msg.String(), keys.Send)
	if b.wait {
		b.wait = false
		before, lineEnd = &b.held, (msg.Text != "" || sends) && gap < burstGap
	}
	// A clock that stands still tells nothing.
	hold = sends && !b.at.IsZero() && gap > 0 && gap < burstGap
	if hold {
		b.held, b.wait = msg, true
	}
	if msg.Text != "" || sends {
		b.at = now
	}
	return before, lineEnd, hold
}

// release gives the enter that was held, when nothing came after it.
func (b *burst) release() (tea.KeyPressMsg, bool) {
	held := b.wait
	b.wait = false
	return b.held, held
}

// draftKey gives a key to the draft.
func (m *Model) draftKey(msg tea.KeyPressMsg) tea.Cmd {
	writing := m.focus.mode == nil
	if !writing || m.composer.Popup() || m.composer.Borrowed() {
		return m.perform(m.draft.key(msg, writing))
	}
	var cmds []tea.Cmd
	held, lineEnd, hold := m.burst.key(msg, m.options.Now())
	switch {
	case held == nil:
	case lineEnd:
		m.composer.Type("\n")
	default:
		cmds = append(cmds, m.perform(m.draft.key(*held, writing)))
	}
	if hold {
		cmds = append(cmds, tea.Tick(2*burstGap, func(time.Time) tea.Msg { return heldEnterMsg{} }))
	} else {
		cmds = append(cmds, m.perform(m.draft.key(msg, writing)))
	}
	return tea.Batch(cmds...)
}
