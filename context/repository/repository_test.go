package repository

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostile makes a repository whose settings start a program wherever git lets them,
// and gives the file that the program would make.
func hostile(t *testing.T) (dir, effect string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	effect = filepath.Join(t.TempDir(), "effect")
	program := filepath.Join(dir, "program.sh")
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\necho \"$0 $*\" >>%s\ncat\n", effect), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Skipf("git %v: %v: %s", args, err, out)
		}
	}
	run("init", "-q", "-b", "main")
	for name, content := range map[string]string{"a.txt": "a\n", ".gitattributes": "*.txt filter=f diff=d\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("add", "a.txt", ".gitattributes")
	run("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first")
	for _, setting := range []string{
		"core.fsmonitor", "core.pager", "core.editor", "core.alternateRefsCommand", "core.sshCommand", "core.askPass",
		"diff.external", "diff.d.textconv", "diff.d.command", "filter.f.clean", "filter.f.smudge", "filter.f.process",
		"gpg.program", "credential.helper", "pager.ls-files", "man.x.cmd",
	} {
		run("config", setting, program)
	}
	run("config", "core.hooksPath", dir)
	run("config", "alias.ls-files", "!"+program)
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction"} {
		if err := os.Symlink(program, filepath.Join(dir, hook)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, effect
}

func TestAQuestionRunsNoProgramOfTheFolder(t *testing.T) {
	dir, effect := hostile(t)
	if got := Root(t.Context(), dir); got != dir {
		t.Errorf("Root() = %q, want %q", got, dir)
	}
	if got := Branch(t.Context(), dir); got != "main" {
		t.Errorf("Branch() = %q", got)
	}
	files, err := Files(t.Context(), dir)
	if err != nil || !slices.Contains(files, "a.txt") {
		t.Errorf("Files() = %q, %v", files, err)
	}
	if ran, err := os.ReadFile(effect); err == nil {
		t.Errorf("it ran a program: %s", ran)
	}
	// The settings do have an effect where they are obeyed.
	_ = exec.Command("git", "-C", dir, "status").Run()
	if _, err := os.Stat(effect); err != nil {
		t.Error("the folder is not hostile at all")
	}
}

func TestAHookSpeaksOfAnotherRepository(t *testing.T) {
	dir, _ := hostile(t)
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE", "git_dir"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.bare")
	t.Setenv("GIT_CONFIG_VALUE_0", "true")
	if got := Root(t.Context(), dir); got != dir {
		t.Errorf("Root() = %q, want %q", got, dir)
	}
	if files, err := Files(t.Context(), dir, "*.txt"); err != nil || !slices.Equal(files, []string{"a.txt"}) {
		t.Errorf("Files() = %q, %v", files, err)
	}
}

// TestARootIsARepositorysOwn has the settings name another folder as the working tree.
func TestARootIsARepositorysOwn(t *testing.T) {
	dir, _ := hostile(t)
	if out, err := exec.Command("git", "-C", dir, "config", "core.worktree", filepath.Dir(dir)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := Root(t.Context(), dir); got != "" {
		t.Errorf("Root() = %q", got)
	}
	bare := t.TempDir()
	for _, name := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(bare, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\nbare = true\n"} {
		if err := os.WriteFile(filepath.Join(bare, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := Root(t.Context(), bare) + Branch(t.Context(), bare); strings.TrimSpace(got) != "" {
		t.Errorf("a folder that looks like a repository is one: %q", got)
	}
}
