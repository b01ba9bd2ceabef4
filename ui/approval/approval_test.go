package approval

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/session"
	"belay/ui/theme"
)

var call = session.Approval{CallID: "c1", Tool: "shell", Title: "make", Preview: "make",
	Args: `{"command":"make","dir":"x"}`, Always: "make, here"}

func pane() (*Pane, *time.Time) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	clock := &now
	p := New(theme.New("dark", true, colorprofile.TrueColor), func() time.Time { return *clock }, nil)
	p.Ask([]session.Approval{call})
	p.View(80, 12, Focused)
	return p, clock
}

func TestTheGuard(t *testing.T) {
	p, now := pane()
	*now = now.Add(Guard - 1)
	if got := p.Key("y", "y"); got != Early {
		t.Fatalf("within the guard: %v, want Early", got)
	}
	*now = now.Add(Guard - 1)
	if got := p.Key("y", "y"); got != Early {
		t.Fatalf("a key restarts the guard: %v, want Early", got)
	}
	*now = now.Add(Guard)
	if got := p.Key("y", "y"); got != Answer || !p.Reply().Allow || p.Reply().CallID != "c1" {
		t.Fatalf("after the guard: %v %+v, want the call allowed", got, p.Reply())
	}
	t.Run("the next question has its own", func(t *testing.T) {
		p.Ask([]session.Approval{{CallID: "c2"}})
		if got := p.Key("y", "y"); got != Early {
			t.Errorf("got %v, want Early", got)
		}
	})
}

func TestWhatWasNotReadNeedsASecondYes(t *testing.T) {
	long := call
	long.CallID, long.Preview = "long", strings.Repeat("echo a word\n", 40)
	for name, tt := range map[string]struct {
		keys string // before the yes
		want Verdict
	}{
		"the beginning":        {"", Handled},
		"one page":             {" ", Handled},
		"the end":              {"G", Answer},
		"the end by pages":     {"      ", Answer},
		"the end, and back":    {"Gg", Answer},
		"an always broken off": {"a", Handled},
		"a second yes":         {"y", Answer},
	} {
		t.Run(name, func(t *testing.T) {
			p, now := pane()
			p.Ask([]session.Approval{long})
			p.View(80, 16, Focused)
			*now = now.Add(Guard)
			for _, key := range tt.keys {
				name := string(key)
				if key == ' ' {
					name = "space"
				}
				p.Key(name, string(key))
				p.View(80, 16, Focused)
			}
			if got := p.Key("y", "y"); got != tt.want {
				t.Errorf("y = %v, want %v", got, tt.want)
			}
			view := ansi.Strip(strings.Join(p.View(80, 16, Focused), "\n"))
			if tt.want == Handled && !strings.Contains(view, "unread") {
				t.Errorf("it does not say that it is unread:\n%s", view)
			}
		})
	}
	t.Run("what lay under a dialog is not read", func(t *testing.T) {
		p, now := pane()
		p.Ask([]session.Approval{{CallID: "c2", Preview: "make"}})
		p.View(80, 16, Covered)
		*now = now.Add(Guard)
		if got := p.Key("y", "y"); got != Handled {
			t.Errorf("y = %v, want Handled", got)
		}
	})
}

