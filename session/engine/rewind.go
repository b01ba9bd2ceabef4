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
	if s := e.openSession(id); s != nil {
		preview, err = s.rewinder().Preview(ctx, to)
	}
	if err != nil {
		return preview, fmt.Errorf("preview a rewind of session %s: %w", id, err)
	}
	return preview, nil
}

func (s *openSession) rewinder() rewind.Rewinder {
	return rewind.Rewinder{Store: s.e.o.Store, Session: s.id, Root: s.root, Snapshots: s.snapshots, Log: s}
}

// Rewound stores the end of a rewind and makes the conversation anew.
func (s *openSession) Rewound(ctx context.Context, e session.Rewound) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.appendLocked(ctx, e); err != nil {
		return err
	}
	if e.Conversation {
		s.timer.stop()
	}
	s.task.rewound()
	conversation, err := request.ReadConversation(ctx, s.e.o.Store, s.state)
	if err != nil {
		return err // what there was is more than what could be read
	}
	s.conversation = conversation
	return s.tools.Focus(s.state.Focus)
}
