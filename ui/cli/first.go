package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"belay/config"
	"belay/models/catalog"
	"belay/session/store"
)

// RehearsalBanner is shown as long as replies are scripted.
const RehearsalBanner = "rehearsal: replies are scripted"

// Looks are the settings as far as the first frame needs them: the user's own. A fault in the settings
// is reported when everything is opened, not here.
func (d Deps) Looks() config.Settings {
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

// Questions are what must be asked before the first session.
type Questions struct {
	Trust    bool   // whether the folder's settings and AGENTS.md may be read
	Key      bool   // no way to a model is known
	Provider string // whose key is missing
}

// Ask finds out what must be asked.
func (d Deps) Ask(ctx context.Context, c Choice) (Questions, error) {
	var q Questions
	if c.Rehearsal != "" {
		return q, nil
	}
	from, err := sources(ctx, c)
	if err != nil {
		return q, err
	}
	if !from.Trusted && hasInstructions(c.Project) {
		known := false
		err := with(ctx, true, func(st *store.Store) (err error) {
			_, known, err = st.Trusted(ctx, c.Project)
			return err
		})
		if err != nil {
			return q, err
		}
		q.Trust = !known
	}
	settings, err := load(ctx, c)
	if err != nil {
		return q, err
	}
	q.Provider, q.Key = keyless(settings)
	return q, nil
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
	known := catalog.New(catalogOptions(settings, true))
	for _, targets := range tiers(settings) {
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

// Trust remembers what a person said of a folder.
func Trust(ctx context.Context, project string, trusted bool) error {
	return with(ctx, false, func(st *store.Store) error { return st.SetTrusted(ctx, project, trusted) })
}

// SaveKey keeps a provider's key and says where.
func SaveKey(provider, key string) (string, error) { return keys().Set(provider, key) }

// Shell runs a command that a person typed, with the bounds of the model's.
func (h *House) Shell(ctx context.Context, project, command string) (output string, err error) {
	set, err := h.Tools(project)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return "", err
	}
	job, err := set.Prepare("shell", string(args))
	if err != nil {
		return "", err
	}
	r := job.Run(ctx, func(string) {})
	if r.Error {
		return r.Output, fmt.Errorf("the command: %s", r.Summary)
	}
	return r.Output, nil
}
