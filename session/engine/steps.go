package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"belay/models"
	"belay/session"
	"belay/session/agent"
	"belay/session/permit"
	"belay/session/steps"
)

// split begins a turn that splits a task into steps. a.mu is held.
func (a *openSession) split(ctx context.Context, c session.PlanTask) error {
	if a.head.PartOf != "" {
		return errors.New("this session carries out a step itself: split the task in a new session")
	}
	if a.cancel != nil || a.head.Status == session.Parked {
		return ErrBusy
	}
	p := c.Prompt
	if p.ID == "" {
		p.ID = a.e.o.NewID()
	}
	if a.sent(p.ID) {
		return nil
	}
	var list []session.Step
	for _, s := range c.Steps {
		list = append(list, edited(session.Step{}, s))
	}
	if c.Template == "" && len(list) == 0 {
		c.Template = steps.Shape(p.Text)
	}
	plan := session.Plan{Task: p.Text, Steps: list, Started: c.Start, Through: c.Start, Reviewed: len(c.Steps) > 0, Template: c.Template}
	if c.Template != "" {
		if _, err := steps.FindTemplate(c.Template); err != nil {
			return err
		}
	}
	if err := a.append(ctx, session.TurnStarted{Prompt: p, RunsPlan: true}, session.PlanSet{Plan: plan}); err != nil {
		return err
	}
	a.launch()
	return nil
}

// setSteps edits the plan. What has begun stays as it is. a.mu is held.
func (a *openSession) setSteps(ctx context.Context, list []session.Step) error {
	if a.head.Plan == nil {
		return errors.New("there is no plan to edit: /steps TASK makes one")
	}
	plan := *a.head.Plan
	begun := 0
	for i, s := range plan.Steps {
		if s.Started() {
			begun = i + 1
		}
	}
	if len(list) < begun {
		return fmt.Errorf("step %d has begun and cannot be taken out", begun)
	}
	list = slices.Clone(list)
	for i := range list {
		var old session.Step
		if i < len(plan.Steps) {
			old = plan.Steps[i]
		}
		list[i] = edited(old, list[i])
	}
	if _, _, err := steps.Read(steps.Write(plan.Task, list)); err != nil {
		return err
	}
	plan.Steps, plan.Reviewed = list, true
	return a.append(ctx, session.PlanSet{Plan: plan})
}

// edited is a step as a person wants it: one that has begun keeps what it is.
func edited(old, want session.Step) session.Step {
	if !old.Started() {
		s := session.Step{Title: want.Title, Instructions: want.Instructions, Proof: want.Proof, Tier: want.Tier, Pinned: want.Pinned, Check: want.Check, Needs: want.Needs, Pause: want.Pause, MaxRequests: want.MaxRequests, MaxCost: want.MaxCost,
			State: session.StepPending, Usage: old.Usage, Cost: old.Cost, EarlierUsage: old.EarlierUsage, EarlierCost: old.EarlierCost}
		if want.State == session.StepSkipped {
			s.State = session.StepSkipped
		}
		return s
	}
	if want.State == session.StepSkipped && old.State != session.StepRunning && old.State != session.StepDone {
		old.State = session.StepSkipped
	}
	old.Check, old.Pause = want.Check, want.Pause
	return old
}

// runSteps carries the plan out. a.mu is held.
func (a *openSession) runSteps(ctx context.Context, c session.RunPlan) error {
	switch {
	case a.head.Plan == nil || len(a.head.Plan.Steps) == 0:
		return errors.New("there is no plan to carry out: /steps TASK makes one")
	case a.cancel != nil && a.head.RunsPlan && a.head.Live():
		// It runs: from now on it stops after each step, or does not.
		return a.append(ctx, session.PlanStarted{Through: c.Through})
	case a.cancel != nil, a.head.Status == session.Parked && !a.head.RunsPlan:
		return ErrBusy
	case c.From < 0 || c.From > len(a.head.Plan.Steps):
		return fmt.Errorf("there is no step %d", c.From)
	}
	if err := a.append(ctx, session.PlanStarted(c)); err != nil {
		return err
	}
	if a.head.RunsPlan && a.resumable() {
		return a.resume(ctx, "the plan goes on")
	}
	p := session.Prompt{ID: a.e.o.NewID(), Text: a.head.Plan.Task}
	return a.begin(ctx, session.TurnStarted{Prompt: p, RunsPlan: true})
}

