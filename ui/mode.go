package ui

import (
	"strings"

	"belay/session"
	"belay/ui/approval"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
	"belay/ui/transcript"
)

// mode is a part of the main screen that takes keys before the draft does. There
// is none while a person writes the draft.
type mode interface {
	// key takes a key by its name, and the text that it types. Pasted text has
	// no name.
	key(name, text string) action
	leave() // undoes what the mode shows
}

// approvalMode answers the question about a call.
type approvalMode struct{ pane *approval.Pane }

func (m approvalMode) key(name, text string) action {
	if keys.Approval.Action(name) == keys.Blur {
		return leaveMode{}
	}
	switch m.pane.Key(name, text) {
	case approval.Answer:
		return send{command: session.AnswerApproval{Answer: m.pane.Reply()}, inOrder: true}
	case approval.Handled:
		return nil
	case approval.Early:
		if text != "" { // what was being typed goes on being typed
			return together{toDraft{}, typeText{text: text}}
		}
		return nil
	case approval.Edit:
		return editCall{}
	case approval.Open:
		return openDialog{wholeCall(m.pane)}
	}
	if text != "" {
		return nil
	}
	return unhandled{}
}

// click is a key that was pressed with the mouse: within the guard it types nothing.
func (m approvalMode) click(name string) action {
	if m.pane.Guarded() {
		m.pane.RestartGuard()
		return nil
	}
	text := ""
	if len(name) == 1 {
		text = name
	}
	return m.key(name, text)
}

func (m approvalMode) leave() {}

// wholeCall shows what is asked about over the whole screen.
func wholeCall(pane *approval.Pane) *pager {
	page := &pager{
		title: theme.Line(pane.Asked().Tool + " " + pane.Asked().Title), draw: pane.Body, atEnd: pane.Read,
	}
	if pane.Change() {
		page.change = pane.Asked().Preview
	}
	return page
}

// retryBox is the box that explains a wait, where letters work.
type retryBox struct{}

func (retryBox) key(name, _ string) action {
	switch a := keys.RetryBox.Action(name); a {
	case "":
		return unhandled{}
	case keys.Blur:
		return leaveMode{}
	case keys.Ignore:
		return nil
	default:
		return command{name: a}
	}
}

func (retryBox) leave() {}

// callChooser walks through the messages, code and calls of a transcript, opens and
// copies them.
type callChooser struct {
	pane *transcript.Pane
	copy func(text string) action
}

func (m callChooser) key(name, _ string) action {
	switch keys.CallChooser.Action(name) {
	case keys.Up:
		m.pane.Move(-1)
		return readOlder{}
	case keys.Down:
		m.pane.Move(1)
	case keys.PageUp:
		for range chooserPage {
			m.pane.Move(-1)
		}
		return readOlder{}
	case keys.PageDown:
		for range chooserPage {
			m.pane.Move(1)
		}
	case keys.Top:
		m.pane.ChooseEnd(false)
		return readOlder{}
	case keys.Bottom:
		m.pane.ChooseEnd(true)
	case keys.FindPrevious:
		m.pane.FindAgain(-1)
	case keys.FindNext:
		m.pane.FindAgain(1)
	case keys.OpenCall:
		m.pane.Open()
	case keys.Copy:
		return m.copy(m.pane.Chosen())
	case keys.Blur:
		return leaveMode{}
	default:
		return unhandled{leave: keys.Global(name) == ""}
	}
	return nil
}

// chooserPage is how many entries the page keys go on by.
const chooserPage = 6

func (m callChooser) leave() { m.pane.Leave() }

// finder looks for words in a transcript.
type finder struct {
	pane   *transcript.Pane
	query  string
	places int // entries in which they stand
}

func (m *finder) key(name, text string) action {
	switch keys.Finder.Action(name) {
	case keys.Close:
		return leaveMode{}
	case keys.FindPrevious:
		m.pane.FindNext(-1)
	case keys.FindNext:
		m.pane.FindNext(1)
	case keys.DeleteBack:
		if r := []rune(m.query); len(r) > 0 {
			m.find(string(r[:len(r)-1]))
		}
	default:
		if name == "" {
			text = strings.TrimSpace(text)
		}
		if text == "" {
			return unhandled{}
		}
		m.find(m.query + text)
	}
	return nil
}

func (m *finder) find(query string) {
	m.query = query
	m.places = m.pane.Find(query)
}

func (m *finder) leave() { m.pane.Find("") }

func finderLead() string { return locale.T(" find › ") }

// line stands in the place of the composer.
func (m *finder) line(area frame) string {
	places := theme.Plural(m.places, "place")
	if m.query == "" {
		places = locale.T("type what to find")
	}
	hint := keys.Finder.Hint
	left := area.theme.Accent.Paint(finderLead()) + m.shown(area)
	right := area.theme.Dim.Paint(places+"   ") +
		area.theme.Keys(hint("next", keys.FindPrevious, keys.FindNext), hint("close", keys.Close)) + " "
	return theme.Sides(left, right, area.width)
}

func (m *finder) shown(f frame) string { return theme.Cut(m.query, f.width-40) }

// column is where the cursor stands in the line.
func (m *finder) column(f frame) int { return theme.Width(finderLead()) + theme.Width(m.shown(f)) }
