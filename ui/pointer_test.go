package ui

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"belay/session"
	"belay/ui/approval"
	"belay/ui/capacity"
)

// Mouse reports as terminals send them (xterm, SGR 1006), counted from 0.
func (s *screen) mouse(button, x, y int, end string) {
	s.t.Helper()
	s.press(fmt.Sprintf("\x1b[<%d;%d;%d%s", button, x+1, y+1, end))
}
func (s *screen) down(x, y int) { s.mouse(0, x, y, "M") }
func (s *screen) drag(x, y int) { s.mouse(32, x, y, "M") }
func (s *screen) up(x, y int)   { s.mouse(0, x, y, "m") }

// at gives where words stand on the screen.
func (s *screen) at(words string) (x, y int) {
	s.t.Helper()
	text := s.wait(words)
	for i, line := range strings.Split(text, "\n") {
		if before, _, ok := strings.Cut(line, words); ok {
			return len([]rune(before)), i
		}
	}
	return 0, 0
}

// marked waits until a cell shows that it is marked.
func (s *screen) marked(x, y int) {
	s.t.Helper()
	s.waitFor("a mark", func(string) bool {
		ground := s.emu.CellAt(x, y).Style.Bg
		if ground == nil {
			return false
		}
		r, g, b, _ := ground.RGBA()
		return r>>8 == 0x3d && g>>8 == 0x51 && b>>8 == 0x70
	})
}

// copies waits for what the terminal is given to copy.
func (s *screen) copies(text string) {
	s.t.Helper()
	code := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x07"
	s.waitFor(fmt.Sprintf("a copy of %q", text), func(string) bool { return s.wroteLocked(code) })
	s.wait("sent to the terminal's clipboard")
}

func TestTheMouseMarksAndCopies(t *testing.T) {
	t.Run("a drag", func(t *testing.T) {
		_, s := startOnSession(t, 80, 24, usualTurn()...)
		x, y := s.at("mixes")
		s.down(x, y)
		x, y = s.at("lives")
		s.drag(x, y)
		s.up(x, y)
		s.copies("mixes pricing and storage. I will read it first.\n\n• one rule l")
	})
	t.Run("two clicks take a word, three a line", func(t *testing.T) {
		_, s := startOnSession(t, 80, 24, usualTurn()...)
		x, y := s.at("pricing")
		for range 2 {
			s.down(x+2, y)
			s.up(x+2, y)
		}
		s.copies("pricing")
		s.down(x+2, y)
		s.up(x+2, y)
		s.copies("The module mixes pricing and storage. I will read it first.")
	})
	t.Run("while a reply streams", func(t *testing.T) {
		w, s := startOnSession(t, 80, 24, append(usualTurn(), turn("go on"))...)
		x, y := s.at("got 1299")
		s.down(x, y)
		s.drag(x+19, y)
		s.marked(x+3, y)
		for i := range 30 {
			w.emit("s1", session.TextDelta{Text: fmt.Sprintf("line %d of the reply\n\n", i)})
		}
		s.wait("new")
		s.marked(x+3, y)
		s.up(x+18, y)
		s.copies("got 1299, want 1300")
		s.wait("line 29 of the reply")
	})
	t.Run("beyond the edge it scrolls", func(t *testing.T) {
		_, s := startOnSession(t, 80, 24, said(strings.Repeat("a\n\n", 60)+"the end"))
		x, y := s.at("the end")
		s.down(x+6, y)
		s.drag(0, 0)
		s.wait("sol  a")
		s.up(0, 0)
		s.copies(strings.Repeat("a\n\n", 60) + "the end")
	})
	t.Run("in a page over the screen", func(t *testing.T) {
		w := newFakeEngine()
		w.add("s1", "", turn("go on"))
		o := w.options()
		o.Open = "s1"
		o.Changes = func(context.Context) (string, error) { return orderDiff, nil }
		s := startScreen(t, 80, 24, o)
		s.wait("go on")
		s.press("/diff")
		s.wait("differs")
		s.press("enter")
		x, y := s.at("return 0")
		s.down(x, y)
		x, y = s.at("+     sum, err")
		s.drag(x+11, y)
		s.up(x+11, y)
		s.copies("return 0, err\n\t}\n\tsum := round(l.Price)\n\treturn sum, nil\n\tsum, e")
	})
	t.Run("a click opens a call", func(t *testing.T) {
		_, s := startOnSession(t, 80, 24, usualTurn()...)
		s.gone("path: orders/service.go")
		x, y := s.at("orders/service.go")
		s.down(x, y)
		s.up(x, y)
		s.wait("path: orders/service.go")
	})
}

func TestTheMouseIsTheTerminalsIfAPersonSaysSo(t *testing.T) {
	w := newFakeEngine()
	o := w.options()
	o.NoMouse = true
	s := startScreen(t, 80, 24, o)
	s.wait("● sol")
	if s.wrote("\x1b[?1002h") || s.wrote("\x1b[?1000h") {
		t.Error("the terminal is asked for the mouse")
	}
	with := startScreen(t, 80, 24, newFakeEngine().options())
	with.wait("● sol")
	if !with.wrote("\x1b[?1002h") {
		t.Error("the terminal is not asked for the mouse where it should be")
	}
}

