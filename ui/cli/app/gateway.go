package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"belay/context/tokens"
	"belay/models"
	"belay/models/gateway"
	"belay/session"
	"belay/ui/cli/exit"
)

// NewGateway makes a gateway to the models of the app. With a token every request
// must carry it.
func (a *App) NewGateway(token string) *gateway.Gateway {
	settings := a.Settings.Gateway
	counter := tokens.New()
	made := gateway.New(gateway.Options{
		Router:  a.Router,
		Tiers:   a.live.tiers,
		Offered: a.askable,
		Known:   a.usable,
		Count: func(m models.Model, r models.Request) int64 {
			// What an interactive session counts exactly is estimated here until the
			// vocabulary is read: a request is not held up for it.
			c := counter.For(m.Encoding)
			c.Warm()
			n := c.Text(r.Instructions)
			for i := range r.Items {
				n += c.Item(r.Items[i])
			}
			for _, t := range r.Tools {
				n += c.Tool(t)
			}
			return int64(n)
		},
		Token:      token,
		Hold:       settings.Hold,
		Ladder:     a.Settings.Park.Ladder,
		MaxStreams: settings.Requests,
		Now:        a.env.Now,
		NewID:      a.env.NewID,
		Metrics:    a.MetricsHandler(),
		Done: func(e gateway.Exchange) {
			if a.listeners.metrics != nil {
				a.listeners.metrics.Request(e.API, e.Status, string(e.Outcome), e.Code, e.Held)
			}
		},
	})
	if a.listeners.metrics != nil {
		a.listeners.metrics.Gateway(func() (streams, waiting int64) {
			load := made.Load()
			return load.Streams, load.Waiting
		})
	}
	return made
}

// askable are the models of the catalogue that could be asked, of providers that the
// settings name.
func (a *App) askable() []models.Target {
	var list []models.Target
	for _, name := range a.Catalog.Providers() {
		if _, set := a.live.get().Providers[name]; !set || !a.usable(name) {
			continue
		}
		for _, m := range a.Catalog.Models(name) {
			list = append(list, models.Target{Provider: name, Model: m})
		}
	}
	return list
}

// GatewayToken is the token in a variable; empty without one. A variable that is named
// and holds nothing is a mistake: everybody would be served.
func GatewayToken(variable string) (string, error) {
	if variable == "" {
		return "", nil
	}
	token := os.Getenv(variable)
	const shortest = 16
	if len(token) < shortest {
		return "", &exit.SettingsError{
			Err: fmt.Errorf("the token of the gateway in %s has %d characters: use %d or more at random",
				variable, len(token), shortest),
		}
	}
	return token, nil
}

// refreshInterval is how often it is looked what other belays found out.
const refreshInterval = time.Second

// Attend keeps the app up to date with other belays, as a screen does, and prints
// what a person should know, until its context ends.
func (a *App) Attend(ctx context.Context, say func(text string)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			records, err := a.Engine.Next(ctx)
			if err != nil {
				return
			}
			for _, r := range records {
				if alert, ok := r.Event.(session.Alerted); ok && alert.Screen {
					say(alert.Text)
				}
			}
		}
	}()
	ticker := time.NewTicker(refreshInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			if changed, err := a.Store.Changed(ctx); err == nil && changed {
				a.Breakers.Refresh(ctx)
			}
		}
	}
	<-done
}
