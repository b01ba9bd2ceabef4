package queue

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/capacity"
	"belay/session"
	"belay/session/batch"
)

// oneRequest runs sessions whose turn is one request, which keeps the pace of its lane.
type oneRequest struct {
	limiter capacity.Paced
	offline time.Duration // before the request
	takes   time.Duration // the request
	sent    func()        // hears of each request that goes out
	records chan []session.Record
	turn    sync.WaitGroup

	mu    sync.Mutex
	tiers []models.Tier
	stop  context.CancelFunc
	state session.Session
}

func (o *oneRequest) Start(_ context.Context, project string) (session.Session, error) {
	o.state = session.Session{ID: "s1", Project: project, Tier: models.Heavy, Status: session.Idle}
	return o.state, nil
}

func (o *oneRequest) Open(context.Context, session.ID, bool) (session.Session, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state, nil
}

func (o *oneRequest) Do(_ context.Context, id session.ID, c session.Command) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch c := c.(type) {
	case session.Send:
		ctx, stop := context.WithCancel(context.Background())
		o.stop = stop
		o.state.Status = session.Running
		o.turn.Go(func() {
			if o.offline > 0 {
				waiting := session.Waiting{Until: time.Now().Add(o.offline)}
				o.records <- []session.Record{{Session: id, Event: waiting}}
				time.Sleep(o.offline)
			}
			leave, _ := o.limiter.Join(ctx, "p")
			end := session.TurnEnded{Outcome: session.OutcomeStopped}
			status := session.Stopped
			if ctx.Err() == nil {
				o.sent()
				time.Sleep(o.takes)
				end.Outcome, status = session.OutcomeDone, session.Idle
			}
			leave(true)
			o.mu.Lock()
			o.state.Status = status
			o.mu.Unlock()
			o.records <- []session.Record{{Session: id, Seq: 1, Event: end}}
		})
	case session.Stop:
		o.stop()
	case session.ChooseTier:
		o.tiers = append(o.tiers, c.Tier)
		o.state.Tier = c.Tier
	}
	return nil
}

func (o *oneRequest) Wait(ctx context.Context, id session.ID) (session.Session, error) {
	o.turn.Wait()
	return o.Open(ctx, id, false)
}

