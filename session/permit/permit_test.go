package permit

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
		os.Mkdir(filepath.Join(root, "sub"), 0o700),
		os.Symlink(secret, filepath.Join(root, "sub", "inner")),
		os.Mkdir(filepath.Join(filepath.Dir(root), "room"), 0o700),
		os.Symlink(filepath.Join(filepath.Dir(root), "room"), filepath.Join(root, "door")),
		os.WriteFile(filepath.Join(root, "-delete"), nil, 0o600),
		os.WriteFile(filepath.Join(root, "--pre=x"), nil, 0o600),
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
		// Words that the shell makes into others.
		{"a quoted escape is read as the shell does", `cat $'\x2e\x2e/secret'`, Ask, ""},
		{"a broken line is joined", "cat .\\\n./secret", Ask, ""},
		{"a flag made of braces asks", "find . -{delete,print}", Ask, "exactly this command"},
		{"a path made of a range asks", "cat {l..l}ink", Ask, ""},
		{"a flag that is the name of a file is seen", "find . *", Ask, ""},
		{"so is one in a class", "rg x [!b]*", Ask, ""},
		{"a quoted pattern is none", "grep -n 'li[n]k*' a.go", Allow, ""},
		{"a home folder after an equals sign asks", "cat a=~/x", Ask, ""},
		// Places where the shell evaluates text.
		{"a test with arithmetic asks", "[[ 'a[$(rm x)]' -eq 0 ]]", Ask, ""},
		{"so does test -v", "test -v 'a[$(rm x)]'", Ask, ""},
		{"and its bracket", "[ -v 'a[$(rm x)]' ]", Ask, ""},
		{"and arithmetic alone", "((a=1)); ls", Ask, ""},
		{"printf that sets a variable asks", "printf -v PATH bin; ls", Ask, ""},
		{"a loop that sets a variable asks", "for PATH in bin; do ls; done", Ask, ""},
		{"a descriptor that sets a variable asks", "ls {PATH}<a.go", Ask, ""},
		{"a substitution in a here-document asks", "cat <<X\n$(rm a.go)\nX", Ask, ""},
		{"a variable in a here-string runs", "cat <<< $TOKEN", Allow, ""},
		{"a quoted here-document runs", "cat <<'X'\n$(rm a.go)\nX", Allow, ""},
		// Where it looks.
		{"cd into the home folder asks", "cd; cat .profile", Ask, ""},
		{"cd to where it was asks", "cd - && cat x", Ask, ""},
		{"cd inside runs", "cd sub && ls", Allow, ""},
		{"a link beside the new folder is seen", "cd sub && cat inner", Ask, ""},
		{"also if the cd may fail", "cd sub || cat link", Ask, ""},
		{"what follows a link up is seen", "cat door/../secret", Ask, ""},
		{"a path attached to a flag asks", "date -f/etc/shadow", Ask, ""},
		{"a link attached to a flag asks", "grep -nflink a.go", Ask, ""},
		{"a path after an equals sign asks", "git diff --no-index --output-indicator-new=/etc/x a.go", Ask, ""},
		{"looking through links asks", "grep -Rn x .", Ask, ""},
		{"comparing folders asks", "diff -r . sub", Ask, ""},
		{"a character that looks like a path runs", "ls | tr / _ && echo /etc", Allow, ""},
		// Flags and operands that write or run.
		{"a shortened flag is known", "git diff --outp=x", Ask, ""},
		{"a shortened flag of sort is known", "sort --comp=./evil a.go", Ask, ""},
		{"the second file of uniq asks", "uniq a.go b.go", Ask, ""},
		{"tree into files asks", "tree -L 1 -R", Ask, ""},
		{"find into a file asks", "find . -fprintf x y", Ask, ""},
		{"setting the clock asks", "date 010100002030", Ask, ""},
		{"setting the name asks", "hostname evil", Ask, ""},
		{"the time runs", "date -u +%s", Allow, ""},
		{"a program before the search asks", "rg --pre ./x y", Ask, "exactly this command"},
		{"a program before go's tools asks", "go list --toolexec=./x ./...", Ask, "exactly this command"},
		{"go that builds asks", "go list -export ./...", Ask, ""},
		{"go that fetches asks", "go list -m evil.example/secret@latest", Ask, ""},
		{"go that serves asks", "go doc -http", Ask, ""},
		{"go that looks runs", "go list -f '{{.Dir}}' ./... && go doc fmt.Println", Allow, ""},
		{"git that looks outside asks", "git diff --no-index /etc/passwd a.go", Ask, ""},
		{"git that shows an older file runs", "git show HEAD~2:../a.go", Allow, ""},
		{"git elsewhere asks", "git -C /tmp log", Ask, "exactly this command"},
		{"git with a setting asks", "git -c core.pager=x log", Ask, "exactly this command"},
		{"jq, which reads the environment, asks", "jq -n env", Ask, ""},
		{"output to an ampersand is a file", "echo x >&out", Ask, ""},
		{"joining outputs is none", "ls >&2 2>&1 | cat", Allow, ""},
		{"reading and writing at once asks", "cat <>out", Ask, ""},
		{"the whole home is never deleted", `rm -rf "$HOME"`, Deny, ""},
		{"nor all in it", "rm -rf ${HOME}/*", Deny, ""},
		{"nor through another shell", "bash -lc 'sudo -n rm -rf /'", Deny, ""},
		{"nor inside a substitution", "echo $(rm -rf /*)", Deny, ""},
		{"a newer runner is a runner", "python3.12 x.py", Ask, "exactly this command"},
		{"a hostile number of words asks", "echo {1..1000000000}", Ask, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Judge(session.Edits,
				Call{Tool: "shell", Class: session.Run, Command: tt.command, Path: root, Root: root}, grants)
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
	for _, command := range []string{"go build ./...", "make out > log", "a.out", "npm run build -- --watch",
		"ls && cargo test"} {
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
		{"a repository's hooks ask in edits", session.Edits, session.Write, filepath.Join(root, ".git", "hooks",
			"pre-commit"), Ask},
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

// Files that other programs obey by themselves ask in every mode.
func TestFilesThatSteerProgramsAlwaysAsk(t *testing.T) {
	root := workspace(t)
	for path, want := range map[string]Verdict{
		".envrc": Ask, ".vscode/tasks.json": Ask, ".husky/pre-commit": Ask, "AGENTS.md": Ask, "docs/agents.MD": Ask,
		".github/workflows/ci.yml": Ask, "bare.git/hooks/update": Ask, ".bashrc": Ask, "sub/.ssh/config": Ask,
		".git./config": Ask, ".npmrc": Ask, ".gitattributes": Ask,
		"a.go": Allow, "git/hooks.go": Allow, "github/x.go": Allow, "docs/AGENTS.md.tmpl": Allow, ".editorconfig": Allow,
	} {
		for _, mode := range []session.Mode{session.Edits, session.All} {
			c := Call{Class: session.Write, Path: filepath.Join(root, path), Root: root}
			if got := Judge(mode, c, []string{"write:"}); got.Verdict != want {
				t.Errorf("%s in %s = %s (%s), want %s", path, mode, got.Verdict, got.Reason, want)
			}
		}
	}
}

func TestARuleHoldsWhereItWasGiven(t *testing.T) {
	root := workspace(t)
	c := Call{Class: session.Run, Command: "./x.sh > log", Path: root, Root: root}
	d := Judge(session.Edits, c, nil)
	c.Path = filepath.Join(root, "sub")
	if got := Judge(session.Edits, c, d.Grants); got.Verdict != Ask {
		t.Errorf("the same line in another folder = %s, want ask", got.Verdict)
	}
	c.Path, c.Outside = filepath.Dir(root), true
	if got := Judge(session.Edits, c, d.Grants); got.Verdict != Ask {
		t.Errorf("the same line outside = %s, want ask", got.Verdict)
	}
}

func TestAnotherShellIsNotJudgedByTheRulesOfThisOne(t *testing.T) {
	root := workspace(t)
	c := Call{Class: session.Run, Command: "ls", Path: root, Root: root, Shell: "powershell.exe"}
	if got := Judge(session.Edits, c, nil); got.Verdict != Ask {
		t.Errorf("Judge = %s, want ask", got.Verdict)
	}
}

func TestReadingOutsideIsAllowedNoWiderThanAsked(t *testing.T) {
	root := workspace(t)
	room := filepath.Join(filepath.Dir(root), "room")
	for _, tt := range []struct{ name, path, want string }{
		{"a folder for itself", room, "outside:" + room},
		{"a file for its folder", filepath.Join(room, "x"), "outside:" + room},
		{"the disk not at all", "/", ""},
		{"a file at the top not either", "/vmlinuz", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := Judge(session.Edits, Call{Class: session.Read, Path: tt.path, Outside: true, Root: root}, nil)
			if got := strings.Join(d.Grants, " "); d.Verdict != Ask || got != tt.want {
				t.Errorf("Judge(%q) = %s with %q, want ask with %q", tt.path, d.Verdict, got, tt.want)
			}
		})
	}
}

// FuzzTheShellPassesOnTheWordsThatWereJudged compares with a real shell what
// a line's words become.
func FuzzTheShellPassesOnTheWordsThatWereJudged(f *testing.F) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("there is no bash")
	}
	for _, s := range []string{"a 'b c' \"d\\e\\$\"", "*.go", "$'\\x2e.'", ".\\\n./x", "[!a]*", "\\*", "'*'\"?\"*",
		"a#b #c", "s*/i*", "''", "-?elete"} {
		f.Add(s)
	}
	root := f.TempDir()
	for _, name := range []string{"a.go", "b.go", "-delete", "*"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, args string) {
		l := parse("rec " + args)
		if l.unjudgeable != "" || l.guessed != "" || l.writes || len(l.calls) != 1 || strings.ContainsAny(args, "<>\x00") {
			return
		}
		judged, err := fields(l.calls[0].words, root)
		if err != nil || judged[0] != "rec" {
			return
		}
		cmd := exec.Command(bash, "-c", "rec() { printf '%s\\0' \"$@\"; }; rec "+args)
		cmd.Dir, cmd.Env = root, []string{"LC_ALL=C.UTF-8"}
		out, err := cmd.Output()
		if err != nil {
			return
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		for _, word := range got {
			if len(judged) > 1 && !slices.Contains(judged[1:], word) && !strings.Contains(word, "//") &&
				!strings.HasPrefix(word, "/proc/") {
				t.Errorf("%q: the shell passes on %q, judged was %q", args, got, judged[1:])
			}
		}
	})
}
