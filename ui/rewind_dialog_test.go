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
)

const goPatch = `diff --git a/orders/pricing.go b/orders/pricing.go
deleted file mode 100644
index 1f..00
--- a/orders/pricing.go
+++ /dev/null
@@ -1,2 +0,0 @@
-package orders
-
diff --git a/orders/service.go b/orders/service.go
index 1f..2e 100644
--- a/orders/service.go
+++ b/orders/service.go
@@ -114,5 +114,5 @@ func (s *Service) Total(o Order) (int64, error) {
 	if err := o.Validate(); err != nil {
 		return 0, err
 	}
-	sum, err := PriceOf(o)
-	return sum, err
+	sum := round(l.Price)
+	return sum, nil
`

func checkpoints() []session.Checkpoint {
	return []session.Checkpoint{
		{Seq: 2, Turn: 1, Time: noon.Add(-2 * time.Hour), Title: "refactor the orders module\nand more", Tree: "t0"},
		{Seq: 5, Turn: 1, Time: noon.Add(-time.Hour), Step: 3, Title: "core logic", Tree: "t1"},
		{Seq: 7, Turn: 2, Time: noon.Add(-30 * time.Minute), Title: "gone", Tree: "t2", Rewound: true},
		{Seq: 9, Turn: 2, Time: noon.Add(-5 * time.Minute), Title: "端数を直す"},
	}
}

// onCheckpoints is a screen on a session with checkpoints.
func onCheckpoints(t *testing.T, w, h int) (*fakeEngine, *screen, chan session.Command, chan error) {
	t.Helper()
	world := newFakeEngine()
	world.add("s1", "", planTurn("refactor"), session.PlanSet{Plan: planUnderWay()},
		session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: "look"})
	got, answers := make(chan session.Command, 8), make(chan error, 8)
	world.reply = func(_ *fakeEngine, _ session.ID, c session.Command) { got <- c }
	o := world.options()
	o.Open, o.Engine = "s1", refusingEngine{world, answers}
	addCheckpoints(&o)
	s := startScreen(t, w, h, o)
	s.wait("needs you")
	return world, s, got, answers
}

// addCheckpoints lets the screen return to places of a session.
func addCheckpoints(o *Options) {
	o.Checkpoints = func(context.Context, session.ID) ([]session.Checkpoint, error) { return checkpoints(), nil }
	o.Preview = func(_ context.Context, _ session.ID, to int64) (session.Preview, error) {
		for _, c := range checkpoints() {
			if c.Seq == to {
				return session.Preview{Checkpoint: c, Now: "now" + fmt.Sprint(to), Turns: 2, Patch: goPatch,
					Commands: []string{"git push origin main", "go install ./..."}, Skipped: []string{"data/dump.bin (too large)"},
					Changes: []session.Change{{Path: "orders/pricing.go", Kind: "removed", Removed: 2},
						{Path: "orders/service.go", Kind: "changed", Added: 2, Removed: 2}, {Path: "logo.png", Kind: "added",
							Binary: true}}}, nil
			}
		}
		return session.Preview{}, errors.New("there is no such checkpoint")
	}
}

// refusingEngine is an engine that may say no.
type refusingEngine struct {
	*fakeEngine
	answers chan error
}

func (r refusingEngine) Do(ctx context.Context, id session.ID, c session.Command) error {
	_ = r.fakeEngine.Do(ctx, id, c)
	select {
	case err := <-r.answers:
		return err
	default:
		return nil
	}
}

func TestTheRewindLayer(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			_, s, _, _ := onCheckpoints(t, size.w, size.h)
			s.press("/", "rewind", "enter")
			list := s.wait("before “端数を直す”", "conversation only", "before step 3: core logic")
			if strings.Contains(list, "gone") {
				t.Errorf("what was taken back is listed:\n%s", list)
			}
			s.press("down", "enter")
			s.wait("2 turns are taken back; 3 files change", "git", "b both")
			s.press("end")
			s.wait("return sum, nil")
		})
	}
}

func TestKeysOfARewind(t *testing.T) {
	for key, want := range map[string]session.Rewind{
		"b": {To: 5, Conversation: true, Files: true, ExpectTree: "now5"}, "f": {To: 5, Files: true,
			ExpectTree: "now5"}, "c": {To: 5, Conversation: true, ExpectTree: "now5"},
	} {
		t.Run(key, func(t *testing.T) {
			_, s, got, _ := onCheckpoints(t, 100, 30)
			s.press("F7")
			s.wait("❯ ▶ 3 core logic")
			s.press("z")
			s.wait("before step 3: core logic", "b both")
			s.press(key)
			if c := <-got; c != want {
				t.Errorf("%s did %#v, want %#v", key, c, want)
			}
			s.wait("taken back; /redo", "3 core logic")
		})
	}
	t.Run("k", func(t *testing.T) {
		_, s, _, _ := onCheckpoints(t, 100, 30)
		s.press("/", "rewind", "enter")
		s.wait("k fork from here")
		s.press("k")
		s.wait("a fork at ")
	})
	t.Run("files that were not kept stay", func(t *testing.T) {
		_, s, got, _ := onCheckpoints(t, 100, 30)
		s.press("/", "rewind", "enter")
		s.wait("conversation only")
		s.press("enter")
		text := s.wait("the files were not kept here", "c conversation only")
		if strings.Contains(text, "b both") {
			t.Errorf("both is offered:\n%s", text)
		}
		s.press("b")
		s.wait("c goes back in the conversation")
		s.press("esc")
		s.wait("before step 3")
		s.press("esc")
		s.gone("before step 3")
		if len(got) > 0 {
			t.Errorf("did %#v", <-got)
		}
	})
	t.Run("a refusal is shown and compared anew", func(t *testing.T) {
		_, s, got, answers := onCheckpoints(t, 100, 30)
		s.press("/", "rewind", "enter")
		s.wait("before step 3")
		s.press("down", "enter")
		s.wait("b both")
		answers <- errors.New("orders/service.go has changed meanwhile")
		s.press("b")
		<-got
		s.wait("✗ orders/service.go has changed meanwhile", "2 turns are taken back")
		s.press("b")
		<-got
		s.gone("has changed meanwhile")
	})
	t.Run("no checkpoint before a step", func(t *testing.T) {
		_, s, _, _ := onCheckpoints(t, 100, 30)
		s.press("F7", "k", "z")
		s.wait("there is no checkpoint before this step", "❯ ✓ 2 three options")
	})
	t.Run("undo rewind", func(t *testing.T) {
		_, s, got, _ := onCheckpoints(t, 100, 30)
		s.press("/redo", "enter")
		if c := <-got; c != (session.UndoRewind{}) {
			t.Errorf("did %#v", c)
		}
	})
}

