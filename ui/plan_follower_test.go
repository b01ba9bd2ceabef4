package ui

import (
	"strings"
	"testing"
	"time"

	"belay/session"
)

func TestTheScreenFollowsAStepAndComesBack(t *testing.T) {
	plan := planUnderWay()
	plan.Steps[2].State, plan.Steps[2].Session = session.StepPending, ""
	stand := func(t *testing.T, w, h int) (*fakeEngine, *screen) {
		t.Helper()
		world := newFakeEngine()
		world.add("s1", "", planTurn("refactor the orders"), session.PlanSet{Plan: plan}, session.PlanStarted{Through: true})
		o := world.options()
		o.Open = "s1"
		s := startScreen(t, w, h, o)
		s.wait("› refactor the orders")
		return world, s
	}
	begin := func(world *fakeEngine) {
		addStepSession(world, "st3", 3, turn("do the core logic"))
		world.emit("s1", stepMoved(plan, 3, session.StepRunning, "st3"))
	}
	done := func(world *fakeEngine) {
		x := plan.Steps[2]
		x.State, x.Session, x.Note, x.ToolCalls, x.Cost = session.StepDone, "st3", "PriceOf holds the rules.\nMore.", 3, 0.02
		world.emit("st3", session.TurnEnded{Outcome: session.OutcomeDone})
		world.emit("s1", session.StepChecked{Number: 3, Command: "go test ./orders/...", OK: true, Summary: "exit 0",
			Output: "ok", Duration: 2100 * time.Millisecond}, session.StepMoved{Number: 3, Step: x})
	}
	t.Run("there and back", func(t *testing.T) {
		world, s := stand(t, 120, 36)
		s.press("F7")
		s.wait("3 of 6")
		s.press("tab")
		begin(world)
		s.wait("› do the core logic", "step 3/6 core logic", "3 of 6")
		world.emit("st3", approvalAsked("go test"))
		s.wait("allow shell?", "asks you")
		world.advance(time.Second)
		s.press("y")
		if got := <-world.commands; got != "AnswerApproval" {
			t.Errorf("command = %s, want AnswerCall", got)
		}
		world.emit("st3", session.ApprovalAnswered{Answer: session.Answer{CallID: "c9", Allow: true}})
		s.gone("allow shell?")
		s.wait("▶ 3 core logic")
		done(world)
		text := s.wait("› refactor the orders", "✓ step 3 done: PriceOf holds the rules. · 3 calls", "4 of 6")
		for _, want := range []string{"▶ step 3 of 6: core logic (heavy)", "✓ check", "2.1s"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing:\n%s", want, text)
			}
		}
	})
	t.Run("not from what is being written", func(t *testing.T) {
		world, s := stand(t, 80, 24)
		s.press("and then")
		s.wait("› and then")
		begin(world)
		s.wait("› refactor the orders", "▶ step 3 of 6", "› and then")
	})
	t.Run("not back from somewhere else", func(t *testing.T) {
		world, s := stand(t, 80, 24)
		begin(world)
		s.wait("› do the core logic")
		s.press("ctrl+n")
		s.wait("What was done is kept")
		done(world)
		world.emit("s1", session.TurnEnded{Outcome: session.OutcomeDone})
		s.gone("at work")
		s.wait("What was done is kept")
	})
	t.Run("not when the step cannot be read", func(t *testing.T) {
		world, s := stand(t, 80, 24)
		world.emit("s1", stepMoved(plan, 3, session.StepRunning, "lost"))
		s.wait("the step cannot be shown", "› refactor the orders")
	})
	t.Run("esc leads back from a step that is over", func(t *testing.T) {
		world, s := stand(t, 80, 24)
		addStepSession(world, "st1", 1, turn("map it"), said("It is a mess."),
			session.TurnEnded{Outcome: session.OutcomeDone})
		s.press("F7", "k", "k", "k", "enter")
		s.wait("It is a mess.", "step 1/6 map the module", "esc back to the plan")
		s.press("esc")
		s.wait("3 of 6")
		s.press("esc")
		s.wait("› refactor the orders")
	})
	t.Run("F7 leads back from one that runs", func(t *testing.T) {
		world, s := stand(t, 80, 24)
		begin(world)
		s.wait("› do the core logic", "F7 back to the plan")
		s.press("alt+left")
		s.wait("› refactor the orders", "F7 steps")
		s.press("\x1b[1;3C") // alt+right: the step is at work as well
		s.wait("› do the core logic")
		s.press("F7")
		s.wait("❯ ▶ 3 core logic")
		s.press("down", "enter")
		s.wait("step 4 has not begun")
	})
	t.Run("with a step that goes on", func(t *testing.T) {
		world := newFakeEngine()
		running := planUnderWay()
		running.Steps[2].State, running.Steps[2].Session = session.StepRunning, "st3"
		world.add("s1", "", planTurn("refactor the orders"), session.PlanSet{Plan: running},
			session.PlanStarted{Through: true}, session.TurnEnded{Outcome: session.OutcomeStopped})
		addStepSession(world, "st3", 3, turn("do the core logic"))
		world.reply = func(w *fakeEngine, id session.ID, c session.Command) {
			if _, ok := c.(session.Resume); ok {
				w.emit(id, session.TurnResumed{Why: "by the user"})
			}
		}
		o := world.options()
		o.Open, o.GoOn = "s1", true
		s := startScreen(t, 120, 36, o)
		s.wait("› do the core logic", "step 3/6 core logic", "▶ 3 core logic")
		if got := <-world.commands; got != "Resume" {
			t.Errorf("command = %s, want Resume", got)
		}
	})
}

func TestTheScreenBeginsWithAPlan(t *testing.T) {
	plan := proposal()
	plan.Started = true
	world := newFakeEngine()
	asked := make(chan session.PlanTask, 2)
	world.reply = func(w *fakeEngine, id session.ID, c session.Command) {
		if x, ok := c.(session.PlanTask); ok {
			asked <- x
			w.emit(id, session.TurnStarted{Prompt: x.Prompt, RunsPlan: true}, session.PlanSet{Plan: plan})
		}
	}
	for _, tt := range []struct {
		name  string
		width int
		panel bool
	}{
		{"the panel is beside it where there is room", 120, true},
		{"and not in its way where there is none", 80, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := world.options()
			o.Prompt, o.Split = "refactor the orders", true
			s := startScreen(t, tt.width, 24, o)
			text := s.wait("› refactor the orders", "6 steps proposed")
			if panel := strings.Contains(text, "○ 1 map the module"); panel != tt.panel {
				t.Errorf("the panel is shown: %v, want %v:\n%s", panel, tt.panel, text)
			}
			if got := <-asked; !got.Start || got.Prompt.Text != "refactor the orders" {
				t.Errorf("command = %#v, want a split that goes on at once", got)
			}
		})
	}
}
