package tokens

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// A piece over window bytes (one word of base64, a line of dashes) is merged
// window by window, so that it takes no more memory than a window does.
const (
	window  = 4096
	overlap = 2 * maxToken // at the end of a window what follows may change
	seams   = 8            // tries to join two windows before the piece is merged whole
)

// scratch is the memory of one count.
type scratch struct {
	window, seam merger
	tail         []uint32 // the last tokens before the window
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// count is the number of tokens of a text. A byte that is not UTF-8 counts as
// U+FFFD, which is what JSON makes of it on its way to the model.
func (v *vocabulary) count(text string) int {
	if !utf8.ValidString(text) {
		text = repair(text)
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	return s.count(v, text)
}

// count allocates nothing once s has grown to what the text needs.
func (s *scratch) count(vocab *vocabulary, text string) int {
	total := 0
	for i := 0; i < len(text); {
		end := vocab.split(text, i)
		piece := text[i:end]
		switch i = end; {
		case len(piece) == 1 || vocab.word(piece):
			total++
		case len(piece) <= window:
			total += len(merge(&s.window, vocab, piece))
		default:
			total += s.long(vocab, piece, window, overlap)
		}
	}
	return total
}

func repair(text string) string {
	size := 0
	for _, r := range text {
		size += utf8.RuneLen(r)
	}
	var b strings.Builder
	b.Grow(size)
	for _, r := range text {
		b.WriteRune(r)
	}
	return b.String()
}

// long counts the tokens of a long piece, exactly: tokens are those of the
// whole text if and only if each two neighbours, taken alone, are merged into
// themselves again. Within a window they are; where windows meet it is looked
// at, and if it is not so, the window begins a token earlier.
func (s *scratch) long(vocab *vocabulary, piece string, window, overlap int) int {
	total, start, furthest, failed := 0, 0, 0, 0
	s.tail = s.tail[:0]
	for {
		end := min(start+window, len(piece))
		ids := merge(&s.window, vocab, piece[start:end])
		if start > 0 && !s.meets(vocab, piece, start, ids[0]) {
			last := len(s.tail) - 1
			total--
			start -= vocab.width(s.tail[last])
			s.tail = s.tail[:last]
			if failed++; failed > seams || last == 0 && start > 0 {
				return s.whole(vocab, piece)
			}
			continue
		}
		if end == len(piece) {
			return total + len(ids)
		}
		kept := 0
		for next := start; kept < len(ids); kept++ {
			if next += vocab.width(ids[kept]); next > end-overlap {
				break
			}
			start = next
		}
		total += kept
		s.tail = append(s.tail[:0], ids[max(0, kept-seams):kept]...)
		if start > furthest {
			furthest, failed = start, 0
		}
	}
}

// meets reports whether the last token before start and the first one after it
// stay apart.
func (s *scratch) meets(v *vocabulary, piece string, start int, right uint32) bool {
	left := s.tail[len(s.tail)-1]
	ids := merge(&s.seam, v, piece[start-v.width(left):start+v.width(right)])
	return len(ids) == 2 && ids[0] == left && ids[1] == right
}

// whole merges a piece at once, however much memory it takes.
func (s *scratch) whole(v *vocabulary, piece string) int {
	n := len(merge(&s.window, v, piece))
	s.window = merger{} // too much to keep
	return n
}
