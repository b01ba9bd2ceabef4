// Package catalog decides what is known of a model and of its endpoint before
// anything is sent: the embedded catalogue of charm.land/catwalk, and over it
// what the settings say.
//
// Nothing is asked over the network and nothing is guessed: a price that is not
// known is zero, a window that is not known is zero, and a name that is not
// known is left as it is. Only two things are assumed of an unknown model, so
// that it can be used at all: that it can call functions, and that its endpoint
// speaks Chat Completions.
//
// The catalogue takes some milliseconds to read. New does not read it; the
// first call that needs it does, from any goroutine.
package catalog

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"belay/models"
)

// Options are what main has from the settings.
type Options struct {
	Providers map[string]ProviderOverride // by name
	Models    map[string]ModelOverride    // by provider/model

	// Key finds an endpoint's key, given the provider's name and the variable
	// that should hold it (empty when none is known). It is called by each
	// Provider, so that a key set meanwhile counts. Nil: there are no keys.
	Key func(provider, variable string) string
}

// ProviderOverride is what the settings say of an endpoint. Empty fields leave
// it to the catalogue.
type ProviderOverride struct {
	BaseURL     string
	API         models.API
	KeyEnv      string
	Headers     map[string]string // added to the catalogue's
	Concurrency int
	ServiceTier string
	Resume      bool
}

// ModelOverride is what the settings say of a model. Nil fields leave it to the
// catalogue.
type ModelOverride struct {
	Short     *string
	Window    *int64
	MaxOutput *int64
	Input     *float64 // US dollars for a million tokens
	Cached    *float64
	Output    *float64
	Tools     *bool
	Images    *bool
	Reasoning *bool
	Efforts   *[]string
	Encoding  *string // o200k_base or cl100k_base
	Dialect   *string // how its endpoint wants a conversation to be written
	Omit      *[]string
	EditForm  *string // "patch" or "edit"
}

// Catalog answers what is known. It may be used by several goroutines.
type Catalog struct {
	options atomic.Pointer[Options]
	known   func() map[string]catwalk.Provider
}

// embeddedProviders are read once for all catalogues of the program.
var embeddedProviders = sync.OnceValue(func() map[string]catwalk.Provider {
	byName := make(map[string]catwalk.Provider)
	for _, p := range embedded.GetAll() {
		if e, ok := compatible[string(p.ID)]; ok {
			p.APIEndpoint, p.Type = e, catwalk.TypeOpenAICompat
		}
		byName[string(p.ID)] = p
	}
	return byName
})

// compatible are endpoints for OpenAI's protocols at makers whose own protocol
// is another, or whose address the catalogue takes from a variable.
var compatible = map[string]string{
	"openai":    "https://api.openai.com/v1",
	"anthropic": "https://api.anthropic.com/v1",
	// https://platform.claude.com/docs/en/api/openai-sdk
	"gemini": "https://generativelanguage.googleapis.com/v1beta/openai", // https://ai.google.dev/gemini-api/docs/openai
}

// makers sell their own models; a name found at one of them means that model.
var makers = []string{"openai", "anthropic", "gemini", "deepseek", "xai", "moonshot", "zai"}

// New makes a catalogue. It reads nothing yet.
func New(o Options) *Catalog {
	c := &Catalog{known: embeddedProviders}
	c.options.Store(&o)
	return c
}

// Update replaces what the settings say.
func (c *Catalog) Update(o Options) { c.options.Store(&o) }

// Models lists what the catalogue knows of a provider's models.
func (c *Catalog) Models(provider string) []string {
	var names []string
	for _, m := range c.known()[provider].Models {
		names = append(names, m.ID)
	}
	return names
}

// Providers lists the names of all endpoints that can be used, those of the
// settings included.
func (c *Catalog) Providers() []string {
	names := make(map[string]bool)
	for name := range c.options.Load().Providers {
		names[name] = true
	}
	for name := range c.known() {
		names[name] = true
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool {
		_, ok := c.provider(name)
		return !ok
	})
	return slices.Sorted(maps.Keys(names))
}

// Provider is how to reach an endpoint, with its key if there is one. It is
// false for a name nobody knows, or one whose address nobody knows.
func (c *Catalog) Provider(name string) (models.Provider, bool) {
	p, ok := c.provider(name)
	if key := c.options.Load().Key; ok && key != nil {
		p.Key = key(name, p.KeyEnv)
	}
	return p, ok
}

// Defaults are the models that the catalogue would take of a provider, for large and
// for small work; empty where it knows none.
func (c *Catalog) Defaults(provider string) (large, small string) {
	p := c.known()[provider]
	return p.DefaultLargeModelID, cmp.Or(p.DefaultSmallModelID, p.DefaultLargeModelID)
}

