package cli

import (
	"github.com/spf13/cobra"

	"belay/ui/cli/doctor"
)

func (cli CLI) doctorCommand(globals *globalFlags) *cobra.Command {
	var options doctor.Options
	command := &cobra.Command{
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
			command, err := cli.options(*globals, "doctor")
			if err != nil {
				return err
			}
			return doctor.Run(cmd.Context(), cli.Env, command, options)
		},
	}
	command.Flags().BoolVar(&options.Fallbacks, "fallbacks", false, "try every model of every tier")
	command.Flags().BoolVar(&options.JSON, "json", false, "one JSON object a line")
	command.Flags().BoolVar(&options.Curl, "curl", false,
		"for each request that failed, the curl command that makes it again")
	addRehearsalFlag(command, &globals.rehearsal)
	command.Flags().BoolVar(&globals.trust, "trust", false, "trust this folder: read its .belay.toml")
	return command
}
