package app

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"belay/config"
	"belay/context/systemprompt"
	"belay/context/tokens"
	"belay/models"
	"belay/models/capacity"
	"belay/models/catalog"
	"belay/models/ledger"
	"belay/models/metrics"
	"belay/models/redact"
	"belay/models/route"
	"belay/session"
	"belay/session/agent"
	"belay/session/engine"
	"belay/session/permit"
	"belay/session/request"
	"belay/session/snapshot"
	"belay/session/store"
	"belay/session/tools"
	"belay/ui/cli/maintenance"
)

// builder makes the parts of an App out of what has been opened.
type builder struct {
	env       Env
	options   Options
	settings  config.Settings
	dir       string // of the data
	trusted   bool   // the project's own instructions may be read
	catalog   *catalog.Catalog
	transport *Transport
	store     *store.Store
	notices   *notices
	live      *live
}

func (b *builder) build(ctx context.Context) *App {
	b.transport.learned = &learned{shared: namespacedStore{b.store, b.endpoint}, report: b.reportShared}
	b.transport.learned.restore(ctx, b.transport.Client)
	breakers := b.newBreakers()
	breakers.Refresh(ctx)
	var router *route.Router // which records what the upkeep looks at
	upkeep := maintenance.New(maintenance.Options{
		Store:     b.store,
		Settings:  b.settings,
		Program:   b.options.Program,
		Project:   b.options.Project,
		Snapshots: b.snapshots(b.options.Project),
		Outputs:   b.outputs(),
		Now:       b.env.Now,
		Webhook:   b.webhook(),
		NewID:     b.env.NewID,
		States:    func() []maintenance.State { return targetStates(router, breakers) },
	})
	listeners := listeners{tracer: b.tracer(), metrics: b.options.Counted}
	if b.options.Metrics {
		listeners.metrics = metrics.New(func() []models.Condition { return router.Outlook(route.NewControl(models.Heavy)) })
	}
	record := func(ctx context.Context, a models.Attempt) {
		upkeep.Record(ctx, a)
		listeners.attempt(a)
	}
	router = b.newRouter(breakers, record)
	eng := b.newEngine(router, breakers, upkeep.BudgetShare, listeners.turn)
	if b.options.onScreen() {
		b.notices.showOn(func(text string) { eng.Alert(session.Alerted{Text: text, Screen: true}) })
	}
	upkeep.Start(eng.Alert)
	return &App{
		Store:       b.store,
		Engine:      eng,
		Settings:    b.settings,
		Catalog:     b.catalog,
		Breakers:    breakers,
		Router:      router,
		Tools:       b.newTools,
		env:         b.env,
		listeners:   listeners,
		options:     b.options,
		trusted:     b.trusted,
		live:        b.live,
		transport:   b.transport,
		secrets:     b.secretValues(),
		maintenance: upkeep,
	}
}

// newBreakers makes the state of all targets, shared with other belays.
func (b *builder) newBreakers() *capacity.Breakers {
	fresh := time.Duration(0) // the engine watches this machine's store
	if b.options.Shared != nil {
		fresh = time.Second
	}
	return capacity.New(capacity.Options{
		Fresh:         fresh,
		Shared:        namespacedStore{b.shared(), b.endpoint},
		Tiers:         TierTargets(b.settings),
		Owner:         ownerName(b.env.NewID()),
		Alive:         ownerAlive,
		FailbackDelay: b.settings.Switch.FailbackAfter,
		Now:           b.env.Now,
		Random:        mathrand.Float64,
		Concurrency:   func(provider string) int { return b.settings.Providers[provider].Concurrency },
		Report:        b.reportShared,
	})
}

func (b *builder) reportShared(err error) {
	b.notices.add(fmt.Sprintf("the state of the models is kept in memory only: %v", err))
}

// endpoint is what stands behind a provider's name now.
func (b *builder) endpoint(provider string) string {
	return endpointBehind(b.options, b.catalog, provider)
}

func endpointBehind(options Options, known *catalog.Catalog, provider string) string {
	if options.Rehearsal != "" {
		return "rehearsal"
	}
	p, _ := known.Provider(provider)
	return p.BaseURL
}

