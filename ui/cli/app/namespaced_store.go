package app

import (
	"context"
	"strings"

	"belay/models/capacity"
)

// namespacedStore keeps what is known of the models apart by the endpoint behind
// their names: that nothing runs at one address, or that a script plays full,
// says nothing about another.
type namespacedStore struct {
	capacity.Shared
	endpoint func(provider string) string
}

// namespaced is the key under which a state is stored: the endpoint stands
// behind a sign that no key has.
func (s namespacedStore) namespaced(key string) string {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) < 2 {
		return key
	}
	return key + "\n" + s.endpoint(parts[1])
}

// UpdateShared changes the state of today's endpoint.
func (s namespacedStore) UpdateShared(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	return s.Shared.UpdateShared(ctx, s.namespaced(key), change)
}

// SharedStates gives what is known of today's endpoints.
func (s namespacedStore) SharedStates(ctx context.Context) (map[string][]byte, error) {
	all, err := s.Shared.SharedStates(ctx)
	known := map[string][]byte{}
	for stored, value := range all {
		if key, _, _ := strings.Cut(stored, "\n"); stored == s.namespaced(key) {
			known[key] = value
		}
	}
	return known, err
}
