package app

import (
	"context"
	_ "embed" // the script of the rehearsal
	"fmt"
	"iter"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"belay/config"
	"belay/models"
	"belay/models/catalog"
	"belay/models/openai"
	"belay/models/rehearsal"
	"belay/ui/cli/exit"
)

// Transport is the way to the models.
type Transport struct {
	Client *openai.Client

	learned *learned      // nil: what endpoints teach is forgotten
	debug   *os.File      // where exchanges are written; nil: nowhere
	log     *openai.Debug // which writes them

	mu        sync.Mutex
	providers []models.Provider // that are asked: their keys are secret
}

// add makes a provider's key a secret.
func (t *Transport) add(p models.Provider) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.providers = append(slices.DeleteFunc(slices.Clone(t.providers), func(other models.Provider) bool {
		return other.Name == p.Name && other.Key == p.Key
	}), p)
	if t.log != nil {
		t.log.SetProviders(t.providers)
	}
}

func (t *Transport) known() []models.Provider {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.providers
}

// hidden are the variables with keys, which commands must not see.
func (t *Transport) hidden() []string {
	var variables []string
	for _, p := range t.known() {
		if p.KeyEnv != "" {
			variables = append(variables, p.KeyEnv)
		}
	}
	return variables
}

// secrets are the keys, and the values of headers.
func (t *Transport) secrets() []string {
	var values []string
	for _, p := range t.known() {
		values = append(append(values, p.Key), slices.Collect(maps.Values(p.Headers))...)
	}
	return values
}

// Close ends idle connections and the log of exchanges.
func (t *Transport) Close() error {
	t.Client.Close()
	if t.debug == nil {
		return nil
	}
	return t.debug.Close()
}

// NewTransport makes the client for the providers that the tiers name. Warn
// hears when the log of exchanges cannot be written.
func NewTransport(
	env Env,
	known *catalog.Catalog,
	settings config.Settings,
	options Options,
	warn func(string),
) (*Transport, error) {
	roundTripper, err := rehearsalTransport(options.Rehearsal)
	if err == nil && roundTripper == nil {
		roundTripper, err = networkTransport(os.Getenv)
	}
	if err != nil {
		return nil, err
	}
	list, err := providers(known, settings)
	if err != nil {
		return nil, err
	}
	if options.Rehearsal == "" { // nothing is sent by a script
		if err := checkEncryption(list, settings); err != nil {
			return nil, err
		}
	}
	transport := &Transport{providers: list}
	if options.DebugHTTP != "" {
		transport.debug, err = os.OpenFile(options.DebugHTTP, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, &exit.UsageError{Err: fmt.Errorf("--debug-http: %w", err)}
		}
		transport.log = openai.NewDebug(roundTripper, transport.debug, list, env.Now, func(err error) {
			warn(fmt.Sprintf("--debug-http: nothing more is written: %v", err))
		})
		roundTripper = transport.log
	}
	client := openai.Options{
		Providers: list,
		Version:   env.Version,
		Model:     known.Model,
		Lookup: func(name string) (models.Provider, bool) {
			p, ok := known.Provider(name)
			if !ok || config.KeyProblem(p.Key) != "" || checkEncryption([]models.Provider{p}, settings) != nil {
				return p, false
			}
			transport.add(p)
			return p, true
		},
		Learned: func(target models.Target, adjustment string) {
			if transport.learned != nil {
				transport.learned.keep(target, adjustment)
			}
		},
		Timeouts: openai.Timeouts{
			FirstEvent: settings.Retry.FirstEvent,
			Reasoning:  settings.Retry.FirstEvent,
			Text:       settings.Retry.Silence,
		},
	}
	client.HTTP = &http.Client{Transport: roundTripper}
	transport.Client = openai.New(client)
	return transport, nil
}

// BuiltIn is the Rehearsal of Options when the script of belay's own plays.
const BuiltIn = "built-in"

//go:embed rehearsal.toml
var builtInRehearsal []byte

// rehearsalTransport is the script that answers in place of the network; nil:
// the network itself.
func rehearsalTransport(script string) (http.RoundTripper, error) {
	if script == "" {
		return nil, nil
	}
	name := "rehearsal.toml"
	text := builtInRehearsal
	if script != BuiltIn {
		var err error
		name = script
		if text, err = os.ReadFile(script); err != nil {
			return nil, &exit.SettingsError{
				Err: fmt.Errorf("read the script: %w (belay's own is --rehearsal %s)", err, BuiltIn),
			}
		}
	}
	parsed, err := rehearsal.Parse(name, text)
	if err != nil {
		return nil, &exit.SettingsError{Err: err}
	}
	return rehearsal.New(parsed, rehearsal.Options{}), nil
}

