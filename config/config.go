// Package config decides what the settings are: defaults, under the user's
// file, under the project's file, under the environment, under flags.
//
// It refuses keys it does not know, reports every fault at once with file and
// line, and remembers where each value came from. It knows no other package of
// belay; main turns settings into the options of each.
package config

import (
	"maps"
	"time"
)

// Settings are all settings. The zero value is of no use; Defaults and Load
// make one.
type Settings struct {
	Providers   map[string]Provider `toml:"providers"` // by the name used in tiers
	Tiers       Tiers               `toml:"tiers"`
	Models      map[string]Model    `toml:"models"` // by provider/model
	Switch      Switch              `toml:"switch"`
	Request     Request             `toml:"request"`
	Context     Context             `toml:"context"`
	Retry       Retry               `toml:"retry"`
	Park        Park                `toml:"park"`
	Limits      Limits              `toml:"limits"`
	Record      Record              `toml:"record"`
	Budget      Spending            `toml:"budget"`
	Alerts      Alerts              `toml:"alerts"`
	Permissions Permissions         `toml:"permissions"`
	Screen      Screen              `toml:"screen"`

	origins map[string]Origin
	ignored []Fault
}

// Provider is an endpoint. Empty fields leave it to the catalogue.
type Provider struct {
	BaseURL     string            `toml:"base_url"`
	API         string            `toml:"api"`     // "responses" or "chat"
	KeyEnv      string            `toml:"key_env"` // the variable that holds the key, which is never here
	Headers     map[string]Secret `toml:"headers"`
	Concurrency int               `toml:"concurrency"`  // requests at once; 0: the catalogue's
	ServiceTier string            `toml:"service_tier"` // sent as it is
	Resume      bool              `toml:"resume"`       // takes a broken reply up again: the provider stores it
}

// Secret is a value that is used and never shown.
type Secret string

// String hides the value; string(s) gives it.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the value from encoders and loggers.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Tiers are the ordered lists of provider/model, and the tier to begin with.
type Tiers struct {
	Heavy   []string `toml:"heavy"`
	Medium  []string `toml:"medium"`
	Light   []string `toml:"light"`
	Default string   `toml:"default"`
}

// Model is what the catalogue lacks or gets wrong. Nil fields leave it to the
// catalogue.
type Model struct {
	Short     *string   `toml:"short"`
	Window    *int64    `toml:"window"`     // tokens
	MaxOutput *int64    `toml:"max_output"` // tokens
	Input     *float64  `toml:"input"`      // US dollars for a million tokens
	Cached    *float64  `toml:"cached"`
	Output    *float64  `toml:"output"`
	Tools     *bool     `toml:"tools"`
	Images    *bool     `toml:"images"`
	Reasoning *bool     `toml:"reasoning"`
	Efforts   *[]string `toml:"efforts"`
	Encoding  *string   `toml:"encoding"` // "o200k_base" or "cl100k_base"
}

// Switch is when another target takes over.
type Switch struct {
	Policy        string        `toml:"policy"` // "auto", "ask" or "never"
	Floor         string        `toml:"floor"`  // the lowest tier that a switch may go to
	After         After         `toml:"after"`
	FailbackAfter time.Duration `toml:"failback_after"`
	Local         bool          `toml:"local"`
}

// After counts the capacity failures in a row before a target is left.
type After struct {
	Interactive int `toml:"interactive"`
	Step        int `toml:"step"` // in the turns of a plan's steps
}

// Request is what is asked of a model beside the question itself.
type Request struct {
	Effort    Effort `toml:"effort"`     // reasoning effort, sent as it is
	MaxOutput int64  `toml:"max_output"` // tokens a reply may take; 0: the model's own
	Slim      string `toml:"slim"`       // what a request may lose when there is no room: "off", "trim" or "lower"
}

// Effort is the reasoning effort of each tier; empty leaves it to the model.
type Effort struct{ Heavy, Medium, Light string }

// Context is how much goes into a request.
type Context struct {
	Budget  Budget  `toml:"budget"`
	Reserve int64   `toml:"reserve"` // tokens kept free for the reply
	Trigger float64 `toml:"trigger"` // share of the budget from which older items are condensed
	Warn    int64   `toml:"warn"`    // tokens; 0: never
}

// Budget is how many tokens a request may take in each tier; 0 is "auto": the
// model's window less the reserve.
type Budget struct{ Heavy, Medium, Light int64 }

