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

// press gives a key to the draft, or holds it for a moment. Writing says that it is the
// draft that has the keys.
func (d *draft) press(msg tea.KeyPressMsg, writing bool, now time.Time) action {
	if !writing || d.composer.Popup() || d.composer.Borrowed() {
		return d.key(msg, writing)
	}
	var actions together
	held, lineEnd, hold := d.burst.key(msg, now)
	switch {
	case held == nil:
	case lineEnd:
		d.composer.Type("\n")
	default:
		actions = append(actions, d.key(*held, writing))
	}
	if hold {
		return append(actions, work{tea.Tick(2*burstGap, func(time.Time) tea.Msg { return heldEnterMsg{} })})
	}
	return append(actions, d.key(msg, writing))
}

// release presses the enter that was held, when nothing came after it.
func (d *draft) release(writing bool) action {
	if enter, held := d.burst.release(); held {
		return d.key(enter, writing)
	}
	return nil
}
