package files

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFolderIsKnownWhereverItIsMovedTo(t *testing.T) {
	dir := t.TempDir()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	if err := os.Mkdir(here, 0o700); err != nil {
		t.Fatal(err)
	}
	before := FolderID(here)
	if before == "" {
		t.Skip("this file system does not say when a folder was made")
	}
	if err := os.Rename(here, there); err != nil {
		t.Fatal(err)
	}
	if got := FolderID(there); got != before {
		t.Errorf("got %q after it was moved, want %q", got, before)
	}
	if got := FolderID(here); got != "" {
		t.Errorf("got %q for a folder that is gone", got)
	}
	if err := os.Mkdir(here, 0o700); err != nil {
		t.Fatal(err)
	}
	if FolderID(here) == before {
		t.Error("a new folder at the old path is taken for the moved one")
	}
}
