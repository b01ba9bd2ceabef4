package session

import (
	"bytes"
	"fmt"
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

func isInvisible(r rune) bool {
	return r >= 0x7f && (r <= 0x9f || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}
