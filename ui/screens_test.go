package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/capacity"
)

func startOnSession(t *testing.T, w, h int, events ...session.Event) (*fakeEngine, *screen) {
	t.Helper()
	made := newFakeEngine()
	made.add("s1", "", events...)
	o := made.options()
	o.Open = "s1"
	return made, startScreen(t, w, h, o)
}

var sizes = []struct{ w, h int }{{60, 16}, {80, 24}, {120, 36}, {200, 50}}

func emitWait(world *fakeEngine) {
	world.emit("s1",
		session.AttemptStarted{Number: 1, Of: 4, Target: sol}, session.ReplyOpened{Target: sol},
		session.TextDelta{Text: "The pricing rules move into orders/pricing.go, which"},
		session.CutOff{Text: "The pricing rules move into orders/pricing.go, which"},
		session.AttemptFailed{Number: 1, Of: 4, Target: sol, Fault: capacityFault(),
			Next: models.NextRetry, Delay: 8 * time.Second},
		session.Waiting{Number: 2, Of: 4, Until: noon.Add(8 * time.Second), Target: sol, Fault: capacityFault(),
			Then: terra})
}

// The header says who answers for whom, and F5 says the same of the session in view.
func TestTheHeaderAndThePanelSayWhoAnswers(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", usualTurn()...)
	o := world.options()
	o.Open = "s1"
	o.Capacity = func(_ context.Context, id session.ID) (capacity.View, error) {
		var view capacity.View
		for _, condition := range world.Tiers(id) {
			view.Rows = append(view.Rows, capacity.Row{Condition: condition, Streak: 2})
		}
		return view, nil
	}
	s := startScreen(t, 120, 36, o)
	s.wait("1 ● sol")
	world.mu.Lock()
	world.tiers[0].State, world.tiers[0].Fault = models.Failing, capacityFault()
	world.tiers[0].Until, world.tiers[0].StandIn = noon.Add(252*time.Second), terra
	world.tiers[1].Answers = true
	world.tiers[2].State = models.Unknown
	world.mu.Unlock()
	world.published <- []session.Record{{Event: session.TiersChanged{}}}
	s.wait("1 ○ sol 4:12 → terra   2 ● terra   3 ◌ luna")
	s.press("F5")
	s.wait("○ full 4:12", "● has room, answers", "◌ unknown")
}

func TestTheBoxChangesInPlaceAndGoesWhenTheModelAnswers(t *testing.T) {
	world, s := startOnSession(t, 100, 30, turn("go on"))
	s.wait("go on")
	emitWait(world)
	s.wait("attempt 2 of 4", "8.0s")
	world.advance(4 * time.Second)
	s.wait("attempt 2 of 4", "4.0s")
	world.emit("s1", session.AttemptStarted{Number: 2, Of: 4, Target: sol})
	s.wait("is on its way")
	world.emit("s1", session.AttemptFailed{Number: 2, Of: 4, Target: sol, Fault: capacityFault(), Next: models.NextRetry,
		Delay: time.Minute})
	text := s.wait("attempt 3 of 4")
	if n := strings.Count(text, "no room at the model"); n != 1 {
		t.Errorf("the wait is shown %d times, want once:\n%s", n, text)
	}
	world.emit("s1", session.ReplyOpened{Target: sol}, session.TextDelta{Text: "New words."})
	text = s.wait("New words.")
	for _, old := range []string{"will be written again", "attempt 3", "The pricing rules"} {
		if strings.Contains(text, old) {
			t.Errorf("%q is still on the screen:\n%s", old, text)
		}
	}
}

