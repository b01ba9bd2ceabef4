package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/steps"
)

// proposal is a model's answer with a plan.
func proposal(steps string) string {
	return fmt.Sprintf("[[reply]]\nuser = \"You split a large task\"\ntext = %q\n",
		"I looked.\n\n```json\n{\"steps\": ["+steps+"]}\n```")
}

// chain is a plan of n steps that each write a file and append to a log.
func chain(n int) (plan, script string) {
	var list []string
	var b strings.Builder
	for i := 1; i <= n; i++ {
		list = append(list, fmt.Sprintf(`{"title":"part %d","do":"write f%d","check":"test -f f%d"}`, i, i, i))
		fmt.Fprintf(
			&b,
			"[[reply]]\nuser = \": part %d\"\n[[reply.calls]]\nname = \"write\"\n"+
				"arguments = { path = \"f%d\", content = \"part %d\" }\n[[reply.calls]]\nname = \"shell\"\n"+
				"arguments = { command = \"echo %d >> log\" }\n[[reply]]\nuser = \": part %d\"\ntext = \"Wrote f%d. NOTE%d\"\n",
			i,
			i,
			i,
			i,
			i,
			i,
			i,
		)
	}
	return strings.Join(list, ","), b.String()
}

func (r *rig) split(id session.ID, task string, goOn bool) {
	r.t.Helper()
	r.do(id, session.PlanTask{Prompt: session.Prompt{ID: task, Text: task}, Start: goOn})
}

// plan is the state of each step, in a word.
func plan(s session.Session) string {
	if s.Plan == nil {
		return "none"
	}
	var words []string
	for _, x := range s.Plan.Steps {
		words = append(words, string(x.State))
	}
	return strings.Join(words, " ")
}

func TestALargeTaskIsSplitAndCarriedOut(t *testing.T) {
	list, script := chain(3)
	inBubble(t, proposal(list)+script, withSnapshots, func(t *testing.T, r *rig, id session.ID) {
		r.split(id, "the large task", false)
		s := r.wait(id)
		if s.Status != session.NeedsPerson || plan(s) != "pending pending pending" || s.Plan.By != sol ||
			s.Plan.Steps[1].Title != "part 2" {
			t.Fatalf("proposed: %s, %s, %+v", s.Status, plan(s), s.Plan)
		}
		if body := string(
			r.requests()[0].Body,
		); strings.Contains(body, `"name":"write"`) || strings.Contains(body, `"name":"shell"`) ||
			!strings.Contains(body, `"name":"grep"`) {
			t.Error("who plans can do more than look")
		}
		r.do(id, session.RunPlan{Through: true})
		s = r.wait(id)
		if s.Status != session.Idle || plan(s) != "done done done" {
			t.Fatalf("carried out: %s (%s), %s\n%s", s.Status, s.Fault, plan(s), r.log(id))
		}
		if got, want := r.files(), "f1=part 1,f2=part 2,f3=part 3,log=1 2 3 "; got != want {
			t.Errorf("files are %s, want %s", got, want)
		}
		last := r.last()
		for _, want := range []string{"the large task", "Wrote f1. NOTE1", "Wrote f2. NOTE2", "(this step)"} {
			if !strings.Contains(last, want) {
				t.Errorf("the last step was not told %q", want)
			}
		}
		if strings.Count(last, `"type":"function_call"`) != 2 || strings.Count(last, `"role":"user"`) != 1 {
			t.Error("the last step knows the conversation of another")
		}
		if x := s.Plan.Steps[0]; x.ToolCalls != 2 || x.Cost != 0 && s.Cost < x.Cost || x.Usage.Input == 0 ||
			s.Usage.Input < x.Usage.Input {
			t.Errorf("the first step took %+v, all of it %+v", x.Usage, s.Usage)
		}
		if list, err := r.store.List(t.Context(), session.Filter{}); err != nil || len(list) != 1 {
			t.Errorf("%d sessions are listed, want 1 (%v)", len(list), err)
		}
		points := r.checkpoints(id)
		if len(points) != 4 || points[2].Step != 2 {
			t.Fatalf("checkpoints are %+v", points)
		}
		r.do(id, session.Rewind{To: points[2].Seq, Conversation: true, Files: true})
		s, _ = r.Session(id)
		if got, want := r.files(), "f1=part 1,log=1 "; got != want || plan(s) != "done pending pending" {
			t.Errorf("rewound to before step 2: files %s, plan %s", got, plan(s))
		}
	})
}

