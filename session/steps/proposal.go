package steps

import (
	"context"
	"fmt"
	"strings"

	"belay/session"
)

// plan lets a model propose the steps, if there are none. A non-nil end says
// that they are not to be carried out now.
func (o Options) plan(ctx context.Context) *session.TurnEnded {
	plan := o.Log.State().Plan
	if plan == nil {
		return failed("there is no task to split", nil)
	}
	if len(plan.Steps) == 0 {
		if end := o.propose(ctx, *plan); end != nil {
			return end
		}
		plan = o.Log.State().Plan
	}
	if !plan.Started {
		return needsPerson(fmt.Sprintf("%d steps are proposed: look at them, change what you like, and start",
			len(plan.Steps)))
	}
	return nil
}

// propose has the planning session write a plan.
func (o Options) propose(ctx context.Context, plan session.Plan) *session.TurnEnded {
	if plan.Planning == "" {
		id, err := o.createSession(ctx, 0, session.Step{})
		if err != nil {
			return unstorable(ctx, err)
		}
		plan.Planning = id
		if err := o.Log.Append(ctx, session.PlanSet{Plan: plan}); err != nil {
			return unstorable(ctx, err)
		}
	}
	prompt := proposalPrompt(plan)
	for try := 1; ; try++ {
		result, err := o.runTurn(ctx, plan.Planning, fmt.Sprint("plan-", try), prompt)
		if err != nil {
			return unstorable(ctx, err)
		}
		if end := turnEnd(ctx, "the planning", result); end != nil {
			return end
		}
		if now := o.Log.State().Plan; now != nil && len(now.Steps) > 0 {
			return nil // a person has written one meanwhile
		}
		list, parseErr := Parse(result.answer)
		if parseErr != nil && try < maxProposals {
			prompt = fmt.Sprintf("That cannot be read (%v). Answer with the plan as JSON in a fence, as described, "+
				"and nothing behind it.", parseErr)
			continue
		}
		if parseErr == nil {
			plan.Steps = list
			plan.By = result.state.Target
		} else {
			plan.Planning = "" // another try begins anew
		}
		event := session.PlanSet{Plan: plan, Usage: result.state.Usage, Cost: result.state.Cost}
		if err := o.Log.Append(ctx, event); err != nil {
			return unstorable(ctx, err)
		}
		if parseErr != nil {
			return failed(fmt.Sprintf("the model has proposed no plan in %d answers (%v): write one yourself, or ask again",
				maxProposals, parseErr), nil)
		}
		return nil
	}
}

// proposalPrompt is what a model is asked for a plan.
func proposalPrompt(plan session.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n# The task\n\n%s\n", strings.TrimSpace(prose), plan.Task)
	template, err := FindTemplate(plan.Template)
	if plan.Template == "" || err != nil {
		return b.String()
	}
	b.WriteString("\n# Begin with this shape, and fit it to the task\n\n")
	for i, s := range template.Steps {
		fmt.Fprintf(&b, "%d. %s (%s): %s Proof: %s\n", i+1, s.Title, s.Tier, s.Instructions, s.Proof)
	}
	return b.String()
}
