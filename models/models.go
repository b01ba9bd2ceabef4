// Package models holds the nouns of talking to a language model: which model,
// what is asked, what comes back piece by piece, and what went wrong.
//
// It decides nothing. The verbs live in its children: openai makes one attempt,
// diagnose names a failure, catalog knows the models, route retries and
// switches, rehearsal answers by script.
//
// What follows from the kind of a failure is one table, in kinds.go; retries,
// circuits, the ledger, exit codes and the doctor read it. A new kind of
// failure touches four files: its row in kinds.go, its codes or phrases in
// diagnose/codes.go, its advice in diagnose/hint.go, and its rows in
// route/policy_test.go.
package models

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Tier is how much model a piece of work deserves. A tier is an ordered list
// of targets in the settings; people press a key for a tier, never for a model.
type Tier string

// The three tiers, from the most able to the roomiest.
const (
	Heavy  Tier = "heavy"
	Medium Tier = "medium"
	Light  Tier = "light"
)

// Tiers lists all tiers from heavy to light.
func Tiers() []Tier { return []Tier{Heavy, Medium, Light} }

// ParseTier reads a tier's name, ignoring case and spaces around it.
func ParseTier(s string) (Tier, error) {
	t := Tier(strings.ToLower(strings.TrimSpace(s)))
	if t.Rank() < 0 {
		return "", fmt.Errorf("unknown tier %q: use heavy, medium or light", s)
	}
	return t, nil
}

// Rank is 0 for heavy, 1 for medium, 2 for light and -1 for anything else.
func (t Tier) Rank() int {
	for i, known := range Tiers() {
		if t == known {
			return i
		}
	}
	return -1
}

// Target is one model at one provider, the unit that can be full or free.
type Target struct {
	Provider string `json:"provider"` // the provider's name in the settings
	Model    string `json:"model"`    // the name the endpoint knows, sent as it is
}

// String gives the form used in settings and messages: provider/model.
func (t Target) String() string {
	if t == (Target{}) {
		return ""
	}
	return t.Provider + "/" + t.Model
}

// ParseTarget reads provider/model. Only the first slash divides: a model's
// name may hold more of them (openrouter/anthropic/claude).
func ParseTarget(s string) (Target, error) {
	provider, model, ok := strings.Cut(s, "/")
	if !ok || provider == "" || model == "" {
		return Target{}, fmt.Errorf("model %q: write provider/model, such as openai/gpt-5.6-sol", s)
	}
	return Target{Provider: provider, Model: model}, nil
}

// API is the wire protocol of an endpoint.
type API string

// The two protocols of OpenAI-compatible endpoints.
const (
	Responses API = "responses"
	Chat      API = "chat"
)

// Provider is an endpoint and how to speak to it.
type Provider struct {
	Name        string
	BaseURL     string            // up to and including the version, such as https://api.openai.com/v1
	API         API               //
	Key         string            // the secret itself; never printed, never logged
	KeyEnv      string            // the variable the key came from or should come from, for hints
	Headers     map[string]string // sent with every request
	Concurrency int               // requests at once; 0 means no limit of ours
	Local       bool              // on a loopback address
	ServiceTier string            // service_tier of every request; empty leaves it to the endpoint
	// Resume says that the endpoint keeps replies, so that one whose connection
	// broke can be taken up again.
	Resume bool
}

// Price is in US dollars for a million tokens; zero means unknown or free.
type Price struct {
	Input  float64 `json:"input"`
	Cached float64 `json:"cached"`
	Output float64 `json:"output"`
}

// UnknownWindow is the window, in tokens, of a model that nobody describes.
const UnknownWindow = 128_000

// Model is what is known of a target before anything is sent to it.
type Model struct {
	Target    Target
	Short     string   // a name of a few letters for the screen, such as sol
	Window    int64    // tokens a request and its reply may take together; 0 when unknown
	MaxOutput int64    // tokens a reply may take; 0 when unknown
	Price     Price    //
	Tools     bool     // can call functions
	Images    bool     // can be shown pictures; see Blind
	Reasoning bool     // thinks before it answers
	Efforts   []string // reasoning efforts it knows
	Known     bool     // the catalogue or the settings describe it; otherwise the rest are defaults

	// Encoding is the tiktoken encoding its text is counted with, such as
	// o200k_base; empty: unknown, o200k_base stands in and counts are marked ≈.
	Encoding string

	// Dialect names how its endpoint wants a conversation to be written; empty:
	// package openai knows it by the endpoint and the name.
	Dialect string
	Omit    []string // parameters that its endpoint refuses

	// EditForm is how it changes files best: EditByPatch, or empty.
	EditForm string
}