func TestStepsAreTakenOneByOneAndEdited(t *testing.T) {
	t.Parallel()
	list, script := chain(3)
	inBubble(t, proposal(list)+script+script, allowAll, func(t *testing.T, r *rig, id session.ID) {
		r.split(id, "the large task", false)
		s := r.wait(id)
		r.do(id, session.RunPlan{})
		if s = r.wait(id); s.Status != session.NeedsPerson || plan(s) != "done pending pending" ||
			!strings.Contains(r.notices(), "step 1 is done; next is step 2, part 2") {
			t.Fatalf("after the first: %s, %s; %s", s.Status, plan(s), r.notices())
		}
		edit := append([]session.Step(nil), s.Plan.Steps...)
		edit[0].Title = "not mine to change"
		edit[1], edit[2] = edit[2], edit[1]
		edit[2].State = session.StepSkipped
		edit[2].Pause = true
		r.do(id, session.EditPlan{Steps: edit})
		r.do(id, session.RunPlan{Through: true})
		s = r.wait(id)
		if s.Status != session.Idle || plan(s) != "done done skipped" || s.Plan.Steps[0].Title != "part 1" ||
			s.Plan.Steps[1].Title != "part 3" {
			t.Errorf("%s, %s, %+v", s.Status, plan(s), s.Plan.Steps)
		}
		if err := r.Do(t.Context(), id, session.EditPlan{Steps: edit[:1]}); err == nil {
			t.Error("a step that is done was taken out")
		}
		r.do(id, session.RunPlan{Through: true, From: 2})
		if s = r.wait(id); plan(s) != "done done skipped" || s.Plan.Steps[1].EarlierUsage.Input == 0 {
			t.Errorf("run again from 2: %s, %+v", plan(s), s.Plan.Steps[1])
		}
	})
}

func TestAStepThatPausesWaitsForItsPerson(t *testing.T) {
	t.Parallel()
	_, script := chain(2)
	inBubble(t, script, allowAll, func(t *testing.T, r *rig, id session.ID) {
		r.do(id, session.PlanTask{
			Prompt: session.Prompt{Text: "task"},
			Start:  true,
			Steps:  []session.Step{{Title: "part 1", Instructions: "x"}, {Title: "part 2", Instructions: "y", Pause: true}},
		})
		s := r.wait(id)
		if s.Status != session.NeedsPerson || plan(s) != "done pending" ||
			!strings.Contains(r.notices(), "paused before step 2, part 2") {
			t.Fatalf("%s, %s; %s", s.Status, plan(s), r.notices())
		}
		r.do(id, session.RunPlan{Through: true})
		if s := r.wait(id); s.Status != session.Idle || plan(s) != "done done" {
			t.Errorf("%s, %s", s.Status, plan(s))
		}
	})
}

func TestACheckDecidesWhetherAStepIsDone(t *testing.T) {
	t.Parallel()
	const step = `{"title":"mend","do":"mend it","check":"echo looking; test -f good"}`
	try := func(n int, path string) string {
		return fmt.Sprintf(
			"[[reply]]\n[[reply.calls]]\nname = \"write\"\narguments = { path = %q, content = \"try %d\" }\n[[reply]]\n"+
				"text = \"Done, I think.\"\n",
			path,
			n,
		)
	}
	for _, tt := range []struct {
		name, script, want string
		failed             int
		said               string
	}{
		{"at once", try(1, "good"), "done", 0, ""},
		{"after its output went back to the model", try(1, "bad1") + try(2, "good"), "done", 1, ""},
		{"not after three tries", try(1, "bad1") + try(2, "bad2") + try(3, "bad3"), "failed", 3,
			"step 1, mend, failed: its check failed 3 times: echo looking; test -f good: exit 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(
				t,
				proposal(
					step+`,{"title":"later","do":"never on a half-done state"}`,
				)+tt.script+"[[reply]]\ntimes = -1\ntext = \"Fine.\"\n",
				allowAll,
				func(t *testing.T, r *rig, id session.ID) {
					r.split(id, "task", true)
					s := r.wait(id)
					if got := string(s.Plan.Steps[0].State); got != tt.want || s.Plan.Steps[0].FailedChecks != tt.failed {
						t.Fatalf("the step is %s after %d failed checks, want %s after %d\n%s", got,
							s.Plan.Steps[0].FailedChecks, tt.want, tt.failed, r.log(id))
					}
					if later := s.Plan.Steps[1].State; (later == session.StepDone) != (tt.want == "done") {
						t.Errorf("the later step is %s", later)
					}
					if tt.failed > 0 && !strings.Contains(string(r.requests()[3].Body), "looking") {
						t.Error("the model was not told what the check said")
					}
					if !strings.Contains(r.notices(), tt.said) {
						t.Errorf("said %q", r.notices())
					}
				},
			)
		})
	}
}

