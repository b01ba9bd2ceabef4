// Command belay is a terminal coding agent and session manager that keeps the
// work when the model gives way. This file wires the parts; what they decide
// stands in their packages.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"belay/context/repository"
	"belay/models"
	"belay/models/openai"
	"belay/session"
	"belay/session/steps"
	"belay/session/store"
	"belay/session/tools"
	"belay/ui"
	"belay/ui/capacity"
	"belay/ui/cli"
	"belay/ui/cli/app"
	"belay/ui/cli/build"
	"belay/ui/cli/statistics"
	"belay/ui/clipboard"
	"belay/ui/modellist"
)

func main() { os.Exit(run()) }

func run() int {
	// Libraries, net/http first of all, print a line of their own where they meet
	// something odd, with bytes of the other side in it, across the screen. What
	// matters reaches belay as an error.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // it was deleted: commands that need it say so
	}
	env := app.Env{
		In:      os.Stdin,
		Out:     os.Stdout,
		Err:     os.Stderr,
		Dir:     dir,
		Version: build.Read().Version,
		Now:     time.Now,
		NewID:   newID,
		Width:   cli.Width,
	}
	return cli.Run(ctx, cli.CLI{Env: env, SaveTerminal: cli.SaveTerminal, Screen: openScreen}, os.Args[1:])
}

// newID makes 26 random characters.
func newID() string { return strings.ToLower(rand.Text()) }

// openScreen opens the full screen. Everything slow happens after its first
// frame.
func openScreen(ctx context.Context, commands cli.CLI, options app.Options, with app.Screen) error {
	s := &screen{cli: commands, options: options, alongside: with.Alongside}
	settings := app.ScreenSettings()
	app.UseKeys(settings)
	const keepTitle, restoreTitle = "\x1b[22;0t", "\x1b[23;0t" // XTWINOPS
	fmt.Print(keepTitle)
	var left ui.Talk
	err := ui.Run(ctx, ui.Options{
		Left:    func(of ui.Talk) { left = of },
		Project: options.Project,
		Connect: s.connect,
		Open:    with.Session,
		GoOn:    with.Resume,
		Picker:  with.Picker,
		Prompt:  with.Prompt,
		Split:   with.Plan,
		Banner:  with.Banner,
		Version: commands.Version,
		Theme:   settings.Screen.Theme,
		Colours: settings.Theme.Named(),
		Notices: ui.NoticesOf(settings.Screen.Notify, os.Getenv, settings.Screen.Silent, app.Notify(settings)),
		NoMouse: !settings.Screen.Mouse,
		Address: app.Addresses(settings.Screen.Links, os.Getenv, options.Project),
		Mode:    app.ScreenMode(options, settings),
		Editor:  cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")),
		Now:     commands.Now,
		NewID:   commands.NewID,

		Clipboard: clipboard.System(), CopiedPicture: clipboard.System().Picture,
		KeepTheme: func(ctx context.Context, name string) error { return s.opened().KeepTheme(ctx, name) },

		Branch: func(ctx context.Context) string { return repository.Branch(ctx, options.Project) },
		ListFiles: func(ctx context.Context, focus []string) ([]string, error) {
			return tools.Files(ctx, options.Project, focus)
		},
		ReadImage: func(_ context.Context, path string) (models.Image, error) { return tools.Image(options.Project, path) },
		PlanText:  func(list []session.Step) string { return steps.Write("", list) },
		ParsePlan: func(text string) ([]session.Step, error) { _, list, err := steps.Read(text); return list, err },
		EditText:  app.EditText,
		ReadText:  app.ReadText,

		Capacity:    s.capacity,
		Models:      s.modelChoice(),
		Weight:      s.contextUsage,
		Warn:        s.warn,
		Unheld:      s.unheld,
		Written:     s.written,
		Owners:      func(ctx context.Context) (map[session.ID]session.Owner, error) { return s.opened().Others(ctx) },
		RunTool:     s.runCommand,
		Changes:     func(ctx context.Context) (string, error) { return repository.Changes(ctx, options.Project) },
		Curl:        s.curl,
		RunShell:    s.shell,
		Prompts:     s.prompts,
		Checkpoints: s.checkpoints,
		Preview:     s.preview,
	})
	fmt.Print(restoreTitle)
	if left.ID != "" && err == nil {
		fmt.Print(left.Farewell(settings.Screen.Leave, cli.Width(os.Stdout)))
		if s.options.Rehearsal == "" { // it may have been chosen on the screen
			fmt.Fprintf(os.Stderr, "to go on: belay -r %s\n", left.ID)
		}
	}
	return errors.Join(err, s.close())
}

