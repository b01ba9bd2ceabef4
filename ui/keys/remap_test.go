package keys

import (
	"slices"
	"strings"
	"testing"
)

func TestKeysOfTheSettings(t *testing.T) {
	t.Cleanup(func() { Use(nil) })
	problems := Use(map[string][]string{
		"next-tier": {"ctrl+g"}, "capacity": {"F11", "alt+M"}, "session-list.rename": {"f2"}, "Compact": {"alt+k"},
		"leave": {"ctrl+q"}, "yes": {"j"}, "approval.down": {"down"}, "find": {},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, tt := range []struct{ got, want string }{
		{string(Global("ctrl+g")), string(NextTier)}, {string(Global("ctrl+t")), ""}, {string(Global("f11")), string(Capacity)},
		{string(Global("alt+M")), string(Capacity)}, {string(Global("f5")), ""}, {Label(Capacity), "F11"},
		{Of(Capacity).Show, "F11, alt+M, /capacity"}, {Of(Leave).Show, "ctrl+q ctrl+q"},
		{SessionList.Label(Rename), "F2"}, {string(SessionList.Action("ctrl+r")), ""}, {string(Global("f2")), string(Heavy)},
		{string(Global("alt+k")), string(Compact)}, {Of(Compact).Show, "alt+k, /compact [what to keep]"},
		{string(Approval.Action("j")), string(Yes)}, {string(Approval.Action("y")), ""}, {Approval.Label(Yes), "j"},
		{string(RetryBox.Action("2")), string(Heavy)}, {string(Global("ctrl+f")), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	if problems := Use(nil); len(problems) > 0 || Global("ctrl+t") != NextTier || Of(Leave).Show != "ctrl+c ctrl+c" {
		t.Errorf("the keys are not as before: %v", problems)
	}
}

func TestWhatIsWrongWithKeysIsSaid(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
		want string
	}{
		{"next-teir", []string{"ctrl+g"}, "is no action; did you mean next-tier?"},
		{"session-list.renam", []string{"f2"}, "is no action; did you mean session-list.rename?"},
		{"nowhere.rename", []string{"f2"}, "is no action; the parts of the screen are approval,"},
		{"next-tier", []string{"ctrl+plus"}, `"ctrl+plus" is no key; write keys like`},
		{"next-tier", []string{"f99x"}, `is no key`},
		{"next-tier", []string{"x"}, "x is written into the draft; take a key with ctrl+"},
		{"compact", []string{"space"}, "space is written into the draft"},
		{"next-tier", []string{"ctrl+s"}, `ctrl+s means "sessions" already; give one of the two`},
		{"next-tier", []string{"enter"}, `enter means "send" already`},
		{"yes", []string{"n"}, `n means "no" already`},
		{"session-list.fork", []string{"ctrl+r"}, `ctrl+r means "rename" already`},
		{"mention", []string{"ctrl+g"}, "is a sign in what you write"},
		{"leave", nil, "needs a key"},
	} {
		problems := Check(map[string][]string{tt.name: tt.keys})
		var text []string
		for _, p := range problems {
			text = append(text, p.Text+"; "+p.Hint)
			if p.Name != tt.name {
				t.Errorf("%s: told of %s", tt.name, p.Name)
			}
		}
		if !strings.Contains(strings.Join(text, "\n"), tt.want) {
			t.Errorf("%s = %v: %q, want %q", tt.name, tt.keys, text, tt.want)
		}
		if Global("ctrl+t") != NextTier {
			t.Fatal("a check changed the keys")
		}
	}
	if problems := Check(map[string][]string{"next-tier": {"ctrl+s"}, "sessions": {"ctrl+t"}}); len(problems) > 0 {
		t.Errorf("two actions cannot swap their keys: %v", problems)
	}
}

// What everybody has by default passes the same check.
func TestEveryActionCanBeGivenItsOwnKeys(t *testing.T) {
	for _, b := range original.table {
		if slices.Contains(fixed, b.Action) || len(b.Keys) == 0 {
			continue
		}
		if problems := Check(map[string][]string{nameOf(b.Action): b.Keys}); len(problems) > 0 {
			t.Errorf("%s: %v", b.Action, problems)
		}
	}
	for part, list := range original.parts {
		for _, r := range list {
			if problems := Check(map[string][]string{part + "." + nameOf(r.action): r.keys}); len(problems) > 0 {
				t.Errorf("%s %s: %v", part, r.action, problems)
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("next-tier", "ctrl+g")
	f.Add("a.b", "alt+shift+é")
	f.Add(".", "+")
	f.Fuzz(func(t *testing.T, name, key string) {
		for _, p := range Check(map[string][]string{name: {key}}) {
			if p.Name != name && !strings.Contains(p.Text, "already") {
				t.Errorf("told of %q", p.Name)
			}
		}
	})
}
