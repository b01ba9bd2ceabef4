package tokens

import (
	"compress/gzip"
	"embed"
	"io"
	"sync"

	"belay/models"
)

// pattern is how an encoding splits a text into pieces.
type pattern uint8

const (
	cased pattern = iota // by o200k_base: words end where their case says
	plain                // by cl100k_base: letters are letters
)

// encoding is what tells one vocabulary from the other.
type encoding struct {
	name      string // as tiktoken calls it
	size      int    // tokens
	text      int    // bytes of all tokens together
	tableBits int    // both tables are under 40 % full, so probes stay short
	pattern   pattern

	// read gives the vocabulary, which is read once for the whole program and
	// never changes.
	read func() (*vocabulary, error)
}

// The encodings of OpenAI's models. o200k_harmony is o200k_base with other
// special tokens, which count as text.
var (
	o200k = encodingOf(
		encoding{name: models.O200k, size: 199_998, text: 1_397_670, tableBits: tableBits, pattern: cased},
	)
	cl100k = encodingOf(
		encoding{name: models.CL100k, size: 100_256, text: 643_830, tableBits: tableBits - 1, pattern: plain},
	)
)

var encodings = []*encoding{o200k, cl100k}

// files are those vocabularies of tiktoken-go-loader that are used: each token's
// length in a byte, then its bytes, in order of rank, compressed. A test compares
// them with the loader's, and writes them anew with -update.
//
//go:embed vocabularies
var files embed.FS

func encodingOf(enc encoding) *encoding {
	enc.read = sync.OnceValues(func() (*vocabulary, error) {
		file, err := enc.open()
		if err != nil {
			return nil, err
		}
		return readVocabulary(file, &enc)
	})
	return &enc
}

func (e *encoding) open() (io.Reader, error) {
	packed, err := files.Open("vocabularies/" + e.name + ".gz") // it is part of the program: nothing to close
	if err != nil {
		return nil, err
	}
	return gzip.NewReader(packed)
}
