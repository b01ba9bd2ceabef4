// Package config decides what the settings are: flags override the environment, which
// overrides the project's file, the user's file and the defaults, in this order.
//
// It rejects unknown keys, reports every mistake at once with file and line, and
// remembers where each value came from. It imports no other package of belay: the
// program turns settings into the options of each.
package config

import "time"

// Settings are all settings. Defaults and Load create them; the zero value is not
// valid.
type Settings struct {
	Lang        string              `toml:"lang"`      // of belay's own words: "auto", "en" or "zh"
	Providers   map[string]Provider `toml:"providers"` // by the name used in tiers
	Tiers       Tiers               `toml:"tiers"`
	Models      map[string]Model    `toml:"models"` // by provider/model
	Switch      Switch              `toml:"switch"`
	Request     Request             `toml:"request"`
	Context     Context             `toml:"context"`
	Retry       Retry               `toml:"retry"`
	Park        Park                `toml:"park"`
	Limits      Limits              `toml:"limits"`
	Queue       Queue               `toml:"queue"`
	Lanes       Lanes               `toml:"lanes"`
	Record      Record              `toml:"record"`
	Budget      CostBudget          `toml:"budget"`
	Alerts      Alerts              `toml:"alerts"`
	Gateway     Gateway             `toml:"gateway"`
	Telemetry   Telemetry           `toml:"telemetry"`
	Permissions Permissions         `toml:"permissions"`
	Sandbox     Sandbox             `toml:"sandbox"`
	Screen      Screen              `toml:"screen"`
	Theme       Colours             `toml:"theme"`
	Keys        map[string]KeyList  `toml:"keys"` // by the name of an action

	origins map[string]Origin
	ignored []Fault
}

// Provider is an endpoint. Empty fields take the catalogue's values.
type Provider struct {
	BaseURL     string            `toml:"base_url"`
	API         string            `toml:"api"`     // "responses" or "chat"
	KeyEnv      string            `toml:"key_env"` // the variable that holds the key; the key itself is never here
	Headers     map[string]Secret `toml:"headers"`
	Insecure    bool              `toml:"insecure"`     // the key may go over http:// to another computer
	Concurrency int               `toml:"concurrency"`  // simultaneous requests; 0: the catalogue's
	ServiceTier string            `toml:"service_tier"` // sent verbatim
	Resume      bool              `toml:"resume"`       // resume a broken reply, which the provider stores
}

// Secret is a value that is used but never shown.
type Secret string

// String hides the value; string(s) returns it.
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

// Tiers are the ordered lists of targets (provider/model), and the initial tier.
type Tiers struct {
	Heavy   []string `toml:"heavy"`
	Medium  []string `toml:"medium"`
	Light   []string `toml:"light"`
	Default string   `toml:"default"`
}

// Model is what the catalogue lacks or gets wrong about a model. Nil fields take the
// catalogue's values.
type Model struct {
	Short     *string   `toml:"short"`
	Window    *int64    `toml:"window"`     // tokens
	MaxOutput *int64    `toml:"max_output"` // tokens
	Input     *float64  `toml:"input"`      // US dollars per million tokens
	Cached    *float64  `toml:"cached"`
	Output    *float64  `toml:"output"`
	Tools     *bool     `toml:"tools"`
	Images    *bool     `toml:"images"`
	Reasoning *bool     `toml:"reasoning"`
	Efforts   *[]string `toml:"efforts"`
	Encoding  *string   `toml:"encoding"` // "o200k_base" or "cl100k_base"
	Dialect   *string   `toml:"dialect"`  // how its endpoint wants a conversation to be written
	Omit      *[]string `toml:"omit"`     // parameters that its endpoint refuses
	EditForm  *string   `toml:"edit"`     // "patch" or "edit": how it changes files
}

// Switch is when belay fails over to another target, and when it fails back.
type Switch struct {
	Policy        string        `toml:"policy"` // "auto", "ask" or "never"
	Floor         string        `toml:"floor"`  // the lowest tier to switch to
	After         After         `toml:"after"`
	FailbackAfter time.Duration `toml:"failback_after"`
	Local         bool          `toml:"local"`
}

// After is the number of consecutive capacity failures before a switch.
type After struct {
	Interactive int `toml:"interactive"`
	Step        int `toml:"step"` // in the turns of a plan's steps
}

