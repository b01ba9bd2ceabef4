package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
)

// TestAPasteWithoutMarksIsOneDraft gives lines as keys, as a terminal does that marks no
// paste: none of them is sent by itself.
func TestAPasteWithoutMarksIsOneDraft(t *testing.T) {
	now := noon
	o := newFakeEngine().options()
	o.Now = func() time.Time { return now }
	m := New(o)
	press := func(keys string, gap time.Duration) {
		for _, r := range keys {
			now = now.Add(gap)
			key := tea.KeyPressMsg{Code: r, Text: string(r)}
			if r == '\r' {
				key = tea.KeyPressMsg{Code: tea.KeyEnter}
			}
			m.Update(key)
		}
	}
	press("first\rsecond\r\rfourth", time.Millisecond)
	m.Update(heldEnterMsg{}) // the moment after each enter passes
	if got, want := m.composer.Draft(), "first\nsecond\n\nfourth"; got != want {
		t.Fatalf("the draft is %q, want %q", got, want)
	}
	press("\r", time.Second)
	if got := m.composer.Draft(); got != "" {
		t.Errorf("it was not sent: %q", got)
	}
	press("quick\r", time.Millisecond)
	if got := m.composer.Draft(); got != "quick" {
		t.Errorf("the draft is %q before anybody can know whether more comes", got)
	}
	m.Update(heldEnterMsg{})
	if got := m.composer.Draft(); got != "" {
		t.Errorf("the last enter was not sent: %q", got)
	}
	press("typed by a hand", 60*time.Millisecond)
	press("\r", 60*time.Millisecond)
	if got := m.composer.Draft(); got != "" {
		t.Errorf("a hand's enter was not sent: %q", got)
	}
}

func TestCtrlCClearsTheDraftFirst(t *testing.T) {
	w, s := startOnSession(t, 100, 24, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
	w.reply = obeyQuickly
	s.wait("· done")
	s.press("half a thought")
	s.wait("› half a thought")
	s.press("ctrl+c")
	s.wait("the draft is cleared", "what is to be done?")
	s.press("up")
	s.wait("› half a thought")
}

func TestCtrlDLeavesAnEmptyComposer(t *testing.T) {
	_, s := startOnSession(t, 100, 24, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
	s.wait("· done")
	s.press("words", "\x04")
	s.wait("› words")
	s.press("ctrl+c")
	s.gone("› words")
	s.press("\x04")
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	s.done <- nil
}

func TestMentionsOfFiles(t *testing.T) {
	w := newFakeEngine()
	w.add("s1", "", turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
	o := w.options()
	o.Open = "s1"
	o.ListFiles = func(context.Context, []string) ([]string, error) {
		return []string{"orders/pricing.go", "orders/service.go", "main.go"}, nil
	}
	s := startScreen(t, 100, 24, o)
	s.wait("· done")
	s.press("@main")
	s.wait("@main.go")
	s.press("tab", ":20-45 why")
	s.wait("› @main.go:20-45 why")
	s.press("ctrl+c")
	s.gone("why")
	s.press("@ord")
	s.wait("@orders/")
	s.press("tab")
	s.wait("@orders/pricing.go", "@orders/service.go")
	s.press("down", "tab")
	s.wait("› @orders/service.go")
	s.press("and @orders/nothing.go", "enter")
	s.wait("there is no file orders/nothing.go here")
	if got := <-w.commands; got != "Send" {
		t.Errorf("the engine was told %s", got)
	}
	if strings.Contains(s.wait("orders"), "@orders/ ") {
		t.Error("a space was put behind a folder")
	}
}
