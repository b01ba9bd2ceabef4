package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/capacity"
	"belay/ui/locale"
	"belay/ui/modellist"
)

// state is something that the screen can show: what has happened when it opens, and
// what a person and the engine do then.
type state struct {
	name  string
	begin []session.Event                 // of the session that is opened; nil: a new one
	world func(w *fakeEngine, o *Options) // what else is there
	then  []any                           // keys (string), events of the session, or func(*fakeEngine)
	sizes []struct{ w, h int }            // nil: all
}

// view is a size of the terminal and a language.
type view struct {
	w, h     int
	language locale.Language
}

func (v view) String() string { return fmt.Sprintf("%d×%d %s", v.w, v.h, v.language) }

// views are those that a state is looked at in.
func (st state) views() []view {
	var list []view
	if st.sizes != nil {
		for _, size := range st.sizes {
			list = append(list, view{size.w, size.h, locale.English}, view{size.w, size.h, locale.Chinese})
		}
		return list
	}
	for _, size := range sizes {
		list = append(list, view{size.w, size.h, locale.English})
	}
	return append(list, view{80, 24, locale.Chinese}, view{120, 36, locale.Chinese})
}

// show brings the real screen into the state and gives what is on it.
func (st state) show(t *testing.T, v view) string {
	locale.Use(v.language)
	t.Cleanup(func() { locale.Use(locale.English) })
	return st.start(t, v.w, v.h).seen()
}

// start brings a screen into the state. It must be called in a bubble.
func (st state) start(t *testing.T, w, h int) *screen {
	t.Helper()
	world := newFakeEngine()
	world.reply = obeyQuickly
	o := world.options()
	if st.begin != nil {
		world.add("s1", "", st.begin...)
		o.Open = "s1"
	}
	if st.world != nil {
		st.world(world, &o)
	}
	s := startScreen(t, w, h, o)
	s.rest()
	for _, do := range st.then {
		switch do := do.(type) {
		case string:
			s.press(do)
		case session.Event:
			world.emit("s1", do)
		case []session.Event:
			world.emit("s1", do...)
		case func(*fakeEngine):
			do(world)
		}
		s.rest()
	}
	return s
}

// inBubble runs a test in a bubble, where time passes only while nothing is at work.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(100 * 365 * 24 * time.Hour)      // the highlighter's clock may have begun in real time, which is later
		t.Cleanup(func() { time.Sleep(time.Hour) }) // no timer outlives the bubble
		test(t)
	})
}

// rest waits until the program has nothing to do: in a bubble, time passes only then.
func (s *screen) rest() { time.Sleep(100 * time.Millisecond) }

