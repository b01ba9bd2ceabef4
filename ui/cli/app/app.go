// Package app decides of which parts a belay consists, as the settings and the
// command line say: it opens the store, the way to the models, the router and
// the engine, and closes them again.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"belay/config"
	"belay/models"
	"belay/models/capacity"
	"belay/models/catalog"
	"belay/models/metrics"
	"belay/models/redact"
	"belay/models/route"
	"belay/session"
	"belay/session/engine"
	"belay/session/sandbox"
	"belay/session/store"
	"belay/session/tools"
	"belay/ui/cli/maintenance"
)

// Env is what the process gives: its streams and folder, time and chance.
type Env struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Dir     string // the working folder; empty: it was deleted
	Version string
	Now     func() time.Time
	NewID   func() string
	// Width is the number of columns if a stream is a terminal, else 0.
	Width func(stream any) int
}

// Options are what the command line says about models and permissions; empty
// fields leave it to the settings.
type Options struct {
	Project        string
	Tier           string
	Mode           string // which calls run without asking
	Budget         string // tokens a request may take
	Effort         string // of reasoning
	Rehearsal      string // a script; its models take the place of the real ones
	Program        string // the kind of program, for others that want the same session
	NonInteractive bool   // nobody can answer questions
	Trust          bool   // the project's settings and AGENTS.md may be read
	Data           string // another data folder; for the demo
	NoWait         bool   // a parked turn ends the run
	MaxWait        time.Duration
	MaxSteps       int              // requests of a task; 0: as the settings say
	MaxCost        float64          // of a task, in US dollars; 0: as the settings say
	TaskSince      *time.Time       // since when the limits count what programs before took of a session; nil: they do not
	DebugHTTP      string           // a file for every exchange with a model
	Lane           string           // of queued work, which keeps a pace and a budget; empty: it keeps none
	Resting        capacity.Resting // hears when the lane's budget is waited for; nil: nobody does
	// Shared is where the state of the models is kept for several machines; nil: in the
	// store, for this one.
	Shared        capacity.Shared
	Metrics       bool             // requests are counted for Prometheus
	Counted       *metrics.Metrics // where they are counted with those of other apps; nil: nowhere
	FailbackAfter string           // how soon a model that gave way is gone back to; for the demo
}

// Screen is what the full screen opens with.
type Screen struct {
	Session session.ID
	Resume  bool // goes on with its turn, at once
	Picker  bool
	Prompt  string // sent at once
	Plan    bool   // as a task to be carried out in steps
	Banner  string
	// Alongside runs beside the screen, once the app is open, until it returns or
	// its context ends; whoever opened the screen waits for it.
	Alongside func(ctx context.Context, a *App)
}

// onScreen reports whether the full screen has the terminal.
func (o Options) onScreen() bool {
	return !o.NonInteractive && (o.Program == "screen" || o.Program == "demo")
}

// App is everything that runs sessions.
type App struct {
	Store    *store.Store
	Engine   *engine.Engine
	Settings config.Settings
	Catalog  *catalog.Catalog
	Breakers *capacity.Breakers
	Router   *route.Router
	Tools    func(root string) (*tools.Set, error)

	env         Env
	listeners   listeners
	options     Options
	trusted     bool // the project's own instructions and commands may be read
	live        *live
	transport   *Transport
	secrets     *redact.Values
	maintenance *maintenance.Worker
}

// Close ends what runs, in a way that can be gone on from.
func (a *App) Close() error {
	a.maintenance.Stop()
	err := errors.Join(a.Engine.Close(), a.Store.Close(), a.transport.Close())
	a.listeners.close() // when nothing is asked any more
	return err
}

// Open opens everything that runs sessions.
func Open(ctx context.Context, env Env, options Options) (*App, error) {
	ctx, settings, dir, err := locate(ctx, options)
	if err != nil {
		return nil, err
	}
	said := newNotices(env.Err, options)
	for _, ignored := range settings.Ignored() {
		said.add(ignored.Error())
	}
	known := NewCatalog(settings, options, said.add)
	transport, err := NewTransport(env, known, settings, options, said.add)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, dir, store.Options{Waiting: said.add, Rehearsed: IsRehearsed(ctx)})
	if err != nil {
		return nil, errors.Join(err, transport.Close())
	}
	if followed, err := filepath.EvalSymlinks(dir); err == nil { // it exists now
		dir = followed
	}
	trusted := options.Trust
	if !trusted {
		if trusted, _, err = st.Trusted(ctx, options.Project); err != nil {
			return nil, errors.Join(err, st.Close(), transport.Close())
		}
	}
	b := builder{
		env:       env,
		options:   options,
		settings:  settings,
		dir:       dir,
		trusted:   trusted,
		catalog:   known,
		transport: transport,
		store:     st,
		notices:   said,
		live:      &live{settings: settings},
	}
	return b.build(ctx), nil
}

// TargetState is a target of a tier and how it does.
type TargetState struct {
	models.Condition
	Streak     int
	FirstToken time.Duration
}

// TargetStates lists all targets of all tiers, heavy first, as the next request of a
// session would meet them; the empty id stands for a new one.
func (a *App) TargetStates(id session.ID) []TargetState {
	var list []TargetState
	for _, condition := range a.Engine.Outlook(id) {
		st := a.Breakers.Status(condition.Target)
		list = append(list, TargetState{condition, st.Streak, st.FirstToken})
	}
	return list
}

// Others are the sessions that other running belays write to.
func (a *App) Others(ctx context.Context) (map[session.ID]session.Owner, error) {
	owners, err := a.Store.Owners(ctx)
	host, _ := os.Hostname()
	maps.DeleteFunc(owners, func(_ session.ID, o session.Owner) bool { return o.PID == os.Getpid() && o.Host == host })
	return owners, err
}

// Curl is a session's last request as a command for a shell, without the key.
func (a *App) Curl(ctx context.Context, id session.ID) (string, error) {
	target, req, err := a.Engine.Request(ctx, id)
	if err != nil {
		return "", err
	}
	return a.transport.Client.Curl(target, req)
}

// LastRequest is a session's last request as its endpoint would get it, without
// credentials.
func (a *App) LastRequest(ctx context.Context, id session.ID) ([]byte, error) {
	target, req, err := a.Engine.Request(ctx, id)
	if err != nil {
		return nil, err
	}
	return a.transport.Client.Body(target, req)
}

// Secrets are the credentials that this belay knows.
func (a *App) Secrets() *redact.Values { return a.secrets }

// Unheld says in a word or two what commands that somebody allowed are not held to;
// empty: they are held. Open says that nothing holds them.
func (a *App) Unheld() (word string, open bool) {
	if !a.Settings.Sandbox.Enabled {
		return "sandbox off", true
	}
	grip := sandbox.Detect()
	return grip.Word(), grip == sandbox.None
}

// Shell runs a command that a person typed, within the bounds of the model's in time
// and output, and outside the sandbox.
func (a *App) Shell(
	ctx context.Context, project, command string, live func(string),
) (output string, err error) {
	set, err := a.Tools(project)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return "", err
	}
	call, err := set.Prepare(tools.RunCommand, string(args))
	if err != nil {
		return "", err
	}
	run := call.Run
	if call.RunOutside != nil {
		run = call.RunOutside // as it would in their own terminal
	}
	r := run(ctx, live)
	if r.Error {
		return r.Output, fmt.Errorf("the command: %s", r.Summary)
	}
	return r.Output, nil
}
