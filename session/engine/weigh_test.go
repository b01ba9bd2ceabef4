package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/context/briefing"
	"belay/session"
)

func part(w session.Weight, o session.Origin) int64 {
	for _, p := range w.Parts {
		if p.Origin == o {
			return p.Tokens
		}
	}
	return 0
}

func TestASessionIsWeighedByOrigin(t *testing.T) {
	in(t, story(3), func(r *rig) {
		r.engine = func(o *Options) {
			o.Trigger = 0.8
			o.Briefing = func(context.Context, string) briefing.Briefing {
				return briefing.Briefing{Instructions: strings.Repeat("be good ", 50), Sources: []briefing.Source{{Path: "AGENTS.md", Bytes: 100}}}
			}
		}
	}, func(t *testing.T, r *rig, id session.ID) {
		for i, name := range []string{"f0", "f1", "f2"} {
			if err := os.WriteFile(filepath.Join(r.project, name), []byte(strings.Repeat("a line that was read\n", 60)), 0o600); err != nil {
				t.Fatal(err)
			}
			r.send(id, strings.Repeat("task ", i+1))
			r.wait(id)
		}
		weigh := func() session.Weight {
			t.Helper()
			w, err := r.Weigh(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		w := weigh()
		for _, o := range []session.Origin{session.OfBriefing, session.OfAgents, session.OfTools, session.OfUser, session.OfModel, session.OfCalls, session.OfFiles} {
			if part(w, o) <= 0 {
				t.Errorf("%s weighs nothing: %+v", o, w.Parts)
			}
		}
		if part(w, session.OfSummary)+part(w, session.OfKept) != 0 || w.Target != sol || w.Budget != 84_000 || w.Trigger != 67_200 || w.Steps != 1 {
			t.Errorf("weight = %+v", w)
		}
		_, req, err := r.Request(t.Context(), id)
		if err != nil || float64(w.Counted) < 0.99*float64(req.Tokens)*r.o.Scales.Factor(sol) {
			t.Errorf("counted %d; the last request was %d (%v)", w.Counted, req.Tokens, err)
		}
		r.do(id, session.Keep{Text: "the colour is blue"})
		r.do(id, session.Compact{})
		s := r.wait(id)
		after := weigh()
		if part(after, session.OfKept) <= 0 || part(after, session.OfSummary) <= 0 || part(after, session.OfFiles) >= part(w, session.OfFiles) || after.Through < 1 {
			t.Errorf("after a summary: %+v", after)
		}
		if len(s.Left) != 1 || s.Left[0].What != session.LeftSummary || s.Context != 0 {
			t.Errorf("left out: %+v, context %d; want the summary, unknown", s.Left, s.Context)
		}
		r.do(id, session.Restore{})
		if again := weigh(); part(again, session.OfFiles) != part(w, session.OfFiles) || again.Through != 0 {
			t.Errorf("after it was restored: %+v", again)
		}
		if s, _ := r.Session(id); len(s.Left) != 0 {
			t.Errorf("left out: %+v, want nothing", s.Left)
		}
	})
	t.Run("one that is not open is not", func(t *testing.T) {
		in(t, story(0), nil, func(t *testing.T, r *rig, id session.ID) {
			if _, err := r.Weigh(t.Context(), "nobody"); !errors.Is(err, ErrNotOpen) {
				t.Errorf("Weigh = %v, want %v", err, ErrNotOpen)
			}
		})
	})
}

func TestTrimTakesOlderOutputsOut(t *testing.T) {
	in(t, story(6), func(r *rig) { r.window = 16_000 }, func(t *testing.T, r *rig, id session.ID) {
		for i := range 6 {
			name := filepath.Join(r.project, "f"+string(rune('0'+i)))
			if err := os.WriteFile(name, []byte(strings.Repeat("line "+string(rune('0'+i))+" that was read\n", 250)), 0o600); err != nil {
				t.Fatal(err)
			}
			r.send(id, "task "+string(rune('0'+i)))
			r.wait(id)
		}
		before, err := r.Weigh(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		r.do(id, session.Trim{})
		after, err := r.Weigh(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := r.Session(id)
		if after.Counted >= before.Counted || len(s.Left) == 0 || s.Left[0].Calls == 0 || s.Left[0].Freed <= 0 {
			t.Errorf("from %d to %d tokens, left out %+v", before.Counted, after.Counted, s.Left)
		}
	})
}
