package maintenance

import (
	"fmt"
	"time"

	"belay/models"
)

// stateFindings are what the state of the targets holds: a tier of which no model has
// room, an account that a person has to look after, a model that is taken to be down.
func (w *Worker) stateFindings() []finding {
	if w.o.States == nil {
		return nil
	}
	var findings []finding
	accounts := map[string]bool{}
	closed := map[models.Tier]int{}
	targets := map[models.Tier][]State{}
	for _, state := range w.o.States() {
		targets[state.Tier] = append(targets[state.Tier], state)
		if !state.State.Open() && state.State != models.Trying {
			closed[state.Tier]++
		}
		if state.Fault == nil {
			continue
		}
		if policy := state.Fault.Kind.Policy(); policy.Scope == models.ScopeAccount && policy.Final &&
			state.State == models.Unusable && !accounts[state.Target.Provider] {
			accounts[state.Target.Provider] = true
			findings = append(findings, finding{
				key:  "account " + state.Target.Provider,
				text: fmt.Sprintf("%s cannot be asked: %s", state.Target.Provider, state.Fault.Text()), seen: true,
			})
		}
	}
	for _, tier := range models.Tiers() {
		if list := targets[tier]; len(list) > 0 && closed[tier] == len(list) {
			findings = append(findings, finding{key: "tier " + string(tier), text: tierText(tier, list), seen: true})
		}
	}
	for _, tier := range models.Tiers() {
		for _, state := range targets[tier] {
			if !state.Outage.IsZero() {
				findings = append(findings, finding{
					key: "outage " + state.Target.String(), seen: true,
					text: fmt.Sprintf("%s is down: all tries of parked work since %s were in vain",
						state.Target, state.Outage.Local().Format("15:04")),
				})
			}
		}
	}
	return findings
}

// tierText says that nobody of a tier can be asked, and until when.
func tierText(tier models.Tier, list []State) string {
	var soonest time.Time
	for _, state := range list {
		if !state.Until.IsZero() && (soonest.IsZero() || state.Until.Before(soonest)) {
			soonest = state.Until
		}
	}
	if soonest.IsZero() {
		return fmt.Sprintf("no model of the %s tier can be asked", tier)
	}
	return fmt.Sprintf("no model of the %s tier can be asked before %s", tier, soonest.Local().Format("15:04:05"))
}
