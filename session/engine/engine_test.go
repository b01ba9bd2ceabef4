package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/context/systemprompt"
	"belay/context/tokens"
	"belay/context/window"
	"belay/models"
	"belay/models/capacity"
	"belay/models/openai"
	"belay/models/rehearsal"
	"belay/models/route"
	"belay/session"
	"belay/session/request"
	"belay/session/store"
	"belay/session/tools"
)

// rig is a whole belay without a screen, on a scripted model in memory.
type rig struct {
	*Engine
	t              *testing.T
	server         *rehearsal.Server
	data           string
	project        string
	api            models.API
	nonInteractive bool
	mode           session.Mode
	window         int64
	trigger        float64
	tiers          map[models.Tier][]models.Target
	route          func(*route.Options)
	engine         func(*Options)

	mu       sync.Mutex
	heard    []session.Record
	attempts []models.Attempt
	quit     context.CancelFunc
	done     chan struct{}
	store    *store.Store
}

func newRig(t *testing.T, script string) *rig {
	t.Helper()
	parsed, err := rehearsal.Parse("test.toml", []byte("models = [\"sol\", \"terra\", \"luna\"]\n"+script))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{
		t:       t,
		server:  rehearsal.New(parsed, rehearsal.Options{}),
		data:    t.TempDir(),
		project: t.TempDir(),
		api:     models.Responses,
		mode:    session.Edits,
		window:  100_000,
		tiers:   map[models.Tier][]models.Target{models.Heavy: {sol}, models.Medium: {terra}, models.Light: {luna}},
	}
}

var (
	sol   = models.Target{Provider: "p", Model: "sol"}
	terra = models.Target{Provider: "p", Model: "terra"}
	luna  = models.Target{Provider: "p", Model: "luna"}
)

// start puts the parts together; after stop it does so again, on the same data.
func (r *rig) start() {
	r.t.Helper()
	st, err := store.Open(r.t.Context(), r.data, store.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	serial := 0
	newID := func() string {
		r.mu.Lock()
		defer r.mu.Unlock()
		serial++
		return fmt.Sprintf("%s-%d", time.Now().Format("150405"), serial)
	}
	model := func(t models.Target) models.Model {
		return models.Model{
			Target: t, Short: t.Model, Window: r.window, Tools: true, Images: true, Reasoning: true, Dialect: "openai",
		}
	}
	provider := func(name string) models.Provider {
		return models.Provider{
			Name:    name,
			BaseURL: "http://" + name + "/v1",
			API:     r.api,
			Key:     "k",
			KeyEnv:  "KEY",
			Local:   name == "local",
		}
	}
	client := openai.New(openai.Options{
		Providers: []models.Provider{provider("p"), provider("q"), provider("local")},
		HTTP:      &http.Client{Transport: r.server},
		Version:   "test",
		Model:     model,
	})
	board := capacity.New(capacity.Options{Shared: st, Tiers: r.tiers, Owner: newID()})
	routing := route.Options{
		Client:      client,
		Breakers:    board,
		RateLimiter: board,
		Tiers:       r.tiers,
		Model:       model,
		Policy:      route.Auto,
		Floor:       models.Light,
		Local:       func(t models.Target) bool { return t.Provider == "local" },
		SwitchAfter: 2,
		Attempts:    4,
		MaxWait:     30 * time.Second,
		Now:         time.Now,
		Random:      func() float64 { return 0.5 },
		Record: func(_ context.Context, a models.Attempt) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.attempts = append(r.attempts, a)
		},
	}
	if r.route != nil {
		r.route(&routing)
	}
	r.store = st
	counter := tokens.New()
	if err := counter.Load(); err != nil {
		r.t.Fatal(err)
	}
	o := Options{
		Options: request.Options{
			Store: st, Router: route.New(routing), Model: model, Calibration: counter, Trigger: r.trigger, NewID: newID,
			Counter: func(models.Model) request.Counter { return counter },
			Window:  func(models.Target) window.Limits { return window.Limits{Reserve: min(16000, r.window/4)} },
			Tools: func(root string) (*tools.Set, error) {
				return tools.New(tools.Options{Root: root, NewID: newID})
			},
			SystemPrompt: func(context.Context, string) systemprompt.Prompt {
				return systemprompt.Prompt{Instructions: "be good"}
			},
		},
		Tier: models.Heavy, Mode: r.mode, Program: "test", NonInteractive: r.nonInteractive,
		ParkSchedule: []time.Duration{30 * time.Second, 2 * time.Minute}, Breakers: board, Now: time.Now,
	}
	if r.engine != nil {
		r.engine(&o)
	}
	r.Engine = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	r.quit, r.done = cancel, make(chan struct{})
	done, eng := r.done, r.Engine
	go func() {
		defer close(done)
		for {
			records, err := eng.Next(ctx)
			if err != nil {
				return
			}
			r.mu.Lock()
			r.heard = append(r.heard, records...)
			r.mu.Unlock()
		}
	}()
}

