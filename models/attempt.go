package models

import "time"

// Attempt is one request that was sent to a model, for the record: what it
// was, who answered and what it cost. The names of its first sixteen fields are
// a contract with those who read the record; a field that nobody knows is zero.
type Attempt struct {
	RequestID     string    `json:"request_id"`     // the provider's
	ProjectID     string    `json:"project_id"`     // the workspace
	TeamID        string    `json:"team_id"`        // from the settings
	Environment   string    `json:"environment"`    // what made it: screen, run, demo
	Model         string    `json:"model"`          // as it was asked for
	Endpoint      string    `json:"endpoint"`       // the host
	Stream        bool      `json:"stream"`         //
	InputTokens   int64     `json:"input_tokens"`   // as the provider counted; after a failure our own estimate
	OutputTokens  int64     `json:"output_tokens"`  //
	Concurrency   int       `json:"concurrency"`    // of our requests at the provider while it ran, itself included
	RetryCount    int       `json:"retry_count"`    // attempts at the same request before it
	FallbackModel string    `json:"fallback_model"` // provider/model that took over after it; empty: nobody
	StatusCode    int       `json:"status_code"`    // HTTP; 0: there was no answer
	ErrorCode     string    `json:"error_code"`     // the provider's, else the kind of the failure
	LatencyMS     int64     `json:"latency_ms"`     // from sending to the end
	CreatedAt     time.Time `json:"created_at"`     // when it was sent

	Session         string  `json:"session"`
	Turn            int     `json:"turn"`
	Step            string  `json:"step"`
	Provider        string  `json:"provider"`
	Tier            Tier    `json:"tier"`
	Kind            Kind    `json:"kind"` // of the failure; empty: it succeeded
	Phase           Phase   `json:"phase"`
	ServedModel     string  `json:"served_model"`
	FirstTokenMS    int64   `json:"first_token_ms"` // 0: none came
	CachedTokens    int64   `json:"cached_tokens"`
	ReasoningTokens int64   `json:"reasoning_tokens"`
	Cost            float64 `json:"cost"`     // US dollars
	DelayMS         int64   `json:"delay_ms"` // that was waited before it

	// What follows is for who listens, and not kept.
	Operation string    `json:"-"` // the same for all attempts at one request
	TurnBegan time.Time `json:"-"` // when its turn began, or last went on; zero: it belongs to none
	Finish    string    `json:"-"` // why the reply ended, as the API says it: stop, tool_calls, length or content_filter
}

// Purpose says whose a request is, for the record.
type Purpose struct {
	Session string
	Project string
	Turn    int
	Step    string
	// TurnBegan is when the turn began, or last went on, that the request is a part of;
	// zero: it is a part of none.
	TurnBegan time.Time
}

// Turn is how a turn has gone from when it began, or went on, until it ended or was
// parked, for who listens.
type Turn struct {
	Purpose
	Ended   time.Time
	Outcome string // done, parked, stopped, failed, …
	Fault   *Fault // of its models, if that is why it ended
}
