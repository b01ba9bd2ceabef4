package ui

import (
	"strings"
	"testing"

	"belay/session"
)

func TestAnAlertIsShownAndTheDesktopTold(t *testing.T) {
	w, s := startOnSession(t, 80, 24, turn("the job"))
	s.wait("the job")
	w.published <- []session.Record{{Event: session.Alerted{Text: "82 % of this day's budget is spent\x1b[31m",
		Screen:  true,
		Desktop: true}}}
	s.wait("82 % of this day's budget is spent")
	s.waitFor("a notification", func(string) bool {
		return strings.Contains(s.raw.String(), "\x1b]9;belay: 82 % of this day's budget is spent")
	})
	if s.wrote("spent\x1b[31m") {
		t.Error("an alert reached the terminal as it was")
	}
}
