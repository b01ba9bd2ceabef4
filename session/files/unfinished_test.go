package files

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileThatWasBeingWrittenInPlaceIsWhole(t *testing.T) {
	for _, tt := range []struct {
		name, old, new, now, want string
		restored                  bool
	}{
		{"nothing was written yet", "old text", "new words here", "old text", "old text", false},
		{"some of it", "old text", "new words here", "new text", "old text", true},
		{"all but the end", "old", "new words here", "new words he", "old", true},
		{"all, but not yet cut", "old text that is long", "new", "new text that is long", "old text that is long", true},
		{"all of it", "old text", "new words here", "new words here", "new words here", false},
		{"somebody worked on", "old text", "new words here", "new text, and more", "new text, and more", false},
		{"somebody emptied it", "old text", "new words here", "", "", false},
		{"an empty file was filled", "", "new words", "new w", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := Writer{Aside: t.TempDir()}
			path := filepath.Join(t.TempDir(), "file")
			if _, err := w.keepAside(path, []byte(tt.old), []byte(tt.new)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.now), 0o600); err != nil {
				t.Fatal(err)
			}
			restored, err := w.RestoreUnfinished(path, Hash([]byte(tt.old)))
			if restored != tt.restored || err != nil {
				t.Errorf("RestoreUnfinished() = %v, %v, want %v", restored, err, tt.restored)
			}
			if got, err := os.ReadFile(path); string(got) != tt.want || err != nil {
				t.Errorf("the file holds %q, %v, want %q", got, err, tt.want)
			}
			left, err := os.ReadDir(w.Aside)
			if len(left) != 0 || err != nil {
				t.Errorf("%v is left aside, %v", left, err)
			}
		})
	}
}

func TestWhatIsKeptAsideGoesWhenTheFileIsWritten(t *testing.T) {
	dir, aside := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "file")
	for _, name := range []string{path} {
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(path, filepath.Join(dir, "other")); err != nil {
		t.Skip(err) // without links there is nothing to lose
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	w := Writer{Aside: aside, NewID: func() string { return "id" }}
	if err := w.Replace(root, "file", path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "other")); string(got) != "new" || err != nil {
		t.Errorf("the other name holds %q, %v, want the new content", got, err)
	}
	left, err := os.ReadDir(aside)
	if len(left) != 0 || err != nil {
		t.Errorf("%v is left aside, %v; want that it was kept there and is gone", left, err)
	}
}
