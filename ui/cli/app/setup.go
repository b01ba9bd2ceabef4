package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"belay/config"
	"belay/session/store"
)

// RehearsalBanner is shown as long as replies are scripted.
const RehearsalBanner = "rehearsal: replies are scripted"

// Questions are what must be asked before the first session.
type Questions struct {
	Trust    bool   // whether the folder's settings and AGENTS.md may be read
	Key      bool   // no way to a model is known
	Provider string // whose key is missing
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
	questions.Provider, questions.Key = keyless(settings)
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
func keyless(settings config.Settings) (provider string, missing bool) {
	known := NewCatalog(settings, Options{}, func(string) {}) // Open says it again
	for _, targets := range TierTargets(settings) {
		for _, t := range targets {
			p, ok := known.Provider(t.Provider)
			if ok && (p.Key != "" || p.KeyEnv == "" || p.Local) {
				return "", false
			}
			provider = t.Provider
		}
	}
	return provider, true
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
