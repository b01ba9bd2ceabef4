package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"belay/models"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
)

// limit puts into the options what may end the run early.
func (f runFlags) limit(options *app.Options) error {
	switch {
	case f.maxWait < 0:
		return &exit.UsageError{Err: fmt.Errorf("--max-wait %s: a time cannot be less than nothing", f.maxWait)}
	case f.maxSteps < 0:
		return &exit.UsageError{Err: fmt.Errorf("--max-steps %d: write a number above 0", f.maxSteps)}
	case f.maxCost < 0 || math.IsNaN(f.maxCost) || math.IsInf(f.maxCost, 0):
		return &exit.UsageError{Err: fmt.Errorf("--max-cost %v: write a number above 0", f.maxCost)}
	case f.schema != "" && (f.steps || f.plan != ""):
		return &exit.UsageError{
			Err: errors.New("--output-schema is for one prompt: the answer of a plan is what its steps say"),
		}
	}
	options.NonInteractive, options.NoWait, options.MaxWait = true, f.noWait, f.maxWait
	options.MaxSteps, options.MaxCost = f.maxSteps, f.maxCost
	return nil
}

// noteUnpriced says of which models a limit of cost knows no price: what they take is
// counted as nothing.
func (r *sessionRunner) noteUnpriced() {
	if r.app.Settings.Limits.Cost <= 0 {
		return
	}
	var unpriced []string
	for _, condition := range r.app.Engine.Outlook(r.id) {
		known := r.app.Router.Model(condition.Target)
		name := condition.Target.String()
		if known.Price == (models.Price{}) && !slices.Contains(unpriced, name) {
			unpriced = append(unpriced, name)
		}
	}
	if len(unpriced) > 0 {
		r.say("▲ the limit of cost counts nothing for %s: the price is not known", strings.Join(unpriced, ", "))
	}
}
