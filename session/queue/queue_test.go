package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"belay/models"
	"belay/session/batch"
	"belay/session/queue/scratch"
	"belay/session/store"
)

// server is the PostgreSQL server of this package's tests, started once.
var server struct {
	sync.Once
	address string
	stop    func() error
	err     error
}

func TestMain(m *testing.M) {
	store.RelaxForTesting()
	code := m.Run()
	if server.stop != nil {
		if err := server.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

var ids struct {
	sync.Mutex
	n int
}

func newID() string {
	ids.Lock()
	defer ids.Unlock()
	ids.n++
	return fmt.Sprintf("%08dabcdef", ids.n)
}

// opener opens one queue as a machine sees it.
type opener func(machine string) *Queue

// onBoth runs a test by name over both implementations.
func onBoth(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("SQLite", func(t *testing.T) {
		dir := t.TempDir()
		test(t, func(machine string) *Queue { return opened(t, Options{Dir: dir, Machine: machine}) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		server.Do(func() { server.address, server.stop, server.err = scratch.Start(t.Context()) })
		if errors.Is(server.err, scratch.ErrNone) {
			t.Skip(server.err)
		}
		if server.err != nil {
			t.Fatal(server.err)
		}
		dir := t.TempDir()
		first := opened(t, Options{Dir: dir, URL: server.address, Machine: "machine0"})
		name := "test" + newID()
		if _, err := first.db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
			t.Fatal(err)
		}
		address := strings.Replace(server.address, "/postgres?", "/"+name+"?", 1)
		test(t, func(machine string) *Queue {
			return opened(t, Options{Dir: dir, URL: address, Machine: machine})
		})
	})
}

func opened(t *testing.T, o Options) *Queue {
	t.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	o.NewID = newID
	q, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}

func tasks(n int, change func(*batch.Task)) []batch.Task {
	list := make([]batch.Task, n)
	for i := range list {
		list[i] = batch.Defaults()
		list[i].Name, list[i].Prompt = fmt.Sprintf("task-%03d", i+1), fmt.Sprintf("do %d", i+1)
		list[i].Lane, list[i].Worktree, list[i].Repository = batch.Interactive, true, "/nowhere"
		if change != nil {
			change(&list[i])
		}
	}
	return list
}

func submitted(t *testing.T, q *Queue, list []batch.Task) Batch {
	t.Helper()
	b, err := q.Submit(t.Context(), Submission{Name: "test", Tasks: list})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func states(t *testing.T, q *Queue, id string) map[batch.State]int {
	t.Helper()
	b, err := q.Batch(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return b.Counts
}

// jobs are river's jobs of a batch's tasks, in their order.
func jobs(t *testing.T, q *Queue, id string) []Entry {
	t.Helper()
	list, err := q.Tasks(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func claimed(t *testing.T, q *Queue, worker string, job int64) (Entry, bool) {
	t.Helper()
	e, _, taken, err := q.claim(t.Context(), worker, job)
	if err != nil {
		t.Fatal(err)
	}
	return e, taken
}

func TestATaskHasOneResultWhoeverBelievesToHoldIt(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		q := open("machine1")
		b := submitted(t, q, tasks(1, nil))
		job := jobs(t, q, b.ID)[0].job
		if err := q.register(t.Context(), "dead", []string{Workers}); err != nil {
			t.Fatal(err)
		}
		old, taken := claimed(t, q, "dead", job)
		if !taken {
			t.Fatal("the task is not free")
		}
		if _, again := claimed(t, q, "other", job); again {
			t.Error("it was taken twice")
		}
		if err := q.saveProgress(t.Context(), old, batch.Progress{Session: "s1"}); err != nil {
			t.Fatal(err)
		}
		if err := q.unregister(t.Context(), "dead"); err != nil {
			t.Fatal(err)
		}
		if restarted, err := q.Reclaim(t.Context()); err != nil || len(restarted) > 0 {
			t.Fatal(restarted, err)
		}
		e, taken := claimed(t, q, "new", jobs(t, q, b.ID)[0].job)
		if !taken || e.Progress.Session != "s1" {
			t.Fatalf("taken %v, goes on with %q, want the session that it had", taken, e.Progress.Session)
		}
		if err := q.finish(t.Context(), old, batch.Result{State: batch.Done, Text: "old"}); !errors.Is(err, ErrLost) {
			t.Errorf("the old holder's result: %v, want ErrLost", err)
		}
		record := []byte("{\"a\":1}\n")
		r := batch.Result{State: batch.Done, Text: "new", Patch: []byte("diff"), Record: record}
		if err := q.finish(t.Context(), e, r); err != nil {
			t.Fatal(err)
		}
		if err := q.finish(t.Context(), e, r); !errors.Is(err, ErrLost) {
			t.Errorf("a second result: %v, want ErrLost", err)
		}
		patch, log, err := q.Artifacts(t.Context(), e.ID)
		if err != nil || string(patch) != "diff" || string(log) != string(record) {
			t.Errorf("%q, %q, %v", patch, log, err)
		}
		if got := jobs(t, q, b.ID)[0]; got.Result.Text != "new" || got.State != batch.Done {
			t.Errorf("%+v", got)
		}
	})
}

func TestATaskLostWithItsMachineBeginsAnew(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		there, here := open("machine1"), open("machine2")
		now := time.Now()
		there.o.Now = func() time.Time { return now.Add(-2 * leaseTime) } // it has not been heard of since
		b := submitted(t, there, tasks(2, nil))
		if err := there.register(t.Context(), "lost", []string{Workers}); err != nil {
			t.Fatal(err)
		}
		list := jobs(t, there, b.ID)
		e, taken := claimed(t, there, "lost", list[0].job)
		if !taken {
			t.Fatal("not taken")
		}
		spent := batch.Progress{Session: "s1", Cost: 1.5, Lost: 2, Since: now.UTC()}
		if err := there.saveProgress(t.Context(), e, spent); err != nil {
			t.Fatal(err)
		}
		restarted, err := here.Reclaim(t.Context())
		if err != nil || len(restarted) != 1 || restarted[0].ID != e.ID {
			t.Fatalf("restarted %v, %v", restarted, err)
		}
		got, taken := claimed(t, here, "new", jobs(t, here, b.ID)[0].job)
		if want := (batch.Progress{Lost: 3.5, Since: now.UTC()}); !taken || got.Progress != want || got.Restarts != 1 {
			t.Errorf("taken %v, %+v: want a fresh start, with what is spent", taken, got)
		}
		if err := there.finish(t.Context(), e, batch.Result{State: batch.Done}); !errors.Is(err, ErrLost) {
			t.Errorf("its result from the dead: %v", err)
		}
	})
}

func TestALivingWorkerOfAnotherMachineKeepsItsTask(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		there, here := open("machine1"), open("machine2")
		b := submitted(t, there, tasks(1, nil))
		if err := there.register(t.Context(), "alive", []string{Workers}); err != nil {
			t.Fatal(err)
		}
		e, _ := claimed(t, there, "alive", jobs(t, there, b.ID)[0].job)
		if err := there.saveProgress(t.Context(), e, batch.Progress{Session: "s1"}); err != nil {
			t.Fatal(err)
		}
		if restarted, err := here.Reclaim(t.Context()); err != nil || len(restarted) > 0 {
			t.Fatal(restarted, err)
		}
		if err := there.finish(t.Context(), e, batch.Result{State: batch.Done}); err != nil {
			t.Error(err)
		}
	})
}

func TestTasksOfOneFolderFollowEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		q := open("machine1")
		if err := q.register(t.Context(), "w", []string{Workers}); err != nil {
			t.Fatal(err)
		}
		b := submitted(t, q, tasks(3, func(t *batch.Task) {
			t.Worktree, t.Repository, t.Folder = false, "", "/work"
		}))
		list := jobs(t, q, b.ID)
		var order []int
		pending := []int64{list[2].job, list[0].job, list[1].job} // as they happen to come up
		for len(pending) > 0 {
			e, taken := claimed(t, q, "w", pending[0])
			if !taken {
				t.Fatalf("job %d stands for nothing", pending[0])
			}
			if len(pending) > 1 {
				if _, twice := claimed(t, q, "w", pending[1]); twice {
					t.Error("two work in one folder")
				}
			}
			order = append(order, e.Number)
			if err := q.finish(t.Context(), e, batch.Result{State: batch.Done}); err != nil {
				t.Fatal(err)
			}
			pending = pending[1:]
		}
		if !slices.Equal(order, []int{1, 2, 3}) {
			t.Errorf("carried out %v, want as they stand in the file", order)
		}
	})
}

