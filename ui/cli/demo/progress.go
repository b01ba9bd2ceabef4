package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"belay/session"
	"belay/session/store"
	"belay/session/tools"
)

// progress is what is on disk of the task.
type progress struct {
	id          session.ID
	done, steps int
	draft       string // the sentence that was being said
	changed     string // by the step under way: "till.sh +1 −1"
	currentStep int    // the step under way
}

// readProgress reads what is on disk, as any other program could.
func (d *demo) readProgress(ctx context.Context) (progress, error) {
	st, err := store.Open(ctx, d.data(), store.Options{ReadOnly: true})
	if err != nil {
		return progress{}, err
	}
	now, err := progressIn(ctx, st)
	return now, errors.Join(err, st.Close())
}

func progressIn(ctx context.Context, st *store.Store) (now progress, err error) {
	list, err := st.List(ctx, session.Filter{})
	i := slices.IndexFunc(list, func(s session.Session) bool { return s.Plan != nil })
	if err != nil || i < 0 {
		return now, err
	}
	plan := list[i].Plan
	now = progress{id: list[i].ID, done: plan.Done(), steps: len(plan.Steps), currentStep: plan.Current()}
	if now.currentStep == 0 || plan.Steps[now.currentStep-1].Session == "" {
		return now, nil
	}
	id := plan.Steps[now.currentStep-1].Session
	ended, err := st.EventsOfType(ctx, id, "tool.ended")
	if err != nil {
		return now, err
	}
	for _, r := range ended {
		if e := r.Event.(session.ToolEnded); e.Diff != "" {
			added, removed := tools.Changed(e.Diff)
			now.changed = fmt.Sprintf("%s +%d −%d", e.Title, added, removed)
		}
	}
	draft, _, err := st.Draft(ctx, id)
	now.draft = draft.Text
	return now, err
}
