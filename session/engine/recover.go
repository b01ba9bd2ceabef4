package engine

import (
	"context"
	"fmt"
	"slices"

	"belay/session"
	"belay/session/files"
	"belay/session/tools"
)

// recover brings in order what a program left behind that ended in mid-turn.
// Nothing is run here: what is known becomes events, what is not known waits
// for the turn to go on.
func (s *openSession) recover(ctx context.Context) error {
	if e := s.state.PendingRewind; e != nil {
		// What fails is told, and does not keep the session shut.
		if err := s.rewinder().Resume(ctx, *e); err != nil {
			text := "the rewind that was under way could not be completed: " + session.WithHint(err)
			s.Publish(session.Noted{Text: text})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.settleEffectsLocked(ctx); err != nil {
		return err
	}
	switch {
	case s.state.Status == session.Asking && s.e.o.NonInteractive:
		asked := s.state.PendingApprovals[0]
		reason := "approval needed for " + asked.Tool + ": " + asked.Title
		return s.appendLocked(ctx, session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: reason})
	case s.state.Status != session.Running:
		return nil
	}
	draft, found, err := s.e.o.Store.Draft(ctx, s.id)
	if err != nil {
		return err
	}
	var events []session.Event
	if found {
		events = draftEvents(s.state, draft)
	}
	return s.appendLocked(ctx, append(events, session.TurnEnded{
		Outcome: session.OutcomeStopped, Interrupted: true, Reason: "belay ended in the middle of this turn",
	})...)
}

// draftEvents keep what the program that ended had saved last: the words of the
// model, and what is known of a command.
func draftEvents(s session.Session, d session.Draft) []session.Event {
	var events []session.Event
	if d.Turn == s.Turn && (d.Text != "" || d.Reasoning != "" || d.Call != "") {
		events = append(events, session.CutOff{Text: d.Text, Reasoning: d.Reasoning, Tool: d.Call})
	}
	if !slices.ContainsFunc(s.OpenEffects, func(e session.Effect) bool { return e.CallID == d.CallID }) {
		return events
	}
	events = append(events, session.EffectInterrupted{CallID: d.CallID, Output: d.Output, PID: d.PID})
	if tools.ProcessGroupAlive(d.PID) {
		events = append(events, session.Noted{Text: fmt.Sprintf("a command of the turn that was cut off still runs: "+
			"process group %d; to end it: kill -- -%d", d.PID, d.PID)})
	}
	return events
}

// settleEffectsLocked settles what began and did not end, as far as that can be
// told. No turn runs.
func (s *openSession) settleEffectsLocked(ctx context.Context) error {
	for _, effect := range s.state.OpenEffects {
		if effect.Class != session.Write {
			continue // it is settled when the turn goes on: a command can tell nothing
		}
		if err := files.Sweep(effect.Path); err != nil {
			s.publishLocked(session.Noted{Text: err.Error()})
		}
		restored, err := s.tools.RestoreUnfinished(effect.Path, effect.Before)
		if err != nil {
			s.publishLocked(session.Noted{Text: err.Error()})
		}
		if restored {
			note := effect.Title + " was being written when belay ended: what it held before is back"
			if err := s.appendLocked(ctx, session.Noted{Text: note}); err != nil {
				return err
			}
		}
		hash, err := tools.FileHash(effect.Path)
		if end, known := outcomeOf(effect, hash, err == nil); known {
			if err := s.appendLocked(ctx, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// outcomeOf tells by the hash of its file what came of a write that had begun
// when the program ended. One that was not done is run again.
func outcomeOf(e session.Effect, hash string, readable bool) (end session.ToolEnded, known bool) {
	end = session.ToolEnded{CallID: e.CallID, Tool: e.Tool, Title: e.Title}
	switch {
	case !readable || hash != e.Before && hash != e.After:
		// Somebody else changed it, or it cannot be read: the tool itself
		// refuses stale edits, so the model has to look.
		end.Unknown = true
		end.Summary = "outcome unknown"
		end.Output = fmt.Sprintf("Interrupted, outcome unknown: %s is neither as it was nor as it should have become. "+
			"Read it before you go on.", e.Title)
	case hash == e.After:
		end.Summary = "done before the interruption"
		end.Output = e.Title + " was changed as asked, just before an interruption."
	default:
		return end, false
	}
	return end, true
}

// settle starts what a freshly opened session has to do by itself: ask again
// what was asked, and wait for what is parked.
func (s *openSession) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed():
	case s.state.PartOf != "": // the plan lets it go on
	case s.state.Status == session.Asking && !s.e.o.NonInteractive:
		s.launchLocked(byPrompt)
	case s.state.Status == session.Parked:
		s.scheduleLocked()
	}
}
