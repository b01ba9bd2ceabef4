package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/session"
)

// withoutCommands fails if the engine was told anything.
func withoutCommands(t *testing.T, w *fakeEngine) {
	t.Helper()
	select {
	case got := <-w.commands:
		t.Errorf("the engine was told %s", got)
	default:
	}
}

func TestLettersBelongToTheDraftUntilTab(t *testing.T) {
	asked := func() session.Event { return approvalAsked("make release") }
	for name, tt := range map[string]struct {
		before, after string // what is typed before the question, and at once behind it
		draft         string
	}{
		"words before the question":        {"wh", "", "why"},
		"words before and behind it":       {"wh", "at?", "what?y"},
		"words that began with it":         {"", "yes", "yesy"},
		"one letter as it appears":         {"", "y", "yy"},
		"a line of blanks":                 {"  ", "", "   y"},
		"words in another script":          {"为什", "", "为什y"},
		"words of several lines":           {"a\x1b\rb", "", "by"},
		"what all the keys of the box are": {"", "aayoeg", "aayoegy"},
	} {
		t.Run(name, func(t *testing.T) {
			world, s := startOnSession(t, 80, 24, turn("go on"))
			s.wait("go on")
			if tt.before != "" {
				s.press(tt.before)
				s.gone("steer")
				s.waitFor("the draft", func(string) bool { return true })
			}
			world.emit("s1", asked())
			s.wait("allow shell?")
			if tt.after != "" {
				s.press(tt.after)
				s.wait("› " + tt.before + tt.after)
			}
			s.wait("tab answer")
			world.advance(3 * time.Second)
			s.press("y")
			s.wait(tt.draft)
			withoutCommands(t, world)
			s.press("tab")
			s.wait("▸ allow shell?")
			world.advance(time.Second)
			s.press("y")
			if got := <-world.commands; got != "AnswerApproval" {
				t.Errorf("command = %s, want AnswerApproval", got)
			}
			s.wait(tt.draft)
		})
	}
}

func TestWhatIsOpenedOverAQuestionGivesItsKeysBack(t *testing.T) {
	for name, keys := range map[string][2]string{
		"the calls":         {"ctrl+o", "❯"},
		"the commands":      {"ctrl+p", "commands"},
		"a search":          {"ctrl+f", "type what to find"},
		"the whole call":    {"f", "esc close"},
		"the call, edited":  {"e", "editing the call"},
		"a refusal's words": {"n", "no, because"},
	} {
		t.Run(name, func(t *testing.T) {
			world, s := startOnSession(t, 80, 24, append(usualTurn(), approvalAsked("make release"))...)
			s.wait("▸ allow shell?")
			world.advance(time.Second)
			s.press(keys[0])
			s.wait(keys[1])
			s.press("esc")
			s.gone(keys[1])
			s.wait("▸ allow shell?")
			world.advance(time.Second)
			s.press("y")
			if got := <-world.commands; got != "AnswerApproval" {
				t.Errorf("command = %s, want AnswerApproval", got)
			}
		})
	}
}

func TestAQuestionThatAppearedUnderADialogIsNotAnsweredByItsKeys(t *testing.T) {
	world, s := startOnSession(t, 80, 24, turn("go on"))
	s.wait("go on")
	s.press("ctrl+p")
	s.wait("heavy tier")
	world.emit("s1", approvalAsked("make release"))
	world.advance(3 * time.Second)
	s.press("esc")
	s.wait("▸ allow shell?")
	s.press("y")
	s.wait("› y")
	withoutCommands(t, world)
}

// longChange asks about a change of 300 lines.
func longChange() session.Event {
	var diff strings.Builder
	diff.WriteString("--- a/x.txt\n+++ b/x.txt\n@@ -0,0 +1,300 @@\n")
	for i := range 300 {
		fmt.Fprintf(&diff, "+row %03d\n", i+1)
	}
	return session.ApprovalAsked{Approval: session.Approval{CallID: "c9", Tool: "write", Class: session.Write,
		Title: "x.txt", Preview: diff.String(), Args: `{"path":"x.txt","content":"one\n"}`, Reason: "it changes a file"}}
}

func TestALongQuestionIsReadBeforeItIsAnswered(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
		see  string // on the way
	}{
		{"to its end", []string{"G"}, "row 300"},
		{"by the end key", []string{"end"}, "row 300"},
		{"by pages", append([]string{"pgdn"}, strings.Split(strings.Repeat(" ", 60), "")...), "row 300"},
		{"over the whole screen", []string{"f", "G", "esc"}, "▸ allow write?"},
		{"with a second yes", []string{"y"}, "yes, unread"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			world, s := startOnSession(t, 80, 24, turn("go on"), longChange())
			s.wait("▸ allow write?", "row 001")
			world.advance(time.Second)
			for _, key := range tt.keys {
				s.press(key)
				if key == "f" {
					s.wait("of 300 lines", "esc close")
				}
				if key == "esc" {
					s.gone("esc close")
				}
			}
			s.wait(tt.see)
			withoutCommands(t, world)
			s.press("y")
			if got := <-world.commands; got != "AnswerApproval" {
				t.Errorf("command = %s, want AnswerApproval", got)
			}
		})
	}
	t.Run("the wheel scrolls the box that it is over", func(t *testing.T) {
		_, s := startOnSession(t, 80, 24, turn("go on"), longChange())
		s.wait("row 001")
		s.press("\x1b[<65;10;12M")
		s.gone("row 001")
		s.wait("row 004")
	})
	t.Run("both layouts", func(t *testing.T) {
		engine, s := startOnSession(t, 120, 36, turn("go on"), session.ApprovalAsked{Approval: session.Approval{CallID: "c9",
			Tool: "edit", Class: session.Write, Title: "orders/service.go", Preview: orderDiff, Args: "{}"}})
		one := strings.Count(s.wait("return 0, err"), "return 0, err")
		engine.advance(time.Second)
		s.press("f")
		s.wait("esc close")
		s.press("t")
		s.waitFor("the other layout", func(text string) bool { return strings.Count(text, "return 0, err") == 2*one })
	})
}

func TestACallIsEditedInThePersonsEditor(t *testing.T) {
	for name, tt := range map[string]struct{ back, args string }{
		"the content of a file":    {"one\ntwo\n", `{"content":"one\ntwo\n","path":"x.txt"}`},
		"without its last newline": {"two", `{"content":"two\n","path":"x.txt"}`},
		"unchanged it asks on":     {"one\n", ""},
		"emptied it does not run":  {" \n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var written string
			world := newFakeEngine()
			o := world.options()
			o.EditText = func(_ context.Context, text string) (string, error) { written = text; return "f", nil }
			o.ReadText = func(string) (string, error) { return tt.back, nil }
			m := New(o)
			m.approvals.Ask([]session.Approval{longChange().(session.ApprovalAsked).Approval})
			file, ok := m.perform(editCall{})().(editFileMsg)
			if !ok || written != "one\n" {
				t.Fatalf("the editor gets %q, want the content", written)
			}
			answered, ok := file.of.(editedCall).wrote(tt.back, m.approvals).(send)
			if ok != (tt.args != "") {
				t.Fatalf("answered = %v, want %v", ok, tt.args != "")
			}
			if ok && answered.command.(session.AnswerApproval).Answer.Args != tt.args {
				t.Errorf("answer = %+v, want %s", answered.command, tt.args)
			}
		})
	}
}
