package engine

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/rehearsal"
	"belay/session"
)

var apis = []models.API{models.Responses, models.Chat}

// requests are the server's log without the lists of models.
func (r *rig) requests() []rehearsal.Exchange {
	var list []rehearsal.Exchange
	for _, x := range r.server.Log() {
		if x.Method == http.MethodPost {
			list = append(list, x)
		}
	}
	return list
}

// agree compares the record with the server's own log, request by request.
func (r *rig) agree() {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.requests()
	if len(r.attempts) != len(log) {
		r.t.Errorf("%d rows in the record, %d requests at the server", len(r.attempts), len(log))
		return
	}
	traces := map[string]bool{}
	for i, x := range log {
		a := r.attempts[i]
		if traces[x.Trace] || x.Trace == "" || x.Operation == "" {
			r.t.Errorf("request %d has trace %q of operation %q", i, x.Trace, x.Operation)
		}
		traces[x.Trace] = true
		status := x.Status
		if x.Outcome == "refuse" || x.Outcome == "dns" || x.Outcome == "close" || x.Outcome == "left" && a.StatusCode == 0 {
			status = 0 // nothing came back, or nobody was there any more to see it
		}
		if a.Model != x.Model || a.StatusCode != status || (a.Kind == "") != (x.Outcome == "done") {
			r.t.Errorf("row %d is %s, status %d, kind %q; the server had %s, status %d, %s", i, a.Model, a.StatusCode, a.Kind, x.Model, status, x.Outcome)
		}
		if since := a.CreatedAt.Sub(x.Time).Abs(); since > time.Second {
			r.t.Errorf("row %d is %v off", i, since)
		}
	}
}

// once checks what must hold after any trouble: the turn is done, its command
// ran once, and every request had one message of the user.
func (r *rig) once(id session.ID) {
	r.t.Helper()
	if s := r.wait(id); s.Status != session.Idle {
		r.t.Errorf("Status = %s, %v\n%s", s.Status, s.Fault, r.log(id))
	}
	if b, _ := os.ReadFile(filepath.Join(r.project, "ran")); string(b) != "x\n" {
		r.t.Errorf("the command left %q\n%s", b, r.log(id))
	}
	for i, x := range r.requests() {
		if n := strings.Count(string(x.Body), `"role":"user"`); n != 1 || x.Status == http.StatusBadRequest {
			r.t.Errorf("request %d has %d user messages, answered with %d", i, n, x.Status)
		}
	}
	r.agree()
}

func TestCapacityAtEveryPlaceOfATurn(t *testing.T) {
	const call = "[[reply.calls]]\nname = \"shell\"\narguments = { command = \"echo x >> ran\" }\n"
	const good = "[[reply]]\ntext = \"I run it now.\"\n" + call
	const done = "[[reply]]\ntext = \"Done.\"\n"
	for _, api := range apis {
		for _, fault := range []string{
			`how = "error", code = "server_is_overloaded", message = "full"`, `how = "failed", code = "server_is_overloaded", message = "full"`,
			`how = "error", code = "no_capacity", message = "full"`, `how = "failed", code = "no_capacity", message = "full"`, `how = "error-flat", code = "slow_down", message = "full"`,
		} {
			broken := func(at string) string {
				return strings.Replace(good, "[[reply.calls]]", "fault = { "+fault+at+" }\n[[reply.calls]]", 1)
			}
			type place struct{ name, script, want string }
			after := place{"after the call", broken(`, at = "end"`) + done, "start:go message:I run it now. call:shell failed:capacity run:shell ran:shell message:Done. end:done"}
			if api == models.Chat { // where only the reply's end says that a call is whole
				after.script = broken(`, at = "end"`) + good + done
				after.want = "start:go cut:I run it now.shell failed:capacity message:I run it now. call:shell run:shell ran:shell message:Done. end:done"
			}
			for _, tt := range []place{
				{"before the first word", broken("") + good + done, "start:go failed:capacity message:I run it now. call:shell run:shell ran:shell message:Done. end:done"},
				{"in the text", broken(`, at = "text", after = 6`) + good + done, "start:go cut:I run  failed:capacity message:I run it now. call:shell run:shell ran:shell message:Done. end:done"},
				{"in the arguments", broken(`, at = "arguments", after = 9`) + good + done, "start:go cut:I run it now.shell failed:capacity message:I run it now. call:shell run:shell ran:shell message:Done. end:done"},
				after,
				{"after the tool", good + "[[reply]]\nfault = { " + fault + " }\n" + done, "start:go message:I run it now. call:shell run:shell ran:shell failed:capacity message:Done. end:done"},
				{"in the words after the tool", good + "[[reply]]\ntext = \"Half of it\"\nfault = { " + fault + `, at = "text", after = 4` + " }\n" + done, "start:go message:I run it now. call:shell run:shell ran:shell cut:Half failed:capacity message:Done. end:done"},
			} {
				t.Run(string(api)+" "+fault[:strings.LastIndex(fault, ",")]+" "+tt.name, func(t *testing.T) {
					in(t, tt.script, func(r *rig) { r.api, r.mode = api, session.All }, func(t *testing.T, r *rig, id session.ID) {
						r.send(id, "go")
						r.once(id)
						if got := r.log(id); got != tt.want {
							t.Errorf("log is\n%s, want\n%s", got, tt.want)
						}
					})
				})
			}
		}
	}
}