func TestAPlanThatCannotBeRead(t *testing.T) {
	t.Parallel()
	inBubble(
		t,
		"[[reply]]\ntext = \"I would rather not.\"\n[[reply]]\ntext = \"```json\\n{\\\"steps\\\": [{\\\"title\\\": "+
			"\\\"x\\\", \\\"tier\\\": \\\"huge\\\"}]}\\n```\"\n[[reply]]\ntext = \"[{\\\"title\\\":\\\"at last\\\"}]\"\n",
		allowAll,
		func(t *testing.T, r *rig, id session.ID) {
			r.split(id, "task", false)
			if s := r.wait(id); s.Status != session.NeedsPerson || plan(s) != "pending" ||
				!strings.Contains(r.last(), `unknown tier \"huge\"`) {
				t.Errorf("%s, %s\n%s", s.Status, plan(s), r.last())
			}
		},
	)
	inBubble(t, "[[reply]]\ntimes = -1\ntext = \"No.\"\n", allowAll, func(t *testing.T, r *rig, id session.ID) {
		r.split(id, "task", false)
		if s := r.wait(id); s.Status != session.Failed || !strings.Contains(r.notices(), "proposed no plan in 3 answers") {
			t.Errorf("%s: %s", s.Status, r.notices())
		}
	})
}

func TestWhileAPinnedStepWaitsOthersMayRun(t *testing.T) {
	t.Parallel()
	script := "[[reply]]\nmodel = \"sol\"\nfor = \"5m\"\nfault = { how = \"error\", code = \"server_is_overloaded\" }\n" +
		"[[reply]]\ntimes = -1\ntext = \"Done.\"\n"
	inBubble(t, script, func(r *rig) {
		allowAll(r)
		r.engine = func(o *Options) { o.ParkSchedule = parkWaits }
	}, func(t *testing.T, r *rig, id session.ID) {
		r.do(id, session.PlanTask{Prompt: session.Prompt{Text: "task"}, Start: true, Steps: []session.Step{
			{
				Title:        "hard",
				Instructions: "x",
				Tier:         models.Heavy,
				Pinned:       true,
			},
			{Title: "alone", Instructions: "y", Tier: models.Light, Needs: []int{}},
			{Title: "after both", Instructions: "z", Tier: models.Medium},
		}})
		s := r.wait(id)
		if s.Status != session.Parked || plan(s) != "parked done pending" || s.RetryAt.IsZero() {
			t.Fatalf("%s until %v, %s\n%s", s.Status, s.RetryAt, plan(s), r.log(id))
		}
		for _, x := range r.requests() {
			if x.Model == "terra" {
				t.Error("a pinned step was degraded, or a step ran that builds on it")
			}
		}
		time.Sleep(20 * time.Minute)
		if s := r.wait(id); s.Status != session.Idle || plan(s) != "done done done" {
			t.Errorf("later: %s, %s\n%s", s.Status, plan(s), r.log(id))
		}
	})
}

func TestAPlanGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	list, script := chain(3)
	slow := strings.Replace(script, "text = \"Wrote f2", "speed = { first = \"1h\" }\ntext = \"Wrote f2", 1)
	inBubble(t, proposal(list)+slow, allowAll, func(t *testing.T, r *rig, id session.ID) {
		r.split(id, "the large task", true)
		time.Sleep(time.Minute)
		if s, _ := r.Session(id); plan(s) != "done running pending" {
			t.Fatalf("the plan is %s", plan(s))
		}
		r.stop()
		r.start()
		s, err := r.Open(t.Context(), id, false)
		if err != nil || s.Status != session.Interrupted {
			t.Fatalf("opened: %s, %v", s.Status, err)
		}
		before := len(r.requests())
		r.do(id, session.Resume{})
		time.Sleep(2 * time.Hour)
		if s = r.wait(id); s.Status != session.Idle || plan(s) != "done done done" {
			t.Fatalf("%s, %s\n%s", s.Status, plan(s), r.log(id))
		}
		if got, want := r.files(), "f1=part 1,f2=part 2,f3=part 3,log=1 2 3 "; got != want {
			t.Errorf("files are %s, want %s", got, want)
		}
		cut, again := string(r.requests()[before-1].Body), string(r.requests()[before].Body)
		if cut != again {
			t.Errorf("the request was not made again as it was:\n%s\n%s", cut, again)
		}
	})
}

func TestAStopInAStepStopsThePlan(t *testing.T) {
	t.Parallel()
	for _, child := range []bool{false, true} {
		t.Run(fmt.Sprintf("said to the step %v", child), func(t *testing.T) {
			inBubble(t, slow, allowAll, func(t *testing.T, r *rig, id session.ID) {
				r.do(id, session.PlanTask{
					Prompt: session.Prompt{Text: "task"},
					Start:  true,
					Steps:  []session.Step{{Title: "one", Instructions: "x"}, {Title: "two", Instructions: "y"}},
				})
				time.Sleep(2 * time.Second)
				s, _ := r.Session(id)
				to := id
				if child {
					to = s.Plan.Steps[0].Session
				}
				r.do(to, session.Stop{})
				if s = r.wait(id); s.Status != session.Stopped || plan(s) != "running pending" {
					t.Fatalf("%s, %s", s.Status, plan(s))
				}
				r.do(id, session.Resume{})
				time.Sleep(time.Hour)
				if s = r.wait(id); s.Status != session.Idle || plan(s) != "done done" {
					t.Errorf("gone on: %s, %s\n%s", s.Status, plan(s), r.log(id))
				}
			})
		})
	}
}

func TestAPlanIsReadAndWritten(t *testing.T) {
	t.Parallel()
	list := []session.Step{
		{
			Title:        "a",
			Instructions: "do a\nin two lines",
			Proof:        "p",
			Tier:         models.Heavy,
			Pinned:       true,
			Check:        "go test ./...",
			StepProgress: session.StepProgress{State: session.StepPending},
		},
		{
			Title:        "b",
			Instructions: "do b",
			Needs:        []int{},
			Pause:        true,
			StepProgress: session.StepProgress{State: session.StepPending},
		},
	}
	task, got, err := steps.Read(steps.Write("the task", list))
	if err != nil || task != "the task" || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", list) {
		t.Errorf("Read = %q, %+v, %v", task, got, err)
	}
}

func TestAStepHasLimitsOfItsOwn(t *testing.T) {
	t.Parallel()
	inBubble(
		t,
		"[[reply]]\ntimes = -1\n[[reply.calls]]\nname = \"glob\"\narguments = { pattern = \"*.go\" }\n",
		allowAll,
		func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PlanTask{
				Prompt: session.Prompt{Text: "task"},
				Start:  true,
				Steps:  []session.Step{{Title: "one", Instructions: "x", MaxRequests: 2}},
			})
			s := r.wait(id)
			if s.Status != session.NeedsPerson || plan(s) != "needs you" || len(r.requests()) != 2 ||
				!strings.Contains(r.notices(), "the limit of requests is reached (2 of 2 requests)") {
				t.Errorf("%s, %s after %d requests: %s", s.Status, plan(s), len(r.requests()), r.notices())
			}
		},
	)
}

func TestATaskThatNamesItsShapeBeginsWithIt(t *testing.T) {
	t.Parallel()
	inBubble(
		t,
		"[[reply]]\ntimes = -1\ntext = \"[{\\\"title\\\":\\\"a\\\"}]\"\n",
		allowAll,
		func(t *testing.T, r *rig, id session.ID) {
			r.split(id, "fix: the till is wrong", false)
			if s := r.wait(id); plan(s) != "pending" || !strings.Contains(r.last(), "Begin with this shape") ||
				!strings.Contains(r.last(), "1. reproduce (medium)") {
				t.Errorf("%s: %s", plan(s), r.last())
			}
		},
	)
}

