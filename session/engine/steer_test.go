package engine

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/session"
)

// reading is a turn that takes a while to say what it reads, and then reads.
const reading = `
[[reply]]
text = "A long story that goes on."
speed = { chunk = 2, delay = "1s" }
[[reply.calls]]
name = "read"
arguments = { path = "a.txt" }
[[reply]]
times = -1
text = "Done."
`

func readable(r *rig) { writeFile(r.project, "a.txt", "one\n") }

func TestASteeredMessageGoesInOnceNoCallIsOpen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		script   string
		do       func(r *rig, id session.ID)
		want     string
		requests string
	}{
		{
			"after the running call", reading,
			func(r *rig, id session.ID) {
				r.send(id, "a")
				r.do(id, session.SteerQueued{})
			},
			"start:go prompt.queued prompt.steered message:A long story that goes on. call:read run:read ran:read " +
				"prompt.taken message:Done. end:done", "sol/1 sol/2",
		},
		{
			"two at once, in their order", reading,
			func(r *rig, id session.ID) {
				r.send(id, "a")
				r.send(id, "b")
				r.do(id, session.SteerQueued{})
				r.do(id, session.SteerQueued{}) // pressed once more
			},
			"start:go prompt.queued prompt.queued prompt.steered prompt.steered message:A long story that goes on. " +
				"call:read run:read ran:read prompt.taken prompt.taken message:Done. end:done", "sol/1 sol/3",
		},
		{
			"one of two, the other waits for the end", reading,
			func(r *rig, id session.ID) {
				r.send(id, "a")
				r.send(id, "b")
				r.do(id, session.SteerQueued{ID: "b"})
			},
			"start:go prompt.queued prompt.queued prompt.steered message:A long story that goes on. call:read run:read " +
				"ran:read prompt.taken message:Done. end:done start:a message:Done. end:done", "sol/1 sol/2 sol/3",
		},
		{
			"taken back in time", reading,
			func(r *rig, id session.ID) {
				r.send(id, "a")
				r.do(id, session.SteerQueued{})
				r.do(id, session.Unqueue{ID: "a"})
			},
			"start:go prompt.queued prompt.steered prompt.unqueued message:A long story that goes on. call:read run:read " +
				"ran:read message:Done. end:done", "sol/1 sol/1",
		},
		{
			"a turn without a call ends before, and the message is the next turn", slow,
			func(r *rig, id session.ID) {
				r.send(id, "a")
				r.send(id, "b")
				r.do(id, session.SteerQueued{ID: "b"})
			},
			"start:go prompt.queued prompt.queued prompt.steered message:A long story that goes on and on. end:done " +
				"start:b message:Short. end:done start:a message:Short. end:done", "sol/1 sol/2 sol/3",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, strings.ReplaceAll(tt.script, "[[reply]]\ntext = \"Short.", "[[reply]]\ntimes = -1\ntext = \"Short."),
				readable, func(t *testing.T, r *rig, id session.ID) {
					r.send(id, "go")
					time.Sleep(2 * time.Second)
					tt.do(r, id)
					if s := r.wait(id); s.Status != session.Idle || len(s.Queue)+len(s.Steered) != 0 {
						t.Errorf("ended %s with queue %v, steered %v", s.Status, s.Queue, s.Steered)
					}
					if got := r.log(id); got != tt.want {
						t.Errorf("log is\n%s, want\n%s", got, tt.want)
					}
					if got := r.requestSummary(); got != tt.requests {
						t.Errorf("requests: %s, want %s", got, tt.requests)
					}
				})
		})
	}
}

func TestWhatWasTakenCannotBeTakenBackNorSentAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, reading, readable, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(2 * time.Second)
		r.send(id, "a")
		r.do(id, session.SteerQueued{})
		r.wait(id)
		if err := r.Do(t.Context(), id, session.Unqueue{ID: "a"}); !errors.Is(err, ErrSent) {
			t.Errorf("taking it back: %v, want %v", err, ErrSent)
		}
		r.send(id, "a")
		if s := r.wait(id); s.Turn != 1 {
			t.Errorf("the same message began turn %d", s.Turn)
		}
	})
}

