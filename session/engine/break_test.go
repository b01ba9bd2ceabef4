package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
	"belay/session/agent"
	"belay/session/store"
	"belay/session/tools"
)

// until waits for something that real programs do, while fake time stands.
func until(done func() bool) {
	for !done() {
		runtime.Gosched()
	}
}

func (r *rig) exists(name string) bool {
	_, err := os.Stat(filepath.Join(r.project, name))
	return err == nil
}

func (r *rig) asks(id session.ID) session.Approval {
	for {
		if s, _ := r.Session(id); len(s.Asked) > 0 && s.Status == session.Asking {
			return s.Asked[0]
		}
		time.Sleep(time.Millisecond)
	}
}

// refuse makes the database fail for one type of event, as a full disk would,
// until the returned function is called.
func (r *rig) refuse(event string) (again func()) {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.data, store.File))
	if err != nil {
		r.t.Fatal(err)
	}
	do := func(q string) {
		if _, err := db.Exec(q); err != nil {
			r.t.Error(err)
		}
	}
	do("CREATE TRIGGER refuse BEFORE INSERT ON events WHEN NEW.type = '" + event + "' BEGIN SELECT RAISE(FAIL, 'the disk is full'); END")
	return func() {
		do("DROP TRIGGER refuse")
		if err := db.Close(); err != nil {
			r.t.Error(err)
		}
	}
}

func everything(r *rig) { r.mode = session.All }

const appends = `
[[reply]]
[[reply.calls]]
name = "shell"
arguments = { command = "echo x >> ran" }
[[reply]]
times = -1
text = "Done."
`

func TestAFullDiskAtAnyEventNeverRunsACommandTwice(t *testing.T) {
	for _, event := range []string{"turn.started", "item", "reply.ended", "tool.started", "tool.ended", "turn.ended"} {
		t.Run(event, func(t *testing.T) {
			in(t, appends, everything, func(t *testing.T, r *rig, id session.ID) {
				again := r.refuse(event)
				err := r.Do(t.Context(), id, session.Send{Prompt: session.Prompt{ID: "go", Text: "go"}})
				if s := r.wait(id); s.Live() {
					t.Errorf("Status = %s while nothing runs", s.Status)
				}
				again()
				if event == "turn.started" {
					if err == nil {
						t.Error("a prompt that was not saved was accepted")
					}
					r.send(id, "go")
				} else if s, _ := r.Session(id); s.Status == session.Failed {
					r.do(id, session.Resume{})
				}
				if event == "tool.ended" { // it ran, and nobody could write that down
					ap := r.asks(id)
					r.do(id, session.AnswerCall{Answer: session.Answer{CallID: ap.CallID}})
				}
				if s := r.wait(id); s.Status != session.Idle {
					t.Errorf("Status = %s, %v", s.Status, s.Fault)
				}
				r.send(id, "more")
				r.wait(id)
				want := "x\n"
				if event == "item" {
					want = "" // the call was lost, and the scripted model does not make it again
				}
				if b, _ := os.ReadFile(filepath.Join(r.project, "ran")); string(b) != want {
					t.Errorf("the command left %q, want %q\n%s", b, want, r.log(id))
				}
				log := r.log(id)
				if begun := strings.Count(log, "start:") + strings.Count(log, "resume"); strings.Count(log, "end:") != begun {
					t.Errorf("%d beginnings of a turn and another number of ends\n%s", begun, log)
				}
			})
		})
	}
}

const three = `
[[reply]]
[[reply.calls]]
name = "shell"
arguments = { command = "touch began; sleep 60" }
[[reply.calls]]
name = "shell"
arguments = { command = "touch second" }
[[reply]]
times = -1
text = "Done."
`

func TestCallsOfAStoppedTurnAreNotRunForTheNextPrompt(t *testing.T) {
	in(t, three, everything, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		until(func() bool { return r.exists("began") })
		r.do(id, session.Stop{})
		if s := r.wait(id); s.Status != session.Stopped {
			t.Fatalf("Status = %s", s.Status)
		}
		r.send(id, "something else")
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s, %v", s.Status, s.Fault)
		}
		if r.exists("second") {
			t.Errorf("a call of the stopped turn was run\n%s", r.log(id))
		}
	})
}

