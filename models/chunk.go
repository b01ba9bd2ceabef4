package models

import "time"

// Chunk is one piece of what happens during a request. The set is closed.
// A Client yields the first group; route adds the second.
type Chunk interface{ chunk() }

// Opened says that the endpoint has answered and the reply begins.
type Opened struct {
	Served     string // the model that really serves, as far as the endpoint says
	RequestID  string // the provider's id of this request, for support
	ResponseID string
}

// TextDelta is the next piece of the model's words.
type TextDelta struct{ Text string }

// ReasoningDelta is the next piece of the model's reasoning summary.
type ReasoningDelta struct{ Text string }

// CallDelta is a piece of a tool call that is still being written. It is for
// showing only: nothing may run before the call's ItemDone.
type CallDelta struct {
	CallID    string
	Name      string
	Arguments string // the new piece
}

// ItemDone is a whole item. Finished items of a failed attempt can be kept.
type ItemDone struct{ Item Item }

// Resumed says that the connection broke and the same reply goes on over
// another one, with what follows the event of that number.
type Resumed struct{ After int64 }

// Finished ends a reply that came to its proper end.
type Finished struct {
	Usage      Usage
	Served     string
	RequestID  string
	ResponseID string
	// WrittenCall is the tool that the model meant to call, where it wrote the
	// call as text and the reply has no other words; empty: it did not.
	WrittenCall string
}

// AttemptStarted says that a request goes out.
type AttemptStarted struct {
	Number, Of int // "attempt 2 of 4"
	Tier       Tier
	Target     Target
}

// Next is what follows a failed attempt.
type Next string

// The moves after a failed attempt.
const (
	NextRetry  Next = "retry"
	NextSwitch Next = "switch"
	NextPark   Next = "park"
	NextStop   Next = "stop"
)

// AttemptFailed says how an attempt ended and what follows.
type AttemptFailed struct {
	Number, Of int
	Tier       Tier
	Target     Target
	Fault      *Fault
	Next       Next
	Delay      time.Duration // before the next attempt
	Cost       float64       // of what the fault says was used, in US dollars
}

// Waiting says that nothing is sent until a time, and who comes then.
type Waiting struct {
	Number, Of int // of the attempt that follows
	Until      time.Time
	Target     Target    // who is asked then
	Fault      *Fault    // why
	Then       Target    // who takes over if it goes on failing like this; zero: nobody
	GiveUpAt   time.Time // when a connection that stays lost is waited out no more; zero: never
}

// Switched says that another target takes over.
type Switched struct {
	From, To         Target
	FromTier, ToTier Tier
	Fault            *Fault        // why; nil when the user asked for it, for the way back, and for pictures
	Failback         bool          // To is the preferred target again
	Pictures         bool          // To sees the pictures of the request, and From does not
	FailbackDelay    time.Duration // how long From is left alone before it is tried again
}

func (Opened) chunk()         {}
func (TextDelta) chunk()      {}
func (ReasoningDelta) chunk() {}
func (CallDelta) chunk()      {}
func (ItemDone) chunk()       {}
func (Resumed) chunk()        {}
func (Finished) chunk()       {}
func (AttemptStarted) chunk() {}
func (AttemptFailed) chunk()  {}
func (Waiting) chunk()        {}
func (Switched) chunk()       {}
