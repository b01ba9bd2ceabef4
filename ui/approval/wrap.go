package approval

import (
	"strings"
	"unicode/utf8"

	"belay/ui/theme"
)

// goesOn stands before what is still the line above.
const goesOn = "↪ "

// wrapped breaks what is asked about into lines of at most width cells. Nothing of it
// is left out: a line breaks behind a space where it has one, else anywhere.
func wrapped(th *theme.Theme, text string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		room, lead := width, ""
		for theme.Width(line) > room {
			head := theme.Hard(beginning(line, 64*room), room)[0]
			if at := strings.LastIndex(head, " ") + 1; at > len(head)/3 && len(head) < len(line) {
				head = head[:at]
			}
			out = append(out, lead+head)
			line = line[len(head):]
			room, lead = max(width-theme.Width(goesOn), 1), th.Faint.Paint(goesOn)
		}
		out = append(out, lead+line)
	}
	return out
}

// beginning is at most the first bytes of a line, and whole characters.
func beginning(line string, bytes int) string {
	if len(line) <= bytes {
		return line
	}
	for bytes > 0 && !utf8.RuneStart(line[bytes]) {
		bytes--
	}
	return line[:bytes]
}
