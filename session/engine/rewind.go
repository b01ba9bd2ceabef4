package engine

import (
	"context"
	"fmt"

	"belay/session"
	"belay/session/request"
	"belay/session/rewind"
)

// Checkpoints lists the places that a session can return to, oldest first. The
// session need not be open.
func (e *Engine) Checkpoints(ctx context.Context, id session.ID) ([]session.Checkpoint, error) {
	return rewind.List(ctx, e.o.Store, id)
}

// Preview says what a rewind to a checkpoint would do. The session must be open.
func (e *Engine) Preview(ctx context.Context, id session.ID, to int64) (session.Preview, error) {
	err := ErrNotOpen
	var preview session.Preview
	if a := e.openSession(id); a != nil {
		preview, err = a.rewinder().Preview(ctx, to)
	}
	if err != nil {
		return preview, fmt.Errorf("preview a rewind of session %s: %w", id, err)
	}
	return preview, nil
}

func (a *openSession) rewinder() rewind.Rewinder {
	return rewind.Rewinder{Store: a.e.o.Store, Session: a.id, Root: a.root, Snapshots: a.snapshots, Log: a}
}

// Rewound stores the end of a rewind and makes the conversation anew.
func (a *openSession) Rewound(ctx context.Context, e session.Rewound) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.appendLocked(ctx, e); err != nil {
		return err
	}
	if e.Conversation {
		a.timer.stop()
	}
	a.task.rewound()
	tail, err := request.ReadTail(ctx, a.e.o.Store, a.state)
	if err != nil {
		return err
	}
	a.conversation = tail.Conversation(a.state)
	return a.tools.Focus(a.state.Focus)
}
