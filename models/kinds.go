package models

import "net/http"

// Kind is the class of a failure. Each kind has its own remedy.
type Kind string

// The kinds of failures. What follows each stands in the table below; how a
// failure is recognised, in package diagnose.
const (
	KindCapacity   Kind = "capacity"   // the model has no capacity
	KindRate       Kind = "rate"       // the account's own limit a minute
	KindUsage      Kind = "usage"      // the account's allowance, until it resets
	KindBilling    Kind = "billing"    // the plan or its balance
	KindAuth       Kind = "auth"       // key or permission
	KindModel      Kind = "model"      // the endpoint does not know the name
	KindRequest    Kind = "request"    // refused as it stands
	KindSize       Kind = "size"       // too long for the window
	KindServer     Kind = "server"     // broke at the provider
	KindGateway    Kind = "gateway"    // something else answered in the model's place
	KindNetwork    Kind = "network"    // no connection
	KindAbsent     Kind = "absent"     // nothing runs at that local address
	KindStream     Kind = "stream"     // the reply broke off or fell silent
	KindMalformed  Kind = "malformed"  // the model wrote what its server cannot read
	KindIncomplete Kind = "incomplete" // the reply was truncated or filtered
	KindCancelled  Kind = "cancelled"  // the user's own doing
)

// KindPolicy is everything that follows from the kind of a failure alone.
type KindPolicy struct {
	Text      string      // what happened, in a few words for people
	Scope     Scope       // what it speaks about, unless the evidence is more exact
	Retry     RetryRule   // whether and how the same target is asked again
	Uncounted bool        // its retries use up neither the attempts nor the waiting time of a request
	Switch    SwitchRule  // when another target may be asked
	Other     OtherRule   // which other target
	Park      ParkRule    // what happens once the attempts are used up
	Breaker   BreakerRule // what it says against the target
	Ledger    bool        // the record counts it for or against the target
	Lost      bool        // it never arrived: it was not answered, and says nothing about the target
	Final     bool        // any other request would fail in the same way now: a probe can end
	Cause     Cause       // what the doctor concludes from it
	Exit      int         // exit code of a run that ends with it
	Wire      WireError   // how the gateway tells it; zero: as trouble of a server that passes
}

// WireError is a failure in the terms of the API.
type WireError struct {
	Status int  // HTTP; 0: 503
	Theirs bool // a status below 500 that the endpoint gave stands instead
	Type   string
	Code   string // unless the endpoint gave one
	Fixed  bool   // Code, whatever the endpoint gave
}

// RetryRule says whether the same target is asked again, and how. A delay that
// the server states comes before any of ours.
type RetryRule uint8

// The rules for asking the same target again.
const (
	RetryNever    RetryRule = iota
	RetryBackoff            // after a growing delay
	RetryFixed              // after a short fixed delay
	RetryShorter            // at once, with a shorter request, as long as there is one
	RetryAdjusted           // at once, as the request is now written otherwise
)

// SwitchRule says when another target may be asked.
type SwitchRule uint8

// The rules for asking another target.
const (
	SwitchNever  SwitchRule = iota
	SwitchAfter             // after as many failures as the settings say
	SwitchSoon              // after two failures at most
	SwitchAtOnce            // after the first
	SwitchAlways            // the same, even where switching by itself is off
)

// OtherRule says which other target can help.
type OtherRule uint8

// The rules for choosing another target.
const (
	OtherAny      OtherRule = iota
	OtherProvider           // only one with an allowance of its own
	OtherLarger             // only one with a larger window
)

// ParkRule says whether a request is kept for later once its attempts are used up.
type ParkRule uint8

// The rules for parking.
const (
	ParkNever   ParkRule = iota
	ParkBackoff          // it passes by itself: tried again on the schedule of parked turns
	ParkReset            // the same, but once and exactly at the reset if that is known
)

// BreakerRule says what a failure does to its target's circuit and health.
type BreakerRule uint8

// The rules of the circuit breaker.
const (
	BreakerIgnore  BreakerRule = iota // says nothing about the target
	BreakerPause                      // rests as long as the server stated
	BreakerHealth                     // the same, and lowers its health
	BreakerTrip                       // the same, and opens the circuit after several in a row
	BreakerAbsent                     // rests for a minute: nothing runs there
	BreakerUsedUp                     // out of use until the allowance returns
	BreakerRefused                    // out of use until the key, the plan or the settings change
)

// Cause is what the doctor concludes from a failure.
type Cause string

// The doctor's conclusions.
const (
	CauseAccount  Cause = "account"
	CauseProxy    Cause = "proxy"
	CauseEndpoint Cause = "endpoint"
	CauseName     Cause = "name"
	CauseBilling  Cause = "billing"
	CauseLimit    Cause = "limit"
	CauseCapacity Cause = "capacity"
	CauseRequest  Cause = "request" // none of these: the failure speaks for itself
)

// The exit codes of runs that end with a failure; from 64 on as sysexits.h has them.
const (
	ExitFailed      = 1
	ExitUnreachable = 69
	ExitCapacity    = 75
	ExitAccount     = 77
	ExitSettings    = 78
	ExitInterrupted = 130
)

// wireInvalid is the API's type of requests that are refused as they stand.
const wireInvalid = "invalid_request_error"

type kindRow struct {
	kind   Kind
	policy KindPolicy
}

