package ui

import (
	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/keys"
)

// action is what a part of the screen asks for. A part knows its own keys, view
// and state; what an action means is decided in Model.perform alone. The set is
// closed, and nil asks for nothing: the key was the part's.
type action interface{ action() }

type (
	// together asks for several things, in this order.
	together []action

	// inSequence asks for several things, each after the one before is done.
	inSequence []action

	// press is a key to the dialog, by a click on its hint.
	press struct{ key string }
	// unhandled passes the key on: to the keys that work everywhere and, from
	// the main screen, to the composer.
	unhandled struct{ leave bool } // leave: the mode ends

	// command asks for what a row of the table of keys does.
	command struct {
		name keys.Action
		text string // what was typed behind its name
	}

	// work runs a command of Bubble Tea.
	work struct{ cmd tea.Cmd }

	message   struct{ text string } // shows words in passing
	note      struct{ text string } // shows words in the transcript
	complaint struct{ err error }   // shows an error, and the way out of it

	// send tells the session in view something, which is started if there is
	// none.
	send struct {
		command session.Command
		inOrder bool // after what was asked for before
	}

	// sendTo tells one session something, or the engine if the id is empty.
	sendTo struct {
		id      session.ID
		command session.Command
		inOrder bool
	}

	// show brings a session into view; the empty id begins a new one.
	show struct {
		id  session.ID
		end bool // scrolled to its end
	}
	// showStep brings the session of a step into view.
	showStep struct {
		id       session.ID
		followed bool // nobody asked for it: the step has begun
	}
	openSession struct {
		id       session.ID
		takeover bool
	}
	fork struct {
		state session.Session
		at    int64 // the last record of the beginning that is copied
	}
	askApproval   struct{}                             // looks for calls that wait for an answer
	countContext  struct{ id session.ID }              // of a session's next request
	returnPrompts struct{ commands []session.Command } // to the composer: nobody took them
	raisePlan     struct{ review bool }                // a plan came up; review: a person has to look at it
	leaveStep     struct{}                             // goes back from a step to its plan
	openDialog    struct{ dialog dialog }
	openRewind    struct { // what going back would do
		step int  // to before a step
		last bool // to before the last message
	}
	wear        struct{ theme string }  // paints the screen in a theme
	closeDialog struct{}                //
	reopen      struct{ dialog dialog } // comes back to what was left for a while; nil: to nothing
	blurPanel   struct{}                // gives the keys of a panel to the main screen

	leaveMode struct{} // gives the keyboard back: to the draft, or to the question that had it
	toDraft   struct{} // gives the keyboard to the draft
	editCall  struct{} // that is asked about
	borrow    struct { // the composer, for a text that is not the draft
		entry entry
		text  string // to begin with
		from  dialog // opened again afterwards
	}
	cancelEntry struct{ from dialog }
	setDraft    struct{ text string }
	typeText    struct { // what was typed belongs to the draft
		text   string
		pasted bool
	}
	readOlder struct{} // the view may have come near the first loaded record

	reconnect struct{ banner, toast string }
	leaveAll  struct{ command session.Command }
	quit      struct{}
)

func (together) action()      {}
func (inSequence) action()    {}
func (unhandled) action()     {}
func (press) action()         {}
func (command) action()       {}
func (work) action()          {}
func (message) action()       {}
func (note) action()          {}
func (complaint) action()     {}
func (send) action()          {}
func (sendTo) action()        {}
func (show) action()          {}
func (showStep) action()      {}
func (openSession) action()   {}
func (fork) action()          {}
func (openRewind) action()    {}
func (askApproval) action()   {}
func (countContext) action()  {}
func (returnPrompts) action() {}
func (raisePlan) action()     {}
func (leaveStep) action()     {}
func (openDialog) action()    {}
func (wear) action()          {}
func (closeDialog) action()   {}
func (reopen) action()        {}
func (blurPanel) action()     {}
func (leaveMode) action()     {}
func (toDraft) action()       {}
func (editCall) action()      {}
func (borrow) action()        {}
func (cancelEntry) action()   {}
func (setDraft) action()      {}
func (typeText) action()      {}
func (readOlder) action()     {}
func (reconnect) action()     {}
func (leaveAll) action()      {}
func (quit) action()          {}
