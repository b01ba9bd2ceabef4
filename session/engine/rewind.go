package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"belay/session"
	"belay/session/snapshot"
)

// Errors of a rewind, for errors.Is.
var (
	ErrNoCheckpoint = errors.New("there is no such checkpoint")
	ErrNotKept      = errors.New("the files of that place were not kept")
	ErrNoRewind     = errors.New("there is no rewind to take back")
)

// The bounds of a preview.
const (
	mostPreview  = 256 << 10 // bytes of the patch
	mostCommands = 50
)

// Preview says what a rewind to a checkpoint would do. The session must be open.
func (e *Engine) Preview(ctx context.Context, id session.ID, to int64) (session.Preview, error) {
	a := e.active(id)
	if a == nil {
		return session.Preview{}, fmt.Errorf("preview a rewind of session %s: %w", id, ErrNotOpen)
	}
	p, err := a.preview(ctx, to)
	if err != nil {
		return p, fmt.Errorf("preview a rewind of session %s: %w", id, err)
	}
	return p, nil
}

func (a *active) preview(ctx context.Context, to int64) (session.Preview, error) {
	head := a.session()
	at, records, err := a.place(ctx, head, to)
	if err != nil {
		return session.Preview{}, err
	}
	p := session.Preview{Checkpoint: at.Checkpoint, Skipped: at.skipped}
	begun := map[int]bool{}
	for _, r := range head.Lives(records) {
		if r.Seq <= to {
			continue
		}
		switch e := r.Event.(type) {
		case session.TurnStarted:
			p.Turns++
		case session.ToolStarted:
			p.Commands = command(p.Commands, e)
		case session.StepMoved:
			if e.Step.State == session.StepRunning && !begun[e.Number] {
				begun[e.Number] = true
				p.Steps++
				part, err := a.e.o.Store.OfType(ctx, e.Step.Session, "tool.started")
				if err != nil {
					continue // the step's session may be gone
				}
				for _, x := range part {
					p.Commands = command(p.Commands, x.Event.(session.ToolStarted))
				}
			}
		}
	}
	if at.Tree == "" || a.shots == nil {
		return p, nil
	}
	now, err := a.shots.Take(ctx)
	if err != nil {
		return p, err
	}
	changes, err := a.shots.Diff(ctx, now.ID, at.Tree)
	if err != nil {
		return p, err
	}
	p.Now = now.ID
	for _, c := range changes {
		p.Changes = append(p.Changes, session.Change{Path: c.Path, Kind: string(c.Kind), Added: c.Added, Removed: c.Removed, Binary: c.Binary})
		if len(p.Patch) < mostPreview && !c.Binary {
			patch, err := a.shots.Patch(ctx, now.ID, at.Tree, c.Path)
			if err != nil {
				return p, err
			}
			p.Patch += patch
		}
	}
	for _, f := range at.early {
		if !slices.ContainsFunc(p.Changes, func(c session.Change) bool { return c.Path == filepath.ToSlash(f.Path) }) {
			p.Changes = append(p.Changes, session.Change{Path: filepath.ToSlash(f.Path), Kind: "changed"})
		}
	}
	return p, nil
}

// command notes what ran: what it did outside the workspace no rewind takes back.
func command(list []string, e session.ToolStarted) []string {
	if e.Effect.Class != session.Run || len(list) >= mostCommands {
		return list
	}
	return append(list, e.Effect.Title)
}

// place finds a checkpoint.
func (a *active) place(ctx context.Context, head session.Session, to int64) (point, []session.Record, error) {
	records, err := a.e.o.Store.OfType(ctx, a.id, pointed...)
	if err != nil {
		return point{}, nil, err
	}
	list := points(head, records)
	i := slices.IndexFunc(list, func(p point) bool { return p.Seq == to && !p.Gone })
	if i < 0 {
		return point{}, nil, ErrNoCheckpoint
	}
	return list[i], records, nil
}

