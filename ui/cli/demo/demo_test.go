package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/store"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
)

func TestMain(m *testing.M) {
	store.RelaxForTesting()
	os.Setenv("GIT_TEST_FSYNC", "0")
	os.Exit(m.Run())
}

// newTestDemo is a demo in a temporary folder, and what it has said.
func newTestDemo(t *testing.T, o Options) (*demo, *bytes.Buffer) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	var said bytes.Buffer
	ids := 0
	newID := func() string { ids++; return fmt.Sprint("id", ids) }
	d, err := newDemo(Host{Env: app.Env{Out: &said, Err: &said, Version: "test", Now: time.Now, NewID: newID}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return d, &said
}

func TestHowOftenBelayIsStarted(t *testing.T) {
	killed := exitStatus{killed: true, killedByDemo: true, code: -1}
	byAnother := exitStatus{killed: true, code: -1}
	done := exitStatus{code: exit.Done}
	for name, tt := range map[string]struct {
		ends   []exitStatus
		failed error // of the last start
		starts int
		code   int
		says   string
	}{
		"once, if it is not killed": {[]exitStatus{done}, nil, 1, exit.Done, ""},
		"again after the kill": {[]exitStatus{killed, done}, nil, 2, exit.Done,
			"was killed (kill -9), in the middle"},
		"again after a kill by another": {[]exitStatus{byAnother, done}, nil, 2, exit.Done, "✗ belay was killed\n"},
		"not for ever": {slices.Repeat([]exitStatus{killed}, 9), nil, maxStarts, -1,
			"starting it again"},
		"not after a failure, whose code it has": {[]exitStatus{{code: exit.Capacity}}, nil, 1, exit.Capacity, ""},
		"not if it cannot be started":            {[]exitStatus{{}}, errors.New("no belay"), 1, exit.Failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, said := newTestDemo(t, Options{})
			var kills []bool
			d.start = func(_ context.Context, _ session.ID, kill bool) (exitStatus, error) {
				kills = append(kills, kill)
				return tt.ends[len(kills)-1], tt.failed
			}
			var err error
			synctest.Test(t, func(t *testing.T) { err = d.run(t.Context()) })
			code := exit.Done
			if err != nil {
				code = exit.Code(err)
			}
			if len(kills) != tt.starts || code != tt.code {
				t.Errorf("started %d times, code %d; want %d, code %d", len(kills), code, tt.starts, tt.code)
			}
			if !kills[0] || slices.Contains(kills[1:], true) {
				t.Errorf("the kills are %v, want the first alone", kills)
			}
			if !strings.Contains(said.String(), tt.says) {
				t.Errorf("it says %q, want %q", said, tt.says)
			}
		})
	}
}

func TestADemoThatIsInterrupted(t *testing.T) {
	for name, end := range map[string]exitStatus{
		"while belay runs":              {code: exit.Done},
		"before belay is started again": {killed: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newTestDemo(t, Options{})
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				starts := 0
				d.start = func(context.Context, session.ID, bool) (exitStatus, error) {
					if starts++; end.killed {
						time.AfterFunc(time.Millisecond, cancel)
					} else {
						cancel()
					}
					return end, nil
				}
				if err := d.run(ctx); exit.Code(err) != exit.Interrupted || starts != 1 {
					t.Errorf("run = %v after %d starts, want code %d after one", err, starts, exit.Interrupted)
				}
			})
		})
	}
}

func TestWhatIsLeftOfADemo(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		d, said := newTestDemo(t, Options{Keep: keeps})
		if err := d.cleanUp(); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(filepath.Join(d.project(), "till.sh"))
		if told := strings.Contains(said.String(), d.project()); (err == nil) != keeps || told != keeps {
			t.Errorf("kept %v: %v, said %q", keeps, err, said)
		}
	}
}

