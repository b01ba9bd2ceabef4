package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/rewind"
	"belay/session/snapshot"
)

// withSnapshots gives a rig snapshots of its project. Tests with it do not run in
// parallel: a process that another test is about to start holds the lock of the
// snapshots for a moment, during which the fake time of this one runs on.
func withSnapshots(r *rig) {
	r.mode = session.All
	r.engine = func(o *Options) {
		o.Snapshots = func(root string) Snapshots {
			return snapshot.New(snapshot.Options{Dir: filepath.Join(r.data, "snapshots"), Root: root})
		}
	}
}

// writes is a script of turns that each write a file, run a command and speak.
func writes(turns int) string {
	var b strings.Builder
	for i := range turns {
		fmt.Fprintf(
			&b,
			"[[reply]]\n[[reply.calls]]\nname = \"write\"\narguments = { path = \"f%d\", content = \"from turn %d\" }\n"+
				"[[reply.calls]]\nname = \"shell\"\narguments = { command = \"echo %d >> log\" }\n[[reply]]\n"+
				"text = \"Written %d.\"\n",
			i,
			i,
			i,
			i,
		)
	}
	return b.String() + "[[reply]]\ntimes = -1\ntext = \"Fine.\"\n"
}

// files lists what is in the project, with content.
func (r *rig) files() string {
	r.t.Helper()
	entries, err := os.ReadDir(r.project)
	if err != nil {
		r.t.Fatal(err)
	}
	var words []string
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(r.project, e.Name()))
		if err != nil {
			r.t.Fatal(err)
		}
		words = append(words, e.Name()+"="+strings.ReplaceAll(string(b), "\n", " "))
	}
	return strings.Join(words, ",")
}

// checkpoints lists the places before turns and steps.
func (r *rig) checkpoints(id session.ID) []session.Checkpoint {
	r.t.Helper()
	return slices.DeleteFunc(r.places(id), func(c session.Checkpoint) bool { return c.After })
}

