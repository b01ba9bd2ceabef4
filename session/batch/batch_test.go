package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/ledger"
)

func read(t *testing.T, name, text string) []Task {
	t.Helper()
	base := Defaults()
	base.Folder = "/work"
	tasks, err := Read([]byte(text), ReadOptions{Name: name, Dir: "/work", Base: base})
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func TestTheThreeFormatsSayTheSame(t *testing.T) {
	for name, text := range map[string]string{
		"a.toml": "[defaults]\ntier = \"light\"\n[[task]]\nprompt = \"one\"\ntimeout = \"5m\"\n[[task]]\nname = \"b\"\nprompt = \"two\"\n",
		"a.yaml": "defaults: {tier: light}\ntasks:\n- prompt: one\n  timeout: 5m\n- name: b\n  prompt: two\n",
		"-":      "defaults:\n  tier: light\ntasks:\n  - {prompt: one, timeout: 5m}\n  - {name: b, prompt: two}\n",
		"a.json": `{"defaults": {"tier": "light"}, "tasks": [{"prompt": "one", "timeout": "5m"}, {"name": "b", "prompt": "two"}]}`,
	} {
		tasks := read(t, name, text)
		if len(tasks) != 2 || tasks[0].Prompt != "one" || tasks[0].Timeout != 5*time.Minute || tasks[0].Name != "task-001" ||
			tasks[1].Name != "b" || tasks[1].Tier != models.Light || tasks[1].Folder != "/work" || tasks[1].Lane != Bulk {
			t.Errorf("%s: %+v", name, tasks)
		}
	}
	if tasks := read(t, "-", "fix this\n\n# not this\n- and: that\n"); len(tasks) != 2 || tasks[1].Prompt != "- and: that" {
		t.Errorf("lines: %+v", tasks)
	}
	remote := read(t, "a.yaml", "- {prompt: x, repository: 'https://example.org/x.git', branch: b/c}\n")[0]
	if remote.Folder != "" || !remote.Worktree {
		t.Errorf("a repository is worked on in a worktree: %+v", remote)
	}
}

func TestEveryMistakeIsToldAtOnce(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"a.toml": {"[[task]]\nprompt = 3\ntier = \"hevy\"\n[[task]]\nprompt = \"x\"\nprio = 1\nretries = 99\n",
			"a.toml:2: task 1: prompt|a.toml:3: task 1: tier|a.toml:6: task 2: prio: is not known (did you mean priority?)|a.toml:7: task 2: retries"},
		"b.yaml":  {"- prompt: x\n  branch: ../up\n  worktree: yes\n- 5\n- [a]\n", "b.yaml:2: task 1: branch|b.yaml:5: task 3: must be a map"},
		"c.toml":  {"[[task]\n", "c.toml:1: is not TOML"},
		"d.yaml":  {"a: [\n", "is not YAML"},
		"e.txt":   {"\n#\n", "there is no task in it"},
		"f.txt":   {"a\nb\x00\n", "f.txt:2: is not text"},
		"g.txt":   {"a\xff\n", "g.txt:1: is not text"},
		"h.toml":  {"[[task]]\nprompt=\"x\"\nname=\"n\"\n[[task]]\nprompt=\"y\"\nname=\"n\"\n", `task 2: name: "n" is the name of task 1`},
		"i.toml":  {"[[task]]\nprompt=\"x\"\nrepository=\"ext::sh -c id\"\n[[task]]\nprompt=\"y\"\nrepository=\"-u\"\n", "i.toml:3: task 1: repository|i.toml:6: task 2: repository"},
		"j.toml":  {"[[task]]\nprompt=\"x\"\nrevision=\"--output=x\"\nworktree=true\n", "j.toml:3: task 1: revision"},
		"k.toml":  {"[[job]]\nprompt=\"x\"\n", "k.toml:1: job: is not known here"},
		"l.toml":  {"[[task]]\nprompt=\"x\"\nmax_cost = nan\ntimeout = \"-1s\"\n", "l.toml:3: task 1: max_cost|l.toml:4: task 1: timeout"},
		"m.yaml":  {"", "there is no task in it"},
		"n.empty": {"", "there is no task in it"},
	} {
		_, err := Read([]byte(tt.text), ReadOptions{Name: name, Dir: "/work", Base: Defaults()})
		var mistakes Mistakes
		if !errors.As(err, &mistakes) {
			t.Errorf("%s: %v, want Mistakes", name, err)
			continue
		}
		for part := range strings.SplitSeq(tt.want, "|") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"- prompt: x", "[[task]]\nprompt='x'", "a\nb", "{\"tasks\":[]}", "a: &a [*a]"} {
		for _, format := range []string{"toml", "yaml", "lines", ""} {
			f.Add([]byte(text), format)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format string) {
		tasks, err := Read(data, ReadOptions{Name: "x", Format: format, Dir: "/work", Base: Defaults()})
		if (err == nil) == (len(tasks) == 0) {
			t.Errorf("%d tasks and %v", len(tasks), err)
		}
	})
}

