package keys

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"belay/ui/locale"
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
		if len(b.Keys) > 0 && utf8.RuneCountInString(b.Meaning()) > 57 {
			t.Errorf("%s: %q is cut off on a screen of 80 columns", b.Action, b.Does)
		}
	}
}

// markdown is the table for the README.
func markdown() string {
	var b strings.Builder
	b.WriteString(locale.T("| key | does | where |") + "\n|---|---|---|\n")
	for _, r := range Table {
		if r.Show != "" {
			b.WriteString("| " + r.Show + " | " + r.Meaning() + " | " + locale.T(string(r.Where)) + " |\n")
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
	t.Cleanup(func() { locale.Use(locale.English) })
	for name, language := range map[string]locale.Language{"README.md": locale.English, "README.zh.md": locale.Chinese} {
		locale.Use(language)
		readme, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(readme), markdown()) {
			t.Errorf("%s lacks the table of keys, which is now:\n%s", name, markdown())
		}
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
		{" /pin use tabs", "", ""},
		{"/redo", UndoRewind, ""}, {"/undo rewind", UndoRewind, ""}, {"/undo", Undo, ""}, {"/clear", New, ""}, {"/exit", Quit, ""},
		{"/drop use tabs", UnpinNote, "use tabs"},
		{"/model", Models, ""},
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
		for _, name := range Names(b.Action) {
			if before, ok := seen[name]; ok {
				t.Errorf("/%s means %s and %s", name, before, b.Action)
			}
			seen[name] = b.Action
		}
	}
}

// TestTheFieldsNamesAreThere lists what hands of other agents type.
func TestTheFieldsNamesAreThere(t *testing.T) {
	for _, name := range strings.Fields(`new clear sessions resume model status cost diff review init compact export copy undo
		rewind permissions config theme keys help quit exit doctor stats steps`) {
		if _, _, ok := Call("/" + name); !ok {
			t.Errorf("/%s is no command", name)
		}
	}
}

func TestUnknown(t *testing.T) {
	for line, want := range map[string]string{"/stauts": "stauts", "/stauts now": "stauts", "/": "", "/nothing\nat all": "nothing"} {
		if name, unknown := Unknown(line); !unknown || name != want {
			t.Errorf("Unknown(%q) = %q, %v", line, name, unknown)
		}
	}
	for _, line := range []string{"/status", "/usr/bin/make fails", "/etc/hosts", "/a.go is wrong", " /tmp is full", "words", "", "/ 2 is a half"} {
		if name, unknown := Unknown(line); unknown {
			t.Errorf("Unknown(%q) = %q: it is a prompt", line, name)
		}
	}
}

func TestMatchingNames(t *testing.T) {
	got := Matching("st")
	if len(got) < 3 || got[0].Name != "stats" || got[1].Name != "status" || got[2].Name != "steps" || !got[0].Begins {
		t.Errorf("Matching(st) = %+v", got)
	}
	if got := Matching("model"); len(got) == 0 || got[0].Name != "model" || len(got) > 1 && got[1].Name == "models" {
		t.Errorf("Matching(model) = %+v, want one name of the command", got)
	}
	for _, n := range Matching("mcp") {
		if n.Begins {
			t.Errorf("Matching(mcp) offers %q as if it began so", n.Name)
		}
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
