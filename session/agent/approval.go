package agent

import (
	"context"
	"errors"
	"fmt"

	"belay/models"
	"belay/session"
	"belay/session/permit"
	"belay/session/tools"
)

// askUnknown asks about a command that was running when belay ended: it may have
// been carried out, so it never runs again by itself.
func (t *turn) askUnknown(
	ctx context.Context, p *preparedCall, e session.Effect,
) (*preparedCall, *session.TurnEnded) {
	if t.NonInteractive {
		return nil, t.settleUnknown(ctx, p.item, e)
	}
	return t.approve(ctx, p, permit.Decision{}, session.Approval{
		UnknownOutcome: true, Output: e.Output, Reason: "belay ended while this ran: it may have been carried out",
	})
}

// drop answers a call that a stopped turn left and that is no longer wanted.
func (t *turn) drop(ctx context.Context, item models.Item) *session.TurnEnded {
	if effect, begun := t.Unknown[item.CallID]; begun {
		return t.settleUnknown(ctx, item, effect)
	}
	return t.end(ctx, session.ToolEnded{
		CallID: item.CallID, Tool: item.Name, Title: item.Name, Denied: true, Summary: "not run",
		Output: "Not run: that turn was ended before this call began.",
	})
}

func (t *turn) settleUnknown(ctx context.Context, item models.Item, e session.Effect) *session.TurnEnded {
	return t.end(ctx, session.ToolEnded{
		CallID: item.CallID, Tool: item.Name, Title: e.Title, Unknown: true, Summary: "outcome unknown",
		Output: "Interrupted, outcome unknown: belay ended while this ran, and it was not run again. " +
			"Verify what it did before you go on." + outputUntilThen(e.Output),
	})
}

// outputUntilThen is what a command had said before it was cut off.
func outputUntilThen(output string) string {
	if output == "" {
		return ""
	}
	return "\nIt had said until then:\n" + output
}

// approve asks the person about a call.
func (t *turn) approve(
	ctx context.Context, p *preparedCall, d permit.Decision, a session.Approval,
) (*preparedCall, *session.TurnEnded) {
	a.CallID = p.item.CallID
	a.Tool = p.item.Name
	a.Class = p.call.Class
	a.Title = p.call.Title
	a.Preview = p.call.Detail
	a.Args = p.item.Arguments
	if err := t.Log.Append(ctx, session.ApprovalAsked{Approval: a}); err != nil {
		return nil, t.unstorable(ctx, err)
	}
	answer, err := t.Gate.Ask(ctx, a)
	if errors.Is(err, ErrNonInteractive) {
		return nil, &session.TurnEnded{Outcome: session.OutcomeNeedsPerson,
			Reason: fmt.Sprintf("approval needed for %s: %s (%s)", a.Tool, a.Title, a.Reason)}
	}
	if err != nil {
		end := t.failed(ctx, err)
		return nil, &end
	}
	if err := t.Log.Append(ctx, session.ApprovalAnswered{Answer: answer}); err != nil {
		return nil, t.unstorable(ctx, err)
	}
	if !answer.Allow {
		return nil, t.rejected(ctx, p, a, answer)
	}
	if answer.Args != "" && answer.Args != p.item.Arguments {
		call, err := t.Tools.Prepare(p.item.Name, answer.Args)
		if err != nil {
			reason := "The user changed this call, but it cannot run so: " + err.Error()
			return nil, t.refuse(ctx, p.item, p.call.Title, reason)
		}
		p.call = call
		p.note = "The user changed the arguments to " + answer.Args + "\n"
		p.args, _ = tools.Canonical(p.item.Name, answer.Args)
		// What is forbidden stays so, and "always" means what runs now.
		if d = t.judge(p); d.Verdict == permit.Deny {
			reason := "The user changed this call to one that is not allowed: " + d.Reason + "."
			return nil, t.deny(ctx, p.item, p.call.Title, reason)
		}
	}
	if answer.Always && len(d.Grants) > 0 {
		if err := t.Gate.Grant(ctx, d.Grants); err != nil {
			return nil, t.unstorable(ctx, err)
		}
	}
	return p, nil
}

// rejected answers a call that a person does not allow.
func (t *turn) rejected(
	ctx context.Context, p *preparedCall, a session.Approval, answer session.Answer,
) *session.TurnEnded {
	switch {
	case a.UnknownOutcome && answer.Outcome:
		return t.end(ctx, session.ToolEnded{
			CallID: p.item.CallID, Tool: p.item.Name, Title: p.call.Title, Summary: "done, as you say",
			Output: "The user says that this was carried out before belay ended." + outputUntilThen(a.Output),
		})
	case a.UnknownOutcome && answer.Message == "":
		return t.settleUnknown(ctx, p.item, session.Effect{Title: p.call.Title, Output: a.Output})
	}
	reason := "The user denied this call."
	if answer.Message != "" {
		reason += " They say: " + answer.Message
	}
	return t.deny(ctx, p.item, p.call.Title, reason)
}