func TestKeysDuringAWait(t *testing.T) {
	for _, tt := range []struct{ name, key, want string }{
		{"F3 takes the medium tier", "F3", "ChooseTier"},
		{"alt+3 takes the light tier", "\x1b3", "ChooseTier"},
		{"ctrl+t takes the next tier", "ctrl+t", "ChooseTier"},
		{"F8 tries now", "F8", "TryNow"},
		{"F9 parks", "F9", "Park"},
		{"esc stops", "esc", "Stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			world, s := startOnSession(t, 80, 24, turn("go on"))
			s.wait("go on")
			emitWait(world)
			s.wait("attempt 2 of 4")
			s.press("a draft")
			s.wait("a draft")
			s.press(tt.key)
			if got := <-world.commands; got != tt.want {
				t.Errorf("command = %s, want %s", got, tt.want)
			}
			s.wait("a draft")
		})
	}
	t.Run("letters work after tab", func(t *testing.T) {
		world, s := startOnSession(t, 80, 24, turn("go on"))
		s.wait("go on")
		emitWait(world)
		s.wait("F8 now")
		s.press("tab")
		s.wait("r now")
		s.press("3")
		if got := <-world.commands; got != "ChooseTier" {
			t.Errorf("command = %s, want ChooseTier", got)
		}
		s.press("i")
		s.wait("It is full, not broken.")
	})
}

func approvalAsked(detail string) session.Event {
	return session.ApprovalAsked{Approval: session.Approval{CallID: "c9", Tool: "shell", Title: "make release",
		Preview: detail, Args: `{"command":"make release"}`, Reason: "it runs a command",
		Always: "make release, in this project"}}
}

func TestAlwaysIsConfirmed(t *testing.T) {
	var answer session.Answer
	world, s := startOnSession(t, 80, 24, turn("go on"), approvalAsked("make release"))
	world.reply = func(w *fakeEngine, id session.ID, c session.Command) {
		answer = c.(session.AnswerApproval).Answer
		w.emit(id, session.ApprovalAnswered{Answer: answer})
	}
	s.wait("allow shell?")
	world.advance(time.Second)
	s.press("a")
	s.wait("always: make release, in this project")
	s.press("a")
	s.gone("allow shell?")
	if !answer.Allow || !answer.Always || answer.CallID != "c9" {
		t.Errorf("answer = %+v, want c9 allowed always", answer)
	}
}

func TestARefusalMayHaveWordsAndACallMayBeEdited(t *testing.T) {
	answers := make(chan session.Answer, 1)
	world, s := startOnSession(t, 80, 24, turn("go on"), approvalAsked("make release"))
	world.reply = func(w *fakeEngine, id session.ID, c session.Command) { answers <- c.(session.AnswerApproval).Answer }
	s.wait("allow shell?")
	world.advance(time.Second)
	s.press("n")
	s.wait("no, because:")
	s.press("not today", "enter")
	if got := <-answers; got.Allow || got.Message != "not today" {
		t.Errorf("answer = %+v, want refused with words", got)
	}
	world.advance(time.Second)
	s.press("e")
	s.wait("editing the call", "› make release")
	s.press(" -n", "enter")
	if got := <-answers; !got.Allow || got.Args != `{"command":"make release -n"}` {
		t.Errorf("answer = %+v, want the edited command", got)
	}
}

func TestWhatIsHiddenInACommandIsShown(t *testing.T) {
	_, s := startOnSession(t, 80, 24, turn("go on"), approvalAsked("ls \x1b]0;\x07; rm -rf /\r\x1b[2Kls"))
	text := s.wait("allow shell?")
	if !strings.Contains(text, "rm -rf /") || !strings.Contains(text, "␛") {
		t.Errorf("the hidden part is not shown:\n%s", text)
	}
}

