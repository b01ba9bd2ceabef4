package rewind

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
	"belay/session/snapshot"
)

func runs(title string) session.Event {
	return session.ToolStarted{Effect: session.Effect{Class: session.Run, Title: title}}
}

// changes are those of a preview in words.
func changes(list []session.Change) string {
	var words []string
	for _, c := range list {
		words = append(words, string(c.Kind)+" "+c.Path)
	}
	return strings.Join(words, ", ")
}

func TestWhatAPreviewSaysOfFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare   func(r *rig, w *Rewinder)
		turn      int
		wantFiles string
		wantPatch string
		wantErr   error
	}{
		"what they become":                {nil, 2, "changed a, removed b", "-2\n+1\n-2\n+\n", nil},
		"what they become over two turns": {nil, 1, "changed a, removed b", "-2\n+0\n-2\n+\n", nil},
		"nothing without snapshots":       {func(_ *rig, w *Rewinder) { w.Snapshots = nil }, 2, "", "", nil},
		"nothing where none were kept": {func(r *rig, _ *Rewinder) {
			r.turn++
			r.append(session.TurnStarted{}, session.Checkpointed{Turn: 3})
		}, 3, "", "", nil},
		"that binary files change, not how": {func(r *rig, _ *Rewinder) {
			r.turn++
			r.append(session.TurnStarted{}, session.Checkpointed{Turn: 3, Tree: "a=\x00,b=2"})
		}, 3, "changed a", "", nil},
		"those that were kept by themselves, once": {func(r *rig, _ *Rewinder) {
			r.turn++
			early := []session.PreImage{{Path: "a"}, {Path: "c"}}
			r.append(session.TurnStarted{}, session.Checkpointed{Turn: 3, Tree: "a=3,b=2", PreImages: early})
		}, 3, "changed a, changed c", "-2\n+3\n", nil},
		"an error where they cannot be compared": {func(r *rig, _ *Rewinder) { r.folder.takeErr = errSnapshot }, 2, "", "",
			errSnapshot},
	} {
		t.Run(name, func(t *testing.T) {
			r := twoTurns(t)
			w := r.rewinder()
			if tt.prepare != nil {
				tt.prepare(r, &w)
			}
			p, err := w.Preview(t.Context(), r.to(tt.turn))
			if !errors.Is(err, tt.wantErr) {
				t.Errorf("Preview = %v, want %v", err, tt.wantErr)
			}
			if got := changes(p.Changes); got != tt.wantFiles || p.Patch != tt.wantPatch {
				t.Errorf("files: %s, %q; want %s, %q", got, p.Patch, tt.wantFiles, tt.wantPatch)
			}
			if got := p.Now; (got == "a=2,b=2") != (tt.wantFiles != "") {
				t.Errorf("compared with %q", got)
			}
			r.checkFiles("a=2,b=2")
		})
	}
	t.Run("nothing of an unknown place", func(t *testing.T) {
		if _, err := twoTurns(t).rewinder().Preview(t.Context(), 4711); !errors.Is(err, ErrNoCheckpoint) {
			t.Errorf("Preview = %v, want %v", err, ErrNoCheckpoint)
		}
	})
}

func TestAPreviewSaysWhatIsNotCovered(t *testing.T) {
	r := twoTurns(t)
	r.turn++
	r.append(session.TurnStarted{}, session.Checkpointed{Turn: 3, Tree: "a=2", Skipped: []string{"big (too large)"}})
	p, err := r.rewinder().Preview(t.Context(), r.to(3))
	if err != nil || strings.Join(p.Skipped, ",") != "big (too large)" || p.Checkpoint.Tree != "a=2" {
		t.Errorf("Preview = %+v, %v", p, err)
	}
}

func TestAPatchIsBounded(t *testing.T) {
	r := newRig(t, session.Created{})
	large := strings.Repeat("x", maxPatch)
	r.folder.write(t, "a="+large+",b=0,c=0")
	r.play("one", "a=1,b=1,c=1")
	p, err := r.rewinder().Preview(t.Context(), r.to(1))
	if err != nil || len(p.Changes) != 3 {
		t.Fatalf("%d changes, %v", len(p.Changes), err)
	}
	if got, want := p.Patch, "-1\n+"+large+"\n"; got != want {
		t.Errorf("the patch has %d bytes, want the %d of the first file", len(got), len(want))
	}
}

func TestWhatAPreviewCounts(t *testing.T) {
	r := newRig(t, session.Created{})
	r.play("one", "a=1")
	r.append(runs("before"))
	part := session.Created{Project: r.folder.root, Tier: models.Light, PartOf: r.state.ID, Step: 1}
	step, err := r.store.Create(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = r.store.Append(t.Context(), step.ID, 1, session.TurnStarted{}, runs("in the step"))
	if err != nil {
		t.Fatal(err)
	}
	r.play("two", "a=2")
	moved := func(number int, state session.StepState, id session.ID) session.Event {
		progress := session.StepProgress{State: state, Session: id}
		return session.StepMoved{Number: number, Step: session.Step{StepProgress: progress}}
	}
	r.append(
		runs("after"),
		session.ToolStarted{Effect: session.Effect{Class: session.Write, Title: "no command"}},
		moved(1, session.StepRunning, step.ID),
		moved(1, session.StepParked, step.ID),
		moved(1, session.StepRunning, step.ID),
		moved(2, session.StepRunning, "gone"),
		moved(3, session.StepSkipped, ""),
	)
	r.play("three", "a=3")
	p, err := r.rewinder().Preview(t.Context(), r.to(2))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%d turns, %d steps, %s", p.Turns, p.Steps, strings.Join(p.Commands, ","))
	if want := "2 turns, 2 steps, after,in the step"; got != want {
		t.Errorf("taken back are %s, want %s", got, want)
	}
	for i := range maxCommands {
		r.append(runs(fmt.Sprint(i)))
	}
	p, err = r.rewinder().Preview(t.Context(), r.to(2))
	if err != nil || len(p.Commands) != maxCommands {
		t.Errorf("%d commands are listed, want %d (%v)", len(p.Commands), maxCommands, err)
	}
	back := session.Rewind{To: r.to(3), Conversation: true}
	if err := r.rewinder().Rewind(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	p, err = r.rewinder().Preview(t.Context(), r.to(2))
	if err != nil || p.Turns != 1 || len(p.Commands) != 2 {
		t.Errorf("what was taken back already counts: %d turns, %d commands (%v)", p.Turns, len(p.Commands), err)
	}
}

var _ Snapshots = (*folder)(nil)
var _ Snapshots = (*snapshot.Store)(nil)
