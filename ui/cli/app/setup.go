package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"belay/config"
	"belay/models"
	"belay/models/catalog"
	"belay/models/openai"
	"belay/session/store"
)

// RehearsalBanner is shown as long as replies are scripted.
const RehearsalBanner = "rehearsal: replies are scripted"

// Questions are what must be asked before the first session.
type Questions struct {
	Trust    bool   // whether the folder's settings and AGENTS.md may be read
	Key      bool   // no way to a model is known
	Provider string // whose key is missing
	Variable string // that would hold it
	Found    []FoundKey
}

// SetupQuestions finds out what must be asked.
func SetupQuestions(ctx context.Context, options Options) (Questions, error) {
	var questions Questions
	if options.Rehearsal != "" {
		return questions, nil
	}
	sources, err := SettingsSources(ctx, options)
	if err != nil {
		return questions, err
	}
	if !sources.Trusted && hasInstructions(options.Project) {
		answered := false
		err := ReadStore(ctx, func(st *store.Store) (err error) {
			_, answered, err = st.Trusted(ctx, options.Project)
			return err
		})
		if err != nil {
			return questions, err
		}
		questions.Trust = !answered
	}
	settings, err := LoadSettings(ctx, options)
	if err != nil {
		return questions, err
	}
	if questions.Provider, questions.Variable, questions.Key = keyless(settings); questions.Key {
		questions.Found = foundKeys(os.Getenv)
	}
	return questions, nil
}

// hasInstructions reports whether a folder holds anything that trust is about.
func hasInstructions(project string) bool {
	for _, name := range []string{config.ProjectFile, "AGENTS.md"} {
		if _, err := os.Stat(filepath.Join(project, name)); err == nil {
			return true
		}
	}
	return false
}

// keyless reports whether no tier has a model that could be asked: each needs
// a key that is not there.
func keyless(settings config.Settings) (provider, variable string, missing bool) {
	known := NewCatalog(settings, Options{}, func(string) {}) // Open says it again
	for _, targets := range TierTargets(settings) {
		for _, t := range targets {
			p, ok := known.Provider(t.Provider)
			if ok && (p.Key != "" || p.KeyEnv == "" || p.Local) {
				return "", "", false
			}
			provider, variable = t.Provider, p.KeyEnv
		}
	}
	return provider, variable, true
}

// FoundKey is a variable of the environment that holds the key of a provider, and
// the models that the catalogue would take there.
type FoundKey struct {
	Provider, Variable string
	Large, Small       string
}

// foundKeys are the keys of the catalogue's providers that the environment has.
func foundKeys(env func(string) string) []FoundKey {
	var found []FoundKey
	known := catalog.New(catalog.Options{})
	for _, name := range known.Providers() {
		p, ok := known.Provider(name)
		large, small := known.Defaults(name)
		if ok && p.KeyEnv != "" && env(p.KeyEnv) != "" && large != "" {
			found = append(found, FoundKey{name, p.KeyEnv, large, small})
		}
	}
	return found
}

// UseKey makes a provider whose key was found that of every tier.
func UseKey(found FoundKey) error {
	large, small := found.Provider+"/"+found.Large, found.Provider+"/"+found.Small
	return firstSettings(config.Known(found.Provider, found.Large, found.Small), tiersOf(large, large, small))
}

// firstSettings writes new settings, or puts assignments into those that are there.
func firstSettings(text string, assignments []config.Assignment) error {
	path, named, err := config.File(os.Getenv)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return config.Create(path, text)
	}
	known := func() []string { return catalog.New(catalog.Options{}).Providers() }
	return config.Edit(config.Sources{UserFile: path, Named: named, Providers: known}, assignments...)
}

func tiersOf(heavy, medium, light string) []config.Assignment {
	return []config.Assignment{
		{Path: []string{"tiers", "heavy"}, Value: []string{heavy}},
		{Path: []string{"tiers", "medium"}, Value: []string{medium}},
		{Path: []string{"tiers", "light"}, Value: []string{light}},
	}
}

// UseLocal makes models on this computer those of the tiers.
func UseLocal(name, url string, chosen map[models.Tier]string) error {
	heavy, medium, light := chosen[models.Heavy], chosen[models.Medium], chosen[models.Light]
	target := name + "/"
	return firstSettings(config.Local(name, url, heavy, medium, light),
		append(endpointOf(name, url), tiersOf(target+heavy, target+medium, target+light)...))
}

// keyCheckLimit is how long a new key is checked.
const keyCheckLimit = 10 * time.Second

// CheckKey asks a provider's endpoint once for its list of models. Only a refusal of
// the key is an error: an endpoint that lists nothing, or cannot be reached, says
// nothing about it.
func CheckKey(ctx context.Context, env Env, options Options, provider, key string) error {
	settings, err := LoadSettings(ctx, options)
	if err != nil {
		return err
	}
	p, ok := NewCatalog(settings, options, func(string) {}).Provider(provider)
	if !ok {
		return nil
	}
	roundTripper, err := networkTransport(os.Getenv)
	if err != nil {
		return err
	}
	p.Key = key
	if err := checkEncryption([]models.Provider{p}, settings); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, keyCheckLimit)
	defer cancel()
	client := openai.New(openai.Options{
		Providers: []models.Provider{p}, Version: env.Version, HTTP: &http.Client{Transport: roundTripper},
	})
	var fault *models.Fault
	if _, err := client.Models(ctx, provider); errors.As(err, &fault) && fault.Kind == models.KindAuth {
		return fmt.Errorf("%s refuses this key: %s", provider, fault.Message)
	}
	return nil
}

// SetTrusted remembers what a person said of a folder.
func SetTrusted(ctx context.Context, project string, trusted bool) error {
	return withStore(ctx, store.Options{}, func(st *store.Store) error { return st.SetTrusted(ctx, project, trusted) })
}

// SaveKey keeps a provider's key and says where.
func SaveKey(provider, key string) (string, error) {
	if problem := config.KeyProblem(key); problem != "" {
		return "", fmt.Errorf("this key %s: copy it again, and nothing else", problem)
	}
	return keyStore().Set(provider, key)
}
