package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"belay/models"
	"belay/ui/cli/app"
	"belay/ui/cli/statistics"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

func (cli CLI) modelsCommand(globals *globalFlags) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "models",
		Short: "The tiers, their models and how each is doing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			command, err := cli.options(*globals, "models")
			if err != nil {
				return err
			}
			return cli.listModels(cmd.Context(), command, asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	addRehearsalFlag(command, &globals.rehearsal)
	return command
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

func (cli CLI) listModels(ctx context.Context, c app.Options, asJSON bool) (err error) {
	opened, err := app.Open(ctx, cli.Env, c)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := opened.Close(); err == nil {
			err = closeErr
		}
	}()
	recent, err := statistics.ReadRecent(ctx, opened.Store, cli.Now())
	if err != nil {
		return err
	}
	served := recent.ServedNames()
	rows := [][]string{{"TIER", "MODEL", "STATE", "WINDOW", "PRICE IN/OUT", "CAN", "SERVED AS"}}
	for _, state := range opened.TargetStates("") {
		m := opened.Catalog.Model(state.Target)
		line := modelLine{
			state.Condition,
			m.Window,
			m.MaxOutput,
			m.Price,
			m.Tools,
			m.Images,
			m.Reasoning,
			m.Known,
			noKey(opened, state.Target),
			served[state.Target],
		}
		if !asJSON {
			rows = append(rows, line.row(cli))
			continue
		}
		if err := plain.JSONLine(cli.Out, line); err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	return plain.Table(cli.Out, rows, cli.Width(cli.Out))
}

// noKey is the variable of a target that cannot be asked for want of a key.
func noKey(h *app.App, t models.Target) string {
	if p, ok := h.Catalog.Provider(t.Provider); ok && p.Key == "" && !p.Local {
		return p.KeyEnv
	}
	return ""
}

// stateText says how a target is doing, and why.
func stateText(c models.Condition, noKey string, now time.Time) string {
	state := theme.ConditionText(c, now)
	if c.Answers {
		state += locale.T(", answers")
	}
	if noKey != "" {
		state = locale.T("no key (%s)", noKey)
	}
	if c.Fault != nil && c.State != models.Ready && c.State != models.Unknown {
		state += " (" + theme.Kind(c.Fault) + ")"
	}
	return state
}

func (l modelLine) row(cli CLI) []string {
	state := stateText(l.Condition, l.NoKey, cli.Now())
	window, price := locale.T("unknown"), locale.T("unknown")
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
			can = append(can, locale.T(a.name))
		}
	}
	return []string{
		string(l.Tier),
		l.Target.String(),
		state,
		window,
		price,
		strings.Join(can, " "),
		theme.Line(l.Served),
	}
}