// alone runs work that no turn may run beside. a.mu is not held.
func (a *active) alone(work func() error) error {
	a.mu.Lock()
	switch {
	case a.closed:
		a.mu.Unlock()
		return ErrNotOpen
	case a.cancel != nil:
		a.mu.Unlock()
		return ErrBusy
	}
	done := make(chan struct{})
	a.cancel, a.done = func(error) {}, done
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.cancel = nil
		close(done)
	}()
	return work()
}

// rewind returns to a checkpoint. a.mu is not held.
func (a *active) rewind(ctx context.Context, c session.Rewind) error {
	head := a.session()
	if head.PartOf != "" {
		return fmt.Errorf("this session carries out a step: rewind session %s, whose step it is", head.PartOf)
	}
	at, _, err := a.place(ctx, head, c.To)
	if err != nil {
		return err
	}
	e := session.Rewinding{To: c.To, Step: at.Step, Talk: c.Talk, Files: c.Files}
	if c.Files {
		if e.Tree, e.Early = at.Tree, at.early; e.Tree == "" || a.shots == nil {
			return ErrNotKept
		}
	}
	if c.Talk {
		old, err := a.e.o.Store.StateAt(ctx, a.id, c.To)
		if err != nil {
			return err
		}
		then, was := old.State(), head.State()
		e.State, e.Was = &then, &was
	}
	return a.turnBack(ctx, e, c.Expect)
}

// unrewind takes the last rewind back. a.mu is not held.
func (a *active) unrewind(ctx context.Context) error {
	head := a.session()
	back := head.Back
	if back == nil {
		return ErrNoRewind
	}
	e := session.Rewinding{To: back.To, Talk: back.Talk, Files: back.Files, Tree: back.From, Undo: back.Seq, State: back.Was}
	return a.turnBack(ctx, e, "")
}

// turnBack writes down what is about to happen, does it, and writes that down.
func (a *active) turnBack(ctx context.Context, e session.Rewinding, expect string) error {
	if e.Files {
		now, err := a.shots.Take(ctx)
		if err != nil {
			return err
		}
		if expect != "" && now.ID != expect {
			return &snapshot.ChangedError{}
		}
		e.From = now.ID
	}
	a.mu.Lock()
	err := a.append(ctx, e)
	a.mu.Unlock()
	if err != nil {
		return err
	}
	return a.finish(context.WithoutCancel(ctx), e, e.From)
}

// finish puts the files back and records that. After a crash it is done again,
// which changes nothing that is done already.
func (a *active) finish(ctx context.Context, e session.Rewinding, expect string) error {
	end := session.Rewound{Rewinding: e}
	var failed error
	if e.Files {
		var done snapshot.Done
		if a.shots == nil {
			failed = ErrNotKept
		} else if done, failed = a.shots.Restore(ctx, e.Tree, expect); failed == nil {
			end.Written, end.Removed = len(done.Written), len(done.Removed)
			for _, f := range done.Failed {
				end.Failed = append(end.Failed, fmt.Sprintf("%s: %v", f.Path, f.Err))
			}
			end.Failed = append(end.Failed, a.putBack(e.Early)...)
		}
		if failed != nil { // nothing was touched: there is nothing to take back
			end.Talk, end.Files = false, false
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.append(ctx, end); err != nil {
		return errors.Join(failed, err)
	}
	if a.timer != nil && end.Talk {
		a.timer.Stop()
		a.timer = nil
	}
	a.wrote, a.spent = false, nil
	return errors.Join(failed, a.reread(ctx))
}

// putBack writes the files that were kept by themselves.
func (a *active) putBack(files []session.Early) (failed []string) {
	for _, f := range files {
		path := filepath.Join(a.root, f.Path)
		err := os.Remove(path)
		if !f.Missing {
			err = os.WriteFile(path, f.Content, f.Mode)
		} else if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", f.Path, err))
		}
	}
	return failed
}

// reread makes the conversation anew out of the log. a.mu is held.
func (a *active) reread(ctx context.Context) error {
	records, whole, err := a.e.tail(ctx, a.head)
	if err != nil {
		return err
	}
	a.talk, a.full = conversation(a.head, records, whole), 0
	return nil
}
