package cli

import (
	"context"
	"strings"

	"belay/models/capacity"
)

// apart keeps what is known of the models by the endpoint behind their names:
// that nothing runs at one address, or that a script plays full, says nothing of
// another.
type apart struct {
	capacity.Shared
	endpoint func(provider string) string
}

// place is where the state of a key is kept: behind a sign that no key has.
func (a apart) place(key string) string {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) < 2 {
		return key
	}
	return key + "\n" + a.endpoint(parts[1])
}

// Update changes the state of this endpoint.
func (a apart) Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	return a.Shared.UpdateShared(ctx, a.place(key), change)
}

// All gives what is known of the endpoints of now.
func (a apart) All(ctx context.Context) (map[string][]byte, error) {
	all, err := a.Shared.SharedStates(ctx)
	known := map[string][]byte{}
	for place, value := range all {
		if key, _, _ := strings.Cut(place, "\n"); place == a.place(key) {
			known[key] = value
		}
	}
	return known, err
}