// screen is what the full screen works with, once it is open. The screen asks
// from several goroutines.
type screen struct {
	cli       cli.CLI
	options   app.Options
	alongside func(context.Context, *app.App)
	workers   sync.WaitGroup // of what runs alongside

	mu           sync.Mutex
	app          *app.App // nil: not open yet
	recent       *statistics.Recent
	recentReadAt time.Time
}

// library is the store, with what people are writing.
type library struct {
	*store.Store
	store.Unsent
}

// connect opens the app, or says what must be asked first. The screen calls it
// again after each answer.
func (s *screen) connect(ctx context.Context) (ui.Engine, ui.Library, *ui.Setup, error) {
	questions, err := app.SetupQuestions(ctx, s.options)
	if err != nil {
		return nil, nil, nil, err
	}
	if questions.Trust || questions.Key {
		return nil, nil, s.setup(questions), nil
	}
	opened, err := app.Open(ctx, s.cli.Env, s.options)
	if err != nil {
		return nil, nil, nil, err
	}
	s.mu.Lock()
	s.app = opened
	s.mu.Unlock()
	if s.alongside != nil {
		s.workers.Go(func() { s.alongside(ctx, opened) })
	}
	return opened.Engine, library{opened.Store, store.NewUnsent(opened.Store)}, nil, nil
}

func (s *screen) setup(questions app.Questions) *ui.Setup {
	setup := &ui.Setup{
		Key:     questions.Key,
		KeyFor:  questions.Provider,
		KeyEnv:  questions.Variable,
		Answer:  func(ctx context.Context, trusted bool) error { return app.SetTrusted(ctx, s.options.Project, trusted) },
		SaveKey: func(_ context.Context, key string) (string, error) { return app.SaveKey(questions.Provider, key) },
		CheckKey: func(ctx context.Context, key string) error {
			return app.CheckKey(ctx, s.cli.Env, s.options, questions.Provider, key)
		},
		Local: locals,
		Use: func(_ context.Context, l ui.Local, chosen map[models.Tier]string) error {
			return app.UseLocal(l.Name, l.URL, chosen)
		},
		Rehearse: func(context.Context) (string, error) {
			s.options.Rehearsal = app.BuiltIn
			return app.RehearsalBanner, nil
		},
	}
	for _, found := range questions.Found {
		setup.Found = append(setup.Found, ui.FoundKey{
			Provider: found.Provider, Variable: found.Variable, Models: []string{found.Large, found.Small},
		})
	}
	setup.UseKey = func(_ context.Context, provider string) error {
		at := slices.IndexFunc(questions.Found, func(found app.FoundKey) bool { return found.Provider == provider })
		if at < 0 {
			return fmt.Errorf("no key of %s was found", provider)
		}
		return app.UseKey(questions.Found[at])
	}
	if questions.Trust {
		setup.Trust = s.options.Project
	}
	return setup
}

// opened is the app; nil before it is open.
func (s *screen) opened() *app.App {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.app
}

// close ends everything. The screen's context is over.
func (s *screen) close() error {
	s.workers.Wait()
	if a := s.opened(); a != nil {
		return a.Close()
	}
	return nil
}

func (s *screen) curl(ctx context.Context, id session.ID) (string, error) {
	return s.opened().Curl(ctx, id)
}

// shell runs a command that the person typed themselves.
func (s *screen) shell(ctx context.Context, command string, output func(string)) (string, error) {
	return s.opened().Shell(ctx, s.options.Project, command, output)
}

func (s *screen) prompts(ctx context.Context) []string {
	list, err := s.opened().Store.Prompts(ctx, s.options.Project)
	if err != nil {
		return nil // a history that cannot be read is no reason to stop
	}
	return list
}

// runCommand runs one of belay's own commands as the command line would.
func (s *screen) runCommand(ctx context.Context, command ...string) (string, error) {
	var out bytes.Buffer
	commands := s.cli
	commands.In = strings.NewReader("")
	commands.Out = &out
	commands.Err = &out
	args := append(slices.Clone(command), "--dir", s.options.Project)
	if s.options.Rehearsal != "" && command[0] == "doctor" {
		args = append(args, "--rehearsal", s.options.Rehearsal)
	}
	if s.options.DebugHTTP != "" {
		args = append(args, "--debug-http", s.options.DebugHTTP)
	}
	within, err := s.options.Within(ctx) // a rehearsal's record is its own
	if err != nil {
		return "", err
	}
	if code := cli.Run(within, commands, args); code != 0 {
		return out.String(), fmt.Errorf("exit code %d", code)
	}
	return out.String(), nil
}

