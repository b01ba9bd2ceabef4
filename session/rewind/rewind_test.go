package rewind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
	"belay/session/snapshot"
	"belay/session/store"
)

func TestMain(m *testing.M) {
	store.RelaxForTesting()
	os.Exit(m.Run())
}

var errSnapshot = errors.New("snapshots fail")

// folder is a workspace of a few flat files whose trees are named by what they
// hold: "a=1,b=2".
type folder struct {
	root     string
	takeErr  error
	skipped  []snapshot.Skip
	restores int // how often files were put back
	fails    string
}

func (f *folder) write(t *testing.T, tree string) {
	t.Helper()
	if err := f.become(parseTree(tree)); err != nil {
		t.Fatal(err)
	}
}

func (f *folder) become(tree map[string]string) error {
	entries, err := os.ReadDir(f.root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, stays := tree[e.Name()]; !stays {
			err = errors.Join(err, os.Remove(filepath.Join(f.root, e.Name())))
		}
	}
	for name, content := range tree {
		err = errors.Join(err, os.WriteFile(filepath.Join(f.root, name), []byte(content), 0o644))
	}
	return err
}

func parseTree(id string) map[string]string {
	tree := map[string]string{}
	for part := range strings.SplitSeq(id, ",") {
		if name, content, ok := strings.Cut(part, "="); ok {
			tree[name] = content
		}
	}
	return tree
}

func (f *folder) now() string {
	entries, err := os.ReadDir(f.root)
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(f.root, e.Name()))
		if err != nil {
			return err.Error()
		}
		parts = append(parts, e.Name()+"="+string(content))
	}
	return cmp.Or(strings.Join(parts, ","), "nothing")
}

func (f *folder) Take(context.Context) (snapshot.Tree, error) {
	if f.takeErr != nil {
		return snapshot.Tree{}, f.takeErr
	}
	return snapshot.Tree{ID: f.now(), Files: len(parseTree(f.now())), Skipped: f.skipped}, nil
}

func (f *folder) Diff(_ context.Context, from, to string) ([]snapshot.Change, error) {
	before, after := parseTree(from), parseTree(to)
	var list []snapshot.Change
	for name, content := range after {
		old, there := before[name]
		switch {
		case !there:
			list = append(list, snapshot.Change{Path: name, Kind: snapshot.Added})
		case old != content:
			list = append(list, snapshot.Change{Path: name, Kind: snapshot.Changed, Binary: strings.HasPrefix(content, "\x00")})
		}
	}
	for name := range before {
		if _, stays := after[name]; !stays {
			list = append(list, snapshot.Change{Path: name, Kind: snapshot.Removed})
		}
	}
	slices.SortFunc(list, func(x, y snapshot.Change) int { return cmp.Compare(x.Path, y.Path) })
	return list, nil
}

func (f *folder) Patch(_ context.Context, from, to, path string) (string, error) {
	return "-" + parseTree(from)[path] + "\n+" + parseTree(to)[path] + "\n", nil
}

func (f *folder) Restore(_ context.Context, id, expect string) (snapshot.RestoreResult, error) {
	var done snapshot.RestoreResult
	if now := f.now(); expect != "" && expect != now {
		return done, &snapshot.ChangedError{Paths: []string{now}}
	}
	if id == "gone" {
		return done, snapshot.ErrGone
	}
	changes, err := f.Diff(context.Background(), f.now(), id)
	if err != nil {
		return done, err
	}
	for _, c := range changes {
		if c.Kind == snapshot.Removed {
			done.Removed = append(done.Removed, c.Path)
		} else {
			done.Written = append(done.Written, c.Path)
		}
	}
	if f.fails != "" {
		done.Failed = []snapshot.Failure{{Path: f.fails, Err: errSnapshot}}
	}
	f.restores++
	return done, f.become(parseTree(id))
}