func sleep(ctx context.Context, until time.Time) error {
	select {
	case <-time.After(time.Until(until)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(3, time.Now, func() float64 { return 0.5 }, sleep)
		begun := time.Now()
		enter := func(lane Lane) {
			t.Helper()
			if err := p.Enter(t.Context(), lane); err != nil {
				t.Fatal(err)
			}
		}
		enter(Bulk)
		enter(Bulk)
		if got, want := time.Since(begun), 1250*time.Millisecond; got != want {
			t.Errorf("the second began after %v, want %v", got, want)
		}
		enter(Interactive)
		if got := time.Since(begun); got != 1250*time.Millisecond {
			t.Errorf("somebody waited until %v", got)
		}
		p.Leave()
		var order []Lane
		done := make(chan struct{})
		for _, lane := range []Lane{Bulk, Normal} {
			go func() {
				if err := p.Enter(context.Background(), lane); err != nil {
					t.Error(err)
				}
				order = append(order, lane)
				done <- struct{}{}
			}()
			synctest.Wait()
		}
		p.Leave()
		<-done
		p.Leave()
		<-done
		if order[0] != Normal {
			t.Errorf("%v: the more urgent lane goes first", order)
		}
		for range growAfter {
			p.Clean()
		}
		if limit, _ := p.Limit(); limit != 3 {
			t.Errorf("limit %d after a clean while, want 3", limit)
		}
		p.Full()
		p.Full()
		if limit, _ := p.Limit(); limit != 1 {
			t.Errorf("limit %d after no room twice, want 1", limit)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ErrReleased)
		if err := p.Enter(ctx, Bulk); !errors.Is(err, ErrReleased) {
			t.Errorf("%v, want the cause", err)
		}
	})
}

func TestQuietHoursAreThoseOfTheRecord(t *testing.T) {
	now := time.Date(2026, 12, 1, 14, 30, 0, 0, time.UTC)
	week := &ledger.Week{Enough: true}
	for day := range week.Hours {
		for hour := range 24 {
			h := ledger.Hour{Attempts: 10, Capacity: 5}
			if hour >= 2 && hour < 5 {
				h.Capacity = 0
			}
			week.Hours[day][hour] = h
		}
	}
	for random, want := range map[float64]time.Time{
		0:   time.Date(2026, 12, 2, 2, 0, 0, 0, time.UTC),
		0.5: time.Date(2026, 12, 2, 3, 0, 0, 0, time.UTC),
	} {
		if at, known := QuietTime(week, now, func() float64 { return random }); !known || !at.Equal(want) {
			t.Errorf("%v, %v, want %v", at, known, want)
		}
	}
	if at, known := QuietTime(&ledger.Week{}, now, func() float64 { return 0.9 }); known || !at.Equal(now) {
		t.Errorf("%v, %v: a record of less than a week says nothing", at, known)
	}
}

