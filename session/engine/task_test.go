package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/models/route"
	"belay/session"
	"belay/session/agent"
)

// priced gives each model a price: a request of 1,000 tokens costs a dollar.
func priced(r *rig) {
	price := func(t models.Target) models.Model {
		return models.Model{
			Target: t, Short: t.Model, Window: r.window, Tools: true, Images: true, Dialect: "openai",
			Price: models.Price{Input: 1000},
		}
	}
	r.route = func(o *route.Options) { o.Model = price }
	set := r.engine
	r.engine = func(o *Options) {
		o.Model = price
		if set != nil {
			set(o)
		}
	}
}

const calling = `
[[reply]]
times = -1
usage = { input = 1000, output = 1 }
[[reply.calls]]
name = "ls"
arguments = { path = "." }
`

func TestTheLimitsOfATaskHoldForAllOfIt(t *testing.T) {
	t.Parallel()
	const spoken = "[[reply]]\ntimes = -1\nusage = { input = 1000, output = 1 }\ntext = \"No.\"\n"
	beginning := time.Time{}
	for _, tt := range []struct {
		name   string
		script string
		alone  bool
		set    func(*Options)
		play   func(r *rig, id session.ID)
		want   int // requests in all
		said   string
	}{
		{"a repair in the same run", spoken, true, func(o *Options) { o.Limits.Requests = 1 }, func(r *rig, id session.ID) {
			r.send(id, "answer")
			r.wait(id)
			r.send(id, "answer in JSON")
		}, 1, "the limit of requests is reached (1 of 1 requests)"},
		{"its cost", spoken, true, func(o *Options) { o.Limits.Cost = 2 }, func(r *rig, id session.ID) {
			for i := range 3 {
				r.send(id, fmt.Sprint("answer ", i))
				r.wait(id)
			}
		}, 2, "the limit of cost is reached ($2.00 of $2.00)"},
		{"a person at the screen gives it anew", spoken, false, func(o *Options) { o.Limits.Requests = 1 },
			func(r *rig, id session.ID) {
				r.send(id, "answer")
				r.wait(id)
				r.send(id, "and once more")
			}, 2, ""},
		{"several programs", calling, true, func(o *Options) { o.Limits.Cost, o.TaskSince = 3, &beginning },
			func(r *rig, id session.ID) {
				r.send(id, "go")
				r.wait(id)
				r.stop()
				r.start()
				if _, err := r.Open(r.t.Context(), id, false); err != nil {
					r.t.Fatal(err)
				}
				r.do(id, session.Resume{})
			}, 3, "the limit of cost is reached ($3.00 of $3.00)"},
		{"of one that is gone on with by a new run", calling, true, func(o *Options) { o.Limits.Cost = 3 },
			func(r *rig, id session.ID) {
				r.send(id, "go")
				r.wait(id)
				r.stop()
				r.start()
				if _, err := r.Open(r.t.Context(), id, false); err != nil {
					r.t.Fatal(err)
				}
				r.do(id, session.Resume{})
			}, 6, "the limit of cost is reached ($3.00 of $3.00)"},
		{"a parked turn that goes on in another program", `
[[reply]]
times = 2
usage = { input = 1000, output = 1 }
[[reply.calls]]
name = "ls"
arguments = { path = "." }
[[reply]]
fault = { how = "status", status = 429, code = "rate_limit_exceeded", message = "slow", headers = { Retry-After = "600" } }
` + calling, false, func(o *Options) { o.Limits.Cost, o.ParkSchedule = 3, parkWaits },
			func(r *rig, id session.ID) {
				r.send(id, "go")
				if s := r.wait(id); s.Status != session.Parked {
					r.t.Fatalf("Status = %s, %v", s.Status, s.Fault)
				}
				r.stop()
				r.start()
				if _, err := r.Open(r.t.Context(), id, false); err != nil {
					r.t.Fatal(err)
				}
				time.Sleep(time.Hour)
			}, 4, "the limit of cost is reached ($3.00 of $3.00)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, tt.script, func(r *rig) {
				r.nonInteractive = tt.alone
				r.tiers = map[models.Tier][]models.Target{models.Heavy: {sol}}
				r.engine = tt.set
				priced(r)
			}, func(t *testing.T, r *rig, id session.ID) {
				tt.play(r, id)
				s := r.wait(id)
				if want := map[bool]session.Status{true: session.Idle, false: session.NeedsPerson}[tt.said == ""]; s.Status != want {
					t.Errorf("Status = %s, want %s", s.Status, want)
				}
				if n := len(r.requests()); n != tt.want || !strings.Contains(r.notices(), tt.said) {
					t.Errorf("%d requests, want %d; said %q, want %q", n, tt.want, r.notices(), tt.said)
				}
			})
		})
	}
}

