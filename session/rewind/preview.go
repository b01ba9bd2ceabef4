package rewind

import (
	"context"
	"path/filepath"
	"slices"

	"belay/session"
	"belay/session/snapshot"
)

// The bounds of a preview.
const (
	maxPatch    = 256 << 10 // bytes
	maxCommands = 50
)

// Preview says what a rewind to a checkpoint would do.
func (r Rewinder) Preview(ctx context.Context, to int64) (session.Preview, error) {
	state := r.Log.State()
	at, records, err := r.find(ctx, state, to)
	if err != nil {
		return session.Preview{}, err
	}
	p := session.Preview{Checkpoint: at.Checkpoint, Skipped: at.skipped}
	r.countUndone(ctx, &p, at, state.Active(records))
	if at.Tree == "" || r.Snapshots == nil {
		return p, nil
	}
	return p, r.compareFiles(ctx, &p, at)
}

// countUndone counts the turns, steps and commands that would be taken back.
func (r Rewinder) countUndone(ctx context.Context, preview *session.Preview, at entry, records []session.Record) {
	started := map[int]bool{}
	for _, rec := range records {
		if rec.Seq <= at.to {
			continue
		}
		switch e := rec.Event.(type) {
		case session.TurnStarted:
			preview.Turns++
		case session.ToolStarted:
			preview.Commands = addCommand(preview.Commands, e)
		case session.StepMoved:
			if e.Step.State != session.StepRunning || started[e.Number] {
				continue
			}
			started[e.Number] = true
			preview.Steps++
			// Without the step's session, which may be gone, its commands are not known.
			calls, _ := r.Store.EventsOfType(ctx, e.Step.Session, "tool.started")
			for _, call := range calls {
				preview.Commands = addCommand(preview.Commands, call.Event.(session.ToolStarted))
			}
		}
	}
}

// addCommand notes what ran: what it did outside the workspace no rewind takes
// back.
func addCommand(list []string, e session.ToolStarted) []string {
	if e.Effect.Class != session.Run || len(list) >= maxCommands {
		return list
	}
	return append(list, e.Effect.Title)
}

// compareFiles compares the files that are there with those of a checkpoint.
func (r Rewinder) compareFiles(ctx context.Context, preview *session.Preview, at entry) error {
	now, err := r.Snapshots.Take(ctx)
	if err != nil {
		return err
	}
	changes, err := r.Snapshots.Diff(ctx, now.ID, at.Tree)
	if err != nil {
		return err
	}
	preview.Now = now.ID
	preview.Changes = slices.Clone(changes)
	for _, c := range changes {
		if len(preview.Patch) < maxPatch && !c.Binary {
			patch, err := r.Snapshots.Patch(ctx, now.ID, at.Tree, c.Path)
			if err != nil {
				return err
			}
			preview.Patch += patch
		}
	}
	for _, f := range at.preImages {
		path := filepath.ToSlash(f.Path)
		if !slices.ContainsFunc(preview.Changes, func(c session.Change) bool { return c.Path == path }) {
			preview.Changes = append(preview.Changes, session.Change{Path: path, Kind: snapshot.Changed})
		}
	}
	return nil
}
