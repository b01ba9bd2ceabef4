package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	"belay/session"
)

// TestAPasteWithoutMarksIsOneDraft sends lines as keys, as a terminal does that marks no
// paste: none of them is sent by itself.
func TestAPasteWithoutMarksIsOneDraft(t *testing.T) {
	w, o := newFakeEngine(), Options{}
	w.add("s1", "", turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
	o = w.options()
	o.Open = "s1"
	o.Now = time.Now // the gaps between keys are real
	s := startScreen(t, 80, 24, o)
	s.wait("· done")
	s.press("first line\rsecond line\r\rfourth line")
	text := s.wait("first line", "second line", "fourth line")
	if len(w.commands) > 0 {
		t.Fatalf("it was sent: %s\n%s", <-w.commands, text)
	}
	time.Sleep(20 * time.Millisecond) // as a hand would
	s.press("enter")
	if got := <-w.commands; got != "Send" {
		t.Errorf("the engine was told %s", got)
	}
	s.press("typed and sent\r")
	if got := <-w.commands; got != "Send" {
		t.Errorf("the engine was told %s", got)
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
