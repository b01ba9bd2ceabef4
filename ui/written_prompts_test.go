package ui

import (
	"context"
	"testing"

	"belay/models"
	"belay/session"
)

// A prompt that is written down completes by its name, takes what stands behind it, and
// is asked of its tier.
func TestAWrittenPromptIsCalledByItsName(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
	o := world.options()
	o.Open = "s1"
	o.Written = func(context.Context) []WrittenPrompt {
		return []WrittenPrompt{
			{Name: "mend", Description: "mend a\x1b[31m part", Tier: models.Light, Text: "Mend $1 of $ARGUMENTS."},
			{Name: "ship", Text: "Ship it.", Project: true}, {Name: "model", Text: "never"},
		}
	}
	told := make(chan string, 4)
	world.reply = func(_ *fakeEngine, _ session.ID, c session.Command) {
		switch c := c.(type) {
		case session.Send:
			told <- c.Prompt.Text
		case session.ChooseTier:
			told <- string(c.Tier)
		}
	}
	s := startScreen(t, 80, 24, o)
	s.wait("· done")
	s.press("/")
	s.wait("/compact")
	s.press("men")
	s.wait("/mend", "mend a part (yours)")
	s.press("tab")
	s.wait("› /mend")
	s.press("the till")
	s.wait("› /mend the till")
	s.press("enter")
	if tier, text := <-told, <-told; tier != "light" || text != "Mend the of the till." {
		t.Errorf("told %q, %q", tier, text)
	}
	s.press("/shi")
	s.wait("/ship", "the project's")
	s.press("enter")
	if text := <-told; text != "Ship it." {
		t.Errorf("told %q", text)
	}
	s.press("ctrl+p", "project's")
	s.wait("❯ the project's", "/ship")
	s.press("enter")
	s.wait("› /ship")
	if got := (WrittenPrompt{Text: "Do it."}).with("now"); got != "Do it.\n\nnow" {
		t.Errorf("got %q", got)
	}
}
