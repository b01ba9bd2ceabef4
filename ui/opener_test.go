package ui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"belay/session"
)

// To make a long session ours takes longer than to show it.
func TestASessionIsReadAndTalkedToWhileItIsOpened(t *testing.T) {
	w := newFakeEngine()
	w.add("s1", "", done(turn("the job"), said("All of it is done."))...)
	w.opening = make(chan struct{})
	told := make(chan session.Command, 1)
	w.reply = func(_ *fakeEngine, id session.ID, c session.Command) {
		if id == "s1" {
			told <- c
		}
	}
	o := w.options()
	o.Open = "s1"
	s := startScreen(t, 80, 24, o)
	s.wait("All of it is done.")
	s.press("and now the docs", "enter")
	if c, ok := (<-told).(session.Send); !ok || c.Prompt.Text != "and now the docs" {
		t.Errorf("the session was told %+v", c)
	}
	close(w.opening)
	s.wait("All of it is done.")
}

// What is sent before the session is in view belongs to it, and not to a new one.
func TestWhatIsSentBeforeTheSessionIsThereIsSentToIt(t *testing.T) {
	w := newFakeEngine()
	w.add("s1", "", turn("the job"), said("half of it")) // live: it is not shown ahead
	w.opening = make(chan struct{})
	told := make(chan session.ID, 1)
	w.reply = func(_ *fakeEngine, id session.ID, c session.Command) {
		if _, ok := c.(session.Send); ok {
			told <- id
		}
	}
	o := w.options()
	o.Open = "s1"
	s := startScreen(t, 80, 24, o)
	s.wait("what is to be done?")
	s.press("and now the docs")
	s.wait("› and now the docs")
	s.press("enter")
	s.wait("what is to be done?")
	close(w.opening)
	if id := <-told; id != "s1" {
		t.Errorf("the prompt went to session %q", id)
	}
}

func TestASessionThatCannotBeOpenedIsNotShownAsIfItWere(t *testing.T) {
	for name, err := range map[string]error{
		"the folder is gone": errors.New("find the workspace: it is gone"),
		"open elsewhere":     fmt.Errorf("open: %w", ownedError{errors.New("it has a writer")}),
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeEngine()
			w.add("s1", "", done(turn("the job"), said("All of it is done."))...)
			w.opening = make(chan struct{})
			w.openErr = err
			o := w.options()
			o.Open = "s1"
			s := startScreen(t, 80, 24, o)
			s.wait("All of it is done.")
			close(w.opening)
			s.waitFor("what stands in its way", func(text string) bool {
				return !strings.Contains(text, "All of it is done.") &&
					(strings.Contains(text, "it is gone") || strings.Contains(text, "open elsewhere"))
			})
		})
	}
}
