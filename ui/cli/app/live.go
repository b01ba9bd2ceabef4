package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"belay/config"
	"belay/models"
	"belay/models/openai"
	"belay/session"
)

// live are the settings that count now: what was changed from inside is in force
// without a new start. Only models, providers and tiers change.
type live struct {
	mu       sync.Mutex
	settings config.Settings
	found    map[string]config.Provider // endpoints on this computer that no settings name
}

func (l *live) get() config.Settings {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settings
}

func (l *live) tiers() map[models.Tier][]models.Target { return TierTargets(l.get()) }

// endpoint is one found on this computer.
func (l *live) endpoint(name string) (config.Provider, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.found[name]
	return p, ok
}

// Reload reads the settings anew and lets their models, providers and tiers count from
// the next request on.
func (a *App) Reload(ctx context.Context) error {
	settings, err := LoadSettings(ctx, a.options)
	if err != nil {
		return err
	}
	a.live.mu.Lock()
	a.live.settings = settings
	a.live.mu.Unlock()
	a.refresh()
	list, err := providers(a.Catalog, settings)
	if err != nil {
		return err
	}
	for _, p := range list {
		a.transport.add(p)
	}
	a.transport.Client.SetProviders(list)
	tiers := a.live.tiers()
	a.Router.SetTiers(tiers)
	a.Breakers.SetTiers(tiers)
	return nil
}

// refresh gives the catalogue the settings that count, and what was found.
func (a *App) refresh() {
	a.live.mu.Lock()
	defer a.live.mu.Unlock()
	settings := a.live.settings
	known := catalogOptions(settings, a.options, func(string) {})
	for name, p := range a.live.found {
		if _, set := known.Providers[name]; !set {
			known.Providers[name] = catalogOptions(
				config.Settings{Providers: map[string]config.Provider{name: p}}, a.options, func(string) {},
			).Providers[name]
		}
	}
	a.Catalog.Update(known)
}

// Offered is what could be asked.
type Offered struct {
	Models    []OfferedModel
	Providers []OfferedProvider
	Notes     []string // what could not be found out
}

// OfferedModel is a model that could be asked.
type OfferedModel struct {
	models.Condition // Tier: the highest that it stands in; empty: none
	Window           int64
	Price            models.Price
	Images           bool
	Reasoning        bool
	Local            bool
	Missing          string // the variable of the key that is not there
}

// OfferedProvider is an endpoint of the catalogue or the settings.
type OfferedProvider struct {
	Name     string
	Variable string // that its key is looked for in
	Keyed    bool   // there is a key, or none is needed
	Models   int    // that are known of
}

// offerLimit is how long endpoints may take to list their models.
const offerLimit = 3 * time.Second

// Offer lists all models of the providers that can be asked: of those that the
// settings name, those of the catalogue that there is a key for, and of servers on
// this computer, which are asked for their lists.
func (a *App) Offer(ctx context.Context, id session.ID) Offered {
	var offered Offered
	listed := a.discover(ctx, &offered)
	settings := a.live.get()
	tiered := map[models.Target]models.Condition{}
	for _, c := range a.Engine.Outlook(id) {
		if _, known := tiered[c.Target]; !known {
			tiered[c.Target] = c
			if !slices.Contains(listed[c.Target.Provider], c.Target.Model) {
				listed[c.Target.Provider] = append([]string{c.Target.Model}, listed[c.Target.Provider]...)
			}
		}
	}
	names := a.Catalog.Providers()
	found, all := lookUpWithin(keyLimit, names, a.Catalog.Provider)
	if !all {
		offered.Notes = append(offered.Notes, "the keyring is slow, so that not every key is known yet")
	}
	for _, name := range names {
		p, ok := found[name]
		keyed := ok && (p.Key != "" || p.KeyEnv == "" || p.Local)
		known := a.Catalog.Models(name)
		offered.Providers = append(offered.Providers, OfferedProvider{name, p.KeyEnv, keyed, len(known)})
		mine := p.Key != "" && a.options.Rehearsal == "" // a script needs no key of anybody
		if _, set := settings.Providers[name]; keyed && (set || mine) {
			for _, m := range known {
				if !slices.Contains(listed[name], m) {
					listed[name] = append(listed[name], m)
				}
			}
		}
		for _, m := range listed[name] {
			offered.Models = append(offered.Models, a.offeredModel(models.Target{Provider: name, Model: m}, tiered, p, keyed))
		}
	}
	slices.SortStableFunc(offered.Models, func(x, y OfferedModel) int {
		return cmp.Or(cmp.Compare(rankOf(x.Tier), rankOf(y.Tier)), cmp.Compare(x.Target.Provider, y.Target.Provider))
	})
	return offered
}