func (r *rig) stop() {
	r.t.Helper()
	if err := r.Engine.Close(); err != nil {
		r.t.Error(err)
	}
	<-r.done
	r.quit()
	if err := r.store.Close(); err != nil {
		r.t.Error(err)
	}
}

// inBubble runs a test in a bubble of fake time.
func inBubble(t *testing.T, script string, change func(*rig), test func(*testing.T, *rig, session.ID)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script)
		if change != nil {
			change(r)
		}
		r.start()
		defer func() { r.stop() }()
		s, err := r.Start(t.Context(), r.project)
		if err != nil {
			t.Fatal(err)
		}
		test(t, r, s.ID)
	})
}

func (r *rig) do(id session.ID, c session.Command) {
	r.t.Helper()
	if err := r.Do(r.t.Context(), id, c); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) send(id session.ID, text string) {
	r.t.Helper()
	r.do(id, session.Send{Prompt: session.Prompt{ID: text, Text: text}})
}

func (r *rig) wait(id session.ID) session.Session {
	r.t.Helper()
	s, err := r.Wait(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// log is the stored log of a session, a word an event.
func (r *rig) log(id session.ID) string {
	r.t.Helper()
	records, err := r.store.Records(r.t.Context(), id, 0, 1000, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	var words []string
	for _, rec := range records {
		switch e := rec.Event.(type) {
		case session.Created:
		case session.TurnStarted:
			words = append(words, "start:"+e.Prompt.Text)
		case session.TurnResumed:
			words = append(words, "resume")
		case session.ItemAdded:
			words = append(words, string(e.Item.Kind)+":"+e.Item.Text+e.Item.Name)
		case session.ToolStarted:
			words = append(words, "run:"+e.Effect.Tool)
		case session.ToolEnded:
			word := "ran:" + e.Tool
			if e.Error || e.Denied || e.Unknown {
				word += ":" + e.Summary
			}
			words = append(words, word)
		case session.CutOff:
			words = append(words, "cut:"+e.Text+e.Tool)
		case session.AttemptFailed:
			words = append(words, "failed:"+string(e.Fault.Kind))
		case session.Switched:
			words = append(words, "→"+e.To.Model)
		case session.TurnEnded:
			words = append(words, "end:"+string(e.Outcome))
		case session.ReplyEnded, session.SystemPrompt:
		default:
			name, _, _ := session.Encode(e)
			words = append(words, name)
		}
	}
	return strings.Join(words, " ")
}

// published is all that the engine has published.
func (r *rig) published() []session.Record {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.heard)
}

// requestSummary lists what reached the server: model, and how many user messages.
func (r *rig) requestSummary() string {
	var words []string
	for _, x := range r.server.Log() {
		words = append(words, fmt.Sprintf("%s/%d", x.Model, strings.Count(string(x.Body), `"role":"user"`)))
	}
	return strings.Join(words, " ")
}

const edit = `
[[reply]]
text = "I look first."
[[reply.calls]]
name = "read"
arguments = { path = "a.txt" }
[[reply]]
[[reply.calls]]
name = "edit"
arguments = { path = "a.txt", edits = [{ old = "one", new = "two" }] }
[[reply]]
text = "Done."
`

func TestAPromptBecomesAnEditedFile(t *testing.T) {
	t.Parallel()
	for _, api := range []models.API{models.Responses, models.Chat} {
		t.Run(string(api), func(t *testing.T) {
			inBubble(t, edit, func(r *rig) { r.api = api }, func(t *testing.T, r *rig, id session.ID) {
				file := filepath.Join(r.project, "a.txt")
				if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				r.send(id, "go")
				if s := r.wait(id); s.Status != session.Idle {
					t.Errorf("Status = %s, %v", s.Status, s.Fault)
				}
				if got, _ := os.ReadFile(file); string(got) != "two\n" {
					t.Errorf("the file holds %q, want two", got)
				}
				want := "start:go message:I look first. call:read run:read ran:read call:edit run:edit ran:edit message:Done. " +
					"end:done"
				if got := r.log(id); got != want {
					t.Errorf("log is\n%s, want\n%s", got, want)
				}
				if got, want := r.requestSummary(), "sol/1 sol/1 sol/1"; got != want {
					t.Errorf("asked %s, want %s", got, want)
				}
			})
		})
	}
}

func TestATurnSurvivesCapacityInTheMiddleOfText(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"error", "error-flat", "failed", "cut", "end"} {
		script := fmt.Sprintf(`
[[reply]]
text = "The pricing rules move out."
fault = { how = %q, at = "text", after = 11, code = "server_is_overloaded", message = "full" }
[[reply]]
text = "All of it."
`, how)
		t.Run(how, func(t *testing.T) {
			inBubble(t, script, nil, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				if s := r.wait(id); s.Status != session.Idle {
					t.Errorf("Status = %s, %v", s.Status, s.Fault)
				}
				got := r.log(id)
				if !strings.HasPrefix(got, "start:go cut:The pricing failed:") &&
					!strings.HasPrefix(got, "start:go cut:The pricing rules move out. failed:") ||
					!strings.HasSuffix(got, "message:All of it. end:done") {
					t.Errorf("log is %s", got)
				}
				if got, want := r.requestSummary(), "sol/1 sol/1"; got != want {
					t.Errorf("asked %s, want %s: one user message in each request", got, want)
				}
			})
		})
	}
}

