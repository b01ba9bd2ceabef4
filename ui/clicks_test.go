package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"belay/session"
	"belay/ui/theme"
)

// chosen waits until the cursor of a list is at words.
func (s *screen) chosen(words string) {
	s.t.Helper()
	s.waitFor("the choice of "+words, func(text string) bool {
		for line := range strings.SplitSeq(text, "\n") {
			if strings.Contains(line, words) && strings.Contains(line, "❯") {
				return true
			}
		}
		return false
	})
}

func TestClicksInTheListOfModels(t *testing.T) {
	saved := make(chan string, 1)
	w, s := startOnModels(t, 100, 30, ModelChoice{
		SaveKey: func(_ context.Context, provider, _ string) (string, error) { saved <- provider; return "a file", nil },
	})
	s.press("/model\r")
	s.wait("box/qwen3-coder")
	s.clickOn("openai/gpt-5.6-terra")
	s.chosen("openai/gpt-5.6-terra")
	s.mouse(65, 20, 8, "M")
	s.chosen("box/qwen3-coder")
	s.press("\x01")
	s.wait("an address of your own")
	s.clickOn("openrouter")
	s.chosen("openrouter")
	s.clickOn("openrouter")
	s.wait("the key of openrouter")
	s.clickOn("checked once") // there is no list under it
	s.press("sk-1\r")
	if got := <-saved; got != "openrouter" {
		t.Errorf("a key of %s", got)
	}
	s.press("\x15")
	s.wait("openai/gpt-5.6-terra")
	s.clickOn("openai/gpt-5.6-terra")
	s.chosen("openai/gpt-5.6-terra")
	s.clickOn("openai/gpt-5.6-terra")
	if got := <-w.commands; got != "ChooseTier" && got != "PinTarget" {
		t.Errorf("command = %s", got)
	}
}

func TestAClickOnAHintOfTheWaitIsItsKey(t *testing.T) {
	for _, size := range sizes {
		for hint, want := range map[string]string{"F8 now": "TryNow", "F9 park": "Park", "esc stop": "Stop"} {
			t.Run(fmt.Sprint(hint, size.w), func(t *testing.T) {
				w, s := startOnSession(t, size.w, size.h, turn("go on"))
				s.wait("go on")
				emitWait(w)
				s.wait("attempt 2 of 4")
				s.clickOn(hint)
				if got := <-w.commands; got != want {
					t.Errorf("command = %s, want %s", got, want)
				}
			})
		}
	}
	t.Run("elsewhere the box gets the keys, and the draft takes them back", func(t *testing.T) {
		w, s := startOnSession(t, 80, 24, turn("go on"))
		s.wait("go on")
		s.press("a draft")
		emitWait(w)
		s.clickOn("attempt 2 of 4")
		s.wait("r now")
		s.clickOn("i details")
		s.wait("It is full, not broken.")
		s.clickOn("a draft")
		s.wait("F8 now")
		s.press("X")
		s.wait("› aX draft")
	})
	t.Run("a tier", func(t *testing.T) {
		w, s := startOnSession(t, 120, 36, turn("go on"))
		s.wait("go on")
		emitWait(w)
		s.clickOn("F3 medium")
		if got := <-w.commands; got != "ChooseTier" {
			t.Errorf("command = %s, want ChooseTier", got)
		}
	})
}