var kindTable = [...]kindRow{
	{KindCapacity, KindPolicy{
		Text: "no room at the model", Scope: ScopeModel,
		Retry: RetryBackoff, Switch: SwitchAfter, Park: ParkBackoff,
		Breaker: BreakerTrip, Ledger: true, Cause: CauseCapacity, Exit: ExitCapacity,
		Wire: WireError{Code: "server_is_overloaded", Fixed: true},
	}},
	{KindRate, KindPolicy{
		Text: "your rate limit", Scope: ScopeAccount,
		Retry: RetryBackoff, Switch: SwitchAfter, Other: OtherProvider, Park: ParkBackoff,
		Breaker: BreakerPause, Ledger: true, Cause: CauseLimit, Exit: ExitCapacity,
		Wire: WireError{Type: "rate_limit_error", Code: "rate_limit_exceeded"},
	}},
	{KindUsage, KindPolicy{
		Text: "your usage limit", Scope: ScopeAccount,
		Switch: SwitchAtOnce, Other: OtherProvider, Park: ParkReset,
		Breaker: BreakerUsedUp, Final: true, Cause: CauseLimit, Exit: ExitCapacity,
		Wire: WireError{Status: http.StatusTooManyRequests, Type: "insufficient_quota", Code: "insufficient_quota", Fixed: true},
	}},
	{KindBilling, KindPolicy{
		Text: "billing", Scope: ScopeAccount,
		Breaker: BreakerRefused, Final: true, Cause: CauseBilling, Exit: ExitAccount,
		Wire: WireError{Status: http.StatusTooManyRequests, Type: "insufficient_quota", Code: "insufficient_quota", Fixed: true},
	}},
	{KindAuth, KindPolicy{
		Text: "key refused", Scope: ScopeAccount,
		Breaker: BreakerRefused, Final: true, Cause: CauseAccount, Exit: ExitAccount,
		Wire: WireError{Status: http.StatusUnauthorized, Theirs: true, Type: wireInvalid, Code: "invalid_api_key"},
	}},
	{KindModel, KindPolicy{
		Text: "unknown model", Scope: ScopeModel,
		Breaker: BreakerRefused, Final: true, Cause: CauseName, Exit: ExitSettings,
		Wire: WireError{Status: http.StatusNotFound, Type: wireInvalid, Code: "model_not_found"},
	}},
	{KindRequest, KindPolicy{
		Text: "request refused", Scope: ScopeRequest,
		Cause: CauseRequest, Exit: ExitSettings,
		Wire: WireError{Status: http.StatusBadRequest, Theirs: true, Type: wireInvalid},
	}},
	{KindSize, KindPolicy{
		Text: "too long for the model", Scope: ScopeRequest,
		Retry: RetryShorter, Switch: SwitchAtOnce, Other: OtherLarger,
		Cause: CauseRequest, Exit: ExitFailed,
		Wire: WireError{Status: http.StatusBadRequest, Type: wireInvalid, Code: "context_length_exceeded", Fixed: true},
	}},
	{KindServer, KindPolicy{
		Text: "broke at the provider", Scope: ScopeProvider,
		Retry: RetryBackoff, Switch: SwitchSoon, Park: ParkBackoff,
		Breaker: BreakerHealth, Ledger: true, Cause: CauseRequest, Exit: ExitFailed,
	}},
	{KindGateway, KindPolicy{
		Text: "something else answered", Scope: ScopeNetwork,
		Retry: RetryFixed, Park: ParkBackoff,
		Breaker: BreakerPause, Lost: true, Cause: CauseProxy, Exit: ExitUnreachable,
	}},
	{KindNetwork, KindPolicy{
		Text: "no connection", Scope: ScopeNetwork,
		Retry: RetryFixed, Uncounted: true, Park: ParkBackoff,
		Final: true, Lost: true, Cause: CauseEndpoint, Exit: ExitUnreachable,
	}},
	{KindAbsent, KindPolicy{
		Text: "nothing runs there", Scope: ScopeLocal,
		Switch: SwitchAlways, Park: ParkBackoff,
		Breaker: BreakerAbsent, Final: true, Lost: true, Cause: CauseEndpoint, Exit: ExitUnreachable,
	}},
	{KindStream, KindPolicy{
		Text: "the reply broke off", Scope: ScopeModel,
		Retry: RetryBackoff, Switch: SwitchSoon, Park: ParkBackoff,
		Breaker: BreakerHealth, Ledger: true, Cause: CauseRequest, Exit: ExitFailed,
	}},
	{KindMalformed, KindPolicy{
		Text: "the model wrote a broken call", Scope: ScopeModel,
		Retry: RetryBackoff, Switch: SwitchSoon, Park: ParkBackoff,
		Breaker: BreakerHealth, Ledger: true, Cause: CauseRequest, Exit: ExitFailed,
	}},
	{KindIncomplete, KindPolicy{
		Text: "the reply was cut short", Scope: ScopeRequest,
		Cause: CauseRequest, Exit: ExitFailed,
	}},
	{KindCancelled, KindPolicy{
		Text: "stopped", Scope: ScopeRequest,
		Cause: CauseRequest, Exit: ExitInterrupted,
	}},
}

// Kinds lists every kind of failure.
func Kinds() []Kind {
	kinds := make([]Kind, len(kindTable))
	for i := range kindTable {
		kinds[i] = kindTable[i].kind
	}
	return kinds
}

// Policy is what follows from the kind. One that a newer version has stored is
// shown by its name and otherwise like a failure that nothing can be done about.
func (k Kind) Policy() KindPolicy {
	for i := range kindTable {
		if kindTable[i].kind == k {
			return kindTable[i].policy
		}
	}
	return KindPolicy{Text: string(k), Cause: CauseRequest, Exit: ExitFailed}
}
