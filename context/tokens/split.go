package tokens

import (
	"unicode"
	"unicode/utf8"
)

// class is what a pattern asks of a character. The pattern of o200k_base is
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// of which the first that matches wins. The pattern of cl100k_base is
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//
// and then the same. That is the first one for characters whose case is not
// looked at, see plain, but for a contraction, which stands apart from its word.
type class uint8

const (
	upper   class = 1 << iota // Lu, Lt, Lm, Lo, M: what a word may begin with
	lower                     // Ll, Lm, Lo, M: what a word may end with
	mark                      // M: in words, yet no letter
	number                    // N
	space                     // \s
	newline                   // \r, \n
	trails                    // what may follow punctuation: \r, \n, /
)

func (c class) letter() bool      { return c&(upper|lower) != 0 && c&mark == 0 }
func (c class) punctuation() bool { return c&(space|number) == 0 && !c.letter() }

// leads says whether c may stand before the letters of a word.
func (c class) leads() bool { return c&(newline|number) == 0 && !c.letter() }

// plain is what the pattern of cl100k_base sees in c: letters of either case, no
// marks but punctuation, and no slash after it.
func (c class) plain() class {
	if c&mark != 0 {
		return 0
	}
	if c&newline == 0 {
		c &^= trails
	}
	if c&(upper|lower) != 0 {
		c |= upper | lower
	}
	return c
}

// classified is how many characters have their class in a table: the planes
// with living scripts and emoji.
const classified = 0x20000

// classify fills a table with the classes of a pattern.
func classify(table *[classified]class, p pattern) {
	for _, t := range []struct {
		class  class
		ranges []*unicode.RangeTable
	}{
		{upper, []*unicode.RangeTable{unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M}},
		{lower, []*unicode.RangeTable{unicode.Ll, unicode.Lm, unicode.Lo, unicode.M}},
		{mark, []*unicode.RangeTable{unicode.M}},
		{number, []*unicode.RangeTable{unicode.N}},
		{space, []*unicode.RangeTable{unicode.White_Space}},
	} {
		for _, ranges := range t.ranges {
			for _, r := range ranges.R16 {
				for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
					table[c] |= t.class
				}
			}
			for _, r := range ranges.R32 {
				for c := int(r.Lo); c <= min(int(r.Hi), classified-1); c += int(r.Stride) {
					table[c] |= t.class
				}
			}
		}
	}
	table['\r'] |= newline | trails
	table['\n'] |= newline | trails
	table['/'] |= trails
	if p == plain {
		for r, c := range table {
			table[r] = c.plain()
		}
	}
}

// far is the class of a character beyond the table.
func (v *vocabulary) far(r rune) class {
	if v.pattern == plain {
		return isFar(r).plain()
	}
	return isFar(r)
}

func isFar(r rune) class {
	switch {
	case unicode.Is(unicode.Lo, r):
		return upper | lower
	case unicode.Is(unicode.M, r):
		return upper | lower | mark
	case unicode.Is(unicode.Lu, r), unicode.Is(unicode.Lt, r):
		return upper
	case unicode.Is(unicode.Lm, r):
		return upper | lower
	case unicode.Is(unicode.Ll, r):
		return lower
	case unicode.Is(unicode.N, r):
		return number
	}
	return 0
}

// at is the class of the character at i and how many bytes it takes.
func (v *vocabulary) at(text string, i int) (class, int) {
	if b := text[i]; b < utf8.RuneSelf {
		return v.classes[b], 1
	}
	return v.wide(text, i)
}

func (v *vocabulary) wide(text string, i int) (class, int) {
	r, n := utf8.DecodeRuneInString(text[i:])
	if r < classified {
		return v.classes[r], n
	}
	return v.far(r), n
}

// split is where the piece that begins at i ends. No character is looked at
// more than a few times, whatever the text.
func (v *vocabulary) split(text string, i int) int {
	first, n := v.at(text, i)
	if first.letter() {
		end, _ := v.letters(text, i)
		if v.pattern == plain {
			return end
		}
		return contraction(text, end)
	}
	if first.leads() {
		if v.pattern == plain && text[i] == '\'' {
			if end := contraction(text, i); end > i {
				return end
			}
		}
		end, whole := v.letters(text, i+n)
		if !whole && first&mark != 0 {
			end, _ = v.letters(text, i)
		}
		if end > i+n || first&mark != 0 {
			if v.pattern == plain {
				return end
			}
			return contraction(text, end)
		}
	}
	if first&number != 0 {
		return v.digits(text, i)
	}
	return v.symbols(text, i)
}

// symbols is where punctuation ends that begins at i, or else white space.
func (v *vocabulary) symbols(text string, i int) int {
	from := i
	if text[i] == ' ' {
		from++
	}
	end := from
	for end < len(text) {
		c, n := v.at(text, end)
		if !c.punctuation() {
			break
		}
		end += n
	}
	if end == from {
		return v.spaces(text, i)
	}
	for end < len(text) && (text[end] < utf8.RuneSelf && v.classes[text[end]]&trails != 0) {
		end++
	}
	return end
}

// letters matches the letters of a word at i: by the first line of the pattern
// where it can, which whole tells, or else by the second. Without a match, end
// is i.
func (v *vocabulary) letters(text string, i int) (end int, whole bool) {
	ends := 0 // after the last of those that may begin or end a word
	var c class
	for end = i; end < len(text); {
		var n int
		if c, n = v.at(text, end); c&upper == 0 {
			break
		}
		if end += n; c&lower != 0 {
			ends = end
		}
	}
	if end < len(text) && c&lower != 0 && c&upper == 0 {
		for end < len(text) {
			c, n := v.at(text, end)
			if c&lower == 0 {
				break
			}
			end += n
		}
		return end, true
	}
	if ends > 0 {
		return ends, true
	}
	return end, false
}

// contraction is end, or the end of 's, 't, 're, 've, 'm, 'll or 'd there.
func contraction(text string, end int) int {
	if end+1 >= len(text) || text[end] != '\'' {
		return end
	}
	switch second := text[end+1] | 0x20; second {
	case 's', 't', 'm', 'd':
		return end + 2
	case 'r', 'v', 'l':
		third := byte('e')
		if second == 'l' {
			third = 'l'
		}
		if end+2 < len(text) && text[end+2]|0x20 == third {
			return end + 3
		}
	}
	return end
}

func (v *vocabulary) digits(text string, i int) int {
	for range 3 {
		if i == len(text) {
			break
		}
		c, n := v.at(text, i)
		if c&number == 0 {
			break
		}
		i += n
	}
	return i
}

// spaces ends after the last line break of the run, or else before the last
// space when something follows it, or else with the run.
func (v *vocabulary) spaces(text string, i int) int {
	end, last, broken := i, i, 0
	for end < len(text) {
		c, n := v.at(text, end)
		if c&space == 0 {
			break
		}
		last = end
		if end += n; c&newline != 0 {
			broken = end
		}
	}
	switch {
	case broken > 0:
		return broken
	case end < len(text) && last > i:
		return last
	}
	return end
}
