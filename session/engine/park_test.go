package engine

import (
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

func TestThePlaceOfAParkedTurnInTheSchedule(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	schedule := parkSchedule{waits: []time.Duration{30 * time.Second, 2 * time.Minute}, maxWait: time.Hour}
	full := &models.Fault{Kind: models.KindCapacity}
	usedUp := &models.Fault{Kind: models.KindUsage}
	for _, tt := range []struct {
		name    string
		end     session.TurnEnded
		history parkHistory
		wait    time.Duration
		count   int
		reason  string // of the failure; empty: it stays parked
		outage  bool
	}{
		{name: "the first wait", end: session.TurnEnded{Fault: full}, wait: 30 * time.Second, count: 1},
		{name: "the second wait", end: session.TurnEnded{Fault: full}, history: parkHistory{count: 1},
			wait: 2 * time.Minute, count: 2},
		{name: "a person's own try takes none", end: session.TurnEnded{Fault: full},
			history: parkHistory{count: 1, userInitiated: true}, wait: 30 * time.Second, count: 1},
		{name: "a later time that was stated", end: session.TurnEnded{Fault: full, RetryAt: now.Add(time.Minute)},
			wait: time.Minute, count: 1},
		{name: "exactly when the allowance returns",
			end:     session.TurnEnded{Fault: usedUp, RetryAt: now.Add(50 * time.Minute)},
			history: parkHistory{count: 1}, wait: 50 * time.Minute, count: 1},
		{name: "parked by the user", end: session.TurnEnded{UserInitiated: true, RetryAt: now.Add(time.Minute)},
			history: parkHistory{count: 1}, count: 1},
		{name: "an outage after the last wait", end: session.TurnEnded{Fault: full}, history: parkHistory{count: 2},
			reason: "outage", outage: true},
		{name: "the limit of waiting", end: session.TurnEnded{Fault: full},
			history: parkHistory{parked: time.Hour}, reason: "the limit of waiting is reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.end.Outcome = session.OutcomeParked
			got, wait, outage := schedule.next(now, tt.end, tt.history)
			want := session.OutcomeParked
			if tt.reason != "" {
				want = session.OutcomeFailed
			}
			if got.Outcome != want || got.ParkCount != tt.count || !strings.HasPrefix(got.Reason, tt.reason) {
				t.Errorf("next = %+v, want %s, wait %d: %s", got, want, tt.count, tt.reason)
			}
			if wait != tt.wait || outage != tt.outage || wait > 0 && !got.RetryAt.Equal(now.Add(wait)) {
				t.Errorf("it waits %v until %v, outage %v; want %v, %v", wait, got.RetryAt, outage, tt.wait, tt.outage)
			}
		})
	}
}