func (b *builder) newRouter(breakers *capacity.Breakers, record func(context.Context, models.Attempt)) *route.Router {
	o := routeOptions(b.settings, b.catalog, b.transport.Client)
	o.Breakers = breakers
	o.RateLimiter = b.rateLimiter(breakers)
	o.Record = record
	return route.New(o)
}

// snapshots is where the working trees of a folder are kept; nil: the folder is
// far too large for it.
func (b *builder) snapshots(root string) *snapshot.Store {
	if home, err := os.UserHomeDir(); root == home || err != nil || filepath.Dir(root) == root {
		return nil
	}
	return snapshot.New(
		snapshot.Options{Dir: filepath.Join(b.dir, "snapshots"), Root: root, Exclude: b.dir, Now: b.env.Now},
	)
}

// MoveSnapshots lets the working trees of a folder that was moved be found at its new path.
func MoveSnapshots(ctx context.Context, from, to string) error {
	dir, err := DataDir(ctx)
	if err != nil {
		return err
	}
	return snapshot.Follow(filepath.Join(dir, "snapshots"), from, to)
}

func (b *builder) newTools(root string) (*tools.Set, error) {
	return tools.New(tools.Options{
		Root:    root,
		Data:    b.dir,
		Cache:   cacheDir(),
		Secrets: configDir(),
		Outputs: b.outputs(),
		Hide:    b.transport.hidden(),
		Pass:    b.settings.Permissions.Env,
		Redact:  b.secretValues(),
		Network: b.settings.Sandbox.Network,
		Write:   b.settings.Sandbox.Write,
		Read:    b.settings.Sandbox.Read,
		Open:    !b.settings.Sandbox.Enabled,
		NewID:   b.env.NewID,
	})
}

// secretValues are what no output shows: the keys, and what variables hold that look
// like secrets.
func (b *builder) secretValues() *redact.Values {
	values := b.transport.secrets()
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if tools.LooksSecret(name) && redact.LooksRandom(value) {
			values = append(values, value)
		}
	}
	return redact.New(values...)
}

// cacheDir is belay's folder for what can be made anew; empty: there is none.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "belay")
}

// configDir is where the settings and keys are, if there is such a place.
func configDir() []string {
	dir, err := config.Dir(os.Getenv)
	if err != nil {
		return nil
	}
	return []string{dir}
}

func (b *builder) newEngine(
	router *route.Router,
	breakers *capacity.Breakers,
	budget func(context.Context) (float64, string),
	turnEnded func(models.Turn),
) *engine.Engine {
	mode, reason := startingMode(b.options, b.settings, b.dir)
	if reason != "" {
		b.notices.add(reason + ": every change asks there (anywhere = true below [permissions] in your settings lets a mode decide)")
	}
	counter := tokens.New()
	user, _ := config.Dir(os.Getenv)
	requests := request.Options{
		Store:            b.store,
		Router:           router,
		Model:            b.catalog.Model,
		Calibration:      counter,
		FailureThreshold: failureThreshold(b.store, b.env.Now),
		// A vocabulary is read when something is counted with it first. Counts are
		// estimates until it is there, and stay so if it fails.
		Counter: func(m models.Model) request.Counter {
			c := counter.For(m.Encoding)
			c.Warm()
			return c
		},
		Trigger:     b.settings.Context.Trigger,
		Window:      requestLimits(b.settings, b.live.tiers),
		Reply:       replies(b.settings, b.live.tiers),
		PrunePolicy: request.PrunePolicy(b.settings.Request.Slim),
		Tools:       b.newTools,
		SystemPrompt: func(ctx context.Context, root string) systemprompt.Prompt {
			return systemprompt.Build(ctx,
				systemprompt.Options{Root: root, User: user, Trusted: b.trusted, Now: b.env.Now()})
		},
		NetworkWait: networkWait(b.options, b.settings.Park.Ladder),
		NewID:       b.env.NewID,
	}
	return engine.New(engine.Options{
		Options: requests,
		Snapshots: func(root string) engine.Snapshots {
			if s := b.snapshots(root); s != nil {
				return s
			}
			return nil
		},
		Tier:           models.Tier(b.settings.Tiers.Default),
		Mode:           mode,
		Program:        b.options.Program,
		NonInteractive: b.options.NonInteractive,
		TaskSince:      b.options.TaskSince,
		TurnEnded:      turnEnded,
		ParkSchedule:   b.settings.Park.Ladder,
		Random:         mathrand.Float64,
		Breakers:       breakers,
		Watch:          time.Second,
		Grants:         readableRules(b.settings.Permissions.Readable),
		TooWide:        func(root string) string { return tooWide(b.settings, b.dir, root) },
		Limits: agent.Limits{
			Requests: b.settings.Limits.Requests,
			Retries:  b.settings.Limits.Retries,
			Cost:     b.settings.Limits.Cost,
			Tokens:   b.settings.Limits.Tokens,
			Wait:     b.settings.Limits.Wait,
			Budget:   budget,
		},
		ModelTitles:     b.settings.Request.Titles == "light",
		SwitchAfterStep: switchAfter(b.settings, b.settings.Switch.After.Step),

		Now: b.env.Now,
	})
}

