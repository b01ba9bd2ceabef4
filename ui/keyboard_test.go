package ui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
)

// obeyQuickly answers commands as a quick engine would.
func obeyQuickly(w *fakeEngine, id session.ID, c session.Command) {
	switch c := c.(type) {
	case session.Send:
		w.mu.Lock()
		s := *w.sessions[id]
		w.mu.Unlock()
		if s.Live() || s.Status == session.Parked {
			w.emit(id, session.PromptQueued(c))
			return
		}
		w.emit(id, session.TurnStarted{Prompt: c.Prompt})
	case session.SteerQueued:
		w.mu.Lock()
		s := *w.sessions[id]
		w.mu.Unlock()
		for _, q := range s.Queue {
			if (c.ID == "" || c.ID == q.ID) && !s.IsSteered(q.ID) {
				w.emit(id, session.PromptSteered{ID: q.ID})
			}
		}
	case session.Unqueue:
		w.emit(id, session.PromptUnqueued(c))
	case session.ChooseTier:
		w.emit(id, session.TierChosen(c))
	case session.ChooseMode:
		w.emit(id, session.ModeChosen(c))
	case session.Stop:
		w.emit(id, session.TurnEnded{Outcome: session.OutcomeStopped})
	case session.Rename:
		w.emit(id, session.Renamed(c))
	}
}

func TestEnterThreeTimesSendsOnceAndStartsASession(t *testing.T) {
	w := newFakeEngine()
	w.reply = obeyQuickly
	s := startScreen(t, 80, 24, w.options())
	s.wait("● sol")
	s.press("do it", "enter", "enter", "enter")
	s.wait("starting")
	s.press("F3")
	for _, want := range []string{"Send", "ChooseTier"} {
		if got := <-w.commands; got != want {
			t.Errorf("command = %s, want %s", got, want)
		}
	}
}

func TestAMessageBehindATurnIsQueuedAndTakenBack(t *testing.T) {
	w, s := startOnSession(t, 80, 24, turn("go on"))
	w.reply = obeyQuickly
	s.wait("go on")
	s.press("then the docs", "enter")
	s.wait("at the end of the turn  then the docs", "1 queued")
	s.press("up")
	s.wait("› then the docs")
	s.gone("1 queued")
}

func TestASecondEnterSendsWhatIsQueuedIntoTheTurn(t *testing.T) {
	running := session.ToolStarted{Effect: session.Effect{CallID: "c1", Tool: "shell", Title: "make"}}
	queue := session.PromptQueued{Prompt: session.Prompt{ID: "q", Text: "then the docs"}}
	begin := func(t *testing.T) (*fakeEngine, *screen) {
		world, s := startOnSession(t, 80, 24, turn("go on"))
		world.reply = obeyQuickly
		s.wait("go on")
		world.emit("s1", calls("c1", "shell", `{"command":"make"}`), running)
		s.wait("running shell")
		return world, s
	}
	t.Run("enter, and enter again", func(t *testing.T) {
		w, s := begin(t)
		w.emit("s1", queue)
		s.wait("at the end of the turn  then the docs", "enter sends it after the running call; ↑ takes it back")
		s.press("enter")
		s.wait("after the running call  then the docs", "› ↑ takes it back")
		s.press("up")
		s.wait("› then the docs")
		s.gone("1 queued")
	})
	t.Run("two enters at once, before the first is known to be queued", func(t *testing.T) {
		w, s := begin(t)
		s.press("then the docs", "enter", "enter")
		s.wait("after the running call  then the docs")
		for _, want := range []string{"Send", "SteerQueued"} {
			if got := <-w.commands; got != want {
				t.Errorf("command = %s, want %s", got, want)
			}
		}
	})
	t.Run("ctrl+enter with words, which leaves alone what waits", func(t *testing.T) {
		w, s := begin(t)
		w.emit("s1", queue)
		s.wait("at the end of the turn  then the docs")
		s.press("use tabs", "\x1b[13;5u")
		s.wait("at the end of the turn  then the docs", "after the running call  use tabs")
	})
	t.Run("what the turn has taken is a message of it", func(t *testing.T) {
		w, s := begin(t)
		w.emit("s1", queue, session.PromptSteered{ID: "q"}, session.ToolEnded{CallID: "c1", Tool: "shell", Title: "make"})
		s.wait("with the next request  then the docs")
		w.emit("s1", session.PromptTaken{Prompt: queue.Prompt})
		s.gone("1 queued")
		s.wait("then the docs", "write ahead")
	})
	t.Run("with nothing queued, enter does nothing", func(t *testing.T) {
		w, s := begin(t)
		s.press("enter", "F3")
		if got := <-w.commands; got != "ChooseTier" {
			t.Errorf("command = %s, want ChooseTier alone", got)
		}
		s.wait("go on")
	})
}

