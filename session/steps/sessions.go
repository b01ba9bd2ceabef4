package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"belay/models"
	"belay/session"
)

// Turn is a turn in the session of a step that is to be run. Words of the same
// key are sent once: the second time the turn goes on where it is, or is over
// already.
type Turn struct {
	Prompt session.Prompt // its id is the key
	Step   session.Step   // whose limits it keeps to
	Mode   session.Mode   // of the session that holds the plan

	Number int  // of the turn that was run for the key before; 0: none was
	Tries  int  // how many times one was started
	Done   bool // the last one is done
}

// TurnResult is what came of a turn, as the session of the step holds it.
type TurnResult struct {
	Number       int // of the turn
	State        session.Session
	Conversation session.Conversation
	Unsaved      *session.TurnEnded // an end that could not be stored; nil: it was
}

// result is what a step needs of a TurnResult.
type result struct {
	state  session.Session
	end    session.TurnEnded
	answer string // the model's last words
	calls  int    // of tools, in the whole session
}

// createSession makes the session of a step, in the state that the plan's is in.
// Number 0 is the planning.
func (o Options) createSession(ctx context.Context, number int, step session.Step) (session.ID, error) {
	parent := o.Log.State()
	o.closeFinished(ctx, parent.Plan)
	tier := step.Tier
	if tier == "" {
		tier = parent.Tier
	}
	child, err := o.Store.Create(ctx, session.Created{
		Project: parent.Project, Folder: parent.Folder, Tier: tier, Mode: parent.Mode,
		Parent: parent.ID, PartOf: parent.ID, Step: number,
	})
	if err != nil {
		return "", err
	}
	title := fmt.Sprintf("step %d: %s", number, step.Title)
	if number == 0 {
		title = "the plan: " + parent.Title
	}
	events := []session.Event{session.Renamed{Title: title}}
	if parent.PinnedTarget != (models.Target{}) && step.Tier == "" {
		events = append(events, session.TargetPinned{Target: parent.PinnedTarget})
	}
	if parent.Effort != "" {
		events = append(events, session.EffortChosen{Effort: parent.Effort})
	}
	if len(parent.Focus) > 0 {
		events = append(events, session.Focused{Paths: parent.Focus})
	}
	for _, note := range parent.PinnedNotes {
		events = append(events, session.NotePinned{Text: note})
	}
	_, _, err = o.Store.Append(ctx, child.ID, 0, events...)
	return child.ID, err
}

// closeFinished closes the sessions of steps that are over: each holds its
// conversation and its place as the only writer.
func (o Options) closeFinished(ctx context.Context, plan *session.Plan) {
	if plan == nil {
		return
	}
	ids := []session.ID{plan.Planning}
	for _, s := range plan.Steps {
		if s.Finished() {
			ids = append(ids, s.Session)
		}
	}
	o.Runner.Close(ctx, ids)
}

// runTurn lets the session of a step go on until its turn is over.
func (o Options) runTurn(ctx context.Context, id session.ID, key, text string) (result, error) {
	if err := o.Runner.Open(context.WithoutCancel(ctx), id); err != nil {
		return result{}, err
	}
	known, err := o.Store.EventsOfType(ctx, id, "turn.started", "turn.ended")
	if err != nil {
		return result{}, err
	}
	turn := findTurn(known, key)
	if len(known) == 0 { // once: it stays in the conversation
		if turn.Prompt, err = o.attachments(ctx); err != nil {
			return result{}, err
		}
	}
	state := o.Log.State()
	turn.Prompt.ID = key
	turn.Prompt.Text = text
	turn.Mode = state.Mode
	turn.Step = stepOf(state.Plan, id)
	done, err := o.Runner.RunTurn(ctx, id, turn)
	if err != nil {
		return result{}, err
	}
	records, err := o.Store.EventsOfType(context.WithoutCancel(ctx), id, "turn.ended", "tool.started")
	if err != nil {
		return result{}, err
	}
	return resultOf(done, records), nil
}

// findTurn finds the last turn that was started for a key. A person may have
// spoken in the session since.
func findTurn(records []session.Record, key string) Turn {
	var t Turn
	for _, r := range records {
		switch e := r.Event.(type) {
		case session.TurnStarted:
			if e.Prompt.ID == key || strings.HasPrefix(e.Prompt.ID, key+"+") {
				t.Number = r.Turn
				t.Tries++
				t.Done = false
			}
		case session.TurnEnded:
			if r.Turn == t.Number {
				t.Done = e.Outcome == session.OutcomeDone
			}
		}
	}
	return t
}

// resultOf says what came of a turn.
func resultOf(t TurnResult, records []session.Record) result {
	out := result{state: t.State}
	for _, r := range records {
		switch e := r.Event.(type) {
		case session.TurnEnded:
			if r.Turn == t.Number {
				out.end = e
			}
		case session.ToolStarted:
			out.calls++
		}
	}
	if t.Unsaved != nil {
		out.end = *t.Unsaved
	}
	if t.State.Status == session.Asking { // closed while it asked: it asks again
		out.end = session.TurnEnded{Outcome: session.OutcomeStopped, Interrupted: true}
	}
	for _, p := range slices.Backward(t.Conversation.Pieces()) {
		if p.Turn <= t.Number && p.Item.Kind == models.Message && p.Item.Role == models.Assistant {
			out.answer = p.Item.Text
			break
		}
	}
	return out
}

// turnEnd says how a turn in a step's session ends the plan's; nil: it is done.
func turnEnd(ctx context.Context, name string, r result) *session.TurnEnded {
	if ctx.Err() != nil {
		end := stopped(ctx)
		return &end
	}
	if r.end.Outcome == session.OutcomeDone {
		return nil
	}
	end := r.end
	if end.Reason != "" {
		end.Reason = name + ": " + end.Reason
	}
	return &end
}

// attachments are what came along with the words of the task, for each step as
// well.
func (o Options) attachments(ctx context.Context) (session.Prompt, error) {
	state := o.Log.State()
	records, err := o.Store.EventsOfType(ctx, state.ID, "turn.started")
	if err != nil || state.Plan == nil {
		return session.Prompt{}, err
	}
	for _, r := range slices.Backward(records) {
		e, ok := r.Event.(session.TurnStarted)
		attached := ok && len(e.Prompt.Attachments)+len(e.Prompt.Images) > 0
		if attached && e.RunsPlan && e.Prompt.Text == state.Plan.Task {
			return session.Prompt{Attachments: e.Prompt.Attachments, Images: e.Prompt.Images}, nil
		}
	}
	return session.Prompt{}, nil
}

// stepOf is the step that a session carries out.
func stepOf(plan *session.Plan, id session.ID) session.Step {
	if plan != nil {
		for _, s := range plan.Steps {
			if s.Session == id {
				return s
			}
		}
	}
	return session.Step{}
}