// resumable reports whether the last turn can be gone on with. a.mu is held.
func (a *openSession) resumable() bool {
	switch a.head.Status {
	case session.Parked, session.Failed, session.Stopped, session.Interrupted, session.NeedsPerson:
		return true
	}
	return false
}

// steps runs the turn of a plan.
func (a *openSession) steps(ctx context.Context, ready func(context.Context)) session.TurnEnded {
	if ready != nil {
		ready(ctx)
	}
	var like []session.Step
	if plan := a.session().Plan; plan != nil && plan.Template != "" {
		if t, err := steps.FindTemplate(plan.Template); err == nil {
			like = t.Steps
		}
	}
	defer func() { a.shut(context.WithoutCancel(ctx), a.session().Plan) }()
	return steps.Run(ctx, steps.Options{
		State: a.session, Append: a.Append, Begin: a.beginStep, RunStep: a.carry, Check: a.checkStep, Limit: a.planLimit, Like: like, Now: a.e.o.Now,
		Checkpoint: func(ctx context.Context, number int, title string) {
			a.mu.Lock()
			ready := a.mark(number, title)
			a.mu.Unlock()
			if ready != nil {
				ready(ctx)
			}
		},
	})
}

// running is the session of the step that runs; nil: none does here. a.mu is not
// held.
func (a *openSession) running() *openSession {
	a.mu.Lock()
	live := a.cancel != nil && a.head.RunsPlan
	plan := a.head.Plan
	a.mu.Unlock()
	if !live || plan == nil {
		return nil
	}
	id := plan.Planning
	for _, s := range plan.Steps {
		if s.State == session.StepRunning {
			id = s.Session
		}
	}
	return a.e.openSession(id)
}

// planLimit ends a plan that takes more than a task may.
func (a *openSession) planLimit() *session.TurnEnded {
	const stop = 0.95 // as for a turn: a step takes an unknown part of it
	a.mu.Lock()
	most, cost := a.e.o.Limits.Cost, a.head.Cost-a.before // a person's word gives the task its limits anew
	a.mu.Unlock()
	if most <= 0 || cost < stop*most {
		return nil
	}
	return &session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Limit: true,
		Reason: fmt.Sprintf("the limit of cost is reached ($%.2f of $%.2f): raise it, or go on with the rest yourself", cost, most)}
}

// beginStep makes the session of a step, in the state that the plan's is in.
func (a *openSession) beginStep(ctx context.Context, number int, s session.Step) (session.ID, error) {
	head := a.session()
	a.shut(ctx, head.Plan)
	tier := s.Tier
	if tier == "" {
		tier = head.Tier
	}
	child, err := a.e.o.Store.Create(ctx, session.Created{Project: head.Project, Tier: tier, Mode: head.Mode, Parent: head.ID, PartOf: head.ID, Step: number})
	if err != nil {
		return "", err
	}
	title := fmt.Sprintf("step %d: %s", number, s.Title)
	if number == 0 {
		title = "the plan: " + head.Title
	}
	events := []session.Event{session.Renamed{Title: title}}
	if head.PinnedTarget != (models.Target{}) && s.Tier == "" {
		events = append(events, session.TargetPinned{Target: head.PinnedTarget})
	}
	if head.Effort != "" {
		events = append(events, session.EffortChosen{Effort: head.Effort})
	}
	if len(head.Focus) > 0 {
		events = append(events, session.Focused{Paths: head.Focus})
	}
	for _, k := range head.PinnedNotes {
		events = append(events, session.NotePinned{Text: k})
	}
	_, _, err = a.e.o.Store.Append(ctx, child.ID, 0, events...)
	return child.ID, err
}