func TestShiftingCancellingAndRetrying(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		q := open("machine1")
		b := submitted(t, q, tasks(4, nil))
		list := jobs(t, q, b.ID)
		e, _ := claimed(t, q, "w", list[0].job)
		if err := q.finish(t.Context(), e, batch.Result{State: batch.Failed, Error: "no room"}); err != nil {
			t.Fatal(err)
		}
		running, _ := claimed(t, q, "w", list[1].job)
		if n, err := q.ShiftTier(t.Context(), b.ID, models.Light); err != nil || n != 2 {
			t.Errorf("moved %d, %v, want the two that wait", n, err)
		}
		if got := jobs(t, q, b.ID)[2].Task.Tier; got != models.Light {
			t.Errorf("tier %q", got)
		}
		if n, err := q.Cancel(t.Context(), "", list[3].ID); err != nil || n != 1 {
			t.Error(n, err)
		}
		if _, taken := claimed(t, q, "w", list[3].job); taken {
			t.Error("a cancelled task was taken")
		}
		if n, err := q.Cancel(t.Context(), b.ID, ""); err != nil || n != 2 {
			t.Error(n, err)
		}
		if ids, err := q.cancelled(t.Context(), "w"); err != nil || !slices.Equal(ids, []string{running.ID}) {
			t.Errorf("%v, %v: the worker hears of what runs", ids, err)
		}
		if err := q.finish(t.Context(), running, batch.Result{State: batch.Cancelled}); err != nil {
			t.Fatal(err)
		}
		if n, err := q.RetryFailed(t.Context(), b.ID); err != nil || n != 4 {
			t.Error(n, err)
		}
		if got := states(t, q, b.ID); got[batch.Waiting] != 4 {
			t.Errorf("%v", got)
		}
		for _, e := range jobs(t, q, b.ID) {
			if _, taken := claimed(t, q, "w", e.job); !taken {
				t.Errorf("%s cannot be taken again", e.ID)
			}
			if e.Progress.Since.IsZero() {
				t.Errorf("%s: its limits do not begin anew with a person's word", e.ID)
			}
		}
	})
}

