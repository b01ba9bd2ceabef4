package request

import (
	"context"
	"strings"

	"belay/models"
	"belay/models/route"
	"belay/session"
)

// errand is a request beside the conversation, to the light tier, so that it never
// waits for a model that is full.
type errand struct {
	step    string // what it is for, in the record
	request models.Request
	once    bool                // it is not tried again
	tell    func(session.Event) // hears of its attempts
}

// answered is what came of an errand: what was said, by whom, and what it took.
type answered struct {
	text  string
	by    models.Target
	usage models.Usage
	cost  float64
}

// ask runs an errand through the same loop as every request.
func (b *Builder) ask(ctx context.Context, s session.Session, e errand) (answered, error) {
	factory := b.factory
	var answer answered
	var text strings.Builder
	need := route.Need{
		Control: route.NewControl(models.Light), Operation: factory.o.NewID(), NetworkWait: factory.o.NetworkWait,
		Purpose: models.Purpose{Session: string(b.id), Project: s.Project, Turn: s.Turn, Step: e.step},
	}
	if e.once {
		need.TakeRetry = func() bool { return false }
	}
	build := func(models.Model) (models.Request, error) { return e.request, nil }
	for chunk, err := range factory.o.Router.Stream(ctx, need, build) {
		if err != nil {
			return answer, err
		}
		switch c := chunk.(type) {
		case models.AttemptStarted:
			text.Reset()
			answer.by = c.Target
			e.tell(session.AttemptStarted(c))
		case models.AttemptFailed:
			answer.usage = answer.usage.Add(c.Fault.Usage)
			answer.cost += c.Cost
			e.tell(session.AttemptFailed(c))
		case models.Waiting:
			e.tell(session.Waiting(c))
		case models.Switched:
			e.tell(session.Switched(c))
		case models.ItemDone:
			text.WriteString(c.Item.Text)
		case models.Finished:
			answer.usage = answer.usage.Add(c.Usage)
			answer.cost += factory.o.Model(answer.by).Cost(c.Usage)
		}
	}
	answer.text = text.String()
	return answer, nil
}
