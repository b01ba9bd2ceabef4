package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
	"belay/session/request"
)

const summary = `## Goal
- the task
## Constraints
none
## Decisions
- small files
## Done
- some reading
## Not done
none
## Files touched
none
## Commands and results
none
## Open questions
none
## Next step
- go on`

// readScript is a script of turns that each read a file of some 1,800 tokens. The
// light model writes summaries.
func readScript(turns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[[reply]]\ntimes = -1\nmodel = \"luna\"\ntext = %q\n", summary)
	for i := range turns {
		fmt.Fprintf(
			&b,
			"[[reply]]\nmodel = \"sol\"\n[[reply.calls]]\nname = \"read\"\narguments = { path = \"f%d\" }\n[[reply]]\n"+
				"model = \"sol\"\ntext = \"Read %d.\"\n",
			i,
			i,
		)
	}
	return b.String()
}

func TestALongSessionIsNeverRefusedForItsSize(t *testing.T) {
	t.Parallel()
	turns := 120
	if testing.Short() {
		turns = 60
	}
	plan := "[[reply]]\nmodel = \"sol\"\n[[reply.calls]]\nname = \"plan\"\n" +
		"arguments = { tasks = [{ text = \"the long way\", status = \"active\" }] }\n"
	inBubble(
		t,
		plan+readScript(turns),
		func(r *rig) { r.window, r.trigger = 32_000, 0.8 },
		func(t *testing.T, r *rig, id session.ID) {
			for i := range turns {
				text := strings.Repeat(fmt.Sprintf("line %d of a file that somebody wrote\n", i), 120)
				if err := os.WriteFile(filepath.Join(r.project, fmt.Sprintf("f%d", i)), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r.do(id, session.PinNote{Text: "never forget me"})
			for i := range turns {
				r.send(id, fmt.Sprintf("task number %d", i))
				if s := r.wait(id); s.Status != session.Idle {
					t.Fatalf("turn %d: Status = %s, %v", i, s.Status, s.Fault)
				}
			}
			log := r.log(id)
			if !strings.Contains(log, "reduced") {
				t.Errorf("nothing was taken out: %.300s", log)
			}
			var before []byte
			kept, sameStart := 0, 0
			for n, x := range r.server.Log() {
				if x.Status != http.StatusOK {
					t.Errorf("a request was refused: %d %s", x.Status, x.Outcome)
				}
				if x.Model != "sol" {
					continue
				}
				if !strings.Contains(string(x.Body), "task number 0") {
					t.Error("a request lacks the words that began the session")
				}
				if n > 0 && !strings.Contains(string(x.Body), "the long way") {
					t.Error("a request lacks the plan")
				}
				if !strings.Contains(string(x.Body), "never forget me") {
					t.Error("a request lacks what the user wants kept")
				}
				var body struct{ Input json.RawMessage }
				if err := json.Unmarshal(x.Body, &body); err != nil {
					t.Fatal(err)
				}
				if before != nil {
					kept++
					if strings.HasPrefix(string(body.Input), strings.TrimSuffix(string(before), "]")) {
						sameStart++
					}
				}
				before = body.Input
			}
			if share := float64(sameStart) / float64(kept); share < 0.8 {
				t.Errorf("%.0f%% of the requests begin like the one before, want 80%% at least", share*100)
			} else {
				t.Logf("%.0f%% of the requests begin like the one before", share*100)
			}
		},
	)
}

func TestALongTurnKeepsTheWordsThatBeganItAndItsPlan(t *testing.T) {
	t.Parallel()
	const calls = 60
	var script strings.Builder
	script.WriteString(
		readScript(0) + "[[reply]]\nmodel = \"sol\"\n[[reply.calls]]\nname = \"plan\"\n" +
			"arguments = { tasks = [{ text = \"the long way\", status = \"active\" }] }\n",
	)
	for i := range calls {
		fmt.Fprintf(
			&script,
			"[[reply]]\nmodel = \"sol\"\ntext = %q\n[[reply.calls]]\nname = \"read\"\narguments = { path = \"f\", from = %d }\n",
			strings.Repeat("I look further. ", 90),
			i+1,
		)
	}
	script.WriteString("[[reply]]\ntimes = -1\nmodel = \"sol\"\ntext = \"Fine.\"\n")
	inBubble(t, script.String(), func(r *rig) { r.window, r.trigger = 32_000, 0.8 },
		func(t *testing.T, r *rig, id session.ID) {
			if err := os.WriteFile(
				filepath.Join(r.project, "f"),
				[]byte(strings.Repeat("a line that somebody wrote\n", 160)),
				0o600,
			); err != nil {
				t.Fatal(err)
			}
			r.send(id, "the one task that matters")
			if s := r.wait(id); s.Status != session.Idle {
				t.Fatalf("Status = %s, %v", s.Status, s.Fault)
			}
			r.send(id, "and one more")
			r.wait(id)
			last := r.server.Log()[len(r.server.Log())-1].Body
			for i, x := range r.server.Log() {
				if x.Status != http.StatusOK {
					t.Errorf("request %d was refused: %d %s", i, x.Status, x.Outcome)
				}
				if x.Model == "sol" && !strings.Contains(string(x.Body), `"text":"the one task that matters"`) {
					t.Errorf("request %d lacks the user's words", i)
				}
				if i > 0 && !strings.Contains(string(x.Body), "the long way") {
					t.Errorf("request %d lacks the plan", i)
				}
			}
			if log := r.log(id); !strings.Contains(log, "compacted") {
				t.Fatalf("no summary was needed: %.300s", log)
			}
			r.stop()
			r.start()
			if _, req, err := r.Request(t.Context(), id); err != nil ||
				len(req.Items) != strings.Count(
					string(last),
					`"type":"message"`,
				)+strings.Count(string(last), `"type":"function_call`) {
				t.Errorf("after a restart the last request has %d items (%v), want those of %.2000s", len(req.Items), err, last)
			}
		})
}

func TestASummaryStandsForTheBeginningAndCanBeUndone(t *testing.T) {
	t.Parallel()
	inBubble(
		t,
		readScript(3)+"[[reply]]\nmodel = \"sol\"\ntimes = -1\ntext = \"Fine.\"\n",
		nil,
		func(t *testing.T, r *rig, id session.ID) {
			for i := range 3 {
				if err := os.WriteFile(filepath.Join(r.project, fmt.Sprintf("f%d", i)), []byte("SECRETWORD\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				r.send(id, fmt.Sprintf("task %d", i))
				r.wait(id)
			}
			r.do(id, session.Compact{Keep: "the colour is blue"})
			s := r.wait(id)
			if s.Summary == "" || !strings.Contains(s.Summary, "the colour is blue") || s.Usage.Output == 0 {
				t.Fatalf("Summary = %q, usage %+v", s.Summary, s.Usage)
			}
			body := func(text string) string {
				r.send(id, text)
				if s := r.wait(id); s.Status != session.Idle {
					t.Fatalf("Status = %s, %v", s.Status, s.Fault)
				}
				list := r.server.Log()
				return string(list[len(list)-1].Body)
			}
			if got := body(
				"and now",
			); strings.Contains(got, "SECRETWORD") || !strings.Contains(got, "the colour is blue") ||
				!strings.Contains(got, "and now") {
				t.Errorf("after the summary the request is %.400s", got)
			}
			r.stop()
			r.start()
			if _, err := r.Open(t.Context(), id, false); err != nil {
				t.Fatal(err)
			}
			if got := body("after a restart"); strings.Contains(got, "SECRETWORD") ||
				!strings.Contains(got, "the colour is blue") {
				t.Errorf("after a restart the request is %.400s", got)
			}
			r.do(id, session.Restore{})
			if got := body("all of it"); !strings.Contains(got, "SECRETWORD") || strings.Contains(got, "the colour is blue") {
				t.Errorf("after it was undone the request is %.400s", got)
			}
		},
	)
}

func TestWhenNoModelHasRoomForASummaryTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	script := "[[reply]]\ntimes = -1\nmodel = \"luna\"\nfault = { how = \"error\", code = \"server_is_overloaded\" }\n" +
		"" + strings.TrimPrefix(
		readScript(14),
		readScript(0),
	)
	inBubble(t, script, func(r *rig) { r.window, r.trigger = 16_000, 0.5 }, func(t *testing.T, r *rig, id session.ID) {
		for i := range 14 {
			text := strings.Repeat(fmt.Sprintf("line %d of a file that somebody wrote\n", i), 100)
			if err := os.WriteFile(filepath.Join(r.project, fmt.Sprintf("f%d", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 14 {
			r.send(id, strings.Repeat(fmt.Sprintf("task %d with many words ", i), 60))
			if s := r.wait(id); s.Status != session.Idle {
				t.Fatalf("turn %d: Status = %s, %v", i, s.Status, s.Fault)
			}
		}
		if log := r.log(id); !strings.Contains(log, "noted") || strings.Contains(log, "compacted") {
			t.Errorf("log is %.600s", log)
		}
	})
}

// budget is how many tokens of ours a request to a target may take.
func (r *rig) budget(t models.Target) int64 {
	limits := r.o.Window(t)
	limits.Factor = r.o.Calibration.Factor(t)
	return limits.For(r.o.Model(t))
}

func TestATargetThatCountsMoreGetsLess(t *testing.T) {
	t.Parallel()
	// The server says of each request that it took twice what we count.
	inBubble(
		t,
		"[[reply]]\ntimes = -1\ntext = \"Fine.\"\nusage = { input = 24000, output = 10 }\n",
		func(r *rig) { r.window = 32_000 },
		func(t *testing.T, r *rig, id session.ID) {
			before := r.budget(sol)
			r.send(id, strings.Repeat("some words to count ", 2000))
			r.wait(id)
			if after := r.budget(sol); after >= before*3/4 {
				t.Errorf("the budget is %d tokens of ours, want much less than %d", after, before)
			}
			if r.budget(terra) != before {
				t.Error("another target's budget changed as well")
			}
		},
	)
}

func TestUnderPressureOneRequestGoesOutSlim(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for i := range 5 {
		fmt.Fprintf(
			&script,
			"[[reply]]\nmodel = \"sol\"\n[[reply.calls]]\nname = \"read\"\narguments = { path = \"f%d\" }\n[[reply]]\n"+
				"model = \"sol\"\ntext = \"Read %d.\"\n",
			i,
			i,
		)
	}
	script.WriteString(
		"[[reply]]\ntimes = 2\nmodel = \"sol\"\nfault = { how = \"error\", code = \"server_is_overloaded\" }\n[[reply]]\n" +
			"times = -1\ntext = \"Fine.\"\n",
	)
	inBubble(t, script.String(), func(r *rig) { r.window = 400_000 }, func(t *testing.T, r *rig, id session.ID) {
		fat(t, r, id)
		seen := len(r.server.Log())
		r.send(id, "now it is full")
		if s := r.wait(id); s.Status != session.Idle {
			t.Fatalf("Status = %s, %v", s.Status, s.Fault)
		}
		r.send(id, "and again")
		r.wait(id)
		var sizes []int
		for _, x := range r.server.Log()[seen:] {
			sizes = append(sizes, len(x.Body))
		}
		if len(sizes) != 4 || sizes[1] != sizes[0] || sizes[2] > sizes[0]*3/4 || sizes[3] < sizes[0]*9/10 {
			t.Errorf("the requests have %v bytes, want the third alone to be slim", sizes)
		}
	})
}

// fat makes a session of some 100,000 tokens, nearly all of them outputs of tools
// in earlier turns.
func fat(t *testing.T, r *rig, id session.ID) {
	t.Helper()
	for i := range 5 {
		text := strings.Repeat(fmt.Sprintf("%d %s\n", i, strings.Repeat("go-on ", 250)), 40)
		if err := os.WriteFile(filepath.Join(r.project, fmt.Sprintf("f%d", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.send(id, fmt.Sprintf("read %d", i))
		r.wait(id)
	}
}

func TestWhatOneRequestMayLoseIsTheUsersChoice(t *testing.T) {
	t.Parallel()
	full := strings.TrimPrefix(
		readScript(5),
		readScript(0),
	) + "[[reply]]\ntimes = 2\nmodel = \"sol\"\nfault = { how = \"error\", code = \"server_is_overloaded\" }\n" +
		"[[reply]]\ntimes = -1\ntext = \"Fine.\"\n"
	for _, tt := range []struct {
		slim         request.PrunePolicy
		smaller      bool
		effort, most string
		said         string
	}{
		{request.PruneOff, false, `"effort":"high"`, "", ""},
		{request.PruneOutputs, true, `"effort":"high"`, "", "no room twice: this one request goes out slim, without 3 " +
			"older outputs"},
		{request.PruneAndLower, true, `"effort":"medium"`, `"max_output_tokens":10000`,
			"effort medium instead of high and a reply of 10000 tokens at most"},
	} {
		t.Run(string(tt.slim), func(t *testing.T) {
			inBubble(t, full, func(r *rig) {
				r.window = 400_000
				r.engine = func(o *Options) {
					o.PrunePolicy, o.Reply = tt.slim, func(models.Target) request.Reply {
						return request.Reply{Effort: "high",
							MaxOutput: 20_000}
					}
				}
			}, func(t *testing.T, r *rig, id session.ID) {
				fat(t, r, id)
				seen := len(r.requests())
				r.send(id, "now it is full")
				r.wait(id)
				list := r.requests()[seen:]
				if len(list) != 3 {
					t.Fatalf("%d requests, want 3", len(list))
				}
				last := string(list[2].Body)
				if smaller := len(last) < len(
					list[0].Body,
				)*3/4; smaller != tt.smaller || !strings.Contains(last, tt.effort) ||
					!strings.Contains(last, tt.most) {
					t.Errorf("the third request has %d bytes of %d, and ends in %.200s", len(last), len(list[0].Body),
						last[len(last)-200:])
				}
				if said := r.notices(); !strings.Contains(said, tt.said) || tt.said == "" && strings.Contains(said, "slim") {
					t.Errorf("said %q, want %q", said, tt.said)
				}
			})
		})
	}
}

func TestAPersonSlimsTheNextRequestAndNoOther(t *testing.T) {
	t.Parallel()
	inBubble(
		t,
		strings.TrimPrefix(readScript(5), readScript(0))+"[[reply]]\ntimes = -1\ntext = \"Fine.\"\n",
		func(r *rig) { r.window = 400_000 },
		func(t *testing.T, r *rig, id session.ID) {
			fat(t, r, id)
			seen := len(r.requests())
			r.do(id, session.PruneRequest{})
			r.send(id, "one")
			r.wait(id)
			r.send(id, "two")
			r.wait(id)
			list := r.requests()[seen:]
			if len(list) != 2 || len(list[0].Body) > len(list[1].Body)*3/4 {
				t.Errorf("the requests have %d and %d bytes", len(list[0].Body), len(list[1].Body))
			}
			if said := r.notices(); strings.Count(said, "this one request goes out slim, without 3 older outputs") != 1 {
				t.Errorf("said %q", said)
			}
		},
	)
}

func TestTheEffortOfASessionGoesBeforeTheSettings(t *testing.T) {
	t.Parallel()
	inBubble(t, "[[reply]]\ntimes = -1\ntext = \"Fine.\"\n", func(r *rig) {
		r.engine = func(o *Options) {
			o.Reply = func(models.Target) request.Reply { return request.Reply{Effort: "low"} }
			model := o.Model
			o.Model = func(target models.Target) models.Model {
				m := model(target)
				m.Efforts = []string{"low", "high"}
				return m
			}
		}
	}, func(t *testing.T, r *rig, id session.ID) {
		ask := func(effort string) string {
			r.do(id, session.ChooseEffort{Effort: effort})
			r.send(id, "go "+effort)
			r.wait(id)
			list := r.requests()
			return string(list[len(list)-1].Body)
		}
		for effort, want := range map[string]string{"high": `"effort":"high"`, "": `"effort":"low"`} {
			if got := ask(effort); !strings.Contains(got, want) {
				t.Errorf("with effort %q the request lacks %s: %s", effort, want, got[len(got)-300:])
			}
		}
		if err := r.Do(t.Context(), id, session.ChooseEffort{Effort: "banana"}); err == nil ||
			!strings.Contains(err.Error(), `the effort "banana": it knows low, high`) {
			t.Errorf("an effort that no model knows: %v", err)
		}
	})
}