func TestFinishedCallsOfAFailedReplyAreKeptAndRunOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, `
[[reply]]
[[reply.calls]]
name = "write"
arguments = { path = "a.txt", content = "once" }
[[reply.calls]]
name = "write"
arguments = { path = "b.txt", content = "never finished" }
[reply.fault]
how = "error"
at = "item"
after = 1
code = "no_capacity"
[[reply]]
text = "Done."
`, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.wait(id)
		if _, err := os.Stat(filepath.Join(r.project, "b.txt")); err == nil {
			t.Error("a call that was never finished was run")
		}
		want := "start:go call:write failed:capacity run:write ran:write message:Done. end:done"
		if got := r.log(id); got != want {
			t.Errorf("log is\n%s, want\n%s", got, want)
		}
	})
}

const full = `
[[reply]]
for = "%s"
fault = { how = "error", code = "server_is_overloaded", message = "full" }
[[reply]]
times = -1
text = "Here."
`

func TestAParkedTurnGoesOnByItself(t *testing.T) {
	t.Parallel()
	inBubble(t, fmt.Sprintf(full, "60s"), nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		if s := r.wait(id); s.Status != session.Parked || s.ParkCount != 1 || s.RetryAt.IsZero() {
			t.Fatalf("Status = %s, rung %d, %v", s.Status, s.ParkCount, s.Fault)
		}
		r.send(id, "and then") // held until the parked turn is done
		if s := r.wait(id); len(s.Queue) != 1 {
			t.Fatalf("Queue = %v, want one held message", s.Queue)
		}
		time.Sleep(5 * time.Minute)
		if s := r.wait(id); s.Status != session.Idle || s.Turn != 2 || len(s.Queue) != 0 {
			t.Errorf("Status = %s after turn %d, %v", s.Status, s.Turn, s.Fault)
		}
	})
}

func TestAnOutageStopsAfterTheLastRungAndCanBeResumed(t *testing.T) {
	t.Parallel()
	inBubble(t, fmt.Sprintf(full, "60m"), nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(30 * time.Minute)
		s := r.wait(id)
		if s.Status != session.Failed || s.Fault == nil || s.Fault.Kind != models.KindCapacity {
			t.Fatalf("Status = %s, %v", s.Status, s.Fault)
		}
		time.Sleep(40 * time.Minute)
		r.do(id, session.Resume{})
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s, %v", s.Status, s.Fault)
		}
	})
}

const slow = `
[[reply]]
text = "A long story that goes on and on."
speed = { chunk = 2, delay = "1s" }
[[reply]]
text = "Short."
`

func TestATierKeyMovesTheStreamingRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, slow, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(5 * time.Second)
		r.do(id, session.ChooseTier{Tier: models.Light})
		if s := r.wait(id); s.Status != session.Idle || s.Tier != models.Light {
			t.Errorf("Status = %s, tier %s", s.Status, s.Tier)
		}
		if got, want := r.requestSummary(), "sol/1 luna/1"; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		if got := r.log(id); !strings.Contains(got, "→luna message:Short.") || strings.Count(got, "cut:") != 1 {
			t.Errorf("log is %s", got)
		}
	})
}