func TestCallsOfAStoppedTurnAreRunWhenItIsResumed(t *testing.T) {
	in(t, three, everything, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		until(func() bool { return r.exists("began") })
		r.do(id, session.Stop{})
		r.wait(id)
		r.do(id, session.Resume{})
		r.wait(id)
		if !r.exists("second") {
			t.Errorf("the rest of the turn was not run\n%s", r.log(id))
		}
	})
}

func TestAnUnknownOutcomeStaysUnknownUntilItIsAnswered(t *testing.T) {
	in(t, "[[reply]]\ntext = \"Done.\"", everything, func(t *testing.T, r *rig, id session.ID) {
		crash(t, r, id, session.Effect{CallID: "c1", Tool: "shell", Class: session.Run, Title: "touch made"}, `{"command":"touch made"}`)
		r.stop()
		r.start()
		if _, err := r.Open(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.do(id, session.Resume{})
			if ap := r.asks(id); ap.CallID != "c1" {
				t.Fatalf("asked about %q", ap.CallID)
			}
			r.do(id, session.Stop{})
			r.wait(id)
		}
		if r.exists("made") {
			t.Error("it ran without an answer")
		}
	})
}

func TestAnAnswerReachesATurnThatEndedBecauseNobodyWasThere(t *testing.T) {
	in(t, shell, func(r *rig) { r.alone = true }, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		s := r.wait(id)
		r.stop()
		r.alone = false
		r.start()
		if _, err := r.Open(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		r.do(id, session.AnswerCall{Answer: session.Answer{CallID: s.Asked[0].CallID, Allow: true}})
		if s := r.wait(id); s.Status != session.Idle || !r.exists("made") {
			t.Errorf("Status = %s, made %v", s.Status, r.exists("made"))
		}
		if err := r.Do(t.Context(), id, session.AnswerCall{Answer: session.Answer{CallID: s.Asked[0].CallID, Allow: true}}); err == nil {
			t.Error("a second answer was accepted")
		}
	})
}

func TestAQuestionFoundByABelayWithoutAPersonIsLeftForOne(t *testing.T) {
	in(t, shell, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.asks(id)
		r.stop()
		r.alone = true
		r.start()
		if s, err := r.Open(t.Context(), id, false); err != nil || s.Status != session.NeedsPerson || len(s.Asked) != 1 {
			t.Fatalf("Open = %s, %v", s.Status, err)
		}
		r.do(id, session.ChooseMode{Mode: session.All})
		r.do(id, session.Resume{})
		if s := r.wait(id); s.Status != session.Idle || !r.exists("made") {
			t.Errorf("Status = %s, made %v", s.Status, r.exists("made"))
		}
	})
}

func TestEditedArgumentsMeetTheRules(t *testing.T) {
	in(t, shell, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.do(id, session.AnswerCall{Answer: session.Answer{CallID: r.asks(id).CallID, Allow: true, Always: true, Args: `{"command":"rm -rf ~ --no-preserve-root"}`}})
		r.wait(id)
		if got := r.log(id); !strings.Contains(got, "ran:shell:denied") || strings.Contains(got, "run:shell") {
			t.Errorf("log is %s", got)
		}
		if rules, err := r.store.Grants(t.Context(), r.project); len(rules) != 0 || err != nil {
			t.Errorf("granted %q, %v", rules, err)
		}
	})
}

func TestAlwaysMeansWhatRunsNotWhatWasAskedFor(t *testing.T) {
	in(t, shell, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.do(id, session.AnswerCall{Answer: session.Answer{CallID: r.asks(id).CallID, Allow: true, Always: true, Args: `{"command":"mkdir other"}`}})
		r.wait(id)
		if rules, err := r.store.Grants(t.Context(), r.project); strings.Join(rules, " ") != "prefix:mkdir" || err != nil {
			t.Errorf("granted %q, %v", rules, err)
		}
	})
}

