package cli

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"belay/config"
	"belay/context/systemprompt"
	"belay/context/tokens"
	"belay/models"
	"belay/models/capacity"
	"belay/models/catalog"
	"belay/models/route"
	"belay/session"
	"belay/session/agent"
	"belay/session/engine"
	"belay/session/snapshot"
	"belay/session/store"
	"belay/session/tools"
)

// dataDir is the folder of the data.
func dataDir() (string, error) {
	dir, err := config.Home(os.Getenv)
	if err != nil {
		return "", &SettingsError{Err: err}
	}
	return dir, nil
}

// Data opens the sessions on disk.
func Data(ctx context.Context, readOnly bool) (*store.Store, error) {
	dir, err := dataDir()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, dir, store.Options{ReadOnly: readOnly})
}

// sources are where the settings of a project come from. Whether its own file
// counts depends on the trust that was given to the folder.
func sources(ctx context.Context, c Choice) (config.Sources, error) {
	file, named, err := config.File(os.Getenv)
	if err != nil {
		return config.Sources{}, &SettingsError{Err: err}
	}
	trusted := c.Trust
	if !trusted {
		st, err := Data(ctx, true)
		if err != nil {
			return config.Sources{}, err
		}
		trusted, _, err = st.Trusted(ctx, c.Project)
		if err = errors.Join(err, st.Close()); err != nil {
			return config.Sources{}, err
		}
	}
	return config.Sources{UserFile: file, Named: named, ProjectFile: filepath.Join(c.Project, config.ProjectFile), Trusted: trusted,
		Env: os.LookupEnv, Flags: flags(c), Providers: func() []string { return catalog.New(catalog.Options{}).Providers() }}, nil
}

// flags are the settings that the command line makes.
func flags(c Choice) map[string]string {
	flags := map[string]string{}
	for key, value := range map[string]string{"tiers.default": c.Tier, "permissions.mode": c.Approve, "context.budget": c.Budget, "request.effort": c.Effort, "switch.failback_after": c.Failback} {
		if value != "" {
			flags[key] = value
		}
	}
	return flags
}

// load reads the settings for a choice. A rehearsal has none: it must work the
// same everywhere.
func load(ctx context.Context, c Choice) (config.Settings, error) {
	from := config.Sources{}
	if c.Rehearsal == "" {
		var err error
		if from, err = sources(ctx, c); err != nil {
			return config.Settings{}, err
		}
	} else {
		from.Flags = flags(c)
	}
	settings, err := config.Load(from)
	if err != nil {
		return config.Settings{}, &SettingsError{Err: err}
	}
	return settings, nil
}

// keys is where API keys are kept.
func keys() config.Keys {
	dir, err := config.Dir(os.Getenv)
	if err != nil {
		dir = ""
	}
	// Whoever keeps belay's files apart (tests, containers) keeps its keys apart.
	return config.Keys{Dir: dir, Keyring: os.Getenv("BELAY_HOME") == "" && os.Getenv("BELAY_CONFIG") == ""}
}

// keyOf finds a provider's key: in its variable, else where keys are kept.
func keyOf(provider, variable string) string {
	if key := os.Getenv(variable); variable != "" && key != "" {
		return key
	}
	key, err := keys().Get(provider)
	if err != nil {
		fmt.Fprintf(os.Stderr, "belay: %v\n", err)
	}
	return key
}

// House is everything that runs sessions.
type House struct {
	Store    *store.Store
	Engine   *engine.Engine
	Settings config.Settings
	Catalog  *catalog.Catalog
	Board    *capacity.Breakers
	Router   *route.Router
	Tools    func(root string) (*tools.Set, error)

	wire   *wire
	keeper *keeper
}

// Close ends what runs, in a way that can be gone on from.
func (h *House) Close() error {
	h.keeper.stop()
	return errors.Join(h.Engine.Close(), h.Store.Close(), h.wire.close())
}

