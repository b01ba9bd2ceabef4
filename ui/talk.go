package ui

import (
	"strings"

	"belay/session"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Talk is what was said in a session.
type Talk struct {
	ID     session.ID
	Answer string // the last whole one, as Markdown
	Whole  string // prompts and answers, as far back as they were loaded
	Begun  bool   // Whole has the beginning
}

// Farewell is what stays of a session in the terminal when the screen has closed, in
// lines that it does not have to break: "answer", "all" or "nothing".
func (t Talk) Farewell(what string, width int) string {
	text := ""
	switch what {
	case "answer":
		text = t.Answer
	case "all":
		if text = t.Whole; !t.Begun {
			text = locale.T("… the beginning: belay sessions show %s", string(t.ID)) + "\n\n" + text
		}
	}
	if text = strings.TrimSpace(theme.Plain(text)); text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		for _, row := range theme.Wrap(line, max(width, 20)) {
			b.WriteString(row + "\n")
		}
	}
	return b.String() + "\n"
}
