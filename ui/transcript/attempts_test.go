package transcript

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

var heavy = models.Target{Provider: "openai", Model: "gpt-5.6-sol"}

func calledFor(id string) session.Event {
	return session.ItemAdded{Item: models.Item{Kind: models.Call, CallID: id, Name: "read", Arguments: `{"path":"a.go"}`}}
}

func failedAt(next models.Next) session.Event {
	return session.AttemptFailed{Number: 1, Of: 4, Target: heavy,
		Fault: &models.Fault{Kind: models.KindCapacity, Target: heavy}, Next: next}
}

// broken is what the engine emits when an attempt finishes two calls and then
// fails in the middle of its words: items are committed call by call, the calls
// run after the failure, and the next request says the rest.
func broken() []session.Event {
	return []session.Event{
		asked("x"),
		session.AttemptStarted{Number: 1, Of: 4, Target: heavy}, session.ReplyOpened{Target: heavy},
		session.TextDelta{Text: "I look "}, session.TextDelta{Text: "first."},
		session.CallDelta{CallID: "c1", Name: "read", Bytes: 4}, said("I look first."), calledFor("c1"),
		session.CallDelta{CallID: "c2", Name: "read", Bytes: 4}, calledFor("c2"),
		session.TextDelta{Text: "Then the ru"},
		session.CutOff{Text: "Then the ru"}, failedAt(models.NextRetry),
		session.ToolStarted{Effect: session.Effect{CallID: "c1", Tool: "read", Title: "a.go"}},
		session.ToolEnded{CallID: "c1", Tool: "read", Title: "a.go", Summary: "12 lines"},
		session.ToolEnded{CallID: "c2", Tool: "read", Title: "a.go", Summary: "13 lines"},
		session.AttemptStarted{Number: 1, Of: 4, Target: heavy}, session.ReplyOpened{Target: heavy},
		session.TextDelta{Text: "Then the rules "}, session.TextDelta{Text: "move."},
		said("Then the rules move."), session.ReplyEnded{Target: heavy}, session.TurnEnded{Outcome: session.OutcomeDone},
	}
}

// logged numbers events as the store does; those that are not durable get none.
func logged(events []session.Event) (all, stored []session.Record) {
	turn, seq := 0, int64(0)
	for _, e := range events {
		if _, ok := e.(session.TurnStarted); ok {
			turn++
		}
		r := session.Record{Session: "s", Turn: turn, Time: start, Event: e}
		if _, _, err := session.Encode(e); err == nil { // it is durable
			seq++
			r.Seq = seq
			stored = append(stored, r)
		}
		all = append(all, r)
	}
	return all, stored
}

// onceEach reports what is not on the screen exactly once after a failed attempt that
// had finished two calls, and whether half text is still there.
func onceEach(t *testing.T, when, screen string) {
	t.Helper()
	for _, once := range []string{
		"I look first.", "2 finished calls are kept", "Then the rules move.", "12 lines", "13 lines",
	} {
		if n := strings.Count(screen, once); n != 1 {
			t.Fatalf("%s: %q is shown %d times:\n%s", when, once, n, screen)
		}
	}
	if strings.Contains(screen, "cut off") {
		t.Fatalf("%s: the half text is still there:\n%s", when, screen)
	}
}

func TestFinishedCallsOfAFailedAttemptAreSaidToBeKeptOnce(t *testing.T) {
	all, _ := logged(broken())
	live := pane(80, 30)
	for _, r := range all {
		live.Apply(r)
		got := shown(live)
		for _, atMostOnce := range []string{"2 finished calls are kept", "Then the ru"} {
			if n := strings.Count(got, atMostOnce); n > 1 {
				t.Fatalf("after %T: %q is shown %d times\n%s", r.Event, atMostOnce, n, got)
			}
		}
		if _, failed := r.Event.(session.AttemptFailed); !failed {
			continue
		}
		for _, want := range []string{
			"✓ 2 finished calls are kept", "● sol  Then the ru  (cut off; will be written again)",
		} {
			if !strings.Contains(got, want) {
				t.Fatalf("after the failure %q is missing:\n%s", want, got)
			}
		}
	}
	onceEach(t, "at the end", shown(live))
}

func TestAFailedAttemptReadsTheSameAfterAReload(t *testing.T) {
	all, stored := logged(broken())
	for n := range stored {
		if _, item := stored[n].Event.(session.ItemAdded); item {
			continue // what is still being written is only on the live screen
		}
		loaded, live := pane(80, 30), pane(80, 30)
		loaded.Load(stored[:n+1], false)
		for _, r := range all {
			if live.Apply(r); r.Seq == stored[n].Seq {
				break
			}
		}
		if got, want := shown(loaded), shown(live); got != want {
			t.Errorf("after %T, loaded:\n%s\nlive:\n%s", stored[n].Event, got, want)
		}
	}
}

func TestAFailedAttemptReadsTheSameInPages(t *testing.T) {
	_, stored := logged(broken())
	for cut := 1; cut < len(stored); cut++ {
		for more := 1; more <= cut; more++ {
			p := pane(80, 30)
			p.Load(stored[cut:], true)
			p.Prepend(stored[more:cut], true)
			p.Prepend(stored[:more], false)
			onceEach(t, fmt.Sprintf("pages from %d and %d", more, cut), shown(p))
		}
	}
}

