package store

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"belay/models/capacity"
)

var _ capacity.Shared = (*Store)(nil)

func set(value string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(value), nil }
}

func values(t testing.TB, s *Store) map[string]string {
	t.Helper()
	all, err := s.SharedStates(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for k, v := range all {
		got[k] = string(v)
	}
	return got
}

func TestSharedValues(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	broken := errors.New("no")
	for _, tt := range []struct {
		name   string
		in     *Store
		key    string
		change func(old []byte) ([]byte, error)
		err    error
		want   map[string]string
	}{
		{"a new key has no old value", a, "x",
			func(old []byte) ([]byte, error) {
				return fmt.Appendf(nil, "%v", old == nil),
					nil
			}, nil, map[string]string{"x": "true"}},
		{"another store sees it and changes it", b, "x", func(old []byte) ([]byte, error) { return append(old, '!'), nil },
			nil, map[string]string{"x": "true!"}},
		{"nil changes nothing", a, "x", func([]byte) ([]byte, error) { return nil, nil }, nil,
			map[string]string{"x": "true!"}},
		{"an error changes nothing", a, "x", func([]byte) ([]byte, error) { return []byte("lost"), broken }, broken,
			map[string]string{"x": "true!"}},
		{"keys are kept apart", a, "target/p/a/b", set("y"), nil, map[string]string{"x": "true!", "target/p/a/b": "y"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.in.UpdateShared(ctx, tt.key, tt.change); !errors.Is(err, tt.err) {
				t.Errorf("Update() = %v, want %v", err, tt.err)
			}
			if got := values(t, b); !maps.Equal(got, tt.want) {
				t.Errorf("All() = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAnUnchangedValueIsNoNewsForOthers(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	for _, want := range []bool{true, false} {
		change := set("x")
		if !want {
			change = func([]byte) ([]byte, error) { return nil, nil }
		}
		if err := a.UpdateShared(ctx, "x", change); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Changed(ctx); err != nil || got != want {
			t.Errorf("Changed() = %v, %v; want %v", got, err, want)
		}
	}
}

func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		s := open(t, dir)
		for range 5 {
			wg.Go(func() {
				for range 5 {
					if err := s.UpdateShared(ctx, "n", func(old []byte) ([]byte, error) { return append(old, 'x'), nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if got := values(t, open(t, dir))["n"]; got != strings.Repeat("x", 100) {
		t.Errorf("%d of 100 updates are left", len(got))
	}
}

func TestASharedValueCannotBeChangedInAStoreForReading(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.UpdateShared(ctx, "x", set("y")); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Update() = %v, want ErrReadOnly", err)
	}
}

func BenchmarkUpdate(b *testing.B) {
	s := open(b, b.TempDir())
	value := []byte(strings.Repeat("x", 1000))
	for b.Loop() {
		if err := s.UpdateShared(ctx, "target/openai/sol", func([]byte) ([]byte, error) { return value, nil }); err != nil {
			b.Fatal(err)
		}
	}
}