func TestATierKeyAfterAFinishedCallRunsItOnceAndTellsTheModel(t *testing.T) {
	in(t, `
[[reply]]
speed = { chunk = 1, delay = "1s" }
[[reply.calls]]
name = "shell"
arguments = { command = "echo x >> ran" }
[[reply.calls]]
name = "write"
arguments = { path = "b.txt", content = "a long text that takes its time to be written" }
[[reply]]
model = "luna"
output = "exit"
text = "Done."
`, everything, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		for !strings.Contains(r.log(id), "call:shell") {
			time.Sleep(time.Second)
		}
		r.do(id, session.ChooseTier{Tier: models.Light})
		r.wait(id)
		if b, _ := os.ReadFile(filepath.Join(r.project, "ran")); string(b) != "x\n" {
			t.Errorf("the command left %q\n%s", b, r.log(id))
		}
		for _, x := range r.server.Log() {
			if strings.Contains(string(x.Body), "interrupted") {
				t.Errorf("the model was told of an interruption: %s", x.Body)
			}
		}
	})
}

func TestParkedByTheUserItGoesOnOnlyWhenTold(t *testing.T) {
	in(t, slow, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(5 * time.Second)
		r.do(id, session.Park{})
		if s := r.wait(id); s.Status != session.Parked || !s.Retry.IsZero() || s.Rung != 0 {
			t.Fatalf("Status = %s until %v, rung %d", s.Status, s.Retry, s.Rung)
		}
		time.Sleep(time.Hour)
		if s := r.wait(id); s.Status != session.Parked {
			t.Errorf("Status = %s", s.Status)
		}
		r.do(id, session.TryNow{})
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s, %v", s.Status, s.Fault)
		}
	})
}

func TestAParkedTurnGoesOnAlthoughTheStoreFailedOnce(t *testing.T) {
	in(t, fmt.Sprintf(full, "60s"), nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.wait(id)
		again := r.refuse("turn.resumed")
		time.Sleep(2 * time.Minute)
		again()
		time.Sleep(5 * time.Minute)
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s", s.Status)
		}
	})
}

func TestClosingEndsWhateverRunsAndBeginsNothing(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		until        func(*rig, session.ID)
		want         session.Status
	}{
		{"while streaming", slow, func(*rig, session.ID) { time.Sleep(3 * time.Second) }, session.Interrupted},
		{"while asking", shell, func(r *rig, id session.ID) { r.asks(id) }, session.Asking},
		{"while parked", fmt.Sprintf(full, "60m"), func(r *rig, id session.ID) { r.wait(id) }, session.Parked},
		{"while waiting", fmt.Sprintf(full, "60m"), func(*rig, session.ID) { time.Sleep(time.Second) }, session.Interrupted},
		{"as a turn is done", "[[reply]]\ntimes = -1\ntext = \"Done.\"", func(*rig, session.ID) {}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, tt.script, nil, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "first")
				r.send(id, "second")
				tt.until(r, id)
				if err := r.Engine.Close(); err != nil {
					t.Error(err)
				}
				if err := r.Do(t.Context(), id, session.Send{Prompt: session.Prompt{ID: "x", Text: "x"}}); !errors.Is(err, ErrNotOpen) {
					t.Errorf("Do after Close = %v, want ErrNotOpen", err)
				}
				asked := len(r.server.Log())
				time.Sleep(time.Hour)
				if got := len(r.server.Log()); got != asked {
					t.Errorf("%d requests after Close", got-asked)
				}
				s, err := r.store.Load(t.Context(), id)
				if err != nil || tt.want != "" && s.Status != tt.want {
					t.Errorf("left %s, want %s, %v", s.Status, tt.want, err)
				}
			})
		})
	}
}

