package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"belay/models"
	"belay/ui/theme"
)

func (d Deps) models(g *global) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "models",
		Short: "The tiers, their models and how each is doing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := d.choice(*g, "models")
			if err != nil {
				return err
			}
			return d.listModels(cmd.Context(), c, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	c.Flags().StringVar(&g.rehearsal, "rehearsal", "", "show those of a `SCRIPT` in place of the real ones; built-in for belay's own")
	return c
}

// modelLine is what is known of one target.
type modelLine struct {
	models.Condition
	Window    int64        `json:"window"`
	MaxOutput int64        `json:"max_output"`
	Price     models.Price `json:"price"`
	Tools     bool         `json:"tools"`
	Images    bool         `json:"images"`
	Reasoning bool         `json:"reasoning"`
	Known     bool         `json:"known"`
	NoKey     string       `json:"no_key,omitempty"`       // the variable whose key is missing
	Served    string       `json:"served_model,omitempty"` // the name its replies came under last
}

func (d Deps) listModels(ctx context.Context, c Choice, asJSON bool) (err error) {
	h, err := d.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := h.Close(); err == nil {
			err = closeErr
		}
	}()
	past, err := h.Past(ctx, d.Now())
	if err != nil {
		return err
	}
	served := past.served()
	rows := [][]string{{"TIER", "MODEL", "STATE", "WINDOW", "PRICE IN/OUT", "CAN", "SERVED AS"}}
	for _, tier := range models.Tiers() {
		for _, t := range tiers(h.Settings)[tier] {
			m := h.Catalog.Model(t)
			line := modelLine{h.Router.Condition(tier, t), m.Window, m.MaxOutput, m.Price, m.Tools, m.Images, m.Reasoning, m.Known, noKey(h, t), served[t]}
			if asJSON {
				if err := writeJSON(d.Out, line); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, line.row(d))
		}
	}
	if asJSON {
		return nil
	}
	return table(d.Out, rows, d.Width(d.Out))
}

// noKey is the variable of a target that cannot be asked for want of a key.
func noKey(h *House, t models.Target) string {
	if p, ok := h.Catalog.Provider(t.Provider); ok && p.Key == "" && !p.Local {
		return p.KeyEnv
	}
	return ""
}

func (l modelLine) row(d Deps) []string {
	state := string(l.State)
	if left := l.Until.Sub(d.Now()); !l.Until.IsZero() && left > 0 {
		state += " " + theme.Clock(left)
	}
	if l.NoKey != "" {
		state = "no key (" + l.NoKey + ")"
	}
	if l.Fault != nil && l.State != models.Ready {
		state += " (" + theme.Kind(l.Fault) + ")"
	}
	window, price := "unknown", "unknown"
	if l.Window > 0 {
		window = theme.Count(l.Window)
	}
	if l.Price.Input > 0 || l.Price.Output > 0 {
		price = fmt.Sprintf("$%.2f/$%.2f", l.Price.Input, l.Price.Output)
	}
	var can []string
	for _, a := range []struct {
		has  bool
		name string
	}{{l.Tools, "tools"}, {l.Images, "images"}, {l.Reasoning, "reasoning"}} {
		if a.has {
			can = append(can, a.name)
		}
	}
	return []string{string(l.Tier), l.Target.String(), state, window, price, strings.Join(can, " "), theme.Line(l.Served)}
}
