package app

import (
	"context"
	"errors"
	"io"
	"math"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"belay/config"
	"belay/context/window"
	"belay/models"
	"belay/models/catalog"
	"belay/models/openai"
	"belay/models/route"
	"belay/session/request"
	"belay/session/store"
	"belay/ui/cli/exit"
	"belay/ui/keys"
)

// OpenForReading opens the sessions on disk for reading alone.
func OpenForReading(ctx context.Context) (*store.Store, error) {
	return openStore(ctx, store.Options{ReadOnly: true})
}

func openStore(ctx context.Context, options store.Options) (*store.Store, error) {
	dir, err := DataDir(ctx)
	if err != nil {
		return nil, err
	}
	options.Rehearsed = IsRehearsed(ctx)
	return store.Open(ctx, dir, options)
}

// ReadStore opens the sessions on disk for reading, for as long as do runs.
func ReadStore(ctx context.Context, do func(*store.Store) error) error {
	return withStore(ctx, store.Options{ReadOnly: true}, do)
}

// ChangeStore opens the sessions on disk for as long as do runs. Whoever waits for
// another writer is told on stderr.
func ChangeStore(ctx context.Context, stderr io.Writer, do func(*store.Store) error) error {
	return withStore(ctx, store.Options{Waiting: newNotices(stderr, Options{}).add}, do)
}

func withStore(ctx context.Context, options store.Options, do func(*store.Store) error) error {
	st, err := openStore(ctx, options)
	if err != nil {
		return err
	}
	return errors.Join(do(st), st.Close())
}

// SettingsSources are where the settings of a project come from. Whether its own
// file counts depends on the trust that was given to the folder.
func SettingsSources(ctx context.Context, options Options) (config.Sources, error) {
	file, named, err := config.File(os.Getenv)
	if err != nil {
		return config.Sources{}, &exit.SettingsError{Err: err}
	}
	trusted := options.Trust
	if !trusted {
		err := ReadStore(ctx, func(st *store.Store) (err error) {
			trusted, _, err = st.Trusted(ctx, options.Project)
			return err
		})
		if err != nil {
			return config.Sources{}, err
		}
	}
	return config.Sources{
		UserFile:    file,
		Named:       named,
		ProjectFile: filepath.Join(options.Project, config.ProjectFile),
		Trusted:     trusted,
		Env:         os.LookupEnv,
		Flags:       flagSettings(options),
		Providers:   func() []string { return catalog.New(catalog.Options{}).Providers() },
	}, nil
}

// flagSettings are the settings that the command line makes.
func flagSettings(options Options) map[string]string {
	flags := map[string]string{}
	if options.MaxSteps > 0 {
		flags["limits.steps"] = strconv.Itoa(options.MaxSteps)
	}
	if options.MaxCost > 0 {
		flags["limits.cost"] = strconv.FormatFloat(options.MaxCost, 'f', -1, 64)
	}
	for key, value := range map[string]string{
		"tiers.default":         options.Tier,
		"permissions.mode":      options.Mode,
		"context.budget":        options.Budget,
		"request.effort":        options.Effort,
		"switch.failback_after": options.FailbackAfter,
	} {
		if value != "" {
			flags[key] = value
		}
	}
	return flags
}

// LoadSettings reads the settings. A rehearsal has none of its own: it must work
// the same everywhere.
func LoadSettings(ctx context.Context, o Options) (config.Settings, error) {
	sources := config.Sources{Flags: flagSettings(o)}
	if o.Rehearsal == "" {
		var err error
		if sources, err = SettingsSources(ctx, o); err != nil {
			return config.Settings{}, err
		}
	}
	settings, err := config.Load(sources)
	if err == nil {
		err = CheckKeys(settings)
	}
	if err != nil {
		return config.Settings{}, &exit.SettingsError{Err: err}
	}
	return settings, nil
}

// CheckKeys says what is wrong with the keys of the settings.
func CheckKeys(settings config.Settings) error {
	var faults config.Faults
	for _, problem := range keys.Check(keyLists(settings)) {
		name := config.Key("keys", problem.Name)
		fault := config.Fault{Origin: settings.Origin(name), Key: name, Problem: problem.Text, Hint: problem.Hint}
		faults = append(faults, fault)
	}
	if len(faults) == 0 {
		return nil
	}
	return faults
}

func keyLists(settings config.Settings) map[string][]string {
	lists := map[string][]string{}
	for name, list := range settings.Keys {
		lists[name] = list
	}
	return lists
}

// UseKeys gives actions the keys of the settings; what is wrong with them is reported
// when everything is opened.
func UseKeys(settings config.Settings) { _ = keys.Use(keyLists(settings)) }

// ScreenSettings are the settings as far as the first frame needs them: the
// user's own. A fault in them is reported when everything is opened, not here.
func ScreenSettings() config.Settings {
	file, named, err := config.File(os.Getenv)
	if err != nil {
		return config.Defaults()
	}
	settings, err := config.Load(config.Sources{UserFile: file, Named: named})
	if err != nil {
		return config.Defaults()
	}
	return settings
}

