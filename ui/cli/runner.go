package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"belay/context/tokens"
	"belay/models"
	"belay/models/answer"
	"belay/models/route"
	"belay/session"
	"belay/session/engine"
	"belay/session/request"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

// sessionRunner follows one session until there is nothing more to wait for.
type sessionRunner struct {
	cli           CLI
	flags         runFlags
	app           *app.App
	out           plain.Writer
	turn          plain.Turn
	id            session.ID
	plan          []session.Step             // a plan to carry out
	steps         map[session.ID]*plain.Turn // the sessions of its steps
	parked        time.Duration              // how long it has been parked
	lastSeqBefore int64                      // the last event of what came before this run
	lateRecords   []session.Record           // that came when the end was told already
	end           session.Record             // of the last turn
	schema        *answer.Schema             // that the answer must fit; nil: it is free text
	file          *answerFile                // that the answer is written to; nil: none
}

func (r *sessionRunner) run(
	ctx context.Context,
	options app.Options,
	id session.ID,
	prompt session.Prompt,
) (int, error) {
	var err error
	var state session.Session
	if id == "" {
		state, err = r.app.Engine.Start(ctx, options.Project)
	} else {
		state, err = r.app.Engine.Open(ctx, id, false)
	}
	if err != nil {
		return 0, err
	}
	r.id = state.ID
	if err := r.prepare(ctx, options, state); err != nil {
		return 0, err
	}
	if err := r.form(state, &prompt); err != nil {
		return 0, err
	}
	var command session.Command = session.Resume{}
	if prompt.Text != "" {
		prompt.ID = r.cli.NewID()
		command = session.Send{Prompt: prompt}
		if r.flags.steps || len(r.plan) > 0 {
			command = session.PlanTask{Prompt: prompt, Steps: r.plan, Template: r.flags.template, Start: true}
		}
		if state.Status == session.Parked {
			// The new prompt is what the person wants now.
			if err := r.app.Engine.Do(ctx, r.id, session.Stop{}); err != nil {
				return 0, err
			}
		}
	}
	if state, err = r.app.Engine.Wait(ctx, r.id); err != nil {
		return 0, err
	}
	r.lastSeqBefore = state.LastSeq
	r.noteSteps(state)
	r.hints(ctx, prompt)
	r.noteUnpriced()
	if err := r.app.Engine.Do(ctx, r.id, command); errors.Is(err, engine.ErrNothing) {
		answered, err := r.printAgain(ctx, state)
		if err != nil {
			return 0, err
		}
		if answered {
			if code, again, err := r.deliver(ctx, state); !again || err != nil {
				return code, err
			}
			return r.follow(ctx)
		}
		see := fmt.Sprintf("belay sessions show %s, to read it; to say more: belay run -r %s \"…\"", r.id, r.id)
		return 0, &exit.UsageError{Err: engine.ErrNothing, See: see}
	} else if err != nil {
		return 0, err
	}
	return r.follow(ctx)
}

// printAgain prints the end of a turn that is done already, as the run printed
// it that carried it out: a pipeline may repeat what it is not sure of. It
// reports whether there is such a turn.
func (r *sessionRunner) printAgain(ctx context.Context, state session.Session) (bool, error) {
	if state.Status != session.Idle {
		return false, nil
	}
	tail, err := request.Tail(ctx, r.app.Store, state)
	if err != nil {
		return false, err
	}
	err = tail.Each(ctx, func(record session.Record) {
		r.turn.Add(record)
		switch e := record.Event.(type) {
		case session.TurnEnded:
			r.end = record
		case session.StepMoved:
			if e.Step.State == session.StepDone { // whose replies are in the log of another session
				r.turn.Usage, r.turn.Cost = r.turn.Usage.Add(e.Step.Usage), r.turn.Cost+e.Step.Cost
			}
		}
	})
	if err != nil {
		return false, err
	}
	if end, ok := r.end.Event.(session.TurnEnded); !ok || end.Outcome != session.OutcomeDone {
		return false, nil
	}
	r.turn.Formed = r.schema != nil
	r.out.Record(r.end, &r.turn)
	return true, nil
}

