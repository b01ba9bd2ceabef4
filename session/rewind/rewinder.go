package rewind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"belay/session"
	"belay/session/snapshot"
	"belay/session/store"
)

// Errors of a rewind, for errors.Is.
var (
	ErrNoCheckpoint = errors.New("there is no such checkpoint")
	ErrNotKept      = errors.New("the files of that place were not kept")
	ErrNoRewind     = errors.New("there is no rewind to take back")
)

// Rewinder rewinds one open session. No turn may run meanwhile.
type Rewinder struct {
	Store     *store.Store
	Session   session.ID
	Root      string    // the workspace, links resolved
	Snapshots Snapshots // nil: files are not kept
	Log       Log
}

// find finds a checkpoint, and gives the records that it was found in.
func (r Rewinder) find(ctx context.Context, s session.Session, to int64) (entry, []session.Record, error) {
	records, err := r.Store.EventsOfType(ctx, r.Session, indexedTypes...)
	if err != nil {
		return entry{}, nil, err
	}
	list := index(s, records)
	i := slices.IndexFunc(list, func(e entry) bool { return e.Seq == to && !e.Rewound })
	if i < 0 {
		return entry{}, nil, ErrNoCheckpoint
	}
	return list[i], records, nil
}

// Rewind returns to a checkpoint.
func (r Rewinder) Rewind(ctx context.Context, command session.Rewind) error {
	now := r.Log.State()
	if now.PartOf != "" {
		return fmt.Errorf("this session carries out a step: rewind session %s, whose step it is", now.PartOf)
	}
	at, _, err := r.find(ctx, now, command.To)
	if err != nil {
		return err
	}
	before := now.State()
	event := session.Rewinding{
		To: at.to, Step: at.Step, Conversation: command.Conversation, Files: command.Files, Before: &before,
	}
	if command.Files {
		if at.Tree == "" {
			return ErrNotKept
		}
		event.Tree = at.Tree
		event.PreImages = at.preImages
	}
	if command.Conversation {
		then, err := r.Store.StateAt(ctx, r.Session, at.to)
		if err != nil {
			return err
		}
		state := then.State()
		event.State = &state
	}
	return r.start(ctx, event, command.ExpectTree)
}

// Undo takes the last rewind back.
func (r Rewinder) Undo(ctx context.Context) error {
	now := r.Log.State()
	last := now.LastRewind
	if last == nil {
		return ErrNoRewind
	}
	before := now.State()
	return r.start(ctx, session.Rewinding{
		To: last.To, Conversation: last.Conversation, Files: last.Files, Tree: last.From, Undo: last.Seq,
		State: last.Before, Before: &before,
	}, "")
}

// start writes down what is about to happen, does it, and writes that down.
func (r Rewinder) start(ctx context.Context, event session.Rewinding, expect string) error {
	if event.Files {
		if r.Snapshots == nil {
			return ErrNotKept
		}
		now, err := r.Snapshots.Take(ctx)
		if err != nil {
			return err
		}
		if expect != "" && now.ID != expect {
			return &snapshot.ChangedError{}
		}
		event.From = now.ID
	}
	if err := r.Log.Append(ctx, event); err != nil {
		return err
	}
	return r.apply(context.WithoutCancel(ctx), event, event.From)
}

// apply puts the files back and records that. After a crash it is done again,
// which changes nothing that is done already.
func (r Rewinder) apply(ctx context.Context, e session.Rewinding, expect string) error {
	end := session.Rewound{Rewinding: e}
	var failed error
	if e.Files {
		failed = r.restoreFiles(ctx, &end, expect)
	}
	if failed != nil { // nothing was touched: there is nothing to take back
		end.Conversation = false
		end.Files = false
	}
	return errors.Join(failed, r.Log.Rewound(ctx, end))
}

func (r Rewinder) restoreFiles(ctx context.Context, end *session.Rewound, expect string) error {
	if r.Snapshots == nil {
		return ErrNotKept
	}
	done, err := r.Snapshots.Restore(ctx, end.Tree, expect)
	if err != nil {
		return err
	}
	end.Written = len(done.Written)
	end.Removed = len(done.Removed)
	for _, f := range done.Failed {
		end.Failed = append(end.Failed, failure(f.Path, f.Err))
	}
	end.Failed = append(end.Failed, restorePreImages(r.Root, end.PreImages)...)
	return nil
}

func failure(path string, err error) string { return fmt.Sprintf("%s: %v", path, err) }

// Resume goes on with a rewind that a crash has cut off, unless a file is
// neither as it was nor as it was to become: then somebody has worked on since.
func (r Rewinder) Resume(ctx context.Context, event session.Rewinding) error {
	if !event.Files {
		return r.apply(ctx, event, "")
	}
	changed, now, err := r.externalChanges(ctx, event)
	if err == nil && len(changed) == 0 {
		return r.apply(ctx, event, now)
	}
	if err == nil {
		err = fmt.Errorf("files have changed since: %s; look at the checkpoints and rewind again",
			strings.Join(changed[:min(len(changed), 5)], ", "))
	}
	end := session.Rewound{Rewinding: event}
	end.Conversation = false
	end.Files = false
	return errors.Join(err, r.Log.Append(ctx, end))
}

// externalChanges lists the files that are neither as a rewind found them nor as
// it leaves them, and the tree that is there.
func (r Rewinder) externalChanges(
	ctx context.Context,
	event session.Rewinding,
) (files []string, now string, err error) {
	if r.Snapshots == nil {
		return nil, "", ErrNotKept
	}
	tree, err := r.Snapshots.Take(ctx)
	if err != nil {
		return nil, "", err
	}
	from, err := r.Snapshots.Diff(ctx, tree.ID, event.From)
	if err != nil {
		return nil, "", err
	}
	to, err := r.Snapshots.Diff(ctx, tree.ID, event.Tree)
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
