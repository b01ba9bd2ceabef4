// Package rewind decides what a session can return to and how it does: it keeps
// checkpoints of the working tree, says what a rewind would undo, puts files and
// conversation back, and completes a rewind that a crash has cut off.
package rewind

import (
	"context"
	"time"

	"belay/session"
	"belay/session/snapshot"
)

// Snapshots keep the working tree of a session's workspace.
type Snapshots interface {
	Take(ctx context.Context) (snapshot.Tree, error)
	Diff(ctx context.Context, from, to string) ([]snapshot.Change, error)
	Patch(ctx context.Context, from, to, path string) (string, error)
	Restore(ctx context.Context, id, expect string) (snapshot.RestoreResult, error)
}

// SnapshotWait is how long the first change of a turn waits for the snapshot of
// what was there before. The first snapshot of a large folder takes longer.
const SnapshotWait = 2 * time.Second

// maxSnapshotTime ends a snapshot that does not end: a strange file can hold git up.
const maxSnapshotTime = 10 * time.Minute

// Log is the session whose checkpoints are kept.
type Log interface {
	State() session.Session
	// Append stores events, all or none, before it publishes them.
	Append(ctx context.Context, events ...session.Event) error
	// Publish shows an event that is not stored.
	Publish(e session.Event)
	// Rewound stores the end of a rewind and makes the conversation anew.
	Rewound(ctx context.Context, e session.Rewound) error
}

// CheckpointOptions are what checkpoints are kept with.
type CheckpointOptions struct {
	Snapshots Snapshots // nil: files are not kept
	Root      string    // the workspace, links resolved
	Log       Log
	// Life ends when the session is closed: then only those snapshots are waited
	// for that somebody could miss.
	Life context.Context
	// Changed reports whether the running turn has changed something.
	Changed func() bool
	// Lost reports whether another program writes the session now.
	Lost func() bool
	Go   func(func()) // starts a goroutine that the owner waits for
}

// Checkpointer keeps the checkpoints of one open session, in the background.
type Checkpointer struct {
	o       CheckpointOptions
	pending *pendingCheckpoints
	warned  chan struct{} // full once the user knows that it takes long
}

// NewCheckpointer returns the Checkpointer of a session.
func NewCheckpointer(o CheckpointOptions) *Checkpointer {
	return &Checkpointer{o: o, pending: &pendingCheckpoints{}, warned: make(chan struct{}, 1)}
}

// KeepFor lets the session of a step keep files for the checkpoints of the
// session whose step it is.
func (c *Checkpointer) KeepFor(parent *Checkpointer) { c.pending = parent.pending }

// Before keeps the working tree as it is before a turn or, with a number, before
// a step. What it returns waits until that is done, but not for longer than
// SnapshotWait; nil: nothing is kept.
func (c *Checkpointer) Before(turn, step int, title string) (ready func(context.Context)) {
	if c.o.Snapshots == nil {
		return nil
	}
	pending := &pendingCheckpoint{turn: turn, step: step, title: title, done: make(chan struct{})}
	c.take(maxSnapshotTime, pending)
	return func(ctx context.Context) { c.wait(ctx, pending) }
}

// After keeps the working tree as a turn leaves it: what a person changes by
// hand afterwards is not the turn's.
func (c *Checkpointer) After(turn int) {
	if c.o.Snapshots != nil {
		c.take(SnapshotWait, &pendingCheckpoint{turn: turn, after: true, done: make(chan struct{})})
	}
}

// Keep keeps what a file holds before an event changes it, for the snapshots
// that should hold it and are still being made.
func (c *Checkpointer) Keep(e session.Event) { c.pending.keep(c.o.Root, e) }

// take takes the snapshot of a checkpoint in the background.
func (c *Checkpointer) take(limit time.Duration, pending *pendingCheckpoint) {
	c.pending.add(pending)
	c.o.Go(func() {
		defer close(pending.done)
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		defer context.AfterFunc(c.o.Life, func() {
			left := time.Duration(0)
			if pending.after || c.o.Changed() {
				left = SnapshotWait
			}
			time.AfterFunc(left, cancel)
		})()
		tree, err := c.o.Snapshots.Take(ctx)
		c.record(pending, tree, err)
	})
}

func (c *Checkpointer) wait(ctx context.Context, pending *pendingCheckpoint) {
	timer := time.NewTimer(SnapshotWait)
	defer timer.Stop()
	select {
	case <-pending.done:
	case <-ctx.Done():
	case <-timer.C:
		select {
		case c.warned <- struct{}{}:
			c.o.Log.Publish(session.Noted{Text: "the files of this folder are being kept for the first time, " +
				"which takes a while; until then a rewind covers the files that belay edits"})
		default:
		}
	}
}

// record stores a checkpoint, also one without its tree if files were kept for
// it by themselves, or if somebody is there to read why.
func (c *Checkpointer) record(pending *pendingCheckpoint, tree snapshot.Tree, err error) {
	preImages := c.pending.remove(pending)
	closed := c.o.Life.Err() != nil
	if c.o.Lost() || err != nil && (pending.after || closed && len(preImages) == 0) {
		return
	}
	event := session.Checkpointed{
		Tree: tree.ID, Turn: pending.turn, Step: pending.step, After: pending.after, Title: pending.title,
		Files: tree.Files, Duration: tree.Duration, PreImages: preImages,
	}
	for _, s := range tree.Skipped {
		event.Skipped = append(event.Skipped, s.Path+" ("+string(s.Reason)+")")
	}
	if err != nil {
		event.Problem = session.WithHint(err)
	}
	if err := c.o.Log.Append(context.WithoutCancel(c.o.Life), event); err != nil {
		c.o.Log.Publish(session.Noted{Text: "a checkpoint could not be saved: " + err.Error()})
	}
}