// shut closes the sessions of steps that are over: each holds its conversation
// and its place as the only writer.
func (a *openSession) shut(ctx context.Context, plan *session.Plan) {
	if plan == nil {
		return
	}
	ids := []session.ID{plan.Planning}
	for _, s := range plan.Steps {
		if s.Finished() {
			ids = append(ids, s.Session)
		}
	}
	for _, id := range ids {
		a.e.shut(ctx, id)
	}
}

// shut closes a session in which nothing runs.
func (e *Engine) shut(ctx context.Context, id session.ID) {
	a := e.openSession(id)
	if a == nil {
		return
	}
	a.mu.Lock()
	busy := a.cancel != nil
	if !busy {
		a.closed = true // nothing is begun any more
	}
	a.mu.Unlock()
	if busy {
		return
	}
	e.mu.Lock()
	if e.open[id] == a {
		delete(e.open, id)
	}
	e.mu.Unlock()
	if err := a.leave(ctx); err != nil {
		a.Publish(session.Noted{Text: "a step's session could not be closed: " + err.Error()})
	}
}

// carry lets the session of a step go on until its turn is over.
func (a *openSession) carry(ctx context.Context, id session.ID, key, words string) (steps.StepResult, error) {
	if _, err := a.e.Open(context.WithoutCancel(ctx), id, false); err != nil {
		return steps.StepResult{}, err
	}
	child := a.e.openSession(id)
	if child == nil {
		return steps.StepResult{}, agent.ErrClosing
	}
	var p session.Prompt
	if child.session().Turn == 0 { // once: it stays in the conversation
		var err error
		if p, err = a.material(ctx); err != nil {
			return steps.StepResult{}, err
		}
	}
	p.ID, p.Text = key, words
	turn, err := child.goAhead(ctx, p, a.stepOf(id), a.session().Mode, a.marks)
	if err != nil {
		return steps.StepResult{}, err
	}
	select {
	case <-child.over():
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), agent.ErrClosing) { // then it ends by itself
			child.mu.Lock()
			err := child.stop(context.WithoutCancel(ctx))
			child.mu.Unlock()
			if err != nil {
				return steps.StepResult{}, err
			}
		}
	}
	if err := child.idle(context.WithoutCancel(ctx)); err != nil {
		return steps.StepResult{}, err
	}
	return child.carried(context.WithoutCancel(ctx), turn)
}

// material is what came along with the words of the task, for each step as well.
func (a *openSession) material(ctx context.Context) (p session.Prompt, err error) {
	task := a.session().Plan
	records, err := a.e.o.Store.EventsOfType(ctx, a.id, "turn.started")
	if err != nil || task == nil {
		return p, err
	}
	for _, r := range slices.Backward(records) {
		e, ok := r.Event.(session.TurnStarted)
		if ok && e.RunsPlan && e.Prompt.Text == task.Task && len(e.Prompt.Attachments)+len(e.Prompt.Images) > 0 {
			return session.Prompt{Attachments: e.Prompt.Attachments, Images: e.Prompt.Images}, nil
		}
	}
	return p, nil
}

// stepOf is the step that a session carries out.
func (a *openSession) stepOf(id session.ID) session.Step {
	if plan := a.session().Plan; plan != nil {
		for _, s := range plan.Steps {
			if s.Session == id {
				return s
			}
		}
	}
	return session.Step{}
}