// Retry is how a request is tried again.
type Retry struct {
	Profile    string        `toml:"profile"` // "default", "switch-early" or "patient"
	Attempts   int           `toml:"attempts"`
	MaxWait    time.Duration `toml:"max_wait"`
	FirstEvent time.Duration `toml:"first_event"` // silence before the first event and while reasoning
	Silence    time.Duration `toml:"silence"`     // silence after it
}

// Park is when a parked turn goes on by itself.
type Park struct {
	Ladder []time.Duration `toml:"ladder"`
}

// Limits end a task; 0 is none.
type Limits struct {
	Requests int           `toml:"steps"`
	Retries  int           `toml:"retries"`
	Wait     time.Duration `toml:"wait"`
	Cost     float64       `toml:"cost"`   // US dollars
	Tokens   int64         `toml:"tokens"` // input and output together
}

// Record is what is kept of each request.
type Record struct {
	Retention   time.Duration `toml:"retention"`   // older ones are forgotten; 0: never
	Environment string        `toml:"environment"` // in the record; empty: the kind of program, such as "run"
	Team        string        `toml:"team"`        // in the record
}

// Spending is what all work may cost before a person hears of it, in US
// dollars; 0 is no limit.
type Spending struct {
	Day   float64 `toml:"day"`
	Month float64 `toml:"month"`
}

// Alerts are how a person hears of what stands out in the record.
type Alerts struct {
	Notify  Channels `toml:"notify"`  // "screen", "desktop" and "command"
	Command string   `toml:"command"` // run by the shell, with the words in BELAY_ALERT
	Share   float64  `toml:"share"`   // of an hour's requests without room, from which on it is told
}

// Channels are names of ways to a person, written as one or as a list.
type Channels []string

// Permissions are what runs without asking.
type Permissions struct {
	Mode string `toml:"mode"` // "ask", "edits" or "all"
}

// Screen is how the full screen looks and calls.
type Screen struct {
	Theme  string `toml:"theme"`  // "auto", "light" or "dark"
	Notify string `toml:"notify"` // "auto", "bell" or "off"
}

// Defaults are the settings of a machine without any.
func Defaults() Settings {
	return Settings{
		Providers: map[string]Provider{"openai": {
			BaseURL: "https://api.openai.com/v1", API: "responses", KeyEnv: "OPENAI_API_KEY",
			Headers: map[string]Secret{}, Concurrency: 3,
		}},
		Tiers: Tiers{
			Heavy: []string{
				"openai/gpt-5.6-sol",
			}, Medium: []string{"openai/gpt-5.6-terra"}, Light: []string{"openai/gpt-5.6-luna"},
			Default: "heavy",
		},
		Models: map[string]Model{},
		Switch: Switch{
			Policy: "auto", Floor: "light", After: After{Interactive: 2, Step: 2},
			FailbackAfter: 5 * time.Minute,
		},
		Request: Request{Slim: "trim"},
		Context: Context{Reserve: 16000, Trigger: 0.8, Warn: 128000},
		Retry: Retry{
			Profile: "default", Attempts: 4, MaxWait: 30 * time.Second,
			FirstEvent: 5 * time.Minute, Silence: 2 * time.Minute,
		},
		Park: Park{
			Ladder: []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute},
		},
		Record:      Record{Retention: 90 * 24 * time.Hour},
		Alerts:      Alerts{Notify: Channels{"screen"}, Share: 0.2},
		Permissions: Permissions{Mode: "ask"},
		Screen:      Screen{Theme: "auto", Notify: "auto"},
		origins:     map[string]Origin{},
	}
}

// Origin is where a value came from.
type Origin struct {
	Source string // "default", "user file", "project file", "environment" or "flag"
	Name   string // the file, the variable or the flag; empty for a default
	Line   int    // in the file
}

// Origin tells where the value of a key such as "tiers.heavy" came from. A key
// that nobody set is a default.
func (s Settings) Origin(key string) Origin {
	if o, ok := s.origins[key]; ok {
		return o
	}
	return Origin{Source: "default"}
}

// Ignored are the keys that were set and no longer do anything: a file of an
// older belay still loads.
func (s Settings) Ignored() []Fault { return s.ignored }

// Set reports whether somebody set a key, as opposed to its being a default.
func (s Settings) Set(key string) bool {
	_, ok := s.origins[key]
	return ok
}

// Targets are the lists of all tiers, from heavy to light.
func (t Tiers) Targets() map[string][]string {
	return maps.Collect(func(yield func(string, []string) bool) {
		_ = yield("heavy", t.Heavy) && yield("medium", t.Medium) && yield("light", t.Light)
	})
}
