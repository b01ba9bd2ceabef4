package theme

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Sanitize makes foreign text (of models, tools, files, titles) safe to show:
// escape sequences are removed, and so are control characters other than line
// feed and tab, and characters that reorder or hide text. Carriage returns
// become line feeds, so that nothing overwrites what stands before it.
func Sanitize(text string) string {
	if isSafe(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsFunc(text, isEscape) {
		text = ansi.Strip(text)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r', r == '\u2028', r == '\u2029':
			return '\n'
		case isUnsafe(r):
			return -1
		}
		return r
	}, text)
}

// Line is Sanitize for a place of one line: line feeds and tabs become spaces.
func Line(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Sanitize(s)))
}

// Plain is Sanitize with tabs opened to spaces, as a layout in cells needs it.
func Plain(s string) string {
	return strings.ReplaceAll(Sanitize(s), "\t", "    ")
}

// Visible shows what Sanitize would remove. What a person is asked to allow
// must not have parts that only the computer sees.
func Visible(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	if isSafe(s) && !strings.ContainsFunc(s, isInvisible) {
		return strings.ReplaceAll(s, "\t", "    ")
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteString("    ")
		case r == '\n' || !isUnsafe(r) && !isInvisible(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// isInvisible says whether a character takes no room on the screen, or looks like a
// space that is none to a shell.
func isInvisible(r rune) bool {
	return r > 0x7f && (r == '\u2800' || r == '\u034f' || unicode.In(r, unicode.Cf, unicode.Zs,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

// Rendered cleans the output of a Markdown renderer, which may have decoded
// entities into control characters: colours and links stay, all else that is
// not text goes.
func Rendered(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\t", "    ")
	var b strings.Builder
	b.Grow(len(text))
	var state byte
	parser := ansi.GetParser()
	defer ansi.PutParser(parser)
	for len(text) > 0 {
		seq, _, size, next := ansi.DecodeSequence(text, state, parser)
		state = next
		switch {
		case ansi.HasCsiPrefix(seq):
			if parser.Command() == 'm' && strings.IndexFunc(seq[1:], isUnsafe) < 0 {
				b.WriteString(seq)
			}
		case ansi.HasOscPrefix(seq):
			if parser.Command() == 8 && isSafeLink(seq) {
				b.WriteString(seq)
			}
		case ansi.HasEscPrefix(seq), ansi.HasDcsPrefix(seq), ansi.HasApcPrefix(seq):
		default:
			b.WriteString(strings.Map(func(r rune) rune {
				if isUnsafe(r) && r != '\n' {
					return -1
				}
				return r
			}, seq))
		}
		text = text[size:]
	}
	return b.String()
}

// isSafeLink reports whether a hyperlink (OSC 8) ends one, or leads to a place that
// opening can do no harm at: a file or a scheme of some program may be run.
func isSafeLink(seq string) bool {
	body := strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(seq, "\x1b]"), "\u009d"), "\x07\x1b\\")
	parts := strings.SplitN(body, ";", 3)
	if len(parts) < 3 || strings.ContainsFunc(body, func(r rune) bool { return isUnsafe(r) || r == '\n' || r == '\t' }) {
		return false
	}
	address := strings.ToLower(parts[2])
	return address == "" || strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") ||
		strings.HasPrefix(address, "mailto:")
}

// isSafe reports whether s may pass as it is; most text does.
func isSafe(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || isUnsafe(r) {
			return false
		}
		i += n
	}
	return true
}

func isEscape(r rune) bool { return r == 0x1b || r >= 0x80 && r <= 0x9f }

func isUnsafe(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true // they reorder text
	case r == 0x2028, r == 0x2029:
		return true // they break lines where a layout does not expect it
	case r >= 0xe0000 && r <= 0xe007f:
		return true // they are seen by models only
	}
	return r > 0x7f && slices.Contains(blanks, r)
}

// blanks show nothing, and terminals do not agree on how many cells that takes: soft
// hyphen, grapheme joiner, fillers of Hangul, vowels of Khmer that are not written,
// spaces and operators of no width. Joiners (U+200C, U+200D) stay: scripts and emoji
// are written with them.
var blanks = []rune{
	0xad, 0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x200b, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0x3164, 0xfeff,
	0xffa0, 0xfff9, 0xfffa, 0xfffb,
}