func TestWhatIsSaidToAPlanReachesItsStep(t *testing.T) {
	t.Parallel()
	const ask = "[[reply]]\nspeed = { first = \"30s\" }\n[[reply.calls]]\nname = \"shell\"\n" +
		"arguments = { command = \"echo 1 >> log\" }\n[[reply]]\ntimes = -1\ntext = \"Done.\"\n"
	t.Run("a mode", func(t *testing.T) {
		inBubble(t, ask, allowAll, func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PlanTask{
				Prompt: session.Prompt{Text: "task"},
				Start:  true,
				Steps:  []session.Step{{Title: "one", Instructions: "x"}},
			})
			time.Sleep(time.Second)
			r.do(id, session.ChooseMode{Mode: session.Ask})
			time.Sleep(time.Minute)
			s, _ := r.Session(id)
			if child, _ := r.Session(s.Plan.Steps[0].Session); child.Status != session.Asking {
				t.Errorf("the step is %s, want asking; files %s", child.Status, r.files())
			}
		})
	})
	t.Run("a tier", func(t *testing.T) {
		inBubble(t, ask, allowAll, func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PlanTask{
				Prompt: session.Prompt{Text: "task"},
				Start:  true,
				Steps:  []session.Step{{Title: "one", Instructions: "x"}},
			})
			time.Sleep(time.Second)
			r.do(id, session.ChooseTier{Tier: models.Light})
			r.wait(id)
			if asked := r.requestSummary(); !strings.HasPrefix(asked, "sol/1 luna/1") {
				t.Errorf("asked %s", asked)
			}
		})
	})
	t.Run("a pinned model", func(t *testing.T) {
		inBubble(t, "[[reply]]\ntimes = -1\ntext = \"Done.\"\n", allowAll, func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PinTarget{Target: luna})
			r.do(id, session.PlanTask{
				Prompt: session.Prompt{Text: "task"},
				Start:  true,
				Steps:  []session.Step{{Title: "one", Instructions: "x"}},
			})
			if r.wait(id); r.requestSummary() != "luna/1" {
				t.Errorf("asked %s", r.requestSummary())
			}
		})
	})
	t.Run("one step at a time, from now on", func(t *testing.T) {
		inBubble(t, ask, allowAll, func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PlanTask{
				Prompt: session.Prompt{Text: "task"},
				Start:  true,
				Steps:  []session.Step{{Title: "one", Instructions: "x"}, {Title: "two", Instructions: "y"}},
			})
			time.Sleep(time.Second)
			r.do(id, session.RunPlan{})
			if s := r.wait(id); plan(s) != "done pending" {
				t.Errorf("the plan is %s", plan(s))
			}
		})
	})
	t.Run("another check of the running step", func(t *testing.T) {
		inBubble(t, ask, allowAll, func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PlanTask{
				Prompt: session.Prompt{Text: "task"},
				Start:  true,
				Steps:  []session.Step{{Title: "one", Instructions: "x", Check: "false"}},
			})
			time.Sleep(time.Second)
			s, _ := r.Session(id)
			list := append([]session.Step(nil), s.Plan.Steps...)
			list[0].Check = "test -f log"
			r.do(id, session.EditPlan{Steps: list})
			if s := r.wait(id); plan(s) != "done" || s.Plan.Steps[0].Check != "test -f log" {
				t.Errorf("the plan is %s, checked by %s", plan(s), s.Plan.Steps[0].Check)
			}
		})
	})
}

