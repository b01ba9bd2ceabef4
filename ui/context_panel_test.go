package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"belay/session"
)

// contextUsage is a session of some size, as the engine weighs it.
func contextUsage() session.ContextUsage {
	return session.ContextUsage{
		Failures: session.FailureThreshold{From: 96_000, Above: 0.22,
			Below: 0.03}, Accuracy: session.CountAccuracy{Encoding: "o200k_base", Exact: true, Measured: true, Factor: 1.04},
		Tools:  7,
		Target: sol, Budget: 256_000, Trigger: 204_800, Counted: 43_600, Output: 128_000, Effort: "high", ToolCalls: 12,
		SummaryThrough: 9,
		Parts: []session.Part{
			{Source: session.SourceSystemPrompt, Tokens: 3120}, {Source: session.SourceAgentsFile,
				Tokens: 1050}, {Source: session.SourceTools, Tokens: 2410},
			{Source: session.SourcePinned, Tokens: 40}, {Source: session.SourceSummary,
				Tokens: 2200}, {Source: session.SourceUser, Tokens: 1300},
			{Source: session.SourceModel, Tokens: 6100}, {Source: session.SourceReasoning,
				Tokens: 3900}, {Source: session.SourceToolCalls, Tokens: 1150}, {Source: session.SourceToolOutput, Tokens: 22330},
		},
	}
}

// prunedSession are events after which much is left out of the requests.
func prunedSession() []session.Event {
	return append(usualTurn(), session.TurnEnded{Outcome: session.OutcomeDone},
		session.Pruned{By: "older outputs", Calls: []string{"a", "b", "c", "d", "e", "f"}, Before: 90_000, After: 52_000},
		session.Compacted{Through: 3, Summary: "## Goal\n- the rules move", Before: 104_600, After: 43_600},
		session.NotePinned{Text: "prices are in cents, never in floats"})
}

func withUsage(world *fakeEngine) Options {
	o := world.options()
	o.Open = "s1"
	o.Weight = func(context.Context, session.ID) (session.ContextUsage, error) { return contextUsage(), nil }
	return o
}

func TestKeysOfTheContextPanel(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", prunedSession()...)
	got := make(chan session.Command, 8)
	world.reply = func(_ *fakeEngine, _ session.ID, c session.Command) { got <- c }
	s := startScreen(t, 120, 36, withUsage(world))
	s.wait("ctx unknown")
	s.press("F6")
	s.wait("43,600")
	for _, tt := range []struct {
		key  string
		want session.Command
	}{{"enter", session.Compact{}}, {"t", session.PruneOutputs{}}, {"s", session.PruneRequest{}}, {"r",
		session.Restore{}}, {"F3", session.ChooseTier{Tier: "medium"}}} {
		s.press(tt.key)
		if c := <-got; fmt.Sprintf("%#v", c) != fmt.Sprintf("%#v", tt.want) {
			t.Errorf("%s did %#v, want %#v", tt.key, c, tt.want)
		}
	}
	s.press("p")
	s.wait("a note for every request")
	s.press("use tabs", "enter")
	if c := <-got; c != (session.PinNote{Text: "use tabs"}) {
		t.Errorf("p did %#v", c)
	}
	s.wait("43,600") // the panel is back
	s.press("f")
	s.wait("folders or patterns to work in")
	s.press("orders *.md", "enter")
	if c := <-got; fmt.Sprintf("%#v", c) != fmt.Sprintf("%#v", session.Focus{Paths: []string{"orders", "*.md"}}) {
		t.Errorf("f did %#v", c)
	}
	s.wait("43,600")
	s.press("h")
	s.wait("what the new session is to do")
	s.press("esc")
	s.wait("43,600")
	s.press("F5")
	s.press("esc", "F6")
	s.wait("43,600")
	s.press("esc")
	s.gone("43,600")
}

func TestTheContextPanelFollowsTheSession(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", prunedSession()...)
	o := withUsage(world)
	counts := make(chan int64, 8)
	for _, n := range []int64{41_000, 41_000, 33_000, 0} {
		counts <- n
	}
	o.Weight = func(context.Context, session.ID) (session.ContextUsage, error) {
		v := contextUsage()
		if v.Counted = <-counts; v.Counted == 0 {
			return v, errors.New("the session is not open")
		}
		return v, nil
	}
	s := startScreen(t, 120, 36, o)
	s.wait("ctx unknown")
	s.press("F6")
	s.wait("41,000")
	world.emit("s1", session.Restored{})
	s.wait("33,000", "nothing")
	world.emit("s1", session.NotePinned{Text: "x"})
	s.wait("the session is not open")
	s.gone("33,000")
}