func (c *Catalog) provider(name string) (models.Provider, bool) {
	override := c.options.Load().Providers[name]
	provider := models.Provider{
		Name: name, BaseURL: override.BaseURL, API: override.API, KeyEnv: override.KeyEnv,
		Headers: map[string]string{}, Concurrency: override.Concurrency,
		ServiceTier: override.ServiceTier, Resume: override.Resume,
	}
	// The catalogue is left unread for who describes an endpoint whole.
	if provider.BaseURL == "" || provider.API == "" || provider.KeyEnv == "" {
		if entry, ok := c.known()[name]; ok {
			complete(&provider, entry)
		}
	}
	maps.Copy(provider.Headers, override.Headers)
	provider.BaseURL = strings.TrimRight(provider.BaseURL, "/")
	provider.Local = loopback(provider.BaseURL)
	if provider.API == "" {
		provider.API = models.Chat
	}
	if provider.Concurrency == 0 {
		provider.Concurrency = 3
		if provider.Local {
			provider.Concurrency = 1
		}
	}
	return provider, provider.BaseURL != ""
}

// complete fills in what the settings leave open.
func complete(provider *models.Provider, entry catwalk.Provider) {
	if provider.BaseURL == "" {
		if !apiOf(entry.Type) || strings.HasPrefix(entry.APIEndpoint, "$") {
			return // an address of another protocol is of no use
		}
		provider.BaseURL = entry.APIEndpoint
		// Headers belong to that address and go nowhere else.
		maps.Copy(provider.Headers, entry.DefaultHeaders)
	}
	if provider.KeyEnv == "" {
		provider.KeyEnv = strings.TrimPrefix(entry.APIKey, "$")
	}
	if provider.API == "" && entry.ID == catwalk.InferenceProviderOpenAI {
		provider.API = models.Responses
	}
}

// apiOf reports whether endpoints of a type understand OpenAI's protocols.
func apiOf(t catwalk.Type) bool {
	switch t {
	case catwalk.TypeOpenAI, catwalk.TypeOpenAICompat, catwalk.TypeOpenRouter, catwalk.TypeVercel:
		return true
	}
	return false
}

// loopback reports whether an address is on this machine.
func loopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Model is what is known of a target. Known tells whether catalogue or settings
// describe it; an unknown one can be used all the same.
func (c *Catalog) Model(target models.Target) models.Model {
	model := models.Model{Target: target, Short: Short(target.Model), Tools: true, Encoding: encoding(target.Model)}
	if entry, priced, ok := c.entry(target); ok {
		model.Known = true
		model.Window, model.MaxOutput = entry.ContextWindow, entry.DefaultMaxTokens
		model.Images = entry.SupportsImages
		model.Reasoning = entry.CanReason
		model.Efforts = slices.Clone(entry.ReasoningLevels)
		if priced {
			model.Price = models.Price{Input: entry.CostPer1MIn, Cached: readPrice(entry), Output: entry.CostPer1MOut}
		}
	}
	if c.patches(target) {
		model.EditForm = models.EditByPatch
	}
	if o, ok := c.options.Load().Models[target.String()]; ok {
		model.Known = true
		o.apply(&model)
	}
	return model
}

// patches says whether a model edits best by patches: the GPT-5 family was trained
// to, and OpenAI's Responses API takes them as text.
func (c *Catalog) patches(target models.Target) bool {
	if !strings.HasPrefix(target.Model, "gpt-5") {
		return false
	}
	p, ok := c.provider(target.Provider)
	return ok && p.API == models.Responses && strings.HasPrefix(p.BaseURL, compatible["openai"])
}

// entry finds a model's description: at its provider, by its name without the
// date of a snapshot, and for an endpoint of the user's own at the maker of that
// name. What another endpoint takes for it is not known, hence priced.
func (c *Catalog) entry(target models.Target) (entry catwalk.Model, priced, ok bool) {
	known := c.known()
	names := []string{target.Model, trimDate(target.Model)}
	if p, ok := known[target.Provider]; ok {
		m, ok := lookup(p, names)
		return m, true, ok
	}
	for _, maker := range makers {
		if m, ok := lookup(known[maker], names); ok {
			return m, false, true
		}
	}
	return catwalk.Model{}, false, false
}

func lookup(p catwalk.Provider, names []string) (catwalk.Model, bool) {
	for _, name := range names {
		for _, m := range p.Models {
			if m.ID == name {
				return m, true
			}
		}
	}
	return catwalk.Model{}, false
}

// readPrice is the price of tokens read from the cache. The catalogue keeps it
// in either of two fields, with the price of writing to the cache in the other.
func readPrice(m catwalk.Model) float64 {
	price := 0.0
	for _, p := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		if p > 0 && p < m.CostPer1MIn && (price == 0 || p < price) {
			price = p
		}
	}
	return price
}

func (o ModelOverride) apply(model *models.Model) {
	put(&model.Short, o.Short)
	put(&model.Window, o.Window)
	put(&model.MaxOutput, o.MaxOutput)
	put(&model.Price.Input, o.Input)
	put(&model.Price.Cached, o.Cached)
	put(&model.Price.Output, o.Output)
	put(&model.Tools, o.Tools)
	put(&model.Images, o.Images)
	put(&model.Reasoning, o.Reasoning)
	put(&model.Efforts, o.Efforts)
	put(&model.Encoding, o.Encoding)
	put(&model.Dialect, o.Dialect)
	put(&model.Omit, o.Omit)
	put(&model.EditForm, o.EditForm)
}

func put[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}
