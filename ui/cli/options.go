package cli

import (
	"context"
	"iter"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"belay/config"
	"belay/context/window"
	"belay/models"
	"belay/models/catalog"
	"belay/models/openai"
	"belay/models/route"
	"belay/session/engine"
)

func catalogOptions(s config.Settings, withKeys bool) catalog.Options {
	o := catalog.Options{Providers: map[string]catalog.ProviderOverride{}, Models: map[string]catalog.ModelOverride{}}
	if withKeys {
		o.Key = keyOf
	} else {
		o.Key = func(string, string) string { return "rehearsal" }
	}
	for name, p := range s.Providers {
		headers := map[string]string{}
		for k, v := range p.Headers {
			headers[k] = string(v)
		}
		o.Providers[name] = catalog.ProviderOverride{BaseURL: p.BaseURL, API: models.API(p.API), KeyEnv: p.KeyEnv, Headers: headers, Concurrency: p.Concurrency, ServiceTier: p.ServiceTier, Resume: p.Resume}
	}
	for name, m := range s.Models {
		o.Models[name] = catalog.ModelOverride(m)
	}
	return o
}

// tiers are the targets of each tier. The settings have checked their form.
func tiers(s config.Settings) map[models.Tier][]models.Target {
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

// keyed refuses a request that cannot succeed: the endpoint wants a key and
// there is none. Nothing is sent then.
type keyed struct {
	models.Client
	provider func(name string) (models.Provider, bool)
}

// Stream asks the model, or says which key is missing.
func (k keyed) Stream(ctx context.Context, t models.Target, req models.Request) iter.Seq2[models.Chunk, error] {
	p, ok := k.provider(t.Provider)
	if !ok || p.Key != "" || p.KeyEnv == "" || p.Local {
		return k.Client.Stream(ctx, t, req)
	}
	return func(yield func(models.Chunk, error) bool) {
		yield(nil, &models.Fault{Kind: models.KindAuth, Scope: models.ScopeAccount, Phase: models.BeforeHeaders, Target: t,
			Message: "there is no key for " + p.Name, Hint: "Nothing was sent. " + setKey(p.KeyEnv)})
	}
}

// setKey says how to come to a key.
func setKey(variable string) string {
	return "Set " + variable + ", or start belay in a terminal: it offers to keep a key, or to use a model on this computer."
}

func routeOptions(s config.Settings, known *catalog.Catalog, client *openai.Client) route.Options {
	o := route.Options{
		Client: keyed{client, known.Provider}, Tiers: tiers(s), Model: known.Model, Names: client.Models,
		Local: func(t models.Target) bool {
			p, _ := known.Provider(t.Provider)
			return p.Local
		},
		Policy: route.Policy(s.Switch.Policy), Floor: models.Tier(s.Switch.Floor), SwitchLocal: s.Switch.Local, SwitchAfter: s.Switch.After.Interactive,
		Endpoint: func(provider string) string {
			p, _ := known.Provider(provider)
			return p.BaseURL
		},
		Attempts: s.Retry.Attempts, MaxWait: s.Retry.MaxWait, Now: time.Now, Random: mathrand.Float64,
	}
	switch s.Retry.Profile {
	case "switch-early":
		o.SwitchAfter = 1
	case "patient":
		o.Policy, o.SwitchAfter = route.Never, math.MaxInt
	}
	return o
}

// replies are what is asked of each target's replies: the effort of its tier,
// and of the highest one where it stands in several.
func replies(s config.Settings) func(models.Target) engine.Reply {
	lists := tiers(s)
	of := map[models.Tier]string{models.Heavy: s.Request.Effort.Heavy, models.Medium: s.Request.Effort.Medium, models.Light: s.Request.Effort.Light}
	return func(t models.Target) engine.Reply {
		return engine.Reply{MaxOutput: s.Request.MaxOutput, Effort: of[tierOf(lists, t)]}
	}
}

// budgets are how much a request to each target may take: that of its tier, and
// of the highest one where it stands in several.
func budgets(s config.Settings) func(models.Target) window.Limits {
	lists := tiers(s)
	of := map[models.Tier]int64{models.Heavy: s.Context.Budget.Heavy, models.Medium: s.Context.Budget.Medium, models.Light: s.Context.Budget.Light}
	return func(t models.Target) window.Limits {
		return window.Limits{Reserve: s.Context.Reserve, Budget: of[tierOf(lists, t)]}
	}
}

// tierOf is the highest tier that a target stands in; empty: it stands in none.
func tierOf(lists map[models.Tier][]models.Target, t models.Target) models.Tier {
	for _, tier := range models.Tiers() {
		if slices.Contains(lists[tier], t) {
			return tier
		}
	}
	return ""
}