// keyStore is where API keys are kept.
func keyStore() config.Keys {
	dir, err := config.Dir(os.Getenv)
	if err != nil {
		dir = ""
	}
	// Whoever keeps belay's files apart (tests, containers) keeps its keys apart.
	return config.Keys{Dir: dir, Keyring: os.Getenv("BELAY_HOME") == "" && os.Getenv("BELAY_CONFIG") == ""}
}

// apiKey finds a provider's key: in its variable, else where keys are kept.
func apiKey(provider, variable string) (string, error) {
	if key := os.Getenv(variable); variable != "" && key != "" {
		return key, nil
	}
	return keyStore().Get(provider)
}

// NewCatalog is what is known of providers and models, keys included. Warn hears
// when a kept key cannot be read.
func NewCatalog(settings config.Settings, o Options, warn func(string)) *catalog.Catalog {
	return catalog.New(catalogOptions(settings, o, warn))
}

func catalogOptions(settings config.Settings, o Options, warn func(string)) catalog.Options {
	known := catalog.Options{
		Providers: map[string]catalog.ProviderOverride{},
		Models:    map[string]catalog.ModelOverride{},
		Key: func(provider, variable string) string {
			if o.Rehearsal != "" {
				return "rehearsal"
			}
			key, err := apiKey(provider, variable)
			if err != nil {
				warn(err.Error())
			}
			return key
		},
	}
	for name, provider := range settings.Providers {
		headers := map[string]string{}
		for k, v := range provider.Headers {
			headers[k] = string(v)
		}
		known.Providers[name] = catalog.ProviderOverride{
			BaseURL:     provider.BaseURL,
			API:         models.API(provider.API),
			KeyEnv:      provider.KeyEnv,
			Headers:     headers,
			Concurrency: provider.Concurrency,
			ServiceTier: provider.ServiceTier,
			Resume:      provider.Resume,
		}
	}
	for name, m := range settings.Models {
		known.Models[name] = catalog.ModelOverride(m)
	}
	return known
}

// TierTargets are the targets of each tier. The settings have checked their form.
func TierTargets(s config.Settings) map[models.Tier][]models.Target {
	lists := map[models.Tier][]models.Target{}
	for tier, names := range s.Tiers.Targets() {
		for _, name := range names {
			if t, err := models.ParseTarget(name); err == nil {
				lists[models.Tier(tier)] = append(lists[models.Tier(tier)], t)
			}
		}
	}
	return lists
}

// highestTier is the highest tier that a target stands in; empty: in none.
func highestTier(lists map[models.Tier][]models.Target, t models.Target) models.Tier {
	for _, tier := range models.Tiers() {
		if slices.Contains(lists[tier], t) {
			return tier
		}
	}
	return ""
}

func routeOptions(settings config.Settings, known *catalog.Catalog, client *openai.Client) route.Options {
	options := route.Options{
		Client: keyChecked{client, known.Provider},
		Tiers:  TierTargets(settings),
		Model:  known.Model,
		Names:  client.Models,
		Local: func(t models.Target) bool {
			p, _ := known.Provider(t.Provider)
			return p.Local
		},
		Policy:      route.Policy(settings.Switch.Policy),
		Floor:       models.Tier(settings.Switch.Floor),
		SwitchLocal: settings.Switch.Local,
		SwitchAfter: switchAfter(settings, settings.Switch.After.Interactive),
		Endpoint: func(provider string) string {
			p, _ := known.Provider(provider)
			return p.BaseURL
		},
		Attempts: settings.Retry.Attempts,
		MaxWait:  settings.Retry.MaxWait,
		Now:      time.Now,
		Random:   mathrand.Float64,
	}
	if settings.Retry.Profile == "patient" {
		options.Policy = route.Never
	}
	return options
}

// switchAfter is after how many capacity failures in a row a target is left, as
// set unless the retry profile says otherwise.
func switchAfter(s config.Settings, set int) int {
	switch s.Retry.Profile {
	case "switch-early":
		return 1
	case "patient":
		return math.MaxInt
	}
	return set
}

// byTier gives each target what is set for its tier, and for the highest one
// where it stands in several.
func byTier[T any](tiers tierLists, heavy, medium, light T) func(models.Target) T {
	values := map[models.Tier]T{models.Heavy: heavy, models.Medium: medium, models.Light: light}
	return func(t models.Target) T { return values[highestTier(tiers(), t)] }
}

// tierLists gives the targets of each tier as they are now.
type tierLists func() map[models.Tier][]models.Target

// replies are what is asked of each target's replies.
func replies(settings config.Settings, tiers tierLists) func(models.Target) request.Reply {
	efforts := settings.Request.Effort
	effort := byTier(tiers, efforts.Heavy, efforts.Medium, efforts.Light)
	return func(t models.Target) request.Reply {
		return request.Reply{MaxOutput: settings.Request.MaxOutput, Effort: effort(t)}
	}
}

// requestLimits are how much a request to each target may take.
func requestLimits(settings config.Settings, tiers tierLists) func(models.Target) window.Limits {
	limits := settings.Context
	budget := byTier(tiers, limits.Budget.Heavy, limits.Budget.Medium, limits.Budget.Light)
	return func(t models.Target) window.Limits {
		return window.Limits{Reserve: limits.Reserve, Budget: budget(t)}
	}
}