// Request is how requests are made.
type Request struct {
	Effort    Effort `toml:"effort"`     // reasoning effort, sent verbatim
	MaxOutput int64  `toml:"max_output"` // tokens per reply; 0: the model's own limit
	Titles    string `toml:"titles"`     // of sessions: "words" of the first prompt, or "light" lets that tier write one
	Slim      string `toml:"slim"`       // what a request may drop when the model has no capacity: "off", "trim" or "lower"
}

// Effort is the reasoning effort of each tier; empty: the model's default.
type Effort struct{ Heavy, Medium, Light string }

// Context is how much of the conversation goes into a request.
type Context struct {
	Budget  TokenBudget `toml:"budget"`
	Reserve int64       `toml:"reserve"` // tokens kept free for the reply
	Trigger float64     `toml:"trigger"` // share of the budget at which older items are compacted
	Warn    int64       `toml:"warn"`    // tokens; 0: never
}

// TokenBudget is the maximum size of a request in each tier, in tokens. 0 is "auto":
// the model's window minus the reserve.
type TokenBudget struct{ Heavy, Medium, Light int64 }

// Retry is how failed requests are retried.
type Retry struct {
	Profile    string        `toml:"profile"` // "default", "switch-early" or "patient"
	Attempts   int           `toml:"attempts"`
	MaxWait    time.Duration `toml:"max_wait"`
	FirstEvent time.Duration `toml:"first_event"` // longest silence before the first event and while reasoning
	Silence    time.Duration `toml:"silence"`     // longest silence after that
}

// Park is when a parked turn is retried.
type Park struct {
	Ladder []time.Duration `toml:"ladder"`
}

// Limits stop a task that exceeds them; 0: no limit.
type Limits struct {
	Requests int           `toml:"steps"`
	Retries  int           `toml:"retries"`
	Wait     time.Duration `toml:"wait"`
	Cost     float64       `toml:"cost"`   // US dollars
	Tokens   int64         `toml:"tokens"` // input and output together
}

// Queue is where the tasks of batches are kept, and how many run at once.
type Queue struct {
	URL   Secret `toml:"url"`   // "postgres://…", for several machines; empty: a file beside the sessions
	Tasks int    `toml:"tasks"` // at once, by one belay
}

// Lanes are the budgets of queued work. What somebody waits for has none.
type Lanes struct {
	Normal LaneBudget `toml:"normal"`
	Batch  LaneBudget `toml:"batch"`
}

// LaneBudget is how many requests a lane may send; 0: no limit.
type LaneBudget struct {
	Minute int `toml:"minute"`
	Hour   int `toml:"hour"`
}

// Record is what the ledger keeps of each request, and for how long.
type Record struct {
	Retention   time.Duration `toml:"retention"`   // older records are deleted; 0: never
	Environment string        `toml:"environment"` // noted in each record; empty: the kind of program, such as "run"
	Team        string        `toml:"team"`        // noted in each record
}

// CostBudget is the cost in US dollars at which the user is alerted; 0: no limit.
type CostBudget struct {
	Day   float64 `toml:"day"`
	Month float64 `toml:"month"`
}

// Alerts are when and how the user learns of anomalies in the ledger.
type Alerts struct {
	Notify  Channels `toml:"notify"`  // "screen", "desktop", "command" and "webhook"
	Command string   `toml:"command"` // run by the shell, with the message in BELAY_ALERT
	// Webhook is an address that gets alerts as JSON, signed with the secret that is in
	// the variable SecretEnv.
	Webhook   string `toml:"webhook"`
	SecretEnv string `toml:"secret_env"`

	Share float64 `toml:"share"` // of an hour's requests that found no capacity, at which to alert
}

// Channels are where alerts go. A file may name one or a list.
type Channels []string

// KeyList are the keys of an action. A file may name one or a list. What they mean is
// for package keys to say.
type KeyList []string

// Permissions are what may run without asking.
type Permissions struct {
	Mode string   `toml:"mode"` // "ask", "edits" or "all"
	Env  []string `toml:"env"`  // variables that look like secrets and reach commands all the same

	Anywhere bool     `toml:"anywhere"` // edits and all also where the workspace is more than a project
	Readable []string `toml:"readable"` // patterns for names of files that look like secrets and are read all the same
}

