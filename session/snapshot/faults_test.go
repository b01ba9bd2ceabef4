package snapshot

import (
	"belay/session/files"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTakeMendsWhatAKilledOneLeft(t *testing.T) {
	for name, harm := range map[string]func(p *place){
		"a lock file": func(p *place) { p.inStore("index.lock", "half") },
		"a damaged index": func(p *place) {
			p.inStore("index",
				"DIRC and then nonsense that is long enough to have a sum")
		},
		"an empty index":    func(p *place) { p.inStore("index", "") },
		"half a pack":       func(p *place) { p.inStore("objects/pack/tmp_pack_x", "half") },
		"half a ref":        func(p *place) { p.inStore("refs/belay/"+strings.Repeat("a", 40)+".lock", "half") },
		"half a config":     func(p *place) { p.inStore("config", "[core") },
		"no config at all":  func(p *place) { p.fromStore("config", "HEAD", "info") },
		"no objects":        func(p *place) { p.fromStore("objects") },
		"nothing but a key": func(p *place) { p.fromStore("objects", "refs", "HEAD", "config", "info", "index", "skipped") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.difficult()
			want := p.take().ID
			harm(p)
			if got := p.take(); got.ID != want || !p.has(t, want) {
				t.Errorf("got %s, want %s, and that it is kept", got.ID, want)
			}
			whole := look(t, p.root)
			p.havoc()
			p.rewind(want, p.take().ID)
			same(t, look(t, p.root), whole)
		})
	}
}

func (p *place) inStore(name, content string) {
	p.Helper()
	name = filepath.Join(p.storeDir(), filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
		p.Fatal(err)
	}
}

func (p *place) fromStore(names ...string) {
	p.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(p.storeDir(), name)); err != nil {
			p.Fatal(err)
		}
	}
}

func TestAKilledTakeLeavesNothingBroken(t *testing.T) {
	p := newPlace(t)
	files := map[string]string{}
	for i := range 400 {
		files["d"+string(rune('a'+i%20))+"/f"+strings.Repeat("x", i/20)] = strings.Repeat(string(rune('a'+i%20)),
			20000+i)
	}
	p.write(files)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SNAPSHOT_TEST_ROOT="+p.root, "SNAPSHOT_TEST_DIR="+p.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	for { // until it writes objects
		if list, _ := filepath.Glob(filepath.Join(p.dir, "*", "index.lock")); len(list) > 0 {
			break
		}
		if list, _ := filepath.Glob(filepath.Join(p.dir, "*", "index")); len(list) > 0 {
			break
		}
		runtime.Gosched()
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if got := p.take(); got.Files != len(files) {
		t.Errorf("covers %d files, want %d", got.Files, len(files))
	}
}

func TestTakesAtTheSameTimeAgree(t *testing.T) {
	p := newPlace(t)
	p.difficult()
	ids := make([]string, 6)
	var wait sync.WaitGroup
	for i := range ids {
		other := New(Options{Dir: p.dir, Root: p.root})
		wait.Go(func() {
			tree, err := other.Take(t.Context())
			if err != nil {
				t.Error(err)
			}
			ids[i] = tree.ID
		})
	}
	wait.Wait()
	if len(slices.Compact(ids)) != 1 || !p.has(t, ids[0]) {
		t.Errorf("got %v, want the same, kept", ids)
	}
}