func TestCommandsAreTyped(t *testing.T) {
	for _, tt := range []struct {
		name, typed string
		want        session.Command
	}{
		{"compact with what to keep", "/compact the names of the API", session.Compact{Keep: "the names of the API"}},
		{"compact", "/compact", session.Compact{}},
		{"trim", "/trim", session.PruneOutputs{}},
		{"slim", "/slim", session.PruneRequest{}},
		{"effort", "/effort High", session.ChooseEffort{Effort: "high"}},
		{"focus", "/focus orders *.md", session.Focus{Paths: []string{"orders", "*.md"}}},
		{"restore", "/restore", session.Restore{}},
		{"pin", "/pin use tabs, not spaces", session.PinNote{Text: "use tabs, not spaces"}},
		{"drop by some of its words", "/drop in cents", session.PinNote{Text: "prices are in cents, never in floats",
			Unpin: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			world := newFakeEngine()
			world.add("s1", "", prunedSession()...)
			got := make(chan session.Command, 8)
			world.reply = func(_ *fakeEngine, _ session.ID, c session.Command) { got <- c }
			s := startScreen(t, 80, 24, withUsage(world))
			s.wait("ctx unknown")
			s.press(tt.typed)
			s.wait("› " + tt.typed)
			s.press("enter")
			if c := <-got; fmt.Sprintf("%#v", c) != fmt.Sprintf("%#v", tt.want) {
				t.Errorf("%s did %#v, want %#v", tt.typed, c, tt.want)
			}
			s.paste(tt.typed)
			s.wait("› " + tt.typed)
			s.press("enter")
			if c := <-got; fmt.Sprintf("%#v", c) != fmt.Sprintf("%#v", tt.want) {
				t.Errorf("pasted, %s did %#v, want %#v", tt.typed, c, tt.want)
			}
		})
	}
	t.Run("what is no command is sent", func(t *testing.T) {
		world, s := startOnSession(t, 80, 24, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
		s.wait("· done")
		s.paste("/usr/bin/make fails")
		s.wait("/usr/bin/make")
		s.press("enter")
		if got := <-world.commands; got != "Send" {
			t.Errorf("command = %s, want Send", got)
		}
	})
	t.Run("model and help open their panels", func(t *testing.T) {
		world := newFakeEngine()
		world.add("s1", "", turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
		s := startScreen(t, 80, 24, withUsage(world))
		s.wait("· done")
		s.press("/", "help", "enter")
		s.wait("keys  ↑ ↓ scroll")
	})
	t.Run("a note without words is asked for", func(t *testing.T) {
		_, s := startOnSession(t, 80, 24, turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
		s.wait("· done")
		s.press("/", "pin", "enter")
		s.wait("a note for every request")
	})
	t.Run("which note is asked", func(t *testing.T) {
		_, s := startOnSession(t, 80, 24, turn("x"), session.NotePinned{Text: "one note"},
			session.NotePinned{Text: "another note"}, session.TurnEnded{Outcome: session.OutcomeDone})
		s.wait("· done")
		s.press("/", "drop note", "enter")
		s.wait("Which note?", "- one note", "- another note")
	})
}

func TestASessionIsHandedOver(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", append(prunedSession(), session.TodosChanged{Todos: []session.Todo{{Text: "map the module",
		Status: "done"}, {Text: "core logic", Status: "pending"}}})...)
	world.mu.Lock()
	world.sessions["s1"].ChangedFiles = []string{"orders/service.go"}
	world.mu.Unlock()
	got := make(chan session.Command, 8)
	world.reply = func(_ *fakeEngine, id session.ID, c session.Command) {
		if id != "s1" {
			got <- c
		}
	}
	s := startScreen(t, 100, 30, withUsage(world))
	s.wait("ctx unknown")
	s.press("/handoff write the core logic", "enter")
	for i, want := range []string{"ChooseTier", "PinNote", "Send"} {
		c := <-got
		if name := strings.TrimPrefix(fmt.Sprintf("%T", c), "session."); name != want {
			t.Fatalf("command %d = %s, want %s", i, name, want)
		}
		if k, ok := c.(session.PinNote); ok && k.Text != "prices are in cents, never in floats" {
			t.Errorf("kept %q", k.Text)
		}
		sent, ok := c.(session.Send)
		if !ok {
			continue
		}
		if sent.Prompt.Text != "write the core logic" || len(sent.Prompt.Attachments) != 1 ||
			sent.Prompt.Attachments[0].Name != "carried over from session s1" {
			t.Fatalf("sent %q with %v", sent.Prompt.Text, sent.Prompt.Attachments)
		}
		text := sent.Prompt.Attachments[0].Text
		for _, part := range []string{"A record of the work of an earlier session, “refactor the orders module",
			"The module mixes **pricing** and", "the rules move", "- [x] map the module", "- [ ] core logic",
			"- orders/service.go"} {
			if !strings.Contains(text, part) {
				t.Errorf("the first prompt lacks %q:\n%s", part, text)
			}
		}
	}
}