func TestWhatWasTakenBackVanishesAndReturns(t *testing.T) {
	events := []session.Event{turn("the first"), said("answer one"), session.TurnEnded{Outcome: session.OutcomeDone},
		session.Checkpointed{Tree: "t1", Title: "the second"}, // 1 is Created
		turn("the second"), said("answer two"), session.TurnEnded{Outcome: session.OutcomeDone}, turn("the third"),
		said("answer three"), session.TurnEnded{Outcome: session.OutcomeDone}}
	world, s := startOnSession(t, 100, 40, events...)
	s.wait("answer three")
	world.emit("s1", turn("streamed"), session.TextDelta{Text: "Words that came."},
		session.CallDelta{CallID: "k", Name: "read", Bytes: 3}, said("Words that came."), calls("k", "read",
			`{"path":"q.go"}`), session.TurnEnded{Outcome: session.OutcomeDone})
	s.wait("Words that came.", "q.go")
	world.emit("s1", session.Rewound{Rewinding: session.Rewinding{To: 5, Conversation: true, Files: true}, Written: 2})
	text := s.wait("⟲ taken back: 3 turns (files too)", "/redo brings them back", "answer one")
	for _, gone := range []string{"the second", "answer two", "answer three", "Words that came", "q.go"} {
		if strings.Contains(text, gone) {
			t.Errorf("%q is still there:\n%s", gone, text)
		}
	}
	t.Run("also when the log is read again", func(t *testing.T) {
		o := world.options()
		o.Open = "s1"
		again := startScreen(t, 100, 40, o)
		text := again.wait("⟲ taken back: 3 turns", "answer one")
		if strings.Contains(text, "answer two") {
			t.Errorf("it is there:\n%s", text)
		}
	})
	at := world.logs["s1"][len(world.logs["s1"])-1].Seq
	world.emit("s1", session.Rewound{Rewinding: session.Rewinding{To: 5, Conversation: true, Files: true, Undo: at}})
	s.wait("answer one", "answer two", "answer three", "Words that came.", "brought back")
}

func TestEscTwiceEditsTheLastMessage(t *testing.T) {
	world := newFakeEngine()
	pasted := models.Attachment{Name: "pasted 20 lines", Text: "long"}
	world.add("s1", "", turn("the first"), session.TurnEnded{Outcome: session.OutcomeDone}, session.TurnStarted{
		Prompt: session.Prompt{ID: "p", Text: "mend [pasted 20 lines] it", Attachments: []models.Attachment{pasted}},
	}, session.TurnEnded{Outcome: session.OutcomeDone}) // 4 is the message
	got := make(chan session.Command, 8)
	world.reply = func(w *fakeEngine, id session.ID, c session.Command) {
		got <- c
		if c, ok := c.(session.Rewind); ok {
			w.emit(id, session.Rewound{Rewinding: session.Rewinding{To: c.To, Conversation: c.Conversation}})
		}
	}
	o := world.options()
	o.Open = "s1"
	last := session.Checkpoint{Seq: 3, Turn: 2, Time: noon, Title: "mend it", Tree: "t"}
	o.Checkpoints = func(context.Context, session.ID) ([]session.Checkpoint, error) {
		return []session.Checkpoint{{Seq: 1, Turn: 1, Time: noon, Title: "the first", Tree: "t"}, last}, nil
	}
	o.Preview = func(context.Context, session.ID, int64) (session.Preview, error) {
		return session.Preview{Checkpoint: last, Now: "now", Turns: 1}, nil
	}
	s := startScreen(t, 100, 30, o)
	s.wait("mend [pasted 20 lines] it")
	s.press("esc")
	s.wait("esc again: edit the last message")
	s.press("x", "backspace")
	s.gone("esc again")
	s.press("esc")
	s.wait("esc again") // the one before does not count any more
	s.press("esc")
	s.wait("1 turn is taken back")
	s.press("c")
	if c, ok := (<-got).(session.Rewind); !ok || c.To != 3 || !c.Conversation || c.Files {
		t.Errorf("command = %+v, want a rewind of the conversation to 3", c)
	}
	s.wait("› mend [pasted 20 lines] it", "/redo brings it back")
	s.press("!", "enter")
	if c, ok := (<-got).(session.Send); !ok || len(c.Prompt.Attachments) != 1 || c.Prompt.Attachments[0] != pasted {
		t.Errorf("sent %+v, want what was pasted with it", c)
	}
}