// recentRecord is what the record of the last days says, read anew every half
// minute.
func (s *screen) recentRecord(ctx context.Context) (*statistics.Recent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cli.Now()
	if s.recent == nil || now.Sub(s.recentReadAt) > 30*time.Second {
		recent, err := statistics.ReadRecent(ctx, s.app.Store, now)
		if err != nil {
			return nil, err
		}
		s.recent = recent
		s.recentReadAt = now
	}
	return s.recent, nil
}

// capacity is the state of all models for the panel. All but what the record
// says is in memory.
func (s *screen) capacity(ctx context.Context, id session.ID) (capacity.View, error) {
	recent, err := s.recentRecord(ctx)
	if err != nil {
		return capacity.View{}, err
	}
	view := capacity.View{Findings: recent.Sentences()}
	for _, day := range recent.CapacityByHour() {
		view.Week = append(view.Week, capacity.Day(day))
	}
	for _, state := range s.opened().TargetStates(id) {
		row := capacity.Row{
			Condition:  state.Condition,
			Streak:     state.Streak,
			FirstToken: state.FirstToken,
		}
		row.Share, row.Attempts = recent.SuccessShare(state.Target)
		view.Rows = append(view.Rows, row)
	}
	return view, nil
}

// written are the prompts that can be called by name.
func (s *screen) written(context.Context) []ui.WrittenPrompt {
	var list []ui.WrittenPrompt
	if a := s.opened(); a != nil {
		for _, c := range a.OwnCommands() {
			list = append(list, ui.WrittenPrompt(c))
		}
	}
	return list
}

// modelChoice is what the list of models works with.
func (s *screen) modelChoice() ui.ModelChoice {
	return ui.ModelChoice{
		List: func(ctx context.Context, id session.ID) (modellist.View, error) {
			offered := s.opened().Offer(ctx, id)
			view := modellist.View{Notes: offered.Notes}
			for _, m := range offered.Models {
				view.Models = append(view.Models, modellist.Row(m))
			}
			for _, p := range offered.Providers {
				view.Providers = append(view.Providers, modellist.Provider(p))
			}
			return view, nil
		},
		Keep: func(ctx context.Context, tier models.Tier, target models.Target) (string, error) {
			return s.opened().KeepTarget(ctx, tier, target)
		},
		CheckKey: func(ctx context.Context, provider, key string) error {
			return app.CheckKey(ctx, s.cli.Env, s.options, provider, key)
		},
		SaveKey: func(ctx context.Context, provider, key string) (string, error) {
			return s.opened().AddKey(ctx, provider, key)
		},
		CheckEndpoint: func(ctx context.Context, address, key string) error {
			return s.opened().CheckEndpoint(ctx, address, key)
		},
		AddEndpoint: func(ctx context.Context, address, key string) (string, error) {
			return s.opened().AddEndpoint(ctx, address, key)
		},
	}
}

// warn is from how many tokens on a request is worth a hint.
func (s *screen) warn() int64 {
	if a := s.opened(); a != nil {
		return a.Settings.Context.Warn
	}
	return 0
}

// unheld is what commands are not held to.
func (s *screen) unheld() (word string, open bool) { return s.opened().Unheld() }

// checkpoints are the places that a session can return to.
func (s *screen) checkpoints(ctx context.Context, id session.ID) ([]session.Checkpoint, error) {
	return s.opened().Engine.Checkpoints(ctx, id)
}

// preview is what returning to one of them would do.
func (s *screen) preview(ctx context.Context, id session.ID, to int64) (session.Preview, error) {
	return s.opened().Engine.Preview(ctx, id, to)
}

// contextUsage is what the next request of a session would be made of, for the
// panel.
func (s *screen) contextUsage(ctx context.Context, id session.ID) (session.ContextUsage, error) {
	return s.opened().Engine.ContextUsage(ctx, id)
}

// locals lists the endpoints found on this computer.
func locals(ctx context.Context) ([]ui.Local, error) {
	var list []ui.Local
	for _, f := range openai.Discover(ctx, nil) {
		list = append(list, ui.Local{Name: f.Name, URL: f.BaseURL, Models: f.Models})
	}
	return list, nil
}
