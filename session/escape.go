package session

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeInvisible writes what a terminal obeys or does not show (C1 controls,
// bidi and other format characters, tags, variation selectors) as \u escapes in a
// text of JSON, where they can stand in strings alone. Who decodes it gets the
// same value as before.
func EscapeInvisible(text []byte) []byte {
	at := bytes.IndexFunc(text, isInvisible)
	if at < 0 {
		return text
	}
	out := append(make([]byte, 0, len(text)+64), text[:at]...)
	for rest := text[at:]; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch high, low := utf16.EncodeRune(r); {
		case !isInvisible(r):
			out = append(out, rest[:size]...)
		case high != unicode.ReplacementChar:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		rest = rest[size:]
	}
	return out
}

// EscapeText writes the same characters as \u escapes into a text for people. What
// joins the signs of an emoji or of a script, or chooses between their forms, stays:
// there it is seen.
func EscapeText(text string) string {
	if strings.IndexFunc(text, isInvisible) < 0 {
		return text
	}
	var b strings.Builder
	before := ' '
	for _, r := range text {
		switch {
		case !isInvisible(r), joins(before, r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		before = r
	}
	return b.String()
}

// joins says whether an invisible character belongs to the one before: one zero width
// joiner or one selector of a text or emoji form. Rows of them say something else.
func joins(before, r rune) bool {
	switch r {
	case 0x200c, 0x200d, 0xfe0e, 0xfe0f:
		return unicode.In(before, unicode.So, unicode.Sk, unicode.Lo, unicode.M) && !isInvisible(before) ||
			r == 0x200d && before == 0xfe0f
	}
	return false
}

func isInvisible(r rune) bool {
	return r >= 0x7f && (r <= 0x9f || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}