var ladder = []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute}

func whole(o *Options) { o.Ladder = ladder }

const busy = `
[[reply]]
for = "%s"
fault = { how = "status", status = 503, code = "server_is_overloaded", message = "full" }
[[reply]]
times = -1
text = "Here."
`

func TestAMinuteOfNoRoomAnywhereIsOutlasted(t *testing.T) {
	for _, api := range apis {
		in(t, fmt.Sprintf(busy, "60s"), func(r *rig) { r.api, r.engine = api, whole }, func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "go")
			time.Sleep(10 * time.Minute)
			if s := r.wait(id); s.Status != session.Idle {
				t.Errorf("Status = %s, %v", s.Status, s.Fault)
			}
			r.atMost(6, time.Time{})
			r.agree()
		})
	}
}

// atMost checks that since then no target was asked more often in any minute.
func (r *rig) atMost(n int, since time.Time) {
	r.t.Helper()
	times := map[string][]time.Time{}
	for _, x := range r.requests() {
		if x.Time.Before(since) {
			continue
		}
		list := append(times[x.Model], x.Time)
		times[x.Model] = list
		if len(list) > n && x.Time.Sub(list[len(list)-n-1]) < time.Minute {
			r.t.Errorf("%s was asked more than %d times in a minute: %v", x.Model, n, list)
		}
	}
}

func TestTheSessionComesBackToTheHeavyTierAtABoundary(t *testing.T) {
	for _, api := range apis {
		in(t, `
[[reply]]
model = "sol"
for = "2m"
fault = { how = "error", code = "server_is_overloaded", message = "full" }
[[reply]]
model = "terra"
user = "first"
times = 8
speed = { chunk = 9, delay = "1m" }
[[reply.calls]]
name = "shell"
arguments = { command = "echo x >> ran" }
[[reply]]
times = -1
text = "Here."
`, func(r *rig) { r.api, r.engine, r.mode = api, whole, session.All }, func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "second")
			r.wait(id)
			switched := r.log(id)
			if want := "start:second failed:capacity failed:capacity →terra message:Here. end:done"; switched != want {
				t.Fatalf("log is\n%s, want\n%s", switched, want)
			}
			time.Sleep(4 * time.Minute)
			r.send(id, "third") // the hold is not over
			r.wait(id)
			time.Sleep(30 * time.Second)
			r.send(id, "first") // and is in the middle of this turn
			r.wait(id)
			if s := r.wait(id); s.Target != terra {
				t.Errorf("a turn went from terra to %s by itself\n%s", s.Target, r.log(id))
			}
			r.send(id, "last")
			s := r.wait(id)
			if got := r.log(id); s.Target != sol || !strings.HasSuffix(got, "start:last →sol message:Here. end:done") {
				t.Errorf("served by %s\n%s", s.Target, got)
			}
			r.agree()
		})
	}
}

