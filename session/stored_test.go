package session

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// The files of testdata hold every field as the first belays wrote them. What
// older ones wrote must be read whole, and what this one writes by older ones.
func TestStoredStatesStayReadableInBothDirections(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	const empty = `{"id":"","project":"","title":"","created":"0001-01-01T00:00:00Z",` +
		`"updated":"0001-01-01T00:00:00Z","tier":"","mode":"","status":"","turn":0,` +
		`"usage":{"input":0,"cached":0,"output":0,"reasoning":0},"cost":0,"events":0}`
	for _, tt := range []struct {
		name  string
		data  []byte
		value any
	}{
		{"a session with every field", read("session-v1.json"), &Session{}},
		{"a state with every field", read("state-v1.json"), &State{}},
		{"an empty session", []byte(empty), &Session{}},
		{"an empty state", []byte(`{}`), &State{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := json.Unmarshal(tt.data, tt.value); err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(tt.value)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(tt.data, &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("encoded as\n%s, want the fields of\n%s", data, tt.data)
			}
		})
	}
}

func TestARewindBringsBackProgressAndAnUndoTheLastTurnAsWell(t *testing.T) {
	then := State{Progress: Progress{Summary: "then"}}
	now := Session{
		Status: Failed, LastTurn: LastTurn{PromptID: "p2", LastLine: "words"},
		Progress: Progress{Summary: "now", RewoundSpans: []RewoundSpan{{From: 1, Until: 3}}},
	}
	before := now.State()
	e := Rewinding{To: 5, Conversation: true, State: &then, Before: &before}
	now.applyRewound(9, Rewound{Rewinding: e})
	spans := []RewoundSpan{{From: 1, Until: 3}, {From: 5, Until: 9}}
	want := Session{Status: Idle, Progress: Progress{Summary: "then", RewoundSpans: spans}, LastRewind: &LastRewind{9, e}}
	if !reflect.DeepEqual(now, want) {
		t.Errorf("after a rewind it is %+v, want %+v", now, want)
	}
	undo := Rewinding{To: 5, Conversation: true, State: &before, Undo: 9}
	now.applyRewound(12, Rewound{Rewinding: undo})
	spans = []RewoundSpan{{From: 1, Until: 3}, {From: 9, Until: 12}}
	want = Session{
		Status: Failed, LastTurn: LastTurn{PromptID: "p2", LastLine: "words"},
		Progress:   Progress{Summary: "now", RewoundSpans: spans},
		LastRewind: &LastRewind{12, undo},
	}
	if !reflect.DeepEqual(now, want) {
		t.Errorf("after it was undone it is %+v, want %+v", now, want)
	}
}
