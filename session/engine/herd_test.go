package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

// spread is the whole park schedule with its waits spread at random.
func spread(o *Options) {
	var n atomic.Int64
	o.ParkSchedule, o.Random = parkWaits, func() float64 { return float64(n.Add(7)%10) / 10 }
}

// ten is a session and nine more.
func (r *rig) ten(id session.ID) []session.ID {
	r.t.Helper()
	ids := []session.ID{id}
	for range 9 {
		s, err := r.Start(r.t.Context(), r.project)
		if err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, s.ID)
	}
	return ids
}

func TestTenSessionsDuringAnOutageStayWithinTheBudget(t *testing.T) {
	t.Parallel()
	inBubble(t, fmt.Sprintf(busy, "60m"), func(r *rig) { r.engine = spread }, func(t *testing.T, r *rig, id session.ID) {
		ids := r.ten(id)
		var wg sync.WaitGroup
		for _, id := range ids {
			wg.Go(func() { r.send(id, "go") })
		}
		wg.Wait()
		time.Sleep(25 * time.Second)
		retries, switches := 0, 0
		for _, id := range ids {
			if s := r.wait(id); s.Status != session.Parked {
				t.Errorf("Status = %s, %v", s.Status, s.Fault)
			}
		}
		for _, rec := range r.published() {
			switch e := rec.Event.(type) {
			case session.AttemptFailed:
				if e.Next == models.NextRetry {
					retries++
				}
			case session.Switched:
				switches++
			}
		}
		if n := len(r.requests()); retries > 10 || n > 10+retries+switches {
			t.Errorf("%d retries and %d requests, want at most 10 retries", retries, n)
		}
		// From here on each target is tried by one of them at a time.
		began := time.Now()
		time.Sleep(time.Hour)
		r.atMost(6, began)
		for _, id := range ids {
			if s := r.wait(id); s.Status == session.Running || s.Status == session.Parked {
				t.Errorf("Status = %s after an hour", s.Status)
			}
		}
	})
}

func TestTenParkedSessionsAllGoOnAfterAnOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, fmt.Sprintf(busy, "5m"), func(r *rig) { r.engine = spread }, func(t *testing.T, r *rig, id session.ID) {
		ids := r.ten(id)
		for _, id := range ids {
			r.send(id, "go")
		}
		time.Sleep(15 * time.Minute) // the third wait
		for _, id := range ids {
			if s := r.wait(id); s.Status != session.Idle {
				t.Errorf("Status = %s, rung %d, until %v\n%s", s.Status, s.ParkCount, s.RetryAt, r.log(id))
			}
		}
	})
}

func TestTenSessionsFindTheTierThatHasRoom(t *testing.T) {
	t.Parallel()
	inBubble(t, `
[[reply]]
model = "sol"
for = "60m"
fault = { how = "error", code = "server_is_overloaded", message = "full" }
[[reply]]
times = -1
text = "Here."
`, func(r *rig) { r.engine = spread }, func(t *testing.T, r *rig, id session.ID) {
		ids := r.ten(id)
		for _, id := range ids {
			r.send(id, "go")
		}
		time.Sleep(5 * time.Second)
		for _, id := range ids {
			if s, _ := r.Session(id); s.Status != session.Idle || s.Target != terra {
				t.Errorf("Status = %s at %s\n%s", s.Status, s.Target, r.log(id))
			}
		}
	})
}