func TestWhatIsChosenIsCopied(t *testing.T) {
	events := []session.Event{
		turn("the prompt"), said("Some *words*.\n\n```go\nfunc a() {\n\treturn\n}\n```\n\nand more"),
		session.ToolEnded{CallID: "c4", Tool: "shell", Title: "go test ./...", Summary: "exit 1", Error: true,
			Output: "--- FAIL\n\x1b]52;c;eA==\x07\tgot 1"},
	}
	for _, tt := range []struct {
		ups  int
		want string
	}{
		{0, "shell go test ./...\n\n--- FAIL\n\tgot 1"},
		{1, "func a() {\n\treturn\n}"},
		{2, "Some *words*.\n\n```go\nfunc a() {\n\treturn\n}\n```\n\nand more"},
		{3, "the prompt"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			_, s := startOnSession(t, 80, 24, events...)
			s.wait("go test ./...")
			s.press("ctrl+o")
			s.wait("y copy")
			for range tt.ups {
				s.press("up")
			}
			s.press("y")
			s.copies(tt.want)
		})
	}
}

func (s *screen) clickOn(words string) {
	s.t.Helper()
	x, y := s.at(words)
	s.down(x+1, y)
	s.up(x+1, y)
}

func TestClicksInLists(t *testing.T) {
	t.Run("sessions", func(t *testing.T) {
		w := newFakeEngine()
		for i, title := range []string{"port the importer", "nightly job", "login test"} {
			w.add(session.ID(fmt.Sprint("s", i)), title, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
		}
		o := w.options()
		o.Picker = true
		s := startScreen(t, 100, 30, o)
		s.wait("login test")
		s.clickOn("login test")
		s.waitFor("the choice", func(text string) bool {
			for line := range strings.SplitSeq(text, "\n") {
				if strings.Contains(line, "login test") && strings.Contains(line, "❯") {
					return true
				}
			}
			return false
		})
		s.clickOn("login test")
		s.gone("nightly job")
		s.wait("login test", "what is to be done?")
	})
	t.Run("the palette", func(t *testing.T) {
		s := startScreen(t, 80, 24, newFakeEngine().options())
		s.wait("● sol")
		s.press("ctrl+p")
		s.wait("commands")
		s.clickOn("medium tier")
		s.wait("❯ medium tier")
		s.mouse(65, 20, 8, "M")
		s.wait("❯ light tier")
	})
	t.Run("commands by name", func(t *testing.T) {
		s := startScreen(t, 80, 24, newFakeEngine().options())
		s.wait("● sol")
		s.press("/comp")
		s.wait("› /comp\n")
		s.clickOn("/compact")
		s.wait("› /compact\n")
	})
	t.Run("capacity", func(t *testing.T) {
		w := newFakeEngine()
		w.add("s1", "", usualTurn()...)
		o := w.options()
		o.Open = "s1"
		o.Capacity = func(_ context.Context, id session.ID) (capacity.View, error) {
			var view capacity.View
			for _, condition := range w.Tiers(id) {
				view.Rows = append(view.Rows, capacity.Row{Condition: condition})
			}
			return view, nil
		}
		s := startScreen(t, 120, 36, o)
		s.wait("go test ./orders")
		s.press("F5")
		s.wait("medium")
		s.clickOn("medium ")
		s.wait("❯ medium")
		s.clickOn("medium ")
		if got := <-w.commands; got != "PinTarget" {
			t.Errorf("command = %s, want PinTarget", got)
		}
	})
}

// A click answers a question only where the key would.
func TestAClickOnAHintIsItsKeyWithItsGuard(t *testing.T) {
	t.Run("within the guard it is nothing", func(t *testing.T) {
		w, s := startOnSession(t, 80, 24, turn("go on"), approvalAsked("make release"))
		s.clickOn("y yes")
		x, y := s.at("› go on")
		x += 2
		s.down(x, y) // what comes after it is seen
		s.drag(x+3, y)
		s.marked(x+1, y)
		s.wait("y yes", "tab to write a message")
		if len(w.commands) > 0 {
			t.Fatalf("the early click was an answer: %s", <-w.commands)
		}
		s.up(x+3, y)
		w.advance(2 * approval.Guard)
		s.clickOn("y yes")
		if got := <-w.commands; got != "AnswerApproval" {
			t.Errorf("command = %s, want AnswerApproval", got)
		}
	})
	t.Run("a box without the keys gets them first", func(t *testing.T) {
		w, s := startOnSession(t, 80, 24, turn("go on"))
		s.wait("go on")
		s.press("a draft")
		s.wait("a draft")
		w.emit("s1", approvalAsked("make release"))
		s.clickOn("allow shell?")
		s.wait("▸ allow shell?", "y yes")
		s.clickOn("a draft")
		s.wait("tab answer")
		if len(w.commands) > 0 {
			t.Errorf("a click answered: %s", <-w.commands)
		}
	})
	t.Run("always is clicked twice", func(t *testing.T) {
		w, s := startOnSession(t, 80, 24, turn("go on"), approvalAsked("make release"))
		s.wait("y yes")
		w.advance(2 * approval.Guard)
		s.clickOn("a always")
		s.clickOn("a yes, always")
		if got := <-w.commands; got != "AnswerApproval" {
			t.Errorf("command = %s, want AnswerApproval", got)
		}
	})
}