// rig is a stored session in a folder. It is the Log of what is tested.
type rig struct {
	t         *testing.T
	store     *store.Store
	folder    *folder
	state     session.Session
	published []string
	turn      int

	appendErr error
	killed    bool // the program ends before a Rewound is stored
}

func newRig(t *testing.T, created session.Created) *rig {
	t.Helper()
	st, err := store.Open(t.Context(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, store: st, folder: &folder{root: t.TempDir()}}
	created.Project = r.folder.root
	created.Tier = models.Heavy
	if r.state, err = st.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) State() session.Session { return r.state }

func (r *rig) Publish(e session.Event) {
	r.published = append(r.published, e.(session.Noted).Text)
}

func (r *rig) Append(ctx context.Context, events ...session.Event) error {
	if r.appendErr != nil {
		return r.appendErr
	}
	_, state, err := r.store.Append(ctx, r.state.ID, r.turn, events...)
	if err == nil {
		r.state = state
	}
	return err
}

func (r *rig) Rewound(ctx context.Context, e session.Rewound) error {
	if r.killed {
		return nil
	}
	return r.Append(ctx, e)
}

func (r *rig) append(events ...session.Event) {
	r.t.Helper()
	if err := r.Append(r.t.Context(), events...); err != nil {
		r.t.Fatal(err)
	}
}

// play carries out a turn: its checkpoint is of the files that are there, and it
// leaves other files.
func (r *rig) play(prompt, leaves string) {
	r.t.Helper()
	r.turn++
	r.append(
		session.TurnStarted{Prompt: session.Prompt{ID: prompt, Text: prompt + "\nin detail"}},
		session.Checkpointed{Turn: r.turn, Title: prompt, Tree: r.folder.now()},
		session.NotePinned{Text: "note of " + prompt},
	)
	r.folder.write(r.t, leaves)
	r.append(session.TurnEnded{Outcome: session.OutcomeDone})
}

// twoTurns is a session whose files went from a=0 to a=1 to a=2,b=2.
func twoTurns(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, session.Created{})
	r.folder.write(t, "a=0")
	r.play("one", "a=1")
	r.play("two", "a=2,b=2")
	return r
}

func (r *rig) rewinder() Rewinder {
	return Rewinder{Store: r.store, Session: r.state.ID, Root: r.folder.root, Snapshots: r.folder, Log: r}
}

// to is the place before a turn.
func (r *rig) to(turn int) int64 {
	r.t.Helper()
	list, err := List(r.t.Context(), r.store, r.state.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(c session.Checkpoint) bool { return c.Turn == turn && !c.After && c.Step == 0 })
	if i < 0 {
		r.t.Fatalf("there is no checkpoint before turn %d in %+v", turn, list)
	}
	return list[i].Seq
}

// ends lists what the log says of rewinds, a word an event.
func (r *rig) ends() string {
	r.t.Helper()
	records, err := r.store.Records(r.t.Context(), r.state.ID, 0, 0, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	var words []string
	for _, rec := range records {
		switch e := rec.Event.(type) {
		case session.Rewinding:
			words = append(words, "begins")
		case session.Rewound:
			words = append(words, fmt.Sprintf("ended talk=%v files=%v +%d -%d", e.Conversation, e.Files, e.Written, e.Removed))
		}
	}
	return strings.Join(words, ", ")
}

func (r *rig) notes() string { return strings.Join(r.state.PinnedNotes, ",") }

func (r *rig) checkFiles(want string) {
	r.t.Helper()
	if got := r.folder.now(); got != want {
		r.t.Errorf("files are %s, want %s", got, want)
	}
}

func TestWhatARewindRestores(t *testing.T) {
	for name, tt := range map[string]struct {
		conversation, files bool
		wantFiles           string
		wantNotes           string
		wantEnds            string
	}{
		"the conversation and the files": {true, true, "a=1", "note of one",
			"begins, ended talk=true files=true +1 -1"},
		"the conversation alone": {true, false, "a=2,b=2", "note of one",
			"begins, ended talk=true files=false +0 -0"},
		"the files alone": {false, true, "a=1", "note of one,note of two",
			"begins, ended talk=false files=true +1 -1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := twoTurns(t)
			command := session.Rewind{To: r.to(2), Conversation: tt.conversation, Files: tt.files}
			if err := r.rewinder().Rewind(t.Context(), command); err != nil {
				t.Fatal(err)
			}
			r.checkFiles(tt.wantFiles)
			if got := r.notes(); got != tt.wantNotes {
				t.Errorf("notes are %s, want %s", got, tt.wantNotes)
			}
			if got := r.ends(); got != tt.wantEnds {
				t.Errorf("the log says %s, want %s", got, tt.wantEnds)
			}
			if err := r.rewinder().Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.checkFiles("a=2,b=2")
			if got, want := r.notes(), "note of one,note of two"; got != want {
				t.Errorf("taken back, notes are %s, want %s", got, want)
			}
			if err := r.rewinder().Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.checkFiles(tt.wantFiles)
			if got := r.notes(); got != tt.wantNotes {
				t.Errorf("taken back twice, notes are %s, want %s", got, tt.wantNotes)
			}
		})
	}
}

