package app

import (
	"context"
	"time"

	"belay/models"
	"belay/models/capacity"
	"belay/session/queue"
)

// QueueState is what a queue holds, and how its workers find the models.
type QueueState struct {
	*queue.Summary
	Targets []models.Condition `json:"targets,omitempty"` // of the tiers, those that are worth a word
}

// QueueState tells what the queue of tasks holds; nil: there is none. It waits for a
// second at most.
func (a *App) QueueState(ctx context.Context) (*QueueState, error) {
	ctx, err := a.options.Within(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := DataDir(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	summary, err := queue.Look(ctx, queue.Options{URL: string(a.Settings.Queue.URL), Dir: dir, Now: a.env.Now})
	if err != nil || summary == nil {
		return nil, err
	}
	state := &QueueState{Summary: summary}
	if len(summary.Shared) == 0 {
		return state, nil
	}
	endpoint := func(provider string) string { return endpointBehind(a.options, a.Catalog, provider) }
	shared := capacity.New(capacity.Options{
		Shared: namespacedStore{lookedAt(summary.Shared), endpoint}, Tiers: TierTargets(a.Settings), Now: a.env.Now,
	})
	shared.Refresh(ctx)
	seen := map[models.Target]bool{}
	for _, tier := range a.TargetStates("") {
		c := shared.Condition(tier.Target)
		if c.State != models.Unknown && !seen[c.Target] {
			seen[c.Target] = true
			state.Targets = append(state.Targets, c)
		}
	}
	return state, nil
}

// lookedAt is a state of the models as somebody else keeps it, to be read.
type lookedAt map[string][]byte

// SharedStates gives what was read.
func (l lookedAt) SharedStates(context.Context) (map[string][]byte, error) { return l, nil }

// UpdateShared changes nothing: who looks finds out nothing about models.
func (l lookedAt) UpdateShared(context.Context, string, func([]byte) ([]byte, error)) error {
	return nil
}
