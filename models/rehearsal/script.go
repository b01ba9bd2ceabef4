package rehearsal

import (
	"encoding/json"
	"fmt"
	"time"
)

// Script is what a rehearsal says and how it fails. Its fields are the keys of the
// script file, which the package doc and example.toml explain.
type Script struct {
	Models  []string `toml:"models"  json:"models"`  // the models that exist; empty: every name does
	Key     string   `toml:"key"     json:"key"`     // the required API key; empty: none is required
	Loop    bool     `toml:"loop"    json:"loop"`    // start over when every reply is used up
	Like    string   `toml:"like"    json:"like"`    // the endpoint whose ways it has; empty: OpenAI's, leniently
	Speed   Speed    `toml:"speed"   json:"speed"`   // of replies without their own
	Default *Reply   `toml:"default" json:"default"` // used when no other reply matches
	Replies []Reply  `toml:"reply"   json:"reply"`   // in order
}

// Reply is one reply and the conditions under which it is used.
type Reply struct {
	Name   string   `toml:"name"   json:"name"`   // for the log
	Model  string   `toml:"model"  json:"model"`  // only for this model
	API    string   `toml:"api"    json:"api"`    // only for "responses" or "chat"
	User   string   `toml:"user"   json:"user"`   // only when the last user message contains this
	Output string   `toml:"output" json:"output"` // only when the newest tool output contains this
	Times  int      `toml:"times"  json:"times"`  // how many times it is used; 0: once, -1: always
	For    Duration `toml:"for"    json:"for"`    // used any number of times for this long after its first use

	Reasoning string `toml:"reasoning" json:"reasoning"`
	Text      string `toml:"text"      json:"text"`
	Calls     []Call `toml:"calls"     json:"calls"`
	Served    string `toml:"served"    json:"served"` // the model that claims to have replied; empty: the one requested
	Usage     *Usage `toml:"usage"     json:"usage"`  // nil: an estimate
	Speed     *Speed `toml:"speed"     json:"speed"`

	Whole       bool   `toml:"whole"        json:"whole"`        // one JSON document even if a stream was requested
	ContentType string `toml:"content_type" json:"content_type"` // instead of the correct one; "none": no header
	Fault       *Fault `toml:"fault"        json:"fault"`
}

// Call is a tool call in a Reply.
type Call struct {
	ID        string `toml:"id"        json:"id"` // empty: generated
	Name      string `toml:"name"      json:"name"`
	Arguments any    `toml:"arguments" json:"arguments"` // a table, or a string sent verbatim
}

// raw returns the arguments as the model writes them.
func (c Call) raw() string {
	switch a := c.Arguments.(type) {
	case nil:
		return "{}"
	case string:
		return a
	default:
		b, err := json.Marshal(a)
		if err != nil { // a TOML infinity; Parse refuses it
			return "{}"
		}
		return string(b)
	}
}

// input gives the arguments of a tool that is called with text: the one text among
// them, or all of them.
func (c Call) input() string {
	var args map[string]string
	if json.Unmarshal([]byte(c.raw()), &args) == nil && len(args) == 1 {
		for _, text := range args {
			return text
		}
	}
	return c.raw()
}

// Usage is the number of tokens that a reply reports.
type Usage struct {
	Input     int64 `toml:"input"     json:"input"`
	Cached    int64 `toml:"cached"    json:"cached"`
	Output    int64 `toml:"output"    json:"output"`
	Reasoning int64 `toml:"reasoning" json:"reasoning"`
}

// Speed is how fast a reply arrives.
type Speed struct {
	Chunk   int      `toml:"chunk"   json:"chunk"`   // characters per delta; 0: 12
	Delay   Duration `toml:"delay"   json:"delay"`   // before each delta
	Headers Duration `toml:"headers" json:"headers"` // before the headers
	First   Duration `toml:"first"   json:"first"`   // between the headers and the first event
}

// Fault is how a reply fails.
type Fault struct {
	How   string `toml:"how"   json:"how"`
	At    string `toml:"at"    json:"at"`    // start (the default), reasoning, text, arguments, item, end
	After int    `toml:"after" json:"after"` // characters into that part; for item, which one, counted from 1

	Status  int               `toml:"status"  json:"status"`
	Code    string            `toml:"code"    json:"code"`
	Type    string            `toml:"type"    json:"type"`
	Message string            `toml:"message" json:"message"`
	Headers map[string]string `toml:"headers" json:"headers"`
	Body    string            `toml:"body"    json:"body"` // instead of one composed from code, type and message
	Size    int               `toml:"size"    json:"size"` // of a huge delta, in bytes
}

// Values of Fault.How.
const (
	howStatus     = "status"     // an HTTP status with an error object
	howError      = "error"      // an error event with the error nested, then response.failed
	howFlat       = "error-flat" // an error event with the error's fields at the top
	howFailed     = "failed"     // response.failed, or finish_reason "error"
	howIncomplete = "incomplete" // response.incomplete, or finish_reason length or content_filter
	howCut        = "cut"        // the connection is closed before the reply is complete
	howReset      = "reset"      // the connection is reset
	howEnd        = "end"        // a clean end without a terminal event
	howStall      = "stall"      // silence until the client gives up
	howComments   = "comments"   // comment lines until the client gives up
	howMalformed  = "malformed"  // an event that is not JSON
	howHuge       = "huge"       // one delta of size bytes, then the rest as usual
	howHTML       = "html"       // a gateway's error page
	howPortal     = "portal"     // a captive portal's page with status 200
	howRefuse     = "refuse"     // connection refused
	howDNS        = "dns"        // no such host
	howClose      = "close"      // the connection is closed before the headers
)

var hows = []string{
	howStatus, howError, howFlat, howFailed, howIncomplete, howCut, howReset, howEnd, howStall,
	howComments, howMalformed, howHuge, howHTML, howPortal, howRefuse, howDNS, howClose,
}

// Values of Fault.At.
const (
	atStart     = "start"
	atReasoning = "reasoning"
	atText      = "text"
	atArguments = "arguments"
	atItem      = "item"
	atEnd       = "end"
)

var places = []string{atStart, atReasoning, atText, atArguments, atItem, atEnd}

// Duration is a time.Duration written as text, such as "1m30s".
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration does, except negative durations.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("duration %q: write a number and a unit, such as 20ms or 1m", b)
	}
	if v < 0 {
		return fmt.Errorf("duration %q is negative", b)
	}
	*d = Duration(v)
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
