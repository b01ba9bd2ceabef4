package cli

import (
	"context"
	"time"

	"belay/models"
)

// week is how far back a look at how models do goes.
const week = 7 * 24 * time.Hour

// served finds the name under which each target's replies came last.
func (h *House) served(ctx context.Context, now time.Time) (map[models.Target]string, error) {
	names := map[models.Target]string{}
	for a, err := range h.Store.Attempts(ctx, now.Add(-week), time.Time{}) {
		if err != nil {
			return nil, err
		}
		if a.ServedModel != "" {
			names[a.Target()] = a.ServedModel
		}
	}
	return names, nil
}

func gather(ctx context.Context, now time.Time) (evidence, error) { return evidence{}, nil }
