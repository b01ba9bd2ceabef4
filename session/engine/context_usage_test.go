package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/context/systemprompt"
	"belay/session"
)

func part(w session.ContextUsage, o session.Source) int64 {
	for _, p := range w.Parts {
		if p.Source == o {
			return p.Tokens
		}
	}
	return 0
}

func TestASessionIsWeighedByOrigin(t *testing.T) {
	t.Parallel()
	inBubble(t, readScript(3), func(r *rig) {
		r.engine = func(o *Options) {
			o.Trigger = 0.8
			o.SystemPrompt = func(context.Context, string) systemprompt.Prompt {
				return systemprompt.Prompt{
					Instructions: strings.Repeat("be good ", 50),
					Sources:      []systemprompt.Source{{Path: "AGENTS.md", Bytes: 100}},
				}
			}
		}
	}, func(t *testing.T, r *rig, id session.ID) {
		for i, name := range []string{"f0", "f1", "f2"} {
			if err := os.WriteFile(
				filepath.Join(r.project, name),
				[]byte(strings.Repeat("a line that was read\n", 60)),
				0o600,
			); err != nil {
				t.Fatal(err)
			}
			r.send(id, strings.Repeat("task ", i+1))
			r.wait(id)
		}
		measure := func() session.ContextUsage {
			t.Helper()
			w, err := r.ContextUsage(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		w := measure()
		for _, o := range []session.Source{session.SourceSystemPrompt, session.SourceAgentsFile, session.SourceTools,
			session.SourceUser, session.SourceModel, session.SourceToolCalls, session.SourceFiles} {
			if part(w, o) <= 0 {
				t.Errorf("%s weighs nothing: %+v", o, w.Parts)
			}
		}
		if part(w, session.SourceSummary)+part(w, session.SourcePinned) != 0 || w.Target != sol || w.Budget != 84_000 ||
			w.Trigger != 67_200 ||
			w.ToolCalls != 1 {
			t.Errorf("weight = %+v", w)
		}
		_, req, err := r.Request(t.Context(), id)
		if err != nil || float64(w.Counted) < 0.99*float64(req.Tokens)*r.o.Calibration.Factor(sol) {
			t.Errorf("counted %d; the last request was %d (%v)", w.Counted, req.Tokens, err)
		}
		r.do(id, session.PinNote{Text: "the colour is blue"})
		r.do(id, session.Compact{})
		s := r.wait(id)
		after := measure()
		if part(after, session.SourcePinned) <= 0 || part(after, session.SourceSummary) <= 0 ||
			part(after, session.SourceFiles) >= part(w, session.SourceFiles) ||
			after.SummaryThrough < 1 {
			t.Errorf("after a summary: %+v", after)
		}
		if len(s.Omitted) != 1 || s.Omitted[0].Label != session.OmittedSummary || s.ContextTokens != 0 {
			t.Errorf("left out: %+v, context %d; want the summary, unknown", s.Omitted, s.ContextTokens)
		}
		r.do(id, session.Restore{})
		if again := measure(); part(again, session.SourceFiles) != part(w, session.SourceFiles) || again.SummaryThrough != 0 {
			t.Errorf("after it was restored: %+v", again)
		}
		if s, _ := r.Session(id); len(s.Omitted) != 0 {
			t.Errorf("left out: %+v, want nothing", s.Omitted)
		}
	})
	t.Run("one that is not open is not", func(t *testing.T) {
		inBubble(t, readScript(0), nil, func(t *testing.T, r *rig, id session.ID) {
			if _, err := r.ContextUsage(t.Context(), "nobody"); !errors.Is(err, ErrNotOpen) {
				t.Errorf("Weigh = %v, want %v", err, ErrNotOpen)
			}
		})
	})
}

func TestTrimTakesOlderOutputsOut(t *testing.T) {
	t.Parallel()
	inBubble(t, readScript(6), func(r *rig) { r.window = 16_000 }, func(t *testing.T, r *rig, id session.ID) {
		for i := range 6 {
			name := filepath.Join(r.project, "f"+string(rune('0'+i)))
			if err := os.WriteFile(
				name,
				[]byte(strings.Repeat("line "+string(rune('0'+i))+" that was read\n", 250)),
				0o600,
			); err != nil {
				t.Fatal(err)
			}
			r.send(id, "task "+string(rune('0'+i)))
			r.wait(id)
		}
		before, err := r.ContextUsage(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		r.do(id, session.PruneOutputs{})
		after, err := r.ContextUsage(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := r.Session(id)
		if after.Counted >= before.Counted || len(s.Omitted) == 0 || s.Omitted[0].Calls == 0 || s.Omitted[0].Freed <= 0 {
			t.Errorf("from %d to %d tokens, left out %+v", before.Counted, after.Counted, s.Omitted)
		}
	})
}
