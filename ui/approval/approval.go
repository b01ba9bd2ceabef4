// Package approval decides how a person is asked about a tool call, and which
// key presses count as an answer.
package approval

import (
	"strings"
	"time"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/theme"
)

// Guard is how long keys are not taken as an answer after the question
// appeared and after each key that was pressed meanwhile: what a person was
// typing anyway must never approve anything.
const Guard = 700 * time.Millisecond

// Verdict is what a key means for the question.
type Verdict int

// The verdicts.
const (
	Nothing Verdict = iota // the key is not for the question
	Early                  // within the guard
	Handled                // the pane changed
	Answer                 // Reply holds the answer
	Edit                   // the call is to be edited
	Open                   // the call is to be shown over the whole screen
)

// Pane is the question about one call.
type Pane struct {
	theme *theme.Theme
	now   func() time.Time
	diff  func(th *theme.Theme, diff string, width int, sideBySide bool) []string

	asked        session.Approval
	pending      int         // questions in all
	guardedSince time.Time   // the guard runs from here
	reading      reading     // how far the question has been read
	confirming   keys.Action // that has to be pressed again; empty: none
	refusing     bool        // the reason of a refusal is being written
	reason       string      // so far
	reply        session.Answer
	shownHints   string // as they were drawn last
	bodyKey      bodyKey
	body         []string
}

// New makes the pane; diff lays out the change of an edit.
func New(th *theme.Theme, now func() time.Time, diff func(*theme.Theme, string, int, bool) []string) *Pane {
	return &Pane{theme: th, now: now, diff: diff}
}

// SetTheme changes the colours.
func (p *Pane) SetTheme(th *theme.Theme) { p.theme = th }

// Ask shows the first of the open questions. The guard begins anew when that is
// another one.
func (p *Pane) Ask(open []session.Approval) {
	p.pending = len(open)
	if len(open) == 0 {
		p.asked = session.Approval{}
		return
	}
	if open[0].CallID == p.asked.CallID {
		return
	}
	p.asked, p.guardedSince, p.body = open[0], p.now(), nil
	p.confirming = ""
	p.refusing = false
	p.reason = ""
	p.reading = reading{}
}

// RestartGuard restarts the guard: the question has come into view again.
func (p *Pane) RestartGuard() { p.guardedSince = p.now() }

// Guarded reports whether the question has appeared too lately for an answer.
func (p *Pane) Guarded() bool { return p.now().Sub(p.guardedSince) < Guard }

// Active reports whether there is a question.
func (p *Pane) Active() bool { return p.asked.CallID != "" }

// Writing reports whether words for the model are being written.
func (p *Pane) Writing() bool { return p.refusing }

// Asked is the call in question.
func (p *Pane) Asked() session.Approval { return p.asked }

// Reply is the answer after the verdict Answer.
func (p *Pane) Reply() session.Answer { return p.reply }

// Key gives the verdict on a key. Text is what the key would type.
func (p *Pane) Key(name, text string) Verdict {
	if p.refusing {
		return p.refusalKey(name, text)
	}
	if p.Guarded() {
		if text != "" || keys.Approval.Action(name) == keys.Accept {
			p.guardedSince = p.now()
			return Early
		}
		return Nothing
	}
	act := keys.Approval.Action(name)
	if p.reading.key(act) {
		return Handled
	}
	confirmed := p.confirming == act
	before := p.confirming
	p.confirming = ""
	switch act {
	case keys.Yes:
		return p.unless(!confirmed && !p.reading.whole, act, session.Answer{Allow: true})
	case keys.Always:
		if p.asked.Always == "" {
			return Handled
		}
		return p.unless(!confirmed, act, session.Answer{Allow: true, Always: true})
	case keys.Outside:
		if !p.asked.Outside {
			return Handled
		}
		return p.unless(!confirmed, act, session.Answer{Allow: true, Outside: true})
	case keys.Happened:
		if p.asked.UnknownOutcome {
			return p.answer(session.Answer{Outcome: true})
		}
	case keys.No:
		if p.asked.UnknownOutcome {
			return p.answer(session.Answer{})
		}
		p.refusing = true
		return Handled
	case keys.Edit:
		return Edit
	case keys.FullView:
		return Open
	case keys.Close:
		if before != "" {
			return Handled
		}
	}
	return Nothing
}

// unless answers, or first asks for the key again.
func (p *Pane) unless(again bool, act keys.Action, a session.Answer) Verdict {
	if again {
		p.confirming = act
		return Handled
	}
	return p.answer(a)
}

func (p *Pane) refusalKey(name, text string) Verdict {
	switch keys.Refusal.Action(name) {
	case keys.Accept:
		return p.answer(session.Answer{Message: strings.TrimSpace(p.reason)})
	case keys.Close:
		p.refusing, p.reason = false, ""
		p.guardedSince = p.now()
	case keys.DeleteBack:
		if r := []rune(p.reason); len(r) > 0 {
			p.reason = string(r[:len(r)-1])
		}
	default:
		if text == "" {
			return Nothing
		}
		p.reason += strings.ReplaceAll(theme.Sanitize(text), "\n", " ")
	}
	return Handled
}

func (p *Pane) answer(a session.Answer) Verdict {
	a.CallID = p.asked.CallID
	p.reply = a
	p.refusing = false
	p.reason = ""
	p.confirming = ""
	p.guardedSince = p.now()
	return Answer
}
