package rewind

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/session"
	"belay/session/snapshot"
)

// slow are snapshots that take their time.
type slow struct {
	*folder
	lasts time.Duration
}

func (s slow) Take(ctx context.Context) (snapshot.Tree, error) {
	select {
	case <-time.After(s.lasts):
		return s.folder.Take(ctx)
	case <-ctx.Done():
		return snapshot.Tree{}, ctx.Err()
	}
}

// keeper is a Checkpointer in a bubble, with the Log that it writes.
type keeper struct {
	*Checkpointer
	Log       // what is not implemented is not called
	published []string
	stored    []session.Checkpointed
	appendErr error
	changed   bool // the turn has changed something
	lost      bool // another program writes the session
	close     context.CancelFunc
}

func (k *keeper) Publish(e session.Event) { k.published = append(k.published, e.(session.Noted).Text) }

func (k *keeper) Append(_ context.Context, events ...session.Event) error {
	if k.appendErr != nil {
		return k.appendErr
	}
	for _, e := range events {
		k.stored = append(k.stored, e.(session.Checkpointed))
	}
	return nil
}

// keep runs a test in a bubble on a folder with a file whose snapshot lasts.
func keep(t *testing.T, lasts time.Duration, test func(t *testing.T, k *keeper, files *folder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		files := &folder{root: t.TempDir()}
		files.write(t, "a=0")
		life, end := context.WithCancel(t.Context())
		k := &keeper{close: end}
		var owner sync.WaitGroup
		k.Checkpointer = NewCheckpointer(CheckpointOptions{
			Snapshots: slow{files, lasts}, Root: files.root, Log: k, Life: life, Go: owner.Go,
			Changed: func() bool { return k.changed },
			Lost:    func() bool { return k.lost },
		})
		defer owner.Wait()
		defer end()
		test(t, k, files)
	})
}

