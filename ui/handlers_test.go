package ui

import (
	"testing"

	"belay/ui/keys"
)

// TestEveryActionHasAHandler holds the table of keys and the map of handlers
// together. What is typed into the draft, and the answers to a question, belong
// to their parts.
func TestEveryActionHasAHandler(t *testing.T) {
	ofParts := map[keys.Action]bool{
		keys.NewLine: true, keys.Mention: true, keys.CommandName: true,
		keys.Yes: true, keys.Always: true, keys.No: true, keys.Edit: true, keys.Outside: true,
		keys.NextPage: true, keys.FullView: true,
	}
	actions := map[keys.Action]bool{}
	for _, b := range keys.Table {
		actions[b.Action] = true
	}
	for _, part := range []keys.Part{keys.Draft, keys.EmptyDraft, keys.RetryBox} {
		for _, a := range part.Actions() {
			if a != keys.Blur && a != keys.Ignore {
				actions[a] = true
			}
		}
	}
	m := New(newFakeEngine().options())
	for a := range actions {
		if m.handlers[a] == nil && !ofParts[a] {
			t.Errorf("%q has no handler", a)
		}
	}
	for a := range m.handlers {
		if !actions[a] {
			t.Errorf("a handler belongs to %q, which no table of keys has", a)
		}
		if ofParts[a] {
			t.Errorf("%q has a handler and belongs to a part", a)
		}
	}
}

// TestEveryActionEnds calls each handler before there is an engine, and with a
// session in view: none may fail or call itself.
func TestEveryActionEnds(t *testing.T) {
	for a := range New(newFakeEngine().options()).handlers {
		t.Run(string(a), func(t *testing.T) {
			New(newFakeEngine().options()).run(a, "")
			for _, text := range []string{"", "some text"} {
				m := longSession(1)
				m.run(a, text)
				_ = m.View()
			}
		})
	}
}
