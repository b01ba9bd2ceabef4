package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/ui/approval"
	"belay/ui/transcript"
)

// markable is a text on the screen of which a part can be marked with the mouse. Rows
// are those of its view.
type markable interface {
	Press(column, row, presses int)
	Drag(column, row int)
	DragBeyond(column, lines int)
	Drop() string
	Deselect()
}

// The measures of a mouse.
const (
	pressAgain = 400 * time.Millisecond // within which a press belongs to the one before
	dragPace   = 40 * time.Millisecond  // between the lines that a drag beyond the text scrolls
	wheelLines = 3                      // that a turn of the wheel scrolls
	maxDrag    = 6                      // lines that one beat of a drag scrolls at most
)

// place is where a text stands on the screen.
type place struct {
	rowSpan
	left int
}

// surface is what lies under the pointer.
type surface struct {
	dialog    dialog // nil: none is open
	over      bool   // the dialog lies over the transcript
	pane      *transcript.Pane
	width     int // of the transcript
	question  rowSpan
	approvals *approval.Pane
}

type dragMsg struct{}

// pointer is the mouse: how often its button was pressed, and what is being marked.
type pointer struct {
	now func() time.Time

	transcript place // where it stands, as it was drawn last

	pressed time.Time
	x, y    int // of the press
	presses int // in the same place, one after the other

	marked  markable // the text that has a mark; nil: none
	at      place    // where it stands
	held    bool     // the button is down
	column  int      // where the pointer is
	beyond  int      // lines that a beat scrolls; 0: it is within the text
	ticking bool
}

// take gives what the mouse does to what lies under it. The text of a mark that has
// ended is to be copied.
func (p *pointer) take(msg tea.MouseMsg, on surface, copied func(text string) action) action {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		return wheel(msg, on)
	case tea.MouseClickMsg:
		p.clear()
		if msg.Button == tea.MouseLeft {
			return p.press(msg, on)
		}
	case tea.MouseMotionMsg:
		return work{p.move(msg)}
	case tea.MouseReleaseMsg:
		text, clicked := p.release()
		switch {
		case text != "":
			return copied(text)
		case clicked && p.marked == nil && !on.over:
			on.pane.Click(p.y - p.transcript.from)
		}
	}
	return nil
}

// press begins to mark text.
func (p *pointer) press(msg tea.MouseClickMsg, on surface) action {
	if page, ok := on.dialog.(*pager); ok {
		if text, at := page.marks(); text != nil && at.holds(msg.Y) {
			p.mark(msg, text, at)
		}
		return nil
	}
	if !on.over && msg.X < on.width && p.transcript.holds(msg.Y) {
		p.mark(msg, on.pane, p.transcript)
	}
	return nil
}

// mark begins to mark text that stands in a place of the screen.
func (p *pointer) mark(msg tea.MouseClickMsg, text markable, at place) {
	now := p.now()
	again := now.Sub(p.pressed) < pressAgain && msg.Y == p.y && max(msg.X-p.x, p.x-msg.X) <= 1
	if !again {
		p.presses = 0
	}
	p.presses++
	p.pressed, p.x, p.y = now, msg.X, msg.Y
	p.marked, p.at, p.held, p.beyond = text, at, true, 0
	text.Press(msg.X-at.left, msg.Y-at.from, p.presses)
}

// move takes the end of the mark along; beyond the text it scrolls.
func (p *pointer) move(msg tea.MouseMotionMsg) tea.Cmd {
	if !p.held {
		return nil
	}
	p.column = msg.X - p.at.left
	switch {
	case msg.Y < p.at.from:
		p.beyond = max(msg.Y-p.at.from, -maxDrag)
	case msg.Y >= p.at.to:
		p.beyond = min(msg.Y-p.at.to+1, maxDrag)
	default:
		p.beyond = 0
		p.marked.Drag(p.column, msg.Y-p.at.from)
		return nil
	}
	if p.ticking {
		return nil
	}
	return p.beat()
}

// beat scrolls one step, as long as the button is held beyond the text.
func (p *pointer) beat() tea.Cmd {
	p.ticking = p.held && p.beyond != 0
	if !p.ticking {
		return nil
	}
	p.marked.DragBeyond(p.column, p.beyond)
	return tea.Tick(dragPace, func(time.Time) tea.Msg { return dragMsg{} })
}

// release ends the marking. It gives the text; without one, whether the button was
// pressed once in one place.
func (p *pointer) release() (text string, clicked bool) {
	if !p.held {
		return "", false
	}
	p.held, p.beyond = false, 0
	if text = p.marked.Drop(); text == "" {
		p.marked = nil
	}
	return text, text == "" && p.presses == 1
}

// clear takes the mark away.
func (p *pointer) clear() {
	if p.marked != nil {
		p.marked.Deselect()
		p.marked, p.held = nil, false
	}
}

// wheel scrolls what lies under the pointer.
func wheel(msg tea.MouseWheelMsg, on surface) action {
	lines := wheelLines
	if msg.Button == tea.MouseWheelUp {
		lines = -lines
	}
	beside := !on.over && msg.X < on.width
	switch d, ok := on.dialog.(scroller); {
	case ok && !beside:
		d.scroll(lines)
	case on.dialog == nil && on.question.holds(msg.Y) && on.approvals.Scroll(lines):
	case beside:
		on.pane.Scroll(lines)
		return readOlder{}
	}
	return nil
}
