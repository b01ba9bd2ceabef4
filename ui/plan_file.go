package ui

import (
	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
)

// planFile is the whole plan as a file in the person's editor.
type planFile struct {
	editor externalEditor
	format func(steps []session.Step) string         // may be nil
	parse  func(text string) ([]session.Step, error) // may be nil

	text     string // that went to the editor, or came back
	rejected bool   // it came back and could not be read: it is opened again as it was left
}

// open opens the plan in the editor.
func (f *planFile) open(list []session.Step) action {
	if f.format == nil || f.parse == nil || !f.editor.usable() {
		return message{"the plan cannot be opened as a file here"}
	}
	if !f.rejected {
		f.text = f.format(list)
	}
	return work{f.editor.open(f.text, editedPlan{})}
}

// changed reports whether somebody wrote something into the file.
func (f *planFile) changed(text string) bool { return text != f.text || f.rejected }

// read takes the plan that was written. What could not be read is kept, and the
// action says why.
func (f *planFile) read(text string, plan *session.Plan) ([]session.Step, action) {
	f.text, f.rejected = text, true
	again := locale.T("%s opens it again", keys.PlanPanel.Label(keys.EditPlan))
	written, err := f.parse(text)
	if err != nil {
		return nil, together{
			note{locale.T("the plan was not changed: %s; %s as you left it", locale.Said(err.Error()), again)},
			message{locale.Said(err.Error()) + ": " + again},
		}
	}
	list, err := plan.ReplaceSteps(written)
	if err != nil {
		return nil, message{locale.Said(err.Error()) + ": " + again}
	}
	f.rejected = false
	return list, nil
}
