package ui

import (
	"strings"
	"testing"

	"belay/models"
	"belay/session"
)

// failedAttempt is what the engine emits when an attempt finishes two calls and then
// fails in the middle of its words.
func failedAttempt() []session.Event {
	return []session.Event{
		session.AttemptStarted{Number: 1, Of: 4, Target: sol}, session.ReplyOpened{Target: sol},
		session.TextDelta{Text: "I look at both."}, session.CallDelta{CallID: "c1", Name: "read", Bytes: 3},
		said("I look at both."), calls("c1", "read", `{"path":"a.go"}`), calls("c2", "read", `{"path":"b.go"}`),
		session.TextDelta{Text: "Then the pricing ru"}, session.CutOff{Text: "Then the pricing ru"},
		session.AttemptFailed{Number: 1, Of: 4, Target: sol, Fault: capacityFault(), Next: models.NextRetry},
		session.ToolStarted{Effect: session.Effect{CallID: "c1", Tool: "read",
			Title: "a.go"}}, session.ToolEnded{CallID: "c1", Tool: "read", Title: "a.go", Summary: "1 line"},
		session.ToolStarted{Effect: session.Effect{CallID: "c2", Tool: "read",
			Title: "b.go"}}, session.ToolEnded{CallID: "c2", Tool: "read", Title: "b.go", Summary: "2 lines"},
	}
}

func eachOnce(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if n := strings.Count(text, w); n != 1 {
			t.Errorf("%q is on the screen %d times, want once:\n%s", w, n, text)
		}
	}
}

func TestWhatAFailedAttemptFinishedIsKeptAndItsHalfTextIsShownOnce(t *testing.T) {
	half := []string{"I look at both.", "2 finished calls are kept", "Then the pricing ru",
		"cut off; will be written again"}
	rest := []session.Event{session.AttemptStarted{Number: 1, Of: 4, Target: sol}, session.ReplyOpened{Target: sol},
		session.TextDelta{Text: "Then the pricing rules move."}}
	whole := []string{"I look at both.", "2 finished calls are kept", "Then the pricing rules move.", "1 line", "2 lines"}
	t.Run("while it happens", func(t *testing.T) {
		world, s := startOnSession(t, 100, 30, turn("go on"))
		s.wait("go on")
		world.emit("s1", failedAttempt()...)
		eachOnce(t, s.wait("2 finished calls are kept", "2 lines"), half...)
		world.emit("s1", rest...)
		eachOnce(t, s.wait("rules move."), whole...)
		s.gone("cut off")
		world.emit("s1", said("Then the pricing rules move."), session.ReplyEnded{Target: sol},
			session.TurnEnded{Outcome: session.OutcomeDone})
		eachOnce(t, s.wait("· done"), whole...)
	})
	t.Run("opened again from the log", func(t *testing.T) {
		world, s := startOnSession(t, 100, 30, append([]session.Event{turn("go on")}, failedAttempt()...)...)
		eachOnce(t, s.wait("2 finished calls are kept", "2 lines"), half...)
		world.emit("s1", rest...)
		eachOnce(t, s.wait("rules move."), whole...)
		s.gone("cut off")
	})
	t.Run("paged back to", func(t *testing.T) {
		for _, more := range []int{190, 191, 192, 193, 194, 195, 196,
			197} { // the page ends at each place of the failed attempt
			events := append([]session.Event{turn("go on")}, failedAttempt()...)
			events = append(events, said("Then the pricing rules move."))
			for range more {
				events = append(events, session.ReplyEnded{Target: sol})
			}
			_, s := startOnSession(t, 100, 30, events...)
			s.wait("rules move.")
			s.press("home")
			eachOnce(t, s.wait("› go on"), whole...)
			s.gone("cut off")
			s.close()
		}
	})
}

func TestAFailureCallsAPersonWhoLooksElsewhere(t *testing.T) {
	const outage = "outage: no model has answered through all the tries; everything is kept"
	for _, tt := range []struct {
		name string
		end  session.TurnEnded
		want string
	}{
		{"a failure", session.TurnEnded{Outcome: session.OutcomeFailed,
			Fault: &models.Fault{Kind: models.KindAuth, Target: sol}}, "belay: move the rules failed: key refused"},
		{"an outage", session.TurnEnded{Outcome: session.OutcomeFailed, Fault: capacityFault(), Reason: outage},
			"belay: move the rules failed: " + outage},
		{"a wait for later", session.TurnEnded{Outcome: session.OutcomeParked, Fault: capacityFault(),
			RetryAt: noon.Add(60e9), ParkCount: 1}, "belay: move the rules is parked until 12:01"},
		{"a question", session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: "the same call 8 times"},
			"belay: move the rules needs you"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			world, s := startOnSession(t, 100, 30, turn("move the rules"))
			s.wait("move the rules")
			s.press("blur", "seen")
			s.wait("› seen")
			world.emit("s1", tt.end)
			s.waitFor("a notification", func(string) bool { return strings.Contains(s.raw.String(), "\x1b]9;"+tt.want) })
			if tt.end.Reason == outage {
				s.wait("✗ outage: no model has answered", "no room at the model (openai/gpt-5.6-sol)")
			}
		})
	}
	t.Run("who is there is not called", func(t *testing.T) {
		world, s := startOnSession(t, 100, 30, turn("move the rules"))
		s.wait("move the rules")
		world.emit("s1", session.TurnEnded{Outcome: session.OutcomeFailed, Reason: outage})
		s.wait("✗ failed: outage")
		if s.wrote("\x1b]9;") {
			t.Error("a notification was sent")
		}
	})
	t.Run("a turn that is parked again calls nobody", func(t *testing.T) {
		world, s := startOnSession(t, 100, 30, turn("move the rules"))
		s.wait("move the rules")
		s.press("blur", "seen")
		s.wait("› seen")
		world.emit("s1", session.TurnEnded{Outcome: session.OutcomeParked, Fault: capacityFault(), RetryAt: noon.Add(60e9),
			ParkCount: 2})
		s.wait("⏸ parked, next try at")
		if s.wrote("\x1b]9;") {
			t.Error("a notification was sent")
		}
	})
}
