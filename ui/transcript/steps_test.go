package transcript

import (
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

func records(events ...session.Event) []session.Record {
	var out []session.Record
	turn := 0
	for i, e := range events {
		if _, ok := e.(session.TurnStarted); ok {
			turn++
		}
		out = append(out, session.Record{Session: "s", Seq: int64(i + 1), Turn: turn,
			Time: start.Add(time.Duration(i) * time.Second), Event: e})
	}
	return out
}

func step(n int, state session.StepState, change func(*session.Step)) session.Event {
	s := session.Step{Title: "core logic", Tier: models.Heavy, StepProgress: session.StepProgress{State: state}}
	if change != nil {
		change(&s)
	}
	return session.StepMoved{Number: n, Step: s}
}

func TestEachStepIsALine(t *testing.T) {
	p := pane(100, 40)
	plan := session.Plan{Task: "big", By: models.Target{Model: "gpt-5.6-sol"}, Steps: make([]session.Step, 5)}
	play(p, asked("big"), session.PlanSet{Plan: plan}, session.PlanSet{Plan: plan},
		session.Checkpointed{Tree: "t"}, step(2, session.StepRunning, nil), step(2, session.StepRunning, nil),
		session.StepChecked{Command: "go test ./…", OK: true, Summary: "exit 0", Output: "hidden words",
			Duration: 2100 * time.Millisecond},
		step(2, session.StepDone, func(s *session.Step) {
			s.Note, s.ToolCalls, s.Cost = "- **rules** moved to `pricing.go`, see [it](x)\nand more", 3, 0.02
		}),
		session.StepChecked{Command: "make", Summary: "exit 1", Output: "boom", Duration: time.Second},
		step(3, session.StepFailed, func(s *session.Step) { s.Reason = "its check failed\x1b[31m" }),
		step(3, session.StepParked, func(s *session.Step) { s.Reason, s.RetryAt = "no capacity", start.Add(2*time.Minute) }),
		step(4, session.StepPerson, func(s *session.Step) { s.Reason = "the same call 8 times" }),
		session.Checkpointed{Problem: "no git here",
			Skipped: []string{"a.bin (too large)"}}, session.Checkpointed{Tree: "t", Skipped: []string{"a.bin (too large)"}})
	got := shown(p)
	for _, want := range []string{"≡ 5 steps proposed by sol: F7 shows them", "▶ step 2 of 5: core logic (heavy)",
		"✓ check  go test ./…", "  2.1s",
		"✓ step 2 done: rules moved to pricing.go, see it · 3 calls · $0.02", "✗ check  make", "│ boom", "✗ step 3 failed: its check failed",
		"⏸ step 3 parked, next try at " + start.Add(2*time.Minute).Local().Format("15:04") + ": no capacity",
		"! step 4 needs you: the same call 8 times", "so that a rewind covers the conversation alone: no git",
		"· checkpoints do not cover a.bin (too large)"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is shown %d times, want once:\n%s", want, strings.Count(got, want), got)
		}
	}
	if strings.Contains(got, "hidden words") {
		t.Errorf("the output of a check is not folded:\n%s", got)
	}
	p.Open()
	p.Move(-1)
	p.Open()
	if got := shown(p); !strings.Contains(got, "hidden words") {
		t.Errorf("the output of a check does not open:\n%s", got)
	}
}

func TestARewindIsALineAndTakesEntriesAway(t *testing.T) {
	events := []session.Event{asked("one"), said("answer one"), session.TurnEnded{Outcome: session.OutcomeDone},
		session.Checkpointed{Tree: "t"},
		asked("two"), said("answer two"), asked("three"), said("answer three"),
		session.Rewound{Rewinding: session.Rewinding{To: 4, Conversation: true, Files: true}, Written: 2, Removed: 1,
			Failed: []string{"x: read only"}}}
	gone := session.RewoundSpan{From: 4, Until: 9}
	const line = "⟲ taken back: 2 turns (files too) · files: 2 written, 1 removed · /redo"
	check := func(t *testing.T, p *Pane) {
		t.Helper()
		got := shown(p)
		if !strings.Contains(got, line) || !strings.Contains(got, "not as they were: x: read only") ||
			!strings.Contains(got, "answer one") || strings.Contains(got, "two") || strings.Contains(got, "three") {
			t.Errorf("got:\n%s", got)
		}
		if p.Answer() != "answer one" {
			t.Errorf("the last answer is %q", p.Answer())
		}
	}
	t.Run("while it happens", func(t *testing.T) {
		p := pane(120, 30)
		play(p, events...)
		check(t, p)
	})
	t.Run("read from the log", func(t *testing.T) {
		p := pane(120, 30)
		p.Load(records(events...), false, gone)
		check(t, p)
	})
	t.Run("undone", func(t *testing.T) {
		p := pane(120, 30)
		p.Load(records(append(events, session.Rewound{Rewinding: session.Rewinding{To: 4, Conversation: true,
			Undo: 9}})...), false)
		if got := shown(p); !strings.Contains(got, "answer two") || !strings.Contains(got, "answer three") ||
			!strings.Contains(got, "⟲ brought back") {
			t.Errorf("got:\n%s", got)
		}
	})
	t.Run("on an older page", func(t *testing.T) {
		all := records(events...)
		p := pane(120, 30)
		p.Load(all[6:], true, gone)
		if before, ok := p.WantsOlder(); !ok || before != 7 {
			t.Fatalf("wants %d, %v", before, ok)
		}
		p.Prepend(all[4:6], true, gone) // all of it was taken back: paging goes on nevertheless
		if before, ok := p.WantsOlder(); !ok || before != 5 {
			t.Fatalf("wants %d, %v", before, ok)
		}
		p.Prepend(all[:4], false, gone)
		if got := shown(p); strings.Contains(got, "two") || !strings.Contains(got, "answer one") {
			t.Errorf("got:\n%s", got)
		}
	})
	t.Run("files alone", func(t *testing.T) {
		p := pane(120, 30)
		play(p, asked("one"), session.Rewound{Rewinding: session.Rewinding{To: 1, Files: true}, Written: 1})
		if got := shown(p); !strings.Contains(got,
			"⟲ taken back: the files · files: 1 written · /redo brings them back") || !strings.Contains(got, "› one") {
			t.Errorf("got:\n%s", got)
		}
	})
}

func TestTheInnerPromptOfAStepIsALine(t *testing.T) {
	p := pane(60, 20)
	p.SetInner()
	p.Load([]session.Record{{Session: "s", Seq: 1, Turn: 1, Event: asked("Lay it out.\n\nWhat shows that it is done: a file")}}, false)
	if got, want := shown(p), " › Lay it out.   +2 lines   ctrl+o"; got != want {
		t.Errorf("shown\n%s\nwant\n%s", got, want)
	}
	p.Open()
	if got := shown(p); !strings.Contains(got, "What shows that it is done: a file") || strings.Contains(got, "+2 lines") {
		t.Errorf("opened\n%s", got)
	}
}
