package ui

import (
	"context"
	"slices"

	"belay/models"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// localTiers asks which model of an endpoint on this computer each tier gets, one tier
// after the other.
type localTiers struct {
	endpoint Local
	chosen   []string // heavy first
	at       int      // the model under the cursor
	top      int
}

// tierMeans says what each tier is for.
var tierMeans = []string{"Hard work: plans, changes over many files.", "Everyday work.", "Small work: summaries, checks."}

// chooseLocal asks which model is for which tier; where there is one, it is for all.
func (d *setupDialog) chooseLocal(endpoint Local) action {
	d.tiers = localTiers{endpoint: endpoint}
	if len(endpoint.Models) > 1 {
		d.show(tiersPage, true)
		return nil
	}
	for range models.Tiers() {
		d.tiers.chosen = append(d.tiers.chosen, endpoint.Models...)
	}
	return d.useLocal()
}

func (d *setupDialog) useLocal() action {
	chosen := map[models.Tier]string{}
	for i, tier := range models.Tiers() {
		if i < len(d.tiers.chosen) {
			chosen[tier] = d.tiers.chosen[i]
		}
	}
	use, endpoint := d.setup.Use, d.tiers.endpoint
	return d.run(func(ctx context.Context) setupMsg { return setupMsg{err: use(ctx, endpoint, chosen)} })
}

func (d *setupDialog) tiersKey(name string) action {
	t := &d.tiers
	last := len(t.endpoint.Models) - 1
	switch keys.LocalModels.Action(name) {
	case keys.Close:
		if len(t.chosen) == 0 {
			d.page = localPage
			return nil
		}
		before := t.chosen[len(t.chosen)-1]
		t.chosen = t.chosen[:len(t.chosen)-1]
		t.at = max(slices.Index(t.endpoint.Models, before), 0)
	case keys.Up:
		t.at = max(t.at-1, 0)
	case keys.Down:
		t.at = min(t.at+1, last)
	case keys.Accept:
		if len(t.chosen) < len(models.Tiers()) {
			t.chosen = append(t.chosen, t.endpoint.Models[t.at])
		}
		if len(t.chosen) == len(models.Tiers()) {
			a := d.useLocal()
			t.chosen = t.chosen[:len(t.chosen)-1] // the last one is asked again when it fails
			return a
		}
	}
	return nil
}

func (d *setupDialog) tiersLines(th *theme.Theme, room, rows int) []string {
	t := &d.tiers
	asked := min(len(t.chosen), len(tierMeans)-1)
	tier := models.Tiers()[asked]
	lines := []string{
		th.Strong.Paint(locale.T("Which model of %s for %s?", theme.Line(t.endpoint.Name), locale.T(string(tier)))),
		th.Dim.Paint(theme.Cut(locale.T(tierMeans[asked])+" "+locale.T("The same one may be for all."), room)), "",
	}
	for i, model := range t.chosen {
		name := theme.Fit(locale.T(string(models.Tiers()[i])), 8)
		lines = append(lines, th.Dim.Paint("  "+name+theme.Cut(theme.Line(model), room-10)))
	}
	shown := max(min(rows-len(lines), len(t.endpoint.Models)), 1)
	t.top = max(min(t.top, t.at), t.at-shown+1)
	for i, model := range t.endpoint.Models[t.top:min(t.top+shown, len(t.endpoint.Models))] {
		lines = append(lines, lead(th, t.top+i == t.at)+theme.Cut(theme.Line(model), room-2))
	}
	hint := keys.LocalModels.Hint
	does := locale.T("for %s", locale.T(string(tier)))
	return append(lines, "", th.Keys(
		hint("choose", keys.Up, keys.Down), hint(does, keys.Accept), hint("back", keys.Close),
	))
}
