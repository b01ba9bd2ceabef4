package engine

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/route"
	"belay/session"
)

func TestALimitOfTheAccountIsWaitedForExactly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, fault string
		want        time.Duration // until the second request
		rung        int
	}{
		{"a rate limit", `status = 429, code = "rate_limit_exceeded", message = "slow", headers = { Retry-After = "17" }`,
			17 * time.Second, 0},
		{"a usage limit", `status = 429, code = "usage_limit_reached", type = "usage_limit_reached", message = "used up", ` +
			`headers = { Retry-After = "18000" }`, 5 * time.Hour, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(
				t,
				"[[reply]]\nfault = { how = \"status\", "+tt.fault+" }\n[[reply]]\ntimes = -1\ntext = \"Here.\"\n",
				nil,
				func(t *testing.T, r *rig, id session.ID) {
					r.send(id, "go")
					time.Sleep(6 * time.Hour)
					if s := r.wait(id); s.Status != session.Idle {
						t.Errorf("Status = %s, %v", s.Status, s.Fault)
					}
					log := r.requests()
					if len(log) != 2 {
						t.Fatalf("asked %s", r.requestSummary())
					}
					if waited := log[1].Time.Sub(log[0].Time); waited < tt.want || waited > tt.want+time.Second {
						t.Errorf("asked again after %v, want %v", waited, tt.want)
					}
					r.checkLedger()
				},
			)
		})
	}
}

func TestALostNetworkUsesUpNoAttempts(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"dns", "refuse"} {
		t.Run(how, func(t *testing.T) {
			inBubble(
				t,
				fmt.Sprintf("[[reply]]\nfor = \"30m\"\nfault = { how = %q }\n[[reply]]\ntext = \"Here.\"\n", how),
				nil,
				func(t *testing.T, r *rig, id session.ID) {
					r.send(id, "go")
					time.Sleep(40 * time.Minute)
					if s := r.wait(id); s.Status != session.Idle || s.Target != sol {
						t.Errorf("Status = %s at %s, %v", s.Status, s.Target, s.Fault)
					}
					for _, rec := range r.published() {
						if e, ok := rec.Event.(session.AttemptStarted); ok && e.Number != 1 {
							t.Errorf("attempt %d", e.Number)
						}
					}
					r.checkLedger()
				},
			)
		})
	}
}

func TestAServerThatClosesEveryConnectionIsParked(t *testing.T) {
	t.Parallel()
	const script = `
[[reply]]
for = "5m"
fault = { how = "close" }
[[reply]]
times = -1
text = "Here."
`
	inBubble(t, script, func(r *rig) { r.engine = withParkWaits },
		func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "go")
			time.Sleep(time.Hour)
			if s := r.wait(id); s.Status != session.Idle {
				t.Errorf("Status = %s at %s, %v", s.Status, s.Target, s.Fault)
			}
			parked := 0
			for _, rec := range r.published() {
				if e, ok := rec.Event.(session.TurnEnded); ok && e.Outcome == session.OutcomeParked {
					parked++
					if e.Fault.Kind != models.KindServer {
						t.Errorf("parked for %v", e.Fault)
					}
				}
			}
			if n := len(r.requests()); parked == 0 || n > 30 {
				t.Errorf("parked %d times, %d requests: %s", parked, n, r.requestSummary())
			}
			r.checkLedger()
		})
}

func TestASuspendedComputerIsNoOutage(t *testing.T) {
	t.Parallel()
	var asleep atomic.Int64
	now := func() time.Time { return time.Now().Round(0).Add(time.Duration(asleep.Load())) }
	inBubble(t, fmt.Sprintf(busy, "60s"), func(r *rig) {
		r.engine = func(o *Options) { o.ParkSchedule, o.Now = parkWaits[3:], now }
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

const failedWithUsage = `
[[reply]]
[reply.fault]
how = "error"
body = '{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"m"},"usage":{"input_tokens":1000,"output_tokens":100}}}'
`

func TestUsageOfARequestThatWasNotAnswered(t *testing.T) {
	t.Parallel()
	for _, api := range []models.API{models.Responses, models.Chat} {
		t.Run("cut by its limit, "+string(api), func(t *testing.T) {
			inBubble(t, `
[[reply]]
text = "0123456789"
times = 4
usage = { input = 1000, output = 100 }
fault = { how = "incomplete", at = "text", after = 8 }
`, func(r *rig) { r.api = api }, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				if s := r.wait(id); s.Usage != (models.Usage{Input: 4000, Output: 400}) {
					t.Errorf("usage %+v, %v", s.Usage, s.Fault)
				}
				if a := r.attempts[0]; a.InputTokens != 1000 || a.OutputTokens != 100 {
					t.Errorf("recorded %+v", a)
				}
			})
		})
	}
	t.Run("stopped", func(t *testing.T) {
		taken := models.Usage{Input: 1000, Output: 100}
		stopping := func(r *rig) { r.route = func(o *route.Options) { o.Client = endless{taken} } }
		inBubble(t, "", stopping, func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "go")
			synctest.Wait()
			r.do(id, session.Stop{})
			if s := r.wait(id); s.Usage != taken {
				t.Errorf("usage %+v, want %+v", s.Usage, taken)
			}
		})
	})
}

