package session

import (
	"reflect"
	"testing"
	"time"

	"belay/models"
)

func TestEveryDurableEventSurvivesTheDisk(t *testing.T) {
	for name, typ := range eventTypes {
		want := reflect.New(typ).Elem().Interface().(Event)
		gotName, data, err := Encode(want)
		if err != nil || gotName != name {
			t.Fatalf("Encode(%T) = %q, %v; want %q", want, gotName, err, name)
		}
		got, err := Decode(name, data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Decode(%q) = %#v, %v; want %#v", name, got, err, want)
		}
	}
}

func TestAnEventOfANewerBelayIsKept(t *testing.T) {
	got, err := Decode("teleported", []byte(`{"to":"moon"}`))
	if err != nil {
		t.Fatal(err)
	}
	name, data, err := Encode(got)
	if err != nil || name != "teleported" || string(data) != `{"to":"moon"}` {
		t.Errorf("Encode(Decode()) = %q %s %v", name, data, err)
	}
}

func play(events ...Event) Session {
	var s Session
	for i, e := range events {
		s.Apply(Record{Session: "s1", Seq: int64(i + 1), Turn: 1, Time: time.Unix(int64(i), 0), Event: e})
	}
	return s
}

func TestStatusFollowsTheLog(t *testing.T) {
	start := []Event{
		Created{Project: "/p", Tier: models.Heavy, Mode: Edits},
		TurnStarted{Prompt: Prompt{ID: "p1", Text: "do it\nnow"}},
	}
	ask := ApprovalAsked{Approval{CallID: "c1", Tool: "shell"}}
	fault := &models.Fault{Kind: models.KindCapacity}
	for _, tt := range []struct {
		name   string
		events []Event
		want   Status
	}{
		{"idle before the first turn", start[:1], Idle},
		{"running in a turn", start, Running},
		{"asking while a call waits", append(start[:2:2], ask), Asking},
		{"running again after the answer", append(start[:2:2], ask, ApprovalAnswered{Answer{CallID: "c1"}}), Running},
		{"idle after a turn that is done", append(start[:2:2], TurnEnded{Outcome: OutcomeDone}), Idle},
		{"parked by a fault", append(start[:2:2], TurnEnded{Outcome: OutcomeParked, Fault: fault}), Parked},
		{"interrupted by a crash", append(start[:2:2], TurnEnded{Outcome: OutcomeStopped, Interrupted: true}), Interrupted},
		{"running after it is resumed", append(start[:2:2], TurnEnded{Outcome: OutcomeParked, Fault: fault},
			TurnResumed{}), Running},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := play(tt.events...)
			if got.Status != tt.want {
				t.Errorf("Status = %q, want %q", got.Status, tt.want)
			}
		})
	}
}

func TestApplyNeverWritesIntoAStateHandedOut(t *testing.T) {
	s := play(Created{}, PromptQueued{Prompt{ID: "a"}}, PromptQueued{Prompt{ID: "b"}}, PromptQueued{Prompt{ID: "c"}})
	out := s
	s.Apply(Record{Event: PromptUnqueued{ID: "a"}})
	s.Apply(Record{Event: PromptQueued{Prompt{ID: "d"}}})
	if got := out.Queue[0].ID + out.Queue[1].ID + out.Queue[2].ID; got != "abc" {
		t.Errorf("the copy's queue became %q, want abc", got)
	}
}

func TestAQueuedPromptLeavesTheQueueWhenItsTurnStarts(t *testing.T) {
	s := play(Created{}, PromptQueued{Prompt{ID: "a"}}, PromptQueued{Prompt{ID: "b"}},
		TurnStarted{Prompt: Prompt{ID: "a", Text: "x"}})
	if len(s.Queue) != 1 || s.Queue[0].ID != "b" {
		t.Errorf("Queue = %v, want b alone", s.Queue)
	}
}
