package session

import (
	"time"

	"belay/models"
)

// The events below are not durable: they are published and forgotten.

// TextDelta is the next piece of the model's words; not durable.
type TextDelta struct{ Text string }

// ReasoningDelta is the next piece of the reasoning summary; not durable.
type ReasoningDelta struct{ Text string }

// CallDelta shows that arguments of a tool call are being written; not durable.
type CallDelta struct {
	CallID string
	Name   string
	Bytes  int // of arguments so far
}

// ToolOutput is the next piece of a running command's output; not durable.
type ToolOutput struct {
	CallID string
	Text   string
}

// AttemptStarted says that a request goes out; not durable.
type AttemptStarted struct {
	Number int
	Of     int
	Tier   models.Tier
	Target models.Target
}

// ReplyOpened says that the endpoint has answered, and who serves; not durable.
type ReplyOpened struct {
	Target    models.Target
	Served    string
	RequestID string
}

// ReplyResumed says that the connection broke and the same reply goes on over
// another one; not durable.
type ReplyResumed struct{ Target models.Target }

// Waiting says that nothing is sent until a time; not durable.
type Waiting struct {
	Number   int
	Of       int
	Until    time.Time
	Target   models.Target
	Fault    *models.Fault
	Then     models.Target // who takes over if it goes on failing like this; zero: nobody
	GiveUpAt time.Time     // when a connection that stays lost is waited out no more; zero: never
}

// TiersChanged says that the state of some target may be another one now,
// whichever belay noticed it; not durable, and of no session.
type TiersChanged struct{}

// Alerted says that something in the record of requests stands out; not
// durable, and of no session.
type Alerted struct {
	Text    string
	Screen  bool // to be shown
	Desktop bool // to be told through the terminal's notifications
}

func (TiersChanged) event()   {}
func (Alerted) event()        {}
func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (CallDelta) event()      {}
func (ToolOutput) event()     {}
func (AttemptStarted) event() {}
func (ReplyOpened) event()    {}
func (ReplyResumed) event()   {}
func (Waiting) event()        {}