func TestALargeRequestGetsAHintOnce(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", append(usualTurn(), session.TurnEnded{Outcome: session.OutcomeDone})...)
	o := withUsage(world)
	o.Warn = func() int64 { return 40_000 }
	s := startScreen(t, 100, 30, o)
	s.wait("ctx 42k")
	s.press("go on", "enter")
	s.wait("this request takes ≈42k tokens", "send it as it is", "› go on")
	s.press(" please", "enter")
	if got := <-world.commands; got != "Send" {
		t.Errorf("command = %s, want Send", got)
	}
	s.gone("this request takes")
	s.press("and this", "enter")
	s.wait("this request takes", "› and this")
	for range "and this" {
		s.press("backspace")
	}
	s.gone("this request takes")
	t.Run("so does the whole repository", func(t *testing.T) {
		o := withUsage(world)
		o.Warn = func() int64 { return 90_000 }
		s := startScreen(t, 60, 16, o)
		s.wait("ctx 42k")
		s.press("explain the whole repository", "enter")
		s.wait("the whole repository makes long requests")
	})
	t.Run("what is heavy by habit is said in passing, once", func(t *testing.T) {
		o := withUsage(world)
		o.Warn = func() int64 { return 90_000 }
		s := startScreen(t, 120, 36, o)
		s.wait("ctx 42k")
		s.press("F6")
		s.wait("effort high")
		s.press("esc")
		s.gone("effort high")
		s.press("go on", "enter")
		s.wait("effort high with replies of up to 128k tokens")
		if got := <-world.commands; got != "Send" {
			t.Errorf("command = %s, want Send", got)
		}
	})
	t.Run("a small one gets none", func(t *testing.T) {
		o := withUsage(world)
		o.Warn = func() int64 { return 50_000 }
		s := startScreen(t, 60, 16, o)
		s.wait("ctx 42k")
		s.press("go on", "enter")
		if got := <-world.commands; got != "Send" {
			t.Errorf("command = %s, want Send", got)
		}
	})
	t.Run("neither does what is queued", func(t *testing.T) {
		world := newFakeEngine()
		world.add("s1", "", usualTurn()...)
		o := withUsage(world)
		o.Warn = func() int64 { return 40_000 }
		s := startScreen(t, 60, 16, o)
		s.wait("ctx 42k")
		s.press("go on", "enter")
		if got := <-world.commands; got != "Send" {
			t.Errorf("command = %s, want Send", got)
		}
	})
}

func TestTheMeterIsHonest(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", turn("go on"))
	s := startScreen(t, 100, 30, withUsage(world))
	s.wait("ctx ≈43k") // no provider has counted yet
	world.emit("s1", said("words"), usualTurn()[len(usualTurn())-1], session.TurnEnded{Outcome: session.OutcomeDone})
	s.wait("ctx 42k/272k")
	world.emit("s1", session.Switched{From: sol, To: terra})
	s.wait("ctx unknown")
	world.emit("s1", usualTurn()[len(usualTurn())-1])
	s.wait("ctx 42k/272k")
	world.emit("s1", session.Compacted{Through: 2, Summary: "short"})
	s.wait("ctx unknown")
}