// rankOf puts what stands in no tier behind the rest.
func rankOf(tier models.Tier) int {
	if tier.Rank() < 0 {
		return len(models.Tiers())
	}
	return tier.Rank()
}

func (a *App) offeredModel(
	t models.Target, tiered map[models.Target]models.Condition, p models.Provider, keyed bool,
) OfferedModel {
	condition, ok := tiered[t]
	if !ok {
		condition = a.Router.Condition("", t)
	}
	known := a.Router.Model(t)
	m := OfferedModel{
		Condition: condition, Window: known.Window, Price: known.Price,
		Images: known.Images, Reasoning: known.Reasoning, Local: p.Local,
	}
	if !keyed {
		m.Missing = p.KeyEnv
	}
	return m
}

// discover asks servers of one's own for their models.
func (a *App) discover(ctx context.Context, offered *Offered) map[string][]string {
	listed := map[string][]string{}
	if a.options.Rehearsal != "" {
		return listed
	}
	ctx, cancel := context.WithTimeout(ctx, offerLimit)
	defer cancel()
	settings := a.live.get()
	addresses := map[string]bool{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, own := range settings.Providers {
		p, ok := a.Catalog.Provider(name)
		addresses[p.BaseURL] = true
		if !ok || own.BaseURL == "" || len(a.Catalog.Models(name)) > 0 && !p.Local {
			continue
		}
		all.Go(func() {
			names, err := a.transport.Client.Models(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			listed[name] = names
			if err != nil {
				offered.Notes = append(offered.Notes, name+" lists no models now")
			}
		})
	}
	found := openai.Discover(ctx, nil)
	all.Wait()
	a.live.mu.Lock()
	if a.live.found == nil {
		a.live.found = map[string]config.Provider{}
	}
	for _, f := range found {
		if _, taken := settings.Providers[f.Name]; !taken && !addresses[f.BaseURL] {
			a.live.found[f.Name] = config.Provider{BaseURL: f.BaseURL, API: "chat", Concurrency: 1}
			listed[f.Name] = f.Models
		}
	}
	a.live.mu.Unlock()
	a.refresh()
	slices.Sort(offered.Notes)
	return listed
}

// errRehearsed says why nothing can be set.
var errRehearsed = errors.New("a rehearsal has no settings: start belay without --rehearsal to change them")

// edit changes the person's own settings, and lets the change count.
func (a *App) edit(ctx context.Context, assignments ...config.Assignment) (path string, err error) {
	if a.options.Rehearsal != "" {
		return "", errRehearsed
	}
	from, err := SettingsSources(ctx, a.options)
	if err != nil {
		return "", err
	}
	if err := config.Edit(from, assignments...); err != nil {
		return "", err
	}
	return from.UserFile, a.Reload(ctx)
}

// KeepTheme makes a theme the person's for good. A rehearsal has no settings of its own;
// how the screen looks is not part of what it plays.
func (a *App) KeepTheme(_ context.Context, name string) error {
	file, named, err := config.File(os.Getenv)
	if err != nil {
		return err
	}
	return config.Edit(config.Sources{UserFile: file, Named: named},
		config.Assignment{Path: []string{"screen", "theme"}, Value: name})
}

// KeepTarget makes a target the first of a tier, for good, and says what was done.
func (a *App) KeepTarget(ctx context.Context, tier models.Tier, target models.Target) (string, error) {
	if a.options.Rehearsal != "" {
		return "", errRehearsed
	}
	from, err := SettingsSources(ctx, a.options)
	if err != nil {
		return "", err
	}
	own, err := config.Load(config.Sources{UserFile: from.UserFile, Named: from.Named})
	if err != nil {
		return "", err
	}
	key := "tiers." + string(tier)
	list := []string{target.String()}
	for _, other := range own.Tiers.Targets()[string(tier)] {
		if t, err := models.ParseTarget(other); err == nil && t != target && (own.Set(key) || a.usable(t.Provider)) {
			list = append(list, other)
		}
	}
	assignments := []config.Assignment{{Path: []string{"tiers", string(tier)}, Value: list}}
	if found, ok := a.live.endpoint(target.Provider); ok {
		assignments = append(endpointOf(target.Provider, found.BaseURL), assignments...)
	}
	path, err := a.edit(ctx, assignments...)
	if err != nil {
		return "", err
	}
	if now := a.live.tiers()[tier]; len(now) == 0 || now[0] != target {
		origin := a.live.get().Origin(key)
		return fmt.Sprintf("written to %s, but %s %s says otherwise here", path, origin.Source, origin.Name), nil
	}
	return fmt.Sprintf("%s begins with %s from now on: %s", tier, target, path), nil
}

// usable reports whether a provider could be asked.
func (a *App) usable(provider string) bool {
	p, ok := a.Catalog.Provider(provider)
	return ok && (p.Key != "" || p.KeyEnv == "" || p.Local)
}

func endpointOf(name, address string) []config.Assignment {
	return []config.Assignment{
		{Path: []string{"providers", name, "base_url"}, Value: address},
		{Path: []string{"providers", name, "api"}, Value: string(models.Chat)},
	}
}

// AddKey keeps the key of a provider of the catalogue and says where. Its models can
// be asked at once.
func (a *App) AddKey(ctx context.Context, provider, key string) (string, error) {
	if a.options.Rehearsal != "" {
		return "", errRehearsed
	}
	where, err := SaveKey(provider, key)
	if err != nil {
		return "", err
	}
	return where, a.Reload(ctx)
}

// CheckEndpoint asks an address of the person's own for its models.
func (a *App) CheckEndpoint(ctx context.Context, address, key string) error {
	ctx, cancel := context.WithTimeout(ctx, keyCheckLimit)
	defer cancel()
	roundTripper, err := networkTransport(os.Getenv)
	if err != nil {
		return err
	}
	p := models.Provider{Name: "it", BaseURL: address, API: models.Chat, Key: key}
	client := openai.New(openai.Options{
		Providers: []models.Provider{p}, Version: a.env.Version, HTTP: &http.Client{Transport: roundTripper},
	})
	names, err := client.Models(ctx, p.Name)
	if err == nil && len(names) == 0 {
		err = errors.New("it lists no models")
	}
	return err
}

// AddEndpoint names an address of the person's own in their settings, keeps its key,
// and gives the name.
func (a *App) AddEndpoint(ctx context.Context, address, key string) (name string, err error) {
	name = a.endpointName(address)
	if _, err := a.edit(ctx, endpointOf(name, address)...); err != nil {
		return "", err
	}
	if key != "" {
		if _, err := a.AddKey(ctx, name, key); err != nil {
			return name, err
		}
	}
	return name, nil
}

// endpointName is a name for an address that no provider has.
func (a *App) endpointName(address string) string {
	name := "own"
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		name = strings.TrimPrefix(u.Hostname(), "api.")
		name, _, _ = strings.Cut(name, ".")
		if name == "" || strings.Trim(name, "0123456789") == "" || strings.Contains(name, ":") || name == "localhost" {
			name = "own"
		}
	}
	taken := a.Catalog.Providers()
	unique := name
	for i := 2; slices.Contains(taken, unique); i++ {
		unique = fmt.Sprint(name, i)
	}
	return unique
}
