package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
)

// feedMsg brings records to the screen; this file is the only place where an
// event becomes a message.
type feedMsg struct{ records []session.Record }

// feedLostMsg says that the engine gives no more.
type feedLostMsg struct{ err error }

// frameTime is the shortest time between two messages: the screen draws once for
// each, and words that come at the pace of a film flow. Meanwhile the engine joins
// what arrives. What a person does waits for none of this.
const frameTime = time.Second / 24

// feed carries records from the engine to the screen until the context ends.
// It waits for the engine first, which is opened after the first frame. Send
// may block when the terminal stops reading; then nothing but this waits.
func feed(ctx context.Context, ready <-chan Engine, send func(tea.Msg)) {
	var engine Engine
	select {
	case engine = <-ready:
	case <-ctx.Done():
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		records, err := engine.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			send(feedLostMsg{err})
			return
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		timer.Reset(frameTime)
		if len(records) > 0 {
			send(feedMsg{records})
		}
	}
}
