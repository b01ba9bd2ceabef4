package openai

import (
	"context"
	"net/http"
	"sync"
	"time"

	"belay/models"
)

// Discovered is an endpoint that answers on this computer.
type Discovered struct {
	Name    string // of the program that usually listens there
	BaseURL string
	Models  []string
}

// localServers are the loopback addresses where local servers listen unless told
// otherwise.
var localServers = []struct{ name, base string }{
	{"ollama", "http://127.0.0.1:11434/v1"},
	{"lmstudio", "http://127.0.0.1:1234/v1"},
	{"llamacpp", "http://127.0.0.1:8080/v1"},
	{"vllm", "http://127.0.0.1:8000/v1"},
}

// discoverLimit is how long a local endpoint may take to list its models.
const discoverLimit = 2 * time.Second

// Discover asks the usual loopback addresses which models they offer. Those
// that do not answer like a model's endpoint are left out.
func Discover(ctx context.Context, client *http.Client) []Discovered {
	ctx, cancel := context.WithTimeout(ctx, discoverLimit)
	defer cancel()
	all := make([]Discovered, len(localServers))
	var wg sync.WaitGroup
	for i, u := range localServers {
		wg.Go(func() {
			c := New(Options{
				HTTP:      client,
				Providers: []models.Provider{{Name: u.name, BaseURL: u.base, API: models.Chat, Local: true}},
			})
			if names, err := c.Models(ctx, u.name); err == nil && len(names) > 0 {
				all[i] = Discovered{u.name, u.base, names}
			}
		})
	}
	wg.Wait()
	var found []Discovered
	for _, f := range all {
		if f.Name != "" {
			found = append(found, f)
		}
	}
	return found
}
