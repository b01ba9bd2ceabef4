package snapshot

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// covered lists the files of a kept tree.
func (p *place) covered(id string) []string {
	p.Helper()
	out, err := run(p.Context(),
		p.Store.git.storeGit(p.Context(), p.storeDir(), "ls-tree", "-r", "-z", "--name-only", id))
	if err != nil {
		p.Fatal(err)
	}
	return splitNUL(out)
}

func TestCoversWhatGitAddWould(t *testing.T) {
	p := newPlace(t)
	p.git("init", "-q")
	global := filepath.Join(filepath.Dir(p.dir), "my rules")
	for name, content := range map[string]string{global: "*.mine\n",
		filepath.Join(p.root, ".git/info/exclude"): "*.local\n"} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.git("config", "core.excludesFile", global)
	p.write(map[string]string{
		".gitignore": "*.log\n/build/\nforced\n", "a.log": "x", "build/x": "x", "sub/build/x": "x", "b.mine": "x",
		"c.local": "x", "sub/d.log": "x",
		"sub/.gitignore": "!keep.log\n/e\n", "sub/keep.log": "x", "sub/e": "x", "a": "x", "forced": "x",
	})
	p.git("add", "-f", "forced")
	for _, tt := range []struct {
		name string
		p    *place
		want []string
	}{
		{"the top", p, []string{".gitignore", "a", "forced", "sub/.gitignore", "sub/build/x", "sub/keep.log"}},
		{"a folder", placeAt(t, filepath.Join(p.root, "sub"), p.dir), []string{".gitignore", "build/x", "keep.log"}},
		{"an ignored folder stands alone", placeAt(t, filepath.Join(p.root, "build"), p.dir), []string{"x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.p.covered(tt.p.take().ID); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNamesWhatItDoesNotCover(t *testing.T) {
	p := newPlace(t)
	p.o.MaxFile = 100
	p.git("init", "-q")
	p.write(map[string]string{"a": "x", "grows": "x", "large": strings.Repeat("x", 101), "sub/nested/a": "x"})
	placeAt(t, filepath.Join(p.root, "sub/nested"), p.dir).git("init", "-q")
	p.git("commit", "-q", "--allow-empty", "-m", "x")
	p.git("worktree", "add", "-q", filepath.Join(p.root, "tree"))
	p.write(map[string]string{"not-one/.git": "nonsense\n", "not-one/a": "x"})
	want := []Skip{{"large", TooLarge}, {"sub/nested/", Nested}, {"tree/", Nested}}
	if runtime.GOOS == "linux" {
		p.write(map[string]string{".GIT/config": "x"})
		want = append([]Skip{{".GIT/config", Reserved}}, want...)
	}
	if os.Getuid() > 0 {
		p.write(map[string]string{"secret": "x"})
		if err := os.Chmod(filepath.Join(p.root, "secret"), 0); err != nil {
			t.Fatal(err)
		}
		want = slices.Insert(want, len(want)-2, Skip{"secret", Unreadable})
	}
	tree := p.take()
	if !slices.Equal(tree.Skipped, want) {
		t.Errorf("got %v, want %v", tree.Skipped, want)
	}
	if got, want := p.covered(tree.ID), []string{"a", "grows", "not-one/a"}; !slices.Equal(got, want) {
		t.Errorf("covers %q, want %q", got, want)
	}

	t.Run("and restores around it", func(t *testing.T) {
		p.write(map[string]string{"a": "y", "large": "small now", "sub/nested/a": "y"})
		p.remove("sub/nested/.git")
		p.rewind(tree.ID, p.take().ID)
		for name, want := range map[string]string{"a": "x", "large": "small now", "sub/nested/a": "y"} {
			if got, err := os.ReadFile(filepath.Join(p.root, name)); string(got) != want {
				t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
			}
		}
	})
	t.Run("and loses nothing that grew too large", func(t *testing.T) {
		p.write(map[string]string{"a": "z", "grows": strings.Repeat("y", 101)})
		done, err := p.Restore(t.Context(), tree.ID, p.take().ID)
		if err != nil || len(done.Failed) != 1 || done.Failed[0].Path != "grows" ||
			!slices.Equal(done.Written, []string{"a"}) {
			t.Errorf("got %+v, %v, want grows to fail and a to be written", done, err)
		}
	})
}

func TestAFolderThatBecomesARepositoryIsNamed(t *testing.T) {
	p := newPlace(t)
	p.write(map[string]string{"a": "x", "sub/b": "x"})
	before := p.take()
	placeAt(t, filepath.Join(p.root, "sub"), p.dir).git("init", "-q")
	p.write(map[string]string{"a": "y", "sub/b": "y", "sub/c": "new"})
	after := p.take()
	p.rewind(before.ID, after.ID)
	for name, want := range map[string]string{"a": "x", "sub/b": "x"} {
		if got, _ := os.ReadFile(filepath.Join(p.root, name)); string(got) != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(p.root, "sub/.git/HEAD")); err != nil {
		t.Error(err)
	}
}

func TestIgnoredFilesStay(t *testing.T) {
	p := newPlace(t)
	p.write(map[string]string{".gitignore": "*.log\n", "a": "1", "old.log": "was ignored"})
	before := p.take()
	p.write(map[string]string{".gitignore": "", "a": "2", "new": "x"})
	after := p.take()
	done := p.rewind(before.ID, after.ID)
	if want := []string{"old.log"}; !slices.Equal(done.Kept, want) {
		t.Errorf("kept %q, want %q", done.Kept, want)
	}
	if got, _ := os.ReadFile(filepath.Join(p.root, "old.log")); string(got) != "was ignored" {
		t.Errorf("old.log holds %q", got)
	}
	if got := p.take(); got.ID != before.ID {
		t.Errorf("the tree is %s, want %s", got.ID, before.ID)
	}

	t.Run("but what was covered once is restored", func(t *testing.T) {
		p.write(map[string]string{".gitignore": "*\n", "a": "3"})
		p.rewind(before.ID, p.take().ID)
		if got, _ := os.ReadFile(filepath.Join(p.root, "a")); string(got) != "1" {
			t.Errorf("a holds %q, want 1", got)
		}
	})
}

func TestAStoreInsideTheWorkspaceIsNotCovered(t *testing.T) {
	p := newPlace(t)
	p = placeAt(t, p.root, filepath.Join(p.root, "da[t]a", "snap shots"))
	p.write(map[string]string{"a": "x", "da[t]a/b": "x"})
	for range 3 {
		if got, want := p.covered(p.take().ID), []string{"a", "da[t]a/b"}; !slices.Equal(got, want) {
			t.Fatalf("covers %q, want %q", got, want)
		}
	}
}

func TestNoLinkLeadsOut(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(filepath.Dir(p.dir), "outside")
	other := placeAt(t, outside, p.dir)
	other.write(map[string]string{"a": "theirs", "b": "theirs"})
	want := look(t, outside)
	p.write(map[string]string{"dir/a": "ours", "dir/b": "ours", "x/inside/a": "x"})
	before, whole := p.take(), look(t, p.root)

	p.remove("dir")
	p.link(outside, "dir")
	after := p.take()
	if got, want := p.covered(after.ID), []string{"dir", "x/inside/a"}; !slices.Equal(got, want) {
		t.Errorf("covers %q, want %q", got, want)
	}
	p.rewind(before.ID, after.ID)
	same(t, look(t, p.root), whole)
	same(t, look(t, outside), want)

	t.Run("nor to another folder of the workspace", func(t *testing.T) {
		p.remove("dir")
		p.link("x", "dir")
		p.write(map[string]string{".gitignore": "/dir\n/.gitignore\n"})
		done, err := p.Restore(t.Context(), before.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(done.Failed) != 2 {
			t.Errorf("failed: %v, want both files in the folder that a link has taken the place of", done.Failed)
		}
		if got, _ := os.ReadDir(filepath.Join(p.root, "x")); len(got) != 1 {
			t.Errorf("x holds %v", got)
		}
		same(t, look(t, outside), want)
	})
	t.Run("though a link takes a folder's place in the midst", func(t *testing.T) {
		p.remove("dir", ".gitignore")
		tree, err := openTree(p.root)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.close()
		p.link(outside, "dir")
		if err := tree.put(entry{oldMode: absentMode, mode: fileMode, path: "dir/new"}, strings.NewReader("x")); err == nil {
			t.Error("it was written")
		}
		if err := tree.remove("dir/a"); err == nil {
			t.Error("it was removed")
		}
		for _, name := range []string{"../a", ".git/hooks/x", "/etc/x", "sub/.GIT/config"} {
			if err := tree.put(entry{oldMode: absentMode, mode: fileMode, path: name}, strings.NewReader("x")); err == nil {
				t.Errorf("%s was written", name)
			}
		}
		same(t, look(t, outside), want)
	})
}

func TestPermissionsBesideTheRightToRunStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such permissions here")
	}
	p := newPlace(t)
	p.write(map[string]string{"private": "1", "tool": "1"})
	for name, mode := range map[string]os.FileMode{"private": 0o600, "tool": 0o700} {
		if err := os.Chmod(filepath.Join(p.root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	before, want := p.take(), look(t, p.root)
	p.write(map[string]string{"private": "2"})
	if err := os.Chmod(filepath.Join(p.root, "tool"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.rewind(before.ID, p.take().ID)
	same(t, look(t, p.root), want)
}

func TestBelaysOwnDataStaysApart(t *testing.T) {
	root := t.TempDir()
	data := filepath.Join(root, "data")
	for _, name := range []string{"a.txt", "data/belay.db"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := New(Options{Dir: filepath.Join(data, "snapshots"), Root: root, Exclude: data}).Take(t.Context())
	if err != nil || tree.Files != 1 || len(tree.Skipped) != 0 {
		t.Errorf("Take = %+v, %v; want a.txt alone", tree, err)
	}
}
