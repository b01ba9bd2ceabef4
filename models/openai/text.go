package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// looseString is a string field that may also hold null, or something else that is
// then ignored.
type looseString string

func (w *looseString) UnmarshalJSON(b []byte) error {
	if isString(b) {
		*w = looseString(strings.ToValidUTF8(unquote(b), "\uFFFD"))
	}
	return nil
}

// textPiece is a looseString that goes on in the next event, so that it may begin
// or end within a character. Half of a surrogate pair is kept in the three bytes
// that UTF-8 would have for it.
type textPiece string

func (p *textPiece) UnmarshalJSON(b []byte) error {
	if isString(b) {
		*p = textPiece(unquote(b))
	}
	return nil
}

// argumentsPiece is a textPiece that may also be the object that its text means.
type argumentsPiece string

func (p *argumentsPiece) UnmarshalJSON(b []byte) error {
	var compact bytes.Buffer
	switch {
	case isString(b):
		*p = argumentsPiece(unquote(b))
	case len(b) > 0 && b[0] == '{' && json.Compact(&compact, b) == nil:
		*p = argumentsPiece(compact.String())
	}
	return nil
}

func isString(b []byte) bool { return len(b) >= 2 && b[0] == '"' }

// joiner turns pieces into whole characters.
type joiner struct {
	rest string // the beginning of a character whose end has not come
}

// add gives the whole characters that the piece completes.
func (j *joiner) add(piece textPiece) string {
	whole := string(piece)
	if j.rest != "" || !utf8.ValidString(whole) {
		whole, j.rest = cutCharacter(joinHalves(j.rest + whole))
		whole = strings.ToValidUTF8(whole, "\uFFFD")
	}
	return whole
}

// end gives what stands for a character that was never completed.
func (j *joiner) end() string {
	if j.rest == "" {
		return ""
	}
	j.rest = ""
	return "\uFFFD"
}

// textBuilder is a text that comes in pieces.
type textBuilder struct {
	pieces joiner
	text   strings.Builder
}

func (t *textBuilder) add(piece textPiece) string {
	whole := t.pieces.add(piece)
	t.text.WriteString(whole)
	return whole
}

func (t *textBuilder) end() string {
	rest := t.pieces.end()
	t.text.WriteString(rest)
	return rest
}

// whole is all of the text.
func (t *textBuilder) whole() string {
	t.end()
	return t.text.String()
}

// The first byte of half of a surrogate pair, and the second byte's bounds.
const (
	halfLead = 0xED
	highMin  = 0xA0
	lowMin   = 0xB0
	lowMax   = 0xBF
)

func isHalf(s string, low, high byte) bool {
	return len(s) >= 3 && s[0] == halfLead && s[1] >= low && s[1] <= high
}

// joinHalves makes one character of two halves that stand together.
func joinHalves(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, halfLead)
		if i < 0 || i+6 > len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		if s = s[i:]; isHalf(s, highMin, lowMin-1) && isHalf(s[3:], lowMin, lowMax) {
			high := rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F) | 0xD000
			low := rune(s[4]&0x3F)<<6 | rune(s[5]&0x3F) | 0xD000
			b.WriteRune(utf16.DecodeRune(high, low))
			s = s[6:]
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
}

// cutCharacter cuts off the character at the end whose rest may follow.
func cutCharacter(s string) (whole, rest string) {
	for i := len(s) - 1; i >= 0 && i >= len(s)-utf8.UTFMax; i-- {
		if !utf8.RuneStart(s[i]) {
			continue
		}
		if !utf8.FullRuneInString(s[i:]) || len(s)-i == 3 && isHalf(s[i:], highMin, lowMin-1) {
			return s[:i], s[i:]
		}
		break
	}
	return s, ""
}

// unquote reads a string of a document that is known to be valid JSON.
// encoding/json would replace half of a surrogate pair, whose other half may
// stand in the next event.
func unquote(b []byte) string {
	b = b[1 : len(b)-1]
	i := bytes.IndexByte(b, '\\')
	if i < 0 {
		return string(b)
	}
	text := make([]byte, 0, len(b))
	for i >= 0 && i+1 < len(b) {
		var length int
		text = append(text, b[:i]...)
		text, length = appendEscape(text, b[i:])
		b = b[i+length:]
		i = bytes.IndexByte(b, '\\')
	}
	return string(append(text, b...))
}

// appendEscape adds what an escape means, and says how long it is.
func appendEscape(text, b []byte) (_ []byte, length int) {
	const letters, meanings = `bfnrt`, "\b\f\n\r\t"
	if i := strings.IndexByte(letters, b[1]); i >= 0 {
		return append(text, meanings[i]), 2
	}
	r := codeUnit(b)
	if r < 0 {
		return append(text, b[1]), 2
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(text, r), 6
	}
	if pair := utf16.DecodeRune(r, codeUnit(b[6:])); pair != utf8.RuneError {
		return utf8.AppendRune(text, pair), 12
	}
	return append(text, halfLead, byte(r>>6)&0x3F|0x80, byte(r)&0x3F|0x80), 6
}

// codeUnit reads \uXXXX. Below 0, it is none.
func codeUnit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	unit := rune(0)
	for _, digit := range b[2:6] {
		unit <<= 4
		switch {
		case digit >= '0' && digit <= '9':
			unit |= rune(digit - '0')
		default:
			unit |= rune(digit&^0x20-'A') + 10
		}
	}
	return unit
}

// replaceHalves replaces halves of surrogate pairs that stand alone in JSON:
// endpoints refuse to read what they themselves cut within a character.
func replaceHalves(raw []byte) []byte {
	var whole []byte // nil as long as nothing is replaced
	copied := 0
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		r := codeUnit(raw[i:])
		switch {
		case r < 0 || !utf16.IsSurrogate(r):
			i++
		case utf16.DecodeRune(r, codeUnit(raw[i+6:])) != utf8.RuneError:
			i += 11
		default:
			whole = append(append(whole, raw[copied:i]...), `\ufffd`...)
			i += 5
			copied = i + 1
		}
	}
	if whole == nil {
		return raw
	}
	return append(whole, raw[copied:]...)
}

// members goes through an object that is known to be valid JSON. It is many
// times faster than a map, for what comes with each piece of a reply.
func members(object []byte, each func(name string, value json.RawMessage)) {
	b := skipSpace(object)
	if len(b) == 0 || b[0] != '{' {
		return
	}
	for b = skipSpace(b[1:]); len(b) > 0 && b[0] == '"'; b = skipSpace(b) {
		end := valueLength(b)
		name := unquote(b[:end])
		b = skipSpace(b[end:])
		if len(b) == 0 || b[0] != ':' {
			return
		}
		b = skipSpace(b[1:])
		end = valueLength(b)
		each(name, b[:end:end])
		if b = skipSpace(b[end:]); len(b) == 0 || b[0] != ',' {
			return
		}
		b = skipSpace(b[1:])
	}
}

func skipSpace(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

// valueLength is how long the value is with which b begins.
func valueLength(b []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
			continue
		case c == '"':
			quoted = !quoted
		case quoted:
			continue
		case c == '{' || c == '[':
			depth++
			continue
		case c == '}' || c == ']':
			if depth == 0 {
				return i // of a number before it
			}
			depth--
		case depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			return i
		default:
			continue
		}
		if depth == 0 && !quoted {
			return i + 1
		}
	}
	return len(b)
}