// goAhead begins or resumes the turn of a prompt, unless it is over, and gives its
// number. A person may have spoken in the session since: then a turn that was not
// done is begun again with the same words.
func (a *openSession) goAhead(ctx context.Context, p session.Prompt, s session.Step, mode session.Mode, marks *markings) (turn int, err error) {
	known, err := a.e.o.Store.EventsOfType(ctx, a.id, "turn.started", "turn.ended")
	if err != nil {
		return 0, err
	}
	key, tries, done := p.ID, 0, false
	for _, r := range known {
		switch e := r.Event.(type) {
		case session.TurnStarted:
			if e.Prompt.ID == key || strings.HasPrefix(e.Prompt.ID, key+"+") {
				turn, tries, done = r.Turn, tries+1, false
			}
		case session.TurnEnded:
			if r.Turn == turn {
				done = e.Outcome == session.OutcomeDone
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lever.SetNoFailover(s.Pinned)
	a.marks = marks
	a.limits = a.e.o.Limits
	if s.MaxRequests > 0 {
		a.limits.Requests = s.MaxRequests
	}
	if s.MaxCost > 0 {
		a.limits.Cost = s.MaxCost
	}
	if a.head.Mode != mode {
		if err := a.append(ctx, session.ModeChosen{Mode: mode}); err != nil {
			return 0, err
		}
	}
	switch {
	case a.closed:
		return 0, agent.ErrClosing
	case a.cancel != nil:
		return a.head.Turn, nil // it runs already: a person was quicker
	case done:
		return turn, nil
	case tries == 0, turn < a.head.Turn:
		if tries > 0 {
			p.ID = fmt.Sprintf("%s+%d", key, tries)
		}
		err = a.start(ctx, p)
		return a.head.Turn, err
	case a.head.Status == session.Asking:
		a.launch() // it asks again
	case a.resumable():
		err = a.retry(ctx)
	}
	return turn, err
}

// over is closed when no turn runs.
func (a *openSession) over() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel == nil {
		done := make(chan struct{})
		close(done)
		return done
	}
	return a.done
}

// carried says what came of a turn.
func (a *openSession) carried(ctx context.Context, turn int) (steps.StepResult, error) {
	records, err := a.e.o.Store.EventsOfType(ctx, a.id, "turn.ended", "tool.started")
	if err != nil {
		return steps.StepResult{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := steps.StepResult{Session: a.head}
	for _, r := range records {
		switch e := r.Event.(type) {
		case session.TurnEnded:
			if r.Turn == turn {
				c.End = e
			}
		case session.ToolStarted:
			c.Calls++
		}
	}
	if a.unsaved != nil {
		c.End = *a.unsaved
	}
	if a.head.Status == session.Asking { // closed while it asked: it asks again
		c.End = session.TurnEnded{Outcome: session.OutcomeStopped, Interrupted: true}
	}
	for _, p := range slices.Backward(a.talk.Pieces()) {
		if p.Turn <= turn && p.Item.Kind == models.Message && p.Item.Role == models.Assistant {
			c.Answer = p.Item.Text
			break
		}
	}
	return c, nil
}

// checkStep runs the check of a step, by the rules for any command: a plan that
// a person has looked at allows those in it.
func (a *openSession) checkStep(ctx context.Context, command string, seen bool) (steps.CheckResult, error) {
	args, err := json.Marshal(map[string]any{"command": command, "timeout": 900})
	if err != nil {
		return steps.CheckResult{}, err
	}
	job, err := a.tools.Prepare("shell", string(args))
	if err != nil {
		return steps.CheckResult{}, err
	}
	d := a.Judge(permit.Call{Tool: "shell", Class: job.Class, Command: job.Command, Shell: job.Shell, Path: job.Path, Outside: job.Outside, Root: a.root})
	switch {
	case d.Verdict == permit.Deny:
		return steps.CheckResult{}, errors.New("it is not allowed: " + d.Reason)
	case d.Verdict == permit.Ask && !seen:
		return steps.CheckResult{}, steps.ErrNotReviewed
	}
	r := job.Run(ctx, func(string) {})
	return steps.CheckResult{OK: !r.Error, Summary: r.Summary, Output: r.Output}, nil
}
