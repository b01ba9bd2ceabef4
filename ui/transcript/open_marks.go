package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// closeMarks ends the bold words and the span of code that are still being written, so
// that they look at once as they will.
func closeMarks(source string) string {
	begin := lastParagraph(source)
	text := source[begin:]
	bold, code := false, "" // the marks that are open
	for i := 0; i < len(text); {
		sign, rest := text[i], text[i:]
		run := 1
		if sign == '*' || sign == '`' {
			run = len(rest) - len(strings.TrimLeft(rest, rest[:1]))
		}
		last := run == len(rest)
		switch {
		case sign == '\\' && code == "":
			run++ // what follows is no mark
		case sign == '`' && code == "":
			if last || run > 2 {
				return source[:begin] + closed(text[:i], bold, "")
			}
			code = rest[:run]
		case sign == '`' && len(code) == run:
			code = ""
		case sign == '`' && last && run < len(code):
			return source[:begin] + closed(text[:i], bold, code)
		case sign == '*' && code == "" && last && (bold || opensBold(text[:i], "x")):
			return source[:begin] + closed(text[:i], bold, "")
		case sign == '*' && code == "" && run > 1:
			bold = !bold && opensBold(text[:i], rest[run:])
		}
		i += run
	}
	return source[:begin] + closed(text, bold, code)
}

func closed(text string, bold bool, code string) string {
	text += code
	if bold {
		text = strings.TrimRight(text, " \t\n") + "**"
	}
	return text
}

// opensBold reports whether asterisks between two texts begin bold words: 2**3 does not.
func opensBold(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	inWord := before != "" && last < utf8.RuneSelf && (unicode.IsLetter(last) || unicode.IsDigit(last))
	return !unicode.IsSpace(next) && !inWord
}

// lastParagraph is where the last paragraph, or item of a list, begins.
func lastParagraph(source string) int {
	for end := len(source); ; {
		begin := strings.LastIndexByte(source[:end], '\n') + 1
		line := strings.TrimSpace(source[begin:end])
		switch {
		case line == "" && end < len(source):
			return min(end+1, len(source))
		case begin == 0 || listItem(line):
			return begin
		}
		end = begin - 1
	}
}
