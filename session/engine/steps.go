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
func (a *active) split(ctx context.Context, c session.Split) error {
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
	plan := session.Steps{Task: p.Text, List: list, Begun: c.Go, Through: c.Go, Reviewed: len(c.Steps) > 0, Template: c.Template}
	if c.Template != "" {
		if _, err := steps.Named(c.Template); err != nil {
			return err
		}
	}
	if err := a.append(ctx, session.TurnStarted{Prompt: p, Steps: true}, session.StepsSet{Steps: plan}); err != nil {
		return err
	}
	a.launch()
	return nil
}

// setSteps edits the plan. What has begun stays as it is. a.mu is held.
func (a *active) setSteps(ctx context.Context, list []session.Step) error {
	if a.head.Steps == nil {
		return errors.New("there is no plan to edit: /steps TASK makes one")
	}
	plan := *a.head.Steps
	begun := 0
	for i, s := range plan.List {
		if s.Begun() {
			begun = i + 1
		}
	}
	if len(list) < begun {
		return fmt.Errorf("step %d has begun and cannot be taken out", begun)
	}
	list = slices.Clone(list)
	for i := range list {
		var old session.Step
		if i < len(plan.List) {
			old = plan.List[i]
		}
		list[i] = edited(old, list[i])
	}
	if _, _, err := steps.Read(steps.Write(plan.Task, list)); err != nil {
		return err
	}
	plan.List, plan.Reviewed = list, true
	return a.append(ctx, session.StepsSet{Steps: plan})
}