// tooWide says why changes in a workspace ask in every mode; empty: they need not.
func tooWide(settings config.Settings, data, root string) string {
	if settings.Permissions.Anywhere {
		return ""
	}
	own := append(configDir(), data)
	if file, _, err := config.File(os.Getenv); err == nil {
		own = append(own, file)
	}
	return permit.TooWide(root, own...)
}

// startingMode is the approval mode of new sessions in the options' project, and why it
// is not the one that was chosen.
func startingMode(options Options, settings config.Settings, data string) (mode session.Mode, reason string) {
	mode = approvalMode(options, settings)
	if mode == session.Ask {
		return mode, ""
	}
	if reason = tooWide(settings, data, options.Project); reason != "" {
		mode = session.Ask
	}
	return mode, reason
}

// ScreenMode is the approval mode that the first frame shows.
func ScreenMode(options Options, settings config.Settings) session.Mode {
	data, err := DataDir(context.Background())
	if err != nil {
		data = "" // opening it reports that
	}
	mode, _ := startingMode(options, settings, data)
	return mode
}

// readableRules let files be read by the patterns of the settings.
func readableRules(patterns []string) []string {
	var rules []string
	for _, pattern := range patterns {
		rules = append(rules, permit.ReadableRule(pattern))
	}
	return rules
}

// failureThreshold reads from which size on requests have failed, anew every
// few minutes.
func failureThreshold(log ledger.Log, now func() time.Time) func(context.Context) session.FailureThreshold {
	const fresh = 5 * time.Minute
	const window = 7 * 24 * time.Hour
	var mu sync.Mutex
	var last session.FailureThreshold
	var readAt time.Time
	return func(ctx context.Context) session.FailureThreshold {
		mu.Lock()
		defer mu.Unlock()
		t := now()
		if !readAt.IsZero() && t.Sub(readAt) <= fresh {
			return last
		}
		if list, err := ledger.Read(ctx, log, t.Add(-window), time.Time{}); err == nil { // without it the rest is still true
			sizes := ledger.SizesOf(list)
			last = session.FailureThreshold{From: sizes.Threshold, Above: sizes.Above, Below: sizes.Below}
			readAt = t
		}
		return last
	}
}

// approvalMode is that of new sessions. Without a screen, file changes run
// unless somebody said otherwise: nobody is there to ask.
func approvalMode(o Options, settings config.Settings) session.Mode {
	switch {
	case o.Mode != "":
		return session.Mode(o.Mode)
	case o.NonInteractive && !settings.Set("permissions.mode"):
		return session.Edits
	}
	return session.Mode(settings.Permissions.Mode)
}

// networkWait is how long a lost connection is waited out. A person at the
// screen decides for themselves; without one it is as long as the whole park
// schedule, unless the command line says less.
func networkWait(options Options, schedule []time.Duration) time.Duration {
	switch {
	case !options.NonInteractive:
		return 0
	case options.NoWait:
		return time.Nanosecond // 0 would be: as long as it takes
	case options.MaxWait > 0:
		return options.MaxWait
	}
	var all time.Duration
	for _, rest := range schedule {
		all += rest
	}
	return all
}

// outputs is the folder with the outputs of commands that are longer than what is
// told of them.
func (b *builder) outputs() string { return filepath.Join(b.dir, "outputs") }
