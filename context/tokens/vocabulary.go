package tokens

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"sync"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

const (
	vocabularyFile = "o200k_base.tiktoken"
	vocabularySize = 199_998
	vocabularyText = 1_400_000 // bytes of all tokens together, a little over the truth

	idBits    = 18 // 2^18 > vocabularySize
	idMask    = 1<<idBits - 1
	tableBits = 19 // both tables are under 40 % full, so probes stay short
	tableMask = 1<<tableBits - 1

	none = ^uint32(0) // no such token

	longestToken = 128 // bytes, of the vocabulary's longest token
)

// vocabulary is o200k_base in about 9 MB of flat arrays without pointers. A
// token's id is its rank, as in the file.
type vocabulary struct {
	classes [classified]class
	single  [1 << 8]uint32  // the token of a byte
	double  [1 << 16]uint32 // the token of two bytes, or none

	text  []byte   // all tokens in order of their ids
	start []uint32 // where a token begins in text; one more than there are tokens

	// words finds a token by its bytes: 14 bits of hash, then id+1; 0 is empty.
	words []uint32
	// pairs finds the token that two tokens merge into: left id, right id,
	// merged id, 18 bits each; 0 is empty. Each token needs one entry only:
	// what happens within its bytes before its last merge is what would happen
	// to these bytes alone, so the last two parts are always the same.
	pairs []uint64
}

// o200k is read once for the whole program and never changes.
var o200k = sync.OnceValues(func() (*vocabulary, error) {
	file, err := assets.Assets.Open(vocabularyFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is part of the program
	return readVocabulary(file)
})

// readVocabulary reads lines of a token in base64 and its rank, which counts
// up from 0.
func readVocabulary(r io.Reader) (*vocabulary, error) {
	v := &vocabulary{
		text:  make([]byte, 0, vocabularyText),
		start: make([]uint32, 1, vocabularySize+1),
		words: make([]uint32, 1<<tableBits),
		pairs: make([]uint64, 1<<tableBits),
	}
	classify(&v.classes)
	for i := range v.single {
		v.single[i] = none
	}
	for i := range v.double {
		v.double[i] = none
	}
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			if err := v.add(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return nil, fmt.Errorf("line %d: %w", len(v.start), err)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if v.size() != vocabularySize {
		return nil, fmt.Errorf("%d tokens, want %d", v.size(), vocabularySize)
	}
	for b, id := range v.single {
		if id == none {
			return nil, fmt.Errorf("no token for byte %#x", b)
		}
	}
	v.join()
	return v, nil
}

// add appends the token of one line.
func (v *vocabulary) add(line []byte) error {
	coded, rank, ok := bytes.Cut(line, []byte(" "))
	id := len(v.start) - 1
	if n, err := strconv.Atoi(string(rank)); !ok || err != nil || n != id || id >= vocabularySize {
		return fmt.Errorf("rank %q, want %d", rank, id)
	}
	from := len(v.text)
	text, err := base64.StdEncoding.AppendDecode(v.text, coded)
	if err != nil {
		return err
	}
	v.text = text
	token := text[from:]
	switch n := len(token); {
	case n == 0 || n > longestToken:
		return fmt.Errorf("a token of %d bytes", n)
	case n == 1:
		v.single[token[0]] = uint32(id)
	case n == 2:
		v.double[int(token[0])<<8|int(token[1])] = uint32(id)
	}
	v.start = append(v.start, uint32(len(text)))
	h := hash(token)
	slot := h >> (64 - tableBits)
	for v.words[slot] != 0 {
		slot = (slot + 1) & tableMask
	}
	v.words[slot] = uint32(h)<<idBits | uint32(id+1)
	return nil
}

// join fills pairs, for tokens of three bytes or more: two bytes meet in double
// only. Tokens come in the order in which they were learned, so the merges of
// lower rank are there when a token's own is looked for.
func (v *vocabulary) join() {
	var m merger
	for id := uint32(0); id < uint32(v.size()); id++ {
		token := v.token(id)
		if len(token) < 3 {
			continue
		}
		parts := merge(&m, v, token)
		if len(parts) != 2 {
			continue // a whole word or nothing; o200k_base has none
		}
		key := uint64(parts[0])<<idBits | uint64(parts[1])
		slot := pairSlot(key)
		for v.pairs[slot] != 0 {
			slot = (slot + 1) & tableMask
		}
		v.pairs[slot] = key<<idBits | uint64(id)
	}
}

func (v *vocabulary) size() int { return len(v.start) - 1 }

func (v *vocabulary) token(id uint32) []byte { return v.text[v.start[id]:v.start[id+1]] }

func (v *vocabulary) width(id uint32) int { return int(v.start[id+1] - v.start[id]) }

// word reports whether a piece is one token.
func (v *vocabulary) word(piece string) bool {
	if len(piece) > longestToken {
		return false
	}
	h := hash(piece)
	for slot := h >> (64 - tableBits); v.words[slot] != 0; slot = (slot + 1) & tableMask {
		if w := v.words[slot]; w>>idBits == uint32(h)&(1<<(32-idBits)-1) && string(v.token(w&idMask-1)) == piece {
			return true
		}
	}
	return false
}

// pair is the token that two neighbours merge into, or none.
func (v *vocabulary) pair(left, right uint32) uint32 {
	key := uint64(left)<<idBits | uint64(right)
	for slot := pairSlot(key); v.pairs[slot] != 0; slot = (slot + 1) & tableMask {
		if p := v.pairs[slot]; p>>idBits == key {
			return uint32(p & idMask)
		}
	}
	return none
}

func pairSlot(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> (64 - tableBits) }

// hash needs no secret: what is in the table is fixed, so hostile text finds
// no chain that is longer than the longest there is.
func hash[T string | []byte](s T) uint64 {
	h := uint64(len(s))
	for len(s) > 8 {
		h = mix(h ^ load(s))
		s = s[8:]
	}
	var last uint64
	if len(s) == 8 {
		last = load(s)
	} else {
		for i := 0; i < len(s); i++ {
			last = last<<8 | uint64(s[i])
		}
	}
	return mix(h ^ last)
}

func load[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func mix(x uint64) uint64 {
	high, low := bits.Mul64(x^0xA0761D6478BD642F, 0xE7037ED1A0B428DB)
	return high ^ low
}
