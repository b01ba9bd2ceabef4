package store

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
)

func readFile(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return data
}

func TestExportsHoldTheWholeSession(t *testing.T) {
	s := open(t, t.TempDir())
	id := create(t, s, "/p").ID
	call := session.ToolEnded{Tool: "shell", Title: "cat x", Output: "```\n\x1b]52;c;evil\x07fence\n```"}
	add(
		t,
		s,
		id,
		prompt("fix\nit"),
		says("done \u202e so"),
		call,
		session.Unknown{Type: "future", Data: []byte(`{"a":1}`)},
		session.TurnEnded{
			Outcome: session.OutcomeFailed,
			Fault:   &models.Fault{Kind: models.KindCapacity, Message: "full"},
		},
	)
	for range 200 {
		add(t, s, id, session.Noted{Text: "n"})
	}
	var md bytes.Buffer
	if err := s.Export(ctx, id, &md, "markdown"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# fix\n", "fix\nit\n", "done \\u202e so\n", "**shell** cat x",
		"\n````\n```\n]52;c;evilfence\n```\n````\n", "failed. capacity: full"} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("markdown lacks %q:\n%.1000s", want, md.String())
		}
	}
	if strings.ContainsAny(md.String(), "\x1b\x07\u202e") {
		t.Error("markdown holds signs that steer a terminal")
	}
	var jsonl bytes.Buffer
	if err := s.Export(ctx, id, &jsonl, "jsonl"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(jsonl.String()), "\n")
	if len(lines) != 206 {
		t.Fatalf("jsonl has %d lines, want 206", len(lines))
	}
	for i, text := range lines {
		var l exportedEvent
		if err := json.Unmarshal([]byte(text), &l); err != nil || l.Seq != int64(i+1) || l.Version != 1 ||
			l.Session != id {
			t.Fatalf("line %d = %s, %v", i+1, text, err)
		}
		if _, err := session.Decode(l.Type, l.Data); err != nil {
			t.Errorf("Decode(line %d) = %v", i+1, err)
		}
	}
	if err := s.Export(ctx, id, &md, "docx"); err == nil || err.(*Error).Hint() == "" {
		t.Errorf("Export(docx) = %v, want an error with a hint", err)
	}
}

func TestAnExportSaysWhatWasTakenBack(t *testing.T) {
	s := open(t, t.TempDir())
	id := create(t, s, "/p").ID
	add(t, s, id, prompt("one"), says("first"), prompt("two"), says("second"))
	back := session.Rewinding{To: 3, Conversation: true, State: &session.State{}, Before: &session.State{}}
	add(t, s, id, back, session.Rewound{Rewinding: back}, prompt("three"))
	var md bytes.Buffer
	if err := s.Export(ctx, id, &md, "markdown"); err != nil {
		t.Fatal(err)
	}
	rest := md.String()
	for _, want := range []string{"first", "*From here on, this was taken back by a rewind:*", "two", "second",
		"*Up to here, it was taken back.*", "*Rewound: ", "three"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not in its place:\n%s", want, md.String())
		}
		rest = after
	}
	if strings.Contains(rest, "taken back") {
		t.Errorf("said too often:\n%s", md.String())
	}
}

func TestWhatATurnTookWhileItRanIsFoundLikeAPrompt(t *testing.T) {
	s := open(t, t.TempDir())
	id := create(t, s, "/p").ID
	taken := session.PromptTaken{Prompt: session.Prompt{ID: "q", Text: "mind the gap"}}
	add(t, s, id, prompt("fix it"), taken, says("done"), session.TurnEnded{Outcome: session.OutcomeDone})
	if got, err := s.Prompts(ctx, "/p"); err != nil || strings.Join(got, ", ") != "fix it, mind the gap" {
		t.Errorf("Prompts() = %q, %v", got, err)
	}
	if hits, err := s.Search(ctx, "the gap", session.Filter{}); err != nil || len(hits) != 1 {
		t.Errorf("Search() finds %d, %v; want 1", len(hits), err)
	}
	var b bytes.Buffer
	if err := s.Export(ctx, id, &b, "markdown"); err != nil || !strings.Contains(b.String(), "mind the gap") {
		t.Errorf("Export() = %v\n%s", err, b.String())
	}
}