// TestEveryState compares what the screen shows in each state, size and language with
// its golden.
func TestEveryState(t *testing.T) {
	for _, st := range states() {
		t.Run(st.name, func(t *testing.T) {
			path := filepath.Join("..", "testdata", "screens", st.name+".golden")
			kept, err := os.ReadFile(path)
			if err != nil && !*update {
				t.Fatalf("%v: make it with go test ./ui -update", err)
			}
			want := sections(string(kept))
			var all strings.Builder
			views := st.views()
			if testing.Short() { // one look has all there is of goroutines
				views = views[:1]
			}
			for _, v := range views {
				t.Run(v.String(), func(t *testing.T) {
					inBubble(t, func(t *testing.T) {
						got := st.show(t, v)
						fmt.Fprintf(&all, "%s%s\n%s", sectionMark, v, got)
						if got != want[v.String()] && !*update {
							t.Errorf("the screen differs from %s; if it is right: go test ./ui -update\n%s", path,
								differing(got, want[v.String()]))
						}
					})
				})
			}
			if *update && !t.Failed() {
				if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// sectionMark begins the heading of each screen in a golden.
const sectionMark = "== "

// sections gives the screens of a golden by their headings.
func sections(golden string) map[string]string {
	parts := map[string]string{}
	for _, part := range strings.Split("\n"+strings.TrimSuffix(golden, "\n"), "\n"+sectionMark)[1:] {
		name, screen, _ := strings.Cut(part, "\n")
		parts[name] = screen + "\n"
	}
	return parts
}

// differing gives the rows in which two screens differ.
func differing(got, want string) string {
	rows, old := strings.Split(got, "\n"), strings.Split(want, "\n")
	var b strings.Builder
	for i := range max(len(rows), len(old)) {
		var row, was string
		if i < len(rows) {
			row = rows[i]
		}
		if i < len(old) {
			was = old[i]
		}
		if row != was {
			fmt.Fprintf(&b, "row %d\n got %s\nwant %s\n", i+1, row, was)
		}
	}
	return b.String()
}

func done(events ...session.Event) []session.Event {
	return append(slices.Clip(events), session.TurnEnded{Outcome: session.OutcomeDone})
}

func doneTurn() []session.Event { return done(usualTurn()...) }

func answering(events ...session.Event) []session.Event {
	return append([]session.Event{session.AttemptStarted{Number: 1, Of: 4, Target: sol}, session.ReplyOpened{Target: sol}},
		events...)
}

func running(tool, title, output string) []session.Event {
	return []session.Event{
		calls("c1", tool, "{}"), session.ToolStarted{Effect: session.Effect{CallID: "c1", Tool: tool, Title: title}},
		session.ToolOutput{CallID: "c1", Text: output},
	}
}

func asking(a session.Approval) []session.Event {
	a.CallID = "c9"
	return []session.Event{turn("release it"), session.ApprovalAsked{Approval: a}}
}

func ended(with session.TurnEnded) []session.Event {
	return []session.Event{turn("move the rules"), said("I begin with the tests."), with}
}

// waitingForRoom is a wait that the header knows of.
func waitingForRoom(w *fakeEngine) {
	w.mu.Lock()
	w.tiers[0].State, w.tiers[0].Until = models.Trying, noon.Add(8*time.Second)
	w.mu.Unlock()
	emitWait(w)
}

func withSetup(setup Setup) func(*fakeEngine, *Options) {
	return func(_ *fakeEngine, o *Options) {
		o.Connect = func(context.Context) (Engine, Library, *Setup, error) { return nil, nil, &setup, nil }
	}
}

func noKey() Setup {
	return Setup{
		Key: true, KeyFor: "OpenAI", KeyEnv: "OPENAI_API_KEY",
		CheckKey: func(context.Context, string) error {
			return errors.New("openai refuses this key: Incorrect API key provided")
		},
		SaveKey: func(context.Context, string) (string, error) { return "the keyring", nil },
		Use:     func(context.Context, Local, map[models.Tier]string) error { return nil },
		Local: func(context.Context) ([]Local, error) {
			return []Local{{"ollama", "http://127.0.0.1:11434/v1", []string{"qwen3-coder", "gemma3"}}}, nil
		},
		Rehearse: func(context.Context) (string, error) { return "", nil },
	}
}

func states() []state {
	return slices.Concat(turnStates(), questionStates(), outcomeStates(), dialogStates(), panelStates(), startStates())
}

// turnStates are those of a turn that is under way.
func turnStates() []state {
	queue := session.PromptQueued{Prompt: session.Prompt{ID: "q", Text: "then the docs"}}
	return []state{
		{name: "streaming", begin: []session.Event{turn("go on")}, then: []any{answering(
			session.ReasoningDelta{Text: "**Reading**\nThe rule is in two places."},
			session.TextDelta{Text: "It is in two places.\n\n```go\nfunc PriceOf(o Or"})}},
		{name: "thinking", begin: []session.Event{turn("go on")}, then: []any{answering(
			session.ReasoningDelta{Text: "**Reading the rules**\nThe rule is in two places, and 端数 is rounded twice."}),
			func(w *fakeEngine) { w.advance(3 * time.Second) }, session.ReasoningDelta{Text: " So"}}},
		{name: "calling", begin: []session.Event{turn("go on")}, then: []any{
			running("shell", "go test ./...", "ok   shop/orders   0.2s\nok   shop/価格   0.1s\n")}},
		{name: "queued", begin: []session.Event{turn("go on")}, then: []any{running("shell", "make", ""), queue}},
		{name: "steered", begin: []session.Event{turn("go on")}, then: []any{running("shell", "make", ""), queue, "enter"}},
		{name: "waiting", begin: []session.Event{turn("go on")}, then: []any{waitingForRoom}},
		{name: "waiting-focused", begin: []session.Event{turn("go on")}, then: []any{waitingForRoom, "tab"}},
		{name: "details", begin: []session.Event{turn("go on")}, then: []any{waitingForRoom, "F10"}},
		{name: "switched", begin: []session.Event{turn("go on")}, then: []any{
			session.AttemptFailed{Number: 1, Of: 4, Target: sol, Fault: capacityFault()},
			session.AttemptFailed{Number: 2, Of: 4, Target: sol, Fault: capacityFault()},
			session.Switched{From: sol, To: terra, FromTier: models.Heavy, ToTier: models.Medium, Fault: capacityFault(),
				FailbackDelay: 5 * time.Minute},
			func(w *fakeEngine) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.tiers[0].State, w.tiers[0].Fault = models.Failing, capacityFault()
				w.tiers[0].Until, w.tiers[0].StandIn = noon.Add(252*time.Second), terra
				w.tiers[1].Answers = true
			},
			session.TiersChanged{}, session.ReplyOpened{Target: terra}, session.TextDelta{Text: "The rules move."}}},
		{name: "todos", begin: []session.Event{turn("refactor")}, then: []any{todosOf(2, 7)}},
	}
}

// questionStates are those in which a call waits for a person.
func questionStates() []state {
	release := session.Approval{Tool: "shell", Class: session.Run, Title: "make release", Preview: "make release",
		Args: `{"command":"make release"}`, Reason: "it builds or runs what the project says",
		Always: "commands that begin with `make`"}
	red := session.Approval{Tool: "shell", Class: session.Run, Title: "git push --force origin main", Danger: true,
		Preview: "git push --force origin main", Args: `{"command":"git push --force origin main"}`, Reason: "it is forced"}
	edit := session.Approval{Tool: "edit", Class: session.Write, Title: "orders/service.go", Preview: orderDiff, Args: "{}",
		Reason: "it changes a file", Always: "changing files of this project"}
	unknown := release
	unknown.UnknownOutcome, unknown.Output = true, "building\nuploading"
	later := func(w *fakeEngine) { w.advance(time.Second) }
	return []state{
		{name: "approval", begin: asking(edit)},
		{name: "approval-short", begin: asking(release)},
		{name: "approval-always", begin: asking(release), then: []any{later, "a"}},
		{name: "approval-refused", begin: asking(release), then: []any{later, "n", "not today"}},
		{name: "approval-danger", begin: asking(red)},
		{name: "approval-unknown", begin: asking(unknown)},
		{name: "approval-long", begin: []session.Event{turn("write it"), longChange()}},
		{name: "approval-unread", begin: []session.Event{turn("write it"), longChange()}, then: []any{later, "y"}},
		{name: "approval-draft", begin: []session.Event{turn("release it")}, then: []any{
			"and then", session.ApprovalAsked{Approval: session.Approval{CallID: "c9", Tool: release.Tool,
				Title: release.Title, Preview: release.Preview, Args: release.Args, Reason: release.Reason}}}},
		{name: "approval-page", begin: []session.Event{turn("write it"), longChange()}, then: []any{later, "f"}},
	}
}

// outcomeStates are those of a session whose turn is over, or waits for a later try.
func outcomeStates() []state {
	parked := session.TurnEnded{Outcome: session.OutcomeParked, Fault: capacityFault(), RetryAt: noon.Add(2 * time.Minute),
		ParkCount: 2}
	auth := &models.Fault{Kind: models.KindAuth, Status: 401, Code: "invalid_api_key", Target: sol,
		Message: "Incorrect API key provided", Phase: models.BeforeHeaders}
	return []state{
		{name: "main", begin: doneTurn()},
		{name: "opened", begin: doneTurn(), then: []any{"ctrl+o", "up", "enter"}},
		{name: "parked", begin: []session.Event{turn("go on"),
			session.PromptQueued{Prompt: session.Prompt{ID: "q", Text: "then the docs"}}, parked}},
		{name: "failed", begin: ended(session.TurnEnded{Outcome: session.OutcomeFailed, Fault: auth})},
		{name: "failed-details", begin: ended(session.TurnEnded{Outcome: session.OutcomeFailed, Fault: auth}),
			then: []any{"F10"}},
		{name: "needs-person", begin: ended(session.TurnEnded{Outcome: session.OutcomeNeedsPerson,
			Reason: "the model has made the same call 8 times: shell"})},
		{name: "stopped", begin: ended(session.TurnEnded{Outcome: session.OutcomeStopped})},
		{name: "interrupted", begin: ended(session.TurnEnded{Outcome: session.OutcomeStopped, Interrupted: true})},
		{name: "large", begin: doneTurn(), world: func(w *fakeEngine, o *Options) {
			*o = withUsage(w)
			o.Warn = func() int64 { return 40_000 }
		}, then: []any{"go on", "enter"}},
	}
}

// dialogStates are those in which something lies over the transcript.
func dialogStates() []state {
	rewinding := func(w *fakeEngine, o *Options) { addCheckpoints(o) }
	begun := []session.Event{planTurn("refactor"), session.PlanSet{Plan: planUnderWay()},
		session.TurnEnded{Outcome: session.OutcomeNeedsPerson, Reason: "look"}}
	choosing := func(_ *fakeEngine, o *Options) {
		o.Models.List = func(context.Context, session.ID) (modellist.View, error) { return modelView(), nil }
		o.Models.Keep = func(context.Context, models.Tier, models.Target) (string, error) { return "", nil }
		o.Models.SaveKey = func(context.Context, string, string) (string, error) { return "", nil }
		o.Models.AddEndpoint = func(context.Context, string, string) (string, error) { return "", nil }
	}
	return []state{
		{name: "commands", then: []any{"/mo"}},
		{name: "palette", begin: doneTurn(), then: []any{"ctrl+p"}},
		{name: "prompts", begin: doneTurn(), then: []any{"ctrl+r"}},
		{name: "help", then: []any{"?"}},
		{name: "find", begin: doneTurn(), then: []any{"ctrl+f", "orders"}},
		{name: "find-nothing", begin: doneTurn(), then: []any{"ctrl+f", "nowhere"}},
		{name: "changes", world: func(_ *fakeEngine, o *Options) {
			o.Changes = func(context.Context) (string, error) { return goPatch, nil }
		}, then: []any{"/diff", "enter"}},
		{name: "sessions", world: manySessions, then: []any{"ctrl+s"}},
		{name: "sessions-none", world: manySessions, then: []any{"ctrl+s", "zzz"}},
		{name: "models", begin: done(turn("x")), world: choosing, then: []any{"/model", "enter"}},
		{name: "providers", begin: done(turn("x")), world: choosing, then: []any{"/model", "enter", "\x01"}},
		{name: "endpoint", begin: done(turn("x")), world: choosing, then: []any{
			"/model", "enter", "\x01", "enter", "http://127.0.0.1:9/v1/", "enter"}},
		{name: "checkpoints", begin: begun, world: rewinding, then: []any{"/rewind", "enter"}},
		{name: "rewind", begin: begun, world: rewinding, then: []any{"/rewind", "enter", "down", "enter"}},
		{name: "themes", begin: doneTurn(), then: []any{"/theme", "enter"}},
		{name: "elsewhere", world: func(w *fakeEngine, o *Options) {
			w.add("s1", "the job", turn("x"), said("words"))
			w.openErr = fmt.Errorf("open: %w", ownedError{errors.New("it has a writer")})
			o.Open = "s1"
		}},
		{name: "leaving", begin: []session.Event{turn("the long job")}, then: []any{"ctrl+c", "ctrl+c"}},
	}
}

func manySessions(w *fakeEngine, _ *Options) {
	w.add("a1", "port the importer", turn("x"), said("May I run make migrate?"), approvalAsked("make migrate"))
	w.add("b2", "日本語のREADMEを書く", done(turn("x"), said("できました。"))...)
	w.add("c3", "nightly job", turn("x"), session.TurnEnded{Outcome: session.OutcomeParked, Fault: capacityFault(),
		RetryAt: noon.Add(2 * time.Minute)})
	w.add("d4", "login test", turn("x"), session.TurnEnded{Outcome: session.OutcomeFailed,
		Fault: &models.Fault{Kind: models.KindAuth}})
}

// panelStates are those in which a panel stands beside the transcript, or over it.
func panelStates() []state {
	weighed := func(w *fakeEngine, o *Options) { *o = withUsage(w) }
	plan := planUnderWay()
	plan.Steps[2].State, plan.Steps[2].RetryAt = session.StepParked, noon.Add(90*time.Second)
	plan.Steps[2].Fault = capacityFault()
	plan.Steps[3].State, plan.Steps[3].Reason = session.StepFailed, "its check failed 3 times: go test ./orders/...: exit 1"
	plan.Steps[4].State, plan.Steps[4].Reason = session.StepPerson, "the model has made the same call 8 times: shell"
	underWay := []session.Event{planTurn("refactor the orders module and cover it with tests"),
		session.Checkpointed{Tree: "t0", Title: "refactor", Duration: 1}, session.PlanSet{Plan: planUnderWay()},
		session.PlanStarted{Through: true}}
	addStep := func(w *fakeEngine, _ *Options) { addStepSession(w, "st3", 3, turn("core logic")) }
	waits := func(w *fakeEngine) {
		w.emit("st3", session.AttemptFailed{Number: 1, Of: 4, Target: sol, Fault: capacityFault(), Next: models.NextRetry,
			Delay: 12 * time.Second}, session.Waiting{Number: 2, Of: 4, Until: noon.Add(12 * time.Second), Target: sol,
			Fault: capacityFault()})
	}
	return []state{
		{name: "capacity", begin: doneTurn(), world: func(_ *fakeEngine, o *Options) {
			o.Capacity = func(context.Context, session.ID) (capacity.View, error) { return capacityView(), nil }
		}, then: []any{"F5"}},
		{name: "context", begin: prunedSession(), world: weighed, then: []any{"F6"}},
		{name: "context-measured", begin: doneTurn(), world: weighed, then: []any{"F6"}, sizes: sizes[1:2]},
		{name: "steps", begin: underWay, world: addStep, then: []any{waits, "F7"}},
		{name: "steps-proposed", begin: []session.Event{planTurn("refactor the orders module and cover it with tests")},
			then: []any{[]session.Event{session.PlanSet{Plan: proposal()}, session.TurnEnded{
				Outcome: session.OutcomeNeedsPerson, Reason: "the steps are proposed: look at them"}}}, sizes: sizes[1:2]},
		{name: "steps-parked", begin: []session.Event{planTurn("refactor"), session.PlanSet{Plan: plan}, session.TurnEnded{
			Outcome: session.OutcomeParked, Fault: capacityFault(), RetryAt: noon.Add(90 * time.Second), ParkCount: 1}},
			then: []any{"F7"}, sizes: sizes[1:2]},
	}
}

// startStates are those before there is a session.
func startStates() []state {
	trust, found := noKey(), noKey()
	trust.Trust = "/home/me/shop"
	trust.Answer = func(context.Context, bool) error { return nil }
	found.Found = []FoundKey{{"openrouter", "OPENROUTER_API_KEY", []string{"large", "small"}},
		{"groq", "GROQ_API_KEY", []string{"one", "one"}}}
	found.UseKey = func(context.Context, string) error { return nil }
	return []state{
		{name: "welcome"},
		{name: "welcome-rehearsed", world: func(_ *fakeEngine, o *Options) {
			o.Banner = "rehearsal: replies are scripted"
		}},
		{name: "offered", world: func(w *fakeEngine, _ *Options) {
			w.add("s1", "", turn("move the pricing rules"), session.TurnEnded{Outcome: session.OutcomeParked,
				Fault: capacityFault(), RetryAt: noon.Add(time.Hour), ParkCount: 2})
		}},
		{name: "trust", world: withSetup(trust)},
		{name: "start", world: withSetup(noKey())},
		{name: "start-found", world: withSetup(found)},
		{name: "start-key", world: withSetup(noKey()), then: []any{"1", "sk-secret"}},
		{name: "start-refused", world: withSetup(noKey()), then: []any{"1", "sk-secret", "enter"}},
		{name: "start-local", world: withSetup(noKey()), then: []any{"2"}},
		{name: "start-tiers", world: withSetup(noKey()), then: []any{"2", "enter"}},
		{name: "broken", world: func(_ *fakeEngine, o *Options) {
			o.Connect = func(context.Context) (Engine, Library, *Setup, error) {
				return nil, nil, nil, fmt.Errorf("open session: %w", hintedError{"disk full"})
			}
		}},
		{name: "small", sizes: []struct{ w, h int }{{59, 16}, {60, 15}, {24, 5}}},
	}
}
