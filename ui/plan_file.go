package ui

import (
	"belay/session"
	"belay/ui/keys"
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
	again := keys.PlanPanel.Label(keys.EditPlan) + " opens it again"
	written, err := f.parse(text)
	if err != nil {
		return nil, together{
			note{"the plan was not changed: " + err.Error() + "; " + again + " as you left it"},
			message{err.Error() + ": " + again},
		}
	}
	list, err := plan.ReplaceSteps(written)
	if err != nil {
		return nil, message{err.Error() + ": " + again}
	}
	f.rejected = false
	return list, nil
}
