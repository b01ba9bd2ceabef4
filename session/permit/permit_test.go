package permit

import (
	"os"
	"path/filepath"
	"testing"

	"belay/session"
)

func workspace(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(filepath.Dir(root), "secret")
	for _, err := range []error{
		os.WriteFile(filepath.Join(root, "a.go"), nil, 0o600),
		os.WriteFile(secret, nil, 0o600),
		os.Symlink(secret, filepath.Join(root, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestCommands(t *testing.T) {
	root := workspace(t)
	grants := []string{"prefix:go test", "exact:make all && rm out"}
	for _, tt := range []struct {
		name, command string
		want          Verdict
		always        string
	}{
		{"looking runs", "ls -la && cat a.go | head -5 2>/dev/null", Allow, ""},
		{"asking git runs", "git status --short; git log --oneline -5", Allow, ""},
		{"a granted beginning runs", "go test ./... -run X", Allow, ""},
		{"a granted line runs", "make all && rm out", Allow, ""},
		{"other sub-commands ask", "go run .", Ask, "commands that begin with `go run .`"},
		{"each part is judged", "go test ./... && git push", Ask, "commands that begin with `git push`"},
		{"a redirect into a file asks", "echo hi > a.go", Ask, "exactly this command"},
		{"a substitution asks", "echo $(rm a.go)", Ask, "exactly this command"},
		{"a variable as command asks", "$X a.go", Ask, "exactly this command"},
		{"reading a secret asks", "cat /etc/shadow", Ask, ""},
		{"reading the home folder asks", "cat ~/.ssh/id_rsa", Ask, ""},
		{"climbing out asks", "cat ../secret", Ask, ""},
		{"a link that leads out asks", "cat link", Ask, ""},
		{"a pattern that meets such a link asks", "cat li*", Ask, ""},
		{"a brace that meets such a link asks", "cat {a.go,link}", Ask, ""},
		{"reading through a redirect is judged as well", "wc -l < ../secret", Ask, ""},
		{"find that runs programs asks", "find . -exec rm {} +", Ask, "exactly this command"},
		{"git that writes a file asks", "git log --output=x", Ask, ""},
		{"git that runs a program asks", "git grep -O foo", Ask, ""},
		{"a program hidden behind a quote is seen", `"r"m -rf /`, Deny, ""},
		{"the whole disk is never deleted", "sudo rm -rf /", Deny, ""},
		{"a runner is granted only word for word", "python3 x.py", Ask, "exactly this command"},
		{"nonsense asks", "if (", Ask, "exactly this command"},
		{"a variable set for a command asks", "GIT_PAGER=evil git log", Ask, "exactly this command"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Judge(session.Edits, Call{Tool: "shell", Class: session.Run, Command: tt.command, Path: root, Root: root}, grants)
			if got.Verdict != tt.want {
				t.Errorf("Judge(%q) = %s (%s), want %s", tt.command, got.Verdict, got.Reason, tt.want)
			}
			if tt.always != "" && got.Always() != tt.always {
				t.Errorf("Always() = %q, want %q", got.Always(), tt.always)
			}
		})
	}
}

func TestAGrantCoversWhatItSays(t *testing.T) {
	root := workspace(t)
	for _, command := range []string{"go vet ./...", "make out > log", "a.out", "npm run build -- --watch", "ls && cargo test"} {
		c := Call{Tool: "shell", Class: session.Run, Command: command, Path: root, Root: root}
		d := Judge(session.Edits, c, nil)
		if d.Verdict != Ask || len(d.Grants) == 0 {
			t.Fatalf("Judge(%q) = %+v, want a question that can be settled", command, d)
		}
		if again := Judge(session.Edits, c, d.Grants); again.Verdict != Allow {
			t.Errorf("Judge(%q) with its grants %q = %s, want allow", command, d.Grants, again.Verdict)
		}
	}
}

func TestFiles(t *testing.T) {
	root := workspace(t)
	inside, outside := filepath.Join(root, "a.go"), filepath.Join(filepath.Dir(root), "secret")
	for _, tt := range []struct {
		name  string
		mode  session.Mode
		class session.Class
		path  string
		want  Verdict
	}{
		{"reading inside runs", session.Ask, session.Read, inside, Allow},
		{"writing asks in ask", session.Ask, session.Write, inside, Ask},
		{"writing runs in edits", session.Edits, session.Write, inside, Allow},
		{"reading outside asks", session.Edits, session.Read, outside, Ask},
		{"writing outside asks", session.Edits, session.Write, outside, Ask},
		{"writing outside runs in all", session.All, session.Write, outside, Allow},
		{"a repository's hooks ask in edits", session.Edits, session.Write, filepath.Join(root, ".git", "hooks", "pre-commit"), Ask},
		{"and in all", session.All, session.Write, filepath.Join(root, "sub", ".GIT", "config"), Ask},
		{"so do belay's own settings", session.Edits, session.Write, filepath.Join(root, ".belay.toml"), Ask},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Call{Class: tt.class, Path: tt.path, Outside: tt.path == outside, Root: root}
			if got := Judge(tt.mode, c, nil); got.Verdict != tt.want {
				t.Errorf("Judge = %s (%s), want %s", got.Verdict, got.Reason, tt.want)
			}
		})
	}
}

func FuzzNothingThatWritesIsReadOnly(f *testing.F) {
	for _, s := range []string{"ls", "cat a | rm b", "echo `rm x`", "a\\\nb", "<(x)", "find . -delete"} {
		f.Add(s)
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, command string) {
		d := Judge(session.Edits, Call{Class: session.Run, Command: command, Path: root, Root: root}, nil)
		if d.Verdict != Allow {
			return
		}
		for _, words := range parse(command).calls {
			if !readOnly(words, root, root) {
				t.Errorf("%q runs although %q is not read-only", command, words)
			}
		}
	})
}