func TestAParkedTurnHoldsTheQueueAndSaysHowToGoOn(t *testing.T) {
	w, s := startOnSession(t, 100, 24, turn("go on"),
		session.PromptQueued{Prompt: session.Prompt{ID: "q", Text: "then the docs"}},
		session.TurnEnded{Outcome: session.OutcomeParked, Fault: capacityFault(), RetryAt: noon.Add(2 * time.Minute),
			ParkCount: 2})
	s.wait("held  then the docs", "next try at 12:02", "ctrl+x", "again in 2:00")
	for _, tt := range []struct {
		key  string
		want []string
	}{{"F8", []string{"Resume"}}, {"ctrl+x", []string{"Drop"}}, {"F4", []string{"ChooseTier", "Resume"}}} {
		s.press(tt.key)
		for _, want := range tt.want {
			if got := <-w.commands; got != want {
				t.Errorf("%s: command = %s, want %s", tt.key, got, want)
			}
		}
	}
}

func TestTheTierKeysWorkWhenIdleAndKeepTheDraft(t *testing.T) {
	w, s := startOnSession(t, 80, 24, append(usualTurn(), session.TurnEnded{Outcome: session.OutcomeDone})...)
	w.reply = obeyQuickly
	s.wait("● sol")
	s.press("half a thought", "\x1b2")
	if got := <-w.commands; got != "ChooseTier" {
		t.Errorf("command = %s, want ChooseTier", got)
	}
	s.wait("› half a thought")
	s.press("shift+tab")
	s.wait("all run")
}

func TestALargePasteIsFoldedAndSentWhole(t *testing.T) {
	sent := make(chan session.Prompt, 1)
	w, s := startOnSession(t, 80, 24)
	w.reply = func(_ *fakeEngine, _ session.ID, c session.Command) { sent <- c.(session.Send).Prompt }
	s.wait("what is to be done?")
	body := strings.TrimSuffix(strings.Repeat("line of a log\n", 312), "\n")
	s.press("why? ")
	s.paste(body)
	s.wait("› why? [pasted 312 lines]")
	s.press("enter")
	if got := <-sent; got.Text != "why? [pasted 312 lines]" || len(got.Attachments) != 1 ||
		got.Attachments[0] != (models.Attachment{Name: "pasted 312 lines", Text: body}) {
		t.Errorf("sent %q with %d attachments", got.Text, len(got.Attachments))
	}
	s.paste(body)
	s.wait("› [pasted 312 lines]")
	s.press("enter")
	if got := <-sent; got.Text != body || len(got.Attachments) != 0 {
		t.Errorf("a paste alone is sent as %d bytes of words, want %d", len(got.Text), len(body))
	}
}

func TestPromptHistory(t *testing.T) {
	w, s := startOnSession(t, 80, 24)
	w.reply = func(*fakeEngine, session.ID, session.Command) {}
	s.wait("what is to be done?")
	s.press("first one", "enter")
	<-w.commands
	s.press("second", "enter")
	<-w.commands
	s.press("draft", "up", "up")
	s.wait("› first one")
	s.press("down", "down")
	s.wait("› draft")
	s.press("ctrl+r")
	s.wait("earlier prompts", "first one", "second")
	s.press("fir", "enter")
	s.wait("› first one")
}