func TestAnHourOfNoRoomAnywhere(t *testing.T) {
	in(t, fmt.Sprintf(busy, "60m"), func(r *rig) { r.engine = whole }, func(t *testing.T, r *rig, id session.ID) {
		began := time.Now()
		r.send(id, "go")
		time.Sleep(50 * time.Minute)
		s := r.wait(id)
		if s.Status != session.Failed || s.Fault == nil || s.Fault.Kind != models.KindCapacity || s.Fault.Target != sol {
			t.Fatalf("Status = %s, %v", s.Status, s.Fault)
		}
		var rungs []string
		last := 0 // requests at the rung before
		for _, x := range r.requests() {
			if at := int(x.Time.Sub(began).Minutes() * 60); at > 20 {
				rungs = append(rungs, fmt.Sprintf("%s@%s", x.Model, x.Time.Sub(began).Round(10*time.Second)))
			} else {
				last++
			}
		}
		if last != 4 {
			t.Errorf("%d attempts before the first rung, want 4", last)
		}
		if want := "sol@30s terra@30s luna@30s sol@2m30s terra@2m30s luna@2m30s sol@12m30s terra@12m30s luna@12m30s sol@42m30s terra@42m30s luna@42m30s"; strings.Join(rungs, " ") != want {
			t.Errorf("the rungs were\n%v, want\n%s", rungs, want)
		}
		if st := r.o.Board.Status(sol); st.Outage.IsZero() {
			t.Error("no outage is marked")
		}
		if !strings.Contains(r.said(), "outage: no model has answered") {
			t.Errorf("nobody was told of the outage")
		}
		time.Sleep(15 * time.Minute)
		r.do(id, session.Resume{})
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s, %v", s.Status, s.Fault)
		}
		r.atMost(6, time.Time{})
		r.agree()
	})
}

// said joins the reasons of ended turns and the notes.
func (r *rig) said() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var words []string
	for _, rec := range r.heard {
		switch e := rec.Event.(type) {
		case session.TurnEnded:
			words = append(words, e.Reason)
		case session.Noted:
			words = append(words, e.Text)
		}
	}
	return strings.Join(words, "\n")
}

func TestATierKeyDuringAWaitChangesTheVeryNextRequest(t *testing.T) {
	for _, api := range apis {
		in(t, `
[[reply]]
model = "sol"
times = -1
fault = { how = "status", status = 503, code = "server_is_overloaded", message = "full", headers = { Retry-After = "25" } }
[[reply]]
text = "Here."
`, func(r *rig) { r.api = api }, func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "go")
			time.Sleep(3 * time.Second)
			pressed := time.Now()
			r.do(id, session.ChooseTier{Tier: models.Light})
			r.wait(id)
			log := r.requests()
			if len(log) != 2 || !strings.Contains(string(log[1].Body), `"model":"luna"`) || log[1].Time.Sub(pressed) > 100*time.Millisecond {
				t.Errorf("asked %s, the last %v after the key", r.asked(), log[len(log)-1].Time.Sub(pressed))
			}
			r.agree()
		})
	}
}

func TestAStopIsAnsweredAtOnce(t *testing.T) {
	for name, script := range map[string]string{
		"while it waits":           fmt.Sprintf(busy, "60m"),
		"while text comes":         slow,
		"while nothing comes":      "[[reply]]\nfault = { how = \"stall\" }\n",
		"while only comments come": "[[reply]]\nfault = { how = \"comments\" }\n",
		"before the headers":       "[[reply]]\ntext = \"x\"\nspeed = { headers = \"60s\" }\n",
		"before the first event":   "[[reply]]\ntext = \"x\"\nspeed = { first = \"60s\" }\n",
		"while no one is there":    "[[reply]]\ntimes = -1\nfault = { how = \"dns\" }\n",
	} {
		t.Run(name, func(t *testing.T) {
			in(t, script, nil, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				time.Sleep(1100 * time.Millisecond)
				pressed := time.Now()
				r.do(id, session.Stop{})
				if s := r.wait(id); s.Status != session.Stopped || time.Since(pressed) > 100*time.Millisecond {
					t.Errorf("Status = %s after %v", s.Status, time.Since(pressed))
				}
				before := len(r.requests())
				time.Sleep(time.Hour)
				if n := len(r.requests()) - before; n != 0 {
					t.Errorf("%d requests after the stop", n)
				}
				r.agree()
			})
		})
	}
}

