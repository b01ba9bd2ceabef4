package app

import (
	"context"
	"testing"
)

// sharedMap is a capacity.Shared in memory.
type sharedMap map[string][]byte

func (m sharedMap) UpdateShared(_ context.Context, key string, change func(old []byte) ([]byte, error)) error {
	value, err := change(m[key])
	if err == nil && value != nil {
		m[key] = value
	}
	return err
}

func (m sharedMap) SharedStates(context.Context) (map[string][]byte, error) { return m, nil }

func TestAnotherEndpointBehindTheSameNameIsAnotherTarget(t *testing.T) {
	stored := sharedMap{}
	address := "https://one.example/v1"
	s := namespacedStore{stored, func(string) string { return address }}
	full := func([]byte) ([]byte, error) { return []byte("full"), nil }
	if err := s.UpdateShared(t.Context(), "target/local/qwen", full); err != nil {
		t.Fatal(err)
	}
	if err := s.UpdateShared(t.Context(), "budget", full); err != nil { // belongs to no provider
		t.Fatal(err)
	}
	known, err := s.SharedStates(t.Context())
	if err != nil || string(known["target/local/qwen"]) != "full" || len(known) != 2 {
		t.Errorf("at the same address: %q, %v; want both states", known, err)
	}
	address = "https://two.example/v1"
	known, err = s.SharedStates(t.Context())
	if _, ok := known["target/local/qwen"]; err != nil || ok || len(known) != 1 {
		t.Errorf("at another address: %q, %v; want the state of no provider alone", known, err)
	}
	var before []byte
	err = s.UpdateShared(t.Context(), "target/local/qwen",
		func(old []byte) ([]byte, error) { before = old; return nil, nil })
	if err != nil || before != nil {
		t.Errorf("the other address begins with %q, %v; want nothing", before, err)
	}
}
