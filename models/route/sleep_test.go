package route

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestASleepEndsWhenTheComputerWakesAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		now := func() time.Time {
			wall := time.Now().Round(0)
			if time.Since(began) >= 40*time.Second { // suspended for a day
				wall = wall.Add(24 * time.Hour)
			}
			return wall
		}
		if err := SleepUntil(t.Context(), now, now().Add(10*time.Hour), ParkPoll); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("took %v of waking time", took)
		}
	})
}