func TestWhatIsTakenBackIsNoPlaceToReturnTo(t *testing.T) {
	r := twoTurns(t)
	second := r.to(2)
	if err := r.rewinder().Rewind(t.Context(), session.Rewind{To: r.to(1), Conversation: true}); err != nil {
		t.Fatal(err)
	}
	err := r.rewinder().Rewind(t.Context(), session.Rewind{To: second, Conversation: true})
	if !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("Rewind = %v, want %v", err, ErrNoCheckpoint)
	}
	if list, err := List(t.Context(), r.store, r.state.ID); err != nil || len(list) != 0 {
		t.Errorf("one can return to %+v, %v; want nowhere", list, err)
	}
	if err := r.rewinder().Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.to(2); got != second {
		t.Errorf("brought back, the second turn is at %d, want %d", got, second)
	}
}

func TestHowTheLastTurnEndedIsBroughtBack(t *testing.T) {
	r := twoTurns(t)
	r.append(session.TurnResumed{}, session.TurnEnded{Outcome: session.OutcomeParked})
	if err := r.rewinder().Rewind(t.Context(), session.Rewind{To: r.to(2), Conversation: true}); err != nil {
		t.Fatal(err)
	}
	if r.state.Status != session.Idle {
		t.Errorf("rewound, the session is %s, want %s", r.state.Status, session.Idle)
	}
	if err := r.rewinder().Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.state.Status != session.Parked {
		t.Errorf("brought back, the session is %s, want %s", r.state.Status, session.Parked)
	}
}

func TestARewindPutsBackWhatTheSnapshotCameTooLateFor(t *testing.T) {
	r := twoTurns(t)
	r.turn++
	early := []session.PreImage{{Path: "a", Content: []byte("early"), Mode: 0o644}, {Path: "b", Missing: true}}
	r.append(session.TurnStarted{}, session.Checkpointed{Turn: r.turn, Tree: "a=late,b=late", PreImages: early})
	if err := r.rewinder().Rewind(t.Context(), session.Rewind{To: r.to(3), Files: true}); err != nil {
		t.Fatal(err)
	}
	r.checkFiles("a=early")
	if err := r.rewinder().Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.checkFiles("a=2,b=2")
}

