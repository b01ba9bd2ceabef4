package ui

import (
	"belay/session"
)

// What commands bring back.
type (
	connectedMsg struct {
		branch  string
		engine  Engine
		library Library
		setup   *Setup
		unheld  string // what Options.Unheld says
		open    bool
		err     error
	}
	// openedMsg brings a session: a new one, one that was opened or one that
	// was read again.
	openedMsg struct {
		id      session.ID // that was asked for; empty: a new one
		state   session.Session
		records []session.Record // the end of its log
		err     error
		unasked bool // nobody asked to see it: it stays out of view
		ahead   bool // it is still being opened
	}
	pageMsg struct {
		id      session.ID
		records []session.Record
		err     error
	}
	didMsg struct {
		err    error
		queued bool   // it was a job of the queue
		toast  string // words to show when it went well

		untaken session.Command // goes back to the composer, as there was an error
		begins  session.Command // begins a session
	}
	copiedPictureMsg struct { // the picture in the clipboard
		file string
		err  error
	}
	listMsg struct {
		owners map[session.ID]session.Owner // the sessions of other belays
		list   []session.Session
		err    error
	}
	offerMsg struct{ list []session.Session }
	hitsMsg  struct {
		query string
		hits  []session.Hit
	}
	filesMsg   struct{ files []string }
	promptsMsg struct{ prompts []string }
	shellMsg   struct { // one of belay's own commands is over
		command string
		output  string
		err     error
	}
	tickMsg     struct{}
	toastOffMsg struct{ text string }
)