func (r *rig) places(id session.ID) []session.Checkpoint {
	r.t.Helper()
	synctest.Wait() // the last one is made in the background
	list, err := r.Checkpoints(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// last is what the model was asked last.
func (r *rig) last() string {
	list := r.requests()
	return string(list[len(list)-1].Body)
}

func TestARewindReturnsToACheckpointAndCanBeTakenBack(t *testing.T) {
	inBubble(t, writes(3), withSnapshots, func(t *testing.T, r *rig, id session.ID) {
		for i := range 3 {
			r.send(id, fmt.Sprintf("task %d", i))
			r.wait(id)
		}
		const whole = "f0=from turn 0,f1=from turn 1,f2=from turn 2,log=0 1 2 "
		if got := r.files(); got != whole {
			t.Fatalf("files are %s", got)
		}
		list := r.checkpoints(id)
		if len(list) != 3 || list[1].Title != "task 1" || list[1].Tree == "" {
			t.Fatalf("checkpoints are %+v", list)
		}
		p, err := r.Preview(t.Context(), id, list[1].Seq)
		if err != nil || p.Turns != 2 || len(p.Changes) != 3 || len(p.Commands) != 2 ||
			!strings.Contains(p.Patch, "-from turn 2") {
			t.Fatalf("preview is %+v, %v", p, err)
		}
		r.do(id, session.Rewind{To: list[1].Seq, Conversation: true, Files: true, ExpectTree: p.Now})
		if got, want := r.files(), "f0=from turn 0,log=0 "; got != want {
			t.Errorf("files are %s, want %s", got, want)
		}
		if n := len(r.checkpoints(id)); n != 1 {
			t.Errorf("%d checkpoints are left, want 1", n)
		}
		r.stop()
		r.start() // it must hold over a restart
		if _, err := r.Open(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		r.send(id, "another way")
		if s := r.wait(id); s.Status != session.Idle {
			t.Fatalf("Status = %s, %v", s.Status, s.Fault)
		}
		if body := r.last(); !strings.Contains(body, "task 0") || strings.Contains(body, "task 1") ||
			strings.Contains(body, "turn 2") ||
			!strings.Contains(body, "another way") {
			t.Errorf("the model was asked %s", body[strings.Index(body, `"input"`):])
		}
		r.do(id, session.UndoRewind{})
		if got := r.files(); got != whole {
			t.Errorf("taken back, files are %s, want %s", got, whole)
		}
		r.send(id, "and now")
		r.wait(id)
		if body := r.last(); !strings.Contains(body, "task 1") || !strings.Contains(body, "Written 2.") ||
			strings.Contains(body, "another way") {
			t.Errorf("taken back, the model was asked %s", body[strings.Index(body, `"input"`):])
		}
		r.do(id, session.UndoRewind{}) // which can be taken back as well
		if got, want := r.files(), "f0=from turn 0,log=0 "; got != want {
			t.Errorf("taken back twice, files are %s, want %s", got, want)
		}
		r.send(id, "on that way")
		r.wait(id)
		if body := r.last(); strings.Contains(body, "task 1") || !strings.Contains(body, "another way") ||
			strings.Contains(body, "and now") {
			t.Errorf("taken back twice, the model was asked %s", body[strings.Index(body, `"input"`):])
		}
	})
}

func TestWhatWasChangedByHandSinceATurnCanBeTakenBack(t *testing.T) {
	inBubble(t, writes(2), withSnapshots, func(t *testing.T, r *rig, id session.ID) {
		for i := range 2 {
			r.send(id, fmt.Sprintf("task %d", i))
			r.wait(id)
			if r.places(id); i == 0 {
				writeFile(r.project, "f0", "by hand")
			}
		}
		var got []string
		list := r.places(id)
		for _, c := range list {
			got = append(got, fmt.Sprint(c.Title, map[bool]string{true: " after"}[c.After]))
		}
		if want := "task 0,task 0 after,task 1,task 1 after"; strings.Join(got, ",") != want {
			t.Fatalf("places are %s, want %s", strings.Join(got, ","), want)
		}
		writeFile(r.project, "f1", "by hand as well")
		r.do(id, session.Rewind{To: list[3].Seq, Conversation: true, Files: true})
		if got, want := r.files(), "f0=by hand,f1=from turn 1,log=0 1 "; got != want {
			t.Errorf("files are %s, want %s", got, want)
		}
		r.do(id, session.Rewind{To: list[1].Seq, Conversation: true, Files: true})
		if got, want := r.files(), "f0=from turn 0,log=0 "; got != want {
			t.Errorf("files are %s, want %s", got, want)
		}
		r.send(id, "and now")
		r.wait(id)
		if body := r.last(); !strings.Contains(body, "task 0") || strings.Contains(body, "task 1") {
			t.Errorf("the model was asked %s", body[strings.Index(body, `"input"`):])
		}
	})
}

func TestBeforeATurnIsNotWhereTheOneBeforeItEnded(t *testing.T) {
	inBubble(t, writes(2), withSnapshots, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "one")
		r.wait(id)
		r.places(id)
		if err := os.WriteFile(filepath.Join(r.project, "hand"), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		r.send(id, "two")
		r.wait(id)
		list := r.places(id)
		if i := slices.IndexFunc(list, func(c session.Checkpoint) bool { return c.After }); i != 1 ||
			list[1].Seq == list[2].Seq {
			t.Fatalf("places: %+v", list)
		}
		r.do(id, session.Rewind{To: list[2].Seq, Conversation: true, Files: true})
		if got := r.files(); !strings.Contains(got, "hand=mine") || strings.Contains(got, "f1") {
			t.Error("before the second turn there was, it is said:", got)
		}
		r.do(id, session.Rewind{To: list[1].Seq, Conversation: true, Files: true})
		if got := r.files(); strings.Contains(got, "hand") || !strings.Contains(got, "f0") {
			t.Error("after the first turn there was, it is said:", got)
		}
	})
}

func TestAQuickEndLeavesTheCheckpoint(t *testing.T) {
	inBubble(t, writes(1), func(r *rig) {
		withSnapshots(r)
		engine := r.engine
		r.engine = func(o *Options) {
			engine(o)
			shots := o.Snapshots
			o.Snapshots = func(root string) Snapshots {
				return sluggish{shots(root), rewind.SnapshotWait + time.Second, make(chan struct{}, 2)}
			}
		}
	}, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "one")
		r.wait(id)
		r.stop()
		r.start()
		list := r.checkpoints(id)
		if len(list) != 1 || list[0].Rewound {
			t.Fatalf("places: %+v", list)
		}
		if _, err := r.Open(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		r.do(id, session.Rewind{To: list[0].Seq, Files: true})
		if got := r.files(); strings.Contains(got, "f0") {
			t.Error("before the turn there was, it is said:", got)
		}
	})
}

func TestFilesOrConversationAlone(t *testing.T) {
	for _, tt := range []struct {
		talk, files bool
		want        string
		knows       bool
	}{
		{true, false, "f0=from turn 0,f1=from turn 1,log=0 1 ", false},
		{false, true, "f0=from turn 0,log=0 ", true},
	} {
		t.Run(fmt.Sprintf("conversation %v, files %v", tt.talk, tt.files), func(t *testing.T) {
			inBubble(t, writes(2), withSnapshots, func(t *testing.T, r *rig, id session.ID) {
				for i := range 2 {
					r.send(id, fmt.Sprintf("task %d", i))
					r.wait(id)
				}
				r.do(id, session.Rewind{To: r.checkpoints(id)[1].Seq, Conversation: tt.talk, Files: tt.files})
				if got := r.files(); got != tt.want {
					t.Errorf("files are %s, want %s", got, tt.want)
				}
				r.send(id, "go on")
				r.wait(id)
				if knows := strings.Contains(r.last(), "task 1"); knows != tt.knows {
					t.Errorf("the model knows of the second task: %v", knows)
				}
			})
		})
	}
}

func TestARewindThatCannotBeDoneChangesNothing(t *testing.T) {
	inBubble(t, writes(2), withSnapshots, func(t *testing.T, r *rig, id session.ID) {
		for i := range 2 {
			r.send(id, fmt.Sprintf("task %d", i))
			r.wait(id)
		}
		at := r.checkpoints(id)[0].Seq
		p, err := r.Preview(t.Context(), id, at)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(r.project, "f0", "by somebody else")
		before, log := r.files(), r.log(id)
		if err := r.Do(t.Context(), id, session.Rewind{To: at, Files: true, ExpectTree: p.Now}); !errors.Is(
			err,
			snapshot.ErrChanged,
		) {
			t.Errorf("files changed meanwhile: %v", err)
		}
		if err := r.Do(t.Context(), id, session.Rewind{To: 4711, Conversation: true}); !errors.Is(
			err,
			rewind.ErrNoCheckpoint,
		) {
			t.Errorf("no such place: %v", err)
		}
		if got := r.files(); got != before || r.log(id) != log {
			t.Errorf("files are %s, want %s; the log is %s", got, before, r.log(id))
		}
		if err := os.RemoveAll(filepath.Join(r.data, "snapshots")); err != nil {
			t.Fatal(err)
		}
		if err := r.Do(t.Context(), id, session.Rewind{To: at, Conversation: true, Files: true}); !errors.Is(
			err,
			snapshot.ErrGone,
		) {
			t.Errorf("the snapshots were deleted: %v", err)
		}
		if got := r.files(); got != before {
			t.Errorf("files are %s, want %s", got, before)
		}
		if err := r.Do(t.Context(), id, session.UndoRewind{}); !errors.Is(err, rewind.ErrNoRewind) {
			t.Errorf("nothing was taken back: %v, want %v", err, rewind.ErrNoRewind)
		}
		r.do(id, session.Rewind{To: at, Conversation: true})
		r.send(id, "anew")
		if s := r.wait(id); s.Status != session.Idle || strings.Contains(r.last(), "task 0") {
			t.Errorf("Status = %s, %v", s.Status, s.Fault)
		}
	})
}

func TestARewindThatWasCutOffIsCompleted(t *testing.T) {
	for _, tt := range []struct {
		name string
		left func(r *rig) // what the crash, and whoever came after it, left
		want string
		done bool
	}{
		{"nothing was done", func(*rig) {}, "f0=from turn 0,log=0 ", true},
		{"half of it was done", func(r *rig) { writeFile(r.project, "log", "0\n") }, "f0=from turn 0,log=0 ", true},
		{"somebody has worked on since", func(r *rig) { writeFile(r.project, "log", "mine\n") },
			"f0=from turn 0,f1=from turn 1,log=mine ", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, writes(2), withSnapshots, func(t *testing.T, r *rig, id session.ID) {
				for i := range 2 {
					r.send(id, fmt.Sprintf("task %d", i))
					r.wait(id)
				}
				at := r.checkpoints(id)[1]
				p, err := r.Preview(t.Context(), id, at.Seq)
				if err != nil {
					t.Fatal(err)
				}
				old, err := r.store.StateAt(t.Context(), id, at.Seq)
				if err != nil {
					t.Fatal(err)
				}
				then := old.State()
				r.stop() // as if killed after the intent was written down
				r.start()
				if _, _, err := r.store.Append(
					t.Context(),
					id,
					2,
					session.Rewinding{To: at.Seq, Conversation: true, Files: true, Tree: at.Tree, From: p.Now, State: &then},
				); err != nil {
					t.Fatal(err)
				}
				tt.left(r)
				fork, err := r.store.Fork(t.Context(), id, 0)
				if err != nil {
					t.Fatal(err)
				}
				before := r.files()
				if _, err := r.Open(t.Context(), fork.ID, false); err != nil || r.files() != before {
					t.Errorf("opening a fork changed files to %s (%v)", r.files(), err)
				}
				s, err := r.Open(t.Context(), id, false)
				if err != nil || s.PendingRewind != nil {
					t.Fatalf("open: %v, still rewinding %v", err, s.PendingRewind)
				}
				if got := r.files(); got != tt.want {
					t.Errorf("files are %s, want %s", got, tt.want)
				}
				if said := r.notices(); strings.Contains(said, "could not be completed: files have changed since: log") == tt.done {
					t.Errorf("said %q", said)
				}
				r.send(id, "anew")
				r.wait(id)
				if strings.Contains(r.last(), "task 1") == tt.done {
					t.Errorf("the conversation was rewound: %v", !tt.done)
				}
			})
		})
	}
}

