package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
)

// planUnderWay is a plan in the middle of its work: one step of each kind.
func planUnderWay() session.Plan {
	return session.Plan{Task: "refactor the orders module and cover it with tests", Reviewed: true, Through: true,
		By: sol, Planning: "pl", Steps: []session.Step{
			{Title: "map the module and its problems", Instructions: "Read orders/ and list what is wrong with it.",
				Tier: models.Light, StepProgress: session.StepProgress{State: session.StepDone, Session: "st1",
					Note: "**pricing** and storage are mixed; `端数` is rounded twice", ToolCalls: 3, Cost: 0.02,
					StartedAt: noon.Add(-time.Hour), EndedAt: noon.Add(-50 * time.Minute)}},
			{Title: "three options, choose one", Instructions: "Write three ways down.", Tier: models.Heavy, Pinned: true,
				StepProgress: session.StepProgress{State: session.StepDone, Session: "st2", Note: "rules move into PriceOf",
					ToolCalls: 1, Cost: 0.11}},
			{Title: "core logic",
				Instructions: "Move the rules of prices into orders/pricing.go, with one function PriceOf. " +
					"Nothing else changes.",
				Proof: "the old tests pass", Check: "go test ./orders/...", Tier: models.Heavy,
				StepProgress: session.StepProgress{State: session.StepRunning, Session: "st3"}},
			{Title: "tests", Instructions: "Cover PriceOf.", Check: "go test ./orders/...", Tier: models.Medium,
				StepProgress: session.StepProgress{State: session.StepPending}, Needs: []int{2, 3}, Pause: true},
			{Title: "文書と移行の手順を書く", StepProgress: session.StepProgress{State: session.StepPending}},
			{Title: "tell the team", StepProgress: session.StepProgress{State: session.StepSkipped}},
		}}
}

func proposal() session.Plan {
	s := planUnderWay()
	s.Reviewed, s.Through = false, false
	for i := range s.Steps {
		x := &s.Steps[i]
		x.State, x.Session, x.Note, x.ToolCalls, x.Cost = session.StepPending, "", "", 0, 0
		x.StartedAt, x.EndedAt = time.Time{}, time.Time{}
	}
	return s
}

func planTurn(text string) session.Event {
	return session.TurnStarted{Prompt: session.Prompt{ID: "x" + text, Text: text}, RunsPlan: true}
}

// addStepSession adds a session that carries out a step.
func addStepSession(w *fakeEngine, id session.ID, step int, events ...session.Event) {
	w.mu.Lock()
	w.sessions[id] = &session.Session{}
	w.mu.Unlock()
	w.record(id, session.Created{Project: "/home/me/shop", Tier: models.Heavy, Mode: session.Edits, PartOf: "s1",
		Step: step})
	w.record(id, events...)
}

func stepMoved(s session.Plan, number int, state session.StepState, id session.ID) session.Event {
	x := s.Steps[number-1]
	x.State, x.Session = state, id
	return session.StepMoved{Number: number, Step: x}
}

// startOnWaitingStep is a screen on a plan whose third step waits for a model.
func startOnWaitingStep(t *testing.T, w, h int) (*fakeEngine, *screen) {
	t.Helper()
	world := newFakeEngine()
	plan := planUnderWay()
	world.add("s1", "", planTurn("refactor the orders module and cover it with tests"),
		session.Checkpointed{Tree: "t0", Title: "refactor", Duration: 1},
		session.PlanSet{Plan: plan}, session.PlanStarted{Through: true})
	addStepSession(world, "st3", 3, turn("core logic"))
	o := world.options()
	o.Open = "s1"
	s := startScreen(t, w, h, o)
	s.wait("6 steps proposed by sol")
	world.emit("st3", session.AttemptFailed{Number: 1, Of: 4, Target: sol, Fault: capacityFault(), Next: models.NextRetry,
		Delay: 12 * time.Second},
		session.Waiting{Number: 2, Of: 4, Until: noon.Add(12 * time.Second), Target: sol, Fault: capacityFault()})
	return world, s
}