// endless begins a reply and goes on until it is stopped.
type endless struct{ taken models.Usage }

func (e endless) Stream(ctx context.Context, t models.Target, _ models.Request) iter.Seq2[models.Chunk, error] {
	return func(yield func(models.Chunk, error) bool) {
		if yield(models.TextDelta{Text: "half"}, nil) {
			<-ctx.Done()
			yield(nil, &models.Fault{Kind: models.KindCancelled, Target: t, Err: context.Cause(ctx), Usage: e.taken})
		}
	}
}

func TestTheLimitsOfATask(t *testing.T) {
	t.Parallel()
	calls := strings.Repeat(
		"[[reply]]\nusage = { input = 1000, output = 100 }\n[[reply.calls]]\nname = \"ls\"\narguments = { path = \".\" }\n",
		3,
	) +
		"[[reply]]\ntimes = -1\nusage = { input = 1000, output = 100 }\ntext = \"Done.\"\n"
	for _, tt := range []struct {
		name, script string
		set          func(*Options)
		requests     int
		want         string
	}{
		{"requests", calls, func(o *Options) { o.Limits.Requests = 2 }, 2,
			"the limit of requests is reached (2 of 2 requests)"},
		{"tokens", calls, func(o *Options) { o.Limits.Tokens = 2300 }, 2,
			"the limit of tokens is reached (2200 of 2300 tokens)"},
		{"tokens of an attempt that failed", failedWithUsage + calls, func(o *Options) { o.Limits.Tokens = 2300 }, 2,
			"the limit of tokens is reached (2200 of 2300 tokens)"},
		{"retries", fmt.Sprintf(busy, "60m"), func(o *Options) { o.Limits.Retries = 2 }, 3,
			"the limit of retries is reached (2 of 2 retries)"},
		{"budget", calls, func(o *Options) {
			o.Limits.Budget = func(context.Context) (float64, string) { return 0.96, "96 % of this day's budget is spent" }
		}, 0, "96 % of this day's budget is spent. Raise it in [budget] to go on"},
		{"no limit in the way", calls, func(o *Options) {
			o.Limits.Requests, o.Limits.Retries, o.Limits.Tokens = 4, 1,
				100_000
		}, 4, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.script, func(r *rig) { r.engine = tt.set }, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				s := r.wait(id)
				if want := map[bool]session.Status{true: session.Idle,
					false: session.NeedsPerson}[tt.want == ""]; s.Status != want {
					t.Errorf("Status = %s, want %s\n%s", s.Status, want, r.log(id))
				}
				if n := len(r.requests()); n != tt.requests || !strings.Contains(r.notices(), tt.want) {
					t.Errorf("%d requests, want %d; said %q", n, tt.requests, r.notices())
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
	t.Parallel()
	inBubble(
		t,
		fmt.Sprintf(busy, "60m"),
		func(r *rig) { r.engine = func(o *Options) { o.ParkSchedule, o.Limits.Retries = parkWaits, 4 } },
		func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "go")
			time.Sleep(5 * time.Minute)
			if s := r.wait(id); s.Status != session.NeedsPerson {
				t.Errorf("Status = %s\n%s", s.Status, r.log(id))
			}
		},
	)
	inBubble(
		t,
		fmt.Sprintf(busy, "60m"),
		func(r *rig) { r.engine = func(o *Options) { o.ParkSchedule, o.Limits.Wait = parkWaits, time.Minute } },
		func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "go")
			time.Sleep(5 * time.Minute)
			s := r.wait(id)
			if s.Status != session.Failed || s.Fault == nil || s.Fault.Kind != models.KindCapacity ||
				!strings.Contains(r.notices(), "limit of waiting") {
				t.Errorf("Status = %s, %v\n%s", s.Status, s.Fault, r.notices())
			}
		},
	)
}

func TestEachTroubleHasALadderOfItsOwn(t *testing.T) {
	t.Parallel()
	trouble := "[[reply]]\nfor = \"20s\"\nfault = { how = \"error\", code = \"server_is_overloaded\", message = " +
		"\"full\" }\n"
	var script string
	for i := range 4 {
		script += trouble + fmt.Sprintf(
			"[[reply]]\n[[reply.calls]]\nname = \"write\"\narguments = { path = \"%d\", content = \"x\" }\n",
			i,
		)
	}
	inBubble(t, script+"[[reply]]\ntext = \"Done.\"\n", nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(20 * time.Minute)
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s, %v\n%s", s.Status, s.Fault, r.log(id))
		}
	})
}

func TestTryingByHandTakesNoRung(t *testing.T) {
	t.Parallel()
	inBubble(t, fmt.Sprintf(busy, "60m"), func(r *rig) { r.engine = withParkWaits },
		func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "go")
			r.wait(id)
			for range 6 {
				time.Sleep(time.Second)
				r.do(id, session.TryNow{})
				if s := r.wait(id); s.Status != session.Parked || s.ParkCount != 1 {
					t.Fatalf("Status = %s, rung %d", s.Status, s.ParkCount)
				}
			}
		})
}

func TestAFinishedCallWaitsWithATurnThatCannotGoOn(t *testing.T) {
	t.Parallel()
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
			inBubble(t, `
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
