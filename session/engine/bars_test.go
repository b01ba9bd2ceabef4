package engine

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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

// checkLedger compares the record with the server's own log, request by request.
func (r *rig) checkLedger() {
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
			r.t.Errorf("row %d is %s, status %d, kind %q; the server had %s, status %d, %s", i, a.Model, a.StatusCode,
				a.Kind, x.Model, status, x.Outcome)
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
	r.checkLedger()
}

func TestCapacityAtEveryPlaceOfATurn(t *testing.T) {
	t.Parallel()
	const call = "[[reply.calls]]\nname = \"shell\"\narguments = { command = \"echo x >> ran\" }\n"
	const good = "[[reply]]\ntext = \"I run it now.\"\n" + call
	const done = "[[reply]]\ntext = \"Done.\"\n"
	for _, api := range apis {
		for _, fault := range []string{
			`how = "error", code = "server_is_overloaded", message = "full"`, `how = "failed", code = ` +
				`"server_is_overloaded", message = "full"`,
			`how = "error", code = "no_capacity", message = "full"`, `how = "failed", code = "no_capacity", message = ` +
				`"full"`, `how = "error-flat", code = "slow_down", message = "full"`,
		} {
			broken := func(at string) string {
				return strings.Replace(good, "[[reply.calls]]", "fault = { "+fault+at+" }\n[[reply.calls]]", 1)
			}
			type place struct{ name, script, want string }
			after := place{
				"after the call",
				broken(`, at = "end"`) + done,
				"start:go message:I run it now. call:shell failed:capacity run:shell ran:shell message:Done. end:done",
			}
			if api == models.Chat { // where only the reply's end says that a call is whole
				after.script = broken(`, at = "end"`) + good + done
				after.want = "start:go cut:I run it now.shell failed:capacity message:I run it now. call:shell run:shell " +
					"ran:shell message:Done. end:done"
			}
			for _, tt := range []place{
				{"before the first word", broken("") + good + done, "start:go failed:capacity message:I run it now. call:shell " +
					"run:shell ran:shell message:Done. end:done"},
				{"in the text", broken(`, at = "text", after = 6`) + good + done,
					"start:go cut:I run  failed:capacity message:I run it now. call:shell run:shell ran:shell message:Done. end:done"},
				{"in the arguments", broken(`, at = "arguments", after = 9`) + good + done,
					"start:go cut:I run it now.shell failed:capacity message:I run it now. call:shell run:shell ran:shell " +
						"message:Done. end:done"},
				after,
				{"after the tool", good + "[[reply]]\nfault = { " + fault + " }\n" + done,
					"start:go message:I run it now. call:shell run:shell ran:shell failed:capacity message:Done. end:done"},
				{"in the words after the tool", good + "[[reply]]\ntext = \"Half of it\"\nfault = { " + fault +
					`, at = "text", after = 4` + " }\n" + done, "start:go message:I run it now. call:shell run:shell ran:shell " +
					"cut:Half failed:capacity message:Done. end:done"},
			} {
				t.Run(string(api)+" "+fault[:strings.LastIndex(fault, ",")]+" "+tt.name, func(t *testing.T) {
					inBubble(t, tt.script, func(r *rig) { r.api, r.mode = api, session.All },
						func(t *testing.T, r *rig, id session.ID) {
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

var parkWaits = []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute}

func withParkWaits(o *Options) { o.ParkSchedule = parkWaits }

const busy = `
[[reply]]
for = "%s"
fault = { how = "status", status = 503, code = "server_is_overloaded", message = "full" }
[[reply]]
times = -1
text = "Here."
`

func TestAMinuteOfNoRoomAnywhereIsOutlasted(t *testing.T) {
	t.Parallel()
	for _, api := range apis {
		inBubble(
			t,
			fmt.Sprintf(busy, "60s"),
			func(r *rig) { r.api, r.engine = api, withParkWaits },
			func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				time.Sleep(10 * time.Minute)
				if s := r.wait(id); s.Status != session.Idle {
					t.Errorf("Status = %s, %v", s.Status, s.Fault)
				}
				r.atMost(6, time.Time{})
				r.checkLedger()
			},
		)
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
	t.Parallel()
	for _, api := range apis {
		inBubble(t, `
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
`, func(r *rig) {
			r.api = api
			r.engine = withParkWaits
			r.mode = session.All
		}, func(t *testing.T, r *rig, id session.ID) {
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
			r.checkLedger()
		})
	}
}

func TestAnHourOfNoRoomAnywhere(t *testing.T) {
	t.Parallel()
	inBubble(t, fmt.Sprintf(busy, "60m"), func(r *rig) { r.engine = withParkWaits },
		func(t *testing.T, r *rig, id session.ID) {
			began := time.Now()
			r.send(id, "go")
			time.Sleep(50 * time.Minute)
			s := r.wait(id)
			if s.Status != session.Failed || s.Fault == nil || s.Fault.Kind != models.KindCapacity || s.Fault.Target != sol {
				t.Fatalf("Status = %s, %v", s.Status, s.Fault)
			}
			var rungs []string
			last := 0 // requests up to the wait before
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
			if want := "sol@30s terra@30s luna@30s sol@2m30s terra@2m30s luna@2m30s sol@12m30s terra@12m30s luna@12m30s " +
				"sol@42m30s terra@42m30s luna@42m30s"; strings.Join(
				rungs,
				" ",
			) != want {
				t.Errorf("the rungs were\n%v, want\n%s", rungs, want)
			}
			if st := r.o.Breakers.Status(sol); st.Outage.IsZero() {
				t.Error("no outage is marked")
			}
			if !strings.Contains(r.notices(), "outage: no model has answered") {
				t.Errorf("nobody was told of the outage")
			}
			time.Sleep(15 * time.Minute)
			r.do(id, session.Resume{})
			if s := r.wait(id); s.Status != session.Idle {
				t.Errorf("Status = %s, %v", s.Status, s.Fault)
			}
			r.atMost(6, time.Time{})
			r.checkLedger()
		})
}

// notices joins the reasons of ended turns and the notes.
func (r *rig) notices() string {
	var words []string
	for _, rec := range r.published() {
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
	t.Parallel()
	for _, api := range apis {
		inBubble(t, `
[[reply]]
model = "sol"
times = -1
[reply.fault]
how = "status"
status = 503
code = "server_is_overloaded"
message = "full"
headers = { Retry-After = "25" }
[[reply]]
text = "Here."
`, func(r *rig) { r.api = api }, func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "go")
			time.Sleep(3 * time.Second)
			pressed := time.Now()
			r.do(id, session.ChooseTier{Tier: models.Light})
			r.wait(id)
			log := r.requests()
			if len(log) != 2 || !strings.Contains(string(log[1].Body), `"model":"luna"`) ||
				log[1].Time.Sub(pressed) > 100*time.Millisecond {
				t.Errorf("asked %s, the last %v after the key", r.requestSummary(), log[len(log)-1].Time.Sub(pressed))
			}
			r.checkLedger()
		})
	}
}

func TestAStopIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
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
			inBubble(t, script, nil, func(t *testing.T, r *rig, id session.ID) {
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
				r.checkLedger()
			})
		})
	}
}

func TestALocalModelAtTheEndOfATier(t *testing.T) {
	t.Parallel()
	local := models.Target{Provider: "local", Model: "luna"}
	inBubble(t, `
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
		if got, want := r.requestSummary(), "sol/1 sol/1 sol/1 luna/1"; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		time.Sleep(5 * time.Minute)
		r.send(id, "and")
		if s := r.wait(id); s.Target != sol {
			t.Errorf("served by %s after the hold, want sol", s.Target)
		}
		r.checkLedger()
	})
}
