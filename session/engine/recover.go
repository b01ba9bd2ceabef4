package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/tools"
)

// recover brings in order what a program left behind that ended in mid-turn.
// Nothing is run here: what is known becomes events, what is not known waits
// for the turn to go on.
func (a *openSession) recover(ctx context.Context) error {
	if e := a.head.PendingRewind; e != nil {
		// What fails is told, and does not keep the session shut.
		if err := a.complete(ctx, *e); err != nil {
			a.Publish(session.Noted{Text: "the rewind that was under way could not be completed: " + err.Error() + hint(err)})
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.review(ctx); err != nil {
		return err
	}
	switch {
	case a.head.Status == session.Asking && a.e.o.NonInteractive:
		return a.append(ctx, session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: "approval needed for " + a.head.PendingApprovals[0].Tool + ": " + a.head.PendingApprovals[0].Title})
	case a.head.Status != session.Running:
		return nil
	}
	var events []session.Event
	draft, found, err := a.e.o.Store.Draft(ctx, a.id)
	if err != nil {
		return err
	}
	if found && draft.Turn == a.head.Turn && (draft.Text != "" || draft.Reasoning != "" || draft.Call != "") {
		events = append(events, session.CutOff{Text: draft.Text, Reasoning: draft.Reasoning, Tool: draft.Call})
	}
	if found && slices.ContainsFunc(a.head.OpenEffects, func(e session.Effect) bool { return e.CallID == draft.CallID }) {
		events = append(events, session.EffectInterrupted{CallID: draft.CallID, Output: draft.Output, PID: draft.PID})
		if tools.ProcessGroupAlive(draft.PID) {
			events = append(events, session.Noted{Text: fmt.Sprintf("a command of the turn that was cut off still runs: process group %d; to end it: kill -- -%d", draft.PID, draft.PID)})
		}
	}
	events = append(events, session.TurnEnded{Outcome: session.OutcomeStopped, Interrupted: true, Reason: "belay ended in the middle of this turn"})
	return a.append(ctx, events...)
}

// review settles what began and did not end, as far as that can be told. a.mu
// is held, and no turn runs.
func (a *openSession) review(ctx context.Context) error {
	for _, effect := range a.head.OpenEffects {
		if err := a.judge(ctx, effect); err != nil {
			return err
		}
	}
	return nil
}

// judge settles an effect that had begun when the program ended. A file tells
// by its hash whether it was written; a command can tell nothing.
func (a *openSession) judge(ctx context.Context, e session.Effect) error {
	if e.Class == session.Write {
		if err := tools.Sweep(e.Path); err != nil {
			a.show(session.Noted{Text: err.Error()})
		}
		now, err := tools.FileHash(e.Path)
		if err != nil || (now != e.Before && now != e.After) {
			// Somebody else changed it, or it cannot be read: the tool itself
			// refuses stale edits, so the model has to look.
			return a.append(ctx, session.ToolEnded{CallID: e.CallID, Tool: e.Tool, Title: e.Title, Unknown: true, Summary: "outcome unknown",
				Output: fmt.Sprintf("Interrupted, outcome unknown: %s is neither as it was nor as it should have become. Read it before you go on.", e.Title)})
		}
		if now == e.After {
			return a.append(ctx, session.ToolEnded{CallID: e.CallID, Tool: e.Tool, Title: e.Title, Summary: "done before the interruption",
				Output: fmt.Sprintf("%s was changed as asked, just before an interruption.", e.Title)})
		}
	}
	return nil // it is settled when the turn goes on
}

// settle starts what a freshly opened session has to do by itself: ask again
// what was asked, and wait for what is parked.
func (a *openSession) settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
	case a.head.PartOf != "": // the plan lets it go on
	case a.head.Status == session.Asking && !a.e.o.NonInteractive:
		a.launch()
	case a.head.Status == session.Parked:
		a.schedule()
	}
}

// climb gives a parked turn its place on the ladder. After the last rung the
// turn stops: by then it is an outage, and a person decides.
func (a *openSession) climb(end session.TurnEnded) session.TurnEnded {
	ladder, now := a.e.o.ParkSchedule, a.e.o.Now()
	rung := a.head.ParkCount
	if a.byHand && rung > 0 {
		rung-- // a person's own try takes none
	}
	end.ParkCount = rung
	exact := end.Fault != nil && end.Fault.Kind.Policy().Park == models.ParkReset && end.RetryAt.After(now)
	switch {
	case end.UserInitiated:
		end.ParkCount, end.RetryAt = a.head.ParkCount, time.Time{}
		return end
	case exact && (len(ladder) == 0 || end.RetryAt.Sub(now) >= ladder[0]):
		// Once, exactly when the allowance returns, however far that is.
	case rung >= len(ladder):
		end.Outcome, end.ParkCount, end.RetryAt = session.OutcomeFailed, 0, time.Time{}
		end.Reason = "outage: no model has answered through all the tries; everything is kept"
		if end.Fault != nil && a.e.o.Breakers != nil {
			a.e.o.Breakers.SetOutage(context.Background(), end.Fault.Target, true)
		}
		return end
	default:
		end.ParkCount = rung + 1
		rest := ladder[rung]
		if a.e.o.Random != nil {
			rest += time.Duration((a.e.o.Random() - 0.5) * 0.2 * float64(rest))
		}
		if at := now.Add(rest); !exact && end.RetryAt.Before(at) {
			end.RetryAt = at
		}
	}
	rest := end.RetryAt.Sub(now)
	if most := a.e.o.Limits.Wait; most > 0 && a.parked+rest > most {
		end.Outcome, end.ParkCount, end.RetryAt = session.OutcomeFailed, 0, time.Time{}
		end.Reason = fmt.Sprintf("the limit of waiting is reached (%v of %v, and %v more to wait); everything is kept", a.parked.Round(time.Second), most, rest.Round(time.Second))
		return end
	}
	a.parked += rest
	return end
}

// schedule lets a parked turn go on when its time has come. a.mu is held.
func (a *openSession) schedule() {
	if a.timer != nil || a.head.RetryAt.IsZero() || a.e.o.NonInteractive || a.closed || a.head.PartOf != "" {
		return
	}
	a.goOn(max(a.head.RetryAt.Sub(a.e.o.Now()), time.Second))
}

// nap is how often a parked turn compares the wall clock: in a suspended
// computer the timer stands still, and its time may have come.
const nap = 30 * time.Second

// goOn resumes the parked turn after a rest. While the store fails it tries
// again: nobody may be there to tell it to.
func (a *openSession) goOn(rest time.Duration) {
	until := a.e.o.Now().Add(rest)
	var timer *time.Timer
	timer = time.AfterFunc(min(rest, nap), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.timer != timer || a.head.Status != session.Parked {
			return
		}
		if a.cancel != nil { // a summary, a rewind: it goes on after that
			timer.Reset(time.Second)
			return
		}
		now := a.e.o.Now()
		if left := min(until.Sub(now), until.Round(0).Sub(now.Round(0))); left > 0 {
			timer.Reset(min(left, nap))
			return
		}
		a.timer = nil
		a.rung = true
		if err := a.resume(context.Background(), timely); err != nil && !a.lost() {
			a.show(session.Noted{Text: "the parked turn could not go on: " + err.Error()})
			a.goOn(time.Minute)
		}
	})
	a.timer = timer
}
