package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain shields the tests from the settings of whoever runs them, and is also
// the process that a test kills: that one does wait for the disk.
func TestMain(m *testing.M) {
	if root := os.Getenv("SNAPSHOT_TEST_ROOT"); root != "" {
		fmt.Println("begun")
		_, err := New(Options{Dir: os.Getenv("SNAPSHOT_TEST_DIR"), Root: root}).Take(context.Background())
		fmt.Println("ended", err)
		return
	}
	RelaxForTesting()
	home, err := os.MkdirTemp("", "snapshot-home-*")
	if err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"),
		"GIT_CONFIG_NOSYSTEM": "1"} {
		os.Setenv(name, value)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// place is a workspace and its store.
type place struct {
	testing.TB
	*Store
	root, dir string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed, and snapshots are made with it")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return placeAt(t, filepath.Join(root, "work"), filepath.Join(root, "snapshots"))
}

func placeAt(t testing.TB, root, dir string) *place {
	t.Helper()
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return &place{TB: t, Store: New(Options{Dir: dir, Root: root}), root: root, dir: dir}
}

func (p *place) write(files map[string]string) {
	p.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(p.root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(files[name]), 0o644); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *place) remove(names ...string) {
	p.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(p.root, name)); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *place) link(target, name string) {
	p.Helper()
	if err := os.Symlink(target, filepath.Join(p.root, name)); err != nil {
		p.Skip("this system makes no links: ", err)
	}
}

// has reports whether a tree is kept.
func (p *place) has(t *testing.T, id string) bool { return p.checkKept(t.Context(), id) == nil }

func (p *place) take() Tree {
	p.Helper()
	tree, err := p.Take(context.Background())
	if err != nil {
		p.Fatal(err)
	}
	return tree
}

// rewind restores and wants no file to fail.
func (p *place) rewind(id, expect string) RestoreResult {
	p.Helper()
	done, err := p.Restore(context.Background(), id, expect)
	if err != nil {
		p.Fatal(err)
	}
	for _, f := range done.Failed {
		p.Errorf("restore %q: %v", f.Path, f.Err)
	}
	return done
}

