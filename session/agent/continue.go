package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"belay/models"
	"belay/session"
)

// maxContinuations is how often a turn goes on by itself after replies that were
// cut by their length limit.
const maxContinuations = 3

// goOn decides whether the turn goes on by itself after a request that failed:
// after a reply that was cut by its length limit, what was said stands, and the
// model is told. Nothing else is ever told to a model in a person's place; a
// stream that broke is asked for again.
func (t *turn) goOn(ctx context.Context, err error) (goesOn bool, end *session.TurnEnded) {
	var fault *models.Fault
	if ctx.Err() != nil || !errors.As(err, &fault) || !fault.AtLengthLimit() || t.continuations >= maxContinuations {
		return false, nil
	}
	t.continuations++
	if calls, _ := openCalls(t.Log.Items()); len(calls) > 0 {
		if end := t.runCalls(ctx, calls); end != nil {
			return false, end
		}
	}
	note := "Your last reply reached its length limit and was cut there. Go on exactly where it stopped; " +
		"what you have said stands and need not be said again."
	if len(fault.Torn) > 0 {
		note += fmt.Sprintf(" These calls were not finished and not run: %s. Write them anew, in smaller pieces.",
			strings.Join(fault.Torn, ", "))
	}
	err = t.Log.Append(context.WithoutCancel(ctx), session.ReplyContinued{
		Reason: session.ContinuedAtLength, Number: t.continuations, Of: maxContinuations, Tools: fault.Torn, Note: note,
	})
	if err != nil {
		return false, t.unstorable(ctx, err)
	}
	return true, nil
}

// correct answers a call that the model wrote as text. It is told once.
func (t *turn) correct(ctx context.Context, target models.Target, tool string) error {
	if t.corrected {
		return &models.Fault{
			Kind: models.KindMalformed, Scope: models.ScopeModel, Phase: models.AfterLastItem, Target: target,
			Message: fmt.Sprintf("the model wrote its call of %s as text again, although it was told how to call tools", tool),
			Hint:    "Choose another model: this one, or its server, does not use the API's form of calls.",
		}
	}
	t.corrected = true
	return t.Log.Append(context.WithoutCancel(ctx), session.ReplyContinued{
		Reason: session.ContinuedWrittenCall, Number: 1, Of: 1, Tools: []string{tool},
		Note: fmt.Sprintf("You wrote a call of %s as text, so it was not run. Call tools only in the form that "+
			"the API has for calls, never in your words.", tool),
	})
}