// took is how long something took by the clock of the bubble.
func took(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

func TestHowLongATurnWaitsForItsSnapshot(t *testing.T) {
	for name, tt := range map[string]struct {
		lasts time.Duration
		want  time.Duration
		notes int
	}{
		"until it is there":           {time.Second, time.Second, 0},
		"not for longer than allowed": {time.Minute, SnapshotWait, 1},
	} {
		t.Run(name, func(t *testing.T) {
			keep(t, tt.lasts, func(t *testing.T, k *keeper, _ *folder) {
				ready := k.Before(1, 0, "one")
				if got := took(func() { ready(t.Context()) }); got != tt.want {
					t.Errorf("it waited %v, want %v", got, tt.want)
				}
				k.Before(1, 1, "step")(t.Context()) // what takes long is told once
				if len(k.published) != tt.notes {
					t.Errorf("told %q, want %d notes", k.published, tt.notes)
				}
			})
		})
	}
	t.Run("not when the turn is stopped", func(t *testing.T) {
		keep(t, time.Minute, func(t *testing.T, k *keeper, _ *folder) {
			stopped, stop := context.WithCancel(t.Context())
			stop()
			ready := k.Before(1, 0, "one")
			if got := took(func() { ready(stopped) }); got != 0 || len(k.published) != 0 {
				t.Errorf("it waited %v and told %q", got, k.published)
			}
		})
	})
	t.Run("not at all without snapshots", func(t *testing.T) {
		k := NewCheckpointer(CheckpointOptions{})
		k.After(1)
		if k.Before(1, 0, "one") != nil {
			t.Error("there is something to wait for")
		}
	})
}

func TestWhatIsRecordedOfACheckpoint(t *testing.T) {
	before := func(k *keeper) { k.Before(3, 2, "the step") }
	after := func(k *keeper) { k.After(3) }
	for name, tt := range map[string]struct {
		take    func(k *keeper)
		prepare func(k *keeper, files *folder)
		want    *session.Checkpointed
	}{
		"the tree before a step": {before, nil,
			&session.Checkpointed{Turn: 3, Step: 2, Title: "the step", Tree: "a=0", Files: 1}},
		"the tree after a turn": {after, nil, &session.Checkpointed{Turn: 3, After: true, Tree: "a=0", Files: 1}},
		"what it does not hold": {before, func(_ *keeper, files *folder) {
			files.skipped = []snapshot.Skip{{Path: "big", Reason: snapshot.TooLarge}}
		}, &session.Checkpointed{Turn: 3, Step: 2, Title: "the step", Tree: "a=0", Files: 1,
			Skipped: []string{"big (" + string(snapshot.TooLarge) + ")"}}},
		"why there is no tree, with the hint": {before, func(_ *keeper, files *folder) {
			files.takeErr = &snapshot.Error{Kind: snapshot.ErrFull, Advice: "free some space"}
		}, &session.Checkpointed{Turn: 3, Step: 2, Title: "the step",
			Problem: snapshot.ErrFull.Error() + " (free some space)"}},
		"nothing after a turn without a tree":            {after, func(_ *keeper, files *folder) { files.takeErr = errSnapshot }, nil},
		"nothing by a program that has lost the session": {before, func(k *keeper, _ *folder) { k.lost = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			keep(t, time.Second, func(t *testing.T, k *keeper, files *folder) {
				if tt.prepare != nil {
					tt.prepare(k, files)
				}
				tt.take(k)
				time.Sleep(time.Second) // of the bubble's time
				synctest.Wait()
				switch {
				case tt.want == nil && len(k.stored) != 0:
					t.Errorf("stored %+v, want nothing", k.stored)
				case tt.want != nil && (len(k.stored) != 1 || !equal(k.stored[0], *tt.want)):
					t.Errorf("stored %+v, want %+v", k.stored, *tt.want)
				}
			})
		})
	}
}

// equal compares checkpoints, but for their pre-images.
func equal(x, y session.Checkpointed) bool {
	return x.Tree == y.Tree && x.Turn == y.Turn && x.Step == y.Step && x.After == y.After && x.Title == y.Title &&
		x.Files == y.Files && x.Problem == y.Problem && slices.Equal(x.Skipped, y.Skipped)
}

func TestACheckpointThatCannotBeSavedIsTold(t *testing.T) {
	keep(t, 0, func(t *testing.T, k *keeper, _ *folder) {
		k.appendErr = errors.New("the disk is full")
		k.Before(1, 0, "one")(t.Context())
		synctest.Wait()
		if got := strings.Join(k.published, "\n"); !strings.Contains(got, "could not be saved: the disk is full") {
			t.Errorf("told %q", got)
		}
	})
}

func TestASnapshotAfterTheEndOfItsSession(t *testing.T) {
	turn := func(k *keeper) { k.Before(1, 0, "one") }
	end := func(k *keeper) { k.After(1) }
	for name, tt := range map[string]struct {
		take    func(k *keeper)
		changed bool
		lasts   time.Duration
		stored  bool
	}{
		"is given up where nothing was changed":     {turn, false, time.Second, false},
		"is waited for where something was changed": {turn, true, time.Second, true},
		"but not for long":                          {turn, true, time.Minute, false},
		"is waited for at the end of a turn":        {end, false, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			keep(t, tt.lasts, func(t *testing.T, k *keeper, _ *folder) {
				k.changed = tt.changed
				tt.take(k)
				k.close()
				time.Sleep(tt.lasts) // of the bubble's time
				synctest.Wait()
				if stored := len(k.stored) > 0; stored != tt.stored {
					t.Errorf("stored %+v", k.stored)
				}
			})
		})
	}
}