func TestTasksAreCountedOverAllBatches(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		q := open("machine1")
		check := func(want map[batch.State]int) {
			t.Helper()
			got, err := q.Counts(t.Context())
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		}
		want := map[batch.State]int{}
		for _, state := range batch.States() {
			want[state] = 0
		}
		check(want)
		list := jobs(t, q, submitted(t, q, tasks(3, nil)).ID)
		submitted(t, q, tasks(2, nil))
		for i, state := range []batch.State{batch.Parked, batch.Failed} {
			e, taken := claimed(t, q, "w", list[i].job)
			if !taken {
				t.Fatal("not taken")
			}
			if err := q.setState(t.Context(), e, state, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		want[batch.Waiting], want[batch.Parked], want[batch.Failed] = 3, 1, 1
		check(want)
	})
}

func TestATaskThatIsCancelledEndsAlthoughItsWorkerDid(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, *Queue, Entry){
		"it gave the task back": func(t *testing.T, q *Queue, e Entry) {
			if err := q.giveBack(t.Context(), e, time.Time{}, false, batch.Result{}); err != nil {
				t.Fatal(err)
			}
		},
		"it is to be tried again": func(t *testing.T, q *Queue, e Entry) {
			if err := q.giveBack(t.Context(), e, time.Now().Add(time.Hour), true, batch.Result{}); err != nil {
				t.Fatal(err)
			}
		},
		"it was killed": func(t *testing.T, q *Queue, _ Entry) {
			if err := q.unregister(t.Context(), "dead"); err != nil {
				t.Fatal(err)
			}
			if _, err := q.Reclaim(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, open opener) {
				q := open("machine1")
				if err := q.register(t.Context(), "dead", []string{Workers}); err != nil {
					t.Fatal(err)
				}
				b := submitted(t, q, tasks(1, nil))
				e, taken := claimed(t, q, "dead", jobs(t, q, b.ID)[0].job)
				if !taken {
					t.Fatal("the task is not free")
				}
				if n, err := q.Cancel(t.Context(), b.ID, ""); err != nil || n != 1 {
					t.Fatal(n, err)
				}
				leave(t, q, e)
				if got := jobs(t, q, b.ID)[0]; got.State != batch.Cancelled || got.Result.State != batch.Cancelled {
					t.Errorf("it is %s, %+v", got.State, got.Result)
				}
				if n, err := q.RetryFailed(t.Context(), b.ID); err != nil || n != 1 {
					t.Error(n, err)
				}
				if _, taken := claimed(t, q, "new", jobs(t, q, b.ID)[0].job); !taken {
					t.Error("it cannot be tried again")
				}
			})
		})
	}
}