func TestTheListOfSessions(t *testing.T) {
	world := newFakeEngine()
	manySessions(world, nil)
	world.hits = []session.Hit{{Session: *world.sessions["b2"], Snippet: "the \x02importer\x03 was named"}}
	t.Run("finds in titles and texts", func(t *testing.T) {
		o := world.options()
		o.Picker = true
		s := startScreen(t, 120, 36, o)
		s.wait("login test")
		s.press("importer")
		s.gone("login test")
		s.wait("port the importer", "the importer was named")
	})
	t.Run("opens", func(t *testing.T) {
		o := world.options()
		o.Picker = true
		s := startScreen(t, 100, 30, o)
		s.wait("port the importer")
		s.press("enter")
		s.wait("allow shell?")
	})
	t.Run("shows what other belays do, as it changes, and leaves it to them", func(t *testing.T) {
		o := world.options()
		o.Picker = true
		o.Owners = func(context.Context) (map[session.ID]session.Owner, error) {
			return map[session.ID]session.Owner{"d4": {PID: 4242, Program: "run"}}, nil
		}
		s := startScreen(t, 100, 30, o)
		s.wait("belay run 4242", "! 1 needs you")
		s.press("login")
		s.gone("nightly")
		s.press("\x04")
		s.wait("it belongs to another belay that runs")
		s.press("\x15")
		s.wait("nightly")
		world.record("d4", session.Renamed{Title: "login renamed elsewhere"})
		world.advance(3 * time.Second)
		s.wait("login renamed elsewhere")
		world.record("d4", session.Renamed{Title: "login test"})
	})
	t.Run("exports", func(t *testing.T) {
		o := world.options()
		o.Picker = true
		o.RunTool = func(_ context.Context, command ...string) (string, error) {
			return "written: " + strings.Join(command, " "), nil
		}
		s := startScreen(t, 120, 30, o)
		s.wait("nightly")
		s.press("nightly")
		s.gone("login")
		s.press("\x05")
		s.wait("written: sessions export c3 -o belay-c3.md")
	})
	t.Run("deletes and takes back", func(t *testing.T) {
		o := world.options()
		o.Picker = true
		s := startScreen(t, 100, 30, o)
		s.wait("login test")
		s.press("login")
		s.gone("nightly")
		s.press("\x04")
		s.wait("deleted “login test”")
		if got := <-world.commands; got != "SetArchived" {
			t.Errorf("command = %s, want File", got)
		}
		s.press("\x1a")
		if got := <-world.commands; got != "SetArchived" {
			t.Errorf("command = %s, want File", got)
		}
	})
}

func TestFirstStart(t *testing.T) {
	var trusted *bool
	key := ""
	world := newFakeEngine()
	o := world.options()
	stage := 0
	ask := &Setup{
		Trust: "/home/me/shop", Key: true, KeyFor: "OpenAI",
		Answer:  func(_ context.Context, yes bool) error { trusted = &yes; return nil },
		SaveKey: func(_ context.Context, k string) (string, error) { key = k; stage = 1; return "the keyring", nil },
		Local: func(context.Context) ([]Local, error) {
			return []Local{{"ollama", "http://127.0.0.1:11434/v1", []string{"qwen3-coder"}}}, nil
		},
		Use: func(context.Context, Local, map[models.Tier]string) error {
			return errors.New("it does not answer")
		},
		Rehearse: func(context.Context) (string, error) { return "", nil },
	}
	o.Connect = func(context.Context) (Engine, Library, *Setup, error) {
		if stage == 0 {
			return nil, nil, ask, nil
		}
		return world, world, nil, nil
	}
	s := startScreen(t, 80, 24, o)
	s.wait("Do you trust this folder?")
	s.press("y")
	s.wait("belay needs a model", "ollama with 1 model")
	s.press("2")
	s.wait("127.0.0.1:11434")
	s.press("enter")
	s.wait("it does not answer")
	s.press("esc")
	s.wait("Paste a key")
	s.press("1")
	s.wait("Paste your OpenAI key")
	s.paste("sk-secret")
	text := s.wait("•••••••••")
	if strings.Contains(text, "secret") {
		t.Error("the key is on the screen")
	}
	s.press("enter")
	s.wait("the key is kept in the keyring", "● sol")
	if trusted == nil || !*trusted || key != "sk-secret" {
		t.Errorf("trusted = %v, key = %q", trusted, key)
	}
	if s.wrote("sk-secret") {
		t.Error("the key was written to the terminal")
	}
}

func TestAnErrorAtConnectIsAScreen(t *testing.T) {
	o := newFakeEngine().options()
	o.Connect = func(context.Context) (Engine, Library, *Setup, error) {
		return nil, nil, nil, fmt.Errorf("open the database: %w", hintedError{"disk full"})
	}
	s := startScreen(t, 80, 24, o)
	s.wait("belay cannot go on", "open the database: disk full", "free some space")
	s.press("q")
	if err := <-s.done; err == nil {
		t.Error("Run gave no error")
	}
	s.done <- nil
}