func TestWhatIsChangedBeforeTheSnapshotIsThereIsKeptByItself(t *testing.T) {
	writes := func(path string) session.Event {
		return session.ToolStarted{Effect: session.Effect{Class: session.Write, Path: path}}
	}
	const wait = 3 * time.Second
	keep(t, wait, func(t *testing.T, k *keeper, files *folder) {
		file := func(name string) string { return filepath.Join(files.root, name) }
		k.Keep(writes(file("a"))) // nothing is being made yet
		k.Before(1, 0, "one")
		k.Keep(session.ToolStarted{Effect: session.Effect{Class: session.Run, Path: file("ran")}})
		k.Keep(writes(file("a")))
		files.write(t, "a=1")
		k.Keep(writes(file("a"))) // what it held first counts
		k.Keep(writes(file("new")))
		k.Keep(writes(files.root)) // a folder
		k.Keep(writes(filepath.Join(files.root, "..", "outside")))
		if os.Symlink(file("a"), file("link")) == nil {
			k.Keep(writes(file("link"))) // what it leads to is another file
		}
		k.After(1)
		k.Keep(writes(file("a")))
		step := NewCheckpointer(CheckpointOptions{Root: files.root})
		step.KeepFor(k.Checkpointer)
		files.write(t, "a=1,b=1")
		step.Keep(writes(file("b"))) // the session of a step writes
		time.Sleep(wait)
		synctest.Wait()
		if len(k.stored) != 1 { // the one after the turn has taken too long
			t.Fatalf("stored %+v", k.stored)
		}
		if got, want := preImages(k.stored[0].PreImages), "a=0 new missing b=1"; got != want {
			t.Errorf("kept %s, want %s", got, want)
		}
		k.Keep(writes(file("a")))
		if n := len(k.pending.list); n != 0 {
			t.Errorf("%d checkpoints are still being made", n)
		}
	})
}

func preImages(list []session.PreImage) string {
	var words []string
	for _, f := range list {
		if f.Missing {
			words = append(words, f.Path+" missing")
		} else {
			words = append(words, f.Path+"="+string(f.Content))
		}
	}
	return strings.Join(words, " ")
}

func TestFilesThatWereKeptOutliveASessionThatEnds(t *testing.T) {
	keep(t, time.Minute, func(t *testing.T, k *keeper, files *folder) {
		k.Before(1, 0, "one")
		path := filepath.Join(files.root, "a")
		k.Keep(session.ToolStarted{Effect: session.Effect{Class: session.Write, Path: path}})
		k.close()
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(k.stored) != 1 || k.stored[0].Tree != "" || preImages(k.stored[0].PreImages) != "a=0" {
			t.Errorf("stored %+v", k.stored)
		}
	})
}

func TestAFileThatIsTooLargeIsNotKeptByItself(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "large")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		size int64
		want bool
	}{{0, true}, {maxPreImage + 1, false}} {
		if err := os.Truncate(path, tt.size); err != nil {
			t.Fatal(err)
		}
		if _, ok := readPreImage(root, path); ok != tt.want {
			t.Errorf("a file of %d bytes is kept: %v, want %v", tt.size, ok, tt.want)
		}
	}
}

func TestFilesThatWereKeptByThemselvesArePutBack(t *testing.T) {
	elsewhere := t.TempDir()
	files := &folder{root: t.TempDir()}
	files.write(t, "a=1,new=1")
	if err := os.Symlink(elsewhere, filepath.Join(files.root, "link")); err != nil {
		t.Skip(err)
	}
	failed := restorePreImages(files.root, []session.PreImage{
		{Path: "a", Content: []byte("0"), Mode: 0o600},
		{Path: "new", Missing: true},
		{Path: "never", Missing: true},
		{Path: filepath.Join("deep", "down", "b"), Content: []byte("0"), Mode: 0o644},
		{Path: filepath.Join("link", "out"), Content: []byte("0"), Mode: 0o644},
		{Path: filepath.Join("..", "out"), Missing: true},
	})
	if len(failed) != 2 || !strings.HasPrefix(failed[0], filepath.Join("link", "out")+": ") ||
		!strings.HasPrefix(failed[1], filepath.Join("..", "out")+": ") {
		t.Errorf("failed %q, want the two outside the workspace", failed)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 0 {
		t.Errorf("a link was followed out of the workspace: %v, %v", entries, err)
	}
	for path, want := range map[string]string{"a": "0", "new": "", filepath.Join("deep", "down", "b"): "0"} {
		content, err := os.ReadFile(filepath.Join(files.root, path))
		if string(content) != want || (err != nil) != (want == "") {
			t.Errorf("%s holds %q, %v; want %q", path, content, err, want)
		}
	}
	if failed := restorePreImages(filepath.Join(files.root, "none"), []session.PreImage{{Path: "a"}}); len(failed) != 1 {
		t.Errorf("without the workspace, failed %q", failed)
	}
}