func TestALateCheckpointBelongsToItsTurn(t *testing.T) {
	for _, steps := range []bool{false, true} {
		t.Run(fmt.Sprintf("of steps %v", steps), func(t *testing.T) {
			inBubble(t, writes(2), func(r *rig) {
				withSnapshots(r)
				engine := r.engine
				r.engine = func(o *Options) {
					engine(o)
					shots := o.Snapshots
					o.Snapshots = func(root string) Snapshots { return sluggish{shots(root), time.Minute, make(chan struct{}, 1)} }
				}
			}, func(t *testing.T, r *rig, id session.ID) {
				if steps {
					r.do(id, session.PlanTask{
						Prompt: session.Prompt{Text: "task"},
						Start:  true,
						Steps:  []session.Step{{Title: "one", Instructions: "x"}, {Title: "two", Instructions: "y"}},
					})
					r.wait(id)
				} else {
					for i := range 2 {
						r.send(id, fmt.Sprintf("task %d", i))
						r.wait(id)
					}
				}
				time.Sleep(time.Hour)
				if got, want := r.files(), "f0=from turn 0,f1=from turn 1,log=0 1 "; got != want {
					t.Fatalf("files are %s", got)
				}
				r.do(id, session.Rewind{To: r.checkpoints(id)[0].Seq, Conversation: true, Files: true})
				if got := r.files(); strings.Contains(got, "f0") || strings.Contains(got, "f1") {
					t.Errorf("rewound to the beginning, files are %s", got)
				}
			})
		})
	}
}

