package engine

import (
	"context"
	"slices"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/agent"
)

// task is what a person has asked for last, over all the retries of a parked
// turn.
type task struct {
	limits     agent.Limits  // its own; see turnLimits
	whole      bool          // nobody is there who could give it its limits anew
	spent      *agent.Spent  // nil: nothing
	costBefore float64       // what the session had cost when a person last said go
	costBeside float64       // what others of the same task have cost: the steps of its plan
	maxPlan    float64       // that its plan may cost, where that leaves the turn less than its own limit; 0: it does not
	next       *planShare    // of the turn that the plan begins next; nil: a person begins it
	parked     time.Duration // how long it has been parked, its next wait included
	trigger    trigger       // of the turn that runs
	began      time.Time     // when that turn began, or went on
	wrote      bool          // the last turn has changed something
	failed     *models.Fault // why the turn that goes on had ended
}

// apply follows the log: a turn has changed something once a call that is not
// only a read has started.
func (t *task) apply(e session.Event) {
	switch e := e.(type) {
	case session.TurnStarted:
		t.wrote = false
	case session.ToolStarted:
		t.wrote = t.wrote || e.Effect.Class != session.Read
	}
}

// planShare is what a plan leaves to a turn of one of its steps.
type planShare struct {
	cost float64 // of the plan so far, this step's earlier turns included
	max  float64 // that it may cost; 0: no limit
}

// launch notes that a turn begins. A person's word gives the task its limits anew;
// where nobody is, there is one word for all that is done.
func (t *task) launch(by trigger, cost float64) {
	t.trigger = by
	if t.spent == nil || by != byTimer && !t.whole {
		t.spent = &agent.Spent{}
		t.parked = 0
		t.costBefore = cost
	}
	t.costBeside, t.maxPlan = 0, 0
	if plan := t.next; plan != nil {
		t.next = nil
		own := cost - t.costBefore
		if plan.max > 0 && (t.limits.Cost <= 0 || plan.max-plan.cost < t.limits.Cost-own) {
			t.costBeside, t.maxPlan = plan.cost-own, plan.max
		}
	}
}

// turnLimits are the limits of the turn that was launched last.
func (t *task) turnLimits() agent.Limits {
	limits := t.limits
	if t.maxPlan > 0 {
		limits.Cost = t.maxPlan
	}
	return limits
}

// rewound forgets what was taken back.
func (t *task) rewound() {
	t.wrote = false
	t.spent = nil
}

// taskCost is what the task has cost since a person last said go.
func (s *openSession) taskCost() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.task.cost(s.state.Cost)
}

// cost is what the task has cost when its session has cost so much.
func (t *task) cost(ofSession float64) float64 { return ofSession - t.costBefore + t.costBeside }

// limitStep gives a step its limits: its own, and what the plan that it is a part of may
// still cost.
func (t *task) limitStep(limits agent.Limits, step session.Step, planCost float64) {
	t.next = &planShare{planCost, limits.Cost}
	t.limits = limits
	if step.MaxRequests > 0 {
		t.limits.Requests = step.MaxRequests
	}
	if step.MaxCost > 0 {
		t.limits.Cost = step.MaxCost
	}
}

// recall finds in the log of a session what programs before this one have taken of the
// limits: of a task that they have carried out as well, or of a parked turn that goes on
// by itself.
func (t *task) recall(ctx context.Context, o *Options, state session.Session) error {
	var begins func(session.Record) bool
	switch {
	case state.PartOf != "":
		return nil
	case o.TaskSince != nil:
		begins = func(r session.Record) bool { return !r.Time.After(*o.TaskSince) }
	case state.Status == session.Parked && !o.NonInteractive:
		begins = isWord
	default:
		return nil
	}
	const portion, size = 500, 4 << 20
	var spent agent.Spent
	var taken session.Session // of which only the sums are right, without those of a plan's steps
	word := int64(0)          // the record from which on they count
	for before := int64(0); word == 0; {
		page, err := o.Store.Records(ctx, state.ID, before, portion, size)
		if err != nil {
			return err
		}
		for _, r := range slices.Backward(page) {
			if begins(r) {
				word = r.Seq
				break
			}
			taken.Apply(r)
			countRequest(&spent, r.Event)
		}
		if len(page) == 0 || page[0].Seq <= 1 {
			break
		}
		before = page[0].Seq
	}
	spent.Tokens = taken.Usage.Input + taken.Usage.Output
	t.spent, t.costBefore = &spent, state.Cost-taken.Cost
	if state.RunsPlan { // what a step cost is told again and again, so it takes all that was told before
		then, err := o.Store.StateAt(ctx, state.ID, word)
		if err != nil {
			return err
		}
		t.costBefore = then.Cost
	}
	return nil
}

// isWord reports an event by which a person has said go.
func isWord(r session.Record) bool {
	if e, ok := r.Event.(session.TurnResumed); ok {
		return e.Why != reasonDue
	}
	_, begins := r.Event.(session.TurnStarted)
	return begins
}

// countRequest counts what an event tells of requests and retries.
func countRequest(spent *agent.Spent, e session.Event) {
	switch e := e.(type) {
	case session.ReplyEnded:
		spent.Requests++
	case session.AttemptFailed:
		again := e.Next == models.NextRetry || e.Next == models.NextSwitch
		switch {
		case !again:
			spent.Requests++
		case e.Fault != nil && !e.Fault.Kind.Policy().Uncounted:
			spent.Retries++
		}
	}
}
