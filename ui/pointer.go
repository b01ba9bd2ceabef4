package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/ui/approval"
	"belay/ui/keys"
	"belay/ui/status"
	"belay/ui/theme"
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

// waitPlace is where the box that explains a wait stands.
type waitPlace struct {
	rowSpan
	width int
	shown status.Wait
}

// surface is what lies under the pointer.
type surface struct {
	dialog    dialog // nil: none is open
	over      bool   // the dialog lies over the transcript
	pane      *transcript.Pane
	width     int // of the transcript
	theme     *theme.Theme
	question  rowSpan
	approvals *approval.Pane
	focus     *focus
}

type dragMsg struct{}

// pointer is the mouse: how often its button was pressed, and what is being marked.
type pointer struct {
	now func() time.Time

	// Where things stand, as they were drawn last.
	transcript place
	dialog     place
	dialogRows []string
	writing    rowSpan
	wait       waitPlace

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
		return p.wheel(msg, on)
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
	if on.dialog != nil && (on.over || msg.X >= on.width && p.dialog.holds(msg.Y)) {
		return p.choose(msg, on.dialog)
	}
	switch {
	case p.transcript.holds(msg.Y):
		p.mark(msg, on.pane, p.transcript)
	case on.question.holds(msg.Y):
		return on.answer(msg)
	case p.wait.holds(msg.Y):
		return p.onWait(msg, on)
	case p.writing.holds(msg.Y):
		return p.onDraft(msg, on)
	}
	return nil
}

// onDraft puts the cursor where the click is, and gives the keys to the draft.
func (p *pointer) onDraft(msg tea.MouseClickMsg, on surface) action {
	row := msg.Y - p.writing.from
	if _, finding := on.focus.finder(); finding || on.focus.composer.ClickPopup(row) {
		return nil
	}
	on.focus.composer.Place(msg.X, row)
	if _, entry := on.focus.mode.(entryMode); entry || on.focus.mode == nil {
		return nil
	}
	return toDraft{}
}

// onWait is the key whose hint is clicked; elsewhere the box gets the keys.
func (p *pointer) onWait(msg tea.MouseClickMsg, on surface) action {
	a := p.wait.shown.HintAt(on.theme, p.wait.width, p.wait.to-p.wait.from, msg.X, msg.Y-p.wait.from)
	switch {
	case a == keys.Blur:
		return leaveMode{}
	case a != "":
		return command{name: a}
	case on.focus.mode == nil:
		return command{name: keys.Focus}
	}
	return nil
}

// choose chooses an item of a list; a click on the chosen one is enter.
func (p *pointer) choose(msg tea.MouseClickMsg, d dialog) action {
	if panel, ok := d.(*stepsPanel); ok && panel.blurred {
		return command{name: keys.StepsPanel}
	}
	if key := hintAt(p.dialogRows, msg.X-p.dialog.left, msg.Y-p.dialog.from); key != "" {
		return press{key}
	}
	list, ok := d.(lister)
	if !ok {
		return nil
	}
	items, enter := list.list()
	switch by, ok := items.ItemAt(msg.Y - p.dialog.from); {
	case !ok || msg.X < p.dialog.left:
	case by == 0:
		return d.key(enter, "")
	default:
		items.Move(by)
		return previewed(d)
	}
	return nil
}

// previewed shows what has come under the cursor of a list, where the list does that.
func previewed(d dialog) action {
	if shows, ok := d.(previewer); ok {
		return shows.preview()
	}
	return nil
}

// answer gives the keys to a question that has them not. To one that has them, a click
// on a hint is what its key is, with all that guards that.
func (on surface) answer(msg tea.MouseClickMsg) action {
	mode, focused := on.focus.mode.(approvalMode)
	if !focused {
		return command{name: keys.Focus}
	}
	if hint := on.approvals.HintAt(msg.X); hint != "" && msg.Y == on.question.to-2 {
		return mode.click(keys.Approval.Press(hint))
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
func (p *pointer) wheel(msg tea.MouseWheelMsg, on surface) action {
	lines := wheelLines
	if msg.Button == tea.MouseWheelUp {
		lines = -lines
	}
	beside := !on.over && msg.X < on.width
	list, isList := on.dialog.(lister)
	switch d, ok := on.dialog.(scroller); {
	case ok && !beside:
		d.scroll(lines)
	case isList && !beside:
		items, _ := list.list()
		items.Move(lines / wheelLines)
		return previewed(on.dialog)
	case on.dialog == nil && p.writing.holds(msg.Y) && on.focus.composer.Wheel(msg.Y-p.writing.from, lines):
	case on.dialog == nil && on.question.holds(msg.Y) && on.approvals.Scroll(lines):
	case beside:
		on.pane.Scroll(lines)
		return readOlder{}
	}
	return nil
}