func TestTheEndOfALogThatIsStillWrittenJoins(t *testing.T) {
	_, stored := logged(broken())
	for upTo := 2; upTo < len(stored); upTo++ {
		for cut := 1; cut < upTo; cut++ {
			p := pane(80, 30)
			p.Load(stored[cut:upTo], true)
			p.Prepend(stored[:cut], false)
			for _, r := range stored[upTo:] {
				p.Apply(r)
			}
			got := shown(p)
			if strings.Count(got, "2 finished calls are kept") != 1 || strings.Count(got, "Then the ru") != 1 {
				t.Fatalf("loaded %d to %d:\n%s", cut, upTo, got)
			}
		}
	}
}

func TestAFailureWithoutFinishedCallsKeepsNothing(t *testing.T) {
	p := pane(80, 20)
	play(p, asked("x"), calledFor("c1"), session.ReplyEnded{Target: heavy}, session.ToolEnded{CallID: "c1", Tool: "read"},
		session.TextDelta{Text: "half"}, session.CutOff{Text: "half"}, failedAt(models.NextRetry))
	if got := shown(p); strings.Contains(got, "kept") || strings.Count(got, "half") != 1 {
		t.Errorf("got:\n%s", got)
	}
}

func TestOneCallIsKept(t *testing.T) {
	p := pane(80, 20)
	play(p, asked("x"), calledFor("c1"), failedAt(models.NextPark), session.TurnEnded{Outcome: session.OutcomeParked})
	if got := shown(p); strings.Count(got, "1 finished call is kept") != 1 {
		t.Errorf("got:\n%s", got)
	}
}

func TestArgumentsOfACallThatFailedAreTakenBack(t *testing.T) {
	p := pane(80, 20)
	play(p, asked("x"), session.CallDelta{CallID: "c1", Bytes: 4}, failedAt(models.NextRetry))
	if got := shown(p); got != shownAfter(asked("x")) {
		t.Errorf("got:\n%s", got)
	}
}

func shownAfter(events ...session.Event) string {
	p := pane(80, 20)
	play(p, events...)
	return shown(p)
}

func TestHalfTextOfATurnThatIsOverIsNotPromisedAgain(t *testing.T) {
	events := []session.Event{asked("x"), session.CutOff{Text: "half"}, failedAt(models.NextStop),
		session.TurnEnded{Outcome: session.OutcomeFailed}, asked("y"), said("new")}
	_, stored := logged(events)
	p := pane(80, 20)
	p.Load(stored, false)
	got := shown(p)
	if !strings.Contains(got, "half  (cut off)") || !strings.Contains(got, "new") {
		t.Errorf("got:\n%s", got)
	}
	p.Load(stored[3:], true)
	p.Prepend(stored[:3], false)
	if paged := shown(p); paged != got {
		t.Errorf("in pages:\n%s\nwant\n%s", paged, got)
	}
}

func TestSwitchLines(t *testing.T) {
	terra := models.Target{Provider: "openai", Model: "gpt-5.6-terra"}
	full := &models.Fault{Kind: models.KindCapacity, Target: heavy}
	for _, tt := range []struct {
		name   string
		event  session.Switched
		failed int
		want   string
	}{
		{"down a tier says when it comes back", session.Switched{From: heavy, To: terra, FromTier: models.Heavy,
			ToTier: models.Medium, Fault: full, FailbackDelay: 5 * time.Minute}, 2,
			"⇄ sol → terra: no room at the model ×2, back when sol answers again, after 5:00 at the earliest"},
		{"a hold that doubled", session.Switched{From: heavy, To: terra, FromTier: models.Heavy, ToTier: models.Medium,
			Fault: full, FailbackDelay: 10 * time.Minute}, 1,
			"⇄ sol → terra: no room at the model, back when sol answers again, after 10:00 at the earliest"},
		{"without a hold", session.Switched{From: heavy, To: terra, FromTier: models.Heavy, ToTier: models.Medium,
			Fault: full}, 1,
			"⇄ sol → terra: no room at the model, back when sol answers again"},
		{"within a tier there is no way back", session.Switched{From: heavy, To: terra, FromTier: models.Heavy,
			ToTier: models.Heavy, Fault: full, FailbackDelay: time.Minute}, 1,
			"⇄ sol → terra: no room at the model"},
		{"the way back", session.Switched{From: terra, To: heavy, FromTier: models.Medium, ToTier: models.Heavy,
			Failback: true}, 0, "⇄ terra → sol: back at the preferred model"},
		{"for pictures", session.Switched{From: heavy, To: terra, FromTier: models.Heavy, ToTier: models.Medium,
			Pictures: true}, 0, "⇄ sol → terra: it sees pictures"},
		{"a person's choice", session.Switched{From: heavy, To: terra, FromTier: models.Heavy, ToTier: models.Medium}, 0,
			"⇄ sol → terra: your choice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events := []session.Event{asked("x")}
			for range tt.failed {
				events = append(events, failedAt(models.NextRetry))
			}
			p := pane(120, 20)
			play(p, append(events, tt.event)...)
			lines := strings.Split(shown(p), "\n")
			if got := strings.TrimSpace(lines[len(lines)-1]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			narrow := pane(60, 20)
			play(narrow, append(events, tt.event)...)
			if got := strings.Join(strings.Fields(shown(narrow)), " "); !strings.HasSuffix(got, tt.want) {
				t.Errorf("narrow: %s", got)
			}
		})
	}
}