func TestNewLinesAndUnicodeInTheComposer(t *testing.T) {
	_, s := startOnSession(t, 60, 16)
	s.wait("what is to be done?")
	s.press("héllo 世界", "alt+enter", "🙂 zwei")
	s.wait("› héllo 世界\n   🙂 zwei")
}

func TestScrollingBackReadsOlderRecordsAndKeepsThePlace(t *testing.T) {
	var events []session.Event
	for i := range 400 {
		events = append(events, turn(fmt.Sprintf("question %d", i)), said(fmt.Sprintf("answer %d", i)),
			session.TurnEnded{Outcome: session.OutcomeDone})
	}
	w, s := startOnSession(t, 80, 24, events...)
	s.wait("answer 399")
	for range 40 {
		s.press("home")
	}
	s.wait("question 0", "answer 0")
	w.emit("s1", turn("the newest"))
	s.wait("1 new")
	s.press("end")
	s.wait("the newest")
}

func TestFindInTheTranscript(t *testing.T) {
	var events []session.Event
	for i := range 60 {
		events = append(events, turn(fmt.Sprintf("question %d", i)), said(fmt.Sprintf("the needle%d is here", i)),
			session.TurnEnded{Outcome: session.OutcomeDone})
	}
	_, s := startOnSession(t, 80, 24, events...)
	s.wait("needle59")
	s.press("ctrl+f", "needle7")
	s.wait("1 place", "question 7")
	s.press("esc")
	s.gone("1 place")
}

func TestAToolCallOpensWithItsChange(t *testing.T) {
	_, s := startOnSession(t, 120, 36, append(usualTurn(), session.TurnEnded{Outcome: session.OutcomeDone})...)
	s.wait("go test")
	s.press("ctrl+o", "up", "enter")
	s.wait("117 −", "sum, err := PriceOf(o)", "❯ ✓ edit")
	s.press("esc")
	s.gone("❯ ✓")
}

func TestThePaletteRunsACommand(t *testing.T) {
	w, s := startOnSession(t, 80, 24, append(usualTurn(), session.TurnEnded{Outcome: session.OutcomeDone})...)
	w.reply = obeyQuickly
	s.wait("· done")
	s.press("ctrl+p")
	s.wait("commands", "heavy tier")
	s.press("rename", "enter")
	s.wait("a new title")
	s.press("\x15", "pricing", "enter")
	s.wait("main*  pricing")
}

func TestBetweenRunningSessions(t *testing.T) {
	w, s := startOnSession(t, 80, 24, turn("the first"))
	w.reply = obeyQuickly
	s.wait("the first")
	s.press("draft one", "ctrl+n")
	s.wait("▸ 1 other at work")
	s.press("the second", "enter")
	s.wait(" › the second", "write ahead") // sent, not only typed
	s.press("alt+left")
	s.wait("the first", "› draft one")
	s.press("alt+right")
	s.wait(" › the second")
}

func TestLeavingListsWhatRuns(t *testing.T) {
	w, s := startOnSession(t, 80, 24, turn("the long job"))
	s.wait("the long job")
	s.press("ctrl+c")
	s.wait("ctrl+c again leaves")
	s.press("ctrl+c")
	s.wait("these sessions are at work", "park all")
	s.press("esc")
	s.gone("park all")
	s.press("ctrl+c", "ctrl+c")
	s.wait("park all")
	s.press("p")
	if got := <-w.commands; got != "Park" {
		t.Errorf("command = %s, want Park", got)
	}
	if err := <-s.done; err != nil {
		t.Errorf("Run = %v", err)
	}
	s.done <- nil
}

type ownedError struct{ error }

