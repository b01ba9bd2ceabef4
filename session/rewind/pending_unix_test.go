//go:build unix

package rewind

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"belay/session"
)

func TestAFileThatIsPutBackStaysTheFileItIs(t *testing.T) {
	for name, tt := range map[string]struct {
		harm func(t *testing.T, path string) error
		mode os.FileMode // afterwards
		same bool        // the same inode
	}{
		"its other names":          {func(_ *testing.T, path string) error { return os.Link(path, path+"2") }, 0o640, true},
		"its owner":                {func(_ *testing.T, path string) error { return os.Chown(path, 12345, 23456) }, 0o640, true},
		"its mode as it was":       {func(_ *testing.T, path string) error { return os.Chmod(path, 0o755) }, 0o640, false},
		"though it is protected":   {func(_ *testing.T, path string) error { return os.Chmod(path, 0o400) }, 0o640, false},
		"though it cannot be read": {func(_ *testing.T, path string) error { return os.Chmod(path, 0) }, 0o640, false},
		"a link in its place is no way out": {func(t *testing.T, path string) error {
			other := filepath.Join(t.TempDir(), "other")
			t.Cleanup(func() {
				if content, err := os.ReadFile(other); string(content) != "mine" || err != nil {
					t.Errorf("what a link leads to holds %q, %v", content, err)
				}
			})
			_ = os.WriteFile(other, []byte("mine"), 0o600)
			_ = os.Remove(path)
			return os.Symlink(other, path)
		}, 0o640, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "file")
			if err := os.WriteFile(path, []byte("after, and longer"), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := tt.harm(t, path); err != nil {
				t.Skip(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			failed := restorePreImages(root, []session.PreImage{{Path: "file", Content: []byte("before"), Mode: 0o640}})
			after, err := os.Lstat(path)
			if err != nil || len(failed) > 0 {
				t.Fatal(err, failed)
			}
			was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
			if os.SameFile(before, after) != tt.same || after.Mode() != tt.mode || was.Uid != is.Uid || was.Gid != is.Gid {
				t.Errorf("%+v became %+v", was, is)
			}
			if content, err := os.ReadFile(path); string(content) != "before" || err != nil {
				t.Errorf("it holds %q, %v", content, err)
			}
			if left, err := os.ReadDir(root); len(left) > 2 || err != nil {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}
