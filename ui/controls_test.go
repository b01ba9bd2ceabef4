package ui

import (
	"context"
	"encoding/base64"
	"testing"

	"belay/session"
)

func TestTheLastRequestIsCopiedForAShell(t *testing.T) {
	w := newFakeEngine()
	w.add("s1", "the job", turn("x"), said("words"))
	o := w.options()
	o.Open = "s1"
	o.Curl = func(_ context.Context, id session.ID) (string, error) { return "curl for " + string(id), nil }
	s := startScreen(t, 80, 24, o)
	s.wait("words")
	s.press("ctrl+p")
	s.wait("commands")
	s.press("as curl", "enter")
	s.wait("sent to the terminal's clipboard: 1 line")
	code := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte("curl for s1"))
	s.waitFor("what the terminal is given to copy", func(string) bool { return s.wroteLocked(code) })
}
