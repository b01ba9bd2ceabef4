package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/ui/locale"
	"belay/ui/theme"
)

// The bounds of passing words.
const (
	toastTime    = 6 * time.Second
	maxToastRows = 4
	maxOldToasts = 200
	minBesides   = 16 // cells of a line that the words leave
)

// toast is the words that are shown in passing, and those that were.
type toast struct {
	text string
	old  []oldToast // the newest last
	away bool       // nobody looks at the terminal: the words stay until somebody does
}

type oldToast struct {
	at   time.Time
	text string
}

// say shows words; the next key or a few seconds take them away.
func (t *toast) say(text string, now time.Time) tea.Cmd {
	t.text = locale.Said(theme.Line(text))
	t.old = append(t.old, oldToast{now, t.text})
	t.old = t.old[max(0, len(t.old)-maxOldToasts):]
	return t.fade()
}

func (t *toast) fade() tea.Cmd {
	text := t.text
	return tea.Tick(toastTime, func(time.Time) tea.Msg { return toastOffMsg{text} })
}

// expire takes words away, unless nobody has seen them.
func (t *toast) expire(text string) {
	if t.text == text && !t.away {
		t.text = ""
	}
}

// end takes words away that are no longer true, whoever has seen them.
func (t *toast) end(text string) {
	if text = locale.Said(theme.Line(text)); t.text == text {
		t.text = ""
	}
}

// look says whether somebody looks at the terminal.
func (t *toast) look(away bool) tea.Cmd {
	t.away = away
	if away || t.text == "" {
		return nil
	}
	return t.fade()
}

// inLine is the words as far as they fit at the end of a line beside what stands
// there; else they get lines of their own.
func (t *toast) inLine(area frame) string {
	if theme.Width(t.text) > area.width-minBesides {
		return ""
	}
	return t.text
}

// rows are the lines that the words take where they do not fit into one.
func (t *toast) rows(area frame) []string {
	if t.text == "" || t.inLine(area) != "" {
		return nil
	}
	lines := theme.Wrap(t.text, area.width-4)
	if len(lines) > maxToastRows {
		lines = lines[:maxToastRows]
		lines[maxToastRows-1] = theme.Cut(lines[maxToastRows-1], area.width-6) + " …"
	}
	for i, line := range lines {
		lines[i] = "  " + area.theme.Accent.Paint(line)
	}
	return lines
}

// list shows what was said before, the newest first.
func (t *toast) list() action {
	if len(t.old) == 0 {
		return message{"there were no messages yet"}
	}
	old := t.old
	return openDialog{&pager{title: locale.T("messages"), draw: func(th *theme.Theme, width int, _ bool) []string {
		var lines []string
		for i := len(old) - 1; i >= 0; i-- {
			for j, line := range theme.Wrap(old[i].text, width-7) {
				lead := th.Dim.Paint(old[i].at.Local().Format("15:04")) + "  "
				if j > 0 {
					lead = "       "
				}
				lines = append(lines, lead+line)
			}
		}
		return lines
	}}}
}

// runsText says that one of belay's own commands is at work.
func runsText(command string) string { return command + locale.T(" is running …") }