func TestTheStepsPanel(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			world, s := startOnWaitingStep(t, size.w, size.h)
			s.wait("step 3/6", "◐ no capacity")
			s.press("F7")
			s.wait("3 of 6", "◐", "core logic")
			world.emit("st3", approvalAsked("go test"))
			s.wait("asks you")
			s.press("F7")
			s.gone("3 of 6")
		})
	}
	t.Run("proposed", func(t *testing.T) {
		world, s := startOnSession(t, 80, 24, planTurn("refactor the orders module and cover it with tests"))
		s.wait("refactor")
		world.emit("s1", session.PlanSet{Plan: proposal()},
			session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: "the steps are proposed: look at them"})
		s.wait("6 steps proposed ─", "g go through")
	})
	t.Run("parked and failed", func(t *testing.T) {
		world := newFakeEngine()
		plan := planUnderWay()
		plan.Steps[2].State, plan.Steps[2].RetryAt, plan.Steps[2].Reason = session.StepParked, noon.Add(90*time.Second),
			"no capacity at sol, terra"
		plan.Steps[3].State, plan.Steps[3].Reason = session.StepFailed, "its check failed 3 times"
		plan.Steps[4].State, plan.Steps[4].Reason = session.StepPerson, "the same call 8 times"
		world.add("s1", "", planTurn("refactor"), session.PlanSet{Plan: plan},
			session.TurnEnded{Outcome: session.OutcomeParked, Fault: capacityFault(), RetryAt: noon.Add(90 * time.Second),
				ParkCount: 1})
		o := world.options()
		o.Open = "s1"
		s := startScreen(t, 80, 24, o)
		s.wait("next try at")
		s.press("F7")
		s.wait("again in 1:30, at 12:01", "failed: its check", "needs you: the same call")
	})
	t.Run("without a plan", func(t *testing.T) {
		_, s := startOnSession(t, 60, 16, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
		s.wait("· done")
		s.press("F7")
		s.wait("There is no plan yet.", "cut a task")
		s.press("esc")
		s.gone("There is no plan yet.")
	})
	t.Run("while a model proposes one", func(t *testing.T) {
		world, s := startOnSession(t, 120, 36, planTurn("refactor"))
		addStepSession(world, "pl", 0, turn("propose steps"))
		s.wait("› refactor")
		world.emit("pl", session.ReasoningDelta{Text: "hm"})
		s.wait("planning: thinking")
		s.press("F7")
		s.wait("A model proposes steps: thinking")
		s.press("enter")
		s.wait("› propose steps", "proposing steps")
		s.press("F7")
		s.wait("› refactor", "A model proposes steps")
	})
}

// startOnStepsPanel is a screen whose steps panel has the keys, on the fourth step.
// Commands arrive on the channel.
func startOnStepsPanel(t *testing.T) (*screen, chan session.Command) {
	t.Helper()
	world := newFakeEngine()
	world.add("s1", "", planTurn("refactor"), session.PlanSet{Plan: planUnderWay()},
		stepMoved(planUnderWay(), 3, session.StepDone, "st3"),
		session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: "step 3 is done; next: tests"})
	got := make(chan session.Command, 8)
	world.reply = func(w *fakeEngine, id session.ID, c session.Command) {
		if e, ok := c.(session.EditPlan); ok {
			plan := planUnderWay()
			plan.Steps = e.Steps
			w.emit(id, session.PlanSet{Plan: plan})
		}
		got <- c
	}
	o := world.options()
	o.Open = "s1"
	s := startScreen(t, 120, 36, o)
	s.wait("next: tests", "next step")
	s.press("F7")
	s.wait("❯ ○ 4 tests")
	return s, got
}