type hintedError struct{ words string }

func (h hintedError) Error() string { return h.words }
func (h hintedError) Hint() string  { return "free some space" }

// A prompt on the command line is sent once, to the session that it was said with.
func TestAPromptIsSentToTheSessionThatIsOpened(t *testing.T) {
	for name, open := range map[string]session.ID{"a new one": "", "one that exists": "s1"} {
		t.Run(name, func(t *testing.T) {
			world := newFakeEngine()
			world.add("s1", "", append(usualTurn(), session.TurnEnded{Outcome: session.OutcomeDone})...)
			o := world.options()
			o.Open, o.Prompt = open, "and now the docs"
			told := make(chan string, 1)
			world.reply = func(_ *fakeEngine, id session.ID, c session.Command) {
				if sent, ok := c.(session.Send); ok {
					told <- string(id) + ": " + sent.Prompt.Text
				}
			}
			s := startScreen(t, 80, 24, o)
			s.wait("shop ·") // one that is ended before its first frame waits for the terminal's answers
			if got := <-told; !strings.HasSuffix(got, ": and now the docs") || open != "" && !strings.HasPrefix(got, "s1:") {
				t.Errorf("told %q, want the prompt", got)
			}
		})
	}
}

// Arrows and enter are enough for the whole first start.
func TestTheFirstStartWithArrowsAndEnter(t *testing.T) {
	var did []string
	world := newFakeEngine()
	o := world.options()
	open := false
	ask := &Setup{
		Trust: "/home/me/shop", Key: true, KeyFor: "OpenAI",
		Answer: func(_ context.Context, yes bool) error { did = append(did, fmt.Sprint("trusted ", yes)); return nil },
		Found: []FoundKey{
			{"openrouter", "OPENROUTER_API_KEY", []string{"large", "small"}}, {"groq", "GROQ_API_KEY", []string{"one", "one"}},
		},
		UseKey: func(_ context.Context, provider string) error {
			did, open = append(did, "use "+provider), true
			return nil
		},
	}
	o.Connect = func(context.Context) (Engine, Library, *Setup, error) {
		if !open {
			return nil, nil, ask, nil
		}
		return world, world, nil, nil
	}
	s := startScreen(t, 80, 24, o)
	s.wait("❯ n work without")
	s.press("up")
	s.wait("❯ y trust it")
	s.press("enter")
	s.wait("Use OPENROUTER_API_KEY", "openrouter: large and small", "Use GROQ_API_KEY", "groq: one")
	s.press("up", "down", "down", "down", "down", "down")
	s.wait("❯ 3  Rehearse")
	s.press("up", "up", "up")
	s.wait("❯    Use GROQ_API_KEY")
	s.press("enter")
	s.wait("1 ● sol")
	if got, want := strings.Join(did, ", "), "trusted true, use groq"; got != want {
		t.Errorf("done: %s, want %s", got, want)
	}
}

// The local choice asks which model is for which tier, and goes back one at a time.
func TestTheLocalChoiceAsksForEachTier(t *testing.T) {
	var got map[models.Tier]string
	world := newFakeEngine()
	o := world.options()
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("model-%02d", i))
	}
	ask := &Setup{
		Key: true, KeyFor: "OpenAI",
		Local: func(context.Context) ([]Local, error) {
			return []Local{{"ollama", "http://127.0.0.1:11434/v1", many}}, nil
		},
		Use: func(_ context.Context, _ Local, chosen map[models.Tier]string) error {
			got = chosen
			return nil
		},
	}
	o.Connect = func(context.Context) (Engine, Library, *Setup, error) {
		if got == nil {
			return nil, nil, ask, nil
		}
		return world, world, nil, nil
	}
	s := startScreen(t, 60, 16, o)
	s.wait("ollama with 30 models")
	s.press("2")
	s.wait("127.0.0.1:11434")
	s.press("enter")
	s.wait("Which model of ollama for heavy?")
	for range 29 {
		s.press("down")
	}
	s.wait("❯ model-29", "enter for heavy")
	s.press("enter")
	s.wait("for medium?", "heavy   model-29")
	s.press("esc")
	s.wait("for heavy?", "❯ model-29")
	s.press("up", "enter")
	s.wait("for medium?", "heavy   model-28", "❯ model-28")
	s.press("enter")
	s.wait("for light?", "medium  model-28")
	s.press("up", "enter")
	s.wait("1 ● sol")
	if got[models.Heavy] != "model-28" || got[models.Medium] != "model-28" || got[models.Light] != "model-27" {
		t.Errorf("got %v", got)
	}
}