// Connect opens everything that runs sessions, as the settings and the command
// line say.
func (d Deps) Connect(ctx context.Context, c Choice) (*House, error) {
	settings, err := load(ctx, c)
	if err != nil {
		return nil, err
	}
	dir := c.Data
	if dir == "" {
		var err error
		if dir, err = dataDir(); err != nil {
			return nil, err
		}
	}
	known := catalog.New(catalogOptions(settings, c.Rehearsal == ""))
	w, err := d.wire(known, settings, c)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, dir, store.Options{})
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	if followed, err := filepath.EvalSymlinks(dir); err == nil { // it is there now
		dir = followed
	}
	trusted := c.Trust
	if !trusted {
		if trusted, _, err = st.Trusted(ctx, c.Project); err != nil {
			return nil, errors.Join(err, st.Close(), w.close())
		}
	}
	counter := tokens.New()
	user, _ := config.Dir(os.Getenv)
	endpoint := func(provider string) string {
		if c.Rehearsal != "" {
			return "rehearsal"
		}
		p, _ := known.Provider(provider)
		return p.BaseURL
	}
	board := capacity.New(capacity.Options{Shared: apart{st, endpoint}, Tiers: tiers(settings), Owner: d.NewID(), FailbackDelay: settings.Switch.FailbackAfter, Now: d.Now, Random: mathrand.Float64,
		Concurrency: func(provider string) int { return settings.Providers[provider].Concurrency },
		Report: func(err error) {
			fmt.Fprintf(d.Err, "belay: the state of the models is kept in memory only: %v\n", err)
		}})
	o := routeOptions(settings, known, w.client)
	o.Breakers, o.RateLimiter = board, board
	shots := func(root string) *snapshot.Store {
		if home, err := os.UserHomeDir(); root == home || err != nil || filepath.Dir(root) == root {
			return nil // far too much
		}
		return snapshot.New(snapshot.Options{Dir: filepath.Join(dir, "snapshots"), Root: root, Exclude: dir, Now: d.Now})
	}
	keep := &keeper{st: st, s: settings, what: c.What, now: d.Now, project: c.Project, shots: shots(c.Project)}
	o.Record = keep.record
	router := route.New(o)
	newTools := func(root string) (*tools.Set, error) {
		return tools.New(tools.Options{Root: root, Data: dir, Outputs: filepath.Join(dir, "outputs"), Hide: w.hide, Reaper: reaper(), NewID: d.NewID})
	}
	eng := engine.New(engine.Options{
		Store: st, Router: router, Model: known.Model, Calibration: counter, FailureThreshold: failing(st, d.Now),
		// A vocabulary is read when something is counted with it first. Counts are
		// estimates until it is there, and stay so if it fails.
		Counter: func(m models.Model) engine.Counter {
			c := counter.For(m.Encoding)
			c.Warm()
			return c
		},
		Trigger: settings.Context.Trigger, Window: budgets(settings), Reply: replies(settings), PrunePolicy: engine.PrunePolicy(settings.Request.Slim),
		Tools: newTools,
		Snapshots: func(root string) engine.Snapshots {
			if s := shots(root); s != nil {
				return s
			}
			return nil
		},
		SystemPrompt: func(ctx context.Context, root string) systemprompt.Prompt {
			return systemprompt.Build(ctx, systemprompt.Options{Root: root, User: user, Trusted: trusted, Now: d.Now()})
		},
		Tier: models.Tier(settings.Tiers.Default), Mode: mode(c, settings), Program: c.What, NonInteractive: c.Alone,
		ParkSchedule: settings.Park.Ladder, Random: mathrand.Float64, Breakers: board, Watch: time.Second,
		Limits:      agent.Limits{Requests: settings.Limits.Requests, Retries: settings.Limits.Retries, Cost: settings.Limits.Cost, Tokens: settings.Limits.Tokens, Wait: settings.Limits.Wait, Budget: keep.budget},
		NetworkWait: network(c, settings.Park.Ladder), Now: d.Now, NewID: d.NewID,
	})
	if !c.Alone && (c.What == "screen" || c.What == "demo") { // standard error would spoil the screen
		w.say = func(text string) { eng.Alert(session.Alerted{Text: text, Screen: true}) }
	}
	keep.tell = eng.Alert
	keep.begin()
	return &House{Store: st, Engine: eng, Settings: settings, Catalog: known, Board: board, Router: router, Tools: newTools, wire: w, keeper: keep}, nil
}

// failing reads from which size on requests have failed, anew every few
// minutes.
func failing(st *store.Store, now func() time.Time) func(context.Context) session.FailureThreshold {
	const fresh = 5 * time.Minute
	var mu sync.Mutex
	var last session.FailureThreshold
	var read time.Time
	return func(ctx context.Context) session.FailureThreshold {
		mu.Lock()
		defer mu.Unlock()
		if t := now(); read.IsZero() || t.Sub(read) > fresh {
			if past, err := readPast(ctx, st, t); err == nil { // without it the rest is still true
				last.From, last.Above, last.Below = past.Sizes()
				read = t
			}
		}
		return last
	}
}

// mode is the approval mode of new sessions. Without a screen, file changes
// run unless somebody said otherwise: nobody is there to ask.
func mode(c Choice, settings config.Settings) session.Mode {
	switch {
	case c.Approve != "":
		return session.Mode(c.Approve)
	case c.Alone && !settings.Set("permissions.mode"):
		return session.Edits
	}
	return session.Mode(settings.Permissions.Mode)
}

// network is how long a lost connection is waited out. A person at the screen
// decides for themselves; without one it is as long as the ladder, unless the
// command line says less.
func network(c Choice, ladder []time.Duration) time.Duration {
	switch {
	case !c.Alone:
		return 0
	case c.NoWait:
		return time.Nanosecond // 0 would be: as long as it takes
	case c.MaxWait > 0:
		return c.MaxWait
	}
	var all time.Duration
	for _, rest := range ladder {
		all += rest
	}
	return all
}

// reaper is how this program starts itself to end what outlives it.
func reaper() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, ReaperCommand}
}
