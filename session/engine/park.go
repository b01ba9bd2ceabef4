package engine

import (
	"context"
	"fmt"
	"time"

	"belay/models"
	"belay/models/route"
	"belay/session"
)

// parkSchedule says how long a parked turn waits before it is tried again.
type parkSchedule struct {
	waits   []time.Duration
	maxWait time.Duration  // that a task may be parked in all; 0: no limit
	random  func() float64 // uniform in [0, 1), spreads the waits by a tenth; nil: exact
}

// parkHistory is what a schedule needs to know of a task.
type parkHistory struct {
	count         int           // waits so far, in a row
	userInitiated bool          // the turn that ended was begun, or gone on with, by a person
	parked        time.Duration // in all
}

// next gives a turn that ended parked its next wait. After the last one the turn
// fails: by then it is an outage, and a person decides.
func (p parkSchedule) next(
	now time.Time, end session.TurnEnded, h parkHistory,
) (placed session.TurnEnded, wait time.Duration, outage bool) {
	count := h.count
	if h.userInitiated && count > 0 {
		count-- // a person's own try takes none
	}
	until := end.RetryAt.Sub(now)
	exact := end.Fault != nil && end.Fault.Kind.Policy().Park == models.ParkReset && end.RetryAt.After(now)
	switch {
	case end.UserInitiated:
		end.ParkCount = h.count
		end.RetryAt = time.Time{}
		return end, 0, false
	case exact && (len(p.waits) == 0 || until >= p.waits[0]):
		end.ParkCount = count // once, exactly when the allowance returns, however far that is
	case count >= len(p.waits):
		const reason = "outage: no model has answered through all the tries; everything is kept"
		return giveUp(end, reason), 0, end.Fault != nil
	default:
		end.ParkCount = count + 1
		if at := now.Add(p.wait(count)); !exact && end.RetryAt.Before(at) {
			end.RetryAt = at
		}
	}
	wait = end.RetryAt.Sub(now)
	if p.maxWait > 0 && h.parked+wait > p.maxWait {
		reason := fmt.Sprintf("the limit of waiting is reached (%v of %v, and %v more to wait); everything is kept",
			h.parked.Round(time.Second), p.maxWait, wait.Round(time.Second))
		return giveUp(end, reason), 0, false
	}
	return end, wait, false
}

func (p parkSchedule) wait(count int) time.Duration {
	wait := p.waits[count]
	if p.random != nil {
		wait += time.Duration((p.random() - 0.5) * 0.2 * float64(wait))
	}
	return wait
}

func giveUp(end session.TurnEnded, reason string) session.TurnEnded {
	end.Outcome = session.OutcomeFailed
	end.ParkCount = 0
	end.RetryAt = time.Time{}
	end.Reason = reason
	return end
}

// parkLocked gives a parked turn its place in the schedule.
func (s *openSession) parkLocked(end session.TurnEnded) session.TurnEnded {
	schedule := parkSchedule{waits: s.e.o.ParkSchedule, maxWait: s.e.o.Limits.Wait, random: s.e.o.Random}
	end, wait, outage := schedule.next(s.e.o.Now(), end, parkHistory{
		count: s.state.ParkCount, userInitiated: s.task.trigger != byTimer, parked: s.task.parked,
	})
	s.task.parked += wait
	if outage && s.e.o.Breakers != nil {
		s.e.o.Breakers.SetOutage(context.Background(), end.Fault.Target, true)
	}
	return end
}

// dueTolerance is how early a retry may come: waiting is done on another clock
// than the one that the time was saved with.
const dueTolerance = time.Second

// reasonDue is the resume reason recorded when a scheduled retry fires.
const reasonDue = "its time had come"

// dueLocked reports whether the time of a parked turn has come.
func (s *openSession) dueLocked() bool {
	retry := s.state.RetryAt
	return s.state.Status == session.Parked && !retry.IsZero() && retry.Sub(s.e.o.Now()) < dueTolerance
}

// scheduleLocked lets a parked turn go on when its time has come. A step's
// session is gone on with by the plan.
func (s *openSession) scheduleLocked() {
	unattended := s.e.o.NonInteractive || s.state.PartOf != ""
	if s.timer.set() || s.state.RetryAt.IsZero() || s.closed() || unattended {
		return
	}
	s.resumeAfterLocked(max(s.state.RetryAt.Sub(s.e.o.Now()), time.Second))
}

// parkTimer lets a parked turn go on. The lock of its session guards it.
type parkTimer struct{ timer *time.Timer }

func (t *parkTimer) set() bool { return t.timer != nil }

func (t *parkTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

// resumeAfterLocked resumes the parked turn after a wait. While the store fails
// it tries again: nobody may be there to tell it to.
func (s *openSession) resumeAfterLocked(wait time.Duration) {
	until := s.e.o.Now().Add(wait)
	var timer *time.Timer
	timer = time.AfterFunc(min(wait, route.ParkPoll), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.timer.timer != timer || s.state.Status != session.Parked {
			return
		}
		if s.running != nil { // a summary, a rewind: it goes on after that
			timer.Reset(time.Second)
			return
		}
		if left := route.Left(s.e.o.Now(), until); left > 0 {
			timer.Reset(min(left, route.ParkPoll))
			return
		}
		s.timer.timer = nil
		if err := s.resumeLocked(context.Background(), byTimer, reasonDue); err != nil && !s.lost() {
			s.publishLocked(session.Noted{Text: "the parked turn could not go on: " + err.Error()})
			s.resumeAfterLocked(time.Minute)
		}
	})
	s.timer.timer = timer
}
