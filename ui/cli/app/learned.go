package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"belay/models"
	"belay/models/capacity"
	"belay/models/openai"
)

// learned keeps what endpoints have taught of how they want to be asked, so that
// the next belay asks in that way at once.
type learned struct {
	shared capacity.Shared
	report func(error)
}

const learnedKey = "dialect/" // and the target

// restore tells a client what earlier ones have learned.
func (l *learned) restore(ctx context.Context, client *openai.Client) {
	states, err := l.shared.SharedStates(ctx)
	if err != nil {
		l.report(err)
		return
	}
	for key, value := range states {
		name, ok := strings.CutPrefix(key, learnedKey)
		target, err := models.ParseTarget(name)
		var adjustments []string
		if !ok || err != nil || json.Unmarshal(value, &adjustments) != nil {
			continue
		}
		for _, adjustment := range adjustments {
			client.Remember(target, adjustment)
		}
	}
}

// keep stores what was learned just now.
func (l *learned) keep(target models.Target, adjustment string) {
	err := l.shared.UpdateShared(context.Background(), learnedKey+target.String(), func(old []byte) ([]byte, error) {
		var adjustments []string
		_ = json.Unmarshal(old, &adjustments) // what cannot be read is learned again
		if slices.Contains(adjustments, adjustment) {
			return nil, nil
		}
		return json.Marshal(append(adjustments, adjustment))
	})
	if err != nil {
		l.report(err)
	}
}
