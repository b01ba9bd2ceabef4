package session

import (
	"fmt"
	"strings"
	"testing"

	"belay/models"
)

func TestHandoff(t *testing.T) {
	s := &Session{ID: "s1", Title: "refactor\nthe orders", Tier: models.Medium}
	s.FirstPrompt = "move the rules"
	s.Focus = []string{"orders"}
	s.PinnedNotes = []string{"prices are in cents"}
	s.Todos = []Todo{{Text: "map the module", Status: "done"}, {Text: "core logic", Status: "pending"}}
	s.ChangedFiles = []string{"orders/\x1bservice.go"}
	commands := s.Handoff("p1", "write the core logic", strings.Repeat("é", maxHandoffAnswer))
	var names []string
	for _, c := range commands {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", c), "session."))
	}
	if got, want := strings.Join(names, " "), "ChooseTier Focus PinNote Send"; got != want {
		t.Fatalf("commands = %s, want %s", got, want)
	}
	sent := commands[len(commands)-1].(Send).Prompt
	if sent.ID != "p1" || sent.Text != "write the core logic" || len(sent.Attachments) != 1 {
		t.Fatalf("sent %q, %q with %d attachments", sent.ID, sent.Text, len(sent.Attachments))
	}
	record := sent.Attachments[0].Text
	for _, want := range []string{
		"an earlier session, “refactor the orders”", "It began with: move the rules", " …\n",
		"- [x] map the module\n- [ ] core logic", "- orders/service.go",
	} {
		if !strings.Contains(record, want) {
			t.Errorf("the record lacks %q:\n%s", want, record)
		}
	}
	if len(record) > maxHandoffAnswer+600 {
		t.Errorf("the record takes %d bytes", len(record))
	}
	t.Run("a summary stands for the first prompt", func(t *testing.T) {
		s.Summary = "the rules move"
		if record := s.handoffRecord(""); !strings.Contains(record, "the rules move") ||
			strings.Contains(record, "It began") {
			t.Errorf("the record is:\n%s", record)
		}
	})
}
