//go:build unix

package config

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestSettingsThatAreNoFileAreAFault(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), ProjectFile)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{pipe, "/dev/zero", t.TempDir()} {
		if _, err := Load(Sources{UserFile: name, Named: true}); err == nil {
			t.Errorf("%s was taken for settings", name)
		}
		if got, err := Load(Sources{ProjectFile: name, Trusted: true}); err != nil || len(got.Ignored()) == 0 {
			t.Errorf("%s was taken for a project's settings: %v", name, err)
		}
	}
}
