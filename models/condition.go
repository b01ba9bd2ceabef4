package models

import "time"

// State is how a target is doing.
type State string

// The states of a target.
const (
	Ready    State = "has room"     // its last attempt went well, not long ago
	Unknown  State = "unknown"      // nobody has asked it lately
	Failing  State = "failing"      // its last attempt failed; the next tells
	Trying   State = "trying again" // a request waits for its next attempt
	Resting  State = "resting"      // its circuit is open
	HalfOpen State = "untried"      // rested; the next request tells
	Unusable State = "out"          // unusable: no key, unknown name, limit reached
	Disabled State = "set aside"    // by the user
)

// Open reports whether any request may go to a target in that state.
func (s State) Open() bool { return s == Ready || s == Unknown || s == Failing }

// Condition is a target and its state, as the screen shows it.
type Condition struct {
	Tier   Tier      `json:"tier"`
	Target Target    `json:"target"`
	Short  string    `json:"short"` // a name of a few letters
	State  State     `json:"state"`
	Until  time.Time `json:"until,omitzero"` // when a Trying or Resting target is asked again, or one that was left
	Fault  *Fault    `json:"fault,omitempty"`
	// Answered says that the target's endpoint has answered some request before, as
	// this or another belay has seen.
	Answered bool `json:"answered"`
	// Window is how many tokens fit, as the endpoint stated when it refused a request;
	// 0: it has not.
	Window int64 `json:"stated_window,omitempty"`
	// Answers says that the next request of the session goes here.
	Answers bool `json:"answers,omitempty"`
	// StandIn answers in the place of this target, which the session would rather
	// ask; zero: nobody does.
	StandIn Target `json:"stand_in,omitzero"`
}
