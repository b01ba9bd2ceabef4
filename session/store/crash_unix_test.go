//go:build unix

package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// readable makes c run as somebody who may read dir and nothing more.
func readable(t *testing.T, c *exec.Cmd, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		return
	}
	public, err := os.MkdirTemp("", "store-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(public) })
	exe := filepath.Join(public, "exe")
	if err := copyFile(c.Path, exe); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{public, exe, dir, filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{File, File + "-wal"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o444); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	c.Path = exe
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
