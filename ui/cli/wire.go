package cli

import (
	"fmt"
	"net/http"
	"os"

	"belay/config"
	"belay/models"
	"belay/models/catalog"
	"belay/models/openai"
	"belay/models/rehearsal"
)

// wire is the way to the models.
type wire struct {
	client *openai.Client
	hide   []string // the variables that commands must not see
	debug  *os.File // where exchanges are written; nil: nowhere
	say    func(text string)
}

func (w *wire) close() error {
	w.client.Close()
	if w.debug == nil {
		return nil
	}
	return w.debug.Close()
}

// wire makes the client for the providers that the tiers name.
func (d Deps) wire(known *catalog.Catalog, s config.Settings, c Choice) (*wire, error) {
	transport, err := transportFor(c.Rehearsal)
	if err != nil {
		return nil, err
	}
	list, err := providersOf(known, s)
	if err != nil {
		return nil, err
	}
	w := &wire{say: func(text string) { fmt.Fprintln(d.Err, "belay: "+text) }}
	for _, p := range list {
		if p.KeyEnv != "" {
			w.hide = append(w.hide, p.KeyEnv)
		}
	}
	if c.DebugHTTP != "" {
		if w.debug, err = os.OpenFile(c.DebugHTTP, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return nil, &usageError{err: fmt.Errorf("--debug-http: %w", err)}
		}
		transport = openai.NewDebug(transport, w.debug, list, d.Now, func(err error) {
			w.say(fmt.Sprintf("--debug-http: nothing more is written: %v", err))
		})
	}
	o := openai.Options{Providers: list, Version: d.Version, Timeouts: openai.Timeouts{FirstEvent: s.Retry.FirstEvent, Reasoning: s.Retry.FirstEvent, Text: s.Retry.Silence}}
	if transport != nil {
		o.HTTP = &http.Client{Transport: transport}
	}
	w.client = openai.New(o)
	return w, nil
}

// transportFor is the network, or the script in its place.
func transportFor(script string) (http.RoundTripper, error) {
	if script == "" {
		return nil, nil
	}
	name, text := "rehearsal.toml", Rehearsal()
	if file := RehearsalFile(script); file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return nil, &SettingsError{Err: fmt.Errorf("read the script: %w (belay's own is --rehearsal %s)", err, BuiltIn)}
		}
		name = file
	}
	parsed, err := rehearsal.Parse(name, text)
	if err != nil {
		return nil, &SettingsError{Err: err}
	}
	return rehearsal.New(parsed, rehearsal.Options{}), nil
}

// providersOf are the providers that the tiers name.
func providersOf(known *catalog.Catalog, s config.Settings) ([]models.Provider, error) {
	var list []models.Provider
	seen := map[string]bool{}
	for _, targets := range tiers(s) {
		for _, t := range targets {
			if seen[t.Provider] {
				continue
			}
			seen[t.Provider] = true
			p, ok := known.Provider(t.Provider)
			if !ok {
				return nil, &SettingsError{Err: fmt.Errorf("the provider %q of %s has no address: add [providers.%s] base_url to the settings", t.Provider, t, t.Provider)}
			}
			list = append(list, p)
		}
	}
	return list, nil
}
