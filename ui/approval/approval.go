// Package approval decides how a person is asked about a tool call, and which
// key presses count as an answer.
package approval

import (
	"encoding/json"
	"fmt"
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
)

// Pane is the question about one call.
type Pane struct {
	theme *theme.Theme
	now   func() time.Time
	diff  func(th *theme.Theme, diff string, width int, sideBySide bool) []string

	asked        session.Approval
	pending      int       // questions in all
	guardedSince time.Time // the guard runs from here
	offset       int       // lines of the question that are scrolled away
	confirming   bool      // the scope of "always" is being confirmed
	leaving      bool      // that it runs outside the sandbox is being confirmed
	refusing     bool      // the reason of a refusal is being written
	reason       string    // so far
	reply        session.Answer
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
	p.asked, p.guardedSince = open[0], p.now()
	p.confirming, p.leaving = false, false
	p.refusing = false
	p.reason = ""
	p.offset = 0
}

// RestartGuard restarts the guard: the question has come into view again.
func (p *Pane) RestartGuard() { p.guardedSince = p.now() }

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
	if p.now().Sub(p.guardedSince) < Guard {
		if text != "" || keys.Approval.Action(name) == keys.Accept {
			p.guardedSince = p.now()
			return Early
		}
		return Nothing
	}
	confirm, leave := p.confirming, p.leaving
	p.confirming, p.leaving = false, false
	switch keys.Approval.Action(name) {
	case keys.Yes:
		return p.answer(session.Answer{Allow: true})
	case keys.Always:
		if p.asked.Always == "" {
			return Handled
		}
		if confirm {
			return p.answer(session.Answer{Allow: true, Always: true})
		}
		p.confirming = true
		return Handled
	case keys.Outside:
		if p.asked.Outside && leave {
			return p.answer(session.Answer{Allow: true, Outside: true})
		}
		p.leaving = p.asked.Outside
		return Handled
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
	case keys.Down:
		p.offset++
		return Handled
	case keys.Up:
		p.offset = max(p.offset-1, 0)
		return Handled
	case keys.Close:
		if confirm || leave {
			return Handled
		}
	}
	return Nothing
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
	p.confirming, p.leaving = false, false
	p.guardedSince = p.now()
	return Answer
}

// commandArg is the argument that is all there is to a call of a command.
const commandArg = "command"

// Editable is the part of the call that a person edits: the command of a call
// that is only a command, else all arguments.
func (p *Pane) Editable() string {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(p.asked.Args), &args) == nil {
		var command string
		if json.Unmarshal(args[commandArg], &command) == nil && command != "" {
			return command
		}
		if pretty, err := json.MarshalIndent(args, "", "  "); err == nil {
			return string(pretty)
		}
	}
	return p.asked.Args
}

// Edited makes the answer for the edited part. It is an error if that is not
// what the tool can read.
func (p *Pane) Edited(text string) (session.Answer, error) {
	answer := session.Answer{CallID: p.asked.CallID, Allow: true}
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(p.asked.Args), &args) == nil {
		var command string
		if json.Unmarshal(args[commandArg], &command) == nil && command != "" {
			raw, err := json.Marshal(text)
			if err != nil {
				return answer, fmt.Errorf("edit the call: %w", err)
			}
			args[commandArg] = raw
			whole, err := json.Marshal(args)
			answer.Args = string(whole)
			return answer, err
		}
	}
	if !json.Valid([]byte(text)) {
		return answer, fmt.Errorf("that is not JSON: look for a missing quote or comma")
	}
	answer.Args = text
	return answer, nil
}