// spread is the whole ladder with its rests apart, as chance has them.
func spread(o *Options) {
	var n atomic.Int64
	o.Ladder, o.Random = ladder, func() float64 { return float64(n.Add(7)%10) / 10 }
}

func TestTenSessionsDuringAnOutageStayWithinTheBudget(t *testing.T) {
	in(t, fmt.Sprintf(busy, "60m"), func(r *rig) { r.engine = spread }, func(t *testing.T, r *rig, id session.ID) {
		ids := []session.ID{id}
		for range 9 {
			s, err := r.Start(t.Context(), r.project)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, s.ID)
		}
		var wg sync.WaitGroup
		for _, id := range ids {
			wg.Go(func() { r.send(id, "go") })
		}
		wg.Wait()
		time.Sleep(25 * time.Second)
		retries, switches := 0, 0
		for _, id := range ids {
			if s := r.wait(id); s.Status != session.Parked {
				t.Errorf("Status = %s, %v", s.Status, s.Fault)
			}
		}
		r.mu.Lock()
		for _, rec := range r.heard {
			switch e := rec.Event.(type) {
			case session.AttemptFailed:
				if e.Next == models.NextRetry {
					retries++
				}
			case session.Switched:
				switches++
			}
		}
		r.mu.Unlock()
		if n := len(r.requests()); retries > 10 || n > 10+retries+switches {
			t.Errorf("%d retries and %d requests, want at most 10 retries", retries, n)
		}
		// From here on each target is tried by one of them at a time.
		began := time.Now()
		time.Sleep(time.Hour)
		r.atMost(6, began)
		for _, id := range ids {
			if s := r.wait(id); s.Status == session.Running || s.Status == session.Parked {
				t.Errorf("Status = %s after an hour", s.Status)
			}
		}
	})
}

func TestALocalModelAtTheEndOfATier(t *testing.T) {
	local := models.Target{Provider: "local", Model: "luna"}
	in(t, `
[[reply]]
model = "sol"
for = "1m"
fault = { how = "error", code = "server_is_overloaded", message = "full" }
[[reply]]
times = -1
text = "Here."
`, func(r *rig) {
		r.tiers = map[models.Tier][]models.Target{models.Heavy: {sol, local}}
	}, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		if s := r.wait(id); s.Status != session.Idle || s.Target != local {
			t.Errorf("Status = %s at %s, %v", s.Status, s.Target, s.Fault)
		}
		if got, want := r.asked(), "sol/1 sol/1 sol/1 luna/1"; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		time.Sleep(5 * time.Minute)
		r.send(id, "and")
		if s := r.wait(id); s.Target != sol {
			t.Errorf("served by %s after the hold, want sol", s.Target)
		}
		r.agree()
	})
}

func TestALimitOfTheAccountIsWaitedForExactly(t *testing.T) {
	for _, tt := range []struct {
		name, fault string
		want        time.Duration // until the second request
		rung        int
	}{
		{"a rate limit", `status = 429, code = "rate_limit_exceeded", message = "slow", headers = { Retry-After = "17" }`, 17 * time.Second, 0},
		{"a usage limit", `status = 429, code = "usage_limit_reached", type = "usage_limit_reached", message = "used up", headers = { Retry-After = "18000" }`, 5 * time.Hour, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, "[[reply]]\nfault = { how = \"status\", "+tt.fault+" }\n[[reply]]\ntimes = -1\ntext = \"Here.\"\n", nil, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				time.Sleep(6 * time.Hour)
				if s := r.wait(id); s.Status != session.Idle {
					t.Errorf("Status = %s, %v", s.Status, s.Fault)
				}
				log := r.requests()
				if len(log) != 2 {
					t.Fatalf("asked %s", r.asked())
				}
				if waited := log[1].Time.Sub(log[0].Time); waited < tt.want || waited > tt.want+time.Second {
					t.Errorf("asked again after %v, want %v", waited, tt.want)
				}
				r.agree()
			})
		})
	}
}