func TestAStopKeepsWhatWasSaidAndTheNextPromptGoesOn(t *testing.T) {
	t.Parallel()
	inBubble(t, slow, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(5 * time.Second)
		began := time.Now()
		r.do(id, session.Stop{})
		if s := r.wait(id); s.Status != session.Stopped || time.Since(began) > 100*time.Millisecond {
			t.Errorf("Status = %s after %v", s.Status, time.Since(began))
		}
		r.send(id, "again")
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s, %v", s.Status, s.Fault)
		}
	})
}

func TestMessagesQueueBehindATurnAndOneSentThriceGoesOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, slow+"[[reply]]\ntext = \"Third.\"", nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "first")
		time.Sleep(time.Second)
		for range 3 {
			r.send(id, "second")
		}
		r.send(id, "third")
		r.do(id, session.Unqueue{ID: "third"})
		if s := r.wait(id); s.Turn != 2 || s.Status != session.Idle {
			t.Errorf("ended %s after turn %d, want 2 turns", s.Status, s.Turn)
		}
	})
}

const shell = `
[[reply]]
[[reply.calls]]
name = "shell"
arguments = { command = "touch made" }
[[reply]]
text = "Done."
`

func TestACommandAsksFirst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer session.Answer
		want   string // in the log
		made   string
	}{
		{"and runs after a yes", session.Answer{Allow: true}, "run:shell ran:shell message:Done.", "made"},
		{"and not after a no", session.Answer{Message: "not here"}, "approval.answered ran:shell:denied message:Done.", ""},
		{"and runs as it was edited", session.Answer{Allow: true, Args: `{"command":"touch other"}`},
			"run:shell ran:shell message:Done.", "other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, shell, nil, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				synctest.Wait()
				s, _ := r.Session(id)
				for s.Status != session.Asking {
					time.Sleep(time.Millisecond)
					s, _ = r.Session(id)
				}
				tt.answer.CallID = s.PendingApprovals[0].CallID
				r.do(id, session.AnswerApproval{Answer: tt.answer})
				if s := r.wait(id); s.Status != session.Idle {
					t.Errorf("Status = %s, %v", s.Status, s.Fault)
				}
				if got := r.log(id); !strings.Contains(got, tt.want) {
					t.Errorf("log is %s, want %s in it", got, tt.want)
				}
				for _, file := range []string{"made", "other"} {
					if _, err := os.Stat(filepath.Join(r.project, file)); (err == nil) != (file == tt.made) {
						t.Errorf("file %s exists: %v", file, err == nil)
					}
				}
			})
		})
	}
}

func TestAPendingApprovalSurvivesTheEndOfBelay(t *testing.T) {
	t.Parallel()
	inBubble(t, shell, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		for s, _ := r.Session(id); s.Status != session.Asking; s, _ = r.Session(id) {
			time.Sleep(time.Millisecond)
		}
		r.stop()
		r.start()
		if _, err := r.Open(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		s, _ := r.Session(id)
		if s.Status != session.Asking || len(s.PendingApprovals) != 1 {
			t.Fatalf("Status = %s, asked %v", s.Status, s.PendingApprovals)
		}
		r.do(id, session.AnswerApproval{Answer: session.Answer{CallID: s.PendingApprovals[0].CallID, Allow: true}})
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s", s.Status)
		}
		if got, want := len(r.server.Log()), 2; got != want {
			t.Errorf("%d requests, want %d: the question costs the model nothing", got, want)
		}
	})
}

func TestNobodyThereEndsWithAPersonNeeded(t *testing.T) {
	t.Parallel()
	inBubble(t, shell, func(r *rig) { r.nonInteractive = true }, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		if s := r.wait(id); s.Status != session.NeedsPerson || len(s.PendingApprovals) != 1 {
			t.Errorf("Status = %s, asked %v", s.Status, s.PendingApprovals)
		}
	})
}

// leaveEffect leaves a session as a killed belay would: an effect begun, no end.
func leaveEffect(t *testing.T, r *rig, id session.ID, effect session.Effect, args string) {
	t.Helper()
	call := models.Item{Kind: models.Call, CallID: effect.CallID, Name: effect.Tool, Arguments: args}
	if _, _, err := r.store.Append(t.Context(), id, 1, session.TurnStarted{Prompt: session.Prompt{ID: "p", Text: "go"}},
		session.ItemAdded{Item: call}, session.ToolStarted{Effect: effect}); err != nil {
		t.Fatal(err)
	}
	if err := r.store.SaveDraft(t.Context(), id, session.Draft{Turn: 1, Text: "half a"}); err != nil {
		t.Fatal(err)
	}
}