func TestATaskHasOnePlaceWhoeverAsksForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(3, time.Now, func() float64 { return 0 }, sleep)
		place := p.Place(Bulk)
		check := func(when string, want int) {
			t.Helper()
			if _, working := p.Limit(); working != want {
				t.Errorf("%s %d work, want %d", when, working, want)
			}
		}
		place.Leave()
		check("left without a place,", 0)
		var asking sync.WaitGroup
		for range 5 {
			asking.Go(func() {
				if err := place.Enter(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		check("asked for by five,", 1)
		for range 5 {
			asking.Go(place.Leave)
		}
		asking.Wait()
		check("left by five,", 0)
		for i := range 50 {
			asking.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Second)
				defer cancel()
				for range 10 {
					if i%2 == 0 {
						place.Leave()
					} else if place.Enter(ctx) == nil {
						if _, working := p.Limit(); working > 1 {
							t.Errorf("one task has %d places", working)
						}
					}
					time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				}
			})
		}
		asking.Wait()
		place.Leave()
		check("in the end", 0)
	})
}

func TestATaskThatWaitsForItsFolderNeedsNoPlace(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pace := NewPace(1, time.Now, func() float64 { return 0 }, sleep)
		c := &Carrier{Workspaces: NewWorkspaces(dir)}
		for _, tt := range []struct {
			held time.Duration // by another belay
			want string
		}{{4 * time.Second, "1 work"}, {time.Hour, "parked: another task works in /work, 0 work, resumed"}} {
			free, err := c.Workspaces.lock(t.Context(), "/work")
			if err != nil {
				t.Fatal(err)
			}
			place := pace.Place(Normal)
			if err := place.Enter(t.Context()); err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var told []string
			a := Attempt{Place: place, Progress: Progress{Workspace: Workspace{Dir: "/work"}}, Seen: func(e Event) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, strings.TrimSuffix(strings.TrimPrefix(string(e.Type), "task.")+": "+e.Text, ": "))
			}}
			var locking sync.WaitGroup
			locking.Go(func() {
				unlock, err := c.lockFolder(t.Context(), a)
				if err != nil {
					t.Error(err)
					return
				}
				unlock()
			})
			time.Sleep(tt.held)
			synctest.Wait()
			_, working := pace.Limit()
			mu.Lock()
			told = append(told, fmt.Sprintf("%d work", working))
			mu.Unlock()
			free()
			locking.Wait()
			if got := strings.Join(told, ", "); got != tt.want {
				t.Errorf("after %v: %s, want %s", tt.held, got, tt.want)
			}
			if _, working := pace.Limit(); working != 1 {
				t.Errorf("%d work at last, want 1", working)
			}
			place.Leave()
		}
	})
}

func TestWhatALostSessionCostIsSpent(t *testing.T) {
	c := &Carrier{} // nothing is opened
	r, err := c.Carry(t.Context(), Attempt{
		Task:     Task{MaxCost: 2},
		Progress: Progress{Session: "s1", Workspace: Workspace{Dir: "/deleted"}, Cost: 1.5, Lost: 0.5},
	})
	if err != nil || r.State != Failed || !r.Limit || r.Cost != 2 {
		t.Errorf("%+v, %v, want a task whose limit is used up", r, err)
	}
}

func TestAPersonsWordGivesTheLimitOfCostAnew(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, tt := range []struct {
		name        string
		p           Progress
		spent, lost float64
	}{
		{"nothing is lost", Progress{Cost: 1.5}, 0, 0},
		{"a session is lost", Progress{Cost: 1.5}.Anew(), 1.5, 1.5},
		{"a person's word after that", Progress{Cost: 1.5}.Anew().Again(now), 0, 1.5},
		{"a session is lost after a person's word", Progress{Cost: 1.5}.Again(now).Anew(), 0, 1.5},
		{"a session that went on is lost after a person's word", func() Progress {
			p := Progress{Cost: 1.5, Lost: 1}.Again(now)
			p.Cost = 2
			return p.Anew()
		}(), 0.5, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.p.lostOfLimit() != tt.spent || tt.p.Lost != tt.lost {
				t.Errorf("$%.2f of the limit and $%.2f in all are lost, want $%.2f and $%.2f",
					tt.p.lostOfLimit(), tt.p.Lost, tt.spent, tt.lost)
			}
		})
	}
}
