package engine

import (
	"context"
	"errors"
	"sync"

	"belay/session"
)

// eventQueue hands records from the running turns to what shows them. It never
// blocks a turn: what is not fetched is kept, pieces of text joined.
type eventQueue struct {
	mu      sync.Mutex
	records []session.Record
	arrived chan struct{}
	closed  bool
}

func newEventQueue() *eventQueue { return &eventQueue{arrived: make(chan struct{}, 1)} }

// errClosed ends Next when the engine is closed.
var errClosed = errors.New("the engine is closed")

// maxOutput bounds a running command's output between two fetches: a person
// sees its end, and all of it once the command is done.
const maxOutput = 64 << 10

// maxJoined bounds the pieces that are joined, so that joining stays linear
// when nobody fetches for a while.
const maxJoined = 8 << 10

func (q *eventQueue) put(records ...session.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	for _, r := range records {
		if n := len(q.records); n == 0 || !join(&q.records[n-1], r) {
			q.records = append(q.records, r)
		}
	}
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// join adds a piece to the record before it, if both are pieces of the same.
func join(last *session.Record, r session.Record) bool {
	if last.Session != r.Session || last.Turn != r.Turn {
		return false
	}
	switch e := r.Event.(type) {
	case session.TextDelta:
		if l, ok := last.Event.(session.TextDelta); ok && len(l.Text) < maxJoined {
			last.Event = session.TextDelta{Text: l.Text + e.Text}
			return true
		}
	case session.ReasoningDelta:
		if l, ok := last.Event.(session.ReasoningDelta); ok && len(l.Text) < maxJoined {
			last.Event = session.ReasoningDelta{Text: l.Text + e.Text}
			return true
		}
	case session.CallDelta:
		if l, ok := last.Event.(session.CallDelta); ok && (l.CallID == e.CallID || e.CallID == "") {
			l.Bytes = e.Bytes
			if e.Name != "" {
				l.Name = e.Name
			}
			last.Event = l
			return true
		}
	case session.ToolOutput:
		if l, ok := last.Event.(session.ToolOutput); ok && l.CallID == e.CallID {
			text := l.Text + e.Text
			if len(text) > maxOutput {
				text = text[len(text)-maxOutput:]
			}
			last.Event = session.ToolOutput{CallID: e.CallID, Text: text}
			return true
		}
	}
	return false
}

func (q *eventQueue) next(ctx context.Context) ([]session.Record, error) {
	for {
		q.mu.Lock()
		records, closed := q.records, q.closed
		q.records = nil
		q.mu.Unlock()
		if len(records) > 0 {
			return records, nil
		}
		if closed {
			return nil, errClosed
		}
		select {
		case <-q.arrived:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}