func TestAClickPlacesTheCursorOfTheDraft(t *testing.T) {
	for name, tt := range map[string]struct {
		draft, at, want string // at: the letter before which the click is
	}{
		"in a word":           {"one two three", "two", "one ^two three"},
		"in an earlier line":  {"one\ntwo\nthree", "ne", "o^ne"},
		"in a wide character": {"日本語 text", "本", "日^本語 text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := startOnSession(t, 60, 16, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
			s.wait("done")
			s.paste(tt.draft)
			text := s.wait(strings.Split(tt.draft, "\n")...)
			x, y := 0, 0
			for i, line := range strings.Split(text, "\n") {
				if before, _, ok := strings.Cut(line, tt.at); ok {
					x, y = theme.Width(before), i
				}
			}
			s.down(x, y)
			s.up(x, y)
			s.press("^")
			s.wait(tt.want)
		})
	}
	t.Run("beyond the words it is the end of the line", func(t *testing.T) {
		_, s := startOnSession(t, 60, 16, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
		s.wait("done")
		s.paste("first\nsecond")
		_, y := s.at("› first")
		s.down(40, y)
		s.up(40, y)
		s.press("^")
		s.wait("first^", "second")
	})
	t.Run("in a row that was wrapped", func(t *testing.T) {
		_, s := startOnSession(t, 60, 16, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
		s.wait("done")
		s.paste(strings.Repeat("word ", 14) + "last words")
		x, y := s.at("last words")
		s.down(x, y)
		s.up(x, y)
		s.press("^")
		s.wait("^last words")
	})
	t.Run("the wheel scrolls a long one", func(t *testing.T) {
		_, s := startOnSession(t, 60, 16, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
		s.wait("done")
		for i := range 11 {
			s.press(fmt.Sprintf("line %d", i), "\n")
		}
		_, y := s.at("line 10")
		for range 5 {
			s.mouse(64, 10, y, "M")
		}
		s.wait("line 0")
	})
}

func TestClicksInTheStepsAndAmongCheckpoints(t *testing.T) {
	t.Run("steps", func(t *testing.T) {
		s, _ := startOnStepsPanel(t)
		x, y := s.at("1 map the module")
		s.down(x, y)
		s.up(x, y)
		s.chosen("1 map the module")
		s.mouse(65, x, y, "M")
		s.chosen("2 three options")
	})
	t.Run("checkpoints", func(t *testing.T) {
		_, s, _, _ := onCheckpoints(t, 100, 30)
		s.press("/", "rewind", "enter")
		s.wait("before step 3: core logic")
		s.clickOn("refactor the orders module")
		s.chosen("refactor the orders module")
		s.clickOn("refactor the orders module")
		s.wait("b both")
	})
}

// The hints of a dialog are its buttons.
func TestAClickOnAHintOfADialogIsItsKey(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprint(size.w, "×", size.h), func(t *testing.T) {
			w := newFakeEngine()
			w.add("s1", "", usualTurn()...)
			o := withUsage(w)
			o.Open = "s1"
			s := startScreen(t, size.w, size.h, o)
			s.wait("ctx")
			s.press("F6")
			s.wait("t trim")
			s.clickOn("t trim")
			if got := <-w.commands; got != "PruneOutputs" {
				t.Errorf("command = %s, want PruneOutputs", got)
			}
			s.clickOn("p pin")
			s.waitFor("the panel closed", func(text string) bool { return !strings.Contains(text, "t trim") })
			s.press("esc")
			s.wait("t trim")
			s.press("esc")
			s.waitFor("the panel closed", func(text string) bool { return !strings.Contains(text, "t trim") })
			s.press("ctrl+s")
			s.wait("enter open")
			s.clickOn("tab archived")
			s.wait("archived, deleted")
		})
	}
}

func TestOnlyHintsAreButtons(t *testing.T) {
	rows := []string{
		"╭ sessions ─────────────────────╮",
		"│ y yes, said the model         │",
		"│ enter is a key, and so is tab │",
		"│ enter open   tab archived     │",
		"│ n N next   esc close          │",
		"╰───────────────────────────────╯",
	}
	for _, tt := range []struct {
		column, row int
		want        string
	}{
		{3, 3, "enter"}, {11, 3, "enter"}, {12, 3, ""}, {16, 3, "tab"}, {2, 4, ""}, {15, 4, "esc"},
		{2, 0, ""}, {2, 1, ""}, {2, 5, ""}, {2, 9, ""}, {2, -1, ""},
	} {
		if got := hintAt(rows, tt.column, tt.row); got != tt.want {
			t.Errorf("in column %d of row %d: %q, want %q", tt.column, tt.row, got, tt.want)
		}
	}
}