func TestAWaitingTakeEndsWithItsContext(t *testing.T) {
	p := newPlace(t)
	p.take()
	held, err := acquire(t.Context(), filepath.Join(p.storeDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := p.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func TestATakeThatIsCutOffCanBeRepeated(t *testing.T) {
	p := newPlace(t)
	p.difficult()
	began := filepath.Join(t.TempDir(), "began")
	t.Run("while git runs", func(t *testing.T) {
		fake(t, "*update-index*) touch '"+began+"'; exec sleep 1000;;")
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			for _, err := os.Stat(began); err != nil; _, err = os.Stat(began) {
				runtime.Gosched()
			}
			stop()
		})
		_, err := New(p.o).Take(ctx)
		wait.Wait()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
	})
	p.take()
}

func TestRestoreRefusesWhatHasChangedSince(t *testing.T) {
	p := newPlace(t)
	p.write(map[string]string{"a": "1", "b": "1", "c": "1"})
	before := p.take()
	p.write(map[string]string{"a": "2"})
	seen := p.take()
	p.write(map[string]string{"b": "2", "new": "1"})
	want := look(t, p.root)
	_, err := p.Restore(t.Context(), before.ID, seen.ID)
	var changed *ChangedError
	if !errors.As(err, &changed) || !errors.Is(err, ErrChanged) || !slices.Equal(changed.Paths, []string{"b", "new"}) {
		t.Fatalf("got %v, want that b and new changed", err)
	}
	const said = "restore the files: files have changed since they were compared: b and 1 more"
	if got := err.Error(); got != said {
		t.Errorf("got %q, want %q", got, said)
	}
	same(t, look(t, p.root), want)
}

func TestARestoreThatWasCutOffCanBeRepeated(t *testing.T) {
	p := newPlace(t)
	p.difficult()
	before, want := p.take(), look(t, p.root)
	p.havoc()
	after := p.take()
	p.rewind(before.ID, after.ID)
	p.rewind(after.ID, before.ID)
	// As if the process had died having written some: the rest is as it was.
	p.write(map[string]string{
		"unix.txt":                                 "a\nb $Id$\n",
		files.TempName("binary", tempID()):         "half",
		"sub/" + files.TempName("other", tempID()): "half",
	})
	if p.take(); t.Failed() {
		return
	}
	if done := p.rewind(before.ID, ""); done.ID != before.ID {
		t.Errorf("the tree is %s, want %s", done.ID, before.ID)
	}
	p.remove("sub/" + files.TempName("other", tempID()))
	same(t, look(t, p.root), want)
	if done := p.rewind(before.ID, before.ID); len(done.Written)+len(done.Removed) > 0 {
		t.Errorf("a second time changes %+v", done)
	}
}

// hint is what an error tells a person to do.
func hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// fake puts a script in git's place that goes on to git where no case of it
// ends it.
func fake(t *testing.T, cases string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for git is a shell script")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"),
		[]byte("#!/bin/sh\ncase \"$*\" in\n"+cases+"\nesac\nexec '"+git+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for name, tt := range map[string]struct {
		harm func(t *testing.T, p *place)
		kind error
		hint string
	}{
		"no git": {func(t *testing.T, _ *place) { t.Setenv("PATH", t.TempDir()) }, ErrNoGit, "install git"},
		"a placeholder for git": {
			func(t *testing.T, _ *place) { fake(t, "*) echo 'xcode-select: note' >&2; exit 1;;") }, ErrNoGit, "install git",
		},
		"old git": {func(t *testing.T, _ *place) { fake(t, "--version) echo git version 2.17.1; exit;;") }, ErrOldGit,
			"install git 2.20"},
		"no room": {func(t *testing.T, _ *place) {
			fake(t, "*update-index*) echo 'fatal: write error: No space left on device' >&2; exit 128;;")
		}, ErrFull, "free some space"},
		"no writing": {func(t *testing.T, _ *place) {
			fake(t, "*update-index*) echo 'error: insufficient permission for adding an object "+
				"to repository database' >&2; exit 128;;")
		}, ErrReadOnly, "BELAY_HOME"},
		"a file in the way": {func(t *testing.T, p *place) {
			if err := os.WriteFile(p.dir, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, ErrReadOnly, "a file is in the way"},
		"no workspace": {func(_ *testing.T, p *place) { p.remove(".") }, ErrNoWorkspace, "if it was moved"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.write(map[string]string{"a": "1"})
			tt.harm(t, p)
			_, err := p.Take(t.Context())
			if !errors.Is(err, tt.kind) || !strings.Contains(hint(err), tt.hint) {
				t.Errorf("got %v (%s), want %v (%s …)", err, hint(err), tt.kind, tt.hint)
			}
		})
	}
	t.Run("a deleted store", func(t *testing.T) {
		p := newPlace(t)
		p.write(map[string]string{"a": "1"})
		one := p.take().ID
		p.write(map[string]string{"a": "2"})
		two := p.take().ID
		if err := os.RemoveAll(p.dir); err != nil {
			t.Fatal(err)
		}
		_, restore := p.Restore(t.Context(), one, two)
		_, diff := p.Diff(t.Context(), one, two)
		_, patch := p.Patch(t.Context(), one, two, "a")
		for _, err := range []error{restore, diff, patch} {
			if !errors.Is(err, ErrGone) ||
				!strings.Contains(hint(err), "were deleted from "+p.dir+"; the conversation can still be rewound") {
				t.Errorf("got %v (%s)", err, hint(err))
			}
		}
		if p.has(t, one) {
			t.Error("it has what was deleted")
		}
		if got := p.take(); got.ID != two || p.has(t, one) {
			t.Errorf("got %s, want %s alone", got.ID, two)
		}
	})
	t.Run("an id that is none", func(t *testing.T) {
		p := newPlace(t)
		p.take()
		for _, id := range []string{"", "HEAD", "--output=x", strings.Repeat("0", 40), "../../config"} {
			if _, err := p.Restore(t.Context(), id, ""); !errors.Is(err, ErrGone) {
				t.Errorf("%q: got %v", id, err)
			}
		}
	})
}

func TestPruneKeepsWhatIsNeeded(t *testing.T) {
	p := newPlace(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p.o.Now = func() time.Time { return now }
	var ids []string
	for _, content := range []string{"one", "two", "three"} {
		p.write(map[string]string{"a": content})
		ids = append(ids, p.take().ID)
		now = now.Add(40 * time.Minute)
	}
	if err := p.Prune(t.Context(), ids[:1]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true} { // needed, old, taken just now
		if got := p.has(t, ids[i]); got != want {
			t.Errorf("has tree %d: %v, want %v", i, got, want)
		}
	}
	if list, err := p.Diff(t.Context(), ids[0], ids[2]); err != nil || len(list) != 1 {
		t.Errorf("got %v, %v, want one change", list, err)
	}
	p.rewind(ids[0], ids[2])
	if got, _ := os.ReadFile(filepath.Join(p.root, "a")); string(got) != "one" {
		t.Errorf("a holds %q", got)
	}

	now = now.Add(24 * time.Hour)
	if err := p.Prune(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if list, _ := filepath.Glob(filepath.Join(p.storeDir(), "objects", "*", "*")); len(list) > 0 || p.has(t, ids[0]) {
		t.Errorf("objects are left: %v", list)
	}
	if got := p.take(); got.ID != ids[0] || !p.has(t, ids[0]) {
		t.Errorf("taken again: got %s, want %s", got.ID, ids[0])
	}
}