func TestOnlyABatchThatIsOverIsDeleted(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		q := open("machine1")
		b, other := submitted(t, q, tasks(2, nil)), submitted(t, q, tasks(1, nil))
		list := jobs(t, q, b.ID)
		first, _ := claimed(t, q, "w", list[0].job)
		if err := q.finish(t.Context(), first, batch.Result{State: batch.Done, Patch: []byte("diff")}); err != nil {
			t.Fatal(err)
		}
		running, _ := claimed(t, q, "w", list[1].job)
		for _, state := range []batch.State{batch.Running, batch.Parked} {
			if err := q.setState(t.Context(), running, state, time.Time{}); err != nil {
				t.Fatal(err)
			}
			if err := q.Delete(t.Context(), b.ID); !errors.Is(err, ErrOpen) {
				t.Errorf("a task is %s: %v, want ErrOpen", state, err)
			}
		}
		if patch, _, err := q.Artifacts(t.Context(), first.ID); err != nil || string(patch) != "diff" {
			t.Errorf("what was refused has deleted %q, %v", patch, err)
		}
		if err := q.finish(t.Context(), running, batch.Result{State: batch.Failed}); err != nil {
			t.Fatal(err)
		}
		if err := q.Delete(t.Context(), b.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Batch(t.Context(), b.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("it is still there: %v", err)
		}
		if _, taken := claimed(t, q, "w", list[0].job); taken {
			t.Error("its task was taken")
		}
		if got := states(t, q, other.ID); got[batch.Waiting] != 1 {
			t.Errorf("another batch has %v", got)
		}
	})
}

func TestTheSharedStateIsChangedByOneAtATime(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		q := open("machine1")
		shared := sharedState{q}
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for range 10 {
					err := shared.UpdateShared(context.Background(), "k", func(old []byte) ([]byte, error) {
						return append(slices.Clone(old), 'x'), nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		workers.Wait()
		all, err := shared.SharedStates(t.Context())
		if err != nil || len(all["k"]) != 80 {
			t.Errorf("%d changes, %v, want 80", len(all["k"]), err)
		}
	})
}

func TestATaskWaitsForRoomOnTheDiskHoweverOften(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		q := open("machine1")
		b := submitted(t, q, tasks(1, nil))
		e, taken := claimed(t, q, "w", jobs(t, q, b.ID)[0].job)
		if !taken {
			t.Fatal("the task is not free")
		}
		w := &worker{WorkerOptions: WorkerOptions{Random: func() float64 { return 0 }}, q: q, life: t.Context()}
		full := fmt.Errorf("save session: %w", store.ErrFull)
		if err := w.settle(t.Context(), e, batch.Result{}, full); err != nil {
			t.Fatal(err)
		}
		got := jobs(t, q, b.ID)[0]
		if got.State != batch.Waiting || got.Failures != 0 || !got.NotBefore.After(time.Now()) {
			t.Errorf("it is %s after %d failures, until %v", got.State, got.Failures, got.NotBefore)
		}
		if !strings.Contains(got.Result.Error, "the disk is full") {
			t.Errorf("its error: %q", got.Result.Error)
		}
	})
}

func TestWhatFollowsATry(t *testing.T) {
	task := batch.Task{Retries: 2}
	passing := batch.Result{State: batch.Failed, Passing: true}
	for _, tt := range []struct {
		name                         string
		failures                     int
		result                       batch.Result
		released, blocked, cancelled bool
		want                         next
	}{
		{"done", 0, batch.Result{State: batch.Done}, false, false, false, nextFinish},
		{"a failure that may pass", 1, passing, false, false, false, nextRetry},
		{"the retries are used up", 2, passing, false, false, false, nextFinish},
		{"a failure that stays", 0, batch.Result{State: batch.Failed}, false, false, false, nextFinish},
		{"the worker ends", 2, batch.Result{}, true, false, false, nextGiveBack},
		{"the disk is full", 2, passing, false, true, false, nextRetry},
		{"cancelled while the disk is full", 0, passing, false, true, true, nextFinish},
		{"cancelled", 0, batch.Result{}, true, false, true, nextFinish},
		{"cancelled as it failed", 0, passing, false, false, true, nextFinish},
	} {
		if got := decide(task, tt.failures, tt.result, tt.released, tt.blocked, tt.cancelled); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
