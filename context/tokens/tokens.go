// Package tokens decides how many tokens a text or an item takes.
//
// Counts are those of the o200k_base vocabulary, as tiktoken counts them, in
// time linear in the text and without any network. For models with another
// vocabulary they are an estimate, which the screen marks with ≈; what the
// servers report scales them.
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
)

// bytesPerToken is the estimate until the vocabulary is loaded: code measures
// 3.43 bytes a token, prose more.
const bytesPerToken = 3.4

// shortText is counted as fast as it is looked up.
const shortText = 128

// mostKnown bounds the memory of a counter: entries of 16 bytes.
const mostKnown = 1 << 15

// Counter counts tokens, for any number of goroutines. Counts of texts over
// shortText bytes are remembered, because a conversation is measured anew for
// each request.
type Counter struct {
	load  sync.Once
	vocab *vocabulary
	err   error
	up    chan struct{} // closed when vocab or err is set

	mu    sync.Mutex
	seed  maphash.Seed
	known map[uint64]int

	scales scales
}

// New returns a counter that estimates until it is loaded.
func New() *Counter {
	return &Counter{up: make(chan struct{}), seed: maphash.MakeSeed(), known: map[uint64]int{}}
}

// Load reads the vocabulary, once for the whole program: about 9 MB. Later
// calls wait for the first. After an error the counter goes on estimating.
func (c *Counter) Load() error {
	c.load.Do(func() {
		if c.vocab, c.err = o200k(); c.err != nil {
			c.err = fmt.Errorf("load the token vocabulary: %w", c.err)
		}
		close(c.up)
	})
	return c.err
}

// Loaded reports whether counts are those of the vocabulary, not estimates.
func (c *Counter) Loaded() bool {
	select {
	case <-c.up:
		return c.err == nil
	default:
		return false
	}
}

// Text counts the tokens of a text. Until the vocabulary is loaded it
// estimates.
func (c *Counter) Text(text string) int {
	switch {
	case text == "":
		return 0
	case !c.Loaded():
		return Estimate(text)
	case len(text) <= shortText:
		return c.vocab.count(text)
	}
	key := maphash.String(c.seed, text)
	c.mu.Lock()
	n, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = c.vocab.count(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= mostKnown {
		clear(c.known)
	}
	c.known[key] = n
	return n
}

// Estimate guesses the tokens of a text by its length.
func Estimate(text string) int { return int(float64(len(text))/bytesPerToken) + 1 }

// Item counts the tokens that an item takes in a request.
func (c *Counter) Item(it models.Item) int {
	n := perItem + c.Text(it.Text) + c.Text(it.Name) + c.Text(it.Arguments)
	for _, image := range it.Images {
		n += picture(image.Data)
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