func TestACommandIsWrappedAtItsSpaces(t *testing.T) {
	th := theme.New("dark", true, colorprofile.TrueColor)
	for text, want := range map[string]string{
		"go test ./session/... -run X": "go test \n↪ ./session/... \n↪ -run X",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaa": "aaaaaaaaaaaaaaaaaa\n↪ aaaaaaaaaa",
		"表表表表表表表表表表 表":                 "表表表表表表表表表\n↪ 表 表",
		"one\ntwo":                     "one\ntwo",
	} {
		if got := ansi.Strip(strings.Join(wrapped(th, text, 18), "\n")); got != want {
			t.Errorf("%q is\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestAlwaysNeedsASecondPress(t *testing.T) {
	p, now := pane()
	*now = now.Add(Guard)
	if got := p.Key("a", "a"); got != Handled {
		t.Fatalf("first a: %v, want Handled", got)
	}
	if view := ansi.Strip(strings.Join(p.View(80, 12, Focused), "\n")); !strings.Contains(view, "always: make, here") {
		t.Errorf("the scope is not shown:\n%s", view)
	}
	p.Key("esc", "")
	if got := p.Key("a", "a"); got != Handled {
		t.Fatalf("a after esc: %v, want Handled: the confirmation begins anew", got)
	}
	if got := p.Key("a", "a"); got != Answer || !p.Reply().Always {
		t.Fatalf("second a: %v %+v, want allowed always", got, p.Reply())
	}
}

func TestTheTextOfACallIsEditedAsItStands(t *testing.T) {
	for _, tt := range []struct{ args, shown, edited, want string }{
		{`{"command":"make","dir":"x","timeout":12345678901234567}`, "make", "make -n",
			`{"command":"make -n","dir":"x","timeout":12345678901234567}`},
		{`{"path":"a","content":"one\ntwo\n"}`, "one\ntwo\n", "<b>", `{"content":"\u003cb\u003e","path":"a"}`},
		{`{"patch":"*** Begin Patch\n"}`, "*** Begin Patch\n", "x", `{"patch":"x"}`},
		{`{"path":"a","edits":[{"old":"x","new":"y"}]}`, "y", "z", `{"edits":[{"new":"z","old":"x"}],"path":"a"}`},
		{`{"path":"a"}`, "{\n  \"path\": \"a\"\n}", `{"path":"b"}`, `{"path":"b"}`},
		{`{"path":"a"}`, "{\n  \"path\": \"a\"\n}", `{"path":`, ""},
	} {
		p, _ := pane()
		p.Ask([]session.Approval{{CallID: "c3", Args: tt.args}})
		if got := p.Editable(); got != tt.shown {
			t.Errorf("%s: Editable = %q, want %q", tt.args, got, tt.shown)
		}
		got, err := p.Edited(tt.edited)
		if (err != nil) != (tt.want == "") || got.Args != tt.want || !got.Allow || got.CallID != "c3" {
			t.Errorf("%s: Edited = %+v, %v; want %s", tt.args, got, err, tt.want)
		}
	}
}

func TestAnUnknownOutcomeHasThreeWaysOn(t *testing.T) {
	for key, want := range map[string]session.Answer{"y": {CallID: "c", Allow: true},
		"d": {CallID: "c", Outcome: true}, "n": {CallID: "c"}} {
		p, now := pane()
		p.Ask([]session.Approval{{CallID: "c", Tool: "shell", Title: "make deploy", Args: `{"command":"make deploy"}`,
			Reason: "it may have been carried out", UnknownOutcome: true, Output: "uploading 3 of 9\n"}})
		text := ansi.Strip(strings.Join(p.View(80, 14, Focused), "\n"))
		for _, w := range []string{"unknown outcome: shell make deploy", "it had said until then:", "uploading 3 of 9",
			"y run it again", "d it happened", "n tell the model"} {
			if !strings.Contains(text, w) {
				t.Errorf("%q is missing:\n%s", w, text)
			}
		}
		*now = now.Add(Guard)
		if v := p.Key(key, key); v != Answer || p.Reply() != want {
			t.Errorf("%s: verdict %v, %+v; want %+v", key, v, p.Reply(), want)
		}
	}
}

func TestOutsideTheSandboxNeedsASecondPress(t *testing.T) {
	p, now := pane()
	asked := call
	asked.CallID, asked.Outside, asked.Reach = "c9", true, "this folder and caches; no network"
	p.Ask([]session.Approval{asked})
	*now = now.Add(Guard)
	for width, want := range map[int]string{54: "o outside", 74: "o outside", 114: "o outside"} {
		view := ansi.Strip(strings.Join(p.View(width, 10, Focused), "\n"))
		if !strings.Contains(view, want) || !strings.Contains(view, "it reaches this folder and caches") {
			t.Errorf("width %d:\n%s", width, view)
		}
	}
	if got := p.Key("o", "o"); got != Handled {
		t.Fatalf("first o: %v, want Handled", got)
	}
	if view := strings.Join(p.View(54, 10, Focused), "\n"); !strings.Contains(ansi.Strip(view), "o yes, outside") {
		t.Errorf("the second press is not named:\n%s", view)
	}
	p.Key("esc", "")
	if got := p.Key("o", "o"); got != Handled {
		t.Fatalf("o after esc: %v, want Handled: the confirmation begins anew", got)
	}
	if got := p.Key("o", "o"); got != Answer || !p.Reply().Outside || !p.Reply().Allow || p.Reply().Always {
		t.Fatalf("second o: %v %+v", got, p.Reply())
	}
	t.Run("where it is not offered the key does nothing", func(t *testing.T) {
		p, now := pane()
		*now = now.Add(Guard)
		for range 2 {
			if got := p.Key("o", "o"); got == Answer {
				t.Errorf("got %v %+v", got, p.Reply())
			}
		}
	})
	t.Run("one o and a y is a plain yes", func(t *testing.T) {
		p, now := pane()
		p.Ask([]session.Approval{asked})
		p.View(80, 12, Focused)
		*now = now.Add(Guard)
		p.Key("o", "o")
		if got := p.Key("y", "y"); got != Answer || p.Reply().Outside {
			t.Errorf("got %v %+v", got, p.Reply())
		}
	})
}