func TestAClosedSessionBeginsNothing(t *testing.T) {
	in(t, "[[reply]]\ntimes = -1\ntext = \"Done.\"", nil, func(t *testing.T, r *rig, id session.ID) {
		a := r.active(id)
		r.send(id, "first")
		r.send(id, "second")
		a.close()
		a.mu.Lock()
		err := a.begin(t.Context(), session.TurnResumed{})
		a.mu.Unlock()
		if !errors.Is(err, agent.ErrClosing) {
			t.Errorf("begin = %v, want ErrClosing", err)
		}
		if err := a.idle(t.Context()); err != nil {
			t.Error(err)
		}
		if s := a.session(); s.Turn > 1 {
			t.Errorf("turn %d was begun", s.Turn)
		}
	})
}

func TestATakeoverStopsTheTurnAndTheSessionCanBeTakenBack(t *testing.T) {
	in(t, slow, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(3 * time.Second)
		other, err := store.Open(t.Context(), r.data, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.Acquire(t.Context(), id, "other", true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s := r.wait(id); s.Live() {
			t.Errorf("Status = %s after a takeover", s.Status)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := r.Open(t.Context(), id, true)
		if err != nil || s.Status != session.Interrupted {
			t.Fatalf("Open = %s, %v", s.Status, err)
		}
		r.do(id, session.Resume{})
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s, %v\n%s", s.Status, s.Fault, r.log(id))
		}
	})
}

func TestTheLoopGuardKnowsAChangeFromALoop(t *testing.T) {
	check := "[[reply]]\n[[reply.calls]]\nname = \"shell\"\narguments = { command = \"echo failed\" }\n"
	change := "[[reply]]\n[[reply.calls]]\nname = \"write\"\narguments = { path = \"%d\", content = \"x\" }\n"
	var tries string
	for i := range 12 {
		tries += check + fmt.Sprintf(change, i)
	}
	for _, tt := range []struct {
		name, script string
		want         session.Status
	}{
		{"checks between edits go on", tries + "[[reply]]\ntext = \"Done.\"", session.Idle},
		{"the same over and over ends", strings.Replace(check, "[[reply]]", "[[reply]]\ntimes = -1", 1), session.NeedsPerson},
		{"so does a call that is refused", "[[reply]]\ntimes = -1\n[[reply.calls]]\nname = \"nonsense\"\narguments = {}\n", session.NeedsPerson},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, tt.script, everything, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				if s := r.wait(id); s.Status != tt.want {
					t.Errorf("Status = %s, want %s\n%s", s.Status, tt.want, r.log(id))
				}
			})
		})
	}
}

func TestQueueCommandsInEveryStatus(t *testing.T) {
	fails := "[[reply]]\nfault = { how = \"status\", status = 400, code = \"invalid_prompt\", message = \"no\" }\n[[reply]]\ntimes = -1\ntext = \"Done.\"\n"
	reach := map[session.Status]struct {
		script string
		do     func(*rig, session.ID)
	}{
		session.Failed:  {fails, func(r *rig, id session.ID) { r.wait(id) }},
		session.Parked:  {fmt.Sprintf(full, "10s"), func(r *rig, id session.ID) { r.wait(id) }},
		session.Stopped: {slow, func(r *rig, id session.ID) { time.Sleep(3 * time.Second); r.do(id, session.Stop{}); r.wait(id) }},
	}
	for status, to := range reach {
		for _, tt := range []struct {
			name string
			c    session.Command
			want string // how the log goes on
		}{
			{"resume does the turn, then the queue", session.Resume{}, "resume message:%s end:done start:held message:Done. end:done"},
			{"drop sends the queue", session.Drop{}, "start:held message:%s end:done"},
		} {
			t.Run(string(status)+": "+tt.name, func(t *testing.T) {
				in(t, to.script, nil, func(t *testing.T, r *rig, id session.ID) {
					r.send(id, "go")
					r.send(id, "held")
					to.do(r, id)
					s, _ := r.Session(id)
					if s.Status != status || len(s.Queue) != 1 {
						t.Fatalf("Status = %s with %d held, want %s with one", s.Status, len(s.Queue), status)
					}
					time.Sleep(15 * time.Second)
					r.do(id, tt.c)
					until(func() bool { s := r.wait(id); return s.Turn == 2 && !s.Live() })
					got := r.log(id)
					said := map[session.Status]string{session.Parked: "Here.", session.Stopped: "Short.", session.Failed: "Done."}[status]
					want := strings.ReplaceAll(fmt.Sprintf(tt.want, said), "Done.", map[session.Status]string{session.Parked: "Here.", session.Failed: "Done."}[status])
					if status != session.Stopped && !strings.HasSuffix(got, want) {
						t.Errorf("log is\n%s, want at its end\n%s", got, want)
					}
				})
			})
		}
	}
}