// Sandbox is what commands reach that somebody allowed.
type Sandbox struct {
	Enabled bool     `toml:"enabled"` // false: they run with nothing around them
	Network string   `toml:"network"` // "ask", "allow" or "deny"
	Write   []string `toml:"write"`   // more places that they may write
	Read    []string `toml:"read"`    // secret places that they may read
}

// Screen is how the full screen looks, and how it gets attention.
type Screen struct {
	Theme  string `toml:"theme"`  // "auto", "light", "dark", "contrast", "16" or "none"
	Notify string `toml:"notify"` // "auto", "osc9", "osc777", "osc99", "bell", "command" or "off"
	// Command is run by the shell for notify = "command", with the words in BELAY_ALERT.
	Command string `toml:"command"`
	Quiet   string `toml:"quiet"` // hours without notifications, such as "22:00-07:00"; empty: none
	Mouse   bool   `toml:"mouse"` // false: it is the terminal's
	Links   string `toml:"links"` // "auto", "on" or "off": files and pages that the terminal opens
	Leave   string `toml:"leave"` // what is printed at the end: "answer", "all" or "nothing"
}

// Silent reports whether a time is within the hours without notifications.
func (s Screen) Silent(now time.Time) bool {
	from, to, ok := parseHours(s.Quiet)
	if !ok || from == to {
		return false
	}
	at := now.Hour()*60 + now.Minute()
	if from < to {
		return at >= from && at < to
	}
	return at >= from || at < to
}

// Defaults are the settings when nobody has set anything.
func Defaults() Settings {
	return Settings{
		Lang: "auto",
		Providers: map[string]Provider{"openai": {
			BaseURL: "https://api.openai.com/v1", API: "responses", KeyEnv: "OPENAI_API_KEY",
			Headers: map[string]Secret{}, Concurrency: 3,
		}},
		Tiers: Tiers{
			Heavy:   []string{"openai/gpt-5.6-sol"},
			Medium:  []string{"openai/gpt-5.6-terra"},
			Light:   []string{"openai/gpt-5.6-luna"},
			Default: "heavy",
		},
		Models: map[string]Model{},
		Switch: Switch{
			Policy: "auto", Floor: "light", After: After{Interactive: 2, Step: 2},
			FailbackAfter: 5 * time.Minute,
		},
		Request: Request{Titles: "words", Slim: "trim"},
		Context: Context{Reserve: 16000, Trigger: 0.8, Warn: 128000},
		Retry: Retry{
			Profile: "default", Attempts: 4, MaxWait: 30 * time.Second,
			FirstEvent: 5 * time.Minute, Silence: 2 * time.Minute,
		},
		Park: Park{
			Ladder: []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute},
		},
		Queue:       Queue{Tasks: 3},
		Record:      Record{Retention: 90 * 24 * time.Hour},
		Alerts:      Alerts{Notify: Channels{"screen"}, Share: 0.2},
		Gateway:     Gateway{Address: "127.0.0.1:8790", Hold: 4 * time.Minute, Requests: 256},
		Permissions: Permissions{Mode: "ask", Env: []string{}, Readable: []string{}},
		Sandbox:     Sandbox{Enabled: true, Network: "ask", Write: []string{}, Read: []string{}},
		Screen:      Screen{Theme: "auto", Notify: "auto", Mouse: true, Links: "auto", Leave: "answer"},
		origins:     map[string]Origin{},
	}
}

// Origin is where a value came from.
type Origin struct {
	Source string // "default", "user file", "project file", "environment" or "flag"
	Name   string // of the file, the variable or the flag; empty for a default
	Line   int    // in the file
}

// Origin returns where the value of a key such as "tiers.heavy" came from. A key that
// nobody set is a default.
func (s Settings) Origin(key string) Origin {
	if o, ok := s.origins[key]; ok {
		return o
	}
	return Origin{Source: "default"}
}

// Ignored are keys that are set but no longer do anything. They are not errors, so
// that files written for older versions still load.
func (s Settings) Ignored() []Fault { return s.ignored }

// Set reports whether a key was set, rather than left at its default.
func (s Settings) Set(key string) bool {
	_, ok := s.origins[key]
	return ok
}

// Targets returns the list of targets of each tier, by the tier's name.
func (t Tiers) Targets() map[string][]string {
	return map[string][]string{"heavy": t.Heavy, "medium": t.Medium, "light": t.Light}
}