// hints says before the request goes out what makes it heavy.
func (r *sessionRunner) hints(ctx context.Context, prompt session.Prompt) {
	usage, err := r.app.Engine.ContextUsage(ctx, r.id)
	if err != nil {
		return // the turn itself will say it
	}
	added := tokens.Estimate(prompt.Text)
	for _, a := range prompt.Attachments {
		added += tokens.Estimate(a.Text)
	}
	for _, h := range usage.Hints(prompt.Text, int64(added), 0, r.app.Settings.Context.Warn) {
		r.say("▲ %s", locale.Said(h.Text))
	}
}

// prepare sets tier and mode of a session as the command line says. A session
// that exists keeps its own when it says nothing.
func (r *sessionRunner) prepare(ctx context.Context, options app.Options, state session.Session) error {
	if tier, err := models.ParseTier(options.Tier); err == nil && tier != state.Tier {
		if err := r.app.Engine.Do(ctx, r.id, session.ChooseTier{Tier: tier}); err != nil {
			return err
		}
	}
	if options.Effort != "" && state.Effort != "" && options.Effort != state.Effort {
		if err := r.app.Engine.Do(ctx, r.id, session.ChooseEffort{Effort: options.Effort}); err != nil {
			return err
		}
	}
	if mode := session.Mode(options.Mode); mode != "" && mode != state.Mode {
		if err := r.app.Engine.Do(ctx, r.id, session.ChooseMode{Mode: mode}); err != nil {
			return fmt.Errorf("--approve %s: %w", mode, err)
		}
	}
	return nil
}

// follow tells what happens until the turn has ended for good.
func (r *sessionRunner) follow(ctx context.Context) (int, error) {
	listening, quit := context.WithCancel(context.WithoutCancel(ctx))
	feed, failed, listener := r.listen(listening)
	defer func() {
		quit()
		listener.Wait()
	}()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	interrupted := ctx.Done()
	for {
		select {
		case records := <-feed:
			if end := r.print(records); end != nil {
				code, again, err := r.afterTurn(ctx, *end)
				if !again {
					return code, err
				}
			}
		case err := <-failed:
			return 0, err
		case <-ticker.C:
			r.out.Tick()
		case <-interrupted:
			interrupted = nil
			if err := r.app.Engine.Do(context.WithoutCancel(ctx), r.id, session.Stop{}); err != nil {
				return 0, err
			}
		}
	}
}

// listen hands on what the engine tells until the context ends. Whoever calls it waits
// for the listener after that.
func (r *sessionRunner) listen(ctx context.Context) (<-chan []session.Record, <-chan error, *sync.WaitGroup) {
	feed := make(chan []session.Record)
	failed := make(chan error, 1)
	var listener sync.WaitGroup
	listener.Go(func() {
		for {
			records, err := r.app.Engine.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			select {
			case feed <- records:
			case <-ctx.Done():
				r.lateRecords = records
				return
			}
		}
	})
	return feed, failed, &listener
}

// alerts tells what came to light at the very end.
func (r *sessionRunner) alerts() {
	rest, _ := r.app.Engine.Next(context.Background()) // closed: it only gives what is left
	for _, rec := range append(r.lateRecords, rest...) {
		if a, ok := rec.Event.(session.Alerted); ok {
			r.say("! %s", locale.Said(theme.Line(a.Text)))
		}
	}
}

// print tells of records, and returns the end of the turn if it is among them.
func (r *sessionRunner) print(records []session.Record) *session.TurnEnded {
	var end *session.TurnEnded
	for _, rec := range records {
		if a, ok := rec.Event.(session.Alerted); ok {
			r.say("! %s", locale.Said(theme.Line(a.Text)))
		}
		if part := r.steps[rec.Session]; part != nil {
			part.Add(rec)
			r.out.Part(rec, part)
			r.turn.AddRequest(rec)
			continue
		}
		if rec.Session != r.id {
			continue
		}
		r.noteStep(rec.Event)
		ended, over := rec.Event.(session.TurnEnded)
		if over && rec.Seq > 0 && rec.Seq <= r.lastSeqBefore {
			continue // of an earlier turn, settled when the session was opened
		}
		r.turn.Add(rec)
		r.out.Record(rec, &r.turn)
		if over {
			end = &ended
			r.end = rec
		}
	}
	return end
}