// View gives the question, at most height rows of width cells.
func (p *Pane) View(width, height int) []string {
	th, asked := p.theme, p.asked
	inner := width - 6
	body := p.body(inner, width >= 140)
	room, airy := max(height-3, 1), height >= 10
	if airy {
		room--
	}
	if asked.Reason != "" {
		room = max(room-1, 1)
	}
	if asked.Reach != "" {
		room = max(room-1, 1)
	}
	p.offset = max(0, min(p.offset, len(body)-room))
	hidden := len(body) - room - p.offset
	if len(body) > room {
		body = body[p.offset : p.offset+room]
	}
	lines := append([]string(nil), body...)
	if asked.Reason != "" {
		reason := theme.Line(asked.Reason)
		if !asked.UnknownOutcome {
			reason = "asks because " + reason
		}
		lines = append(lines, th.Dim.Paint(theme.Cut(reason, inner)))
	}
	if asked.Reach != "" {
		lines = append(lines, th.Dim.Paint(theme.Cut("it reaches "+theme.Line(asked.Reach), inner)))
	}
	if airy {
		lines = append(lines, "")
	}
	lines = append(lines, p.hints(inner, hidden))
	tool := theme.Line(asked.Tool)
	question := "allow " + tool + "?"
	switch {
	case p.pending > 1:
		question = fmt.Sprintf("1 of %d  allow %s?", p.pending, tool)
	case asked.UnknownOutcome:
		question = "unknown outcome: " + tool
	}
	box := th.Box(th.Warn.Paint(question)+" "+theme.Line(asked.Title), lines, width-2, th.Warn)
	for i := range box {
		box[i] = " " + box[i]
	}
	return box
}

func (p *Pane) body(width int, besides bool) []string {
	detail := p.asked.Preview
	// A command may begin like a diff, in which lines are left out.
	if p.asked.Class == session.Write && (strings.HasPrefix(detail, "---") || strings.HasPrefix(detail, "@@")) {
		return p.diff(p.theme, detail, width, besides)
	}
	if detail == "" {
		detail = p.asked.Args
	}
	if p.asked.Output != "" {
		detail += "\n\nit had said until then:\n" + p.asked.Output
	}
	var out []string
	for _, l := range strings.Split(strings.TrimRight(theme.Visible(detail), "\n"), "\n") {
		out = append(out, theme.Hard(l, width)...)
	}
	return out
}

func (p *Pane) hints(width, hidden int) string {
	th := p.theme
	hint := keys.Approval.Hint
	if p.refusing {
		ways := "  " + keys.Refusal.Label(keys.Accept) + " refuse   " + keys.Refusal.Label(keys.Close) + " back"
		return theme.Cut("no, because: "+p.reason+th.Accent.Paint("▏")+th.Dim.Paint(ways), width)
	}
	if p.confirming {
		scope := theme.Cut(theme.Line(p.asked.Always), max(width-30, 10))
		ways := th.Keys(hint("yes, always", keys.Always), hint("back", keys.Close))
		return th.Warn.Paint("always: ") + scope + "   " + ways
	}
	if p.leaving {
		ways := th.Keys(hint("yes, outside", keys.Outside), hint("back", keys.Close))
		warning := "outside: it can do all that you can"
		if theme.Width(warning)+theme.Width(ways)+3 > width {
			warning = "with nothing around it?"
		}
		return th.Bad.Paint(warning) + "   " + ways
	}
	yes, no, edit := hint("yes", keys.Yes), hint("no", keys.No), hint("edit", keys.Edit)
	var hints [][2]string
	switch {
	case p.asked.UnknownOutcome:
		hints = [][2]string{
			hint("run it again", keys.Yes), hint("it happened", keys.Happened), hint("tell the model", keys.No),
		}
	case p.asked.Always == "":
		hints = [][2]string{yes, no, edit}
	default:
		hints = [][2]string{yes, hint("always", keys.Always), no, edit}
	}
	outside := ""
	if p.asked.Outside {
		outside = "   " + th.Bad.Paint(keys.Approval.Label(keys.Outside)+" outside")
	}
	answers := th.Keys(hints...) + outside
	var more [][2]string
	if hidden > 0 {
		more = append(more, hint(theme.Plural(hidden, "line")+" more", keys.Down))
	}
	more = append(more, hint("write", keys.Blur))
	for _, other := range more {
		if with := answers + "   " + th.Keys(other); theme.Width(with) <= width {
			answers = with
		}
	}
	return theme.Cut(answers, width)
}