// edited is a step as a person wants it: one that has begun keeps what it is.
func edited(old, want session.Step) session.Step {
	if !old.Begun() {
		s := session.Step{Title: want.Title, Do: want.Do, Proof: want.Proof, Tier: want.Tier, Pin: want.Pin, Check: want.Check, Needs: want.Needs, Pause: want.Pause, MostRequests: want.MostRequests, MostCost: want.MostCost,
			State: session.StepPending, Usage: old.Usage, Cost: old.Cost, Earlier: old.Earlier, EarlierCost: old.EarlierCost}
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
func (a *active) runSteps(ctx context.Context, c session.RunSteps) error {
	switch {
	case a.head.Steps == nil || len(a.head.Steps.List) == 0:
		return errors.New("there is no plan to carry out: /steps TASK makes one")
	case a.cancel != nil && a.head.Stepping && a.head.Live():
		// It runs: from now on it stops after each step, or does not.
		return a.append(ctx, session.StepsBegun{Through: c.Through})
	case a.cancel != nil, a.head.Status == session.Parked && !a.head.Stepping:
		return ErrBusy
	case c.From < 0 || c.From > len(a.head.Steps.List):
		return fmt.Errorf("there is no step %d", c.From)
	}
	if err := a.append(ctx, session.StepsBegun(c)); err != nil {
		return err
	}
	if a.head.Stepping && a.resumable() {
		return a.resume(ctx, "the plan goes on")
	}
	p := session.Prompt{ID: a.e.o.NewID(), Text: a.head.Steps.Task}
	return a.begin(ctx, session.TurnStarted{Prompt: p, Steps: true})
}

// resumable reports whether the last turn can be gone on with. a.mu is held.
func (a *active) resumable() bool {
	switch a.head.Status {
	case session.Parked, session.Failed, session.Stopped, session.Interrupted, session.NeedsPerson:
		return true
	}
	return false
}

// steps runs the turn of a plan.
func (a *active) steps(ctx context.Context, ready func(context.Context)) session.TurnEnded {
	if ready != nil {
		ready(ctx)
	}
	var like []session.Step
	if plan := a.session().Steps; plan != nil && plan.Template != "" {
		if t, err := steps.Named(plan.Template); err == nil {
			like = t.Steps
		}
	}
	defer func() { a.shut(context.WithoutCancel(ctx), a.session().Steps) }()
	return steps.Run(ctx, steps.Options{
		State: a.session, Append: a.Append, Begin: a.beginStep, Carry: a.carry, Check: a.checkStep, Limit: a.planLimit, Like: like, Now: a.e.o.Now,
		Mark: func(ctx context.Context, number int, title string) {
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
func (a *active) running() *active {
	a.mu.Lock()
	live := a.cancel != nil && a.head.Stepping
	plan := a.head.Steps
	a.mu.Unlock()
	if !live || plan == nil {
		return nil
	}
	id := plan.Planning
	for _, s := range plan.List {
		if s.State == session.StepRunning {
			id = s.Session
		}
	}
	return a.e.active(id)
}

// planLimit ends a plan that takes more than a task may.
func (a *active) planLimit() *session.TurnEnded {
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
func (a *active) beginStep(ctx context.Context, number int, s session.Step) (session.ID, error) {
	head := a.session()
	a.shut(ctx, head.Steps)
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
	if head.Pin != (models.Target{}) && s.Tier == "" {
		events = append(events, session.Pinned{Target: head.Pin})
	}
	if head.Effort != "" {
		events = append(events, session.EffortChosen{Effort: head.Effort})
	}
	if len(head.Focus) > 0 {
		events = append(events, session.Focused{Paths: head.Focus})
	}
	for _, k := range head.Kept {
		events = append(events, session.Kept{Text: k})
	}
	_, _, err = a.e.o.Store.Append(ctx, child.ID, 0, events...)
	return child.ID, err
}

// shut closes the sessions of steps that are over: each holds its conversation
// and its place as the only writer.
func (a *active) shut(ctx context.Context, plan *session.Steps) {
	if plan == nil {
		return
	}
	ids := []session.ID{plan.Planning}
	for _, s := range plan.List {
		if s.Over() {
			ids = append(ids, s.Session)
		}
	}
	for _, id := range ids {
		a.e.shut(ctx, id)
	}
}

// shut closes a session in which nothing runs.
func (e *Engine) shut(ctx context.Context, id session.ID) {
	a := e.active(id)
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
func (a *active) carry(ctx context.Context, id session.ID, key, words string) (steps.Carried, error) {
	if _, err := a.e.Open(context.WithoutCancel(ctx), id, false); err != nil {
		return steps.Carried{}, err
	}
	child := a.e.active(id)
	if child == nil {
		return steps.Carried{}, agent.ErrClosing
	}
	var p session.Prompt
	if child.session().Turn == 0 { // once: it stays in the conversation
		var err error
		if p, err = a.material(ctx); err != nil {
			return steps.Carried{}, err
		}
	}
	p.ID, p.Text = key, words
	turn, err := child.goAhead(ctx, p, a.stepOf(id), a.session().Mode, a.marks)
	if err != nil {
		return steps.Carried{}, err
	}
	select {
	case <-child.over():
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), agent.ErrClosing) { // then it ends by itself
			child.mu.Lock()
			err := child.stop(context.WithoutCancel(ctx))
			child.mu.Unlock()
			if err != nil {
				return steps.Carried{}, err
			}
		}
	}
	if err := child.idle(context.WithoutCancel(ctx)); err != nil {
		return steps.Carried{}, err
	}
	return child.carried(context.WithoutCancel(ctx), turn)
}

// material is what came along with the words of the task, for each step as well.
func (a *active) material(ctx context.Context) (p session.Prompt, err error) {
	task := a.session().Steps
	records, err := a.e.o.Store.OfType(ctx, a.id, "turn.started")
	if err != nil || task == nil {
		return p, err
	}
	for _, r := range slices.Backward(records) {
		e, ok := r.Event.(session.TurnStarted)
		if ok && e.Steps && e.Prompt.Text == task.Task && len(e.Prompt.Attached)+len(e.Prompt.Images) > 0 {
			return session.Prompt{Attached: e.Prompt.Attached, Images: e.Prompt.Images}, nil
		}
	}
	return p, nil
}

// stepOf is the step that a session carries out.
func (a *active) stepOf(id session.ID) session.Step {
	if plan := a.session().Steps; plan != nil {
		for _, s := range plan.List {
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
func (a *active) goAhead(ctx context.Context, p session.Prompt, s session.Step, mode session.Mode, marks *markings) (turn int, err error) {
	known, err := a.e.o.Store.OfType(ctx, a.id, "turn.started", "turn.ended")
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
	a.lever.Stay(s.Pin)
	a.marks = marks
	a.limits = a.e.o.Limits
	if s.MostRequests > 0 {
		a.limits.Steps = s.MostRequests
	}
	if s.MostCost > 0 {
		a.limits.Cost = s.MostCost
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
func (a *active) over() <-chan struct{} {
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
func (a *active) carried(ctx context.Context, turn int) (steps.Carried, error) {
	records, err := a.e.o.Store.OfType(ctx, a.id, "turn.ended", "tool.started")
	if err != nil {
		return steps.Carried{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := steps.Carried{Session: a.head}
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
func (a *active) checkStep(ctx context.Context, command string, seen bool) (steps.Checked, error) {
	args, err := json.Marshal(map[string]any{"command": command, "timeout": 900})
	if err != nil {
		return steps.Checked{}, err
	}
	job, err := a.tools.Prepare("shell", string(args))
	if err != nil {
		return steps.Checked{}, err
	}
	d := a.Judge(permit.Call{Tool: "shell", Class: job.Class, Command: job.Command, Shell: job.Shell, Path: job.Path, Outside: job.Outside, Root: a.root})
	switch {
	case d.Verdict == permit.Deny:
		return steps.Checked{}, errors.New("it is not allowed: " + d.Reason)
	case d.Verdict == permit.Ask && !seen:
		return steps.Checked{}, steps.ErrUnseen
	}
	r := job.Run(ctx, func(string) {})
	return steps.Checked{OK: !r.Error, Summary: r.Summary, Output: r.Output}, nil
}