func TestWhatARewindRefuses(t *testing.T) {
	both := func(r *rig) session.Rewind { return session.Rewind{To: r.to(2), Conversation: true, Files: true} }
	for name, tt := range map[string]struct {
		prepare func(r *rig, w *Rewinder)
		command func(r *rig) session.Rewind
		want    error
	}{
		"an unknown place": {nil, func(*rig) session.Rewind { return session.Rewind{To: 4711, Conversation: true} },
			ErrNoCheckpoint},
		"files without snapshots": {func(_ *rig, w *Rewinder) { w.Snapshots = nil }, both, ErrNotKept},
		"files that were not kept": {func(r *rig, _ *Rewinder) {
			r.turn++
			r.append(session.TurnStarted{}, session.Checkpointed{Turn: r.turn, Problem: "the disk was full"})
		}, func(r *rig) session.Rewind { return session.Rewind{To: r.to(3), Files: true} }, ErrNotKept},
		"files that are not as in the preview": {nil, func(r *rig) session.Rewind {
			return session.Rewind{To: r.to(2), Files: true, ExpectTree: "a=2,b=other"}
		}, snapshot.ErrChanged},
		"files of which no way back can be kept": {func(r *rig, _ *Rewinder) { r.folder.takeErr = errSnapshot }, both,
			errSnapshot},
		"what cannot be written down": {func(r *rig, _ *Rewinder) { r.appendErr = store.ErrReadOnly }, both,
			store.ErrReadOnly},
	} {
		t.Run(name, func(t *testing.T) {
			r := twoTurns(t)
			w := r.rewinder()
			if tt.prepare != nil {
				tt.prepare(r, &w)
			}
			if err := w.Rewind(t.Context(), tt.command(r)); !errors.Is(err, tt.want) {
				t.Errorf("Rewind = %v, want %v", err, tt.want)
			}
			r.checkFiles("a=2,b=2")
			if got := r.ends(); got != "" || r.state.PendingRewind != nil {
				t.Errorf("the log says %q, pending %v; want nothing", got, r.state.PendingRewind)
			}
			r.appendErr = nil
			if err := w.Undo(t.Context()); !errors.Is(err, ErrNoRewind) {
				t.Errorf("Undo = %v, want %v", err, ErrNoRewind)
			}
		})
	}
}

func TestTheSessionOfAStepIsNotRewound(t *testing.T) {
	whole := twoTurns(t).state.ID
	r := newRig(t, session.Created{PartOf: whole, Step: 1})
	r.play("a step", "a=1")
	err := r.rewinder().Rewind(t.Context(), session.Rewind{To: r.to(1), Conversation: true})
	if err == nil || !strings.Contains(err.Error(), "rewind session "+string(whole)) {
		t.Errorf("Rewind = %v, want the session whose step it is", err)
	}
	if got := r.ends(); got != "" {
		t.Errorf("the log says %q, want nothing", got)
	}
}

func TestARewindWhoseFilesAreGoneTakesNothingBack(t *testing.T) {
	r := twoTurns(t)
	r.turn++
	r.append(session.TurnStarted{}, session.Checkpointed{Turn: r.turn, Tree: "gone"})
	err := r.rewinder().Rewind(t.Context(), session.Rewind{To: r.to(3), Conversation: true, Files: true})
	if !errors.Is(err, snapshot.ErrGone) {
		t.Errorf("Rewind = %v, want %v", err, snapshot.ErrGone)
	}
	if got, want := r.ends(), "begins, ended talk=false files=false +0 -0"; got != want {
		t.Errorf("the log says %s, want %s", got, want)
	}
	if r.state.PendingRewind != nil || r.state.LastRewind != nil || r.state.Status != session.Running {
		t.Errorf("pending %v, to be taken back %v, status %s",
			r.state.PendingRewind, r.state.LastRewind, r.state.Status)
	}
}

func TestFilesThatCouldNotBeRestoredAreNamed(t *testing.T) {
	r := twoTurns(t)
	r.folder.fails = "b"
	if err := r.rewinder().Rewind(t.Context(), session.Rewind{To: r.to(2), Files: true}); err != nil {
		t.Fatal(err)
	}
	records, err := r.store.EventsOfType(t.Context(), r.state.ID, "rewound")
	if err != nil || len(records) != 1 {
		t.Fatalf("%d ends, %v", len(records), err)
	}
	if got, want := records[0].Event.(session.Rewound).Failed, []string{"b: snapshots fail"}; !slices.Equal(got, want) {
		t.Errorf("Failed = %q, want %q", got, want)
	}
}

