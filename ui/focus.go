package ui

import (
	"belay/ui/approval"
	"belay/ui/composer"
)

// focus says which part of the main screen has the keys: a mode or, without one,
// the draft in the composer.
type focus struct {
	mode      mode // nil: a person writes the draft
	composer  *composer.Pane
	approvals *approval.Pane
	views     *sessionViews

	answers bool // the question about a call has the keys, or gets them back
	late    bool // the question came while a search or an entry had the keys
}

// set gives the keys to a mode, or back to the draft, which is what it was.
func (f *focus) set(next mode) {
	if f.mode != nil {
		f.mode.leave()
	}
	f.mode = next
	_, entry := next.(entryMode)
	f.composer.Focus(next == nil || entry)
}

// toDraft gives the keys to the draft, whatever waits for an answer.
func (f *focus) toDraft() {
	f.answers, f.late = false, false
	f.set(nil)
}

// leave ends the mode. What was done in between gives the keys back to the question
// that had them.
func (f *focus) leave() {
	_, answering := f.mode.(approvalMode)
	back, late := f.answers && !answering, f.late
	f.toDraft()
	if f.approvals.Active() && (back || late && f.composer.Empty()) {
		f.toApproval()
	}
}

// borrow uses the composer for a text that is not the draft.
func (f *focus) borrow(b borrow) {
	f.set(nil)
	f.composer.Borrow(b.text)
	f.set(entryMode{b.entry, f.composer, b.from})
}

// finder is the search for words, if that has the keys.
func (f *focus) finder() (*finder, bool) {
	found, ok := f.mode.(*finder)
	return found, ok
}

// ask brings the question of the session in view up, or takes it away.
func (f *focus) ask() {
	before := f.approvals.Asked().CallID
	if v := f.views.shown(); v != nil {
		f.approvals.Ask(v.state.PendingApprovals)
	} else {
		f.approvals.Ask(nil)
	}
	if !f.approvals.Active() {
		f.answers = false
		if f.answering() {
			f.set(nil)
		}
		return
	}
	if f.approvals.Asked().CallID == before {
		return
	}
	// Letters belong to the draft once it has one: the question waits for its key.
	switch _, finding := f.finder(); {
	case finding || f.composer.Borrowed():
		f.answers, f.late = false, true
	case !f.composer.Empty():
		if f.answers = false; f.answering() {
			f.set(nil)
		}
	default:
		f.answers = true
		f.set(approvalMode{f.approvals})
	}
}

// answering reports whether a person answers the question about a call, or edits
// the call.
func (f *focus) answering() bool {
	_, ok := f.mode.(approvalMode)
	return ok || f.editingCall()
}

func (f *focus) editingCall() bool {
	mode, ok := f.mode.(entryMode)
	if !ok {
		return false
	}
	_, ok = mode.entry.(callEntry)
	return ok
}

// toApproval goes to the question about a call, which comes into view anew.
func (f *focus) toApproval() {
	f.approvals.RestartGuard()
	f.answers = true
	f.set(approvalMode{f.approvals})
}

// toBox goes into the box that waits for a person, or for a model, if there is
// one.
func (f *focus) toBox() bool {
	v := f.views.shown()
	switch {
	case f.approvals.Active():
		f.toApproval()
	case v != nil && v.wait != nil:
		f.set(retryBox{})
	default:
		return false
	}
	return true
}

// leaveEndedWait gives the keys back when the box that has them is gone.
func (f *focus) leaveEndedWait() {
	if v := f.views.shown(); f.mode == (retryBox{}) && (v == nil || v.wait == nil) {
		f.set(nil)
	}
}

// undisturbed reports whether a person only looks on: not writing, not reading
// further up.
func (f *focus) undisturbed() bool {
	switch f.mode.(type) {
	case nil, approvalMode, retryBox:
		return f.composer.Empty() && f.views.transcript().Following()
	}
	return false
}
