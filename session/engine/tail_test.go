package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/store"
	"belay/session/tools"
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
		events := []session.Event{session.TurnStarted{Prompt: session.Prompt{ID: fmt.Sprint("p", turn), Text: fmt.Sprint("prompt ", turn)}}}
		for i := range calls {
			call := fmt.Sprintf("c%d-%d", turn, i)
			events = append(events, session.ItemAdded{Item: models.Item{Kind: models.Call, CallID: call, Name: "read", Arguments: `{"path":"x"}`}},
				session.ToolEnded{CallID: call, Tool: "read", Output: output})
		}
		events = append(events, session.ItemAdded{Item: models.NewMessage(models.Assistant, "Done.")}, session.TurnEnded{Outcome: session.OutcomeDone})
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
		{"of one long turn the prompt and the end", 1, 600, "prompt 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, "", nil, func(t *testing.T, r *rig, _ session.ID) {
				id := long(t, r.store, r.project, tt.turns, tt.calls)
				if _, err := r.Open(t.Context(), id, false); err != nil {
					t.Fatal(err)
				}
				items := r.openSession(id).Items()
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
		})
	}
}

func BenchmarkOpenALongSession(b *testing.B) {
	dir := b.TempDir()
	s, err := store.Open(b.Context(), dir, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := &rig{data: dir, project: b.TempDir()}
	id := long(b, s, r.project, 500, 20) // 110 MB
	b.ReportAllocs()
	for b.Loop() {
		e := New(Options{Store: s, Tools: func(root string) (*tools.Set, error) { return tools.New(tools.Options{Root: root}) }, Program: "bench", Now: time.Now})
		if _, err := e.Open(context.Background(), id, false); err != nil {
			b.Fatal(err)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