func TestWordsInAStepsSessionAreNotItsEnd(t *testing.T) {
	t.Parallel()
	inBubble(
		t,
		"[[reply]]\nuser = \": one\"\ntimes = 1\n[[reply.calls]]\nname = \"shell\"\n"+
			"arguments = { command = \"echo 1 >> log\" }\n[[reply]]\nuser = \"bananas\"\ntext = \"Yellow.\"\n[[reply]]\n"+
			"times = -1\ntext = \"Fine.\"\n",
		func(r *rig) {
			allowAll(r)
			r.mode = session.Ask
		},
		func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PlanTask{
				Prompt: session.Prompt{Text: "task"},
				Start:  true,
				Steps:  []session.Step{{Title: "one", Instructions: "x"}},
			})
			time.Sleep(time.Second)
			r.do(id, session.Stop{})
			s := r.wait(id)
			child := s.Plan.Steps[0].Session
			r.send(child, "what colour are bananas?")
			r.wait(child)
			before := len(r.requests())
			r.do(id, session.Resume{})
			s = r.wait(id)
			if plan(s) != "done" || s.Plan.Steps[0].Note != "Fine." || len(r.requests()) != before+1 ||
				!strings.Contains(r.last(), "Step 1 of 1: one") {
				t.Errorf("%s, note %q, %d more requests", plan(s), s.Plan.Steps[0].Note, len(r.requests())-before)
			}
		},
	)
}

func TestAStepThatAskedIsAnsweredAfterARestart(t *testing.T) {
	t.Parallel()
	inBubble(
		t,
		"[[reply]]\n[[reply.calls]]\nname = \"shell\"\narguments = { command = \"echo 1 >> log\" }\n[[reply]]\n"+
			"times = -1\ntext = \"Fine.\"\n",
		func(r *rig) {
			allowAll(r)
			r.mode = session.Ask
		},
		func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PlanTask{
				Prompt: session.Prompt{Text: "task"},
				Start:  true,
				Steps:  []session.Step{{Title: "one", Instructions: "x"}},
			})
			time.Sleep(time.Second)
			s, _ := r.Session(id)
			child := s.Plan.Steps[0].Session
			r.stop()
			r.start()
			for _, x := range []session.ID{id, child} {
				if _, err := r.Open(t.Context(), x, false); err != nil {
					t.Fatal(err)
				}
			}
			part, _ := r.Session(child)
			if len(part.PendingApprovals) != 1 {
				t.Fatalf("the step is %s and asks %v", part.Status, part.PendingApprovals)
			}
			r.do(child, session.AnswerApproval{Answer: session.Answer{CallID: part.PendingApprovals[0].CallID, Allow: true}})
			r.wait(child)
			r.do(id, session.Resume{})
			if s := r.wait(id); plan(s) != "done" || r.files() != "log=1 " {
				t.Errorf("%s, files %s\n%s", plan(s), r.files(), r.log(child))
			}
		},
	)
}

func TestWhatComesAlongWithATaskReachesItsSteps(t *testing.T) {
	t.Parallel()
	inBubble(
		t,
		proposal(`{"title":"a"},{"title":"b"}`)+"[[reply]]\ntimes = -1\ntext = \"Fine.\"\n",
		allowAll,
		func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PlanTask{
				Start: true,
				Prompt: session.Prompt{
					Text:        "review this",
					Attachments: []models.Attachment{{Name: "standard input", Text: "THE DIFF"}},
				},
			})
			r.wait(id)
			list := r.requests()
			if len(list) != 3 {
				t.Fatalf("%d requests", len(list))
			}
			for i, x := range list {
				if !strings.Contains(string(x.Body), "THE DIFF") {
					t.Errorf("request %d lacks it", i)
				}
			}
		},
	)
}

func TestAForkBeginsItsOpenStepsAnew(t *testing.T) {
	t.Parallel()
	inBubble(t, "[[reply]]\ntimes = -1\ntext = \"Fine.\"\n", allowAll, func(t *testing.T, r *rig, id session.ID) {
		r.do(id, session.PlanTask{
			Prompt: session.Prompt{Text: "task"},
			Start:  true,
			Steps:  []session.Step{{Title: "one", Instructions: "x", Check: "test -f good"}},
		})
		if s := r.wait(id); plan(s) != "failed" {
			t.Fatalf("the plan is %s", plan(s))
		}
		fork, err := r.store.Fork(t.Context(), id, 0)
		if err != nil || plan(fork) != "pending" || fork.Plan.Steps[0].FailedChecks != 0 ||
			fork.Cost != 0 && fork.Plan.Steps[0].EarlierCost == 0 {
			t.Fatalf("the fork is %+v, %v", fork.Plan, err)
		}
		writeFile(r.project, "good", "")
		if _, err := r.Open(t.Context(), fork.ID, false); err != nil {
			t.Fatal(err)
		}
		r.do(fork.ID, session.RunPlan{Through: true})
		if s := r.wait(fork.ID); plan(s) != "done" || !strings.Contains(r.last(), "Step 1 of 1: one") {
			t.Errorf("%s\n%s", plan(s), r.log(fork.ID))
		}
	})
}

func TestWhatCannotBeRunIsRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, busyAlways, func(r *rig) {
		allowAll(r)
		r.engine = func(o *Options) { o.ParkSchedule = parkWaits }
	}, func(t *testing.T, r *rig, id session.ID) {
		if err := r.Do(t.Context(), id, session.RunPlan{}); err == nil {
			t.Error("without a plan")
		}
		r.do(
			id,
			session.PlanTask{Prompt: session.Prompt{Text: "task"}, Steps: []session.Step{{Title: "one", Instructions: "x"}}},
		)
		r.wait(id)
		r.send(id, "a normal prompt")
		if s := r.wait(id); s.Status != session.Parked || s.RunsPlan {
			t.Fatalf("%s", s.Status)
		}
		if err := r.Do(t.Context(), id, session.RunPlan{}); !errors.Is(err, ErrBusy) {
			t.Errorf("over a parked turn: %v", err)
		}
	})
}

func TestAPersonsWordGoesOnFromAPause(t *testing.T) {
	t.Parallel()
	_, script := chain(2)
	inBubble(t, script, allowAll, func(t *testing.T, r *rig, id session.ID) {
		r.do(id, session.PlanTask{
			Prompt: session.Prompt{Text: "task"},
			Start:  true,
			Steps:  []session.Step{{Title: "part 1", Instructions: "x"}, {Title: "part 2", Instructions: "y", Pause: true}},
		})
		if s := r.wait(id); s.Status != session.NeedsPerson || plan(s) != "done pending" {
			t.Fatalf("before the second step: %s, %s", s.Status, plan(s))
		}
		r.do(id, session.Resume{})
		if s := r.wait(id); s.Status != session.Idle || plan(s) != "done done" {
			t.Errorf("after it: %s, %s", s.Status, plan(s))
		}
	})
}

func TestAStepIsNotFiledWithoutItsPlan(t *testing.T) {
	t.Parallel()
	_, script := chain(1)
	inBubble(t, script, allowAll, func(t *testing.T, r *rig, id session.ID) {
		r.do(id, session.PlanTask{
			Prompt: session.Prompt{Text: "task"},
			Start:  true,
			Steps:  []session.Step{{Title: "part 1", Instructions: "x"}},
		})
		s := r.wait(id)
		for range 2 { // closed, and open
			err := r.Do(t.Context(), s.Plan.Steps[0].Session, session.SetArchived{Deleted: time.Now()})
			if err == nil || !strings.Contains(err.Error(), "session "+string(id)+", whose step it is") {
				t.Errorf("deleted: %v", err)
			}
			if _, err := r.Open(t.Context(), s.Plan.Steps[0].Session, false); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAStepLeavesAFullModelAfterItsOwnNumberOfFailures(t *testing.T) {
	script := "[[reply]]\nmodel = \"sol\"\ntimes = -1\nfault = { how = \"status\", status = 503, code = " +
		"\"server_is_overloaded\" }\n[[reply]]\ntimes = -1\ntext = \"done\"\n"
	inBubble(
		t,
		script,
		func(r *rig) { r.engine = func(o *Options) { o.SwitchAfterStep = 1 } },
		func(t *testing.T, r *rig, id session.ID) {
			r.do(id, session.PlanTask{
				Prompt: session.Prompt{Text: "task"},
				Start:  true,
				Steps:  []session.Step{{Title: "part 1", Instructions: "x"}},
			})
			if s := r.wait(id); plan(s) != "done" {
				t.Fatalf("%s, %s\n%s", s.Status, plan(s), r.log(id))
			}
			failures := 0
			for _, a := range r.attempts {
				if a.Model == "sol" {
					failures++
				}
			}
			if failures != 1 {
				t.Errorf("sol was asked %d times, want once", failures)
			}
		},
	)
}
