package agent

import (
	"cmp"
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
	ctx context.Context, prepared *preparedCall, decision permit.Decision, approval session.Approval,
) (*preparedCall, *session.TurnEnded) {
	approval.CallID = prepared.item.CallID
	approval.Tool = prepared.item.Name
	approval.Class = prepared.call.Class
	approval.Title = prepared.call.Title
	approval.Preview = prepared.call.Detail
	approval.Reach = prepared.call.Reach
	approval.Outside = prepared.call.RunOutside != nil && !approval.UnknownOutcome
	approval.Args = cmp.Or(prepared.edited, prepared.item.Arguments)
	if prepared.looking {
		approval.Class = session.Read
		approval.Reason = approval.Reason + "; the change is shown once it may be read"
	}
	if err := t.Log.Append(ctx, session.ApprovalAsked{Approval: approval}); err != nil {
		return nil, t.unstorable(ctx, err)
	}
	answer, err := t.Gate.Ask(ctx, approval)
	if errors.Is(err, ErrNonInteractive) {
		return nil, &session.TurnEnded{Outcome: session.OutcomeNeedsPerson,
			Reason: fmt.Sprintf("approval needed for %s: %s (%s)", approval.Tool, approval.Title, approval.Reason)}
	}
	if err != nil {
		end := t.failed(ctx, err)
		return nil, &end
	}
	if err := t.Log.Append(ctx, session.ApprovalAnswered{Answer: answer}); err != nil {
		return nil, t.unstorable(ctx, err)
	}
	if !answer.Allow {
		return nil, t.rejected(ctx, prepared, approval, answer)
	}
	if answer.Args != "" && answer.Args != approval.Args {
		call, err := t.prepareForPerson(prepared.item.Name, answer.Args)
		if err != nil {
			reason := "The user changed this call, but it cannot run so: " + err.Error()
			return nil, t.refuse(ctx, prepared.item, prepared.call.Title, reason)
		}
		prepared.call, prepared.edited = call, answer.Args
		prepared.note = "The user changed the arguments to " + answer.Args + "\n"
		prepared.args, _ = tools.Canonical(prepared.item.Name, answer.Args)
		// What is forbidden stays so, and "always" means what runs now.
		if decision = t.judge(prepared); decision.Verdict == permit.Deny {
			reason := "The user changed this call to one that is not allowed: " + decision.Reason + "."
			return nil, t.deny(ctx, prepared.item, prepared.call.Title, reason)
		}
	}
	if answer.Outside && approval.Outside {
		prepared.decision = permit.Decision{Verdict: permit.Allow, Outside: true}
		return prepared, nil // this once
	}
	if answer.Always && len(decision.Grants) > 0 {
		if err := t.Gate.Grant(ctx, decision.Grants); err != nil {
			return nil, t.unstorable(ctx, err)
		}
	}
	return prepared, nil
}

// prepareForPerson prepares a call that a person has written: what they name may be
// looked at.
func (t *turn) prepareForPerson(name, args string) (tools.Call, error) {
	call, err := t.Tools.Prepare(name, args)
	if err != nil || call.Look == nil {
		return call, err
	}
	return call.Look()
}

// rejected answers a call that a person does not allow.
func (t *turn) rejected(
	ctx context.Context, prepared *preparedCall, approval session.Approval, answer session.Answer,
) *session.TurnEnded {
	switch {
	case approval.UnknownOutcome && answer.Outcome:
		return t.end(ctx, session.ToolEnded{
			CallID: prepared.item.CallID, Tool: prepared.item.Name, Title: prepared.call.Title, Summary: "done, as you say",
			Output: "The user says that this was carried out before belay ended." + outputUntilThen(approval.Output),
		})
	case approval.UnknownOutcome && answer.Message == "":
		return t.settleUnknown(ctx, prepared.item, session.Effect{Title: prepared.call.Title, Output: approval.Output})
	}
	reason := "The user denied this call."
	if answer.Message != "" {
		reason += " They say: " + answer.Message
	}
	return t.deny(ctx, prepared.item, prepared.call.Title, reason)
}