func TestAfterACrashNoEffectIsRepeatedBlindly(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := tools.FileHash(empty)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		content string // of the file at the time of opening
		effect  session.Effect
		args    string
		want    string
		file    string // its content in the end
	}{
		{"a write that was done is not done again", "new", session.Effect{Tool: "write", Class: session.Write},
			`{"path":"f","content":"new"}`, "ran:write cut:half a end:stopped resume message:Done. end:done", "new"},
		{"a write that was not done is done", "", session.Effect{Tool: "write", Class: session.Write},
			`{"path":"f","content":"new"}`, "cut:half a end:stopped resume run:write ran:write message:Done. end:done", "new"},
		{"a file changed by others is left alone", "theirs", session.Effect{Tool: "write", Class: session.Write},
			`{"path":"f","content":"new"}`, "ran:write:outcome unknown cut:half a end:stopped resume message:Done. " +
				"end:done", "theirs"},
		{"a read is run again", "x", session.Effect{Tool: "read", Class: session.Read}, `{"path":"f"}`,
			"cut:half a end:stopped resume run:read ran:read message:Done. end:done", "x"},
		{"a command is left to the model's care", "x", session.Effect{Tool: "shell", Class: session.Run},
			`{"command":"rm f"}`, "cut:half a end:stopped resume ran:shell:outcome unknown message:Done. end:done", "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(
				t,
				"[[reply]]\ntext = \"Done.\"",
				func(r *rig) { r.nonInteractive, r.mode = true, session.All },
				func(t *testing.T, r *rig, id session.ID) {
					file := filepath.Join(r.project, "f")
					e := tt.effect
					e.CallID, e.Path, e.Before = "c1", file, before
					if err := os.WriteFile(file, []byte("new"), 0o600); err != nil {
						t.Fatal(err)
					}
					e.After, _ = tools.FileHash(file)
					if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
						t.Fatal(err)
					}
					leaveEffect(t, r, id, e, tt.args)
					r.stop()
					r.start()
					s, err := r.Open(t.Context(), id, false)
					if err != nil || s.Status != session.Interrupted {
						t.Fatalf("Open = %s, %v", s.Status, err)
					}
					r.do(id, session.Resume{})
					if s := r.wait(id); s.Status != session.Idle {
						t.Errorf("Status = %s, %v", s.Status, s.Fault)
					}
					if got := r.log(id); !strings.HasSuffix(got, tt.want) {
						t.Errorf("log is\n%s, want at its end\n%s", got, tt.want)
					}
					if got, _ := os.ReadFile(file); string(got) != tt.file {
						t.Errorf("the file holds %q, want %q", got, tt.file)
					}
				},
			)
		})
	}
}

func TestASecondBelayIsToldWhoHasTheSession(t *testing.T) {
	t.Parallel()
	inBubble(t, "", nil, func(t *testing.T, r *rig, id session.ID) {
		other, err := store.Open(t.Context(), r.data, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		_, err = other.Acquire(t.Context(), id, "other", false)
		var owned *store.OwnedError
		if !errors.As(err, &owned) {
			t.Fatalf("Acquire = %v, want an OwnedError", err)
		}
		if _, err := other.Acquire(t.Context(), id, "other", true); err != nil {
			t.Fatal(err)
		}
		err = r.Do(t.Context(), id, session.Send{Prompt: session.Prompt{ID: "x", Text: "x"}})
		if !errors.Is(err, store.ErrTakenOver) {
			t.Errorf("Do after a takeover = %v, want ErrTakenOver", err)
		}
	})
}

func TestEveryRequestIsOneTheAPIAccepts(t *testing.T) {
	t.Parallel()
	inBubble(t, edit, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		r.wait(id)
		for _, x := range r.server.Log() {
			if x.Status != http.StatusOK {
				t.Errorf("request was answered with %d: %s", x.Status, x.Outcome)
			}
			if !json.Valid(x.Body) {
				t.Error("the body is not JSON")
			}
		}
	})
}

func TestASessionThatIsNotOpenCanBeFiled(t *testing.T) {
	t.Parallel()
	inBubble(t, "", nil, func(t *testing.T, r *rig, _ session.ID) {
		s, err := r.store.Create(t.Context(), session.Created{Project: r.project})
		if err != nil {
			t.Fatal(err)
		}
		r.do(s.ID, session.Rename{Title: "new"})
		r.do(s.ID, session.SetArchived{Archived: true})
		if got, err := r.store.Load(t.Context(), s.ID); err != nil || got.Title != "new" || !got.Archived {
			t.Errorf("Load = %+v, %v", got, err)
		}
		if err := r.Do(t.Context(), s.ID, session.Stop{}); !errors.Is(err, ErrNotOpen) {
			t.Errorf("Do = %v, want ErrNotOpen", err)
		}
	})
}