func (ownedError) Owner() session.Owner {
	return session.Owner{PID: 41, Host: "box", Program: "run", Since: noon}
}

func TestASessionOfAnotherBelayIsTakenOverOnlyWhenAsked(t *testing.T) {
	w := newFakeEngine()
	w.add("s1", "the job", turn("x"), said("words"))
	w.openErr = fmt.Errorf("open: %w", ownedError{errors.New("it has a writer")})
	o := w.options()
	o.Open = "s1"
	s := startScreen(t, 80, 24, o)
	s.wait("open elsewhere", "process 41 on box")
	s.press("t")
	s.wait("words")
}

func TestAPersonElsewhereIsCalled(t *testing.T) {
	w, s := startOnSession(t, 80, 24, turn("the job"))
	s.wait("the job")
	s.press("blur", "x")
	s.wait("› x") // by then the blur has arrived as well
	w.emit("s1", approvalAsked("make release"))
	s.wait("allow shell?")
	s.waitFor("a notification", func(string) bool {
		return strings.Contains(s.raw.String(),
			"\x1b]9;belay: the job needs you")
	})
}

func TestForeignTextCannotReachTheTerminal(t *testing.T) {
	evil := "\x1b]52;c;ZXZpbA==\x07\x1b]0;owned\x07\x1b[2J\u202eabc\x9b31m\x90q\x9c &#x1b;]52;c;eA==&#7; &amp;#27;[2J"
	fault := capacityFault()
	fault.Message, fault.Code, fault.RequestID = evil, evil, evil
	w, s := startOnSession(t, 100, 40, turn(evil), said(evil+"\n\n```\n"+evil+"\n```\n"),
		session.ToolEnded{CallID: "c", Tool: "shell" + evil, Title: evil, Output: evil, Summary: evil, Error: true},
		session.TodosChanged{Todos: []session.Todo{{Text: evil}}}, session.Noted{Text: evil}, session.Renamed{Title: evil},
		session.TurnEnded{Outcome: session.OutcomeFailed, Fault: fault}, turn("THE END"))
	s.wait("THE END")
	w.emit("s1", session.TextDelta{Text: evil}, session.ReasoningDelta{Text: evil}, session.Noted{Text: "SEEN"})
	s.wait("SEEN")
	for _, bad := range []string{"\x1b]52;c;ZX", "]0;owned", "\u202e", "\x1b]52;c;eA"} {
		if s.wrote(bad) {
			t.Errorf("%q reached the terminal", bad)
		}
	}
}

func TestARunningCommandShowsTheEndOfItsOutput(t *testing.T) {
	w, s := startOnSession(t, 80, 24, turn("go on"), session.ToolStarted{Effect: session.Effect{CallID: "c", Tool: "shell",
		Title: "go test ./..."}})
	s.wait("▸ shell  go test ./...")
	for i := range 20 {
		w.emit("s1", session.ToolOutput{CallID: "c", Text: fmt.Sprintf("ok pkg%d\n", i)})
	}
	text := s.wait("│ ok pkg19", "│ ok pkg15")
	if strings.Contains(text, "pkg14") {
		t.Errorf("more than the last lines are shown:\n%s", text)
	}
}

func TestASwitchAndAServedModelAreQuietLines(t *testing.T) {
	_, s := startOnSession(t, 100, 24, turn("go on"),
		session.AttemptFailed{Number: 1, Target: sol, Fault: capacityFault()}, session.AttemptFailed{Number: 2, Target: sol,
			Fault: capacityFault()},
		session.Switched{From: sol, To: terra, FromTier: models.Heavy, ToTier: models.Medium, Fault: capacityFault()},
		session.ReplyEnded{Target: terra, Served: "gpt-4-mini"})
	s.wait("⇄ sol → terra: no room at the model ×2, back when sol answers again",
		"gpt-5.6-terra was asked, gpt-4-mini answered")
}

