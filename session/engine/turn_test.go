package engine

import (
	"fmt"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

func TestWhoListensHearsOfEachTurnAndItsAttempts(t *testing.T) {
	t.Parallel()
	var turns []models.Turn
	inBubble(t, fmt.Sprintf(busy, "60s"), func(r *rig) {
		r.engine = func(o *Options) {
			o.ParkSchedule = parkWaits
			o.TurnEnded = func(turn models.Turn) { turns = append(turns, turn) }
		}
	}, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.wait(id)
		time.Sleep(time.Hour)
		if s := r.wait(id); s.Status != session.Idle {
			t.Fatalf("Status = %s, %v", s.Status, s.Fault)
		}
		last := len(turns) - 1
		if last < 1 || turns[0].Outcome != "parked" || turns[0].Fault == nil || turns[last].Outcome != "done" ||
			!turns[last].TurnBegan.After(turns[0].Ended) {
			t.Fatalf("heard of %+v", turns)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		heard := map[time.Time]int{}
		for _, a := range r.attempts {
			heard[a.TurnBegan]++
		}
		for _, turn := range turns {
			if heard[turn.TurnBegan] == 0 || turn.Session != string(id) || turn.Turn != 1 {
				t.Errorf("%+v has no attempts among %v", turn, heard)
			}
			delete(heard, turn.TurnBegan)
		}
		if len(heard) > 0 {
			t.Errorf("attempts of no turn: %v", heard)
		}
	})
}