func TestALostNetworkUsesUpNoAttempts(t *testing.T) {
	for _, how := range []string{"dns", "refuse", "close"} {
		t.Run(how, func(t *testing.T) {
			in(t, fmt.Sprintf("[[reply]]\nfor = \"30m\"\nfault = { how = %q }\n[[reply]]\ntext = \"Here.\"\n", how), nil, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				time.Sleep(40 * time.Minute)
				if s := r.wait(id); s.Status != session.Idle || s.Target != sol {
					t.Errorf("Status = %s at %s, %v", s.Status, s.Target, s.Fault)
				}
				r.mu.Lock()
				for _, rec := range r.heard {
					if e, ok := rec.Event.(session.AttemptStarted); ok && e.Number != 1 {
						t.Errorf("attempt %d", e.Number)
					}
				}
				r.mu.Unlock()
				r.agree()
			})
		})
	}
}

func TestASuspendedComputerIsNoOutage(t *testing.T) {
	var asleep atomic.Int64
	now := func() time.Time { return time.Now().Round(0).Add(time.Duration(asleep.Load())) }
	in(t, fmt.Sprintf(busy, "60s"), func(r *rig) {
		r.engine = func(o *Options) { o.Ladder, o.Now = ladder[3:], now }
	}, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		if s := r.wait(id); s.Status != session.Parked {
			t.Fatalf("Status = %s", s.Status)
		}
		time.Sleep(61 * time.Second)
		asleep.Store(int64(8 * time.Hour)) // the lid was closed for the night
		time.Sleep(time.Minute)
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s a minute after waking, %v", s.Status, s.Fault)
		}
	})
}

func TestTheLimitsOfATask(t *testing.T) {
	calls := strings.Repeat("[[reply]]\nusage = { input = 1000, output = 100 }\n[[reply.calls]]\nname = \"ls\"\narguments = { path = \".\" }\n", 3) +
		"[[reply]]\ntimes = -1\nusage = { input = 1000, output = 100 }\ntext = \"Done.\"\n"
	for _, tt := range []struct {
		name, script string
		set          func(*Options)
		requests     int
		want         string
	}{
		{"steps", calls, func(o *Options) { o.Limits.Steps = 2 }, 2, "the limit of steps is reached (2 of 2 requests)"},
		{"tokens", calls, func(o *Options) { o.Limits.Tokens = 2300 }, 2, "the limit of tokens is reached (2200 of 2300 tokens)"},
		{"retries", fmt.Sprintf(busy, "60m"), func(o *Options) { o.Limits.Retries = 2 }, 3, "the limit of retries is reached (2 of 2 retries)"},
		{"budget", calls, func(o *Options) {
			o.Limits.Budget = func(context.Context) (float64, string) { return 0.96, "96 % of this day's budget is spent" }
		}, 0, "96 % of this day's budget is spent. Raise it in [budget] to go on"},
		{"no limit in the way", calls, func(o *Options) { o.Limits.Steps, o.Limits.Retries, o.Limits.Tokens = 4, 1, 100_000 }, 4, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, tt.script, func(r *rig) { r.engine = tt.set }, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				s := r.wait(id)
				if want := map[bool]session.Status{true: session.Idle, false: session.NeedsPerson}[tt.want == ""]; s.Status != want {
					t.Errorf("Status = %s, want %s\n%s", s.Status, want, r.log(id))
				}
				if n := len(r.requests()); n != tt.requests || !strings.Contains(r.said(), tt.want) {
					t.Errorf("%d requests, want %d; said %q", n, tt.requests, r.said())
				}
				if tt.want != "" { // a person takes over
					r.send(id, "go on")
					if s := r.wait(id); s.Turn != 2 {
						t.Errorf("the session does not go on: turn %d", s.Turn)
					}
				}
			})
		})
	}
}

