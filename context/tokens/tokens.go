// Package tokens decides how many tokens a text or an item takes.
//
// Counts are those of a model's own encoding, o200k_base or cl100k_base, as
// tiktoken counts them, in time linear in the text and without any network. For
// models with another one o200k_base stands in, which the screen marks with ≈;
// what the servers report scales the counts.
package tokens

import (
	"fmt"
	"hash/maphash"
	"sync"

	"belay/models"
)

// What a request adds around its parts, measured on the Responses API.
const (
	perItem = 4
	perTool = 12

	perAttachment = 14 // the marks before and behind it
)

// bytesPerToken is the estimate until the vocabulary is loaded: code measures
// 3.43 bytes a token, prose more.
const bytesPerToken = 3.4

// shortText is counted as fast as it is looked up.
const shortText = 128

// maxKnown bounds the memory of one encoding's counts: entries of 16 bytes.
const maxKnown = 1 << 15

// Counter counts tokens in the encoding of a model, for any number of
// goroutines. New makes one of a family, For gives the others: they share what
// was measured of the targets. An encoding that is not loaded costs nothing.
type Counter struct {
	*texts
	standsIn bool // the model's own encoding is not known
	family   *family
}

// family is what the counters of one New share.
type family struct {
	of     map[string]*Counter // by encoding; never changes
	scales scales
}

// texts counts texts in one encoding. Counts of those over shortText bytes are
// remembered, because a conversation is measured anew for each request.
type texts struct {
	encoding *encoding

	load  sync.Once
	warm  sync.Once
	vocab *vocabulary
	err   error
	up    chan struct{} // closed when vocab or err is set

	mu    sync.Mutex
	seed  maphash.Seed
	known map[uint64]int
}

// New returns a counter for models whose encoding is not known: it estimates
// until it is loaded, and then counts in o200k_base.
func New() *Counter {
	f := &family{of: map[string]*Counter{}}
	for _, e := range encodings {
		t := &texts{encoding: e, up: make(chan struct{}), seed: maphash.MakeSeed(), known: map[uint64]int{}}
		f.of[e.name] = &Counter{texts: t, family: f}
	}
	f.of[""] = &Counter{texts: f.of[models.O200k].texts, standsIn: true, family: f}
	return f.of[""]
}

// For is the counter for models of an encoding, as models.Model names it. Empty
// or not known, o200k_base stands in. It reads nothing and always gives the
// same counter: whoever is about to count calls its Load.
func (c *Counter) For(encoding string) *Counter {
	if known, ok := c.family.of[encoding]; ok {
		return known
	}
	return c.family.of[""]
}

// Load reads the vocabulary, once for the whole program: about 9 MB and 90 ms
// for o200k_base, half of it for cl100k_base. Later calls wait for the first.
// After an error the counter goes on estimating.
func (t *texts) Load() error {
	t.load.Do(func() {
		if t.vocab, t.err = t.encoding.read(); t.err != nil {
			t.err = fmt.Errorf("load the token vocabulary %s: %w", t.encoding.name, t.err)
		}
		close(t.up)
	})
	return t.err
}

// Warm loads in the background. The first call alone does anything.
func (t *texts) Warm() {
	t.warm.Do(func() { go func() { _ = t.Load() }() })
}

// Loaded reports whether counts are those of the vocabulary, not estimates.
func (t *texts) Loaded() bool {
	select {
	case <-t.up:
		return t.err == nil
	default:
		return false
	}
}

// Exact reports whether a text counts as the model counts it: not before the
// vocabulary is loaded, and never where o200k_base stands in. Any other count
// is marked with ≈.
func (c *Counter) Exact() bool { return !c.standsIn && c.Loaded() }

// Text counts the tokens of a text. Until the vocabulary is loaded it
// estimates.
func (t *texts) Text(text string) int {
	switch {
	case text == "":
		return 0
	case !t.Loaded():
		return Estimate(text)
	case len(text) <= shortText:
		return t.vocab.count(text)
	}
	key := maphash.String(t.seed, text)
	t.mu.Lock()
	n, ok := t.known[key]
	t.mu.Unlock()
	if ok {
		return n
	}
	n = t.vocab.count(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= maxKnown {
		clear(t.known)
	}
	t.known[key] = n
	return n
}

// Estimate guesses the tokens of a text by its length.
func Estimate(text string) int { return int(float64(len(text))/bytesPerToken) + 1 }

// Item counts the tokens that an item takes in a request.
func (c *Counter) Item(it models.Item) int {
	n := perItem + c.Text(it.Text) + c.Text(it.Name) + c.Text(it.Arguments)
	for _, a := range it.Attachments {
		n += perAttachment + c.Text(a.Name) + c.Text(a.Text)
	}
	for _, image := range it.Images {
		n += imageTokens(image.Data)
	}
	if it.Kind == models.Reasoning && len(it.Raw) > 0 {
		// Encrypted reasoning is base64 of what the model wrote; it is billed
		// as the tokens it holds, about a third of its text.
		n += len(it.Raw) / 8
	}
	return n
}

// Tool counts the tokens that the description of a tool takes.
func (c *Counter) Tool(t models.ToolSpec) int {
	return perTool + c.Text(t.Name) + c.Text(t.Description) + c.Text(string(t.Schema))
}
