package models

import (
	"cmp"
	"fmt"
	"time"
)

// Scope is what a failure says something about.
type Scope string

// The scopes of failures.
const (
	ScopeRequest  Scope = "request"
	ScopeModel    Scope = "model"
	ScopeAccount  Scope = "account"
	ScopeProvider Scope = "provider"
	ScopeNetwork  Scope = "network"
	ScopeLocal    Scope = "local"
)

// Phase is how far the reply had come.
type Phase string

// The phases of a reply.
const (
	BeforeHeaders Phase = "before headers"
	BeforeEvent   Phase = "before first event"
	InReasoning   Phase = "in reasoning"
	InText        Phase = "in text"
	InArguments   Phase = "in tool arguments"
	BetweenItems  Phase = "between items"
	AfterLastItem Phase = "after the last item"
)

// Contact is how far the connection came of an attempt that got no answer at all.
type Contact string

// The ends of a connection without an answer.
const (
	ContactFailed Contact = "failed" // there was none: its name, address, port or certificate is refused
	ContactClosed Contact = "closed" // it was accepted, and closed without a word
)

// Fault is a failed attempt: what it is, where it broke and the evidence.
// A field that nobody reported is empty; nothing in it is guessed.
type Fault struct {
	Kind  Kind  `json:"kind"`
	Scope Scope `json:"scope,omitempty"`
	Phase Phase `json:"phase,omitempty"`

	Target      Target `json:"target,omitzero"`
	ServedModel string `json:"served_model,omitempty"`

	Contact  Contact `json:"contact,omitempty"`  // empty: there was an answer, or nobody knows
	Unproven bool    `json:"unproven,omitempty"` // the endpoint has never answered: a wrong setting is likely

	Status    int    `json:"status,omitempty"` // HTTP
	Code      string `json:"code,omitempty"`
	Type      string `json:"type,omitempty"`
	Param     string `json:"param,omitempty"`
	Message   string `json:"message,omitempty"` // the server's own words
	Raw       string `json:"raw,omitempty"`     // the server's reply, bounded and without secrets
	RequestID string `json:"request_id,omitempty"`

	WindowLimit   int64 `json:"window_limit,omitempty"`   // tokens that fit, as the server stated; 0: it did not
	RequestTokens int64 `json:"request_tokens,omitempty"` // tokens that the server counted in the request; 0: unknown

	Delayed     bool          `json:"delayed,omitempty"`      // the server stated a delay
	RetryAfter  time.Duration `json:"retry_after,omitempty"`  // that delay; may be 0 when a stated date has passed
	ResetAt     time.Time     `json:"reset_at,omitzero"`      // when an allowance returns
	ShouldRetry *bool         `json:"should_retry,omitempty"` // the server's x-should-retry, which overrides the kind
	Bytes       int64         `json:"bytes,omitempty"`        // received
	Events      int64         `json:"events,omitempty"`       // decoded
	Elapsed     time.Duration `json:"elapsed,omitempty"`      // since the request went out
	Hint        string        `json:"hint,omitempty"`         // what a person can do
	Nearest     []string      `json:"nearest,omitempty"`      // names the endpoint does know
	Adjusted    string        `json:"adjusted,omitempty"`     // how the next request to the target is written, for people
	PathInDoubt bool          `json:"-"`                      // nothing was found: the path's fault, or the name's
	Torn        []string      `json:"torn,omitempty"`         // tools whose calls an incomplete reply did not finish
	Usage       Usage         `json:"usage,omitzero"`         // as far as the endpoint had stated it
	Err         error         `json:"-"`                      // the cause inside this program, if there is one
}

// Error gives kind, place and the server's words in one line.
func (f *Fault) Error() string {
	words := cmp.Or(f.Message, f.Code, f.Type)
	if words == "" && f.Err != nil {
		words = f.Err.Error()
	}
	if words == "" && f.Status != 0 {
		words = fmt.Sprintf("HTTP status %d", f.Status)
	}
	if f.Target != (Target{}) {
		return fmt.Sprintf("%s at %s: %s", f.Kind, f.Target, cmp.Or(words, "unknown reason"))
	}
	return fmt.Sprintf("%s: %s", f.Kind, cmp.Or(words, "unknown reason"))
}

// Text says in a few words for people what the failure is.
func (f *Fault) Text() string {
	if f.Kind == KindAuth && f.Status == 0 && f.Phase == BeforeHeaders {
		return "no key" // nothing was sent
	}
	return f.Kind.Policy().Text
}

// AtLengthLimit says whether the reply was cut by its length limit, in which case
// what was said stands and can be continued.
func (f *Fault) AtLengthLimit() bool {
	return f.Kind == KindIncomplete && f.Code == "max_output_tokens"
}

// Unwrap gives the cause inside this program.
func (f *Fault) Unwrap() error { return f.Err }