func TestKeysOfTheStepsPanel(t *testing.T) {
	type list = []session.Step
	for _, tt := range []struct {
		key   string
		check func(list) bool
	}{
		{" ", func(l list) bool { return !l[3].Pause }},
		{"x", func(l list) bool { return l[3].State == session.StepSkipped }},
		{"t", func(l list) bool { return l[3].Tier == models.Light }},
		{"P", func(l list) bool { return l[3].Pinned }},
		{"d", func(l list) bool { return len(l) == 5 && l[3].Title != "tests" }},
		{"J", func(l list) bool { return l[4].Title == "tests" && fmt.Sprint(l[4].Needs) == "[2 3]" }},
		{"s", func(l list) bool {
			return len(l) == 7 && l[3].Title == "tests (first part)" && l[4].Title == "tests (second part)" &&
				fmt.Sprint(l[4].Needs) == "[2 3 4]"
		}},
	} {
		t.Run("changes with "+tt.key, func(t *testing.T) {
			s, got := startOnStepsPanel(t)
			s.press(tt.key)
			if c, ok := (<-got).(session.EditPlan); !ok || !tt.check(c.Steps) {
				t.Errorf("%q did %#v", tt.key, c)
			}
		})
	}
	t.Run("quick presses build on each other", func(t *testing.T) {
		s, got := startOnStepsPanel(t)
		s.press("J", "t", "t")
		<-got
		<-got
		if c := (<-got).(session.EditPlan); c.Steps[4].Title != "tests" || c.Steps[4].Tier != "" {
			t.Errorf("the third press made %+v", c.Steps)
		}
		s.wait("❯ ○ 5 tests")
	})
	for key, want := range map[string]session.Command{"g": session.RunPlan{Through: true}, "n": session.RunPlan{},
		"r": session.RunPlan{Through: true, From: 4}, "F8": session.Resume{}} {
		t.Run("goes on with "+key, func(t *testing.T) {
			s, got := startOnStepsPanel(t)
			s.press(key)
			if c := <-got; c != want {
				t.Errorf("%s did %#v, want %#v", key, c, want)
			}
		})
	}
	for _, key := range []string{" ", "x", "t", "P", "d", "s", "K", "J", "e"} {
		t.Run("a step that has begun is refused to "+key, func(t *testing.T) {
			s, got := startOnStepsPanel(t)
			s.press("k", key)
			s.wait("step 3 has begun and stays as it is")
			if len(got) > 0 {
				t.Errorf("%s did %#v", key, <-got)
			}
		})
	}
}

func TestAStepIsWritten(t *testing.T) {
	t.Run("e edits a step", func(t *testing.T) {
		s, got := startOnStepsPanel(t)
		s.press("e")
		s.wait("title: tests", "check: go test", "tier: medium", "step 4: enter takes it")
		s.press(" or so", "enter")
		s.wait("tier: heavy, medium, light, or nothing")
		for range " or so" {
			s.press("backspace")
		}
		s.press(" only", "enter")
		if c := (<-got).(session.EditPlan); !c.Steps[3].Pinned || c.Steps[3].Tier != models.Medium ||
			c.Steps[3].Instructions != "Cover PriceOf." || !c.Steps[3].Pause {
			t.Errorf("the step is %+v", c.Steps[3])
		}
		s.wait("medium ⊙")
		s.press("e")
		s.wait("title: tests")
		s.press("esc")
		s.wait("❯ ○ 4 tests")
	})
	t.Run("a adds a step behind it", func(t *testing.T) {
		s, got := startOnStepsPanel(t)
		s.press("a")
		s.wait("a new step: enter")
		s.press("enter")
		s.wait("a step needs a title")
		s.press("\x15", "\x7f\x15\x7f\x15\x7f\x15\x7f\x15", "measure it", "enter")
		if c := (<-got).(session.EditPlan); len(c.Steps) != 7 || c.Steps[4].Title != "measure it" ||
			c.Steps[4].State != session.StepPending {
			t.Errorf("the steps are %+v", c.Steps)
		}
		s.wait("❯ ○ 5 measure it")
	})
}

func TestAProposalDoesNotTakeWhatIsBeingTyped(t *testing.T) {
	world, s := startOnSession(t, 80, 24, planTurn("refactor"))
	s.wait("› refactor")
	world.emit("s1", session.PlanSet{Plan: proposal()},
		session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: "the steps are proposed"})
	s.wait("g go through")
	s.press("d")
	s.wait("› d", "F7")
	s.gone("g go through")
	if len(world.commands) > 0 {
		t.Errorf("the key did %s", <-world.commands)
	}
	s.press("F7")
	s.wait("g go through")
	s.press("g")
	if got := <-world.commands; got != "RunPlan" {
		t.Errorf("command = %s, want RunSteps", got)
	}
}

