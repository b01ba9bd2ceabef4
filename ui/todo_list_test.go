package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

func todosOf(done, all int) session.Event {
	var list []session.Todo
	for i := range all {
		t := session.Todo{Text: fmt.Sprintf("point %d of the work", i+1), Status: "pending"}
		switch {
		case i < done:
			t.Status = "done"
		case i == done:
			t.Status = "active"
		}
		list = append(list, t)
	}
	return session.TodosChanged{Todos: list}
}

func TestTheModelsListStandsAboveTheComposerWhileItHasOpenPoints(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			world, s := startOnSession(t, size.w, size.h, turn("refactor"))
			s.wait("refactor")
			world.emit("s1", todosOf(2, 7))
			s.wait("plan 2/7", "▸ point 3 of the work")
			world.emit("s1", todosOf(7, 7))
			s.gone("plan 2/7")
			s.wait("✓ point 7 of the work") // in the transcript it stays
		})
	}
	t.Run("what waits for a person leaves it a line", func(t *testing.T) {
		_, s := startOnSession(t, 80, 24, turn("refactor"), todosOf(2, 7), approvalAsked("make release"))
		text := s.wait("allow shell?", "plan 2/7")
		if strings.Contains(text, "○ point 4") {
			t.Errorf("the list takes more than a line:\n%s", text)
		}
	})
	t.Run("it outlives its turn for a while, and not two turns", func(t *testing.T) {
		world, s := startOnSession(t, 80, 24, turn("refactor"), todosOf(2, 7))
		s.wait("plan 2/7")
		world.emit("s1", session.TurnEnded{Outcome: session.OutcomeDone})
		s.wait("plan 2/7", "done")
		world.emit("s1", turn("go on"))
		s.wait("plan 2/7", "› go on", "▸ point 3")
		world.emit("s1", session.TurnEnded{Outcome: session.OutcomeDone}, turn("another thing"))
		s.wait("› another thing")
		s.gone("plan 2/7")
	})
	t.Run("an old one is not there", func(t *testing.T) {
		world := newFakeEngine()
		world.add("s1", "", turn("refactor"), todosOf(2, 7), session.TurnEnded{Outcome: session.OutcomeDone})
		world.advance(time.Hour)
		o := world.options()
		o.Open = "s1"
		s := startScreen(t, 80, 24, o)
		if text := s.wait("› refactor", "plan  2 of 7"); strings.Contains(text, "plan 2/7") {
			t.Errorf("the list of an hour ago still stands:\n%s", text)
		}
	})
}

func TestARunningTurnSaysHowLongAndHowManyTokens(t *testing.T) {
	world, s := startOnSession(t, 100, 24, turn("go on"))
	s.wait("go on")
	world.emit("s1", session.AttemptStarted{Number: 1, Of: 4, Target: sol}, session.ReplyOpened{Target: sol},
		session.ReplyEnded{Target: sol, Usage: models.Usage{Input: 9000, Output: 1200}},
		session.TextDelta{Text: strings.Repeat("word ", 160)})
	world.advance(12 * time.Second)
	s.wait("⠼ writing 12s · 1.4k tokens")
	world.emit("s1", session.TurnEnded{Outcome: session.OutcomeDone})
	s.gone("⠼")
	if text := s.gone("writing"); strings.Contains(text, "tokens ·") {
		t.Errorf("an idle screen still counts:\n%s", text)
	}
}