func TestAFailedTurnHoldsASteeredMessageAndTakesItWhenItGoesOn(t *testing.T) {
	t.Parallel()
	const script = `
[[reply]]
text = "A long story that goes on."
speed = { chunk = 2, delay = "1s" }
[reply.fault]
how = "error"
at = "text"
after = 12
code = "invalid_prompt"
[[reply]]
times = -1
text = "Done."
`
	inBubble(t, script, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(2 * time.Second)
		r.send(id, "a")
		r.do(id, session.SteerQueued{})
		if s := r.wait(id); s.Status != session.Failed || !s.IsSteered("a") {
			t.Fatalf("ended %s, queue %v, steered %v", s.Status, s.Queue, s.Steered)
		}
		r.do(id, session.Resume{})
		r.wait(id)
		want := "resume prompt.taken message:Done. end:done"
		if got := r.log(id); !strings.HasSuffix(got, want) {
			t.Errorf("log is\n%s, want %s at its end", got, want)
		}
	})
}

func TestABelayKilledAroundASteeredMessageSendsItOnce(t *testing.T) {
	t.Parallel()
	ask := session.Prompt{ID: "a", Text: "steered words"}
	left := []session.Event{
		session.TurnStarted{Prompt: session.Prompt{ID: "go", Text: "go"}},
		session.ItemAdded{Item: models.Item{Kind: models.Call, CallID: "c1", Name: "read", Arguments: `{"path":"a.txt"}`}},
		session.PromptQueued{Prompt: ask},
		session.PromptSteered{ID: "a"},
		session.ToolStarted{Effect: session.Effect{CallID: "c1", Tool: "read", Class: session.Read}},
		session.ToolEnded{CallID: "c1", Tool: "read", Output: "one"},
		session.PromptTaken{Prompt: ask},
	}
	for n := 3; n <= len(left); n++ {
		name, _, _ := session.Encode(left[n-1])
		t.Run("after "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, "[[reply]]\ntimes = -1\ntext = \"Done.\"")
				readable(r)
				r.start()
				defer func() { r.stop() }()
				s, err := r.store.Create(t.Context(), session.Created{Project: r.project, Tier: models.Heavy, Mode: session.All})
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := r.store.Append(t.Context(), s.ID, 1, left[:n]...); err != nil {
					t.Fatal(err)
				}
				if _, err = r.Open(t.Context(), s.ID, false); err != nil {
					t.Fatal(err)
				}
				r.do(s.ID, session.Resume{})
				if s = r.wait(s.ID); s.Status != session.Idle || len(s.Queue) != 0 {
					t.Errorf("ended %s with queue %v", s.Status, s.Queue)
				}
				log := r.server.Log()
				if last := string(log[len(log)-1].Body); strings.Count(last, "steered words") != 1 {
					t.Errorf("the last request has it %d times\n%s", strings.Count(last, "steered words"), r.log(s.ID))
				}
			})
		})
	}
}

func TestARewindTakesASteeredMessageWithItsTurn(t *testing.T) {
	t.Parallel()
	inBubble(t, reading, readable, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(2 * time.Second)
		r.send(id, "steered words")
		r.do(id, session.SteerQueued{})
		r.wait(id)
		list, err := r.Checkpoints(t.Context(), id)
		if err != nil || len(list) == 0 {
			t.Fatalf("checkpoints: %v, %v", list, err)
		}
		preview, err := r.Preview(t.Context(), id, list[0].Seq)
		if err != nil || preview.Turns != 1 {
			t.Errorf("the preview says %d turns, %v", preview.Turns, err)
		}
		r.do(id, session.Rewind{To: list[0].Seq, Conversation: true})
		r.send(id, "anew")
		r.wait(id)
		log := r.server.Log()
		if last := string(log[len(log)-1].Body); strings.Contains(last, "steered words") {
			t.Error("the request after a rewind still has the steered words")
		}
	})
}