// Blind reports whether it is known to see no pictures. One that nobody describes
// is shown them: its refusal teaches more than a guess.
func (m Model) Blind() bool { return m.Known && !m.Images }

// EditByPatch is the form of edits of models that were trained to write patches.
const EditByPatch = "patch"

// Offered are the tools that the model is told of: of two for the same work the
// one that it does better with.
func (m Model) Offered(specs []ToolSpec) []ToolSpec {
	patches := m.EditForm == EditByPatch
	var offered []ToolSpec
	for _, spec := range specs {
		replaces := func(other ToolSpec) bool { return other.Freeform != nil && other.Freeform.Replaces == spec.Name }
		if spec.Freeform != nil && !patches || patches && slices.ContainsFunc(specs, replaces) {
			continue
		}
		offered = append(offered, spec)
	}
	return offered
}

// The encodings that text is counted with, as tiktoken names them.
const (
	O200k  = "o200k_base"
	CL100k = "cl100k_base"
)

// Cost is what u costs at this model's prices, in US dollars.
func (m Model) Cost(u Usage) float64 {
	fresh := max(u.Input-u.Cached, 0)
	cached := m.Price.Cached
	if cached == 0 {
		cached = m.Price.Input
	}
	return (float64(fresh)*m.Price.Input + float64(u.Cached)*cached + float64(u.Output)*m.Price.Output) / 1e6
}

// Usage counts the tokens of one reply or the sum of several.
type Usage struct {
	Input     int64 `json:"input"`     // all input tokens, cached ones included
	Cached    int64 `json:"cached"`    // of Input, those read from the provider's cache
	Output    int64 `json:"output"`    // all output tokens, reasoning included
	Reasoning int64 `json:"reasoning"` // of Output, those spent on reasoning
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.Output + v.Output, u.Reasoning + v.Reasoning}
}

// Request is one question to a model, whole and self-contained.
type Request struct {
	Instructions string // the system text
	Items        []Item // the conversation, oldest first; every call has exactly one output
	Tools        []ToolSpec
	MaxOutput    int64  // tokens; 0 leaves it to the provider
	Effort       string // reasoning effort; empty leaves it to the provider
	AnswerSchema []byte // JSON Schema that a reply without calls must fit; nil: it is free text
	CacheKey     string // prompt_cache_key: the same for the requests of one session
	Operation    string // one id for all attempts at this request
	NoStream     bool   // ask for the reply in one piece instead of a stream
	Tokens       int64  // about how many it takes, by our own count; 0: not counted

	Parameters []Parameter // further ones, passed on as they are
}

// ToolSpec describes a function that the model may call.
type ToolSpec struct {
	Name        string
	Description string
	Schema      []byte // JSON Schema of the arguments, an object
	Strict      bool   // the endpoint holds the arguments to the schema
	Traits      ToolTraits

	// Freeform is set for a tool that some models call with text in place of JSON.
	// It is offered to them only, and in place of another.
	Freeform *Freeform
}

// Freeform is how a tool is called with text.
type Freeform struct {
	Parameter string // of Schema, that the text is the value of
	Grammar   string // of the text; empty: any text
	Syntax    string // of the grammar; empty: Lark
	Replaces  string // the tool for the same work that others are offered
}

// ToolTraits say what matters of a tool to what does not run it. They are not
// told to the model.
type ToolTraits struct {
	ReadsFile bool // its output is the content of the file that the argument "path" names
	EditsFile bool // it changes the file that the argument "path" names
	// KeepsOutput says that its outputs stay in the conversation, also where older
	// outputs are pruned.
	KeepsOutput bool
}

// Client makes exactly one attempt at a request: it never retries, waits or
// switches. The sequence yields chunks in the order of the wire; it ends after
// a Finished chunk, or with one last pair whose error is a *Fault. Leaving the
// loop early abandons the attempt and frees the connection.
type Client interface {
	Stream(ctx context.Context, target Target, req Request) iter.Seq2[Chunk, error]
}
