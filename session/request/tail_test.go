package request

import (
	"fmt"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
	"belay/session/store"
)

// long makes a session whose log is far longer than what a request can hold:
// many turns, or one.
func long(t testing.TB, s *store.Store, project string, turns, calls int) session.ID {
	t.Helper()
	head, err := s.Create(t.Context(), session.Created{Project: project, Tier: models.Heavy, Mode: session.Edits})
	if err != nil {
		t.Fatal(err)
	}
	output := strings.Repeat("a line of some output\n", 500)
	for turn := 1; turn <= turns; turn++ {
		events := []session.Event{
			session.TurnStarted{Prompt: session.Prompt{ID: fmt.Sprint("p", turn), Text: fmt.Sprint("prompt ", turn)}},
		}
		for i := range calls {
			call := fmt.Sprintf("c%d-%d", turn, i)
			events = append(
				events,
				session.ItemAdded{Item: models.Item{Kind: models.Call, CallID: call, Name: "read", Arguments: `{"path":"x"}`}},
				session.ToolEnded{CallID: call, Tool: "read", Output: output},
			)
		}
		events = append(events, session.ItemAdded{Item: models.NewMessage(models.Assistant, "Done.")},
			session.TurnEnded{Outcome: session.OutcomeDone})
		if _, _, err := s.Append(t.Context(), head.ID, turn, events...); err != nil {
			t.Fatal(err)
		}
	}
	return head.ID
}

func TestTheTailOfALongLogBeginsWithAPrompt(t *testing.T) {
	for _, tt := range []struct {
		name         string
		turns, calls int
		first        string
	}{
		{"a short log is whole", 3, 2, "prompt 1"},
		{"of many turns the last ones, whole", 60, 10, ""},
		{"of one long turn the prompt and the end", 1, 700, "prompt 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := openStore(t)
			id := long(t, st, t.TempDir(), tt.turns, tt.calls)
			state, err := st.Load(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			conversation, err := ReadConversation(t.Context(), st, state)
			if err != nil {
				t.Fatal(err)
			}
			items := conversation.Items()
			if tt.turns*tt.calls > 100 {
				if items[0].Role != models.Developer {
					t.Errorf("begins with %v, want a note that something was left out", items[0])
				}
				items = items[1:]
			}
			if it := items[0]; it.Role != models.User || tt.first != "" && it.Text != tt.first {
				t.Errorf("begins with %+v, want a prompt %s", it, tt.first)
			}
			size, calls := 0, map[string]bool{}
			for _, it := range items {
				size += len(it.Text)
				if it.Kind == models.Call {
					calls[it.CallID] = true
				} else if it.Kind == models.Output && !calls[it.CallID] && tt.turns > 1 {
					t.Errorf("the output of %s has no call", it.CallID)
				}
			}
			if size > 2*tailBytes {
				t.Errorf("%d bytes were read, the bound is %d", size, tailBytes)
			}
		})
	}
}

func openStore(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func BenchmarkReadConversation(b *testing.B) {
	st := openStore(b)
	id := long(b, st, b.TempDir(), 500, 20) // 110 MB
	state, err := st.Load(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		conversation, err := ReadConversation(b.Context(), st, state)
		if err != nil {
			b.Fatal(err)
		}
		if len(conversation.Items()) == 0 {
			b.Fatal("the tail is empty")
		}
	}
}
