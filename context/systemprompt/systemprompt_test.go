package systemprompt

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAgentsFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	user, repo := filepath.Join(dir, "user"), filepath.Join(dir, "repo")
	root := filepath.Join(repo, "service")
	write(t, filepath.Join(user, "AGENTS.md"), "user rules")
	write(t, filepath.Join(repo, "AGENTS.md"), "repository rules")
	write(t, filepath.Join(root, "AGENTS.md"), strings.Repeat("x", maxFile+10))
	write(t, filepath.Join(root, "deep", "AGENTS.md"), "deep rules")
	if out, err := exec.Command("git", "-C", repo, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	now := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

	t.Run("all are read in a trusted folder, from the user's to the nearest", func(t *testing.T) {
		got := Build(t.Context(), Options{Root: root, User: user, Trusted: true, Now: now})
		a, b := strings.Index(got.Instructions, "user rules"), strings.Index(got.Instructions, "repository rules")
		if a < 0 || b < a {
			t.Errorf("order of rules is %d, %d", a, b)
		}
		if len(got.Sources) != 3 || !got.Sources[2].Cut ||
			!strings.Contains(got.Instructions, "read the file for the rest") {
			t.Errorf("Sources = %+v", got.Sources)
		}
		if strings.Contains(got.Instructions, "deep rules") || !strings.Contains(got.Instructions, "deep/AGENTS.md") {
			t.Error("the nested file should be named and not read")
		}
	})
	t.Run("a project's link leads to no file elsewhere, and to no key", func(t *testing.T) {
		key := filepath.Join(dir, "id_ed25519")
		write(t, key, "PRIVATE")
		write(t, filepath.Join(repo, ".env"), "PRIVATE")
		write(t, filepath.Join(repo, "docs", "rules.md"), "rules by a link")
		for target, want := range map[string]bool{key: false, "../.env": false, "../docs/rules.md": true} {
			linked := filepath.Join(repo, "linked")
			if err := os.RemoveAll(linked); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(linked, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(linked, "AGENTS.md")); err != nil {
				t.Skip(err)
			}
			got := Build(t.Context(), Options{Root: linked, User: user, Trusted: true, Now: now})
			if strings.Contains(got.Instructions, "PRIVATE") || strings.Contains(got.Instructions, "rules by a link") != want {
				t.Errorf("a link to %s: %s", target, got.Instructions)
			}
		}
	})
	t.Run("only the user's is read in a folder that is not trusted", func(t *testing.T) {
		got := Build(t.Context(), Options{Root: root, User: user, Now: now})
		if len(got.Sources) != 1 || strings.Contains(got.Instructions, "repository rules") ||
			strings.Contains(got.Instructions, "deep/AGENTS.md") {
			t.Errorf("Sources = %+v", got.Sources)
		}
	})
}