func TestThePlanIsEditedAsAFile(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", planTurn("refactor"), session.PlanSet{Plan: planUnderWay()},
		session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: "look"})
	o, written := world.options(), make(chan string, 8)
	o.EditText = func(_ context.Context, text string) (string, error) { written <- text; return "plan.md", nil }
	o.ReadText = func(string) (string, error) { return "", nil }
	o.PlanText = func(list []session.Step) string { return fmt.Sprintf("%d steps", len(list)) }
	o.ParsePlan = func(text string) ([]session.Step, error) {
		list := planUnderWay().Steps
		for i := range list {
			list[i].State, list[i].Session = session.StepPending, ""
		}
		switch text {
		case "broken":
			return nil, errors.New("line 3: a step has no title")
		case "moved":
			return list[1:], nil
		}
		return append(list, session.Step{Title: "celebrate"}), nil
	}
	m := New(o)
	m.backend.engine, m.backend.store = world, world
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	stored, _ := world.Load(context.Background(), "s1")
	m.opener.add(stored, world.logs["s1"])
	m.switchTo("s1")
	edit := func(wrote, back string) {
		t.Helper()
		msg := m.perform(m.steps.file.open(m.steps.plan().Steps))()
		if d, ok := msg.(editFileMsg); !ok || d.of != (editedPlan{}) || d.path != "plan.md" {
			t.Fatalf("the editor got %#v", msg)
		}
		if text := <-written; text != wrote {
			t.Errorf("the editor got %q, want %q", text, wrote)
		}
		m.Update(editedMsg{text: back, of: editedPlan{}})
	}
	edit("6 steps", "broken")
	if !strings.Contains(m.toast.text, "line 3: a step has no title: E opens it again") {
		t.Errorf("it says %q", m.toast.text)
	}
	edit("broken", "moved")
	if !strings.Contains(m.toast.text, "has begun and keeps its place") {
		t.Errorf("it says %q", m.toast.text)
	}
	if m.steps.edits.sent != 0 {
		t.Error("a plan was sent")
	}
	edit("moved", "fine")
	list := m.steps.plan().Steps
	if len(list) != 7 || list[0].State != session.StepDone || list[2].Session != "st3" ||
		list[6].State != session.StepPending {
		t.Errorf("the steps are %+v", list)
	}
}

func TestATaskIsSplit(t *testing.T) {
	got := make(chan session.Command, 8)
	take := func(t *testing.T, typed func(s *screen), w *fakeEngine, o Options) {
		t.Helper()
		w.reply = func(_ *fakeEngine, _ session.ID, c session.Command) { got <- c }
		s := startScreen(t, 100, 30, o)
		s.wait("● sol")
		typed(s)
		if c, ok := (<-got).(session.PlanTask); !ok || c.Prompt.Text != "port the importer" || c.Prompt.ID == "" {
			t.Errorf("did %#v", c)
		}
	}
	t.Run("in a new session", func(t *testing.T) {
		w := newFakeEngine()
		take(t, func(s *screen) { s.press("/", "steps port the importer", "enter") }, w, w.options())
	})
	t.Run("asked for", func(t *testing.T) {
		w := newFakeEngine()
		take(t, func(s *screen) {
			s.press("/", "steps", "enter")
			s.wait("the task to cut into steps")
			s.press("port the importer", "enter")
		}, w, w.options())
	})
	t.Run("instead of a heavy request", func(t *testing.T) {
		w := newFakeEngine()
		w.add("s1", "", append(usualTurn(), session.TurnEnded{Outcome: session.OutcomeDone})...)
		o := withUsage(w)
		o.Warn = func() int64 { return 40_000 }
		take(t, func(s *screen) {
			s.wait("ctx 42k")
			s.press("port the importer", "enter")
			s.wait("/steps splits it")
			s.press("F7")
			s.gone("this request takes")
		}, w, o)
	})
}

func TestThePanelWaitsForTheSizeOfTheScreen(t *testing.T) {
	for width, want := range map[int]bool{80: false, 120: true} {
		m := New(newFakeEngine().options())
		m.raisePlan(false) // the session was read before the terminal had answered
		m.Update(tea.WindowSizeMsg{Width: width, Height: 36})
		if got := m.dialog == m.steps; got != want {
			t.Errorf("on %d columns the panel is open: %v, want %v", width, got, want)
		}
	}
}
