package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	a := e.openSession(id)
	if a == nil {
		return session.Preview{}, fmt.Errorf("preview a rewind of session %s: %w", id, ErrNotOpen)
	}
	p, err := a.preview(ctx, to)
	if err != nil {
		return p, fmt.Errorf("preview a rewind of session %s: %w", id, err)
	}
	return p, nil
}

func (a *openSession) preview(ctx context.Context, to int64) (session.Preview, error) {
	head := a.session()
	at, records, err := a.place(ctx, head, to)
	if err != nil {
		return session.Preview{}, err
	}
	p := session.Preview{Checkpoint: at.Checkpoint, Skipped: at.skipped}
	begun := map[int]bool{}
	for _, r := range head.Active(records) {
		if r.Seq <= at.to {
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
				part, err := a.e.o.Store.EventsOfType(ctx, e.Step.Session, "tool.started")
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
func (a *openSession) place(ctx context.Context, head session.Session, to int64) (point, []session.Record, error) {
	records, err := a.e.o.Store.EventsOfType(ctx, a.id, pointed...)
	if err != nil {
		return point{}, nil, err
	}
	list := points(head, records)
	i := slices.IndexFunc(list, func(p point) bool { return p.Seq == to && !p.Rewound })
	if i < 0 {
		return point{}, nil, ErrNoCheckpoint
	}
	return list[i], records, nil
}

// occupy keeps turns away until what it returns is called; that lets come what
// was sent meanwhile. a.mu is held, and is not for what it returns.
func (a *openSession) occupy(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	a.cancel, a.done = cancel, done
	return ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.cancel = nil
		cancel(nil)
		close(done)
		switch a.head.Status {
		case session.Idle:
			a.pump(context.Background())
		case session.Parked:
			a.schedule()
		}
	}
}

// alone runs work that no turn may run beside, and that Close waits for. a.mu is
// not held.
func (a *openSession) alone(ctx context.Context, work func(context.Context) error) error {
	a.mu.Lock()
	switch {
	case a.closed:
		a.mu.Unlock()
		return ErrNotOpen
	case a.cancel != nil:
		a.mu.Unlock()
		return ErrBusy
	}
	ctx, free := a.occupy(ctx)
	a.e.work.Add(1)
	a.mu.Unlock()
	defer a.e.work.Done()
	defer free()
	return work(ctx)
}

// rewind returns to a checkpoint. a.mu is not held.
func (a *openSession) rewind(ctx context.Context, c session.Rewind) error {
	head := a.session()
	if head.PartOf != "" {
		return fmt.Errorf("this session carries out a step: rewind session %s, whose step it is", head.PartOf)
	}
	at, _, err := a.place(ctx, head, c.To)
	if err != nil {
		return err
	}
	e := session.Rewinding{To: at.to, Step: at.Step, Conversation: c.Conversation, Files: c.Files}
	if c.Files {
		if e.Tree, e.PreImages = at.Tree, at.early; e.Tree == "" {
			return ErrNotKept
		}
	}
	was := head.State()
	e.Before = &was
	if c.Conversation {
		old, err := a.e.o.Store.StateAt(ctx, a.id, at.to)
		if err != nil {
			return err
		}
		then := old.State()
		e.State = &then
	}
	return a.turnBack(ctx, e, c.ExpectTree)
}

// unrewind takes the last rewind back. a.mu is not held.
func (a *openSession) unrewind(ctx context.Context) error {
	head := a.session()
	back := head.LastRewind
	if back == nil {
		return ErrNoRewind
	}
	e := session.Rewinding{To: back.To, Conversation: back.Conversation, Files: back.Files, Tree: back.From, Undo: back.Seq, State: back.Before}
	was := head.State()
	e.Before = &was
	return a.turnBack(ctx, e, "")
}

// turnBack writes down what is about to happen, does it, and writes that down.
func (a *openSession) turnBack(ctx context.Context, e session.Rewinding, expect string) error {
	if e.Files {
		if a.shots == nil {
			return ErrNotKept
		}
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
func (a *openSession) finish(ctx context.Context, e session.Rewinding, expect string) error {
	end := session.Rewound{Rewinding: e}
	var failed error
	if e.Files {
		var done snapshot.RestoreResult
		if a.shots == nil {
			failed = ErrNotKept
		} else if done, failed = a.shots.Restore(ctx, e.Tree, expect); failed == nil {
			end.Written, end.Removed = len(done.Written), len(done.Removed)
			for _, f := range done.Failed {
				end.Failed = append(end.Failed, fmt.Sprintf("%s: %v", f.Path, f.Err))
			}
			end.Failed = append(end.Failed, a.putBack(e.PreImages)...)
		}
		if failed != nil { // nothing was touched: there is nothing to take back
			end.Conversation, end.Files = false, false
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.append(ctx, end); err != nil {
		return errors.Join(failed, err)
	}
	if a.timer != nil && end.Conversation {
		a.timer.Stop()
		a.timer = nil
	}
	a.wrote, a.spent = false, nil
	return errors.Join(failed, a.reread(ctx))
}

// complete goes on with a rewind that a crash has cut off, unless a file is
// neither as it was nor as it was to become: then somebody has worked on since.
func (a *openSession) complete(ctx context.Context, e session.Rewinding) error {
	if !e.Files {
		return a.finish(ctx, e, "")
	}
	foreign, now, err := a.foreign(ctx, e)
	if err == nil && len(foreign) == 0 {
		return a.finish(ctx, e, now)
	}
	if err == nil {
		err = fmt.Errorf("files have changed since: %s; look at the checkpoints and rewind again", strings.Join(foreign[:min(len(foreign), 5)], ", "))
	}
	end := session.Rewound{Rewinding: e}
	end.Conversation, end.Files = false, false
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Join(err, a.append(ctx, end))
}

// foreign lists the files that are neither as a rewind found them nor as it
// leaves them, and the tree that is there.
func (a *openSession) foreign(ctx context.Context, e session.Rewinding) (files []string, now string, err error) {
	if a.shots == nil {
		return nil, "", ErrNotKept
	}
	tree, err := a.shots.Take(ctx)
	if err != nil {
		return nil, "", err
	}
	from, err := a.shots.Diff(ctx, tree.ID, e.From)
	if err != nil {
		return nil, "", err
	}
	to, err := a.shots.Diff(ctx, tree.ID, e.Tree)
	if err != nil {
		return nil, "", err
	}
	for _, x := range from {
		if slices.ContainsFunc(to, func(y snapshot.Change) bool { return x.Path == y.Path }) {
			files = append(files, x.Path)
		}
	}
	return files, tree.ID, nil
}

// putBack writes the files that were kept by themselves, and follows no link out
// of the workspace.
func (a *openSession) putBack(files []session.PreImage) (failed []string) {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(a.root)
	if err != nil {
		return []string{err.Error()}
	}
	defer root.Close()
	for _, f := range files {
		err := root.Remove(f.Path)
		switch {
		case f.Missing && errors.Is(err, os.ErrNotExist):
			err = nil
		case !f.Missing:
			if err = root.MkdirAll(filepath.Dir(f.Path), 0o777); err == nil {
				err = root.WriteFile(f.Path, f.Content, f.Mode)
			}
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", f.Path, err))
		}
	}
	return failed
}

// reread makes the conversation anew out of the log. a.mu is held.
func (a *openSession) reread(ctx context.Context) error {
	records, whole, err := a.e.tail(ctx, a.head)
	if err != nil {
		return err
	}
	a.talk, a.full = conversation(a.head, records, whole), 0
	if a.briefed != nil {
		a.where = a.briefed.Environment // what was told since may have been taken back
	}
	return a.tools.Focus(a.head.Focus)
}