// A key that its endpoint refuses is not kept unless the person insists.
func TestARefusedKeyIsSaidAndMayBeKept(t *testing.T) {
	kept, checked := "", 0
	o := newFakeEngine().options()
	ask := &Setup{
		Key: true, KeyFor: "OpenAI",
		CheckKey: func(context.Context, string) error {
			checked++
			return errors.New("openai refuses this key: Incorrect")
		},
		SaveKey: func(_ context.Context, key string) (string, error) { kept = key; return "", errors.New("kept") },
	}
	o.Connect = func(context.Context) (Engine, Library, *Setup, error) { return nil, nil, ask, nil }
	s := startScreen(t, 80, 24, o)
	s.wait("belay needs a model")
	s.press("enter")
	s.wait("Paste your OpenAI key")
	s.paste("sk-wrong")
	s.press("enter")
	text := s.wait("openai refuses this key: Incorrect", "keep it all the same")
	if kept != "" || strings.Contains(text, "wrong") {
		t.Errorf("kept %q, or shown:\n%s", kept, text)
	}
	s.press("enter")
	s.wait("✗ kept")
	if kept != "sk-wrong" || checked != 1 {
		t.Errorf("kept %q after %d checks, want the key after one", kept, checked)
	}
}

// However many keys there are, the chosen way is on the screen with its text.
func TestManyKeysFitTheSmallestScreen(t *testing.T) {
	ask := &Setup{Key: true, KeyFor: "OpenAI"}
	for i := range 40 {
		name := fmt.Sprintf("provider%02d", i)
		ask.Found = append(ask.Found, FoundKey{name, strings.ToUpper(name) + "_KEY", []string{"m"}})
	}
	o := newFakeEngine().options()
	o.Connect = func(context.Context) (Engine, Library, *Setup, error) { return nil, nil, ask, nil }
	s := startScreen(t, 60, 16, o)
	for i := range 43 {
		want := fmt.Sprintf("❯    Use PROVIDER%02d_KEY", i)
		if i >= 40 {
			want = []string{"❯ 1  Paste a key", "❯ 2  Use a model", "❯ 3  Rehearse"}[i-40]
		}
		s.wait(want, "enter go on", "belay needs a model")
		s.press("down")
	}
}

func TestTheTerminalsTitleSaysHowTheSessionIsDoing(t *testing.T) {
	world, s := startOnSession(t, 80, 24, turn("move the rules"))
	s.waitFor("a title that says it runs", func(string) bool { return s.wroteLocked("▸ belay · shop") })
	world.emit("s1", session.TurnEnded{Outcome: session.OutcomeParked, Fault: capacityFault()})
	s.waitFor("a title that says it is parked", func(string) bool { return s.wroteLocked("⏸ belay · shop") })
}

func TestAPathOnTheScreenOpensItsFile(t *testing.T) {
	w := newFakeEngine()
	w.add("s1", "", turn("look"), session.ToolEnded{CallID: "c", Tool: "read", Title: "orders/total.go"})
	o := w.options()
	o.Open = "s1"
	o.Address = func(path string) string { return "file://here/shop/" + path }
	s := startScreen(t, 80, 24, o)
	x, y := s.at("orders/total.go")
	s.waitFor("the link of the call", func(string) bool {
		before, within := s.emu.CellAt(x-1, y), s.emu.CellAt(x+3, y)
		return within != nil && within.Link.URL == "file://here/shop/orders/total.go" && before.Link.URL == ""
	})
}