func TestARewindThatWasCutOff(t *testing.T) {
	const (
		completed = "begins, ended talk=true files=true"
		givenUp   = "begins, ended talk=false files=false"
	)
	for name, tt := range map[string]struct {
		found     string // files as the next program finds them
		prepare   func(r *rig, w *Rewinder)
		wantFiles string
		wantEnds  string
		wantErr   string
	}{
		"before a file was touched": {"a=2,b=2", nil, "a=1", completed + " +1 -1", ""},
		"in the middle":             {"a=1,b=2", nil, "a=1", completed + " +0 -1", ""},
		"after all was done":        {"a=1", nil, "a=1", completed + " +0 -0", ""},
		"and a file was edited":     {"a=mine,b=2", nil, "a=mine,b=2", givenUp + " +0 -0", "since: a;"},
		"and two files were edited": {"a=mine,b=mine", nil, "a=mine,b=mine", givenUp + " +0 -0", "since: a, b;"},
		"and another file came":     {"a=2,b=2,new=1", nil, "a=2,b=2,new=1", givenUp + " +0 -0", "since: new;"},
		"and a file is in neither":  {"b=2", nil, "b=2", givenUp + " +0 -0", "since: a;"},
		"and the first five are told": {"a=x,c=1,d=1,e=1,f=1,g=1", nil, "a=x,c=1,d=1,e=1,f=1,g=1", givenUp + " +0 -0",
			"since: a, c, d, e, f;"},
		"and snapshots fail now": {"a=2,b=2", func(r *rig, _ *Rewinder) { r.folder.takeErr = errSnapshot }, "a=2,b=2",
			givenUp + " +0 -0", "snapshots fail"},
		"and there are no snapshots any more": {"a=2,b=2", func(_ *rig, w *Rewinder) { w.Snapshots = nil }, "a=2,b=2",
			givenUp + " +0 -0", ErrNotKept.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			r := twoTurns(t)
			r.killed = true
			command := session.Rewind{To: r.to(2), Conversation: true, Files: true}
			if err := r.rewinder().Rewind(t.Context(), command); err != nil {
				t.Fatal(err)
			}
			pending := r.state.PendingRewind
			if pending == nil {
				t.Fatal("nothing says that a rewind was under way")
			}
			r.killed = false
			r.folder.write(t, tt.found)
			w := r.rewinder()
			if tt.prepare != nil {
				tt.prepare(r, &w)
			}
			err := w.Resume(t.Context(), *pending)
			if (err != nil) != (tt.wantErr != "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("Resume = %v, want %q", err, tt.wantErr)
			}
			r.checkFiles(tt.wantFiles)
			if got := r.ends(); got != tt.wantEnds || r.state.PendingRewind != nil {
				t.Errorf("the log says %s, pending %v; want %s", got, r.state.PendingRewind, tt.wantEnds)
			}
			if rewound := len(r.state.RewoundSpans) > 0; rewound != (tt.wantErr == "") {
				t.Errorf("the conversation was rewound: %v", rewound)
			}
		})
	}
}

func TestARewindOfTheConversationThatWasCutOffIsCompleted(t *testing.T) {
	r := twoTurns(t)
	r.killed = true
	if err := r.rewinder().Rewind(t.Context(), session.Rewind{To: r.to(2), Conversation: true}); err != nil {
		t.Fatal(err)
	}
	r.killed = false
	r.folder.write(t, "a=mine") // which is no concern of the conversation
	if err := r.rewinder().Resume(t.Context(), *r.state.PendingRewind); err != nil {
		t.Fatal(err)
	}
	r.checkFiles("a=mine")
	if got, want := r.notes(), "note of one"; got != want || r.folder.restores != 0 {
		t.Errorf("notes are %s, want %s; files were put back %d times", got, want, r.folder.restores)
	}
}
