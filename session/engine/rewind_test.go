package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/session"
	"belay/session/snapshot"
)

// keeping gives a rig snapshots of its project.
func keeping(r *rig) {
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
		fmt.Fprintf(&b, "[[reply]]\n[[reply.calls]]\nname = \"write\"\narguments = { path = \"f%d\", content = \"from turn %d\" }\n[[reply.calls]]\nname = \"shell\"\narguments = { command = \"echo %d >> log\" }\n[[reply]]\ntext = \"Written %d.\"\n", i, i, i, i)
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

func (r *rig) checkpoints(id session.ID) []session.Checkpoint {
	r.t.Helper()
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
	in(t, writes(3), keeping, func(t *testing.T, r *rig, id session.ID) {
		for i := range 3 {
			r.send(id, fmt.Sprintf("task %d", i))
			r.wait(id)
		}
		const whole = "f0=from turn 0,f1=from turn 1,f2=from turn 2,log=0 1 2 "
		if got := r.files(); got != whole {
			t.Fatalf("files are %s", got)
		}
		list := r.checkpoints(id)
		if len(list) != 3 || list[1].Words != "task 1" || list[1].Tree == "" {
			t.Fatalf("checkpoints are %+v", list)
		}
		p, err := r.Preview(t.Context(), id, list[1].Seq)
		if err != nil || p.Turns != 2 || len(p.Changes) != 3 || len(p.Commands) != 2 || !strings.Contains(p.Patch, "-from turn 2") {
			t.Fatalf("preview is %+v, %v", p, err)
		}
		r.do(id, session.Rewind{To: list[1].Seq, Talk: true, Files: true, Expect: p.Now})
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
		if body := r.last(); !strings.Contains(body, "task 0") || strings.Contains(body, "task 1") || strings.Contains(body, "turn 2") || !strings.Contains(body, "another way") {
			t.Errorf("the model was asked %s", body[strings.Index(body, `"input"`):])
		}
		r.do(id, session.Unrewind{})
		if got := r.files(); got != whole {
			t.Errorf("taken back, files are %s, want %s", got, whole)
		}
		r.send(id, "and now")
		r.wait(id)
		if body := r.last(); !strings.Contains(body, "task 1") || !strings.Contains(body, "Written 2.") || !strings.Contains(body, "another way") {
			t.Errorf("taken back, the model was asked %s", body[strings.Index(body, `"input"`):])
		}
		if err := r.Do(t.Context(), id, session.Unrewind{}); !errors.Is(err, ErrNoRewind) {
			t.Errorf("a second time: %v, want %v", err, ErrNoRewind)
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
			in(t, writes(2), keeping, func(t *testing.T, r *rig, id session.ID) {
				for i := range 2 {
					r.send(id, fmt.Sprintf("task %d", i))
					r.wait(id)
				}
				r.do(id, session.Rewind{To: r.checkpoints(id)[1].Seq, Talk: tt.talk, Files: tt.files})
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
	in(t, writes(2), keeping, func(t *testing.T, r *rig, id session.ID) {
		for i := range 2 {
			r.send(id, fmt.Sprintf("task %d", i))
			r.wait(id)
		}
		at := r.checkpoints(id)[0].Seq
		p, err := r.Preview(t.Context(), id, at)
		if err != nil {
			t.Fatal(err)
		}
		put(r.project, "f0", "by somebody else")
		before, log := r.files(), r.log(id)
		if err := r.Do(t.Context(), id, session.Rewind{To: at, Files: true, Expect: p.Now}); !errors.Is(err, snapshot.ErrChanged) {
			t.Errorf("files changed meanwhile: %v", err)
		}
		if err := r.Do(t.Context(), id, session.Rewind{To: 4711, Talk: true}); !errors.Is(err, ErrNoCheckpoint) {
			t.Errorf("no such place: %v", err)
		}
		if got := r.files(); got != before || r.log(id) != log {
			t.Errorf("files are %s, want %s; the log is %s", got, before, r.log(id))
		}
		if err := os.RemoveAll(filepath.Join(r.data, "snapshots")); err != nil {
			t.Fatal(err)
		}
		if err := r.Do(t.Context(), id, session.Rewind{To: at, Talk: true, Files: true}); !errors.Is(err, snapshot.ErrGone) {
			t.Errorf("the snapshots were deleted: %v", err)
		}
		if got := r.files(); got != before {
			t.Errorf("files are %s, want %s", got, before)
		}
		r.do(id, session.Rewind{To: at, Talk: true})
		r.send(id, "anew")
		if s := r.wait(id); s.Status != session.Idle || strings.Contains(r.last(), "task 0") {
			t.Errorf("Status = %s, %v", s.Status, s.Fault)
		}
	})
}

func TestARewindThatWasCutOffIsCompleted(t *testing.T) {
	in(t, writes(2), keeping, func(t *testing.T, r *rig, id session.ID) {
		for i := range 2 {
			r.send(id, fmt.Sprintf("task %d", i))
			r.wait(id)
		}
		at := r.checkpoints(id)[1]
		old, err := r.store.StateAt(t.Context(), id, at.Seq)
		if err != nil {
			t.Fatal(err)
		}
		then := old.State()
		r.stop() // as if killed after the intent was written down
		r.start()
		if _, _, err := r.store.Append(t.Context(), id, 2, session.Rewinding{To: at.Seq, Talk: true, Files: true, Tree: at.Tree, State: &then}); err != nil {
			t.Fatal(err)
		}
		s, err := r.Open(t.Context(), id, false)
		if err != nil || s.Rewind != nil {
			t.Fatalf("open: %v, still rewinding %v", err, s.Rewind)
		}
		if got, want := r.files(), "f0=from turn 0,log=0 "; got != want {
			t.Errorf("files are %s, want %s", got, want)
		}
		r.send(id, "anew")
		r.wait(id)
		if strings.Contains(r.last(), "task 1") {
			t.Error("the conversation was not rewound")
		}
	})
}