func (p *place) git(args ...string) string {
	p.Helper()
	cmd := exec.Command(
		"git",
		append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = p.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// look is everything below a folder: mode, and content or target.
func look(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode()&fs.ModeSymlink != 0 {
			var target string
			target, err = os.Readlink(name)
			content = []byte(target)
		} else {
			content, err = os.ReadFile(name)
		}
		rel, _ := filepath.Rel(dir, name)
		found[filepath.ToSlash(rel)] = fmt.Sprintf("%v %q", info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func same(t testing.TB, got, want map[string]string) {
	t.Helper()
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%q: got %.200s, want %.200s", name, got[name], w)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%q is there and should not be", name)
		}
	}
}

// difficult fills a workspace with what is easily lost.
func (p *place) difficult() {
	p.Helper()
	p.write(map[string]string{
		".gitattributes": "* text=auto eol=crlf ident filter=evil diff=evil\n[attr]all filter=evil text\n" +
			"sub/** all merge=evil working-tree-encoding=UTF-16\n",
		"sub/.gitignore":   "*.log\n",
		"unix.txt":         "a\nb $Id$\n",
		"dos.txt":          "a\r\nb\r\n",
		"mixed.txt":        "a\r\nb\nc\r",
		"binary":           "\x00\x01\xff\xfe\r\n\x00",
		"empty":            "",
		"sub/deep/er/x.go": "package x\n",
		"run.sh":           "#!/bin/sh\n",
		"goes/away":        "1",
		"dir/becomes/file": "2",
		"file/to":          "3",
	})
	if runtime.GOOS == "windows" {
		return
	}
	p.write(map[string]string{
		"-rf":                   "a",
		"new\nline":             "b",
		"a \"quoted\" \\ name ": "c",
		"tab\tübung":            "d",
		":(top)x":               "e",
		"git~1":                 "f",
		"*":                     "g",
	})
	if runtime.GOOS == "linux" {
		p.write(map[string]string{"\xff\xfe not utf8": "h"})
	}
	if err := os.Chmod(filepath.Join(p.root, "run.sh"), 0o755); err != nil {
		p.Fatal(err)
	}
	p.link("unix.txt", "link")
	p.link("/nowhere/at\nall", "dangling")
	p.link("sub", "linked-dir")
}

// havoc changes what difficult has made.
func (p *place) havoc() {
	p.Helper()
	p.remove("goes", "link", "dir", "file", "linked-dir", "run.sh", "sub/deep", ".gitattributes")
	p.write(map[string]string{
		"unix.txt": "changed\r\n", "binary": "text", "dir": "is a file", "file/to/more": "deeper", "link": "no link",
		"linked-dir/real/x": "folder",
		"run.sh":            "#!/bin/sh\nexit 1\n", "new/one/here": "new", "empty": "full",
	})
	if runtime.GOOS != "windows" {
		p.remove("new\nline", "dos.txt")
		p.link("/etc", "dos.txt")
	}
}

func TestRestoreBringsBackEveryByte(t *testing.T) {
	ran := func(p *place) string { return filepath.Join(filepath.Dir(p.dir), "ran") }
	hostile := func(p *place) {
		command := "touch '" + filepath.ToSlash(ran(p)) + "'; cat"
		for _, key := range []string{"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv",
			"diff.evil.command", "core.fsmonitor", "core.sshCommand", "diff.external"} {
			p.git("config", key, command)
		}
		p.git("config", "--global", "filter.evil.clean", command)
		hooks := filepath.Join(p.root, ".git", "hooks")
		if err := os.MkdirAll(hooks, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, hook := range []string{"post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout"} {
			if err := os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\n"+command+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, prepare := range map[string]func(*place) *place{
		"outside a repository": func(p *place) *place { return p },
		"in a hostile repository": func(p *place) *place {
			p.git("init", "-q")
			hostile(p)
			return p
		},
		"in a folder of a repository": func(p *place) *place {
			p.git("init", "-q")
			hostile(p)
			return placeAt(t, filepath.Join(p.root, "the sub", "ü"), p.dir)
		},
		"in a linked working tree": func(p *place) *place {
			p.git("init", "-q")
			p.git("commit", "-q", "--allow-empty", "-m", "x")
			other := filepath.Join(filepath.Dir(p.root), "other")
			p.git("worktree", "add", "-q", other)
			return placeAt(t, other, p.dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := prepare(newPlace(t))
			defer func() {
				if _, err := os.Stat(ran(p)); err == nil {
					t.Error("a program of the repository was run")
				}
			}()
			p.difficult()
			before, want := p.take(), look(t, p.root)
			p.havoc()
			after, changed := p.take(), look(t, p.root)
			if before.ID == after.ID {
				t.Fatal("the changes were not noticed")
			}
			if _, err := p.Diff(context.Background(), before.ID, after.ID); err != nil {
				t.Error(err)
			}
			if _, err := p.Patch(context.Background(), before.ID, after.ID, "binary"); err != nil {
				t.Error(err)
			}
			p.rewind(before.ID, after.ID)
			same(t, look(t, p.root), want)
			if got := p.take(); got.ID != before.ID || got.Files != before.Files {
				t.Errorf("restored %s of %d files, want %s of %d", got.ID, got.Files, before.ID, before.Files)
			}
			p.rewind(after.ID, before.ID)
			same(t, look(t, p.root), changed)
		})
	}
}

func TestEqualTreesHaveTheSameID(t *testing.T) {
	a, b := newPlace(t), newPlace(t)
	a.difficult()
	b.difficult()
	if a, b := a.take().ID, b.take().ID; a != b {
		t.Errorf("got %s and %s", a, b)
	}
	empty := newPlace(t)
	first := empty.take()
	if first.Files != 0 || !empty.has(t, first.ID) {
		t.Errorf("an empty workspace makes %+v", first)
	}
	empty.write(map[string]string{"a": "b"})
	second := empty.take()
	empty.rewind(first.ID, second.ID)
	same(t, look(t, empty.root), nil)
}

func TestLeavesTheUsersRepositoryAlone(t *testing.T) {
	p := newPlace(t)
	p.git("init", "-q")
	p.write(map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	p.git("add", ".")
	p.git("commit", "-q", "-m", "one")
	p.write(map[string]string{"c": "stashed\n"})
	p.git("stash")
	p.write(map[string]string{"a": "staged\n"})
	p.git("add", "a")
	p.write(map[string]string{"a": "staged and more\n", "b": "unstaged\n", "d": "untracked\n"})
	const status = "--no-optional-locks status --porcelain=v2 --branch --untracked-files=all"
	said, inside := p.git(strings.Fields(status)...), look(t, filepath.Join(p.root, ".git"))

	before := p.take()
	same(t, look(t, filepath.Join(p.root, ".git")), inside)
	p.write(map[string]string{"a": "other\n", "e": "new\n"})
	p.remove("b")
	p.rewind(before.ID, p.take().ID)
	same(t, look(t, filepath.Join(p.root, ".git")), inside)
	if got := p.git(strings.Fields(status)...); got != said {
		t.Errorf("git status says\n%s\nwant\n%s", got, said)
	}
}

func TestNoticesAChangeWithinTheClocksGrain(t *testing.T) {
	p := newPlace(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	name := filepath.Join(p.root, "a")
	var ids []string
	for _, content := range []string{"one", "two", "six", "ten", "one"} {
		p.write(map[string]string{"a": content, "b": content})
		if err := os.Chtimes(name, at, at); err != nil { // also a clock that was set back
			t.Fatal(err)
		}
		ids = append(ids, p.take().ID)
	}
	if len(slices.Compact(slices.Clone(ids))) != 5 || ids[0] != ids[4] {
		t.Errorf("got %v, want four that differ, and the first again", ids)
	}
}

func TestIsNotConfusedByABranchThatIsSwitched(t *testing.T) {
	p := newPlace(t)
	p.git("init", "-q", "-b", "one")
	p.write(map[string]string{"a": "1", "only/one": "1"})
	p.git("add", ".")
	p.git("commit", "-q", "-m", "one")
	one, want := p.take(), look(t, filepath.Join(p.root, "only"))
	p.git("switch", "-q", "-c", "two")
	p.git("rm", "-q", "only/one")
	p.write(map[string]string{"a": "2"})
	p.git("commit", "-q", "-a", "-m", "two")
	two := p.take()
	p.git("switch", "-q", "one")
	if got := p.take(); got.ID != one.ID {
		t.Errorf("back on the branch: got %s, want %s", got.ID, one.ID)
	}
	p.git("switch", "-q", "two")
	p.rewind(one.ID, two.ID)
	same(t, look(t, filepath.Join(p.root, "only")), want)
	if got, want := strings.TrimSpace(p.git("branch", "--show-current")), "two"; got != want {
		t.Errorf("the branch is %q, want %q", got, want)
	}
}