// noteSteps notes the sessions of a plan that is gone on with: the step that is
// under way tells of itself no more.
func (r *sessionRunner) noteSteps(s session.Session) {
	if s.Plan == nil {
		return
	}
	r.noteStep(session.PlanSet{Plan: *s.Plan})
	for i, step := range s.Plan.Steps {
		moved := session.StepMoved{Number: i + 1, Step: step}
		r.noteStep(moved)
		r.turn.Add(session.Record{Event: moved}) // what was done before is a part of the answer; a new turn forgets it
	}
}

// noteStep notes the sessions in which the steps of a plan are carried out.
func (r *sessionRunner) noteStep(e session.Event) {
	var id session.ID
	switch e := e.(type) {
	case session.PlanSet:
		id = e.Plan.Planning
	case session.StepMoved:
		id = e.Step.Session
	}
	if id != "" && r.steps[id] == nil {
		if r.steps == nil {
			r.steps = map[session.ID]*plain.Turn{}
		}
		r.steps[id] = &plain.Turn{}
	}
}

// afterTurn decides what follows the end of a turn: the run's end, or a wait and
// another try.
func (r *sessionRunner) afterTurn(ctx context.Context, end session.TurnEnded) (code int, again bool, err error) {
	state, err := r.app.Engine.Wait(context.WithoutCancel(ctx), r.id)
	if err != nil {
		return 0, false, err
	}
	if ctx.Err() != nil {
		r.say("to go on: belay resume %s", r.id)
		return exit.Interrupted, false, nil
	}
	if end.Outcome != session.OutcomeParked {
		if code := exit.OfSession(state, end.Limit); code != exit.Done {
			r.hint(state, code)
			return code, false, nil
		}
		return r.deliver(ctx, state)
	}
	rest := state.RetryAt.Sub(r.cli.Now())
	if r.flags.noWait || r.exceedsMaxWait(state, rest) {
		at := state.RetryAt.Local().Format("15:04:05")
		r.say("parked; there may be room from %s on · to go on: belay resume %s", at, r.id)
		return exit.OfFault(state.Fault), false, nil
	}
	try := locale.T("next try (%d of %d)", state.ParkCount, len(r.app.Settings.Park.Ladder))
	if state.ParkCount == 0 { // not one of the schedule
		try = locale.T("the allowance returns, and the next try is,")
	}
	r.say("  %s at %s, in %s", try, state.RetryAt.Local().Format("15:04:05"), rest.Round(time.Second))
	if route.SleepUntil(ctx, r.cli.Now, state.RetryAt, route.ParkPoll) != nil {
		r.say("to go on: belay resume %s", r.id)
		return exit.Interrupted, false, nil
	}
	r.parked += rest
	return 0, true, r.app.Engine.Do(ctx, r.id, session.Resume{})
}

// exceedsMaxWait reports whether waiting for the next try would break the limit.
func (r *sessionRunner) exceedsMaxWait(s session.Session, rest time.Duration) bool {
	if r.flags.maxWait > 0 {
		return r.parked+rest > r.flags.maxWait
	}
	return s.Fault != nil && s.Fault.Kind.Policy().Park == models.ParkReset && rest > maxUsageWait
}

func (r *sessionRunner) hint(s session.Session, code int) {
	if s.Fault != nil && s.Fault.Hint != "" {
		r.say("  %s", locale.Said(s.Fault.Hint))
	}
	switch {
	case code == exit.Person && s.RunsPlan:
		r.say("  to go on: belay resume %s · to look or answer: belay -r %s, F7 · to allow commands: --approve all",
			r.id, r.id)
	case code == exit.Person:
		r.say("  to answer: belay -r %s · to allow commands: --approve all", r.id)
	case code != exit.Done && code != exit.Interrupted:
		r.say("  to go on: belay resume %s", r.id)
	}
}

func (r *sessionRunner) say(format string, args ...any) {
	if t, ok := r.out.(*plain.Text); ok {
		t.Say(format, args...)
		return
	}
	fmt.Fprintln(r.cli.Err, theme.Sanitize(locale.T(format, args...)))
}
