//go:build unix

package systemprompt

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestRulesThatAreAPipeAreLeftOut(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "AGENTS.md"), 0o600); err != nil {
		t.Skip(err)
	}
	if got := Build(t.Context(), Options{Root: root, User: "/dev", Trusted: true, Now: time.Unix(0, 0)}); len(got.Sources) != 0 {
		t.Errorf("Sources = %+v", got.Sources)
	}
}