func (o *oneRequest) Next(ctx context.Context) ([]session.Record, error) {
	select {
	case records := <-o.records:
		return records, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// resting is a worker on a queue of its own, in a bubble of fake time.
type resting struct {
	q      *Queue
	pace   *batch.Pace
	opened map[string]*oneRequest // by task
	folder func() string
	sent   []string // tasks, as their requests go out
	events []batch.Event
	mu     sync.Mutex
}

// restingWorker runs a worker whose lane batch has a budget of a request a minute.
func restingWorker(t *testing.T, test func(*testing.T, *resting)) {
	t.Helper()
	folders := make(chan string, 20)
	for range 20 {
		folders <- t.TempDir()
	}
	dir, worktrees := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		zero := func() float64 { return 0 }
		sleep := func(ctx context.Context, until time.Time) error {
			select {
			case <-time.After(time.Until(until)):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		q, err := Open(t.Context(), Options{Dir: dir, Machine: "machine1", Now: time.Now, NewID: newID})
		if err != nil {
			t.Fatal(err)
		}
		r := &resting{
			q: q, pace: batch.NewPace(3, time.Now, zero, sleep), opened: map[string]*oneRequest{},
			folder: func() string { return <-folders },
		}
		open := func(_ context.Context, a batch.Attempt, resting capacity.Resting) (batch.Opened, error) {
			budget := capacity.LaneBudget{}
			if a.Task.Lane == batch.Bulk {
				budget.Minute = 1
			}
			sessions := &oneRequest{records: make(chan []session.Record, 1), limiter: capacity.Paced{
				Breakers: capacity.New(capacity.Options{Shared: sharedState{q}, Owner: a.ID, Random: zero}),
				Lane:     string(a.Task.Lane), Budget: budget, Resting: resting,
			}}
			if strings.HasPrefix(a.Task.Name, "offline") {
				sessions.offline = time.Minute
			}
			if strings.HasPrefix(a.Task.Name, "long") {
				sessions.takes = time.Minute
			}
			sessions.sent = func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.sent = append(r.sent, a.Task.Name)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.opened[a.Task.Name] = sessions
			return batch.Opened{
				Sessions: sessions, Close: func() error { return nil },
				Record: func(context.Context, session.ID) ([]byte, error) { return nil, nil },
				Answer: func(context.Context, session.ID) (string, error) { return "", nil },
			}, nil
		}
		ctx, end := context.WithCancel(t.Context())
		var working sync.WaitGroup
		working.Go(func() {
			err := q.Run(ctx, WorkerOptions{
				Scopes: q.Scopes(), Pace: r.pace, Most: 3, Random: zero,
				Carrier: &batch.Carrier{Open: open, Now: time.Now, Sleep: sleep, Workspaces: batch.NewWorkspaces(worktrees)},
				Event: func(e batch.Event) {
					r.mu.Lock()
					defer r.mu.Unlock()
					r.events = append(r.events, e)
				},
			}, nil)
			if err != nil {
				t.Error(err)
			}
		})
		defer func() {
			end()
			working.Wait()
			if _, working := r.pace.Limit(); working != 0 {
				t.Errorf("%d places are not given back", working)
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(t, r)
	})
}

// handIn hands tasks of a lane in, and gives the id of their batch.
func (r *resting) handIn(t *testing.T, lane batch.Lane, names ...string) string {
	t.Helper()
	return submitted(t, r.q, tasks(len(names), func(task *batch.Task) {
		task.Worktree, task.Repository, task.Folder = false, "", r.folder()
		task.Lane = lane
		task.Name, names = names[0], names[1:]
	})).ID
}

// tell is what was sent, and how often it was told that a task is parked.
func (r *resting) tell() (sent []string, parked int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Type == batch.TaskParked {
			parked++
		}
	}
	return slices.Clone(r.sent), parked
}

func TestTasksThatWaitForTheirLanesBudgetHoldNobodyUp(t *testing.T) {
	restingWorker(t, func(t *testing.T, r *resting) {
		began := time.Now()
		bulk := r.handIn(t, batch.Bulk, "a", "b", "c")
		time.Sleep(10 * time.Second)
		r.handIn(t, batch.Normal, "urgent")
		time.Sleep(5 * time.Second)
		if sent, parked := r.tell(); len(sent) != 2 || sent[1] != "urgent" || parked != 2 {
			t.Fatalf("sent %q with %d parked, want one and the one of the other lane, and two", sent, parked)
		}
		if _, working := r.pace.Limit(); working != 0 {
			t.Errorf("%d work while all that is left waits", working)
		}
		check := func(want int, from, to time.Duration) (last string) {
			for _, e := range jobs(t, r.q, bulk) {
				if e.State == batch.Done {
					continue
				}
				want--
				last = e.Task.Name
				if until := e.NotBefore.Sub(began); e.State != batch.Parked || until < from || until > to ||
					e.Progress.Waits != "the budget of the lane batch is spent" {
					t.Errorf("%s is %s until %v: %q", e.Task.Name, e.State, until, e.Progress.Waits)
				}
			}
			if want != 0 {
				t.Errorf("%d fewer wait than should", want)
			}
			return last
		}
		check(2, time.Minute, 65*time.Second)
		time.Sleep(time.Minute)
		if sent, parked := r.tell(); len(sent) != 3 || parked != 2 {
			t.Errorf("after a minute sent %q, with %d told to be parked, want one more, and two", sent, parked)
		}
		last := check(1, 2*time.Minute, 130*time.Second)
		if _, err := r.q.ShiftTier(t.Context(), bulk, models.Light); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := states(t, r.q, bulk); got[batch.Done] != 3 {
			t.Errorf("after two minutes %v", got)
		}
		if got := r.opened[last].tiers; len(got) != 1 || got[0] != models.Light {
			t.Errorf("the tier that it was moved to: %v", got)
		}
	})
}

func TestATaskThatWaitsForItsLanesBudgetIsGivenBack(t *testing.T) {
	restingWorker(t, func(t *testing.T, r *resting) {
		bulk := r.handIn(t, batch.Bulk, "a", "b", "c")
		time.Sleep(10 * time.Second)
		list := jobs(t, r.q, bulk)
		parked := slices.IndexFunc(list, func(e Entry) bool { return e.State == batch.Parked })
		if parked < 0 {
			t.Fatal("none is parked")
		}
		if n, err := r.q.Cancel(t.Context(), "", list[parked].ID); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		time.Sleep(10 * time.Second)
		if got := states(t, r.q, bulk); got[batch.Done] != 1 || got[batch.Cancelled] != 1 || got[batch.Parked] != 1 {
			t.Errorf("%v", got)
		}
	})
}

func TestTasksThatWaitForTheNetworkHoldNobodyUp(t *testing.T) {
	restingWorker(t, func(t *testing.T, r *resting) {
		waiting := r.handIn(t, batch.Normal, "offline1", "offline2", "offline3")
		time.Sleep(10 * time.Second)
		r.handIn(t, batch.Normal, "other")
		time.Sleep(10 * time.Second)
		if sent, parked := r.tell(); len(sent) != 1 || sent[0] != "other" || parked != 0 {
			t.Errorf("sent %q, want the other, with %d parked", sent, parked)
		}
		time.Sleep(time.Minute)
		if got := states(t, r.q, waiting); got[batch.Done] != 3 {
			t.Errorf("%v", got)
		}
	})
}

func TestTasksThatWaitForOneOfTheirFolderHoldNobodyUp(t *testing.T) {
	restingWorker(t, func(t *testing.T, r *resting) {
		folder := r.folder()
		submitted(t, r.q, tasks(8, func(task *batch.Task) {
			task.Worktree, task.Repository, task.Folder = false, "", folder
			task.Lane, task.Name = batch.Normal, "long "+task.Name
		}))
		time.Sleep(10 * time.Second)
		r.handIn(t, batch.Bulk, "other")
		began := time.Now()
		for {
			sent, _ := r.tell()
			if len(sent) == 2 && sent[1] == "other" {
				break
			}
			if time.Sleep(time.Second); time.Since(began) > 20*time.Second {
				t.Fatalf("after %v sent %q, want the other beside the one that works", time.Since(began), sent)
			}
		}
		t.Logf("the other began after %v", time.Since(began))
	})
}
