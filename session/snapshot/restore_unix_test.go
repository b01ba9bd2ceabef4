//go:build unix

package snapshot

import (
	"os"
	"path/filepath"
	"testing"
)

func TestARestoredFileKeepsItsOtherNames(t *testing.T) {
	p := newPlace(t)
	p.write(map[string]string{"a": "before", "b": "before"})
	path, other := filepath.Join(p.root, "a"), filepath.Join(t.TempDir(), "other")
	if err := os.Link(path, other); err != nil {
		t.Skip(err)
	}
	before := p.take().ID
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(p.root, name), []byte("after, and longer"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o751|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	if done := p.rewind(before, p.take().ID); done.ID != before || len(done.Failed) > 0 {
		t.Fatalf("got %+v, want %s", done, before)
	}
	for _, name := range []string{path, other} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(name)
		if string(content) != "before" || err != nil || info.Mode() != 0o640|os.ModeSetgid {
			t.Errorf("%s holds %q (%v), %v", name, content, info.Mode(), err)
		}
	}
}