func TestLostRecordsAreReadAgain(t *testing.T) {
	w, s := startOnSession(t, 80, 24, turn("go on"))
	s.wait("go on")
	w.record("s1", said("this one was lost"))
	w.emit("s1", session.Noted{Text: "after the gap"})
	s.wait("this one was lost", "after the gap")
}

func TestASessionThatGoesOnByItselfIsNoticed(t *testing.T) {
	w := newFakeEngine()
	w.add("s1", "mine", turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
	w.add("s2", "parked before", turn("y"), session.TurnEnded{Outcome: session.OutcomeParked})
	o := w.options()
	o.Open = "s1"
	s := startScreen(t, 100, 24, o)
	s.wait("mine")
	w.emit("s2", session.TurnResumed{Why: "it is time"}, approvalAsked("make release"))
	s.wait("! 1 needs you")
	s.press("alt+right")
	s.wait("allow shell?")
}

func TestTheServersOwnWordsAfterAFailure(t *testing.T) {
	_, s := startOnSession(t, 100, 30, turn("x"), session.TurnEnded{Outcome: session.OutcomeFailed,
		Fault: capacityFault()})
	s.wait("failed: no room at the model", "“Selected model is at capacity")
	s.press("F10")
	s.wait("phase: in the middle of text")
}

func TestAFailedTurnSaysHowToTryAgain(t *testing.T) {
	world, s := startOnSession(t, 80, 24, turn("go on"))
	s.wait("go on")
	world.emit("s1", session.TurnEnded{Outcome: session.OutcomeFailed, Fault: capacityFault()})
	s.wait("✗ failed", "F8 try again")
	s.press("F8")
	if got := <-world.commands; got != "Resume" {
		t.Errorf("command = %s, want Resume", got)
	}
	world.emit("s1", session.TurnResumed{})
	s.gone("F8 try again")
}

// Keys of the settings do what they say, the old ones no longer do, and hints, help and
// the palette name the new ones.
func TestKeysOfTheSettingsWorkAndAreShown(t *testing.T) {
	t.Cleanup(func() { keys.Use(nil) })
	set := map[string][]string{"sessions": {"alt+s"}, "palette": {"ctrl+g"}, "session-list.rename": {"ctrl+t"}}
	if problems := keys.Use(set); len(problems) > 0 {
		t.Fatal(problems)
	}
	_, s := startOnSession(t, 80, 24, append(usualTurn(), session.TurnEnded{Outcome: session.OutcomeDone})...)
	s.wait("ctrl+g commands")
	s.press("ctrl+s", "\x1bs")
	s.wait("type to find, in titles", "❯ ", "ctrl+t rename")
	s.press("ctrl+t")
	s.wait("rename › refactor the orders module")
	s.press("esc")
	s.gone("rename ›")
	s.press("esc")
	s.gone("type to find")
	s.press("\x07")
	s.wait("commands", "alt+s, /sessions")
}

// In the transcript letters move as vi has it while it has the keys, and belong to the
// draft otherwise.
func TestLettersMoveInTheTranscript(t *testing.T) {
	var events []session.Event
	for i := range 30 {
		events = append(events, turn(fmt.Sprintf("task %02d", i)), said(fmt.Sprintf("answer %02d", i)),
			session.TurnEnded{Outcome: session.OutcomeDone})
	}
	_, s := startOnSession(t, 80, 24, events...)
	s.wait("answer 29")
	s.press("ctrl+f", "answer 11")
	s.wait("answer 11", "1 place")
	s.press("esc")
	s.gone("find ›")
	s.press("ctrl+o", "G")
	s.wait("answer 29")
	s.press("n")
	s.wait("answer 11")
	s.press("g")
	s.wait("task 00")
	s.press("\x04", "\x04") // on, page by page
	s.wait("answer 05")
	s.press("\x15", "\x15")
	s.wait("task 00")
	s.press("esc")
	s.wait("? keys")
	s.press("gGjk")
	s.wait("› gGjk")
}