func TestTheCostOfAPlanIsThatOfAllItsSteps(t *testing.T) {
	t.Parallel()
	script := proposal(`{"title":"part 1","do":"look"},{"title":"part 2","do":"look again"}`) + `
[[reply]]
user = ": part 1"
usage = { input = 2000, output = 1 }
text = "I have looked."
` + calling
	inBubble(t, script, func(r *rig) {
		r.mode = session.All
		r.engine = func(o *Options) { o.Limits.Cost = 4 }
		priced(r)
	}, func(t *testing.T, r *rig, id session.ID) {
		r.split(id, "the large task", true)
		s := r.wait(id)
		if s.Status != session.NeedsPerson || plan(s) == "pending pending" {
			t.Fatalf("Status = %s, %s", s.Status, plan(s))
		}
		if s.Cost < 3.8 || s.Cost > 4 {
			t.Errorf("the plan cost $%.2f, want its limit of $4\n%s", s.Cost, r.notices())
		}
		before := len(r.requests())
		r.send(s.Plan.Steps[1].Session, "go on") // a person takes the step over
		r.wait(s.Plan.Steps[1].Session)
		if n := len(r.requests()) - before; n != 4 {
			t.Errorf("a person's word gives the step %d requests, want 4", n)
		}
	})
}

func TestWhatStepsCostCountsInTheNextProgram(t *testing.T) {
	t.Parallel()
	script := `
[[reply]]
user = ": part 1"
usage = { input = 2000, output = 1 }
text = "I have looked."
[[reply]]
fault = { how = "status", status = 429, code = "rate_limit_exceeded", message = "slow", headers = { Retry-After = "600" } }
` + calling
	inBubble(t, script, func(r *rig) {
		r.mode = session.All
		r.tiers = map[models.Tier][]models.Target{models.Heavy: {sol}}
		r.engine = func(o *Options) { o.Limits.Cost, o.ParkSchedule = 4, parkWaits }
		priced(r)
	}, func(t *testing.T, r *rig, id session.ID) {
		r.do(id, session.PlanTask{Prompt: session.Prompt{Text: "task"}, Start: true, Steps: []session.Step{
			{Title: "part 1", Instructions: "look"}, {Title: "part 2", Instructions: "look again"},
		}})
		if s := r.wait(id); s.Status != session.Parked || plan(s) != "done parked" || s.Cost != 2 {
			t.Fatalf("Status = %s, %s, $%.2f", s.Status, plan(s), s.Cost)
		}
		r.stop()
		r.start()
		if _, err := r.Open(r.t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		s := r.wait(id)
		if s.Status != session.NeedsPerson || s.Cost < 3.8 || s.Cost > 4 {
			t.Errorf("Status = %s, %s; the plan cost $%.2f, want its limit of $4", s.Status, plan(s), s.Cost)
		}
	})
}

func TestAStepHasItsOwnLimitAndThatOfItsPlan(t *testing.T) {
	t.Parallel()
	limits := agent.Limits{Cost: 4}
	step := session.Step{MaxCost: 3}
	begin := func(x *task, by trigger, planCost, cost float64) {
		x.limitStep(limits, step, planCost)
		x.launch(by, cost)
	}
	for _, tt := range []struct {
		name string
		play func(x *task)
		cost float64 // of the step's session in the end
		want float64 // that it may still cost
	}{
		{"its own", func(x *task) { begin(x, byPrompt, 0, 0) }, 1, 2},
		{"that of the plan, if less is left of it", func(x *task) { begin(x, byPrompt, 2, 0) }, 1, 1},
		{"its own over the waits of a parked turn", func(x *task) {
			begin(x, byPrompt, 0, 0)
			begin(x, byTimer, 2, 2)
		}, 2, 1},
		{"that of the plan, when others have used it up meanwhile", func(x *task) {
			begin(x, byPrompt, 0, 0)
			begin(x, byTimer, 3.5, 1)
		}, 1, 0.5},
		{"its own anew in a new turn", func(x *task) {
			begin(x, byPrompt, 0, 0)
			begin(x, byPrompt, 0.5, 0.5)
		}, 0.5, 3},
		{"what a person's turn has cost, when the plan comes later", func(x *task) {
			begin(x, byPrompt, 3, 0)
			x.launch(byPrompt, 1)
			x.limitStep(limits, step, 3)
		}, 3, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var x task
			tt.play(&x)
			if left := x.turnLimits().Cost - x.cost(tt.cost); left != tt.want {
				t.Errorf("it may cost $%.2f more, want $%.2f", left, tt.want)
			}
		})
	}
}
