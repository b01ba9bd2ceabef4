package app

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"belay/models"
	"belay/models/capacity"
	"belay/models/ledger"
	"belay/models/route"
	"belay/session"
	"belay/session/batch"
	"belay/session/queue"
	"belay/session/request"
	"belay/session/store"
	"belay/ui/plain"
)

// OpenQueue opens the queue of tasks that the settings name.
func OpenQueue(ctx context.Context, env Env, options Options) (*queue.Queue, error) {
	ctx, settings, dir, err := locate(ctx, options)
	if err != nil {
		return nil, err
	}
	return queue.Open(ctx, queue.Options{URL: string(settings.Queue.URL), Dir: dir, Now: env.Now, NewID: env.NewID})
}

// TaskWorker is what a queue's tasks are carried out with by this belay: each in an App
// of its own, as its folder's settings and trust are its own. Options hold for all.
func TaskWorker(ctx context.Context, env Env, options Options, q *queue.Queue) (queue.WorkerOptions, error) {
	_, settings, dir, err := locate(ctx, options)
	if err != nil {
		return queue.WorkerOptions{}, err
	}
	if options.Shared == nil {
		options.Shared = q.Shared()
	}
	sleep := func(ctx context.Context, until time.Time) error {
		return route.SleepUntil(ctx, env.Now, until, route.ParkPoll)
	}
	opener := taskOpener{env: env, options: options, data: dir}
	return queue.WorkerOptions{
		Carrier: &batch.Carrier{
			Open: opener.open, Now: env.Now, Sleep: sleep, Workspaces: batch.NewWorkspaces(worktreeDir(dir)),
		},
		Pace:   batch.NewPace(settings.Queue.Tasks, env.Now, mathrand.Float64, sleep),
		Most:   settings.Queue.Tasks,
		Random: mathrand.Float64,
	}, nil
}

// TaskWorkspaces are the places where tasks work on this machine.
func TaskWorkspaces(ctx context.Context, options Options) (*batch.Workspaces, error) {
	ctx, err := options.Within(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := DataDir(ctx)
	if err != nil {
		return nil, err
	}
	return batch.NewWorkspaces(worktreeDir(dir)), nil
}

// worktreeDir is where the worktrees of tasks are: beside the data, as tools open
// nothing in it.
func worktreeDir(data string) string { return filepath.Clean(data) + "-worktrees" }

// taskOpener opens an App for a task.
type taskOpener struct {
	env     Env
	options Options
	data    string
}

func (o taskOpener) open(ctx context.Context, try batch.Attempt, resting capacity.Resting) (batch.Opened, error) {
	options, task := o.options, try.Task
	options.Project, options.NonInteractive, options.Program = try.Progress.Workspace.Dir, true, "batch"
	options.Resting, options.TaskSince = resting, &try.Progress.Since
	options.Tier, options.Effort, options.Mode = string(task.Tier), task.Effort, string(task.Approve)
	options.Lane, options.MaxCost, options.MaxSteps = string(task.Lane), task.MaxCost, task.MaxSteps
	if task.Worktree && task.Folder != "" && !options.Trust { // a worktree is trusted as its folder is
		err := ReadStore(ctx, func(st *store.Store) (err error) {
			options.Trust, _, err = st.Trusted(ctx, task.Folder)
			return err
		})
		if err != nil {
			return batch.Opened{}, err
		}
	}
	a, err := Open(ctx, o.env, options)
	if err != nil {
		return batch.Opened{}, err
	}
	return batch.Opened{
		Sessions: a.Engine,
		Close:    a.Close,
		Record: func(ctx context.Context, id session.ID) ([]byte, error) {
			var b bytes.Buffer
			err := a.Store.Export(ctx, id, &b, "jsonl")
			return b.Bytes(), err
		},
		Answer: func(ctx context.Context, id session.ID) (string, error) {
			state, err := a.Store.Load(ctx, id)
			if err != nil {
				return "", err
			}
			tail, err := request.Tail(ctx, a.Store, state)
			if err != nil {
				return "", err
			}
			var turn plain.Turn
			err = tail.Each(ctx, turn.Add)
			return turn.Text, err
		},
	}, nil
}

// BusyHours says when in the week the first model of a tier, or of the default one, had
// no room, as far as this machine's record tells.
func BusyHours(ctx context.Context, options Options, now time.Time) (func(models.Tier) *ledger.Week, error) {
	settings, err := LoadSettings(ctx, options)
	if err != nil {
		return nil, err
	}
	tiers := TierTargets(settings)
	weeks := map[models.Target]*ledger.Week{}
	err = ReadStore(ctx, func(st *store.Store) error {
		list, err := ledger.Read(ctx, st, now.Add(-5*7*24*time.Hour), time.Time{})
		for _, week := range ledger.Weeks(list, time.Local, now) {
			weeks[week.Target] = &week
		}
		return err
	})
	return func(tier models.Tier) *ledger.Week {
		targets := tiers[cmp.Or(tier, models.Tier(settings.Tiers.Default))]
		if len(targets) == 0 {
			return nil
		}
		return weeks[targets[0]]
	}, err
}

// rateLimiter is that of the options' lane: what somebody waits for keeps no pace.
func (b *builder) rateLimiter(breakers *capacity.Breakers) route.RateLimiter {
	budget := b.settings.Lanes.Batch
	switch batch.Lane(b.options.Lane) {
	case "", batch.Interactive:
		return breakers
	case batch.Normal:
		budget = b.settings.Lanes.Normal
	}
	return capacity.Paced{
		Breakers: breakers, Lane: b.options.Lane, Budget: capacity.LaneBudget(budget), Resting: b.options.Resting,
	}
}

// shared is where the state of the models is kept.
func (b *builder) shared() capacity.Shared {
	if b.options.Shared != nil {
		return b.options.Shared
	}
	return b.store
}

// ownerName names this program among those that share the state of the models, so that
// others can tell when it has ended.
func ownerName(id string) string {
	host, _ := os.Hostname() //nolint:errcheck // then it is not asked whether it lives
	pid := os.Getpid()
	return fmt.Sprintf("%s@%s@%d@%s", id, strings.ReplaceAll(host, "/", "-"), pid,
		strings.ReplaceAll(store.ProcessStart(pid), "/", "-"))
}

// ownerAlive reports whether the program of an owner's name may still run. Of another
// machine it cannot be told.
func ownerAlive(name string) bool {
	parts := strings.Split(name, "@")
	host, err := os.Hostname()
	if len(parts) != 4 || err != nil || parts[1] == "" || parts[1] != strings.ReplaceAll(host, "/", "-") {
		return true
	}
	pid, err := strconv.Atoi(parts[2])
	if err != nil {
		return true
	}
	born := strings.ReplaceAll(store.ProcessStart(pid), "/", "-")
	return born != "" && (born == parts[3] || born == "?" || parts[3] == "?")
}