func TestWhatIsSaidOfAKill(t *testing.T) {
	for name, tt := range map[string]struct {
		now   progress
		plain bool
		want  string
	}{
		"nothing on disk": {progress{}, true, "  nothing was on disk yet: starting it again\n"},
		"no steps": {progress{id: "abc"}, true,
			"  on disk: the task, and no steps yet\n  starting it again:\n$ belay resume abc\n"},
		"some steps, on a screen": {progress{id: "abc", done: 2, steps: 5}, false,
			"  on disk: 2 of 5 steps\n  starting it again:\n$ belay -r abc\n"},
		"in the middle of a step": {progress{id: "abc", done: 2, steps: 5, changed: "till.sh +1 −1",
			draft: "\x1b[31m" + strings.Repeat("y", 30) + strings.Repeat("x", 43) + "\nz"}, true,
			"  on disk: 2 of 5 steps\n           what the next one has done: till.sh +1 −1\n" +
				"           half a sentence: “…" + strings.Repeat("x", 43) + " z”\n  starting it again:\n$ belay resume abc\n"},
	} {
		t.Run(name, func(t *testing.T) {
			d, said := newTestDemo(t, Options{Plain: tt.plain})
			d.reportKill(exitStatus{killedByDemo: true}, tt.now)
			_, got, _ := strings.Cut(strings.TrimPrefix(said.String(), "\n"), "\n")
			if got != tt.want {
				t.Errorf("it says\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestWhichCheckpointIsReturnedTo(t *testing.T) {
	step := func(n int) session.Checkpoint { return session.Checkpoint{Seq: int64(10 * n), Step: n} }
	turn := session.Checkpoint{Seq: 1}
	for name, tt := range map[string]struct {
		list   []session.Checkpoint
		seq    int64
		number int
	}{
		"none without steps":      {[]session.Checkpoint{turn}, 0, 0},
		"that of the last step":   {[]session.Checkpoint{turn, step(1), step(2)}, 20, 3},
		"whatever comes after it": {[]session.Checkpoint{turn, step(1), step(2), {After: true}}, 20, 3},
	} {
		t.Run(name, func(t *testing.T) {
			at, number, ok := lastStepCheckpoint(tt.list)
			if at.Seq != tt.seq || number != tt.number || ok != (tt.number > 0) {
				t.Errorf("it is number %d at %d, %v; want %d at %d", number, at.Seq, ok, tt.number, tt.seq)
			}
		})
	}
}

func TestWhenBelayIsKilled(t *testing.T) {
	for name, tt := range map[string]struct {
		done    int // steps
		changed bool
		draft   int // letters
		want    bool
	}{
		"in the sentence after the third step's change": {2, true, minDraft, true},
		"not while the sentence is short":               {2, true, minDraft - 1, false},
		"not before the change":                         {2, false, minDraft, false},
		"not in another step":                           {1, true, minDraft, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newTestDemo(t, Options{})
			synctest.Test(t, func(t *testing.T) {
				writeProgress(t, d, tt.done, tt.changed, strings.Repeat("x", tt.draft))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of the bubble's time
				defer cancel()
				if got := d.midSentence(ctx); got != tt.want {
					t.Errorf("it is killed: %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// writeProgress stores a plan of three steps, of which some are done and the
// next runs.
func writeProgress(t *testing.T, d *demo, done int, changed bool, draft string) {
	t.Helper()
	st, err := store.Open(t.Context(), d.data(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	whole, err := st.Create(t.Context(), session.Created{Project: d.project(), Tier: models.Heavy})
	if err != nil {
		t.Fatal(err)
	}
	part, err := st.Create(t.Context(), session.Created{Project: d.project(), PartOf: whole.ID, Step: done + 1})
	if err != nil {
		t.Fatal(err)
	}
	list := make([]session.Step, 3)
	for i := range list {
		list[i].State = session.StepPending
		if i < done {
			list[i].State = session.StepDone
		}
	}
	list[done].State = session.StepRunning
	list[done].Session = part.ID
	_, _, err = st.Append(t.Context(), whole.ID, 1, session.PlanSet{Plan: session.Plan{Steps: list}})
	if changed && err == nil {
		edit := session.ToolEnded{Title: "till.sh", Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"}
		_, _, err = st.Append(t.Context(), part.ID, 1, edit)
	}
	if err = errors.Join(err, st.SaveDraft(t.Context(), part.ID, session.Draft{Turn: 1, Text: draft})); err != nil {
		t.Fatal(err)
	}
}

// play plays the demo without a screen. The kill is the end of the context here,
// for a process cannot be killed in a bubble.
func play(t *testing.T, d *demo) {
	d.Host.Run = func(ctx context.Context, o app.Options, id session.ID, prompt string) (err error) {
		opened, err := app.Open(ctx, d.Env, o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, opened.Close()) }()
		var command session.Command = session.Resume{}
		if id == "" {
			state, err := opened.Engine.Start(ctx, o.Project)
			if err != nil {
				return err
			}
			id = state.ID
			command = session.PlanTask{Prompt: session.Prompt{ID: prompt, Text: prompt}, Start: true}
		} else if _, err := opened.Engine.Open(ctx, id, false); err != nil {
			return err
		}
		if err := opened.Engine.Do(ctx, id, command); err != nil {
			return err
		}
		_, err = opened.Engine.Wait(ctx, id)
		return err
	}
	d.Host.Rewind = func(
		ctx context.Context, a *app.App, id session.ID, at session.Checkpoint, c session.Rewind, yes bool,
	) error {
		preview, err := a.Engine.Preview(ctx, id, at.Seq)
		d.say("taken back: %d steps, %d files", preview.Steps, len(preview.Changes))
		if err != nil || !yes {
			return err
		}
		return a.Engine.Do(ctx, id, c)
	}
	d.start = func(ctx context.Context, id session.ID, kill bool) (exitStatus, error) {
		playing, end := context.WithCancel(ctx)
		defer end()
		var watcher sync.WaitGroup
		var status exitStatus
		if kill {
			watcher.Go(func() {
				status.killedByDemo = d.midSentence(playing)
				end()
			})
		}
		err := d.play(playing, id)
		end()
		watcher.Wait()
		status.killed = status.killedByDemo
		if status.killed {
			err = nil
		}
		return status, err
	}
}

func TestTheDemoIsPlayedToItsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("it carries out a whole task, with git and a shell")
	}
	t.Setenv("BELAY_HOME", t.TempDir())
	d, said := newTestDemo(t, Options{Plain: true})
	synctest.Test(t, func(t *testing.T) {
		play(t, d)
		if err := d.run(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	got := said.String()
	for _, want := range []string{
		"› " + demoPrompt + "\n$ belay run --steps --approve all",
		"✗ belay was killed (kill -9), in the middle of a sentence",
		"  on disk: 2 of 5 steps\n           what the next one has done: till.sh +1 −1\n",
		"  starting it again:\n$ belay resume ",
		"taken back: 1 steps, 1 files\n",
		" --yes\n",
		"  now: 4 of 5 steps done; README.md does not say what a line of a basket holds\n",
		" --undo\n  now: 5 of 5 steps done; README.md says what a line of a basket holds\n",
		"That was belay.",
	} {
		rest, found := cutAfter(got, want)
		if !found {
			t.Fatalf("it does not say %q in the order of the story:\n%s", want, said)
		}
		got = rest
	}
	checkStory(t, d)
}

func cutAfter(text, word string) (string, bool) {
	_, rest, found := strings.Cut(text, word)
	return rest, found
}

// checkStory looks in the log for what README promises: a capacity failure in
// mid-sentence, a switch and the way back.
func checkStory(t *testing.T, d *demo) {
	t.Helper()
	st, err := store.Open(t.Context(), d.data(), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	list, err := st.List(t.Context(), session.Filter{})
	if err != nil || len(list) != 1 || list[0].Plan == nil {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	var story []string
	for _, step := range list[0].Plan.Steps {
		records, err := st.Records(t.Context(), step.Session, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			switch e := r.Event.(type) {
			case session.AttemptFailed:
				if e.Fault != nil && e.Fault.Kind == models.KindCapacity {
					story = append(story, "full")
				}
			case session.CutOff:
				story = append(story, "cut off")
			case session.Switched:
				story = append(story, e.From.Model+">"+e.To.Model)
			}
		}
	}
	got := strings.Join(slices.Compact(story), ", ")
	for _, want := range []string{"cut off", "full", "gpt-5.6-sol>gpt-5.6-terra", "gpt-5.6-terra>gpt-5.6-sol"} {
		if !strings.Contains(got, want) {
			t.Errorf("the story is %s; want %s in it", got, want)
		}
	}
}

func TestTheDemoSaysWhichProgramItLacks(t *testing.T) {
	for _, lacks := range []string{"sh", "grep", ""} {
		err := checkPrograms(func(name string) (string, error) {
			if name == lacks {
				return "", errors.New("not found")
			}
			return "/bin/" + name, nil
		})
		told := err != nil && strings.Contains(err.Error(), lacks) && session.ErrorHint(err) != ""
		if told != (lacks != "") {
			t.Errorf("without %q: %v, %s", lacks, err, session.ErrorHint(err))
		}
	}
}