// CheckEnvironment reports what of the keys, and of the variables that say how
// to go over the network, cannot be used.
func CheckEnvironment(settings config.Settings) error {
	list, err := providers(NewCatalog(settings, Options{}, func(string) {}), settings)
	if err != nil {
		return err
	}
	if err := checkEncryption(list, settings); err != nil {
		return err
	}
	_, err = networkTransport(os.Getenv)
	return err
}

// networkTransport is the way over the network that the environment asks for.
func networkTransport(getenv func(string) string) (http.RoundTripper, error) {
	proxies, err := openai.Proxies(getenv)
	if err != nil {
		return nil, &exit.SettingsError{Err: err}
	}
	file := getenv("SSL_CERT_FILE")
	if file == "" {
		return openai.NewTransport(proxies, nil), nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, &exit.SettingsError{Err: fmt.Errorf("SSL_CERT_FILE: %w", err)}
	}
	roots, err := openai.Certificates(pem)
	if err != nil {
		return nil, &exit.SettingsError{Err: fmt.Errorf("SSL_CERT_FILE: %s: %w", file, err)}
	}
	return openai.NewTransport(proxies, roots), nil
}

// providers are those that the tiers name.
func providers(known *catalog.Catalog, s config.Settings) ([]models.Provider, error) {
	var list []models.Provider
	seen := map[string]bool{}
	for _, targets := range TierTargets(s) {
		for _, target := range targets {
			if seen[target.Provider] {
				continue
			}
			seen[target.Provider] = true
			p, ok := known.Provider(target.Provider)
			if !ok {
				return nil, &exit.SettingsError{
					Err: fmt.Errorf("the provider %q of %s has no address: add [providers.%s] base_url to the settings",
						target.Provider, target, target.Provider),
				}
			}
			if problem := config.KeyProblem(p.Key); problem != "" {
				return nil, &exit.SettingsError{Err: fmt.Errorf("the key of %s (%s) %s: copy it again, and nothing else",
					p.Name, keySource(p.KeyEnv), problem)}
			}
			list = append(list, p)
		}
	}
	return list, nil
}

// checkEncryption refuses a provider on another computer whose key everybody on the
// way could read, unless the settings say so.
func checkEncryption(list []models.Provider, settings config.Settings) error {
	for _, p := range list {
		unencrypted := !p.Local && strings.HasPrefix(strings.ToLower(p.BaseURL), "http:")
		if unencrypted && (p.Key != "" || len(p.Headers) > 0) && !settings.Providers[p.Name].Insecure {
			return &exit.SettingsError{Err: fmt.Errorf("the key of %s would go unencrypted over the network (http://): "+
				"use https://, or write insecure = true below [providers.%s]", p.Name, p.Name)}
		}
	}
	return nil
}

// keySource says where a provider's key was found.
func keySource(variable string) string {
	if variable != "" && os.Getenv(variable) != "" {
		return "in " + variable
	}
	return "kept by belay"
}

// keyChecked refuses a request that cannot succeed: the endpoint wants a key and
// there is none. Nothing is sent then.
type keyChecked struct {
	models.Client
	provider func(name string) (models.Provider, bool)
}

// Stream asks the model, or says which key is missing.
func (k keyChecked) Stream(
	ctx context.Context,
	target models.Target,
	req models.Request,
) iter.Seq2[models.Chunk, error] {
	provider, ok := k.provider(target.Provider)
	if !ok || provider.Key != "" || provider.KeyEnv == "" || provider.Local {
		return k.Client.Stream(ctx, target, req)
	}
	return func(yield func(models.Chunk, error) bool) {
		yield(nil, &models.Fault{
			Kind:    models.KindAuth,
			Scope:   models.ScopeAccount,
			Phase:   models.BeforeHeaders,
			Target:  target,
			Message: "there is no key for " + provider.Name,
			Hint:    "Nothing was sent. " + MissingKeyHint(provider.KeyEnv),
		})
	}
}

// MissingKeyHint says how to come to a key.
func MissingKeyHint(variable string) string {
	return "Set " + variable +
		", or start belay in a terminal: it offers to keep a key, or to use a model on this computer."
}
