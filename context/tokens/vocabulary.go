package tokens

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

const (
	idBits    = 18 // 2^18 > the tokens of any encoding
	idMask    = 1<<idBits - 1
	tableBits = 19 // of a hash; a smaller table takes the lower of them

	none = ^uint32(0) // no such token

	maxToken = 128 // bytes, of the longest token of each encoding
)

// vocabulary is an encoding in flat arrays without pointers: about 9 MB for
// o200k_base, 5 MB for cl100k_base. A token's id is its rank, as in the file.
type vocabulary struct {
	pattern pattern
	classes [classified]class
	single  [1 << 8]uint32  // the token of a byte
	double  [1 << 16]uint32 // the token of two bytes, or none

	text  []byte   // all tokens in order of their ids
	start []uint32 // where a token begins in text; one more than there are tokens

	mask uint64 // the slots of both tables, less one

	// words finds a token by its bytes: 14 bits of hash, then id+1; 0 is empty.
	words []uint32
	// pairs finds the token that two tokens merge into: left id, right id,
	// merged id, 18 bits each; 0 is empty. Each token needs one entry only:
	// what happens within its bytes before its last merge is what would happen
	// to these bytes alone, so the last two parts are always the same.
	pairs []uint64
}

// readVocabulary reads the tokens in order of their ranks, each behind a byte
// that says how long it is.
func readVocabulary(r io.Reader, enc *encoding) (*vocabulary, error) {
	vocab := &vocabulary{
		pattern: enc.pattern,
		text:    make([]byte, 0, enc.text+maxToken),
		start:   make([]uint32, 1, enc.size+1),
		mask:    1<<enc.tableBits - 1,
		words:   make([]uint32, 1<<enc.tableBits),
		pairs:   make([]uint64, 1<<enc.tableBits),
	}
	classify(&vocab.classes, enc.pattern)
	for i := range vocab.single {
		vocab.single[i] = none
	}
	for i := range vocab.double {
		vocab.double[i] = none
	}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		length, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = vocab.read(in, int(length), enc.size)
		}
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", vocab.size(), err)
		}
	}
	if vocab.size() != enc.size {
		return nil, fmt.Errorf("%d tokens, want %d", vocab.size(), enc.size)
	}
	for b, id := range vocab.single {
		if id == none {
			return nil, fmt.Errorf("no token for byte %#x", b)
		}
	}
	vocab.join()
	return vocab, nil
}

// read appends the next token, to no more than size of them.
func (v *vocabulary) read(in *bufio.Reader, length, size int) error {
	id := v.size()
	if id >= size {
		return fmt.Errorf("want %d", size)
	}
	if length == 0 || length > maxToken {
		return fmt.Errorf("%d bytes long", length)
	}
	begin := len(v.text)
	v.text = v.text[:begin+length]
	token := v.text[begin:]
	if _, err := io.ReadFull(in, token); err != nil {
		return err
	}
	switch len(token) {
	case 1:
		v.single[token[0]] = uint32(id)
	case 2:
		v.double[int(token[0])<<8|int(token[1])] = uint32(id)
	}
	v.start = append(v.start, uint32(len(v.text)))
	h := hash(token)
	slot := h >> (64 - tableBits) & v.mask
	for v.words[slot] != 0 {
		slot = (slot + 1) & v.mask
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
			continue // a whole word or nothing; neither encoding has one
		}
		key := uint64(parts[0])<<idBits | uint64(parts[1])
		slot := v.pairSlot(key)
		for v.pairs[slot] != 0 {
			slot = (slot + 1) & v.mask
		}
		v.pairs[slot] = key<<idBits | uint64(id)
	}
}

func (v *vocabulary) size() int { return len(v.start) - 1 }

func (v *vocabulary) token(id uint32) []byte { return v.text[v.start[id]:v.start[id+1]] }

func (v *vocabulary) width(id uint32) int { return int(v.start[id+1] - v.start[id]) }

// word reports whether a piece is one token.
func (v *vocabulary) word(piece string) bool {
	if len(piece) > maxToken {
		return false
	}
	h := hash(piece)
	for slot := h >> (64 - tableBits) & v.mask; v.words[slot] != 0; slot = (slot + 1) & v.mask {
		if w := v.words[slot]; w>>idBits == uint32(h)&(1<<(32-idBits)-1) && string(v.token(w&idMask-1)) == piece {
			return true
		}
	}
	return false
}

// pair is the token that two neighbours merge into, or none.
func (v *vocabulary) pair(left, right uint32) uint32 {
	key := uint64(left)<<idBits | uint64(right)
	for slot := v.pairSlot(key); v.pairs[slot] != 0; slot = (slot + 1) & v.mask {
		if p := v.pairs[slot]; p>>idBits == key {
			return uint32(p & idMask)
		}
	}
	return none
}

func (v *vocabulary) pairSlot(key uint64) uint64 {
	return key * 0x9E3779B97F4A7C15 >> (64 - tableBits) & v.mask
}

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
	low := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
	return low | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func mix(x uint64) uint64 {
	high, low := bits.Mul64(x^0xA0761D6478BD642F, 0xE7037ED1A0B428DB)
	return high ^ low
}
