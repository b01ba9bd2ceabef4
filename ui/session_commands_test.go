package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"belay/session"
)

// TestCommandsAreTypedByName presses the keys of somebody who knows the name, half of
// it, or a wrong one.
func TestCommandsAreTypedByName(t *testing.T) {
	working := []session.Event{turn("port it")}
	t.Run("the name of a command stops nothing that runs", func(t *testing.T) {
		w, s := startOnSession(t, 100, 30, working...)
		s.wait("port it")
		for _, typed := range []string{"/status", "/cost"} {
			s.press(typed)
			s.wait("› " + typed)
			s.press("enter")
			s.wait("used     ")
		}
		if len(w.commands) > 0 {
			t.Errorf("the engine was told %s", <-w.commands)
		}
	})
	t.Run("the beginning of a name is enough", func(t *testing.T) {
		_, s := startOnSession(t, 100, 30, working...)
		s.press("/the")
		s.wait("/theme [NAME]")
		s.press("enter")
		s.wait("high contrast")
	})
	t.Run("tab completes, and another row can be chosen", func(t *testing.T) {
		_, s := startOnSession(t, 100, 30, working...)
		s.press("/st")
		s.wait("/stats", "/status", "/steps")
		s.press("down", "tab")
		s.wait("› /status")
		s.press("enter")
		s.wait("mode     edits")
	})
	t.Run("a name that nothing begins with calls nothing, and its words stay", func(t *testing.T) {
		w, s := startOnSession(t, 100, 30, working...)
		s.press("/stauts")
		s.wait("› /stauts")
		s.press("enter")
		s.wait("there is no /stauts; nearest: ", "/status", "› /stauts")
		s.press("\x15", "/mcp")
		s.wait("› /mcp")
		s.press("enter")
		s.wait("there is no /mcp", "› /mcp")
		if len(w.commands) > 0 {
			t.Errorf("the engine was told %s", <-w.commands)
		}
	})
	t.Run("a prompt that begins with a path, or with a space, is a prompt", func(t *testing.T) {
		for _, text := range []string{"/usr/bin/make fails", " /tmp is full"} {
			w, s := startOnSession(t, 100, 30, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
			s.wait("· done")
			s.press(text)
			s.wait(strings.TrimSpace(text))
			s.press("enter")
			if got := <-w.commands; got != "Send" {
				t.Errorf("%q was taken as %s", text, got)
			}
		}
	})
	t.Run("esc closes the list before it stops anything", func(t *testing.T) {
		w, s := startOnSession(t, 100, 30, working...)
		s.press("/ex")
		s.wait("/export")
		s.press("esc")
		s.gone("/export")
		if len(w.commands) > 0 {
			t.Errorf("the engine was told %s", <-w.commands)
		}
	})
	t.Run("belay's own commands run by name", func(t *testing.T) {
		w := newFakeEngine()
		w.add("s1", "", append(working, session.TurnEnded{Outcome: session.OutcomeDone})...)
		o := w.options()
		o.Open = "s1"
		o.RunTool = func(_ context.Context, command ...string) (string, error) { return fmt.Sprint("ran ", command), nil }
		s := startScreen(t, 100, 30, o)
		s.wait("· done")
		for typed, want := range map[string]string{
			"/doctor": "ran [doctor]", "/config": "ran [config]", "/permissions revoke 2": "ran [permissions revoke 2]",
			"/export a.md": "ran [sessions export s1 -o a.md]",
		} {
			s.press(typed)
			s.wait("› " + typed)
			s.press("enter")
			s.wait(want)
			s.gone("is running …")
		}
	})
}

func TestTheChangesAreReadOverTheWholeScreen(t *testing.T) {
	var patch strings.Builder
	patch.WriteString("diff --git a/long.go b/long.go\n--- a/long.go\n+++ b/long.go\n@@ -1,300 +1,300 @@\n")
	for i := range 300 {
		fmt.Fprintf(&patch, "-old line %d\n+new line %d\n", i, i)
	}
	w := newFakeEngine()
	o := w.options()
	o.Changes = func(context.Context) (string, error) { return patch.String(), nil }
	s := startScreen(t, 80, 24, o)
	s.wait("what is to be done?")
	s.press("/diff", "enter")
	s.wait("changes since the last commit", "new line 0")
	s.press("pgdn")
	s.wait("new line 15")
	s.press("G")
	s.wait("new line 299")
	s.press("g", "t")
	s.wait("old line 12")
	s.press("esc")
	s.gone("long.go")
}
