package app

import (
	"fmt"
	"os"

	"belay/models"
	"belay/models/alert"
	"belay/models/capacity"
	"belay/models/route"
	"belay/ui/cli/maintenance"
)

// webhook is where alerts go; nil: nowhere.
func (b *builder) webhook() *alert.Webhook {
	settings := b.settings.Alerts
	if settings.Webhook == "" {
		return nil
	}
	roundTripper, err := networkTransport(os.Getenv)
	if err != nil {
		return nil // what is wrong was said when the way to the models was opened
	}
	secret := ""
	if settings.SecretEnv != "" {
		if secret = os.Getenv(settings.SecretEnv); secret == "" {
			b.notices.add(fmt.Sprintf("alerts are not signed: %s is empty", settings.SecretEnv))
		}
	}
	return &alert.Webhook{URL: settings.Webhook, Secret: secret, HTTP: roundTripper, Now: b.env.Now}
}

// targetStates is how each target of each tier is doing.
func targetStates(router *route.Router, breakers *capacity.Breakers) []maintenance.State {
	var list []maintenance.State
	for _, condition := range router.Outlook(route.NewControl(models.Heavy)) {
		list = append(list, maintenance.State{Condition: condition, Outage: breakers.Status(condition.Target).Outage})
	}
	return list
}

// Report lets a person know, in the ways that they have chosen, of something that no
// record shows, such as a batch that failed. It never waits.
func (a *App) Report(key, text string) { a.maintenance.Report(key, text) }
