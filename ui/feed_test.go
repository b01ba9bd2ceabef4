package ui

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
)

// nextOnly is an engine of which only Next matters.
type nextOnly struct {
	Engine
	next func(ctx context.Context) ([]session.Record, error)
}

func (s nextOnly) Next(ctx context.Context) ([]session.Record, error) { return s.next(ctx) }
func (s nextOnly) Tiers(session.ID) []models.Condition                { return nil }

func TestTheFeedSendsAtThePaceOfAFilm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ready := make(chan Engine, 1)
		ready <- nextOnly{next: func(ctx context.Context) ([]session.Record, error) {
			time.Sleep(2 * time.Millisecond) // 500 deltas a second
			return []session.Record{{Event: session.TextDelta{Text: "x"}}}, ctx.Err()
		}}
		sent, done := 0, make(chan struct{})
		go func() { feed(ctx, ready, func(tea.Msg) { sent++ }); close(done) }()
		time.Sleep(time.Second)
		cancel()
		<-done
		if sent < 20 || sent > 25 {
			t.Errorf("sent %d messages in a second, want about 23 and never more than 25", sent)
		}
	})
}

func TestTheFeedEndsWithItsContextAndTellsOfALostEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { feed(ctx, make(chan Engine), func(tea.Msg) {}); close(done) }()
		cancel()
		<-done

		ready := make(chan Engine, 1)
		ready <- nextOnly{next: func(context.Context) ([]session.Record, error) { return nil, errors.New("gone") }}
		var got tea.Msg
		feed(t.Context(), ready, func(m tea.Msg) { got = m })
		if _, ok := got.(feedLostMsg); !ok {
			t.Errorf("got %T, want feedLostMsg", got)
		}
	})
}
