package rewind

import (
	"fmt"
	"strings"
	"testing"

	"belay/session"
)

// describe is a list of checkpoints in words: where, what comes after, the tree,
// and after which record everything is taken back.
func describe(list []entry) string {
	var words []string
	for _, e := range list {
		word := fmt.Sprintf("turn %d", e.Turn)
		if e.Step > 0 {
			word += fmt.Sprintf(" step %d", e.Step)
		}
		if e.After {
			word += " after"
		}
		word += fmt.Sprintf(" %q %s %d>%d", e.Title, e.Tree, e.Seq, e.to)
		if e.Rewound {
			word += " rewound"
		}
		words = append(words, word)
	}
	return strings.Join(words, "\n")
}

func TestWhereASessionCanReturnTo(t *testing.T) {
	turn := func(prompt string) session.Event {
		return session.TurnStarted{Prompt: session.Prompt{Text: prompt}}
	}
	ended := session.TurnEnded{Outcome: session.OutcomeDone}
	kept := func(turn int, tree string) session.Event { return session.Checkpointed{Turn: turn, Tree: tree} }
	after := func(turn int, tree string) session.Event {
		return session.Checkpointed{Turn: turn, Tree: tree, After: true}
	}
	keptStep := func(turn, step int, tree string) session.Event {
		return session.Checkpointed{Turn: turn, Step: step, Tree: tree}
	}
	moved := func(number int, state session.StepState, id session.ID) session.Event {
		progress := session.StepProgress{State: state, Session: id}
		return session.StepMoved{Number: number, Step: session.Step{Title: "do it", StepProgress: progress}}
	}
	for name, tt := range map[string]struct {
		events  []session.Event
		rewound []session.RewoundSpan
		want    []string
	}{
		"nowhere without a turn": {events: nil},
		"before each turn": {
			events: []session.Event{turn("one\nmore"), kept(1, "A"), turn(" \n two"), kept(2, "B")},
			want:   []string{`turn 1 "one" A 0>0`, `turn 2 "two" B 2>2`},
		},
		"to the conversation where no tree is recorded": {
			events: []session.Event{turn("one")},
			want:   []string{`turn 1 "one"  0>0`},
		},
		"with a tree that was recorded late": {
			events: []session.Event{turn("one"), turn("two"), kept(2, "B"), kept(1, "A")},
			want:   []string{`turn 1 "one" A 0>0`, `turn 2 "two" B 1>1`},
		},
		"with the first of two trees": {
			events: []session.Event{turn("one"), kept(1, "A"), kept(1, "B")},
			want:   []string{`turn 1 "one" A 0>0`},
		},
		"after a turn, while no other follows": {
			events: []session.Event{turn("one"), kept(1, "A"), ended, after(1, "B")},
			want:   []string{`turn 1 "one" A 0>0`, `turn 1 after "one" B 3>3`},
		},
		"after a turn since when files have changed": {
			events: []session.Event{turn("one"), kept(1, "A"), ended, after(1, "B"), turn("two"), kept(2, "C")},
			want:   []string{`turn 1 "one" A 0>0`, `turn 1 after "one" B 3>3`, `turn 2 "two" C 4>4`},
		},
		"not after a turn since when nothing has changed": {
			events: []session.Event{turn("one"), kept(1, "A"), ended, after(1, "B"), turn("two"), kept(2, "B")},
			want:   []string{`turn 1 "one" A 0>0`, `turn 2 "two" B 4>4`},
		},
		"after a turn whose tree is recorded when the next has begun": {
			events: []session.Event{turn("one"), kept(1, "A"), ended, turn("two"), after(1, "B"), kept(2, "C")},
			want:   []string{`turn 1 "one" A 0>0`, `turn 2 "two" C 3>3`, `turn 1 after "one" B 4>3`},
		},
		"not after a turn whose end is not recorded": {
			events: []session.Event{turn("one"), kept(1, "A"), after(1, "B")},
			want:   []string{`turn 1 "one" A 0>0`},
		},
		"before a step, by the tree that was taken before it": {
			events: []session.Event{turn("task"), kept(1, "A"), keptStep(1, 1, "B"), moved(1, session.StepRunning, "s1")},
			want:   []string{`turn 1 "task" A 0>0`, `turn 1 step 1 "do it" B 3>3`},
		},
		"before a step, by a tree that was recorded late": {
			events: []session.Event{turn("task"), kept(1, "A"), moved(1, session.StepRunning, "s1"), keptStep(1, 1, "B")},
			want:   []string{`turn 1 "task" A 0>0`, `turn 1 step 1 "do it" B 2>2`},
		},
		"before a step without the tree of another": {
			events: []session.Event{turn("task"), kept(1, "A"), keptStep(1, 1, "B"), moved(2, session.StepRunning, "s2")},
			want:   []string{`turn 1 "task" A 0>0`, `turn 1 step 2 "do it"  3>3`},
		},
		"before a step once, however often it is gone on with": {
			events: []session.Event{turn("task"), moved(1, session.StepRunning, "s1"), moved(1, session.StepParked, "s1"),
				moved(1, session.StepRunning, "s1"), moved(1, session.StepDone, "s1")},
			want: []string{`turn 1 "task"  0>0`, `turn 1 step 1 "do it"  1>1`},
		},
		"before a step twice, if it was begun anew": {
			events: []session.Event{turn("task"), moved(1, session.StepRunning, "s1"), moved(1, session.StepRunning, "s2")},
			want:   []string{`turn 1 "task"  0>0`, `turn 1 step 1 "do it"  1>1`, `turn 1 step 1 "do it"  2>2`},
		},
		"not to what was taken back": {
			events:  []session.Event{turn("one"), kept(1, "A"), turn("two"), kept(2, "B"), session.Rewound{}, turn("two again")},
			rewound: []session.RewoundSpan{{From: 2, Until: 5}},
			want:    []string{`turn 1 "one" A 0>0`, `turn 2 "two" B 2>2 rewound`, `turn 3 "two again"  5>5`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var records []session.Record
			number := 0
			for i, e := range tt.events {
				if _, starts := e.(session.TurnStarted); starts {
					number++
				}
				records = append(records, session.Record{Seq: int64(i + 1), Turn: number, Event: e})
			}
			var state session.Session
			state.RewoundSpans = tt.rewound
			if got, want := describe(index(state, records)), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("checkpoints are\n%s\nwant\n%s", got, want)
			}
		})
	}
}
