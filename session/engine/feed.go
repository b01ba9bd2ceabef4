package engine

import (
	"context"
	"errors"
	"sync"

	"belay/session"
)

// feed hands records from the running turns to whoever shows them. It never
// blocks a turn: what is not fetched is kept, pieces of text joined.
type feed struct {
	mu      sync.Mutex
	records []session.Record
	some    chan struct{}
	closed  bool
}

func newFeed() *feed { return &feed{some: make(chan struct{}, 1)} }

// errFeedClosed ends Next when the engine is closed.
var errFeedClosed = errors.New("the engine is closed")

// mostOutput bounds a running command's output between two fetches: a person
// sees its end, and all of it once the command is done.
const mostOutput = 64 << 10

// mostJoined bounds the pieces that are joined, so that joining stays linear
// when nobody fetches for a while.
const mostJoined = 8 << 10

func (f *feed) put(records ...session.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	for _, r := range records {
		if n := len(f.records); n == 0 || !join(&f.records[n-1], r) {
			f.records = append(f.records, r)
		}
	}
	select {
	case f.some <- struct{}{}:
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
		if l, ok := last.Event.(session.TextDelta); ok && len(l.Text) < mostJoined {
			last.Event = session.TextDelta{Text: l.Text + e.Text}
			return true
		}
	case session.ReasoningDelta:
		if l, ok := last.Event.(session.ReasoningDelta); ok && len(l.Text) < mostJoined {
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
			if len(text) > mostOutput {
				text = text[len(text)-mostOutput:]
			}
			last.Event = session.ToolOutput{CallID: e.CallID, Text: text}
			return true
		}
	}
	return false
}

func (f *feed) next(ctx context.Context) ([]session.Record, error) {
	for {
		f.mu.Lock()
		records, closed := f.records, f.closed
		f.records = nil
		f.mu.Unlock()
		if len(records) > 0 {
			return records, nil
		}
		if closed {
			return nil, errFeedClosed
		}
		select {
		case <-f.some:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	select {
	case f.some <- struct{}{}:
	default:
	}
}
