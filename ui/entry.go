package ui

import (
	"strings"

	"belay/session"
	"belay/ui/approval"
	"belay/ui/composer"
	"belay/ui/keys"
	"belay/ui/locale"
)

// entry is a text that is written in the composer and is not the draft.
type entry interface {
	// title says in the rule over the composer what is asked for, and ways how
	// to end it.
	title() string
	ways() string
	// accept takes the text. The dialog, if there is one, is where it was asked
	// for.
	accept(text string, from dialog) action
}

// entryMode is the mode in which the composer holds an entry. The draft waits
// meanwhile.
type entryMode struct {
	entry
	composer *composer.Pane
	from     dialog // opened again afterwards; nil: none
}

func (m entryMode) key(name, _ string) action {
	switch keys.TextEntry.Action(name) {
	case keys.Accept:
		return m.accept(m.composer.Text(), m.from)
	case keys.Close:
		return cancelEntry{m.from}
	}
	return unhandled{}
}

func (m entryMode) leave() { m.composer.GiveBack() }

// entryWays says what the keys of an entry do: enter pins it, esc goes back.
func entryWays(accept string) string {
	return locale.T(": %s %s, %s goes back", keys.TextEntry.Label(keys.Accept), accept, keys.TextEntry.Label(keys.Close))
}

// renameEntry is a new title for the session in view.
type renameEntry struct{}

func (renameEntry) title() string { return locale.T("a new title") }
func (renameEntry) ways() string {
	return locale.T(": %s, or %s", keys.TextEntry.Label(keys.Accept), keys.TextEntry.Label(keys.Close))
}
func (renameEntry) accept(text string, _ dialog) action {
	return together{leaveMode{}, send{command: session.Rename{Title: text}}}
}

// noteEntry is a note that stands in every request.
type noteEntry struct{}

func (noteEntry) title() string { return locale.T("a note for every request") }
func (noteEntry) ways() string  { return entryWays(locale.T("pins it")) }
func (noteEntry) accept(text string, from dialog) action {
	if text == "" {
		return together{leaveMode{}, reopen{from}}
	}
	return together{leaveMode{}, send{command: session.PinNote{Text: text}}, reopen{from}}
}

// focusEntry is the folders or patterns that searches keep to.
type focusEntry struct{}

func (focusEntry) title() string { return locale.T("folders or patterns to work in") }
func (focusEntry) ways() string  { return renameEntry{}.ways() + locale.T("; none looks everywhere") }
func (focusEntry) accept(text string, from dialog) action {
	return together{leaveMode{}, send{command: session.Focus{Paths: strings.Fields(text)}}, reopen{from}}
}

// handoffEntry is the task of a new session that goes on with this one's work.
type handoffEntry struct{}

func (handoffEntry) title() string { return locale.T("what the new session is to do") }
func (handoffEntry) ways() string  { return entryWays(locale.T("begins it")) }
func (handoffEntry) accept(text string, _ dialog) action {
	if text == "" {
		return leaveMode{}
	}
	return together{leaveMode{}, command{keys.Handoff, text}}
}

// taskEntry is a large task that a model cuts into steps.
type taskEntry struct{}

func (taskEntry) title() string { return locale.T("the task to cut into steps") }
func (taskEntry) ways() string  { return entryWays(locale.T("begins")) }
func (taskEntry) accept(text string, _ dialog) action {
	if text == "" {
		return leaveMode{}
	}
	return together{leaveMode{}, command{keys.Steps, text}}
}

// callEntry is a call that is edited before it runs.
type callEntry struct{ pane *approval.Pane }

func (callEntry) title() string { return locale.T("editing the call") }
func (callEntry) ways() string  { return entryWays(locale.T("runs it")) }
func (e callEntry) accept(text string, _ dialog) action {
	answer, err := e.pane.Edited(text)
	if err != nil {
		return message{err.Error()}
	}
	return together{leaveMode{}, send{command: session.AnswerApproval{Answer: answer}, inOrder: true}}
}

// wrote takes the call back from the person's editor. What was not changed is asked
// about as before.
func (e editedCall) wrote(text string, pane *approval.Pane) action {
	text = strings.TrimSuffix(text, "\n")
	switch {
	case pane.Asked().CallID != e.id:
		return message{"the call is not asked about any more: nothing was run"}
	case text == strings.TrimSuffix(e.text, "\n"):
		pane.RestartGuard()
		return message{"not changed"}
	case strings.TrimSpace(text) == "":
		return message{"the call is empty: nothing was run"}
	}
	if strings.HasSuffix(e.text, "\n") {
		text += "\n" // the content of a file ends as it did
	}
	answer, err := pane.Edited(text)
	if err != nil {
		return message{err.Error()}
	}
	return send{command: session.AnswerApproval{Answer: answer}, inOrder: true}
}

// stepWays are the ways to end the text of a step, which has several lines.
func stepWays() string {
	return locale.T(": %s takes it, %s new line, %s goes back", keys.TextEntry.Label(keys.Accept),
		keys.Label(keys.NewLine), keys.TextEntry.Label(keys.Close))
}

// editStepEntry is a step of the plan.
type editStepEntry struct {
	panel  *stepsPanel
	number int
}

func (e editStepEntry) title() string { return locale.T("step %d", e.number) }
func (editStepEntry) ways() string    { return stepWays() }
func (e editStepEntry) accept(text string, from dialog) action {
	plan := e.panel.plan()
	switch {
	case plan == nil:
		return leaveMode{}
	case e.number < 1 || e.number > len(plan.Steps):
		return together{leaveMode{}, message{"that step is not there any more"}}
	}
	step, err := plan.Steps[e.number-1].Rewrite(text)
	if err != nil {
		return message{err.Error()}
	}
	list, err := plan.ChangeStep(e.number, func(s *session.Step) { *s = step })
	if err != nil {
		return message{editError(keys.EditStep, err)}
	}
	return together{leaveMode{}, reopen{from}, e.panel.save(list, e.number)}
}

// addStepEntry is a new step behind one of the plan.
type addStepEntry struct {
	panel *stepsPanel
	after int
}

func (addStepEntry) title() string { return locale.T("a new step") }
func (addStepEntry) ways() string  { return stepWays() }
func (e addStepEntry) accept(text string, from dialog) action {
	plan := e.panel.plan()
	if plan == nil {
		return leaveMode{}
	}
	step, err := session.Step{StepProgress: session.StepProgress{State: session.StepPending}}.Rewrite(text)
	if err != nil {
		return message{err.Error()}
	}
	list, err := plan.InsertStep(e.after, step)
	if err != nil {
		return message{err.Error()}
	}
	return together{leaveMode{}, reopen{from}, e.panel.save(list, e.after+1)}
}
