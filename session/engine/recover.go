package engine

import (
	"context"
	"fmt"
	"time"

	"belay/session"
	"belay/session/tools"
)

// recover brings in order what a program left behind that ended in mid-turn.
// Nothing is run here: what is known becomes events, what is not known waits
// for the turn to go on.
func (a *active) recover(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unknown = map[string]session.Effect{}
	for _, effect := range a.head.Effects {
		if err := a.judge(ctx, effect); err != nil {
			return err
		}
	}
	if a.head.Status != session.Running {
		return nil
	}
	var events []session.Event
	draft, found, err := a.e.o.Store.Draft(ctx, a.id)
	if err != nil {
		return err
	}
	if found && draft.Turn == a.head.Turn && (draft.Text != "" || draft.Reasoning != "" || draft.Call != "") {
		events = append(events, session.CutOff{Text: draft.Text, Reasoning: draft.Reasoning, Call: draft.Call})
	}
	events = append(events, session.TurnEnded{Outcome: session.OutcomeStopped, Interrupted: true, Reason: "belay ended in the middle of this turn"})
	return a.append(ctx, events...)
}

// judge settles an effect that had begun when the program ended. A file tells
// by its hash whether it was written; a command can tell nothing.
func (a *active) judge(ctx context.Context, e session.Effect) error {
	switch e.Class {
	case session.Run:
		a.unknown[e.CallID] = e
	case session.Write:
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
	return nil // a read, or a write that did not happen: it runs when the turn goes on
}

// settle starts what a freshly opened session has to do by itself: ask again
// what was asked, and wait for what is parked.
func (a *active) settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.head.Status == session.Asking && !a.e.o.Alone:
		a.launch()
	case a.head.Status == session.Parked:
		a.schedule()
	}
}

// climb gives a parked turn its place on the ladder. After the last rung the
// turn stops: by then it is an outage, and a person decides.
func (a *active) climb(end session.TurnEnded) session.TurnEnded {
	ladder := a.e.o.Ladder
	rung := a.head.Rung
	if rung >= len(ladder) {
		end.Outcome, end.Rung = session.OutcomeFailed, 0
		end.Reason = "outage: no model has answered through all the tries; everything is kept"
		return end
	}
	end.Rung = rung + 1
	if at := a.e.o.Now().Add(ladder[rung]); end.Retry.Before(at) {
		end.Retry = at
	}
	return end
}

// schedule lets a parked turn go on when its time has come. a.mu is held.
func (a *active) schedule() {
	if a.timer != nil || a.head.Retry.IsZero() || a.e.o.Alone {
		return
	}
	rest := max(a.head.Retry.Sub(a.e.o.Now()), time.Second)
	a.timer = time.AfterFunc(rest, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.timer == nil || a.cancel != nil || a.head.Status != session.Parked {
			return
		}
		a.timer = nil
		_ = a.resume(context.Background(), "its time had come") // a store that fails shows at the next command
	})
}
