package keys

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNoKeyHasTwoMeaningsInOnePlace(t *testing.T) {
	type spot struct {
		where Where
		key   string
	}
	seen := map[spot]Action{}
	for _, b := range Table {
		for _, k := range b.Keys {
			where := b.Where
			if where == Waiting {
				where = Anywhere // these keys never need the focus
			}
			if before, ok := seen[spot{where, k}]; ok {
				t.Errorf("%s means %s and %s", k, before, b.Action)
			}
			seen[spot{where, k}] = b.Action
		}
	}
}

func TestEveryRowCanBeReachedAndRead(t *testing.T) {
	for _, b := range Table {
		if len(b.Keys) == 0 && !b.Command {
			t.Errorf("%s has neither a key nor a place in the palette", b.Action)
		}
		if len(b.Keys) > 0 && b.Show == "" || b.Does == "" {
			t.Errorf("%s is not explained", b.Action)
		}
		if strings.Contains(b.Show+b.Does, "|") {
			t.Errorf("%s would break the Markdown table", b.Action)
		}
		if len(b.Keys) > 0 && utf8.RuneCountInString(b.Does) > 57 {
			t.Errorf("%s: %q is cut off on a screen of 80 columns", b.Action, b.Does)
		}
	}
}

// markdown is the table for the README.
func markdown() string {
	var b strings.Builder
	b.WriteString("| key | does | where |\n|---|---|---|\n")
	for _, r := range Table {
		if r.Show != "" {
			b.WriteString("| " + r.Show + " | " + r.Does + " | " + string(r.Where) + " |\n")
		}
	}
	return b.String()
}

func TestGlobal(t *testing.T) {
	for key, want := range map[string]Action{"f3": Medium, "alt+1": Heavy, "f8": TryNow, "esc": Stop, "y": "", "?": "",
		"tab": "", "enter": ""} {
		if got := Global(key); got != want {
			t.Errorf("Global(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestTheReadmeHasThisTable(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), markdown()) {
		t.Errorf("README.md lacks the table of keys, which is now:\n%s", markdown())
	}
}

func TestCommandsAreCalledByName(t *testing.T) {
	for _, tt := range []struct {
		line string
		want Action
		rest string
	}{
		{"/compact", Compact, ""},
		{"/compact the names\nof the API ", Compact, "the names\nof the API"},
		{"/Hand over port the tests", Handoff, "port the tests"},
		{" /pin use tabs", PinNote, "use tabs"},
		{"/drop use tabs", UnpinNote, "use tabs"},
		{"/model", Capacity, ""},
		{"/help", Help, ""},
		{"/compactor", "", ""},
		{"/hand", "", ""},
		{"/", "", ""},
		{"/usr/bin is broken", "", ""},
		{"please /trim", "", ""},
	} {
		if a, rest, ok := Call(tt.line); a != tt.want || rest != tt.rest || ok != (tt.want != "") {
			t.Errorf("Call(%q) = %q, %q, %v; want %q, %q", tt.line, a, rest, ok, tt.want, tt.rest)
		}
	}
}

func TestNoNameIsUsedTwice(t *testing.T) {
	seen := map[string]Action{}
	for _, b := range Table {
		name := Name(b.Action)
		if before, ok := seen[name]; ok && name != "" {
			t.Errorf("/%s means %s and %s", name, before, b.Action)
		}
		seen[name] = b.Action
	}
}

func FuzzCall(f *testing.F) {
	f.Add("/compact x")
	f.Add("/hand over\tİ")
	f.Fuzz(func(t *testing.T, line string) {
		if a, rest, ok := Call(line); ok && (a == "" || !strings.HasSuffix(strings.TrimSpace(line), rest)) {
			t.Errorf("Call(%q) = %q, %q", line, a, rest)
		}
	})
}