// long makes a session whose log is far longer than what a request can hold:
// many turns, or one.
func long(t testing.TB, s *store.Store, project string, turns, calls int) session.ID {
	t.Helper()
	head, err := s.Create(t.Context(), session.Created{Project: project, Tier: models.Heavy, Mode: session.Edits})
	if err != nil {
		t.Fatal(err)
	}
	output := strings.Repeat("a line of some output\n", 500)
	for turn := 1; turn <= turns; turn++ {
		events := []session.Event{session.TurnStarted{Prompt: session.Prompt{ID: fmt.Sprint("p", turn), Text: fmt.Sprint("prompt ", turn)}}}
		for i := range calls {
			call := fmt.Sprintf("c%d-%d", turn, i)
			events = append(events, session.ItemAdded{Item: models.Item{Kind: models.Call, CallID: call, Name: "read", Arguments: `{"path":"x"}`}},
				session.ToolEnded{CallID: call, Tool: "read", Output: output})
		}
		events = append(events, session.ItemAdded{Item: models.Say(models.Assistant, "Done.")}, session.TurnEnded{Outcome: session.OutcomeDone})
		if _, _, err := s.Append(t.Context(), head.ID, turn, events...); err != nil {
			t.Fatal(err)
		}
	}
	return head.ID
}

func TestTheTailOfALongLogBeginsWithAPrompt(t *testing.T) {
	for _, tt := range []struct {
		name         string
		turns, calls int
		first        string
	}{
		{"a short log is whole", 3, 2, "prompt 1"},
		{"of many turns the last ones, whole", 60, 10, ""},
		{"of one long turn the prompt and the end", 1, 600, "prompt 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, "", nil, func(t *testing.T, r *rig, _ session.ID) {
				id := long(t, r.store, r.project, tt.turns, tt.calls)
				if _, err := r.Open(t.Context(), id, false); err != nil {
					t.Fatal(err)
				}
				items := r.active(id).Items()
				if tt.turns*tt.calls > 100 {
					if items[0].Role != models.Developer {
						t.Errorf("begins with %v, want a note that something was left out", items[0])
					}
					items = items[1:]
				}
				if it := items[0]; it.Role != models.User || tt.first != "" && it.Text != tt.first {
					t.Errorf("begins with %+v, want a prompt %s", it, tt.first)
				}
				size, calls := 0, map[string]bool{}
				for _, it := range items {
					size += len(it.Text)
					if it.Kind == models.Call {
						calls[it.CallID] = true
					} else if it.Kind == models.Output && !calls[it.CallID] && tt.turns > 1 {
						t.Errorf("the output of %s has no call", it.CallID)
					}
				}
				if size > 2*tailBytes {
					t.Errorf("%d bytes were read, the bound is %d", size, tailBytes)
				}
			})
		})
	}
}

func BenchmarkOpenALongSession(b *testing.B) {
	dir := b.TempDir()
	s, err := store.Open(b.Context(), dir, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := &rig{data: dir, project: b.TempDir()}
	id := long(b, s, r.project, 500, 20) // 110 MB
	b.ReportAllocs()
	for b.Loop() {
		e := New(Options{Store: s, Tools: func(root string) (*tools.Set, error) { return tools.New(tools.Options{Root: root}) }, What: "bench", Now: time.Now})
		if _, err := e.Open(context.Background(), id, false); err != nil {
			b.Fatal(err)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
