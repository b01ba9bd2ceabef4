package store

import (
	"fmt"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
)

func TestTheTailIsTheEndThatFits(t *testing.T) {
	const turns, calls, size = 40, 8, 1000
	st := open(t, t.TempDir())
	state, err := st.Create(t.Context(), session.Created{Project: t.TempDir(), Tier: models.Heavy, Mode: session.Edits})
	if err != nil {
		t.Fatal(err)
	}
	begins := map[int64]bool{}
	var last int64
	for turn := 1; turn <= turns; turn++ {
		events := []session.Event{session.TurnStarted{Prompt: session.Prompt{ID: fmt.Sprint(turn), Text: "do"}}}
		for i := range calls {
			events = append(events, session.ToolEnded{CallID: fmt.Sprint(turn, i), Output: strings.Repeat("x", size)})
		}
		records, after, err := st.Append(t.Context(), state.ID, turn, events...)
		if err != nil {
			t.Fatal(err)
		}
		state, last = after, records[0].Seq
		begins[last] = true
	}
	for _, tt := range []struct {
		name       string
		most       int
		spans      []session.RewoundSpan
		whole      bool
		from, upTo int64 // where the first record may be
		gap        bool  // between the first record and the next
	}{
		{"all of it", 1 << 20, nil, true, 1, 1, false},
		{"whole turns", 10 * calls * size, nil, false, last - 20*(calls+1), last - 5*(calls+1), false},
		{"the end of a turn with its prompt", 1, []session.RewoundSpan{{From: 200, Until: last + 1}}, false, 200, 200, true},
		{"what was taken back takes no room", 30 * calls * size, []session.RewoundSpan{{From: 91, Until: last}},
			true, 1, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state := state
			state.RewoundSpans = tt.spans
			tail, err := st.Tail(t.Context(), state, tt.most)
			if err != nil {
				t.Fatal(err)
			}
			var seqs []int64
			if err := tail.Each(t.Context(), func(r session.Record) {
				seqs = append(seqs, r.Seq)
				if state.IsRewound(r.Seq) {
					t.Errorf("record %d was taken back", r.Seq)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if tail.Whole != tt.whole || seqs[0] < tt.from || seqs[0] > tt.upTo || seqs[len(seqs)-1] != state.LastSeq {
				t.Fatalf("whole %v, records %d to %d, want %v, a beginning from %d to %d, and the end %d",
					tail.Whole, seqs[0], seqs[len(seqs)-1], tt.whole, tt.from, tt.upTo, state.LastSeq)
			}
			if !tt.whole && !begins[seqs[0]] {
				t.Errorf("begins at record %d, which begins no turn", seqs[0])
			}
			if gap := seqs[1] != seqs[0]+1; gap != tt.gap {
				t.Errorf("a gap behind the first record: %v, want %v", gap, tt.gap)
			}
		})
	}
}

func TestTheTailIsBoundedHoweverLargeItsRecordsAre(t *testing.T) {
	const size, most = 100_000, 500_000
	st := open(t, t.TempDir())
	state, err := st.Create(t.Context(), session.Created{Project: t.TempDir(), Tier: models.Heavy, Mode: session.Edits})
	if err != nil {
		t.Fatal(err)
	}
	for turn := 1; turn <= 30; turn++ {
		_, state, err = st.Append(t.Context(), state.ID, turn,
			session.TurnStarted{Prompt: session.Prompt{ID: fmt.Sprint(turn), Text: "look"}},
			session.ToolEnded{CallID: fmt.Sprint(turn), Output: strings.Repeat("x", size)})
		if err != nil {
			t.Fatal(err)
		}
	}
	tail, err := st.Tail(t.Context(), state, most)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	if err := tail.Each(t.Context(), func(r session.Record) {
		if e, ok := r.Event.(session.ToolEnded); ok {
			read += len(e.Output)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if tail.Whole || read < most/2 || read > most+size {
		t.Errorf("whole %v, %d bytes, want about %d of %d", tail.Whole, read, most, 30*size)
	}
}

func TestATurnThatBeginsMeanwhileIsNoBeginningOfTheTail(t *testing.T) {
	st := open(t, t.TempDir())
	state, err := st.Create(t.Context(), session.Created{Project: t.TempDir(), Tier: models.Heavy, Mode: session.Edits})
	if err != nil {
		t.Fatal(err)
	}
	events := []session.Event{session.TurnStarted{Prompt: session.Prompt{ID: "1", Text: "a long turn"}}}
	for i := range 100 {
		events = append(events, session.ToolEnded{CallID: fmt.Sprint(i), Output: "x"})
	}
	if _, state, err = st.Append(t.Context(), state.ID, 1, events...); err != nil {
		t.Fatal(err)
	}
	_, _, err = st.Append(t.Context(), state.ID, 2, session.Noted{}, session.Noted{}, session.Noted{},
		session.TurnStarted{Prompt: session.Prompt{ID: "2", Text: "another program's"}})
	if err != nil {
		t.Fatal(err)
	}
	tail, err := st.Tail(t.Context(), state, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := tail.Len(); n < 1 || tail.prompt != 2 {
		t.Errorf("%d records behind the prompt %d, want some, and 2", n, tail.prompt)
	}
}