func TestTheLimitsCountOverTheTriesOfAParkedTurn(t *testing.T) {
	in(t, fmt.Sprintf(busy, "60m"), func(r *rig) { r.engine = func(o *Options) { o.Ladder, o.Limits.Retries = ladder, 4 } }, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(5 * time.Minute)
		if s := r.wait(id); s.Status != session.NeedsPerson {
			t.Errorf("Status = %s\n%s", s.Status, r.log(id))
		}
	})
	in(t, fmt.Sprintf(busy, "60m"), func(r *rig) { r.engine = func(o *Options) { o.Ladder, o.Limits.Wait = ladder, time.Minute } }, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(5 * time.Minute)
		s := r.wait(id)
		if s.Status != session.Failed || s.Fault == nil || s.Fault.Kind != models.KindCapacity || !strings.Contains(r.said(), "limit of waiting") {
			t.Errorf("Status = %s, %v\n%s", s.Status, s.Fault, r.said())
		}
	})
}

func TestEachTroubleHasALadderOfItsOwn(t *testing.T) {
	trouble := "[[reply]]\nfor = \"20s\"\nfault = { how = \"error\", code = \"server_is_overloaded\", message = \"full\" }\n"
	var script string
	for i := range 4 {
		script += trouble + fmt.Sprintf("[[reply]]\n[[reply.calls]]\nname = \"write\"\narguments = { path = \"%d\", content = \"x\" }\n", i)
	}
	in(t, script+"[[reply]]\ntext = \"Done.\"\n", nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(20 * time.Minute)
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s, %v\n%s", s.Status, s.Fault, r.log(id))
		}
	})
}

func TestTryingByHandTakesNoRung(t *testing.T) {
	in(t, fmt.Sprintf(busy, "60m"), func(r *rig) { r.engine = whole }, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.wait(id)
		for range 6 {
			time.Sleep(time.Second)
			r.do(id, session.TryNow{})
			if s := r.wait(id); s.Status != session.Parked || s.Rung != 1 {
				t.Fatalf("Status = %s, rung %d", s.Status, s.Rung)
			}
		}
	})
}

func TestAFinishedCallWaitsWithATurnThatCannotGoOn(t *testing.T) {
	for _, tt := range []struct {
		name, fault string
		status      session.Status
		want        string
	}{
		{"that is parked", `code = "server_is_overloaded", message = "Full. Please try again in 3600s."`, session.Parked,
			"start:go call:shell failed:capacity end:parked resume run:shell ran:shell message:Done. end:done"},
		{"that has failed", `code = "invalid_prompt", message = "no"`, session.Failed,
			"start:go call:shell failed:request end:failed resume run:shell ran:shell message:Done. end:done"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, `
[[reply]]
[[reply.calls]]
name = "shell"
arguments = { command = "echo x >> ran" }
[[reply.calls]]
name = "ls"
arguments = { path = "." }
[reply.fault]
how = "failed"
at = "item"
after = 1
`+strings.ReplaceAll(tt.fault, "\", ", "\"\n")+`
[[reply]]
text = "Done."
`, func(r *rig) { alone(r); r.mode = session.All }, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				if s := r.wait(id); s.Status != tt.status {
					t.Fatalf("Status = %s\n%s", s.Status, r.log(id))
				}
				time.Sleep(time.Hour + time.Second)
				if tt.status == session.Failed {
					r.do(id, session.Resume{})
				}
				r.once(id)
				if got := r.log(id); got != tt.want {
					t.Errorf("log is\n%s, want\n%s", got, tt.want)
				}
			})
		})
	}
}

func TestTenParkedSessionsAllGoOnAfterAnOutage(t *testing.T) {
	in(t, fmt.Sprintf(busy, "5m"), func(r *rig) { r.engine = spread }, func(t *testing.T, r *rig, id session.ID) {
		ids := []session.ID{id}
		for range 9 {
			s, err := r.Start(t.Context(), r.project)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, s.ID)
		}
		for _, id := range ids {
			r.send(id, "go")
		}
		time.Sleep(15 * time.Minute) // the third rung
		for _, id := range ids {
			if s := r.wait(id); s.Status != session.Idle {
				t.Errorf("Status = %s, rung %d, until %v\n%s", s.Status, s.Rung, s.Retry, r.log(id))
			}
		}
	})
}
