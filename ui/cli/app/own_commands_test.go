package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/models"
)

func TestOwnCommandsAreReadWithinBounds(t *testing.T) {
	user, project := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", user)
	t.Setenv("HOME", user)
	write := func(dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(user, "belay/commands/fix.md", "---\ndescription: \"mend it\"\ntier: light\n---\nFix $1.\n")
	write(user, "belay/commands/huge.md", strings.Repeat("x", maxOwnCommand+1))
	write(user, "belay/commands/no\x1bname.md", "x")
	write(user, "secret.md", "the key")
	write(project, ".belay/commands/fix.md", "the project's")
	write(project, ".belay/commands/Ship.md", "Ship $ARGUMENTS")
	write(project, ".claude/commands/other.md", "Other")
	if err := os.Symlink(filepath.Join(user, "secret.md"), filepath.Join(project, ".belay/commands/leak.md")); err != nil {
		t.Skip(err)
	}
	a := &App{options: Options{Project: project}}
	if got := a.OwnCommands(); len(got) != 1 || got[0] != (OwnCommand{"fix", "mend it", models.Light, "Fix $1.", false}) {
		t.Errorf("untrusted: %+v", got)
	}
	a.trusted = true
	var names []string
	for _, c := range a.OwnCommands() {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "fix ship other" {
		t.Errorf("trusted: %s", got)
	}
}
