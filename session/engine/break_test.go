package engine

import (
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
	"belay/session/store"
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
		if s, _ := r.Session(id); len(s.PendingApprovals) > 0 && s.Status == session.Asking {
			return s.PendingApprovals[0]
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
	do(
		"CREATE TRIGGER refuse BEFORE INSERT ON events WHEN NEW.type = '" + event +
			"' BEGIN SELECT RAISE(FAIL, 'the disk is full'); END",
	)
	return func() {
		do("DROP TRIGGER refuse")
		if err := db.Close(); err != nil {
			r.t.Error(err)
		}
	}
}

func allowAll(r *rig) { r.mode = session.All }

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
	t.Parallel()
	for _, event := range []string{"turn.started", "item", "reply.ended", "tool.started", "tool.ended", "turn.ended"} {
		t.Run(event, func(t *testing.T) {
			inBubble(t, appends, allowAll, func(t *testing.T, r *rig, id session.ID) {
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
					r.do(id, session.AnswerApproval{Answer: session.Answer{CallID: ap.CallID}})
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
	t.Parallel()
	inBubble(t, three, allowAll, func(t *testing.T, r *rig, id session.ID) {
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
	t.Parallel()
	inBubble(t, three, allowAll, func(t *testing.T, r *rig, id session.ID) {
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
	t.Parallel()
	inBubble(t, "[[reply]]\ntext = \"Done.\"", allowAll, func(t *testing.T, r *rig, id session.ID) {
		leaveEffect(t, r, id, session.Effect{CallID: "c1", Tool: "shell", Class: session.Run, Title: "touch made"},
			`{"command":"touch made"}`)
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
	t.Parallel()
	inBubble(t, shell, func(r *rig) { r.nonInteractive = true }, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		s := r.wait(id)
		r.stop()
		r.nonInteractive = false
		r.start()
		if _, err := r.Open(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		r.do(id, session.AnswerApproval{Answer: session.Answer{CallID: s.PendingApprovals[0].CallID, Allow: true}})
		if s := r.wait(id); s.Status != session.Idle || !r.exists("made") {
			t.Errorf("Status = %s, made %v", s.Status, r.exists("made"))
		}
		if err := r.Do(
			t.Context(),
			id,
			session.AnswerApproval{Answer: session.Answer{CallID: s.PendingApprovals[0].CallID, Allow: true}},
		); err == nil {
			t.Error("a second answer was accepted")
		}
	})
}

func TestAQuestionFoundByABelayWithoutAPersonIsLeftForOne(t *testing.T) {
	t.Parallel()
	inBubble(t, shell, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.asks(id)
		r.stop()
		r.nonInteractive = true
		r.start()
		if s, err := r.Open(t.Context(), id, false); err != nil || s.Status != session.NeedsPerson ||
			len(s.PendingApprovals) != 1 {
			t.Fatalf("Open = %s, %v", s.Status, err)
		}
		r.do(id, session.ChooseMode{Mode: session.All})
		r.do(id, session.Resume{})
		if s := r.wait(id); s.Status != session.Idle || !r.exists("made") {
			t.Errorf("Status = %s, made %v", s.Status, r.exists("made"))
		}
	})
}

func TestAChangeThatWaitsForApprovalCanBeMadeAfterARestart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		then func(file string) error
		want string
	}{
		{"as it was asked", func(string) error { return nil }, "new"},
		{"unless somebody changed the file", func(file string) error {
			return errors.Join(os.WriteFile(file, []byte("theirs"), 0o600), os.Chtimes(file, time.Now().Add(time.Hour),
				time.Now().Add(time.Hour)))
		}, "theirs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, `
[[reply]]
[[reply.calls]]
name = "read"
arguments = { path = "f" }
[[reply]]
[[reply.calls]]
name = "write"
arguments = { path = "f", content = "new" }
[[reply]]
text = "Done."
`, func(r *rig) { r.mode = session.Ask }, func(t *testing.T, r *rig, id session.ID) {
				file := filepath.Join(r.project, "f")
				writeFile(r.project, "f", "old")
				if err := os.Chtimes(file, time.Now().Add(-time.Hour), time.Now().Add(-time.Hour)); err != nil {
					t.Fatal(err)
				}
				r.send(id, "go")
				r.asks(id)
				r.stop()
				if err := tt.then(file); err != nil {
					t.Fatal(err)
				}
				r.start()
				if _, err := r.Open(t.Context(), id, false); err != nil {
					t.Fatal(err)
				}
				if tt.want == "new" {
					r.do(id, session.AnswerApproval{Answer: session.Answer{CallID: r.asks(id).CallID, Allow: true}})
				}
				r.wait(id)
				if b, _ := os.ReadFile(file); string(b) != tt.want {
					t.Errorf("the file holds %q, want %q\n%s", b, tt.want, r.log(id))
				}
			})
		})
	}
}

func TestEditedArgumentsMeetTheRules(t *testing.T) {
	t.Parallel()
	inBubble(t, shell, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.do(id, session.AnswerApproval{
			Answer: session.Answer{
				CallID: r.asks(id).CallID,
				Allow:  true,
				Always: true,
				Args:   `{"command":"rm -rf ~ --no-preserve-root"}`,
			},
		})
		r.wait(id)
		if got := r.log(id); !strings.Contains(got, "ran:shell:denied") || strings.Contains(got, "run:shell") {
			t.Errorf("log is %s", got)
		}
		if rules, err := r.store.PermissionGrants(t.Context(), r.project); len(rules) != 0 || err != nil {
			t.Errorf("granted %q, %v", rules, err)
		}
	})
}

func TestAlwaysMeansWhatRunsNotWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	inBubble(t, shell, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.do(id, session.AnswerApproval{
			Answer: session.Answer{CallID: r.asks(id).CallID, Allow: true, Always: true, Args: `{"command":"mkdir other"}`},
		})
		r.wait(id)
		if rules, err := r.store.PermissionGrants(t.Context(), r.project); strings.Join(rules, " ") != "prefix:mkdir" ||
			err != nil {
			t.Errorf("granted %q, %v", rules, err)
		}
	})
}

func TestATierKeyAfterAFinishedCallRunsItOnceAndTellsTheModel(t *testing.T) {
	t.Parallel()
	inBubble(t, `
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
`, allowAll, func(t *testing.T, r *rig, id session.ID) {
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
	t.Parallel()
	inBubble(t, slow, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(5 * time.Second)
		r.do(id, session.Park{})
		if s := r.wait(id); s.Status != session.Parked || !s.RetryAt.IsZero() || s.ParkCount != 0 {
			t.Fatalf("Status = %s until %v, rung %d", s.Status, s.RetryAt, s.ParkCount)
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
	t.Parallel()
	inBubble(t, fmt.Sprintf(full, "60s"), nil, func(t *testing.T, r *rig, id session.ID) {
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

func TestTheLoopGuardKnowsAChangeFromALoop(t *testing.T) {
	t.Parallel()
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
		{"so does a call that is refused", "[[reply]]\ntimes = -1\n[[reply.calls]]\nname = \"nonsense\"\narguments = {}\n" +
			"", session.NeedsPerson},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.script, allowAll, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				if s := r.wait(id); s.Status != tt.want {
					t.Errorf("Status = %s, want %s\n%s", s.Status, tt.want, r.log(id))
				}
			})
		})
	}
}

func TestQueueCommandsInEveryStatus(t *testing.T) {
	t.Parallel()
	fails := "[[reply]]\ntext = \"some words\"\nspeed = { chunk = 1, delay = \"1s\" }\n" +
		"fault = { how = \"failed\", at = \"text\", after = 5, code = \"invalid_prompt\", message = \"no\" }\n[[reply]]\n" +
		"times = -1\ntext = \"Done.\"\n"
	reach := map[session.Status]struct {
		script string
		do     func(*rig, session.ID)
	}{
		session.Failed: {fails, func(r *rig, id session.ID) { r.wait(id) }},
		session.Parked: {fmt.Sprintf(full, "10s"), func(r *rig, id session.ID) { r.wait(id) }},
		session.Stopped: {
			slow,
			func(r *rig, id session.ID) { time.Sleep(3 * time.Second); r.do(id, session.Stop{}); r.wait(id) },
		},
	}
	for status, to := range reach {
		for _, tt := range []struct {
			name string
			c    session.Command
			want string // how the log goes on
		}{
			{"resume does the turn, then the queue", session.Resume{},
				"resume message:%s end:done start:held message:Done. end:done"},
			{"drop sends the queue", session.Drop{}, "start:held message:%s end:done"},
		} {
			t.Run(string(status)+": "+tt.name, func(t *testing.T) {
				inBubble(t, to.script, nil, func(t *testing.T, r *rig, id session.ID) {
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
					said := map[session.Status]string{session.Parked: "Here.", session.Stopped: "Short.",
						session.Failed: "Done."}[status]
					want := strings.ReplaceAll(fmt.Sprintf(tt.want, said), "Done.",
						map[session.Status]string{session.Parked: "Here.", session.Failed: "Done."}[status])
					if status != session.Stopped && !strings.HasSuffix(got, want) {
						t.Errorf("log is\n%s, want at its end\n%s", got, want)
					}
				})
			})
		}
	}
}

func TestWhatIsKnownOfACommandThatWasCutOffIsShown(t *testing.T) {
	t.Parallel()
	const script = "[[reply]]\n[[reply.calls]]\nname = \"shell\"\n" +
		"arguments = { command = \"echo halfway; echo x >> ran; sleep 3600\" }\n[[reply]]\ntimes = -1\ntext = \"Fine.\"\n"
	for name, tt := range map[string]struct {
		answer  session.Answer
		want    string
		unknown bool
	}{
		"it happened": {session.Answer{Outcome: true}, "The user says that this was carried out before belay ended.\n" +
			"It had said until then:\nhalfway", false},
		"tell the model": {session.Answer{}, "outcome unknown: belay ended while this ran, and it was not run again. " +
			"Verify what it did before you go on.\nIt had said until then:\nhalfway", true},
	} {
		t.Run(name, func(t *testing.T) {
			// A real command and a real clock: what it says must be on the disk.
			r := newRig(t, script)
			r.mode = session.All
			r.start()
			s, err := r.Start(t.Context(), r.project)
			if err != nil {
				t.Fatal(err)
			}
			r.send(s.ID, "go")
			for {
				d, found, err := r.store.Draft(t.Context(), s.ID)
				if err != nil {
					t.Fatal(err)
				}
				if found && d.Output == "halfway\n" && d.PID > 1 {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			// As if killed: the log as it is now, in another belay.
			records, err := r.store.Records(t.Context(), s.ID, 0, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			draft, _, _ := r.store.Draft(t.Context(), s.ID)
			r.stop()
			again := newRig(t, "[[reply]]\ntimes = -1\ntext = \"Fine.\"\n")
			again.project, again.mode = r.project, session.All
			again.start()
			defer again.stop()
			s2, err := again.store.Create(t.Context(),
				session.Created{Project: r.project, Tier: models.Heavy, Mode: session.All})
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range records[1:] {
				if _, _, err := again.store.Append(t.Context(), s2.ID, rec.Turn, rec.Event); err != nil {
					t.Fatal(err)
				}
			}
			if err := again.store.SaveDraft(t.Context(), s2.ID, draft); err != nil {
				t.Fatal(err)
			}
			if _, err := again.Open(t.Context(), s2.ID, false); err != nil {
				t.Fatal(err)
			}
			again.do(s2.ID, session.Resume{})
			var asked session.Approval
			for asked.CallID == "" {
				if now, _ := again.Session(s2.ID); len(now.PendingApprovals) > 0 {
					asked = now.PendingApprovals[0]
				}
				time.Sleep(time.Millisecond)
			}
			if !asked.UnknownOutcome || asked.Output != "halfway\n" ||
				!strings.Contains(asked.Reason, "may have been carried out") {
				t.Errorf("asked %+v", asked)
			}
			tt.answer.CallID = asked.CallID
			again.do(s2.ID, session.AnswerApproval{Answer: tt.answer})
			again.wait(s2.ID)
			ended, err := again.store.EventsOfType(t.Context(), s2.ID, "tool.ended")
			if err != nil || len(ended) != 1 {
				t.Fatalf("%d results, %v", len(ended), err)
			}
			if e := ended[0].Event.(session.ToolEnded); !strings.Contains(e.Output, tt.want) || e.Unknown != tt.unknown {
				t.Errorf("the model was told %q", e.Output)
			}
			if b, _ := os.ReadFile(filepath.Join(r.project, "ran")); string(b) != "x\n" {
				t.Errorf("the command ran %q", b)
			}
		})
	}
}

// A stopped turn records the end of each call that has begun: they must be few.
func TestOfManyCallsFewAreBegunAtOnce(t *testing.T) {
	t.Parallel()
	script := "[[reply]]\n"
	for n := range 100 {
		script += fmt.Sprintf("[[reply.calls]]\nname = \"read\"\narguments = { path = \"file%d\" }\n", n)
	}
	script += "[[reply]]\ntimes = -1\ntext = \"Done.\"\n"
	inBubble(t, script, allowAll, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.wait(id)
		open, most, ended := 0, 0, 0
		for _, record := range r.published() {
			switch record.Event.(type) {
			case session.ToolStarted:
				open++
			case session.ToolEnded:
				open--
				ended++
			}
			most = max(most, open)
		}
		if ended != 100 || most > 40 || most < 8 {
			t.Errorf("%d calls ended, %d were open at once; want 100, and few at once", ended, most)
		}
	})
}

func TestWhatAnotherBelayWasAllowedHoldsAtOnce(t *testing.T) {
	t.Parallel()
	const script = `
[[reply]]
[[reply.calls]]
name = "shell"
arguments = { command = "touch made" }
[[reply.calls]]
name = "shell"
arguments = { command = "mkdir other" }
[[reply]]
times = -1
text = "Done."
`
	inBubble(t, script, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		asked := r.asks(id)
		other, err := store.Open(t.Context(), r.data, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(other.GrantPermission(t.Context(), r.project, "prefix:mkdir"), other.Close()); err != nil {
			t.Fatal(err)
		}
		r.do(id, session.AnswerApproval{Answer: session.Answer{CallID: asked.CallID, Allow: true}})
		if s := r.wait(id); s.Status != session.Idle || !r.exists("other") {
			t.Errorf("Status = %s, want the second call run unasked\n%s", s.Status, r.log(id))
		}
	})
}
