package cli

import (
	"github.com/spf13/cobra"

	"belay/ui/cli/doctor"
)

func (cli CLI) doctorCommand(g *global) *cobra.Command {
	var o doctor.Options
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why models do not answer",
		Long: `Looks at the settings, the names, the endpoint and the key, then sends a few
small requests that change one thing at a time: short and whole, short and
streamed, with a tool, with a larger input, on each tier. It ends with a verdict,
the evidence for it and the next move. With --fallbacks every model of every
tier is tried, with a tool and with structured output.

Exit codes: 0 all is well · 69 endpoint · 75 capacity or limits · 77 account ·
78 settings or names · 1 anything else`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := cli.options(*g, "doctor")
			if err != nil {
				return err
			}
			return doctor.Run(cmd.Context(), cli.Env, c, o)
		},
	}
	c.Flags().BoolVar(&o.Fallbacks, "fallbacks", false, "try every model of every tier")
	c.Flags().BoolVar(&o.JSON, "json", false, "one JSON object a line")
	c.Flags().BoolVar(&o.Curl, "curl", false, "for each request that failed, the curl command that makes it again")
	c.Flags().StringVar(&g.rehearsal, "rehearsal", "", "a `SCRIPT` that answers in place of the models; built-in for belay's own")
	c.Flags().BoolVar(&g.trust, "trust", false, "trust this folder: read its .belay.toml")
	return c
}
