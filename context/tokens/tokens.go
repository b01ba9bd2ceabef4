// Package tokens decides how many tokens a text or an item takes.
//
// Counts are those of the o200k_base vocabulary, by tiktoken-go, without any
// network. For models with another vocabulary they are an estimate, which the
// screen marks with ≈.
package tokens

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"unicode"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"belay/models"
)

// What a request adds around its parts, measured on the Responses API.
const (
	perItem  = 4
	perImage = 1100 // a picture at high detail, as documented for 1024×1024
	perTool  = 12
)

// bytesPerToken is the estimate until the vocabulary is loaded: code measures
// 3.43 bytes a token, prose more.
const bytesPerToken = 3.4

// longestRun bounds runs of one character class. tiktoken-go takes time
// quadratic in such a run, so hostile text would stop the program; cutting
// changes no count that was measured.
const longestRun = 256

// Counter counts tokens. Counts of texts over a few hundred bytes are
// remembered, because a conversation is measured anew for each request.
type Counter struct {
	load sync.Once
	enc  *tiktoken.Tiktoken
	err  error
	up   chan struct{}

	mu    sync.Mutex
	seed  maphash.Seed
	known map[uint64]int
}

// mostKnown bounds the memory of the counter: entries of 16 bytes.
const mostKnown = 1 << 16

// New returns a counter. The vocabulary, about 250 ms of work and 24 MB, is
// loaded by Load or by the first count that must be exact.
func New() *Counter {
	return &Counter{up: make(chan struct{}), seed: maphash.MakeSeed(), known: map[uint64]int{}}
}

// Load reads the vocabulary; later calls wait for the first.
func (c *Counter) Load() error {
	c.load.Do(func() {
		tiktoken.SetBpeLoader(loader.NewOfflineLoader())
		if c.enc, c.err = tiktoken.GetEncoding(tiktoken.MODEL_O200K_BASE); c.err != nil {
			c.err = fmt.Errorf("load the token vocabulary: %w", c.err)
		}
		close(c.up)
	})
	return c.err
}

// Text counts the tokens of a text. Until the vocabulary is loaded it
// estimates.
func (c *Counter) Text(text string) int {
	if text == "" {
		return 0
	}
	select {
	case <-c.up:
	default:
		return Estimate(text)
	}
	if c.err != nil {
		return Estimate(text)
	}
	if len(text) < 256 {
		return c.count(text)
	}
	key := maphash.String(c.seed, text)
	c.mu.Lock()
	n, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = c.count(text)
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

func (c *Counter) count(text string) int {
	n := 0
	for _, piece := range pieces(strings.ToValidUTF8(text, "\uFFFD")) {
		n += len(c.enc.EncodeOrdinary(piece))
	}
	return n
}

// pieces cuts a text within runs of one character class that are too long.
func pieces(text string) []string {
	var out []string
	start, run, last := 0, 0, 0
	for i, r := range text {
		class := classOf(r)
		if class != last {
			run, last = 0, class
		}
		if run++; run > longestRun {
			out = append(out, text[start:i])
			start, run = i, 1
		}
	}
	return append(out, text[start:])
}

func classOf(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 1
	case unicode.IsLetter(r), unicode.IsMark(r):
		return 2
	case unicode.IsDigit(r):
		return 3
	}
	return 4
}

// Item counts the tokens that an item takes in a request.
func (c *Counter) Item(it models.Item) int {
	n := perItem + c.Text(it.Text) + c.Text(it.Name) + c.Text(it.Arguments) + perImage*len(it.Images)
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