// sluggish are snapshots that take long, one after the other.
type sluggish struct {
	Snapshots
	time time.Duration
	one  chan struct{}
}

func (s sluggish) Take(ctx context.Context) (snapshot.Tree, error) {
	s.one <- struct{}{}
	defer func() { <-s.one }()
	time.Sleep(s.time)
	return s.Snapshots.Take(ctx)
}

func TestAfterARewindAnUnknownOutcomeIsStillUnknown(t *testing.T) {
	inBubble(t, "[[reply]]\ntimes = -1\ntext = \"Fine.\"\n", withSnapshots, func(t *testing.T, r *rig, id session.ID) {
		r.stop()
		r.start()
		call := models.Item{Kind: models.Call, CallID: "c", Name: "shell", Arguments: `{"command":"rm -r data"}`}
		for _, e := range []session.Event{session.TurnStarted{Prompt: session.Prompt{ID: "1", Text: "one"}},
			session.ItemAdded{Item: call},
			session.ToolStarted{Effect: session.Effect{CallID: "c", Tool: "shell", Class: session.Run, Args: call.Arguments,
				Title: "rm -r data"}}} {
			if _, _, err := r.store.Append(t.Context(), id, 1, e); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Open(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		for _, words := range []string{"two", "three"} {
			r.send(id, words)
			r.wait(id)
			if body := r.last(); !strings.Contains(body, "outcome unknown") {
				t.Errorf("%s: the model was asked %s", words, body[strings.Index(body, `"input"`):])
			}
			list := r.checkpoints(id)
			r.do(id, session.Rewind{To: list[len(list)-1].Seq, Conversation: true})
		}
	})
}

func TestWhatComesDuringAQuietWorkIsNotLost(t *testing.T) {
	inBubble(t, busyAlways, func(r *rig) {
		withSnapshots(r)
		engine := r.engine
		r.engine = func(o *Options) {
			engine(o)
			o.ParkSchedule = parkWaits
			shots := o.Snapshots
			o.Snapshots = func(root string) Snapshots { return sluggish{shots(root), 40 * time.Second, make(chan struct{}, 1)} }
		}
	}, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.wait(id)
		time.Sleep(time.Minute) // the checkpoint is there
		for s, _ := r.Session(id); s.Status != session.Parked; s, _ = r.Session(id) {
			time.Sleep(time.Second)
		}
		asked := len(r.requests())
		if err := r.Do(
			t.Context(),
			id,
			session.Rewind{To: r.checkpoints(id)[0].Seq, Files: true},
		); err != nil { // over a tick of its timer
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if len(r.requests()) == asked {
			t.Error("the parked turn never went on")
		}
	})
}

const busyAlways = "[[reply]]\ntimes = -1\nfault = { how = \"status\", status = 503, code = " +
	"\"server_is_overloaded\", message = \"full\" }\n"
